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

/* What a model accepts as a text. */
struct token_limits {
    const struct tokenizer *tokenizer; /* NULL: only ids are accepted */
    const struct config *config;       /* has the size of the context, and the beginning token */
    size_t vocabulary;                 /* size of the vocabulary: ids are below it */
    const char *why;          /* without `tokenizer`: why the tokenizer is not supported; NULL or
                               * "": there is none */
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

/* Items of a list of positions, `@verb,-1`, each with its tokens or words: positions of one item
 * share a row or a column (--mean texts and regions). */
struct named_positions {
    const struct label *labels; /* [count] names of the items */
    const char **positions;     /* [count] tokens or words of an item, such as "3-4" */
    size_t count;               /* 0: each position has a row of its own */
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
    size_t second;                    /* first token of `pair`; 0: one text */
    size_t added_before, added_after; /* special tokens that were added to the text */
    size_t added_between;             /* in a pair: special tokens before token `second` */
    size_t dropped_count;             /* number of characters that the vocabulary lacks */
    struct token dropped_first;       /* position of the first character that the vocabulary
                                       * lacks */
    const struct word_span *words;    /* [word_count] words, which axes have instead of tokens;
                                       * NULL: axes have tokens */
    const struct label *word_labels;
    size_t word_count;
    size_t words_before; /* number of special tokens before word or token 0; they have no number */
    const struct text_range *given; /* [given_count] words as ranges of bytes, in place of words
                                     * between blanks; NULL: none */
    size_t given_count;
    const char *queries; /* selected rows of the text's tensors, such as "0,3-5": indices of tokens,
                          * or numbers of words; NULL: all, or the rows of the selection */
    const char *keys;    /* selected columns of attention; NULL: all */
    struct named_positions named_queries, named_keys;
};

/* Tokenize and label, in `arena`; borrows the input's texts. Refuses an empty text, more tokens
 * than the model has positions, and ids outside the model's vocabulary. */
int tokenized_make(struct tokenized *tokenized, const struct input *input,
                   const struct token_limits *limits, struct arena *arena, struct err *err);

/* Make a text of the model's beginning token alone. It is an error if the vocabulary lacks it. */
int tokenized_begin(struct tokenized *tokenized, const struct token_limits *limits,
                    struct arena *arena, struct err *err);

/* Label tokens, which are borrowed. The caller sets `raw`, `size` and `pair`. */
int tokenized_label(struct tokenized *tokenized, const struct tokens *tokens,
                    const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* Return the number of a token: 0 at index `words_before`, negative for the tokens before it. */
static inline long long tokenized_number(const struct tokenized *tokenized, size_t index)
{
    return (long long)index - (long long)tokenized->words_before;
}

/* True for special tokens that were added to the text. */
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

/* Make a table of the tokens: index, id, start, end, of a pair also the segment, text and bytes
 * (hexadecimal, for tokens that are not UTF-8 or contain a 0). `title`: header of the text. */
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

/* label_of_head: 0.1 for people; L0H1 for data, since 0.1 and 0.10 would be the same number.
 * label_of_word: the label of a vocabulary entry. All texts are NULL with `err`. */
struct label label_of_head(size_t layer, size_t head, struct arena *arena, struct err *err);
struct label label_of_word(const struct tokenizer *tokenizer, uint32_t id, struct arena *arena,
                           struct err *err);

/* Make labels of `numbers` [count] (NULL: 0, 1, …), or of the first `count` vocabulary entries.
 * Return NULL with `err`. */
const struct label *labels_of_numbers(const size_t *numbers, size_t count, struct arena *arena,
                                      struct err *err);
const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err);

/* Make an axis of `numbers` [count] (NULL: 0, 1, …), or of the `size` heads of a layer, whose
 * labels in data are such as L0H3. */
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
 * tokenizer: 3,1,4. */
size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id);

/* Return the text of tokens, one of them marked: "the «cat» sat". Marks do not divide a
 * character. */
const char *wording_around(const uint32_t *ids, size_t count, size_t marked,
                           const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* True if normal spelling has a blank between a text and a word; the text before “, „ or " decides
 * if it opens or closes a quotation. */
bool wording_needs_blank(const struct buf *text, const char *word, size_t size);

/* Find the words of a text: the given words, which may have no tokens, or else words between
 * blanks. `tokenizer` made the text's ids, or decodes them. */
int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err);

/* Return the byte range of a word in its text, without surrounding white space. */
struct text_range word_range(const struct tokenized *tokenized, size_t word);

/* Find which of the first `count` ids begin a new word: tokens with a leading space or, if the
 * tokenizer removes spaces, without a continuation prefix. Returns NULL with `err`; unsupported if
 * there are none. */
const bool *word_starts(const struct tokenizer *tokenizer, size_t count, struct arena *arena,
                        struct err *err);
