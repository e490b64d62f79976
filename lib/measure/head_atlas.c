#include "measure/head_atlas.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "base/stream.h"
#include "math/portable_math.h"
#include "model/head_name.h"
#include "model/site.h"
#include "pass/tap.h"

static const double INDUCTION_LEAST = 0.01;

static size_t head_count(const struct atlas *atlas)
{
    return atlas->layers * atlas->across;
}

static bool is_highest(const struct atlas_plan *plan, size_t interval)
{
    return interval + 1 == plan->intervals;
}

static size_t room_of(const struct atlas_plan *plan, size_t interval)
{
    return is_highest(plan, interval) ? plan->top_samples : plan->samples;
}

/* --- memory ----------------------------------------------------------------------------------- */

static int open_head(struct atlas_head *head, const struct atlas_plan *plan, struct err *err)
{
    head->maxima = heap_alloc(num_max(plan->warm_up, 1), sizeof *head->maxima, err);
    head->limits = heap_alloc(plan->intervals, sizeof *head->limits, err);
    head->intervals = heap_alloc(plan->intervals, sizeof *head->intervals, err);
    for (size_t i = 0; head->intervals && i < plan->intervals; i++) {
        struct atlas_interval *interval = &head->intervals[i];
        interval->items = heap_alloc(room_of(plan, i), sizeof *interval->items, err);
    }
    return err_if(err->kind);
}

int atlas_open(struct atlas *atlas, size_t layers, size_t across, struct err *err)
{
    atlas->layers = layers;
    atlas->across = across;
    atlas->heads = heap_alloc(layers * across, sizeof *atlas->heads, err);
    if (!atlas->plan.of_headvis)
        atlas->held = heap_alloc(num_max(atlas->plan.warm_up, 1), sizeof *atlas->held, err);
    for (size_t i = 0; atlas->heads && i < layers * across; i++)
        if (open_head(&atlas->heads[i], &atlas->plan, err))
            return -1;
    return err_if(err->kind);
}

static void release_held(struct atlas *atlas)
{
    for (size_t i = 0; atlas->held && i < atlas->plan.warm_up; i++) {
        heap_free(atlas->held[i].tops);
        heap_free(atlas->held[i].entries);
    }
    heap_free(atlas->held);
    atlas->held = NULL;
}

static void clear_interval(struct atlas_interval *interval)
{
    for (size_t i = 0; i < interval->count; i++)
        heap_free(interval->items[i].entries);
    heap_free(interval->random);
    *interval = (struct atlas_interval){.items = interval->items};
}

void atlas_clear(struct atlas *atlas)
{
    atlas->texts = atlas->tokens = atlas->copies = 0;
    for (size_t i = 0; i < head_count(atlas); i++) {
        struct atlas_head *head = &atlas->heads[i];
        for (size_t k = 0; k < atlas->plan.intervals; k++)
            clear_interval(&head->intervals[k]);
        pair_counts_release(&head->pairs);
        *head = (struct atlas_head){
            .maxima = head->maxima, .limits = head->limits, .intervals = head->intervals};
    }
}

void atlas_release(struct atlas *atlas)
{
    release_held(atlas);
    for (size_t i = 0; atlas->heads && i < head_count(atlas); i++) {
        struct atlas_head *head = &atlas->heads[i];
        for (size_t k = 0; head->intervals && k < atlas->plan.intervals; k++) {
            clear_interval(&head->intervals[k]);
            heap_free(head->intervals[k].items);
        }
        heap_free(head->intervals);
        heap_free(head->maxima);
        heap_free(head->limits);
        pair_counts_release(&head->pairs);
    }
    heap_free(atlas->heads);
    atlas->heads = NULL;
}

/* --- rows ------------------------------------------------------------------------------------- */

