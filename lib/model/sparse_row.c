#include "model/sparse_row.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/gather.h"
#include "math/nontemporal.h"
#include "math/rows.h"

static const struct pattern *pattern_of(const struct attention_head *head)
{
    return &head->layer->pass->config->mechanism.pattern;
}

/* --- what is seen ----------------------------------------------------------------------------- */

static void find_drawn(struct view *view, const struct attention_head *head, size_t query)
{
    size_t random = pattern_of(head)->random;
    size_t room = random + 1 < head->keys ? random + 1 : head->keys;
    view->drawn = head->layer->pass->scratch.drawn[head->text] + query * room;
    view->drawn_count = random < view->visible ? random + 1 : view->visible;
}

void sparse_rows_begin(struct sparse_row *rows, const struct attention_head *head,
                       const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    const struct pattern *pattern = pattern_of(head);
    for (size_t i = 0; i < strip->rows; i++) {
        size_t query = strip->first + i;
        struct view view = {.query = head->past + query,
                            .visible = strip_visible(head, query),
                            .first = attention_first(head, query)};
        rows[i].query = query;
        rows[i].index = i;
        if (pattern->random)
            find_drawn(&view, head, query);
        if (memory->single_room)
            pattern_look(&rows[i].sight, pattern, &view, memory->singles + i * memory->single_room);
        else
            pattern_ranges(&rows[i].sight, pattern, &view);
    }
}

static struct key_range whole_steps(size_t first, size_t end)
{
    return (struct key_range){first / STEP * STEP, strip_round_up(end, STEP)};
}

struct sparse_reach sparse_reach_of(const struct attention_head *head,
                                    const struct sparse_row *rows, size_t count)
{
    size_t low = head->scores ? head->keys : 0;
    size_t first = SIZE_MAX;
    size_t end = 0;
    for (size_t row = 0; row < count; row++) {
        const struct sight *sight = &rows[row].sight;
        low = sight->low > low ? sight->low : low;
        if (sight->first == sight->end)
            continue;
        first = sight->first < first ? sight->first : first;
        end = sight->end > end ? sight->end : end;
    }
    struct sparse_reach reach = {.low = whole_steps(0, low)};
    reach.window = end ? whole_steps(first, end) : (struct key_range){reach.low.end, reach.low.end};
    if (reach.window.first <= reach.low.end) { /* they are one */
        if (reach.window.end > reach.low.end)
            reach.low.end = reach.window.end;
        reach.window = (struct key_range){reach.low.end, reach.low.end};
    }
    return reach;
}

/* --- single keys ------------------------------------------------------------------------------ */

enum { FEW = 64 }; /* at a time */

/* Their weights, which stay beside the strip. */
static float *weights_alone(const struct sparse_row *row, const struct attention_head *head)
{
    const struct attention_memory *memory = head->memory;
    return memory->row + head->keys + row->index * memory->single_room;
}

/* How many of them are in the cache. */
static size_t cached_singles(const struct sparse_row *row, const struct attention_head *head)
{
    size_t count = 0;
    while (count < row->sight.single_count && row->sight.singles[count] < head->past)
        count++;
    return count;
}

static const float *key_at(const struct attention_head *head, size_t key)
{
    if (key < head->past)
        return strip_panel(head, key) + key % KEY_PANEL;
    return head->k.data + (key - head->past) * head->k.stride;
}

static const float *value_at(const struct attention_head *head, size_t key)
{
    if (key < head->past)
        return strip_values(head, key);
    return head->v.data + (key - head->past) * head->v.stride;
}

/* Scores of some single keys, whose elements are `step` apart. */
static void score_some(const struct sparse_row *row, const struct attention_head *head,
                       struct key_range singles, size_t step, float *to)
{
    struct gather_form form = {head->q.columns, step};
    const float *q = head->q.data + row->query * head->q.stride;
    for (size_t first = singles.first; first < singles.end; first += FEW) {
        const float *keys[FEW];
        size_t count = num_min(singles.end - first, FEW);
        for (size_t i = 0; i < count; i++)
            keys[i] = key_at(head, row->sight.singles[first + i]);
        gather_dots(to + first, q, keys, count, form);
    }
}

/* The values of some single keys, weighed, added to a sum. */
static void add_some(const struct sparse_row *row, const struct attention_head *head,
                     struct key_range singles, float *to)
{
    for (size_t first = singles.first; first < singles.end; first += FEW) {
        const float *values[FEW];
        size_t count = num_min(singles.end - first, FEW);
        for (size_t i = 0; i < count; i++)
            values[i] = value_at(head, row->sight.singles[first + i]);
        gather_sum(to, values, weights_alone(row, head) + first, count, head->v.columns);
    }
}

