/* encoder.h: one text on its way through the stages of a tokenizer.json: added tokens are cut out
 * of it, what lies between them is normalized (normalizer.h), those among them that are looked for
 * after that are cut out, the rest is cut into pieces (pre_tokenizer.h), and the model makes tokens
 * of a piece (subword.h). Each stage hands on what it makes, so that no list of pieces is kept.
 *
 *     struct encoder encoder = {.tokenizer = tokenizer, .list = list};
 *     if (encoder_run(&encoder, &text, err)) ...
 *     encoder_release(&encoder);
 */
#ifndef ATTN_TEXT_ENCODER_H
#define ATTN_TEXT_ENCODER_H

#include "text/builder.h"

/* The tokens of short pieces that a text repeats: a cache for each text, in proportion to it. */
enum {
    PIECE_ENTRY_BYTES = 22,
    PIECE_ENTRY_TOKENS = 8,
    PIECE_CACHE_ENTRIES_MAX = 8192, /* half a megabyte */
};

struct piece_entry { /* 64 bytes, a cache line */
    uint32_t ids[PIECE_ENTRY_TOKENS];
    uint8_t ends[PIECE_ENTRY_TOKENS];
    uint8_t count;
    uint8_t size; /* 0: free */
    char bytes[PIECE_ENTRY_BYTES];
};

struct piece_cache {
    struct piece_entry *entries; /* NULL: no memory for a cache, or no use for one */
    size_t mask;
    struct piece_entry *last; /* that was asked for; NULL: none */
};

/* The entry on which a piece falls, or NULL when it is too long to be kept; whether the piece is
 * there; and to keep its tokens, unless they are too many. */
struct piece_entry *piece_cache_at(struct piece_cache *cache, const char *bytes, size_t size);
bool piece_entry_is(const struct piece_entry *entry, const char *bytes, size_t size);
void piece_entry_set(struct piece_entry *entry, const char *bytes, size_t size,
                     const struct bpe_token *tokens, size_t count);

/* Unigram's best ways to the places of a piece: their sums, of the last places alone, and the last
 * step of each, from a place on through which all of them lead. */
struct best_ways {
    double *sums; /* [mask + 1] by the low bits of a place; not a number: none leads there */
    size_t mask;
    uint32_t *steps; /* [room] by place from `base` on: an entry, or BPE_NONE, a character that is
                      * none */
    size_t room;
    size_t base, reach; /* so far a step led */
};

struct encoder {
    const struct tokenizer *tokenizer;
    struct token_list *list; /* gets the tokens */
    struct text_limits limits;
    bool plain; /* special tokens in a text are text */

    struct bpe_piece piece;
    struct piece_cache cache;
    struct buf scratch;
    struct token_list found; /* tokens of a piece that may turn out to be unknown */
    struct best_ways ways;
    struct text_rewriter spare; /* of a step that changes pieces, while it has none */
    size_t hint;                /* where the last token stood in its text */
};

int encoder_run(struct encoder *encoder, const struct token_text *text, struct err *err);
void encoder_release(struct encoder *encoder);

/* Hand a piece to a step, or to the model after the last one. */
int encoder_pass(struct encoder *encoder, const struct pre_tokenizer *next,
                 const struct text_piece *piece, struct err *err);

/* Add a token of a piece, whose bytes [start, end) it stands for; count characters that have none,
 * the first of which stands in `first`. */
static inline int encoder_add(struct encoder *encoder, const struct text_piece *piece, uint32_t id,
                              size_t start, size_t end, struct err *err)
{
    struct text_range range = {piece->range.start + start, piece->range.start + end};
    struct text_range place = {0};
    if (!encoder->list->only_ids)
        place = aligned_text_place(piece->text, range, &encoder->hint);
    return token_list_add(encoder->list, (struct token){id, place.start, place.end}, err);
}

/* Add the tokens of a piece that a cache knows. */
int encoder_add_known(struct encoder *encoder, const struct text_piece *piece,
                      const struct piece_entry *entry, struct err *err);

void encoder_drop(struct encoder *encoder, const struct text_piece *piece, struct text_range first,
                  size_t count);

#endif
