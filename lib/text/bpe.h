/* bpe.h: byte-pair encoding: bytes become tokens, and of all neighbours that have a merge, those of
 * the lowest rank are joined first, from left to right, until none has one.
 *
 * A short piece is searched anew for its lowest rank after every merge; a long one keeps its pairs
 * in a heap, so that the time for n bytes is n log n and the memory some 24 n.
 *
 *     struct bpe_piece piece = {0};
 *     if (bpe_encode(&bpe, &piece, " hello", 6, 0, err)) ...
 *     for (size_t i = 0; i < piece.count; i++)
 *         use(piece.tokens[i].id, piece.tokens[i].end);
 *     bpe_piece_release(&piece);
 */
#ifndef ATTN_TEXT_BPE_H
#define ATTN_TEXT_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash_index.h"

#define BPE_NONE UINT32_MAX /* no token, no rank */

enum { BPE_SHORT_BYTES = 64 };

struct bpe_merge {
    uint32_t left;
    uint32_t right;
    uint32_t id; /* what they become */
};

struct bpe {
    uint32_t byte_ids[256];   /* BPE_NONE: the vocabulary lacks the byte */
    struct bpe_merge *merges; /* [count] by rank */
    size_t count;
    size_t room;
    struct hash_index pairs;
    struct arena arena;
};

struct bpe_token {
    uint32_t id;
    uint32_t end; /* in the piece, which is the next one's start */
};

/* What became of a piece. Use one for many pieces: its memory grows with the longest. */
struct bpe_piece {
    struct bpe_token *tokens;
    size_t count;
    struct bpe_token short_tokens[BPE_SHORT_BYTES];
    struct bpe_symbol *symbols; /* [room] of a long piece */
    uint64_t *heap;             /* [2 * room] */
    size_t room;
};

/* No bytes yet, and room for so many merges. On failure nothing is held. */
int bpe_init(struct bpe *bpe, size_t merge_count, struct err *err);
void bpe_release(struct bpe *bpe);

/* The next merge, of the next rank. Of a pair that comes twice the last rank counts. */
void bpe_add(struct bpe *bpe, const struct bpe_merge *merge);

/* Encode a piece of at least one byte. `offset` is its place in the text, for the message about a
 * byte that the vocabulary lacks. */
int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               size_t offset, struct err *err);
void bpe_piece_release(struct bpe_piece *piece);

#endif