/* The first ones go on with the chain of all other keys. */
void sparse_row_add_singles(const struct sparse_row *row, const struct attention_head *head)
{
    const struct attention_memory *memory = head->memory;
    size_t all = row->sight.single_count;
    size_t width = head->v.columns;
    float *context = memory->context + row->index * memory->context_stride;
    add_some(row, head, (struct key_range){0, num_min(all, CHAIN)}, context);
    for (size_t first = CHAIN; first < all; first += CHAIN) {
        size_t end = num_min(all, first + CHAIN);
        memset(memory->part, 0, width * sizeof *memory->part);
        add_some(row, head, (struct key_range){first, end}, memory->part);
        add_rows((struct matrix){context, 1, width, width},
                 (struct matrix){memory->part, 1, width, width});
    }
}

/* --- rows of attention maps ---------------------------------------------------------------- */

/* The numbers of a row: where those of the keys low, of the window, and of single keys lie. */
struct numbers {
    float *low, *window, *singles;
};

/* A row of a map, which is written from left to right. */
struct put {
    float *to;
    size_t done;
    float others; /* what is not seen */
};

static void put_piece(struct put *put, size_t key, const float *numbers, size_t count)
{
    if (count == 0)
        return;
    nontemporal_fill(put->to + put->done, key - put->done, put->others);
    nontemporal_copy(put->to + key, numbers, count);
    put->done = key + count;
}

static void put_row(const struct attention_head *head, float *map, const struct sparse_row *row,
                    const struct numbers *numbers, float others)
{
    const struct sight *sight = &row->sight;
    struct put put = {map + row->query * head->keys, 0, others};
    size_t i = 0;
    if (!map)
        return;
    put_piece(&put, 0, numbers->low, sight->low);
    for (; i < sight->single_count && sight->singles[i] < sight->first; i++)
        put_piece(&put, sight->singles[i], numbers->singles + i, 1);
    put_piece(&put, sight->first, numbers->window, sight->end - sight->first);
    for (; i < sight->single_count; i++)
        put_piece(&put, sight->singles[i], numbers->singles + i, 1);
    nontemporal_fill(put.to + put.done, head->keys - put.done, others);
}

/* Leave weights out, where the mechanism has dropout, and write those that stay. */
static void finish_row(const struct attention_head *head, const struct sparse_row *row,
                       const struct numbers *weights)
{
    const struct sight *sight = &row->sight;
    bool drops = head->layer->pass->config->mechanism.dropout > 0;
    if (drops) {
        strip_drop(head, weights->low, row->query, (struct key_range){0, sight->low});
        strip_drop(head, weights->window, row->query, (struct key_range){sight->first, sight->end});
    }
    for (size_t i = 0; drops && i < sight->single_count; i++)
        strip_drop(head, weights->singles + i, row->query,
                   (struct key_range){sight->singles[i], sight->singles[i] + 1});
    put_row(head, head->weights, row, weights, 0.0f);
}

/* --- weights ---------------------------------------------------------------------------------- */

static size_t width_of(const struct sparse_reach *reach)
{
    return reach->low.end + reach->window.end - reach->window.first;
}

/* Where its ranges lie in a row of the strip. */
static void find_range(struct softmax_range *range, const struct sight *sight,
                       const struct sparse_reach *reach)
{
    bool window = sight->end > sight->first;
    range->low = sight->low;
    range->first = window ? reach->low.end + sight->first - reach->window.first : sight->low;
    range->end = range->first + sight->end - sight->first;
}

static struct numbers in_strip(const struct sparse_row *row, const struct attention_head *head,
                               const struct softmax_range *range)
{
    float *strip = head->memory->scores + row->index * head->memory->stride;
    return (struct numbers){.low = strip, .window = strip + range->first};
}

static void bend(const struct sparse_row *row, const struct attention_head *head,
                 const struct numbers *scores)
{
    const struct sight *sight = &row->sight;
    attention_scale(head, scores->low, (struct key_range){0, sight->low});
    attention_scale(head, scores->window, (struct key_range){sight->first, sight->end});
    for (size_t i = 0; i < sight->single_count; i++)
        attention_scale(head, scores->singles + i,
                        (struct key_range){sight->singles[i], sight->singles[i] + 1});
}

