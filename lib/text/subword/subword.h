/* subword.h: the models of tokenizer.json, which make tokens of the pieces of a text. An entry is a
 * word of the vocabulary.
 *
 *   BPE         adjacent tokens are joined by rank (bpe.h)
 *   Unigram     the piece is split into the most likely sequence of entries
 *   WordPiece   the piece is split into the longest entry with which it begins, then the longest
 *               with which the rest begins, written with ##, and so on; or it is unknown
 *   WordLevel   the piece is an entry, or unknown
 *   words       the piece, a whole text, is split into entries (words.c)
 */
#pragma once

#include <float.h>

#include "text/stages.h"
#include "text/subword/bpe.h"

#define SUBWORD_ABSENT (-DBL_MAX) /* the score of a word that is never used */

/* Indices of the characters before which a piece of BPE may be split: those below SUBWORD_SIGN are
 * ASCII, SUBWORD_SIGN is ▁. */
enum { SUBWORD_SIGN = 128, SUBWORD_FRONTS };

struct subword {
    const struct subword_row *row;
    const struct word_table *words;
    uint32_t unknown; /* id of the unknown token; BPE_NONE: none, or the model is BPE, which uses
                       * bpe.unknown */
    struct bpe bpe;
    bool (*joins)[SUBWORD_FRONTS]; /* BPE: true if a piece must not be split between a byte (first
                                    * index) and the character after it (second index); NULL: pieces
                                    * are never split */
    struct word_trie trie;         /* for Unigram, WordPiece and words */
    const double *scores;          /* Unigram: scores of words by id */
    double unknown_score;
    bool fuses_unknown;
    bool is_single;         /* Unigram: sums are rounded to float32, as in SentencePiece */
    uint32_t byte_ids[256]; /* Unigram: ids of <0x00> to <0xFF> for byte fallback; BPE_NONE: none */
    const struct word_table *vocabulary; /* Unigram, BPE: vocabulary that gives tokens their ids, by
                                          * their texts; NULL: tokens have the ids of `words` */
    bool has_codes;            /* Marian: a text may begin with a language's code, >>fra<< */
    uint32_t rest;             /* WordPiece: the node of the trie for the prefix ## */
    bool has_rests;            /* WordPiece: the trie has the node `rest` */
    long long most_characters; /* WordPiece: a piece with more characters is unknown */
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
    SUBWORD_WORDS, /* for a vocab.json alone; not a type of tokenizer.json */
    SUBWORD_COUNT
};

extern const struct subword_row subword_rows[SUBWORD_COUNT];

/* Initialize a model; the function that reads its file sets the other fields, and fills `words`. */
void subword_init(struct subword *model, const struct subword_row *row,
                  const struct word_table *words);
void subword_release(struct subword *model);

/* Split a text into the words of a vocab.json (defined in words.c). */
int subword_encode_words(const struct subword *model, struct encoder *encoder,
                         const struct text_piece *piece, struct err *err);

/* WordPiece: make the trie of the words, and find the node for the prefix (##) of tokens that
 * continue a word. */
int subword_find_rests(struct subword *model, const char *prefix, struct err *err);

/* Set the ids of <0x00> to <0xFF>: BPE_NONE without byte fallback, or if the vocabulary lacks the
 * word. */
void subword_find_bytes(uint32_t ids[256], const struct word_table *words, bool falls_back);

/* True if the words are written in GPT-2's alphabet (word_table.h): each of its 256 letters is a
 * word, or more than half of all words begin with Ġ. */
bool words_are_byte_level(const struct word_table *words);

/* Set the error for an unknown word at byte `at` of the text (ERR_ABOUT_WORD); it suggests a
 * similar word, if there is one. */
int words_refuse(const struct word_table *words, struct word word, size_t at, struct err *err);

/* BPE: find out where a split never changes tokens, after all merges are read. */
int subword_find_fronts(struct subword *model, struct err *err);