int atlas_text_init(struct atlas_text *text, const struct atlas *atlas, struct arena *arena,
                    struct err *err)
{
    const uint32_t *ids = text->ids;
    const size_t count = text->count, rows = head_count(atlas) * count;
    const struct atlas_plan *plan = &atlas->plan;
    text->atlas = atlas;
    text->entries = arena_alloc(arena, rows, plan->keys * sizeof *text->entries, err);
    text->best = arena_alloc(arena, rows, sizeof *text->best, err);
    text->induction = NULL;
    text->copies = NULL;
    if (plan->of_headvis) {
        text->induction = arena_alloc(arena, rows, sizeof *text->induction, err);
        text->copies = arena_alloc(arena, count, sizeof *text->copies, err);
    }
    for (size_t i = 1; text->copies && i < count; i++)
        for (size_t k = i; k > 0 && !text->copies[i]; k--)
            text->copies[i] = ids[k - 1] == ids[i] ? (uint32_t)k : 0;
    return err_if(err->kind);
}

double atlas_text_bytes(const struct atlas *atlas, size_t count)
{
    const size_t entries = atlas->plan.keys * sizeof(uint32_t) + sizeof(struct atlas_best);
    return (double)head_count(atlas) * (double)count *
           (double)(entries + (atlas->plan.of_headvis ? sizeof(float) : 0));
}

/* Store the largest weights of at least plan->floor as entries, in the order of the keys. Among
 * equal weights, the first ones are stored. */
static void keep_largest(uint32_t *entries, const struct atlas_plan *plan, const float *weights,
                         size_t keys)
{
    uint32_t best[ATLAS_KEYS_MAX]; /* keys, the largest weight first */
    size_t count = 0;
    for (size_t key = 0; key < keys; key++) {
        const float weight = weights[key];
        size_t at = count;
        if (!((double)weight >= plan->floor) ||
            (count == plan->keys && !(weight > weights[best[count - 1]])))
            continue;
        count += count < plan->keys;
        for (at = count - 1; at && weight > weights[best[at - 1]]; at--)
            best[at] = best[at - 1];
        best[at] = (uint32_t)key;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        const double units = (double)weights[best[i]] * ATLAS_ENTRY_UNIT;
        const uint32_t unit = units < ATLAS_ENTRY_MAX ? (uint32_t)lrint(units) : ATLAS_ENTRY_MAX;
        for (; at && entries[at - 1] >> ATLAS_KEY_SHIFT > best[i]; at--)
            entries[at] = entries[at - 1];
        entries[at] = best[i] << ATLAS_KEY_SHIFT | unit;
    }
}

void atlas_see(void *context, const struct attention_map_row *row)
{
    struct atlas_text *text = context;
    const struct atlas *atlas = text->atlas;
    const size_t head = (size_t)row->layer * atlas->across + row->head;
    const size_t at = head * text->count + row->query;
    struct atlas_best best = {0, row->query ? 0 : row->values[0]};
    for (size_t key = 1; key < row->keys && row->query; key++)
        if (row->values[key] > best.weight && (long long)text->ids[key] != atlas->plan.bos)
            best = (struct atlas_best){(uint32_t)key, row->values[key]};
    text->best[at] = best;
    keep_largest(text->entries + at * atlas->plan.keys, &atlas->plan, row->values, row->keys);
    for (uint32_t copy = text->copies ? text->copies[row->query] : 0; copy;
         copy = text->copies[copy - 1]) {
        const float weight = row->values[copy]; /* weight on the token after the copy */
        text->induction[at] += (double)weight >= INDUCTION_LEAST ? weight : 0;
    }
}

/* --- intervals -------------------------------------------------------------------------------- */

static float top_of(const struct atlas_text *text, size_t head)
{
    const struct atlas_best *best = text->best + head * text->count;
    float top = 0;
    for (size_t query = 1; query < text->count; query++)
        top = best[query].weight > top ? best[query].weight : top;
    return top;
}

