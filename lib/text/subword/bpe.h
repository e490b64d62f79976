/* bpe.h: byte-pair encoding: the adjacent tokens whose merge has the lowest rank are joined first,
 * from left to right, until no pair has a merge.
 *
 *     struct bpe_piece piece = {0};
 *     if (bpe_encode(&bpe, &piece, bytes, size, err)) ...
 *     bpe_piece_release(&piece);
 *
 * The first tokens of a piece are its bytes (GPT-2, Llama 3) or its characters (Llama 2, Gemma). A
 * character without an entry becomes tokens of its bytes (<0xE2>) or the unknown token, or is
 * dropped. */
#pragma once

#include "base/buf.h"
#include "text/word_table.h"

#define BPE_NONE UINT32_MAX /* in place of an id or of the index of a merge: there is none */

/* --- the merges --- */
struct bpe_merge {
    uint32_t left;
    uint32_t right;
    uint32_t id; /* id of the joined word */
    uint32_t rank;
};

struct bpe {
    bool by_characters;             /* the first tokens are characters; else bytes */
    bool fuses_unknown;             /* unknown characters in a row are one unknown token */
    bool takes_whole;               /* a piece that is a word of the vocabulary is one token,
                                     * without merges */
    const struct word_table *words; /* the vocabulary, borrowed */
    uint32_t byte_ids[256];         /* ids of tokens by byte: of the byte or, with `by_characters`,
                                     * of the ASCII character; BPE_NONE: none */
    uint32_t fallback_ids[256];     /* byte fallback: ids of <0x00> to <0xFF>; BPE_NONE: none */
    uint32_t unknown;               /* id of the unknown token; BPE_NONE: characters without a token
                                     * are dropped */
    struct word prefix, suffix;     /* `prefix`: put before each character except the first;
                                     * `suffix`: put after the last character */
    struct bpe_merge *merges;       /* array of `count` merges */
    size_t count;
    size_t capacity;
    struct hash_index pairs; /* indices of merges by left and right token */
    uint64_t *known;         /* a bit for each value of the low bits of a pair's hash; 0: no merge
                              * has that hash, and `pairs` need not be read */
    uint64_t known_mask;
    struct arena arena;
};

/* Initialize a model without merges. `words` must outlive it. Call bpe_release also after a
 * failure. */
void bpe_init(struct bpe *bpe, const struct word_table *words);
void bpe_release(struct bpe *bpe);

/* bpe_add adds a merge; call bpe_index after the last one. If a pair was added twice, the last rank
 * counts. */
int bpe_add(struct bpe *bpe, const struct bpe_merge *merge, struct err *err);
int bpe_index(struct bpe *bpe, struct err *err);

/* Read merges in the order of rank; both parts and the joined word must be in the vocabulary.
 * merges.txt has one merge per line, `Ġ t` (word_table.h), and lines `#version`, which are skipped;
 * tokenizer.json has "Ġ t" or ["Ġ", "t"]. Errors name the line or the number of the merge. A right
 * part loses its first `prefix` bytes when it is joined. */
int merges_read_lines(struct bpe *bpe, const char *bytes, size_t size, struct err *err);
int merges_read_json(struct bpe *bpe, struct json_cursor merges, size_t prefix, struct err *err);

/* --- encoding a piece --- */
struct bpe_token {
    uint32_t id;
    uint32_t start; /* byte offset in the piece */
    uint32_t end;
    uint32_t previous, next; /* indices of the adjacent tokens during joining */
    uint32_t merge;          /* index of the merge with the next token; BPE_NONE: none */
};

/* The tokens of a piece. Reuse it for many pieces: its memory grows to the size that the longest
 * piece needs. */
struct bpe_piece {
    struct bpe_token *tokens; /* array of `count` tokens */
    size_t count;
    size_t dropped; /* number of dropped characters, including characters of which only one byte was
                     * dropped */
    struct bpe_token dropped_first;
    uint64_t *queue; /* a binary heap of pairs, each a rank and the index of its left token */
    size_t queued;
    size_t capacity; /* room in `tokens`; the queue has room for twice as many pairs */
    struct buf scratch;
};

/* True if a character may be dropped because it has no token. */
bool bpe_drops(const struct bpe *bpe);

/* Encode a piece of at least one byte, in O(n log n) time. */
int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               struct err *err);
void bpe_piece_release(struct bpe_piece *piece);
