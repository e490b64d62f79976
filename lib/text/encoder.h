/* encoder.h: encodes a text. Added tokens are split off (token_set.h), and the text between them is
 * normalized; added tokens of normalized text are split off, and the rest is split into pieces
 * (stages.h), which the model encodes (subword/subword.h). Each stage calls the next for each of
 * its results, so no list of pieces is stored.
 *
 *     struct encoder encoder = {.tokenizer = tokenizer, .list = list};
 *     if (encoder_run(&encoder, &text, err)) ...
 *     encoder_release(&encoder);
 */
#pragma once

#include "text/builder.h"

/* A cache of the tokens of short pieces, one cache for each text; short texts have no cache. */
enum {
    PIECE_ENTRY_BYTES = 22,
    PIECE_ENTRY_TOKENS = 8,
    PIECE_CACHE_ENTRIES_MAX = 8192, /* maximum number of entries, of 64 bytes each: 512 KiB */
};

struct piece_entry { /* 64 bytes, a cache line */
    uint32_t ids[PIECE_ENTRY_TOKENS];
    uint8_t ends[PIECE_ENTRY_TOKENS];
    uint8_t count; /* number of tokens; above PIECE_ENTRY_TOKENS: the tokens do not fit, and are not
                    * stored */
    uint8_t size;  /* size of `bytes`; 0: nothing is stored */
    char bytes[PIECE_ENTRY_BYTES];
};

struct piece_cache {
    struct piece_entry *entries; /* NULL: no cache, for a short text or for lack of memory */
    size_t mask;
    struct piece_entry *last;  /* the entry used last; NULL: none was used */
    struct piece_entry *entry; /* stores the tokens that are being added; NULL: they are
                                * not stored */
    struct text_range part;    /* the range of `entry`'s bytes in the piece */
};

/* Unigram: the best path to each position of a piece. Sums are kept only for positions after the
 * current one. Steps are kept from `base` on, a position through which every best path leads. */
struct best_ways {
    double *sums; /* sums of scores, by the low bits of a position; NaN: no path */
    size_t mask;
    uint32_t *steps; /* [position - base] id of the last entry of the best path to the position;
                      * BPE_NONE: a character without an entry */
    size_t capacity;
    size_t base, reach; /* `base`: position of the first step; `reach`: the last position with a
                         * path */
};

struct encoder {
    const struct tokenizer *tokenizer;
    struct token_list *list; /* receives the tokens */
    struct text_limits limits;
    bool plain; /* special tokens in a text are treated as text */

    struct bpe_piece piece;
    struct piece_cache cache;
    struct buf scratch;
    struct token_list found; /* WordPiece: tokens of the current piece; empty if the piece is
                              * unknown */
    struct best_ways ways;
    struct text_rewriter spare; /* a rewriter whose memory the next step that changes a
                                 * piece reuses */
    size_t hint;                /* the hint of aligned_text_origin, 0 at first */
};

int encoder_run(struct encoder *encoder, const struct token_text *text, struct err *err);
void encoder_release(struct encoder *encoder);

/* Pass a piece to the step `next`; to the model if `next` is NULL, after the last step. */
int encoder_pass(struct encoder *encoder, const struct stage *next, const struct text_piece *piece,
                 struct err *err);

/* Add the token of the bytes [start, end) of a piece. */
static inline int encoder_add(struct encoder *encoder, const struct text_piece *piece, uint32_t id,
                              size_t start, size_t end, struct err *err)
{
    struct piece_entry *entry = encoder->cache.entry;
    struct text_range range = {piece->range.start + start, piece->range.start + end};
    struct text_range origin = {0};
    if (entry && entry->count < PIECE_ENTRY_TOKENS) {
        entry->ids[entry->count] = id;
        entry->ends[entry->count] = (uint8_t)(end - encoder->cache.part.start);
    }
    if (entry && entry->count <= PIECE_ENTRY_TOKENS)
        entry->count++;
    if (!encoder->list->only_ids)
        origin = aligned_text_origin(piece->text, range, &encoder->hint);
    return token_list_add(encoder->list, (struct token){id, start > 0, origin.start, origin.end},
                          err);
}

/* Add the tokens of a part of a piece from the cache and return 1; return 0 if the cache lacks the
 * part, or -1 with `err` on failure. After 0, encoder_store stores the tokens added since, if they
 * fit. */
int encoder_add_known(struct encoder *encoder, const struct text_piece *piece,
                      struct text_range part, struct err *err);
void encoder_store(struct encoder *encoder);

/* Count `count` characters of the text that have no token; `first` is the range of the first such
 * character in the piece. A single character that a step inserted is not counted. */
void encoder_drop(struct encoder *encoder, const struct text_piece *piece, struct text_range first,
                  size_t count);
