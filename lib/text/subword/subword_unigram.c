/* subword_unigram.c: Unigram: of all ways to put a piece together from entries the one whose scores
 * have the largest sum, found in one pass over the piece's characters. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/heap.h"
#include "text/encoder.h"
#include "text/label.h"

/* How far below the least score that of a character is that no entry has. */
static const double penalty = 10;

/* --- reading ---------------------------------------------------------------------------------- */

static int find_least(struct subword *model, struct err *err)
{
    double least = DBL_MAX;
    for (size_t id = 0; id < model->words->size; id++)
        if (model->words->places[id].form != WORD_ABSENT && model->scores[id] < least)
            least = model->scores[id];
    if (least == DBL_MAX)
        return err_set(err, "vocab: expected scores, found none");
    model->unknown_score = least - penalty;
    return 0;
}

int subword_read_unigram(struct subword *model, const struct subword_source *source,
                         struct err *err)
{
    struct field *fields = source->fields;
    struct json_cursor vocab;
    long long unknown = -1;
    bool falls_back = false;
    model->fuses_unknown = true;
    if (field_need(&vocab, &fields[MODEL_VOCAB], "[", err))
        return -1;
    if (word_table_read(source->words, vocab, WORD_TEXT, source->file_bytes, err))
        return err_prefix(err, "vocab");
    model->scores = source->words->scores;
    if (!model->scores)
        return err_set(err, "vocab: expected items [\"▁a\", -3.5], found words alone");
    if (field_integer(&fields[MODEL_UNK_ID], 0, (long long)model->words->size - 1, &unknown, err) ||
        field_bool(&fields[MODEL_BYTE_FALLBACK], &falls_back, err) ||
        field_bool(&fields[MODEL_FUSE_UNK], &model->fuses_unknown, err) || find_least(model, err) ||
        word_trie_init(&model->trie, model->words, err))
        return -1;
    model->unknown = unknown < 0 ? BPE_NONE : (uint32_t)unknown;
    memset(model->byte_ids, 0xFF, sizeof model->byte_ids);
    if (falls_back)
        subword_find_bytes(model->byte_ids, model->words);
    return 0;
}

/* --- pieces ----------------------------------------------------------------------------------- */

enum { LEAST_WINDOW = 8 }; /* more than a character's bytes */

/* A step to a place, which is taken when it is the best so far. SentencePiece keeps float32, and
 * holds against it what was not rounded yet. */
static void offer(const struct subword *model, struct best_ways *ways, double score, size_t end,
                  uint32_t id)
{
    double *best = &ways->sums[end & ways->mask];
    if (score <= *best) /* which is no number where no step led to */
        return;
    *best = model->is_single ? (double)(float)score : score;
    ways->steps[end] = id;
}

/* By an unknown character; SentencePiece adds its score in float32. */
static double unknown_sum(const struct subword *model, double score)
{
    double sum = score + model->unknown_score;
    return model->is_single ? (double)(float)sum : sum;
}

/* Do the bytes that say which entries begin at the last place stand at this one, too? */
static bool stand_again(struct best_ways *ways, const char *bytes, size_t size, size_t at)
{
    size_t shift = at - ways->place;
    if (ways->seen > size - at)
        return false;
    if (shift != ways->shift || at >= ways->as_far) {
        ways->shift = shift;
        for (ways->as_far = at; ways->as_far < size; ways->as_far++)
            if (bytes[ways->as_far] != bytes[ways->as_far - shift])
                break;
    }
    return at + ways->seen <= ways->as_far;
}

/* Find the entries that begin at a place: those of the last place where the same bytes stand there,
 * as in a row of dots, which may be long entries. */
static void find_entries(const struct subword *model, struct best_ways *ways, const char *bytes,
                         size_t size, size_t at)
{
    uint32_t node = 0;
    uint32_t c = 0;
    bool again = stand_again(ways, bytes, size, at);
    ways->place = at;
    if (again)
        return;
    ways->length = utf8_decode(&c, bytes + at, size - at);
    ways->known = false;
    ways->count = 0;
    ways->seen = SIZE_MAX;
    for (size_t end = at; end < size;) {
        node = word_trie_step(&model->trie, node, (unsigned char)bytes[end++]);
        if (!node) {
            ways->seen = end - at;
            break;
        }
        uint32_t id = model->trie.ids[node];
        if (id == WORD_TRIE_NONE || model->scores[id] == SUBWORD_ABSENT)
            continue;
        ways->entries[ways->count++] =
            (struct unigram_entry){model->scores[id], id, (uint32_t)(end - at)};
        ways->known |= end - at == ways->length;
    }
}

/* Go on from a place by every entry that begins there, and by one unknown character; returns where
 * the next character stands. */
