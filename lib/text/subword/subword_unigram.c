/* subword_unigram.c: Unigram: splits a piece into the entries whose scores have the largest sum, by
 * the Viterbi algorithm, in one pass over its characters. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "text/encoder.h"
#include "text/label.h"

/* --- pieces ----------------------------------------------------------------------------------- */

enum {
    LEAST_WINDOW = 8,       /* more than the bytes of a character */
    PORTION_BYTES = 1 << 12 /* after these, tokens are added as soon as all paths meet */
};

/* Round a sum to float32 if the model does, as SentencePiece. */
static inline double rounded(const struct subword *model, double sum)
{
    return model->is_single ? (double)(float)sum : sum;
}

/* Record a step to the position `end` if its score, compared before it is rounded, is the best so
 * far. */
static inline void offer(const struct subword *model, struct best_ways *ways, double score,
                         size_t end, uint32_t id)
{
    double *best = &ways->sums[end & ways->mask];
    uint32_t *step = &ways->steps[end - ways->base];
    bool is_worse = score <= *best; /* `*best` is NaN before the first step */
    *best = is_worse ? *best : rounded(model, score);
    *step = is_worse ? *step : id;
}

/* Offer the steps from a position: every entry that begins there and, if no entry is exactly its
 * first character, that character as unknown. Returns the position of the next character. */
static size_t take_steps(const struct subword *model, struct best_ways *ways, const char *bytes,
                         size_t size, size_t at)
{
    double score = ways->sums[at & ways->mask];
    uint32_t node = 0;
    uint32_t c = 0;
    size_t next = at + utf8_decode(&c, bytes + at, size - at);
    size_t reach = next;
    bool is_known = false;
    ways->sums[at & ways->mask] = NAN;
    for (size_t end = at; end < size;) {
        node = word_trie_step(&model->trie, node, (unsigned char)bytes[end++]);
        if (!node)
            break;
        uint32_t id = model->trie.ids[node];
        if (id == WORD_TRIE_NONE || model->scores[id] == SUBWORD_ABSENT)
            continue;
        offer(model, ways, score + model->scores[id], end, id);
        reach = end > reach ? end : reach;
        is_known = is_known || end == next;
    }
    if (!is_known) /* SentencePiece adds this score in float32 */
        offer(model, ways, rounded(model, score + model->unknown_score), next, BPE_NONE);
    ways->reach = reach > ways->reach ? reach : ways->reach;
    return next;
}

/* Begin a piece. Sums are kept in a ring that is larger than the longest step. */
static int begin(const struct subword *model, struct best_ways *ways, size_t size, struct err *err)
{
    size_t window = LEAST_WINDOW;
    while (window <= model->trie.longest)
        window *= 2;
    if (!ways->sums && !(ways->sums = heap_alloc(window, sizeof *ways->sums, err)))
        return -1;
    if (size >= ways->room) {
        uint32_t *steps = heap_resize(ways->steps, size + 1, sizeof *steps, err);
        if (!steps)
            return -1;
        ways->steps = steps;
        ways->room = size + 1;
    }
    ways->mask = window - 1;
    ways->base = ways->reach = 0;
    for (size_t i = 1; i < window && i <= size; i++)
        ways->sums[i] = NAN;
    ways->sums[0] = 0;
    return 0;
}

/* The tokens of a piece, collected for its entry in the cache. */
struct kept_tokens {
    struct piece_entry *entry; /* NULL: none */
    struct bpe_token tokens[PIECE_ENTRY_BYTES];
    size_t count;
};

static inline int add(struct encoder *encoder, const struct text_piece *piece,
                      struct kept_tokens *kept, struct token token, struct err *err)
{
    if (kept->entry)
        kept->tokens[kept->count++] = (struct bpe_token){
            .id = token.id, .start = (uint32_t)token.start, .end = (uint32_t)token.end};
    return encoder_add(encoder, piece, token.id, token.start, token.end, err);
}

