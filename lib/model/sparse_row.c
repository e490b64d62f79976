#include "model/sparse_row.h"

#include <math.h>
#include <string.h>

#include "math/rows.h"
#include "math/scattered.h"
#include "math/spill.h"

static const struct pattern *pattern_of(const struct head_job *head)
{
    return &head->layer->pass->config->mechanism.pattern;
}

/* --- what is seen ----------------------------------------------------------------------------- */

static struct view view_of(const struct head_job *head, size_t query)
{
    const struct pass *pass = head->layer->pass;
    size_t random = pattern_of(head)->random;
    struct view view = {.query = head->past + query, .visible = strip_visible(head, query)};
    if (random) {
        size_t room = random + 1 < head->keys ? random + 1 : head->keys;
        view.drawn = pass->scratch.drawn[head->sequence] + query * room;
        view.drawn_count = random < view.visible ? random + 1 : view.visible;
    }
    return view;
}

static struct stretch whole_steps(size_t first, size_t end)
{
    return (struct stretch){first / STEP * STEP, strip_round_up(end, STEP)};
}

struct sparse_reach sparse_reach_of(const struct head_job *head, const struct strip *strip)
{
    const struct pattern *pattern = pattern_of(head);
    size_t low = head->scores ? head->keys : 0;
    size_t first = SIZE_MAX;
    size_t end = 0;
    for (size_t row = 0; row < strip->rows; row++) {
        struct view view = view_of(head, strip->first + row);
        struct sight sight;
        pattern_stretches(&sight, pattern, &view);
        low = sight.low > low ? sight.low : low;
        if (sight.first == sight.end)
            continue;
        first = sight.first < first ? sight.first : first;
        end = sight.end > end ? sight.end : end;
    }
    struct sparse_reach reach = {.low = whole_steps(0, low)};
    reach.window = end ? whole_steps(first, end) : (struct stretch){reach.low.end, reach.low.end};
    if (reach.window.first <= reach.low.end) { /* they are one */
        if (reach.window.end > reach.low.end)
            reach.low.end = reach.window.end;
        reach.window = (struct stretch){reach.low.end, reach.low.end};
    }
    return reach;
}

static bool holds(struct stretch stretch, size_t key)
{
    return key >= stretch.first && key < stretch.end;
}

/* Where a key's score stands in a row of the strip; SIZE_MAX: it has to be computed by itself. */
static size_t column_of(const struct sparse_reach *reach, size_t key)
{
    if (holds(reach->low, key))
        return key;
    if (holds(reach->window, key))
        return reach->low.end + key - reach->window.first;
    return SIZE_MAX;
}

/* --- single keys ------------------------------------------------------------------------------ */

/* Where a key lies, and how far its elements are apart. */
static const float *key_at(const struct head_job *head, size_t key, size_t *step)
{
    *step = head->cache ? KEY_PANEL : 1;
    if (head->cache)
        return strip_panel(head, key) + key % KEY_PANEL;
    return head->k.data + key * head->k.stride;
}

/* Scores of single keys, a few at a time. */
static void score_singles(const struct head_job *head, const struct sparse_reach *reach,
                          const struct sparse_row *row, const uint32_t *keys, size_t count,
                          float *to)
{
    enum { FEW = 32 };
    const float *rows[FEW];
    float found[FEW];
    size_t places[FEW];
    struct scattered_form form = {.width = head->q.columns};
    const float *q = head->q.data + row->query * head->q.stride;
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++) {
        size_t column = column_of(reach, keys[i]);
        if (column != SIZE_MAX) {
            to[i] = row->in_strip[column];
        } else {
            rows[waiting] = key_at(head, keys[i], &form.step);
            places[waiting++] = i;
        }
        if (waiting == FEW || (waiting && i + 1 == count)) {
            scattered_dots(found, q, rows, waiting, form);
            while (waiting > 0) {
                waiting--;
                to[places[waiting]] = found[waiting];
            }
        }
    }
}

/* --- a row ------------------------------------------------------------------------------------ */

/* Keys key … key + count - 1 of a row, whose values are gathered from `offset` on. */
struct piece {
    size_t key, count, offset;
};

/* Piece `at` of a row, in the order of the keys: the low stretch, single keys, the window, single
 * keys. */
static struct piece piece_at(const struct sparse_row *row, size_t at)
{
    const struct sight *sight = &row->sight;
    size_t window = sight->end - sight->first;
    if (at == 0)
        return (struct piece){0, sight->low, 0};
    if (at <= row->before)
        return (struct piece){sight->singles[at - 1], 1, sight->low + at - 1};
    if (at == row->before + 1)
        return (struct piece){sight->first, window, sight->low + row->before};
    return (struct piece){sight->singles[at - 2], 1, sight->low + window + at - 2};
}

static size_t piece_count(const struct sparse_row *row)
{
    return 2 + row->sight.single_count;
}

