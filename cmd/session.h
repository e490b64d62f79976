/* session.h: what every command that looks at texts begins with: texts, a model that reads them,
 * and what is asked of it.
 *
 *     struct session session = {.options = options};
 *     if (session_read_options(&session, err) ||
 *         inputs_open(&session.inputs, &options->input, INPUTS_SOME, err) ||
 *         session_open(&session, err) || session_read(&session, &pair, 0, &arena, err)) ...
 *     session_release(&session);
 */
#ifndef ATTN_CMD_SESSION_H
#define ATTN_CMD_SESSION_H

#include "base/file.h"
#include "base/listing.h"
#include "format/json_writer.h"
#include "lens/edit_list.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "lens/tokenized.h"
#include "lens/viewer.h"
#include "options.h"
#include "progress.h"
#include "text/label.h"
#include "write/format.h"

struct output;

/* --- texts: --sentence, operands, --file, --ids or, where none is given, what is piped in ----- */

struct inputs {
    struct input *items;
    size_t *lines; /* where each stands in the file, from 1; 0: not in it */
    size_t count;
    size_t blank; /* lines of the file that are skipped, those after its last text not counted */
    const char *path;
    const char *whole; /* what messages call a file that is one text; NULL: a line a text */
    struct file file;  /* what they point into */
    struct arena arena;
};

/* Of INPUTS_ANY there may be none; where a text is needed that is a usage error. */
enum inputs_many { INPUTS_ANY, INPUTS_SOME, INPUTS_ONE };

/* Sentences in the order given, then operands, then a sentence for each line of the file, or of the
 * pipe, that is not blank, then the ids. Of one text a file is that, less its last newline. */
int inputs_open(struct inputs *inputs, const struct input_options *options, enum inputs_many many,
                struct err *err);
void inputs_release(struct inputs *inputs);

/* Ids are taken as they are: --bos and --add-special beside them are refused, of items, too. */
int inputs_check_ids(const struct input_options *options, struct err *err);

/* Is any text named? If not, can one be read from standard input, which is no terminal? */
bool inputs_are_given(const struct input_options *options);
bool inputs_are_piped(const struct input_options *options);

/* Refuse a --source that no model looks at, and cross-attention without one. */
int inputs_check_source(const struct input_options *options, const struct model *model,
                        struct err *err);

/* Append where a text came from, as messages say it: 'story.txt' line 3, --ids, sentence 1; nothing
 * for the only sentence. inputs_blame puts it before an error and returns -1. */
void inputs_place(struct buf *place, const struct inputs *inputs, size_t index);
int inputs_blame(const struct inputs *inputs, size_t index, struct err *err);

/* The characters that the vocabulary does not have, over all texts. */
struct dropped {
    size_t count;
    size_t input; /* where the first one stands: in which text … */
    size_t at;    /* … at which byte */
    char first[LABEL_EXCERPT_BYTES];
};

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index);

/* Note that they were left out; `place` is that of the text with the first, NULL or "": none. */
void dropped_note(const struct dropped *dropped, const char *place);

/* Let the tokenizer, which may be NULL, read texts as --special and --literal-special say. */
int inputs_set_tokenizer(struct tokenizer *tokenizer, const struct folder *folder,
                         const struct input_options *options, struct err *err);

/* A whole file or, for "-", standard input; what messages call it; and where its text begins:
 * after the mark with which some editors say "this is UTF-8". */
int inputs_read_file(struct file *file, const char *path, struct err *err);
const char *inputs_shown_path(const char *path);
const char *inputs_after_mark(const struct file *file);

/* --- a model and its texts -------------------------------------------------------------------- */

struct session {
    const struct options *options;
    const char *model; /* that is opened; NULL: --model */
    enum precision precision;
    struct mechanism mechanism; /* of the options, by itself */
    struct inputs inputs;
    struct viewer viewer;
    struct dropped dropped, in_source;
    struct edit_list edits;
    struct arena arena;
};

/* --precision and the options of the mechanism, before there is a model to ask. */
int session_read_options(struct session *session, struct err *err);

/* Open --model on --threads, with --long for any length, and note what it lacks; its tokenizer
 * reads texts as --special and --literal-special say. */
int session_open(struct session *session, struct err *err);