/* Add tokens for a range without an entry: its bytes if all have tokens, else the unknown token. */
static int add_unknown(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct text_range range,
                       struct kept_tokens *kept, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *bytes = piece->text->bytes + piece->range.start;
    struct token token = {model->unknown, range.start, range.end};
    bool all = true; /* true if every byte has a token */
    for (size_t i = range.start; i < range.end; i++)
        all = all && model->byte_ids[(unsigned char)bytes[i]] != BPE_NONE;
    for (size_t i = range.start; all && i < range.end; i++) {
        struct token byte = {model->byte_ids[(unsigned char)bytes[i]], i, i + 1};
        if (add(encoder, piece, kept, byte, err))
            return -1;
    }
    if (all)
        return 0;
    if (token.id == BPE_NONE) {
        struct text_range whole = {piece->range.start + range.start,
                                   piece->range.start + range.end};
        return err_set(err, "'%s' at byte %zu is not in the vocabulary, which has no unknown token",
                       label_excerpt(shown, bytes + range.start, range.end - range.start),
                       aligned_text_place(piece->text, whole, &encoder->hint).start);
    }
    return add(encoder, piece, kept, token, err);
}

/* Collect the steps of the best path from the base to `end`, in order, at the end of `steps`.
 * Returns the index of the first one. */
static size_t gather(const struct subword *model, struct best_ways *ways, const char *bytes,
                     size_t end)
{
    size_t first = end - ways->base + 1;
    for (size_t at = end; at > ways->base;) {
        uint32_t id = ways->steps[at - ways->base];
        at = id == BPE_NONE ? utf8_before(bytes, at) : at - model->words->places[id].size;
        ways->steps[--first] = id;
    }
    return first;
}

static size_t end_of(const struct subword *model, const char *bytes, size_t size, size_t at,
                     uint32_t id)
{
    uint32_t c = 0;
    return at + (id == BPE_NONE ? utf8_decode(&c, bytes + at, size - at)
                                : model->words->places[id].size);
}

/* Add the tokens of the best path from the base to `to`, which becomes the base. They are also
 * stored in `entry`, unless it is NULL. */
static int add_steps(const struct subword *model, struct encoder *encoder,
                     const struct text_piece *piece, size_t to, struct piece_entry *entry,
                     struct err *err)
{
    struct kept_tokens kept = {.entry = entry};
    const char *bytes = piece->text->bytes + piece->range.start;
    const uint32_t *step = encoder->ways.steps + gather(model, &encoder->ways, bytes, to);
    for (size_t at = encoder->ways.base, end; at < to; at = end) {
        uint32_t id = *step++;
        end = end_of(model, bytes, to, at, id);
        while (id == BPE_NONE && model->fuses_unknown && end < to && *step == BPE_NONE)
            end = end_of(model, bytes, to, end, *step++);
        struct text_range range = {at, end};
        struct token token = {id, at, end};
        if (id == BPE_NONE ? add_unknown(model, encoder, piece, range, &kept, err)
                           : add(encoder, piece, &kept, token, err))
            return -1;
    }
    if (entry)
        piece_entry_set(entry, bytes, to, kept.tokens, kept.count);
    encoder->ways.base = to;
    return 0;
}

int subword_encode_unigram(const struct subword *model, struct encoder *encoder,
                           const struct text_piece *piece, struct err *err)
{
    struct best_ways *ways = &encoder->ways;
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    struct piece_entry *entry = piece_cache_at(&encoder->cache, bytes, size);
    if (entry && piece_entry_is(entry, bytes, size))
        return encoder_add_known(encoder, piece, entry, err);
    if (begin(model, ways, size, err))
        return -1;
    for (size_t at = 0; at < size;) {
        at = take_steps(model, ways, bytes, size, at);
        /* all paths lead through here, and the last step is not part of an unknown token */
        if (at - ways->base >= PORTION_BYTES && ways->reach == at &&
            ways->steps[at - ways->base] != BPE_NONE &&
            add_steps(model, encoder, piece, at, NULL, err))
            return -1;
    }
    return ways->base < size ? add_steps(model, encoder, piece, size, entry, err) : 0;
}
