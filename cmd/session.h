/* session.h: an open model and what is asked of it. The driver opens one for each setting; commands
 * that need all texts at once open their own.
 *
 *     struct session session = {.options = options};
 *     if (items_open(&items, options, 0, ITEMS_SOME, err) || session_begin(&session, err) ||
 *         !(pairs = session_read_items(&session, &items, err))) ...
 *     session_release(&session);
 */
#ifndef ATTN_CMD_SESSION_H
#define ATTN_CMD_SESSION_H

#include "base/file.h"
#include "base/listing.h"
#include "format/json_writer.h"
#include "lens/edits.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "lens/tokenized.h"
#include "lens/viewer.h"
#include "options.h"
#include "progress.h"
#include "text/chat.h"
#include "text/label.h"
#include "write/format.h"

struct item;
struct items;
struct output;

/* --- texts ------------------------------------------------------------------------------------ */

/* Refuse --source for a model without cross-attention, and cross-attention without --source. */
int session_check_source(const struct input_options *options, const struct model *model,
                         struct err *err);

/* Characters of all texts that the vocabulary does not have. */
struct dropped {
    size_t count;
    size_t input, at; /* the first: in which text, at which byte */
    char first[LABEL_EXCERPT_BYTES];
};

#define DROPPED_IN_SOURCE SIZE_MAX /* as the index of a text */

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index);

/* Print a note that they were left out, and where the first one is. -1 with `err`. */
int dropped_note(const struct dropped *dropped, const struct items *items, struct err *err);

/* Set the tokenizer, which may be NULL, as --special and --literal-special say. With --chat read
 * the model's chat template; else `*chat` is NULL. */
int tokenizer_options_set(const struct chat **chat, struct tokenizer *tokenizer,
                          const struct folder *folder, const struct options *options,
                          struct arena *arena, struct err *err);

/* Wrap an input that is a text in a template, unless `chat` is NULL. */
int input_wrap(struct input *input, const struct chat *chat, struct arena *arena, struct err *err);

/* --- a model and its texts -------------------------------------------------------------------- */

struct session {
    const struct options *options;
    const char *model; /* to open; NULL: --model */
    bool omits_origin; /* results do not say which model they are of: it is not hashed */
    enum precision precision;
    struct mechanism mechanism; /* of the options, by itself */
    struct viewer viewer;
    struct edit_list edits;
    struct arena arena;
};

/* --precision and the options of the mechanism, which need no model. */
int session_read_options(struct session *session, struct err *err);

/* Open the model on --threads, with its precision, mechanism, edits and tokenizer as the options
 * say. */
int session_begin(struct session *session, struct err *err);
void session_release(struct session *session);

/* The text of an item and its source as tokens, checked against the edits. */
int session_read_item(struct session *session, const struct item *item, struct text_pair *pair,
                      struct arena *arena, struct err *err);

/* All texts, in memory of the session, with a note of characters that were left out; NULL with
 * `err`. */
struct text_pair *session_read_items(struct session *session, const struct items *items,
                                     struct err *err);

/* The single token of an option's text, without special tokens, or its id if the model has no
 * tokenizer. Refused as usage: none, or several. */
int token_option_read(long long *id, const struct viewer *viewer, const char *option,
                      const char *text, struct arena *arena, struct err *err);

/* Print once that the text of an option probably lacks the space before it. */
void note_missing_space(const struct viewer *viewer, const struct tokenized *text,
                        const char *option, const char *more, struct arena *arena);

/* --- options of the model --------------------------------------------------------------------- */

struct request {
    struct selection selection;
    struct derivation derivation;
    bool chosen; /* layers or tensors were named */
};

/* Read --show, --layer, --head, --mean, --words and --hide-first. Without --show and --layer the
 * format chooses tensors and layers. Refused: tensors that the model does not have with its
 * mechanism. */
int request_make(struct request *request, struct session *session, const struct format *format,
                 struct err *err);

/* The mechanisms of a list, "dense,window:8,linear", in memory of the arena. */
int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err);

/* Whether --edit, --ablate or --knockout is given, or swept. */
bool edit_options_are_given(const struct edit_options *options);

#endif