/* Let the model, which attends as it will, change what --edit and its like say from now on. */
int session_edit(struct session *session, struct err *err);

/* Tokenize a text and --source; errors say which text it is, and what of it there is to edit. Where
 * there are no texts it is the one that the model's begin with. */
int session_read(const struct session *session, struct text_pair *pair, size_t index,
                 struct arena *arena, struct err *err);

/* The one token of an option's text, but for those that are put around texts; where the model has
 * no tokenizer its id. Refused as usage: none, or more. */
int inputs_read_token(long long *id, const struct viewer *viewer, const char *option,
                      const char *text, struct arena *arena, struct err *err);

/* Count the characters that were dropped in a text and its source, and say so at the end. */
void session_count_dropped(struct session *session, const struct text_pair *pair, size_t index);
void session_note_dropped(const struct session *session);
void session_release(struct session *session);

/* --- several models, one at a time (model_list.c) --------------------------------------------- */

struct model_list {
    struct listing names; /* "pythia/step8", "pythia/step64", …; of one model it may be empty */
    char (*hashes)[SHA256_DIGITS + 1]; /* of their weights; NULL: there is one model */
    size_t open;                       /* which of them is open now */
};

/* How many there are; refuse several for one file of a format that holds one. */
size_t model_list_count(const struct model_list *list);
int model_list_check(const struct model_list *list, const struct output *output, struct err *err);

/* Those of --model, each as often as it is given; of a pattern, pythia/step*, the directories that
 * fit, in the order of their numbers. A pattern that nothing fits is refused. */
int model_list_read(struct model_list *list, const struct options *options, struct arena *arena,
                    struct err *err);

/* Hash the weights of an open model, once, and note it where an earlier one has the same. */
void model_list_hash(struct model_list *list, size_t index, const struct weights *weights);

/* What a command does with each: `read` opens and reads texts, `look` writes or keeps findings. */
struct model_turn {
    struct session *session;
    int (*read)(void *context, struct err *err);
    int (*look)(void *context, struct err *err); /* NULL: there is a step for each text */
    void *context;
    progress_step *step;
};

/* Read all before the first is looked at: no output stops half-way. One is open at a time, at last
 * the last one. A note names those of equal weights. */
int model_list_each(struct model_list *list, const struct model_turn *turn, struct err *err);

/* Let an error say of which of several models it is; words that one lacks are not those of the last
 * one. Returns -1. */
int model_blame(const char *name, struct err *err);

/* --- what is asked of the model --------------------------------------------------------------- */

struct request {
    struct mechanism mechanism; /* the viewer must be set to it before it looks */
    struct selection selection;
    struct derivation derivation;
    bool chosen; /* layers or tensors were named */
};

/* Where no tensors or layers are named they are those the format is for; NULL: weights of every
 * layer. What the model does not have, with that mechanism, is refused. */
int request_make(struct request *request, const struct options *options,
                 const struct format *format, const struct viewer *viewer, struct arena *arena,
                 struct err *err);

/* Each option of the mechanism by itself; whether they fit together and to a model is not known. */
int mechanism_options_read(struct mechanism *mechanism, const struct mechanism_options *options,
                           struct err *err);

/* The kinds of attention of a list, "dense,window:8,linear", each a mechanism; the arena's. */
int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err);

/* --edit, --ablate and --knockout, for a model that attends as its config says. Then, by the viewer
 * that does, the values that they take of --from and --reference. */
int edit_options_read(struct edit_list *list, const struct edit_options *options,
                      const struct config *config, struct arena *arena, struct err *err);
int edit_options_fill(struct edit_list *list, const struct options *options, struct viewer *viewer,
                      struct err *err);

/* Whether any is asked for; the first edit of weights, in its words, or NULL; and its note. */
bool edit_options_are_given(const struct edit_options *options);
const char *edit_options_of_weights(const struct edit_list *list);
void edit_options_note(const char *words);

/* --mean, --words and --hide-first; `keeps_first`: the output can hide it by itself. */
int read_derivation(struct derivation *how, const struct select_options *options, bool keeps_first,
                    struct err *err);

/* --layer, else those that the format is for; a mean over layers is one over all. */
const char *request_layer(const struct format *format, const struct select_options *options,
                          const struct derivation *how);

#endif
