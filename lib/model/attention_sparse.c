/* attention_sparse.c: every query against the keys of a pattern, and no others.
 *
 * Sixteen queries are worked on together. Most of what they see lies in two ranges, the global
 * keys and the window: kernels compute those, rounded to whole steps, and what is not a query's own
 * is hidden from its softmax and has weight 0. Keys further off, strided and random, are taken one
 * by one, wherever they lie; sparse_row.h says in which order, so that a row's numbers have the
 * same bits however its keys were reached.
 *
 * Time and memory grow with the keys that are seen. Attention maps that are watched are filled in
 * beside that; raw scores are the one thing that makes all keys be computed.
 */
#include <string.h>

#include "base/num.h"
#include "model/sparse_row.h"

/* --- memory, kernels and random keys ---------------------------------------------------------- */

static const struct pattern *pattern_of(const struct config *config)
{
    return &config->mechanism.pattern;
}

/* Columns that a strip's ranges can need. */
static size_t widest_reach(const struct attention_problem *problem)
{
    const struct pattern *p = pattern_of(problem->config);
    size_t all = strip_round_up(problem->keys, STEP);
    size_t window = problem->causal ? p->window : 2 * p->window;
    size_t some = window ? window + 3 * STEP : 0;
    return p->global || problem->scores || some > all ? all : some;
}

/* The panels that keys of a reach can stand in, which begins anywhere. What is always in reach
 * keeps all panels. */
static size_t panels_of(const struct attention_problem *problem, size_t reach)
{
    size_t all = strip_round_up(problem->fresh_keys, KEY_PANEL);
    size_t some = strip_round_up(reach + KEY_PANEL - STEP, KEY_PANEL);
    if (reach == 0)
        return 0;
    return pattern_of(problem->config)->global || problem->scores || some > all ? all : some;
}

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    size_t rows = problem->queries < STEP ? problem->queries : STEP;
    size_t reach = widest_reach(problem);
    size->rows = strip_rows_of_size(strip_row_size(rows));
    size->stride = matrix_stride(reach ? reach : 1);
    size->context_stride = c->d_v;
    size->single_rows = rows;
    size->single_room = pattern_singles(pattern_of(c), problem->keys, c->window);
    size->part_rows = problem->keys > CHAIN ? size->rows : 0;
    if (size->single_room) /* gathered, and single weights */
        size->row = problem->keys + rows * size->single_room;
    return num_multiply(&size->panels, panels_of(problem, reach), c->d_k);
}

/* The random keys of every query of a text, the same for all layers and heads. */
static int draw_text(struct pass *pass, size_t text)
{
    const struct pattern *pattern = pattern_of(pass->config);
    size_t room = pattern->random + 1;
    size_t queries = pass->batch->queries[text].count;
    size_t past = pass->batch->past[text];
    size_t keys = batch_keys(pass->batch, text);
    size_t count = 0;
    room = num_min(room, keys);
    if (!num_multiply(&count, queries, room))
        return err_memory(pass->err, SIZE_MAX);
    uint32_t *drawn = arena_room(pass->arena, count, sizeof *drawn, pass->err);
    uint64_t *words = arena_alloc(pass->arena, bitset_words(keys), sizeof *words, pass->err);
    if (!drawn || !words)
        return -1;
    struct bitset set = bitset_of(words, keys);
    for (size_t i = 0; i < queries; i++) {
        struct view view = {.query = past + i,
                            .visible = pass->batch->causal ? past + i + 1 : keys};
        pattern_draw(pattern, &view, &set, drawn + i * room);
    }
    pass->scratch.drawn[text] = drawn;
    return 0;
}

static int draw_keys(struct pass *pass)
{
    struct scratch *s = &pass->scratch;
    s->drawn = arena_alloc(pass->arena, pass->batch->count, sizeof *s->drawn, pass->err);
    if (!s->drawn)
        return -1;
    for (size_t i = 0; i < pass->batch->count; i++)
        if (draw_text(pass, i))
            return -1;
    return 0;
}

/* Of a window alone most strips are alike. */
static void fetch_usual(struct attention_layer *layer)
{
    const struct pattern *pattern = pattern_of(layer->pass->config);
    bool cut = layer->window && layer->window < pattern->window;
    size_t window = cut ? layer->window : pattern->window;
    size_t before = window ? strip_round_up(window - 1, STEP) : 0;
    size_t after = layer->pass->batch->causal ? 0 : before;
    if (pattern->window && !pattern->stride && !pattern->random)
        strip_fetch_whole(layer, before + STEP + after);
}

static int prepare(struct attention_layer *layer)
{
    struct pass *pass = layer->pass;
    bool single = false;
    bool many = false;
    for (size_t s = 0; s < pass->batch->count; s++) {
        single |= pass->batch->queries[s].count % STEP == 1;
        many |= pass->batch->queries[s].count > 1;
    }
    kernels_begin(pass->machine->kernels);
    if (single)
        strip_fetch_all(layer, strip_row_size(1));
    if (many)
        strip_fetch_all(layer, strip_row_size(STEP));
    if (many)
        fetch_usual(layer);
    if (pattern_of(pass->config)->random && !pass->scratch.drawn)
        return draw_keys(pass);
    return 0;
}

/* --- the work --------------------------------------------------------------------------------- */

/* context = weights · v: keys low, the window, single keys. */
static void compute_context(const struct attention_head *head, const struct strip *strip,
                            const struct sparse_reach *reach, const struct sparse_row *rows)
{
    const struct attention_memory *memory = head->memory;
    size_t rows_of_kernel = strip_rows_of_size(strip_row_size(strip->rows));
    const struct key_range keys[] = {reach->low, reach->window};
    bool low = reach->low.end > 0;
    bool window = reach->window.end > reach->window.first;
    if (window && !low && !memory->single_room && strip_is_whole(head, strip, reach->window)) {
        strip_whole_context(head, strip, reach->window, memory->scores);
        return;
    }
    if (!low && !window)
        memset(memory->context, 0, rows_of_kernel * memory->context_stride * sizeof(float));
    strip_context(head, strip, keys, 2, memory->scores);
    for (size_t i = 0; memory->single_room && i < strip->rows; i++)
        sparse_row_add_singles(&rows[i], head);
    strip_write_context(head, strip);
}

static enum head_fault compute_strip(const struct attention_head *head, const struct strip *strip,
                                     size_t *packed)
{
    const struct attention_memory *memory = head->memory;
    struct sparse_row rows[STEP];
    sparse_rows_begin(rows, head, strip);
    struct sparse_reach reach = sparse_reach_of(head, rows, strip->rows);
    *packed = strip_pack_keys(head, *packed, reach.window.end);
    strip_scores(head, strip, reach.low, memory->scores);
    strip_scores(head, strip, reach.window, memory->scores + reach.low.end);
    enum head_fault fault = sparse_rows_weigh(rows, strip->rows, head, &reach);
    if (fault == HEAD_SOUND && head->layer->wants_context)
        compute_context(head, strip, &reach, rows);
    return fault;
}

static enum head_fault compute(const struct attention_head *head)
{
    enum head_fault fault = HEAD_SOUND;
    size_t packed = 0;
    for (size_t first = 0; first < head->q.rows && fault == HEAD_SOUND; first += STEP) {
        struct strip strip = strip_at(head, first, STEP);
        fault = compute_strip(head, &strip, &packed);
    }
    return fault;
}

const struct attention_method attention_sparse = {measure, prepare, compute};