/* Rows that see nothing but ranges, where they lie. */
static enum head_fault weigh_ranges(const struct sparse_row *rows, size_t count,
                                    const struct attention_head *head,
                                    const struct sparse_reach *reach)
{
    const struct attention_memory *memory = head->memory;
    struct matrix strip = {memory->scores, count, width_of(reach), memory->stride};
    struct softmax_range ranges[STEP];
    bool bends = head->layer->bends;
    strip.data += rows->index * strip.stride;
    for (size_t i = 0; i < count; i++) {
        find_range(&ranges[i], &rows[i].sight, reach);
        if (ranges[i].low + ranges[i].end - ranges[i].first == 0)
            return HEAD_NO_KEY;
        struct numbers scores = in_strip(&rows[i], head, &ranges[i]);
        if (bends)
            bend(&rows[i], head, &scores);
    }
    softmax_range_scale(strip, ranges, bends ? 1.0f : head->layer->scale);
    for (size_t i = 0; head->masked && i < count; i++) {
        struct numbers masked = in_strip(&rows[i], head, &ranges[i]);
        put_row(head, head->masked, &rows[i], &masked, -INFINITY);
    }
    if (!softmax_range_apply(strip, ranges))
        return HEAD_NO_NUMBER;
    bool used_as_are = !head->weights && head->layer->pass->config->mechanism.dropout == 0;
    for (size_t i = 0; !used_as_are && i < count; i++) {
        struct numbers weights = in_strip(&rows[i], head, &ranges[i]);
        finish_row(head, &rows[i], &weights);
    }
    return HEAD_SOUND;
}

/* A row with single keys, gathered; weights of ranges are put back into the strip, those of
 * single keys beside it. */
static enum head_fault weigh_gathered(const struct sparse_row *row,
                                      const struct attention_head *head,
                                      const struct sparse_reach *reach)
{
    const struct sight *sight = &row->sight;
    struct softmax_range range;
    find_range(&range, sight, reach);
    struct numbers strip = in_strip(row, head, &range);
    size_t low = sight->low * sizeof(float);
    size_t window = (sight->end - sight->first) * sizeof(float);
    size_t count = sight->low + sight->end - sight->first + sight->single_count;
    float *all = head->memory->row;
    struct numbers gathered = {all, all + sight->low, all + count - sight->single_count};
    memcpy(gathered.low, strip.low, low);
    memcpy(gathered.window, strip.window, window);
    size_t cached = cached_singles(row, head);
    score_some(row, head, (struct key_range){0, cached}, KEY_PANEL, gathered.singles);
    score_some(row, head, (struct key_range){cached, row->sight.single_count}, 1, gathered.singles);
    if (head->layer->bends)
        bend(row, head, &gathered);
    else
        scale_row(all, all, count, head->layer->scale);
    put_row(head, head->masked, row, &gathered, -INFINITY);
    if (!softmax_row(all, count))
        return HEAD_NO_NUMBER;
    finish_row(head, row, &gathered);
    memset(strip.low, 0, width_of(reach) * sizeof(float));
    memcpy(strip.low, gathered.low, low);
    memcpy(strip.window, gathered.window, window);
    memcpy(weights_alone(row, head), gathered.singles, sight->single_count * sizeof(float));
    return HEAD_SOUND;
}

/* Raw scores are those of all keys. */
static enum head_fault put_scores(const struct sparse_row *row, const struct attention_head *head)
{
    const float *scores = head->memory->scores + row->index * head->memory->stride;
    if (head->scores && first_nonfinite(scores, head->keys) < head->keys)
        return HEAD_NO_NUMBER;
    strip_put_row(head, head->scores, row->query, scores, head->keys, 0.0f);
    return HEAD_SOUND;
}

enum head_fault sparse_rows_weigh(const struct sparse_row *rows, size_t count,
                                  const struct attention_head *head,
                                  const struct sparse_reach *reach)
{
    enum head_fault fault = HEAD_SOUND;
    for (size_t i = 0; head->scores && i < count && fault == HEAD_SOUND; i++)
        fault = put_scores(&rows[i], head);
    for (size_t i = 0; i < count && fault == HEAD_SOUND;) {
        size_t first = i;
        while (i < count && rows[i].sight.single_count == 0)
            i++;
        if (i > first)
            fault = weigh_ranges(&rows[first], i - first, head, reach);
        else
            fault = weigh_gathered(&rows[i++], head, reach);
    }
    return fault;
}