static size_t go_on(const struct subword *model, struct best_ways *ways, const char *bytes,
                    size_t size, size_t at)
{
    double score = ways->sums[at & ways->mask];
    find_entries(model, ways, bytes, size, at);
    ways->sums[at & ways->mask] = NAN;
    for (size_t i = 0; i < ways->count; i++) {
        const struct unigram_entry *entry = &ways->entries[i];
        offer(model, ways, score + entry->score, at + entry->size, entry->id);
    }
    if (!ways->known)
        offer(model, ways, unknown_sum(model, score), at + ways->length, BPE_NONE);
    return at + ways->length;
}

/* Sums are kept as far as the longest step leads. */
static int begin(const struct subword *model, struct best_ways *ways, size_t size, struct err *err)
{
    size_t window = LEAST_WINDOW;
    while (window <= model->trie.longest)
        window *= 2;
    if (!ways->sums && !(ways->sums = heap_alloc(window, sizeof *ways->sums, err)))
        return -1;
    if (!ways->entries && !(ways->entries = heap_alloc(window, sizeof *ways->entries, err)))
        return -1;
    if (size >= ways->room) {
        uint32_t *steps = heap_resize(ways->steps, size + 1, sizeof *steps, err);
        if (!steps)
            return -1;
        ways->steps = steps;
        ways->room = size + 1;
    }
    ways->mask = window - 1;
    ways->place = 0;
    ways->seen = SIZE_MAX;
    ways->shift = ways->as_far = 0;
    for (size_t i = 1; i < window && i <= size; i++)
        ways->sums[i] = NAN;
    ways->sums[0] = 0;
    return 0;
}

/* The tokens of a piece, which a cache gets where it has an entry for it. */
struct kept_tokens {
    struct piece_entry *entry; /* NULL: none */
    struct bpe_token tokens[PIECE_ENTRY_BYTES];
    size_t count;
};

static inline int add(struct encoder *encoder, const struct text_piece *piece,
                      struct kept_tokens *kept, struct token token, struct err *err)
{
    if (kept->entry)
        kept->tokens[kept->count++] =
            (struct bpe_token){token.id, (uint32_t)token.start, (uint32_t)token.end};
    return encoder_add(encoder, piece, token.id, token.start, token.end, err);
}

/* Bytes of the piece that are no entry. */
static int add_unknown(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct text_range range,
                       struct kept_tokens *kept, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *bytes = piece->text->bytes + piece->range.start;
    struct token token = {model->unknown, range.start, range.end};
    bool all = true; /* every byte has a token */
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
        return err_set(err,
                       "'%s' at byte %zu is not in the vocabulary, which has no word for the "
                       "unknown",
                       label_excerpt(shown, bytes + range.start, range.end - range.start),
                       aligned_text_place(piece->text, whole, &encoder->hint).start);
    }
    return add(encoder, piece, kept, token, err);
}

/* Where a step that ends at `end` begins. */
static size_t start_of(const struct subword *model, const char *bytes, size_t end, uint32_t id)
{
    if (id != BPE_NONE)
        return end - model->words->places[id].size;
    do
        end--;
    while (((unsigned char)bytes[end] & 0xC0) == 0x80);
    return end;
}

/* Move the steps of the best way to the end, in order; returns where the first one stands. */
static size_t gather(const struct subword *model, uint32_t *steps, const char *bytes, size_t size)
{
    size_t first = size + 1;
    for (size_t at = size; at > 0;) {
        uint32_t id = steps[at];
        at = start_of(model, bytes, at, id);
        steps[--first] = id;
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

/* Add the tokens from a step on; `entry`, which may be NULL, gets them. */
static int add_steps(const struct subword *model, struct encoder *encoder,
                     const struct text_piece *piece, size_t step, struct piece_entry *entry,
                     struct err *err)
{
    struct kept_tokens kept = {.entry = entry};
    const uint32_t *steps = encoder->ways.steps;
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    for (size_t at = 0, end; at < size; at = end) {
        uint32_t id = steps[step++];
        end = end_of(model, bytes, size, at, id);
        while (id == BPE_NONE && model->fuses_unknown && end < size && steps[step] == BPE_NONE)
            end = end_of(model, bytes, size, end, steps[step++]);
        struct text_range range = {at, end};
        struct token token = {id, at, end};
        if (id == BPE_NONE ? add_unknown(model, encoder, piece, range, &kept, err)
                           : add(encoder, piece, &kept, token, err))
            return -1;
    }
    if (entry)
        piece_entry_set(entry, bytes, size, kept.tokens, kept.count);
    return 0;
}

int subword_encode_unigram(const struct subword *model, struct encoder *encoder,
                           const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    struct piece_entry *entry = piece_cache_at(&encoder->cache, bytes, size);
    if (entry && piece_entry_is(entry, bytes, size))
        return encoder_add_known(encoder, piece, entry, err);
    if (begin(model, &encoder->ways, size, err))
        return -1;
    for (size_t at = 0; at < size;)
        at = go_on(model, &encoder->ways, bytes, size, at);
    size_t first = gather(model, encoder->ways.steps, bytes, size);
    return add_steps(model, encoder, piece, first, entry, err);
}
