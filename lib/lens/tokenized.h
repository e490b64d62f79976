/* tokenized.h: a text as tokens with labels; its words; running text.
 *
 *     struct token_limits limits = {tokenizer, &config, config.vocab_size, NULL};
 *     struct input input = {.text = "Life is short", .size = 13};
 *     struct tokenized tokenized;
 *     if (tokenized_make(&tokenized, &input, &limits, &arena, err)) ...
 */
#pragma once

#include "base/buf.h"
#include "lens/sheet.h"
#include "text/label.h"
#include "text/tokenizer.h"

struct config;

/* A text, or a list of ids. */
struct input {
    const char *text; /* not terminated by NUL; NULL: use `ids` */
    size_t size;
    const char *ids;         /* a list such as "3,1,4" */
    struct token_bytes pair; /* second text of a pair; `bytes` NULL: no pair */
};

/* What a text is checked against: the tokenizer, vocabulary and context of a model. */
struct token_limits {
    const struct tokenizer *tokenizer; /* the model's tokenizer; NULL: only ids are accepted */
    const struct config *config;       /* gives the size of the context and the beginning token */
    size_t vocabulary;                 /* size of the vocabulary: ids are below it */
    const char *why;          /* if `tokenizer` is NULL: why the model's tokenizer is not supported;
                               * NULL or "": the model has none */
    bool starts;              /* texts begin with the model's beginning token */
    bool start_is_unnumbered; /* the beginning token has no number: token 0 is the first one after
                               * it */
    const char *model;        /* the model's folder or file, for messages */
};

/* A range of tokens, such as the tokens of a word. */
struct word_span {
    size_t first;
    size_t count;
};

/* The items of a list of positions, such as `@verb,-1`, and the tokens or words of each. With
 * --mean texts or regions, the positions of an item share one row or column. */
struct named_positions {
    const struct label *labels; /* [count] names of the items */
    const char **positions;     /* [count] tokens or words of an item, such as "3-4" */
    size_t count;               /* number of items; 0: positions are not grouped by item */
};

struct text_range;

struct tokenized {
    const char *raw; /* the text; NULL: ids were given */
    size_t size;
    const struct token *tokens;      /* [count] id and byte range of each token */
    const uint32_t *ids;             /* [count] token ids */
    const struct label *labels;      /* [count] labels of the tokens */
    const struct token_bytes *bytes; /* [count] bytes of the tokens; NULL, or NULL in an item: not
                                      * known */
    const unsigned char *segments;   /* [count] segments of a pair of texts; NULL: one text */
    size_t count;
    struct token_bytes pair;          /* second text of a pair; `bytes` NULL: no pair */
    size_t second;                    /* index of the first token of `pair`; 0: there is one text */
    size_t added_before, added_after; /* numbers of special tokens that were added at the start and
                                       * at the end */
    size_t added_between;             /* in a pair: number of special tokens added just before token
                                       * `second` */
    size_t dropped_count;             /* number of characters that the vocabulary lacks */
    struct token dropped_first;       /* byte range of the first character that the vocabulary
                                       * lacks */
    const struct word_span *words;    /* [word_count] words: axes then have words in place of
                                       * tokens; NULL: axes have tokens */
    const struct label *word_labels;
    size_t word_count;
    size_t words_before; /* number of special tokens before word or token 0; they have no number */
    const struct text_range *given; /* [given_count] byte ranges of words that the caller defines;
                                     * NULL: words are separated by blanks */
    size_t given_count;
    const char *queries; /* selected rows of the text's tensors, such as "0,3-5": indices of tokens,
                          * or numbers of words; NULL: see selection_queries */
    const char *keys;    /* selected columns of attention maps, such as "0,3-5"; NULL: all */
    struct named_positions named_queries, named_keys;
};

/* Tokenize an input and label its tokens, in `arena`; the input's texts are borrowed. Refuses an
 * empty text, more tokens than the model has positions, and ids outside the model's vocabulary. */
int tokenized_make(struct tokenized *tokenized, const struct input *input,
                   const struct token_limits *limits, struct arena *arena, struct err *err);

/* Make a text of one token, the model's beginning token. It is an error if the vocabulary lacks
 * this token. */
int tokenized_begin(struct tokenized *tokenized, const struct token_limits *limits,
                    struct arena *arena, struct err *err);

/* Make a text of `tokens`, which are borrowed, with labels. The caller sets `raw`, `size` and
 * `pair`. */