static int ascending(const void *a, const void *b)
{
    const float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

/* Choose the limits of intervals with equal numbers of texts. */
static void set_limits(struct atlas_head *head, const struct atlas_plan *plan, size_t count)
{
    float *maxima = head->maxima;
    qsort(maxima, count, sizeof *maxima, ascending);
    for (size_t i = 1; i < plan->intervals; i++) {
        size_t at = (size_t)lrint((double)(i * count) / (double)plan->intervals);
        head->limits[i - 1] = maxima[num_min(at, count - 1)];
    }
    heap_free(maxima);
    head->maxima = NULL;
}

static size_t interval_of(const struct atlas_head *head, const struct atlas_plan *plan, float top)
{
    size_t interval = 0;
    while (!is_highest(plan, interval) && head->limits[interval] <= top)
        interval++;
    return interval;
}

static uint64_t rank_of(const struct atlas_plan *plan, size_t head, size_t interval, float top,
                        size_t text)
{
    uint32_t bits; /* the bits of a positive float, read as an integer, have the order of floats */
    memcpy(&bits, &top, sizeof bits);
    return is_highest(plan, interval) ? bits : rng_fold_in(rng_fold_in(plan->seed, head), text);
}

/* Make room for a new example after the examples of equal or higher rank; the last example may drop
 * out. Returns the new example's index, or `room` if its rank is too low to be kept. */
static size_t make_room(struct atlas_interval *interval, size_t room, uint64_t rank)
{
    struct atlas_example *items = interval->items;
    size_t at = interval->count;
    while (at && items[at - 1].rank < rank)
        at--;
    if (at == room)
        return at;
    if (interval->count == room)
        heap_free(items[room - 1].entries);
    else
        interval->count++;
    memmove(&items[at + 1], &items[at], (interval->count - 1 - at) * sizeof *items);
    items[at].entries = NULL;
    return at;
}

/* Choose the index at which a reservoir keeps a new example: the next index, or the index of an
 * example that it replaces. Returns `room` if the example is not kept, or after an error. */
static size_t draw(struct atlas_interval *interval, size_t room, uint64_t seed, struct err *err)
{
    if (interval->count < room)
        return interval->count++;
    if (!interval->random) {
        interval->random = heap_alloc(1, sizeof *interval->random, err);
        if (!interval->random)
            return room;
        twister_begin_python(interval->random, seed);
    }
    size_t at = twister_below(interval->random, (uint32_t)num_min(interval->texts, UINT32_MAX));
    if (at < room)
        heap_free(interval->items[at].entries);
    return num_min(at, room);
}

static int sample(struct atlas *atlas, const struct atlas_text *text, size_t head, float top,
                  struct err *err)
{
    const struct atlas_plan *plan = &atlas->plan;
    const size_t i = interval_of(&atlas->heads[head], plan, top);
    const bool draws = plan->of_headvis && !is_highest(plan, i);
    const size_t room = room_of(plan, i), size = text->count * plan->keys;
    const uint64_t rank = draws ? 0 : rank_of(plan, head, i, top, text->number);
    /* the seed that HeadVis uses, which some heads share */
    const uint64_t seed =
        plan->seed + 31 * (1000 * (head / atlas->across) + 100 * (head % atlas->across)) + i;
    struct atlas_interval *interval = &atlas->heads[head].intervals[i];
    interval->texts++;
    const size_t at = draws ? draw(interval, room, seed, err) : make_room(interval, room, rank);
    if (at == room)
        return err_if(err->kind);
    uint32_t *entries = heap_alloc(size, sizeof *entries, err);
    interval->items[at] = (struct atlas_example){rank, top, text->number, text->count, entries};
    if (entries)
        memcpy(entries, text->entries + head * size, size * sizeof *entries);
    return err_if(!entries);
}

/* --- texts ------------------------------------------------------------------------------------ */

static const float PAIR_LEAST = 0.1f;

static int add_head(struct atlas *atlas, const struct atlas_text *text, size_t index,
                    struct err *err)
{
    struct atlas_head *head = &atlas->heads[index];
    const struct atlas_best *best = text->best + index * text->count;
    const float top = top_of(text, index);
    head->bins[top < 1 ? (size_t)(top * ATLAS_BINS) : ATLAS_BINS - 1]++;
    head->peaks += (double)top;
    if (text->induction) {
        const double first = (double)best->weight;
        head->first_self += first;
        head->first_entropy -= first > 0 ? first * log_double(first) : 0;
    }
    for (size_t query = 0; text->induction && query < text->count; query++)
        head->induction += (double)text->induction[index * text->count + query];
    for (size_t query = 1; query < text->count; query++)
        if (best[query].weight >= PAIR_LEAST &&
            pair_counts_add(&head->pairs, text->ids[query], text->ids[best[query].key],
                            (double)best[query].weight, err))
            return -1;
    return 0;
}

/* --- the warm-up ------------------------------------------------------------------------------ */

static int hold(struct atlas *atlas, const struct atlas_text *text, struct err *err)
{
    const size_t heads = head_count(atlas), size = heads * text->count * atlas->plan.keys;
    struct atlas_held *held = &atlas->held[atlas->warmed];
    *held =
        (struct atlas_held){text->number, text->count, heap_alloc(heads, sizeof *held->tops, err),
                            heap_alloc(size, sizeof *held->entries, err)};
    if (!held->tops || !held->entries)
        return -1;
    for (size_t i = 0; i < heads; i++)
        held->tops[i] = top_of(text, i);
    memcpy(held->entries, text->entries, size * sizeof *held->entries);
    return 0;
}

void atlas_warm(struct atlas *atlas, const struct atlas_text *text)
{
    for (size_t i = 0; i < head_count(atlas); i++)
        atlas->heads[i].maxima[atlas->warmed] = top_of(text, i);
    atlas->warmed++;
    for (size_t i = 0; i < head_count(atlas) && !atlas_is_warming(atlas); i++)
        set_limits(&atlas->heads[i], &atlas->plan, atlas->warmed);
}

/* Add a text to the warm-up. After the last text of the warm-up, sample the texts that were
 * held. */
static int warm(struct atlas *atlas, const struct atlas_text *text, struct err *err)
{
    if (atlas->held && hold(atlas, text, err))
        return -1;
    atlas_warm(atlas, text);
    if (atlas_is_warming(atlas))
        return 0;
    for (size_t t = 0; atlas->held && t < atlas->warmed; t++) {
        const struct atlas_held *held = &atlas->held[t];
        const struct atlas_text old = {
            .entries = held->entries, .count = held->count, .number = held->number};
        for (size_t i = 0; i < head_count(atlas); i++)
            if (sample(atlas, &old, i, held->tops[i], err))
                return -1;
    }
    release_held(atlas);
    return 0;
}

int atlas_add(struct atlas *atlas, const struct atlas_text *text, struct err *err)
{
    if (text->count < 2)
        return 0;
    atlas->texts++;
    atlas->tokens += text->count;
    for (size_t query = 0; text->copies && query < text->count; query++)
        atlas->copies += text->copies[query] > 0;
    for (size_t i = 0; i < head_count(atlas); i++)
        if (add_head(atlas, text, i, err))
            return -1;
    if (atlas_is_warming(atlas))
        return warm(atlas, text, err);
    for (size_t i = 0; i < head_count(atlas); i++)
        if (sample(atlas, text, i, top_of(text, i), err))
            return -1;
    return 0;
}

/* --- segments --------------------------------------------------------------------------------- */

static int merge_head(struct atlas *atlas, size_t index, struct atlas_head *segment,
                      struct err *err)
{
    struct atlas_head *head = &atlas->heads[index];
    for (size_t i = 0; i < ATLAS_BINS; i++)
        head->bins[i] += segment->bins[i];
    head->peaks += segment->peaks;
    head->first_self += segment->first_self;
    head->first_entropy += segment->first_entropy;
    head->induction += segment->induction;
    memcpy(head->limits, segment->limits, atlas->plan.intervals * sizeof *head->limits);
    for (size_t i = 0; i < atlas->plan.intervals; i++) {
        struct atlas_interval *to = &head->intervals[i], *from = &segment->intervals[i];
        const size_t room = room_of(&atlas->plan, i);
        to->texts += from->texts;
        for (size_t k = 0; k < from->count; k++) {
            const size_t at = make_room(to, room, from->items[k].rank);
            if (at == room)
                break;
            to->items[at] = from->items[k];
            from->items[k].entries = NULL;
        }
    }
    return pair_counts_merge(&head->pairs, &segment->pairs, err);
}

int atlas_merge(struct atlas *atlas, struct atlas *segment, struct err *err)
{
    atlas->texts += segment->texts;
    atlas->tokens += segment->tokens;
    atlas->copies += segment->copies;
    for (size_t i = 0; i < head_count(atlas); i++)
        if (merge_head(atlas, i, &segment->heads[i], err))
            return -1;
    return 0;
}

/* --- marginals -------------------------------------------------------------------------------- */

static void add_mass(struct atlas_mass *masses, size_t *count, uint32_t id, double weight)
{
    size_t at = 0;
    while (at < *count && masses[at].id != id)
        at++;
    if (at == *count)
        masses[(*count)++] = (struct atlas_mass){id, 0};
    masses[at].weight += weight;
}

static void sort_masses(struct atlas_mass *masses, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct atlas_mass mass = masses[i];
        size_t at = i;
        for (; at && masses[at - 1].weight < mass.weight; at--)
            masses[at] = masses[at - 1];
        masses[at] = mass;
    }
}

