/* bpe.h: byte-pair encoding: of all neighbours that have a merge, those of the lowest rank are
 * joined first, from left to right, until none has one.
 *
 *     struct bpe_piece piece = {0};
 *     if (bpe_encode(&bpe, &piece, bytes, size, err)) ...
 *     bpe_piece_release(&piece);
 *
 * A piece begins as its bytes (GPT-2, Llama 3) or as its characters (Llama 2, Gemma). One that has
 * no entry becomes the tokens of its bytes, <0xE2>, or the unknown token, or nothing.
 */
#ifndef ATTN_TEXT_SUBWORD_BPE_H
#define ATTN_TEXT_SUBWORD_BPE_H

#include "base/buf.h"
#include "text/word_table.h"

#define BPE_NONE UINT32_MAX /* no token, no merge */

/* --- the merges --- */
struct bpe_merge {
    uint32_t left;
    uint32_t right;
    uint32_t id; /* of the word that they make */
    uint32_t rank;
};

struct bpe {
    bool by_characters;             /* else by bytes */
    bool fuses_unknown;             /* unknown characters in a row are one unknown token */
    bool takes_whole;               /* a piece that is an entry is one token, whatever merges say */
    const struct word_table *words; /* of characters and whole pieces */
    uint32_t byte_ids[256];         /* of bytes, or of ASCII characters; BPE_NONE: no entry */
    uint32_t fallback_ids[256];     /* <0x00> to <0xFF>, by characters; BPE_NONE: there are none */
    uint32_t unknown;               /* BPE_NONE: characters without an entry are dropped */
    struct word prefix, suffix;     /* of all characters but the first, and of the last one */
    struct bpe_merge *merges;       /* [count] */
    size_t count;
    size_t capacity;
    struct hash_index pairs; /* merges by left and right */
    struct arena arena;
};

/* Begin without merges; the words live as long. Released after a failure, too. */
void bpe_init(struct bpe *bpe, const struct word_table *words);
void bpe_release(struct bpe *bpe);

/* Add a merge; and, after the last one, index them all. Of a pair that was added twice the last
 * rank counts. */
int bpe_add(struct bpe *bpe, const struct bpe_merge *merge, struct err *err);
int bpe_index(struct bpe *bpe, struct err *err);

/* Read the merges of a file by rank; all parts, and the words that they make, must be words.
 * merges.txt has a line each, `Ġ t` (word_table.h), and lines `#version` that are skipped;
 * tokenizer.json has "Ġ t" or ["Ġ", "t"]. Errors name the line or the number. A right part loses
 * its first `prefix` bytes when it is joined. */
int merges_read_lines(struct bpe *bpe, const char *bytes, size_t size, struct err *err);
int merges_read_json(struct bpe *bpe, struct json_cursor merges, size_t prefix, struct err *err);

/* --- a piece into tokens --- */
struct bpe_token {
    uint32_t id;
    uint32_t start; /* in the piece */
    uint32_t end;
    uint32_t previous, next; /* tokens, while they are joined */
    uint32_t merge;          /* with the next token; BPE_NONE: they have none */
};

/* The tokens of a piece. Use one for many pieces: its memory grows with the longest. */
struct bpe_piece {
    struct bpe_token *tokens; /* [count] */
    size_t count;
    size_t dropped; /* characters that had no entry, or of which a byte had none */
    struct bpe_token dropped_first;
    uint64_t *queue; /* a binary heap of pairs, each a rank and the index of its left token */
    size_t queued;
    size_t capacity; /* of tokens; the queue's is twice as large */
    struct buf scratch;
};

/* True where a character of a piece may become no token. */
bool bpe_drops(const struct bpe *bpe);

/* Encode a piece of at least one byte, in n log n. */
int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               struct err *err);
void bpe_piece_release(struct bpe_piece *piece);

#endif
