/* session.h: an open model, with the mechanism, edits and tokenizer that the options ask for. The
 * driver opens a session for each setting (sweep.h); commands that do not run jobs through the
 * driver open their own.
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

/* Characters that are not in the vocabulary, in all texts of a command. */
struct dropped {
    size_t count;
    size_t input, at; /* first dropped character: `input`: index of its text; `at`: its byte offset
                       * in the text */
    char first[LABEL_EXCERPT_BYTES];
};

#define DROPPED_IN_SOURCE SIZE_MAX     /* value of dropped.input: the text is --source */
#define DROPPED_IN_PAIR (SIZE_MAX - 1) /* value of dropped.input: the text is --pair */

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index);

/* Print a note that characters were left out, with the position of the first. */
int dropped_note(const struct dropped *dropped, const struct items *items, struct err *err);

/* Apply --special and --literal-special to the tokenizer, which may be NULL. Set `*chat` to the
 * model's chat template, in the arena, if --chat is given, else to NULL. */
int tokenizer_options_set(const struct chat **chat, struct tokenizer *tokenizer,
                          const struct folder *folder, const struct options *options,
                          struct arena *arena, struct err *err);

/* Wrap a text in a chat template, unless `chat` is NULL or the input consists of ids. A pair is
 * refused. */
int input_wrap(struct input *input, const struct chat *chat, struct arena *arena, struct err *err);

/* --- a model and its texts -------------------------------------------------------------------- */

/* How texts begin with --special auto, the default. BEGINNING_OF_TOKENIZER: with the tokens that
 * the tokenizer adds. BEGINNING_ADDED: if it adds none, with the beginning token. BEGINNING_NOTED:
 * as BEGINNING_OF_TOKENIZER, but a note says so if the tokenizer adds none. */
enum beginning { BEGINNING_OF_TOKENIZER, BEGINNING_ADDED, BEGINNING_NOTED };

/* How texts begin by default. Texts without --words and without regions: BEGINNING_OF_TOKENIZER.
 * Other texts: BEGINNING_ADDED if `adds` is true, so the results of all such commands for a word or
 * region belong to the same text; otherwise BEGINNING_NOTED. */
enum beginning session_beginning(const struct items *items, bool adds);

struct session {
    const struct options *options;
    enum beginning begins; /* how texts begin; set before session_begin */
    const char *model;     /* name of the model to open; NULL: the value of --model */
    bool omits_origin; /* results do not name their model: the hash of the weights is not needed */
    enum precision precision;
    struct mechanism mechanism; /* the attention mechanism that the options choose */
    struct viewer viewer;
    struct dictionary *dictionaries; /* [dictionary_count] dictionaries of --sae */
    size_t dictionary_count;
    struct edit_list edits;
    struct edit_store *store; /* values of edits, shared by the settings of a sweep; NULL: not
                               * shared */
    bool adds_beginning;      /* --special auto found a token to put before texts */
    /* values of --query and --key of explain, in which words and @NAME are replaced by positions of
     * the text read last, unless they are tokens */
    const char *token, *key;
    struct arena arena;
};

/* Read --precision and the options of the mechanism. The model need not be open. */
int session_read_options(struct session *session, struct err *err);

/* Fill a list of edits with values from the texts of --from and --reference, or with stored
 * values. */
int session_fill_edits(struct session *session, struct edit_list *list, struct err *err);

/* Open the model with the threads, precision, mechanism, edits and tokenizer of the options. */
int session_begin(struct session *session, struct err *err);
void session_release(struct session *session);

/* The texts that the positions of an item refer to. */
struct item_positions {
    const struct item *item;
    /* [0]: the text; [1]: the source or, if there is none, the text again; with --words, positions
     * count words */
    struct tokenized texts[2];
    const char *option; /* name of the option in messages: --edit or --knockout */
    struct arena *arena;
    struct err *err;
};

/* Replace names in the options of an item by positions in its texts, and select the queries and
 * keys of the pair. Set `own`, which positions_tokens needs to read the positions of edits. With
 * --words, positions count words; a special token that is added before the text does not count. */
int positions_resolve(struct item_positions *own, struct item *item, struct text_with_source *pair,
                      const struct viewer *viewer, struct arena *arena, struct err *err);

/* Return the tokens of a position in an edit, as text. A function for edit_list.tokens_of;
 * `context` is a struct item_positions. */
const char *positions_tokens(void *context, bool of_source, const char *position, size_t size);

/* Parse an item (items_read). Refused: a pair of texts with a source; a source, from --source or a
 * column, if the model has no cross-attention; a missing source if the model has
 * cross-attention. */
int session_open_item(const struct session *session, struct item *item, const struct items *items,
                      size_t index, struct arena *arena, struct err *err);

/* Read the text and the source of an item as tokens, and check that they have the tokens that the
 * edits name. Names in `item` become positions. pair->edits are the viewer's edits, or edits made
 * for this text. */
int session_read_item(struct session *session, struct item *item, struct text_with_source *pair,
                      struct arena *arena, struct err *err);

/* Read all texts into the session's memory, and print a note about characters that were left out.
 * Returns NULL on failure. */
struct text_with_source *session_read_items(struct session *session, const struct items *items,
                                            struct err *err);

/* Refuse passes that need more memory than is available. `bytes`: memory of the passes, with copies
 * of weights. Print a note if this leaves no room for the weights file. `longest`: number of tokens
 * of the longest text. */
int session_expect(const struct session *session, double bytes, struct weights_bytes weights,
                   size_t longest, struct err *err);

/* Set `*id` to the single token in the text of an option, without special tokens. If the model has
 * no tokenizer, the text is an id. A text of no token or of several tokens is a usage error. */
int token_option_read(long long *id, const struct viewer *viewer, const char *option,
                      const char *text, struct arena *arena, struct err *err);

/* True if `more`, which continues `text`, probably lacks a leading space: "cabinet", "are". */
bool lacks_space(const struct tokenized *text, const char *more, const struct tokenizer *tokenizer,
                 struct arena *arena);

#define LACKS_SPACE_NOTE "%s '%s' has no space before it: did you mean ' %s'?"

/* The options that ask for a logit, and their values. */
struct question_words {
    /* `option`: name of the option; `answer`: its value A[:B]; NULL: not given */
    const char *option, *answer;
    /* name of the option for the position, such as --query; NULL: no such option exists */
    const char *place_option;
    const char *place;            /* value of `place_option`, the index of a token; NULL: use
                                   * the default position */
    struct notes *notes;          /* notes of answers that lack a space */
    const struct tokenized *text; /* the text of the question; NULL: no text yet */
    size_t index;                 /* index of the text's item, for notes */
};

/* Read an answer, one token or two, such as ' Mary: John'. Without an answer, both tokens are -1.
 * Read the position: by default the last token; in masked models the last mask token, which is then
 * required. */
int answer_read(struct question *question, const struct question_words *words,
                const struct viewer *viewer, struct arena *arena, struct err *err);
int position_read(struct question *question, const struct question_words *words,
                  const struct viewer *viewer, struct arena *arena, struct err *err);

/* Describe a question, such as "logit difference Mary - John after to", and add its facts. NULL:
 * failed. */
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