/* Add the weights of an example to the masses of its query tokens, key tokens and distances. */
static void add_example(struct atlas_marginals *to, const struct atlas_plan *plan,
                        const struct atlas_example *example, const uint32_t *ids,
                        bool without_first, double *of_keys)
{
    memset(of_keys, 0, example->tokens * sizeof *of_keys);
    for (size_t query = 0; query < example->tokens; query++) {
        double of_query = 0;
        for (size_t i = 0; i < plan->keys; i++) {
            const uint32_t entry = example->entries[query * plan->keys + i];
            const size_t key = atlas_entry_key(entry);
            const double weight = (double)atlas_entry_weight(entry);
            size_t distance = key < query ? query - key : key - query, bin = 0;
            for (; distance && bin < ATLAS_DISTANCES - 1; distance >>= 1)
                bin++;
            to->distances[bin] += weight;
            of_query += weight;
            of_keys[key] += weight;
        }
        if (of_query > 0)
            add_mass(to->queries, &to->query_count, ids[query], of_query);
    }
    for (size_t key = without_first; key < example->tokens; key++)
        if (of_keys[key] > 0)
            add_mass(to->keys, &to->key_count, ids[key], of_keys[key]);
}

int atlas_marginals(struct atlas_marginals *marginals, const struct atlas_masses_of *of,
                    struct arena *arena, struct err *err)
{
    const struct atlas *atlas = of->atlas;
    const struct atlas_interval *intervals = atlas->heads[of->head].intervals;
    size_t tokens = 0, longest = 0;
    *marginals = (struct atlas_marginals){0};
    for (size_t i = 0; i < atlas->plan.intervals; i++)
        for (size_t k = 0; k < intervals[i].count; k++) {
            tokens += intervals[i].items[k].tokens;
            longest = num_max(longest, intervals[i].items[k].tokens);
        }
    marginals->queries = arena_alloc(arena, tokens, sizeof *marginals->queries, err);
    marginals->keys = arena_alloc(arena, tokens, sizeof *marginals->keys, err);
    double *of_keys = arena_alloc(arena, longest, sizeof *of_keys, err);
    if (err->kind)
        return -1;
    for (size_t i = 0; i < atlas->plan.intervals; i++)
        for (size_t k = 0; k < intervals[i].count; k++, marginals->examples++) {
            const uint32_t *ids = of->ids_of(of->context, intervals[i].items[k].text, err);
            if (!ids)
                return -1;
            add_example(marginals, &atlas->plan, &intervals[i].items[k], ids, of->without_first,
                        of_keys);
        }
    sort_masses(marginals->queries, marginals->query_count);
    sort_masses(marginals->keys, marginals->key_count);
    return 0;
}

