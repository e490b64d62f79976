/* tokenized.h: a text as tokens with their labels, ready to be run and shown.
 *
 *     struct token_limits limits = {tokenizer, &config, NULL};
 *     struct input input = {.text = "Life is short", .size = 13};
 *     struct tokenized tokenized;
 *     if (tokenized_make(&tokenized, &input, &limits, &arena, err)) ...
 */
#ifndef ATTN_LENS_TOKENIZED_H
#define ATTN_LENS_TOKENIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "lens/sheet.h"
#include "text/label.h"
#include "text/tokenizer.h"

struct config;
struct frame;

/* What is to be read: a text, or a list of ids. */
struct input {
    const char *text; /* not 0-terminated; NULL: ids */
    size_t size;
    const char *ids; /* "3,1,4" */
};

/* What a model can read. */
struct token_limits {
    const struct tokenizer *tokenizer; /* NULL: only ids will do */
    const struct config *config;       /* how many words and positions there are */
    const char *why; /* … there is no tokenizer, though the folder has one; NULL, "": it has none */
};

/* Tokens in a row that make a word. */
struct word_span {
    size_t first;
    size_t count;
};

struct tokenized {
    const char *text; /* NULL when ids were given in its place */
    size_t size;
    const struct token *tokens;      /* [count] */
    const uint32_t *ids;             /* [count] theirs, as a pass takes them */
    const struct label *labels;      /* [count] */
    const struct token_bytes *bytes; /* [count], alive as long as the tokenizer; NULL: none known */
    size_t count;
    size_t added_before, added_after; /* special tokens that the tokenizer added at either end */
    size_t dropped_count;             /* characters that the vocabulary does not have */
    struct token dropped_first;       /* where the first of them stood */
    const struct word_span
        *words; /* [word_count] what axes count in place of tokens; NULL: tokens */
    const struct label *word_labels;
    size_t word_count;
};

/* Tokenize and label; all memory is the arena's. Refused: an empty text, one of more tokens than
 * the model has positions, and a token for which the model has no row. */
int tokenized_make(struct tokenized *tokenized, const struct input *input,
                   const struct token_limits *limits, struct arena *arena, struct err *err);

/* The text that is empty but for the token that texts of the model begin with, which has no place
 * in it. Refused where the config names none. */
int tokenized_begin(struct tokenized *tokenized, const struct token_limits *limits,
                    struct arena *arena, struct err *err);

/* Label tokens that are there already; they are borrowed. The text is for the caller to fill in. */
int tokenized_label(struct tokenized *tokenized, const struct tokens *tokens,
                    const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* Refuse a text without tokens. */
int tokenized_check(const struct tokenized *tokenized, struct err *err);

/* The tokens as a table with the columns index, id, start, end, text and bytes (hexadecimal, where
 * a token is not UTF-8 or has a 0); for people `title` is above the texts. */
int tokenized_frame(struct frame *frame, const struct tokenized *tokenized, const char *title,
                    struct arena *arena, struct err *err);

/* Append the text on one line, for headings: blanks stay, all else that a terminal could trip over
 * is made visible as in label.h. In place of a text that is not known, `ids 3,1,4`. */
void tokenized_visible(struct buf *out, const struct tokenized *tokenized);

/* One token of a text, by what it is called:
 *
 *     is      the first token that reads so, with or without the blank before it; or its label
 *     3, -1   the token at that place, counted from 0, or from the end
 *     3:is    the token at that place, which must read so: the label of data files
 *
 * A token that reads `3` wins over the place 3. */
struct token_match {
    size_t index;
    size_t alike; /* tokens after it that go by the same name … */
    size_t next;  /* … and the first of them */
    size_t place; /* the token whose place the name is, should it be a number, too; else index */
};

/* False: there is none. */
bool tokenized_find_token(struct token_match *match, const struct tokenized *tokenized,
                          const char *name);

/* --- labels ----------------------------------------------------------------------------------- */

/* One thing that gets a label, and the row it stands in. */
struct thing {
    size_t place;
    const struct token_bytes *row;
    size_t count, index;
};

/* Its forms: its own text, what is seen of it, and that with its place before it. */
int label_make(struct label *label, const struct thing *thing, struct arena *arena,
               struct err *err);

/* What a token is called for short: its text, or what is seen of it, without the blanks before it.
 */
const char *label_name(const struct label *label);

/* A head: people read 0.1, as options take it; data files have L0H1, which stays a text where 0.1
 * and 0.10 would be read as one number. */
int label_of_head(struct label *label, size_t layer, size_t head, struct arena *arena,
                  struct err *err);

/* Labels "0", "1", … below `count`; of a word of a vocabulary, and of `count` of them. */
const struct label *labels_of_numbers(size_t count, struct arena *arena, struct err *err);
int label_of_word(struct label *label, const struct tokenizer *tokenizer, uint32_t id,
                  struct arena *arena, struct err *err);
const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err);

/* An axis with the labels "0", "1", … */
int axis_of_numbers(struct axis *axis, const char *name, size_t size, struct arena *arena,
                    struct err *err);

/* The heads of a layer: people read their numbers, data files L0H3. */
int axis_of_heads(struct axis *axis, size_t layer, size_t size, struct arena *arena,
                  struct err *err);

/* --- tokens as running text, and its words (wording.c) ------------------------------------ */

/* Append a token, and a blank before it where people write one: not before a comma, not after a
 * bracket that opens, not between Chinese words, nor before tokens that bring their own blanks.
 * Pieces of WordPiece that go on a word lose their sign. Returns where the token's bytes begin. A
 * token that is not known is written as its number; where there is no tokenizer the text is the
 * ids: 3,1,4. */
size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id);

/* Find which tokens make a word together. The tokenizer is the one that read the text, or that
 * knows the ids that were given in its place. */
int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err);

/* The bytes of a word in the text, without the white space around it. */
struct text_range word_range(const struct tokenized *tokenized, size_t word);

/* Which of so many ids begin a word wherever they follow another token: those that begin with a
 * blank, or where tokens are set apart by blanks all but the continuing ones. Refused, as not
 * supported: no token does. NULL with `err`. */
const bool *word_starts(const struct tokenizer *tokenizer, size_t count, struct arena *arena,
                        struct err *err);

#endif
