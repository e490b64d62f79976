/* effective_weighted.c: weights by the length of what they weigh. */
#include <math.h>

#include "lens/effective_parts.h"

/* The rows of W_O that a head's context meets, as the products read them: [dv, C]. */
static int find_rows(float *rows, const struct effective *e, struct weight out, size_t head,
                     struct arena *arena, struct err *err)
{
    size_t d_v = e->run->config->d_v;
    float *units = arena_alloc(arena, d_v * out.in, sizeof *units, err);
    if (!units || (e->run->weights->precision == PRECISION_BF16 &&
                   machine_hold_rounded(e->run->machine, d_v, out.in, err)))
        return -1;
    for (size_t i = 0; i < d_v; i++)
        units[i * out.in + head * d_v + i] = 1;
    out.bias = NULL;
    linear(e->run->machine, (struct matrix){rows, d_v, out.out, out.out},
           (struct matrix){units, d_v, out.in, out.in}, &out, ACTIVATION_NONE);
    return 0;
}

/* lengths [H, S] of v W_O, or of v where there is no W_O or it does not count. */
static int measure_lengths(double *lengths, const struct effective *e, size_t layer,
                           const struct held_text *text, bool projected, struct err *err)
{
    const struct config *c = e->run->config;
    struct arena arena = {0};
    struct block_weights block;
    bool has_out = projected && c->out_proj;
    int failed = has_out && weights_block(e->run->weights, layer, SITE_ATTN_OUT, &block, err);
    size_t width = has_out ? c->n_embd : c->d_v;
    for (size_t head = 0; head < c->n_head && !failed; head++) {
        struct matrix v = {(float *)effective_values(e, text, head), text->keys, c->d_v, c->d_v};
        struct matrix y = v;
        arena_clear(&arena);
        if (has_out) {
            float *rows = arena_room(&arena, c->d_v * width, sizeof *rows, err);
            struct weight of_head = {.data = rows, .in = c->d_v, .out = width, .stride = width};
            y = (struct matrix){arena_room(&arena, v.rows * width, sizeof *y.data, err), v.rows,
                                width, width};
            failed = !rows || !y.data || find_rows(rows, e, block.self.out, head, &arena, err);
            if (!failed)
                linear(e->run->machine, y, v, &of_head, ACTIVATION_NONE);
        }
        for (size_t key = 0; key < v.rows && !failed; key++)
            lengths[head * v.rows + key] = effective_length(y.data + key * width, width);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* |a| · length, which is |a v W_O| */
int effective_weighted(const struct effective *e, const struct announcement *seen, enum site site,
                       struct err *err)
{
    const struct held_text *text = &e->texts[seen->text];
    size_t heads = e->run->config->n_head;
    size_t cells = text->queries * text->keys;
    struct arena arena = {0};
    double *lengths = arena_alloc(&arena, heads * text->keys, sizeof *lengths, err);
    float *values = arena_room(&arena, heads * cells, sizeof *values, err);
    int failed =
        !lengths || !values ||
        measure_lengths(lengths, e, (size_t)seen->layer, text, site == SITE_NORM_WEIGHTED, err);
    for (size_t i = 0; i < heads * cells && !failed; i++) {
        double length = lengths[i / cells * text->keys + i % text->keys];
        values[i] = (float)(fabs((double)text->held[HELD_WEIGHTS][i]) * length);
    }
    failed = failed || effective_show(e, seen, site, values, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
