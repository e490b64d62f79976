/* subword.h: the models of tokenizer.json: what becomes of a piece of text when nothing cuts it any
 * more. Models are rows of one table; one that is not there is refused by its name.
 *
 *   BPE         neighbours are joined by rank (bpe.h)
 *   Unigram     of all ways to put the piece together from entries the likeliest
 *   WordPiece   the longest entry that the piece begins with, then of the rest the longest one that
 *               goes a word on (##), and so on; a piece that cannot be cut so is unknown
 *   WordLevel   the piece is an entry, or unknown
 *   words       the piece, a whole text, is split into entries (words.c)
 */
#ifndef ATTN_TEXT_SUBWORD_H
#define ATTN_TEXT_SUBWORD_H

#include <float.h>

#include "text/pre_tokenizer.h"
#include "text/subword/bpe.h"

#define SUBWORD_ABSENT (-DBL_MAX) /* the score of a word that no text has */

struct subword {
    const struct subword_row *row;
    const struct word_table *words;
    uint32_t unknown; /* BPE_NONE: there is none */
    struct bpe bpe;
    bool cuts_at_signs;    /* BPE: nothing is joined over the front of a word's ▁ */
    struct word_trie trie; /* Unigram, WordPiece, words */
    const double *scores;  /* Unigram: by id, and that of an unknown character */
    double unknown_score;
    bool fuses_unknown;
    bool is_single;            /* … sums are rounded to float32, as SentencePiece's are */
    uint32_t byte_ids[256];    /* … of <0x00> to <0xFF>, when it falls back to bytes */
    uint32_t rest;             /* WordPiece: the trie's node of ##, */
    bool has_rests;            /* … if there is one: it goes a word on */
    long long most_characters; /* … of a piece that is not unknown at once */
};

struct subword_row {
    const char *name;
    int (*encode)(const struct subword *model, struct encoder *encoder,
                  const struct text_piece *piece, struct err *err);
};

enum {
    SUBWORD_BPE,
    SUBWORD_UNIGRAM,
    SUBWORD_WORD_PIECE,
    SUBWORD_WORD_LEVEL,
    SUBWORD_WORDS, /* of a vocab.json alone, after those of tokenizer.json */
    SUBWORD_COUNT
};

extern const struct subword_row subword_rows[SUBWORD_COUNT];

/* Begin a model; its fields and words are set by the reader of its file. */
void subword_init(struct subword *model, const struct subword_row *row,
                  const struct word_table *words);
void subword_release(struct subword *model);

/* Add a piece's tokens: subword_bpe.c, subword_unigram.c, subword.c, words.c. */
int subword_encode_bpe(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err);
int subword_encode_unigram(const struct subword *model, struct encoder *encoder,
                           const struct text_piece *piece, struct err *err);
int subword_encode_word_piece(const struct subword *model, struct encoder *encoder,
                              const struct text_piece *piece, struct err *err);
int subword_encode_word_level(const struct subword *model, struct encoder *encoder,
                              const struct text_piece *piece, struct err *err);

int subword_encode_words(const struct subword *model, struct encoder *encoder,
                         const struct text_piece *piece, struct err *err);

/* The ids of <0x00> to <0xFF>, BPE_NONE for those that are no words. */
void subword_find_bytes(uint32_t ids[256], const struct word_table *words);

/* True if the words are written in word_table.h's alphabet: each of its 256 letters is a word, or
 * more than half of all begin with Ġ. */
bool words_are_byte_level(const struct word_table *words);

/* Refuse a word, which begins at byte `at` of its text, as ERR_ABOUT_WORD; suggests the nearest
 * word. */
int words_refuse(const struct word_table *words, struct word word, size_t at, struct err *err);

/* After merges and words are there: may pieces be cut at signs? */
bool bpe_cuts_at_signs(const struct bpe *bpe);

#endif