/* --- state ------------------------------------------------------------------------------------ */

/* Bytes that are written to `to` or, if `to` is NULL, read from `at`. Indices and counts that are
 * read are checked to be in range, because a file may have been changed. */
struct state {
    struct stream *to;
    const char *at, *end;
    const struct atlas_corpus *corpus; /* when reading: the corpus whose texts and token ids the
                                        * numbers must be in; unused when writing */
    bool is_short;                     /* true if there were fewer bytes than needed */
    struct err *err;
};

static bool is_read(const struct state *state)
{
    return !state->to && !state->is_short && !state->err->kind;
}

static void transfer(struct state *state, void *bytes, size_t size)
{
    if (state->to) {
        stream_bytes(state->to, bytes, size);
    } else if (!is_read(state) || (size_t)(state->end - state->at) < size) {
        state->is_short = true;
        memset(bytes, 0, size);
    } else {
        memcpy(bytes, state->at, size);
        state->at += size;
    }
}

/* Refuse a number that was read, unless it is in [least, most]. */
static void expect(struct state *state, const char *field, uint64_t number, uint64_t least,
                   uint64_t most)
{
    if (is_read(state) && (number < least || number > most))
        err_set(state->err, "%s: expected a number from %" PRIu64 " to %" PRIu64 ", found %" PRIu64,
                field, least, most, number);
}