void sparse_row_begin(struct sparse_row *row, const struct head_job *head,
                      const struct strip *strip, size_t index)
{
    const struct attention_memory *memory = head->memory;
    uint32_t *singles = memory->singles + index * memory->single_room;
    struct view view = view_of(head, strip->first + index);
    row->query = strip->first + index;
    row->index = index;
    row->values = memory->row;
    row->in_strip = memory->scores + index * memory->stride;
    pattern_look(&row->sight, pattern_of(head), &view, singles);
    row->count = row->sight.low + row->sight.end - row->sight.first + row->sight.single_count;
    row->before = 0;
    while (row->before < row->sight.single_count && singles[row->before] < row->sight.first)
        row->before++;
}

/* The scores of all that the query sees, side by side: as they lie in the strip, where it sees one
 * stretch. */
static void gather(const struct head_job *head, const struct sparse_reach *reach,
                   struct sparse_row *row)
{
    const struct sight *sight = &row->sight;
    row->together = sight->single_count == 0 && (sight->low == 0 || sight->first == sight->end);
    if (row->together) {
        row->values = row->in_strip + (sight->low ? 0 : column_of(reach, sight->first));
        return;
    }
    size_t window = sight->end - sight->first;
    float *to = row->values;
    memcpy(to, row->in_strip, sight->low * sizeof *to);
    to += sight->low;
    score_singles(head, reach, row, sight->singles, row->before, to);
    to += row->before;
    if (window)
        memcpy(to, row->in_strip + column_of(reach, sight->first), window * sizeof *to);
    to += window;
    score_singles(head, reach, row, sight->singles + row->before, sight->single_count - row->before,
                  to);
}

/* Write a row of a square, if it is wanted: what is seen, and what the others are. */
static void put_row(const struct head_job *head, float *square, const struct sparse_row *row,
                    float others)
{
    float *to = square + row->query * head->keys;
    size_t done = 0;
    if (!square)
        return;
    for (size_t i = 0; i < piece_count(row); i++) {
        struct piece piece = piece_at(row, i);
        spill_fill(to + done, piece.count ? piece.key - done : 0, others);
        spill_copy(to + piece.key, row->values + piece.offset, piece.count);
        done = piece.count ? piece.key + piece.count : done;
    }
    spill_fill(to + done, head->keys - done, others);
}

/* Put the weights back into the strip, where the others are 0; those of keys that are not there
 * stay beside it. */
static void scatter(const struct head_job *head, const struct sparse_reach *reach,
                    const struct sparse_row *row)
{
    const struct attention_memory *memory = head->memory;
    float *alone = memory->row + head->keys + row->index * memory->single_room;
    size_t width = reach->low.end + reach->window.end - reach->window.first;
    if (row->together) {
        float *end = row->values + row->count;
        memset(row->in_strip, 0, (size_t)((char *)row->values - (char *)row->in_strip));
        memset(end, 0, (size_t)((char *)(row->in_strip + width) - (char *)end));
        return;
    }
    memset(row->in_strip, 0, width * sizeof *row->in_strip);
    for (size_t i = 0, single = 0; i < piece_count(row); i++) {
        struct piece piece = piece_at(row, i);
        const float *from = row->values + piece.offset;
        size_t column = column_of(reach, piece.key);
        if (i != 0 && i != row->before + 1)
            alone[single++] = column == SIZE_MAX ? *from : 0.0f;
        if (column != SIZE_MAX)
            memcpy(row->in_strip + column, from, piece.count * sizeof *from);
    }
}

enum head_fault sparse_row_weigh(struct sparse_row *row, const struct head_job *head,
                                 const struct sparse_reach *reach)
{
    bool drops = head->layer->pass->config->mechanism.dropout > 0;
    if (head->scores && first_bad(row->in_strip, head->keys) < head->keys)
        return HEAD_NO_NUMBER;
    strip_put_row(head, head->scores, row->query, row->in_strip, head->keys, 0.0f);
    gather(head, reach, row);
    scale_row(row->values, row->values, row->count, head->layer->scale);
    put_row(head, head->masked, row, -INFINITY);
    if (!softmax_row(row->values, row->count))
        return HEAD_NO_NUMBER;
    for (size_t i = 0; drops && i < piece_count(row); i++) {
        struct piece piece = piece_at(row, i);
        strip_drop(head, row->values + piece.offset, row->query,
                   (struct stretch){piece.key, piece.key + piece.count});
    }
    put_row(head, head->weights, row, 0.0f);
    scatter(head, reach, row);
    return HEAD_SOUND;
}

void sparse_row_add_singles(const struct sparse_row *row, const struct head_job *head,
                            const struct sparse_reach *reach, struct stretch keys)
{
    const struct attention_memory *memory = head->memory;
    const float *weights = memory->row + head->keys + row->index * memory->single_room;
    float *context = memory->context + row->index * head->v.columns;
    for (size_t i = 0; i < row->sight.single_count; i++) {
        size_t key = row->sight.singles[i];
        const float *v = strip_values(head, key);
        if (holds(keys, key) && column_of(reach, key) == SIZE_MAX)
            add_scaled_row(context, v, head->v.columns, weights[i], v);
    }
}
