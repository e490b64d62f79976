/* session.h: an open model with the mechanism, edits and tokenizer that the options ask for. The
 * driver opens a session for each setting; other commands may open their own.
 *
 *     struct session session = {.options = options};
 *     if (items_open(&items, options, 0, ITEMS_SOME, err) || session_begin(&session, err) ||
 *         !(pairs = session_read_items(&session, &items, err))) ...
 *     session_release(&session);
 */
#pragma once

#include "base/file.h"
#include "lens/dictionary.h"
#include "lens/edits.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "lens/tokenized.h"
#include "lens/viewer.h"
#include "measure/question.h"
#include "options.h"
#include "progress.h"
#include "text/chat.h"
#include "text/label.h"

struct item;
struct items;
struct notes;

/* --- texts ------------------------------------------------------------------------------------ */

/* Characters of all texts that are not in the vocabulary. */
struct dropped {
    size_t count;
    size_t input, at; /* position of the first one: index of the text, byte */
    char first[LABEL_EXCERPT_BYTES];
};

#define DROPPED_IN_SOURCE SIZE_MAX     /* as `input`: the text is --source */
#define DROPPED_IN_PAIR (SIZE_MAX - 1) /* as `input`: the text is --pair */

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index);

/* Print a note that the characters were left out, with the position of the first one. */
int dropped_note(const struct dropped *dropped, const struct items *items, struct err *err);

/* Apply --special and --literal-special to the tokenizer, which may be NULL. With --chat set
 * `*chat` to the model's chat template in the arena, else to NULL. */
int tokenizer_options_set(const struct chat **chat, struct tokenizer *tokenizer,
                          const struct folder *folder, const struct options *options,
                          struct arena *arena, struct err *err);

/* Wrap a text in a chat template, unless `chat` is NULL or the input has ids. Refused: a pair. */
int input_wrap(struct input *input, const struct chat *chat, struct arena *arena, struct err *err);

/* --- a model and its texts -------------------------------------------------------------------- */

/* The start of texts with --special auto, the default: the tokens that the tokenizer adds; the
 * beginning token, if it adds none; or the tokens that it adds, with a note if it adds none.
 */
enum beginning { BEGINNING_OF_TOKENIZER, BEGINNING_ADDED, BEGINNING_NOTED };

/* The rule of all commands: the beginning token comes before texts with --words or with regions:
 * then all numbers of a word or region belong to the same text. `adds`: the command follows it; a
 * command that does not gets BEGINNING_NOTED. */
enum beginning session_beginning(const struct items *items, bool adds);

struct session {
    const struct options *options;
    enum beginning begins; /* set before session_begin */
    const char *model;     /* model to open; NULL: --model */
    bool omits_origin;     /* results do not name their model: skip the hash of the weights */
    enum precision precision;
    struct mechanism mechanism; /* from the options */
    struct viewer viewer;
    struct dictionary *dictionaries; /* [dictionary_count] of --sae */
    size_t dictionary_count;
    struct edit_list edits;
    struct edit_store *store; /* values that settings of a sweep share; NULL: none */
    bool adds_beginning;      /* --special auto found a token to put before texts */
    const char *token;        /* --query, resolved in the last text of session_read_items */
    struct arena arena;
};

/* Read --precision and the options of the mechanism; no model is needed. */
int session_read_options(struct session *session, struct err *err);

/* Fill a list of edits with the values of --from and --reference, or with stored ones. */
int session_fill_edits(struct session *session, struct edit_list *list, struct err *err);

/* Open the model with the threads, precision, mechanism, edits and tokenizer of the options. */
int session_begin(struct session *session, struct err *err);
void session_release(struct session *session);

/* The texts that the positions of an item refer to. */
struct item_positions {
    const struct item *item;
    struct tokenized texts[2]; /* the text; the source, or again the text; by words with
                                * --words */
    const char *option;        /* --edit or --knockout, for messages */
    struct arena *arena;
    struct err *err;
};

/* Replace names in the options of an item by positions in its texts, and select the queries and
 * keys of the pair. Set `own`, with which positions_tokens reads the positions of edits. With
 * --words, positions of queries, keys and edits count words, but no special token that is added
 * before the text. */
int positions_resolve(struct item_positions *own, struct item *item, struct text_with_source *pair,
                      const struct viewer *viewer, struct arena *arena, struct err *err);

/* The tokens of a position in an edit (edit_list.tokens_of); `context` is an item_positions. */
const char *positions_tokens(void *context, bool of_source, const char *position, size_t size);

/* Parse an item (items_read). Refused: a pair with a source; a source, as --source or a column, for
 * a model without cross-attention; no source for a model with it. */
int session_open_item(const struct session *session, struct item *item, const struct items *items,
                      size_t index, struct arena *arena, struct err *err);

/* Read the text and the source of an item as tokens, and check them against the edits. Names in
 * `item` become positions. pair->edits are the viewer's edits, or made for this text. */
int session_read_item(struct session *session, struct item *item, struct text_with_source *pair,
                      struct arena *arena, struct err *err);

/* Read all texts into the session's memory, and print a note on characters that were left out.
 * Returns NULL on failure. */
struct text_with_source *session_read_items(struct session *session, const struct items *items,
                                            struct err *err);

/* Refuse passes that need more memory than there is: `bytes`, copies of weights included. Otherwise
 * note if the weights file does not fit beside `bytes`. `longest`: most tokens of a text. */
int session_expect(const struct session *session, double bytes, struct weights_bytes weights,
                   size_t longest, struct err *err);

/* Set `*id` to the single token of an option's text, without special tokens; if the model has no
 * tokenizer, the text is an id. A text of no token or of several is a usage error. */
int token_option_read(long long *id, const struct viewer *viewer, const char *option,
                      const char *text, struct arena *arena, struct err *err);

/* True if the text of an option, after a text, probably lacks a leading space: "cabinet", "are". */
bool lacks_space(const struct tokenized *text, const char *more, const struct tokenizer *tokenizer,
                 struct arena *arena);

#define LACKS_SPACE_NOTE "%s '%s' has no space before it: did you mean ' %s'?"

/* The options that ask for a logit, with their values. */
struct question_words {
    const char *option, *answer;  /* A[:B]; NULL: none */
    const char *place_option;     /* NULL: the command has none */
    const char *place;            /* index of a token; NULL: the default */
    struct notes *notes;          /* notes of answers that lack a space */
    const struct tokenized *text; /* NULL: no text yet */
    size_t index;                 /* number of the text, for notes */
};

/* Read an answer, one token or two, ' Mary: John'; without one, both are -1. Read the position: by
 * default the last token, in masked models the last mask token, which is then required. */
int answer_read(struct question *question, const struct question_words *words,
                const struct viewer *viewer, struct arena *arena, struct err *err);
int position_read(struct question *question, const struct question_words *words,
                  const struct viewer *viewer, struct arena *arena, struct err *err);

/* Describe a question, "logit difference Mary - John after to", and add its facts; NULL: failed. */
const char *question_describe(struct facts *facts, const struct question *question,
                              const struct viewer *viewer, const struct tokenized *text,
                              struct arena *arena, struct err *err);

/* --- options of the model --------------------------------------------------------------------- */

/* Read a list of mechanisms, "dense,window:8,linear", into memory of the arena. */
int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err);

/* True if the options have an --edit, --ablate or --knockout. */
bool edit_options_are_given(const struct edit_options *options);