/* Write `number`, or read a number and return it. If the number that is read is outside of [least,
 * most], the state has an error. Returns 0 after any error, such as too few bytes. */
static uint64_t transfer_number(struct state *state, const char *field, uint64_t number,
                                uint64_t least, uint64_t most)
{
    transfer(state, &number, sizeof number);
    expect(state, field, number, least, most);
    return state->to || is_read(state) ? number : 0;
}

static void transfer_example(struct state *state, const struct atlas_plan *plan,
                             struct atlas_example *example)
{
    const struct atlas_corpus *corpus = state->corpus;
    transfer(state, &example->rank, sizeof example->rank);
    transfer(state, &example->top, sizeof example->top);
    example->text = transfer_number(state, "text of an example", example->text,
                                    corpus ? corpus->begin : 0, corpus ? corpus->end - 1 : 0);
    example->tokens =
        transfer_number(state, "tokens of an example", example->tokens, 2, ATLAS_TOKENS_MAX);
    const size_t size = example->tokens * plan->keys;
    state->is_short |=
        !state->to && size > (size_t)(state->end - state->at) / sizeof *example->entries;
    if (!state->to)
        example->entries =
            is_read(state) ? heap_alloc(size, sizeof *example->entries, state->err) : NULL;
    if (example->entries)
        transfer(state, example->entries, size * sizeof *example->entries);
    for (size_t i = 0; i < size && is_read(state); i++)
        expect(state, "key of an example", atlas_entry_key(example->entries[i]), 0,
               example->tokens - 1);
}

static void transfer_interval(struct state *state, const struct atlas *atlas,
                              struct atlas_interval *interval, size_t room)
{
    interval->texts =
        transfer_number(state, "texts of an interval", interval->texts, 0, atlas->texts);
    interval->count = transfer_number(state, "examples of an interval", interval->count, 0, room);
    for (size_t i = 0; i < interval->count; i++)
        transfer_example(state, &atlas->plan, &interval->items[i]);
    const bool has_random =
        transfer_number(state, "random numbers of an interval", interval->random != NULL, 0, 1);
    if (has_random && !interval->random)
        interval->random = heap_alloc(1, sizeof *interval->random, state->err);
    if (!has_random || !interval->random)
        return;
    transfer(state, interval->random, sizeof *interval->random);
    expect(state, "random numbers drawn", interval->random->next, 0, TWISTER_WORDS);
}