int tokenized_label(struct tokenized *tokenized, const struct tokens *tokens,
                    const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* Return the number of a token: 0 at index `words_before`, negative for the tokens before it. */
static inline long long tokenized_number(const struct tokenized *tokenized, size_t index)
{
    return (long long)index - (long long)tokenized->words_before;
}

/* True if the token at an index is a special token that was added to the text. */
bool tokenized_is_added(const struct tokenized *tokenized, size_t index);

/* Return the position whose prediction a page shows when it opens: for a classifier, the position
 * of its answer; else the last mask token or, without one, the last token before the special tokens
 * that were added at the end. */
size_t tokenized_opening(const struct tokenized *text, const struct config *config, long long mask);

/* Return the index of the first token that begins inside a character, as in Chinese and emoji;
 * `count`: there is none. */
size_t tokenized_first_part(const struct tokenized *tokenized);

/* Refuse a text without tokens. */
int tokenized_check(const struct tokenized *tokenized, struct err *err);

/* Make a table of the tokens with the columns index, id, start, end, segment (only for a pair),
 * text and bytes (hexadecimal, for tokens that are not UTF-8 or contain a zero byte). `title` is
 * the header of the column `text` for people. */
int tokenized_table(struct table *table, const struct tokenized *tokenized, const char *title,
                    struct arena *arena, struct err *err);

/* Append the text on one line as label.h displays it, but with plain spaces; for a pair both texts,
 * `the dog │ a cat`; for ids without a text `ids 3,1,4`. */
void tokenized_visible(struct buf *out, const struct tokenized *tokenized);

/* What a name matches in a text:
 *
 *     is      the first token with this text, with or without a space before it, or this label
 *     3, -1   the token with this index; negative indices count from the end
 *     3:is    the token with this index, if it has this text: the label in data files
 *
 * The text `3` has priority over the index 3. */
struct token_match {
    size_t index;
    size_t alike; /* number of later tokens with this name */
    size_t next;  /* index of the first of the later tokens */
};

/* Find a token by name; false if none matches. */
bool tokenized_find_token(struct token_match *match, const struct tokenized *tokenized,
                          const char *name);

/* --- labels ----------------------------------------------------------------------------------- */

/* Return a token's text without leading spaces; if it is only spaces, its visible form. */
const char *label_name(const struct label *label);

/* Make a label that borrows a text. Its form for people is on one line, with signs for spaces if
 * `shows_blanks`. */
struct label label_borrowed(const char *text, bool shows_blanks, struct arena *arena,
                            struct err *err);

/* label_of_head: the head's name, L0H1.
 * label_of_word: the label of a vocabulary entry. On errors, the label's texts are NULL, and `err`
 * is set. */
struct label label_of_head(size_t layer, size_t head, struct arena *arena, struct err *err);
struct label label_of_word(const struct tokenizer *tokenizer, uint32_t id, struct arena *arena,
                           struct err *err);

/* Make labels of `numbers` [count] (NULL: 0, 1, …), or of the first `count` vocabulary entries.
 * Return NULL with `err`. */
const struct label *labels_of_numbers(const size_t *numbers, size_t count, struct arena *arena,
                                      struct err *err);
const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err);

/* Make an axis of `numbers` [count] (NULL: 0, 1, …), or of the `size` heads of a layer, which are
 * labelled L0H3 in data and 3 for people. */
int axis_of_numbers(struct axis *axis, const char *name, const size_t *numbers, size_t count,
                    struct arena *arena, struct err *err);
int axis_of_heads(struct axis *axis, size_t layer, size_t size, struct arena *arena,
                  struct err *err);

/* `axis_add` adds a position to an axis, labelled with a name (NULL: making the name failed with
 * `err`); `axis_add_numbers` adds `count` positions, labelled with a prefix and numbers from 0. */
int axis_add(struct axis *axis, const char *name, struct arena *arena, struct err *err);
int axis_add_numbers(struct axis *axis, const char *prefix, size_t count, struct arena *arena,
                     struct err *err);

/* --- running text and words ------------------------------------------------------------------- */

/* Append a token, after a space if the tokenizer removes spaces and normal spelling has one.
 * Returns the byte offset at which the token begins. Unknown ids become numbers; without a
 * tokenizer, all ids do, separated by commas: 3,1,4. */
size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id);

/* Return the text of tokens, one of them marked: "the «cat» sat". Marks do not divide a
 * character. */
const char *wording_around(const uint32_t *ids, size_t count, size_t marked,
                           const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* True if normal spelling has a blank between a text and a word; the text before “, „ or " decides
 * if it opens or closes a quotation. */
bool wording_needs_blank(const struct buf *text, const char *word, size_t size);

/* Find the words of a text: the given words, which may have no tokens, or else words between
 * blanks. `tokenizer` is the one that made the text's ids; it also spells ids that have no text. */
int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err);

/* Return the byte range of a word in its text, without surrounding white space. */
struct text_range word_range(const struct tokenized *tokenized, size_t word);

/* Find which of the first `count` ids begin a new word: tokens with a leading space or, if the
 * tokenizer removes spaces, without a continuation prefix. Returns NULL with `err` on errors; it is
 * an unsupported error if no id begins a word. */
const bool *word_starts(const struct tokenizer *tokenizer, size_t count, struct arena *arena,
                        struct err *err);