static void transfer_pairs(struct state *state, struct pair_counts *pairs)
{
    pairs->count = transfer_number(state, "pairs", pairs->count, 0, PAIRS_MAX);
    pairs->hand = transfer_number(state, "pair to look at", pairs->hand, 0, PAIRS_MAX - 1);
    transfer(state, &pairs->least, sizeof pairs->least);
    transfer(state, &pairs->total, sizeof pairs->total);
    if (!state->to && pairs->count && pair_counts_resize(pairs, pairs->count, state->err))
        pairs->count = 0;
    if (pairs->count)
        transfer(state, pairs->items, pairs->count * sizeof *pairs->items);
    for (size_t i = 0; i < pairs->count && is_read(state); i++) {
        const struct pair_count *item = &pairs->items[i];
        expect(state, "query of a pair", item->query, 0, state->corpus->ids - 1);
        expect(state, "key of a pair", item->key, 0, state->corpus->ids - 1);
        expect(state, "count of a pair", item->count, 1, pairs->total);
        expect(state, "count of a pair that is too high", item->over, 0, item->count - 1);
    }
    if (!state->to && pairs->count)
        pair_counts_chain(pairs);
}

static void transfer_head(struct state *state, const struct atlas *atlas, struct atlas_head *head)
{
    const struct atlas_plan *plan = &atlas->plan;
    transfer(state, head->bins, sizeof head->bins);
    transfer(state, &head->peaks, sizeof head->peaks);
    transfer(state, &head->first_self, sizeof head->first_self);
    transfer(state, &head->first_entropy, sizeof head->first_entropy);
    transfer(state, &head->induction, sizeof head->induction);
    transfer(state, head->limits, plan->intervals * sizeof *head->limits);
    for (size_t i = 0; i < ATLAS_BINS; i++)
        expect(state, "texts of a bin", head->bins[i], 0, atlas->texts);
    if (atlas_is_warming(atlas)) {
        state->is_short |= !head->maxima;
        if (head->maxima)
            transfer(state, head->maxima, atlas->warmed * sizeof *head->maxima);
    } else if (!state->to) {
        heap_free(head->maxima);
        head->maxima = NULL;
    }
    for (size_t i = 0; i < plan->intervals; i++)
        transfer_interval(state, atlas, &head->intervals[i], room_of(plan, i));
    transfer_pairs(state, &head->pairs);
}

static void transfer_atlas(struct state *state, struct atlas *atlas)
{
    const struct atlas_corpus *corpus = state->corpus;
    const uint64_t most = corpus ? corpus->end - corpus->begin : 0;
    char name[HEAD_NAME_BYTES];
    atlas->warmed =
        transfer_number(state, "texts of the warm-up", atlas->warmed, 0, atlas->plan.warm_up);
    atlas->texts = transfer_number(state, "texts", atlas->texts, 0, most);
    atlas->tokens = transfer_number(state, "tokens", atlas->tokens, 0, most * ATLAS_TOKENS_MAX);
    atlas->copies = transfer_number(state, "copies of tokens", atlas->copies, 0, atlas->tokens);
    for (size_t i = 0; i < head_count(atlas) && !state->err->kind; i++) {
        transfer_head(state, atlas, &atlas->heads[i]);
        if (state->err->kind)
            err_prefix(state->err, "%s", head_name(name, i / atlas->across, i % atlas->across));
    }
}

void atlas_save(const struct atlas *atlas, struct stream *out)
{
    struct err err = {0};
    struct atlas own = *atlas; /* a copy, as `atlas` is const; writing does not change it */
    transfer_atlas(&(struct state){.to = out, .err = &err}, &own);
}

int atlas_load(struct atlas *atlas, const struct atlas_corpus *corpus, const char *bytes,
               const char *end, struct err *err)
{
    struct state state = {.at = bytes, .end = end, .corpus = corpus, .err = err};
    transfer_atlas(&state, atlas);
    if ((state.is_short || state.at != end) && !err->kind)
        err_set(err, "expected the state of this atlas, found other bytes");
    return err_if(err->kind);
}
