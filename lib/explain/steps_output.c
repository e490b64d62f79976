/* steps_output.c: from the values to what the layer's attention gives. */
#include <math.h>
#include <stdio.h>

#include "explain/steps.h"
#include "model/batch.h"

enum {
    NAME_BYTES = 32,
    WORKED_ELEMENTS = 2, /* of a vector */
};

/* [0.0386 · (-0.2546), 0.0386 · (-0.2608), …]: the beginning of weight_0 · v_0, which is written
 * by one of these. */
static void add_product(struct board *board, size_t i)
{
    const struct walk *walk = board->walk;
    const struct block *blocks = board->table->blocks;
    pen_number(&board->pen, blocks[0].numeral, walk->weight[board->key]);
    pen_times(&board->pen);
    pen_factor(&board->pen, blocks[1].numeral, walk->v[board->key * walk->config->d_v + i]);
}

static void add_result(struct board *board, size_t i)
{
    const struct walk *walk = board->walk;
    size_t count = walk->keys * walk->config->d_v;
    float result = walk->weight[board->key] * walk->v[board->key * walk->config->d_v + i];
    pen_number(&board->pen, board_numeral(board, walk->v, count), result);
}

static void add_vector(struct board *board, void (*add)(struct board *, size_t))
{
    size_t width = board->walk->config->d_v;
    pen_add(&board->pen, "[", "[");
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++) {
        pen_add(&board->pen, i ? ", " : "", i ? ",\\, " : "");
        add(board, i);
    }
    pen_add(&board->pen, width > WORKED_ELEMENTS ? ", …]" : "]",
            width > WORKED_ELEMENTS ? ",\\, \\ldots]" : "]");
}

/* weight_0 · v_0 = [0.0386 · (-0.2546), …] = [-0.0098, …] */
static int work_values(struct board *board)
{
    struct pen *pen = &board->pen;
    pen_symbol(pen, "weight", "\\alpha", board->key);
    pen_add(pen, " · ", "\\, ");
    pen_symbol(pen, "v", "v", board->key);
    pen_equals(pen);
    add_vector(board, add_product);
    pen_equals(pen);
    add_vector(board, add_result);
    return board_worked(board);
}

int step_values(struct board *board)
{
    static const struct formula values[] = {{"v_j = x_j", "v_j = x_j"},
                                            {"v_j = x_j · W_v", "v_j = x_j\\,W_v"},
                                            {"v_j = x_j · W_v + b_v", "v_j = x_j\\,W_v + b_v"}};
    const struct walk *walk = board->walk;
    board_title(board, "values", "Values and their weights");
    board_projection(board, &walk->weights.v, values);
    const struct given_columns own = {
        .name = "W_v",
        .bias = "b_v",
        .weight = &walk->weights.v,
        .first = walk->group * walk->config->d_v,
        .width = walk->config->d_v,
    };
    if (walk->config->projections && given_columns(board, &own))
        return -1;
    board_keys(board);
    board_column(board, "weight", "weight_j", "\\alpha_j", walk->weight);
    board_vectors(board, "v", "v_j", "v_j", walk->v, walk->config->d_v);
    return work_values(board);
}

/* From the first key that has any weight to the last. */
static struct span weighty_keys(const struct walk *walk)
{
    struct span span = {0, walk->keys};
    while (span.count > 1 && walk->weight[span.count - 1] == 0)
        span.count--;
    while (span.count > 1 && walk->weight[span.first] == 0) {
        span.first++;
        span.count--;
    }
    return span;
}

/* context_0 = -0.0098 + 0.4542 - 0.0175 + 0.0498 + 0.0824 - 0.0278 = 0.5313 */
static int work_context(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *products = &board->table->blocks[0];
    size_t width = walk->config->d_v;
    struct span keys = weighty_keys(walk);
    pen_symbol(pen, "context", "z", 0);
    pen_equals(pen);
    pen_sum(pen, products->numeral, products->values + keys.first * width, width, keys.count);
    pen_equals(pen);
    pen_number(pen, products->numeral, walk->context[0]);
    return board_worked(board);
}

int step_context(struct board *board)
{
    const struct walk *walk = board->walk;
    size_t width = walk->config->d_v;
    float *products = board_floats(board, walk->keys * width);
    if (!products)
        return -1;
    for (size_t i = 0; i < walk->keys * width; i++)
        products[i] = walk->weight[i / width] * walk->v[i] + 0.0f; /* no -0 where nothing is seen */
    board_title(board, "context", "Weight times value, and the sum: the context");
    board_formula(board, "context = Σ_j weight_j · v_j", "z = \\sum_j \\alpha_j v_j");
    board_keys(board);
    board->table->total = "context";
    board_vectors(board, "weighted", "weight_j · v_j", "\\alpha_j v_j", products, width)->total =
        walk->context;
    return work_context(board);
}

/* y [C] = context [dv] · the head's rows of W_O: one chain an element, as in the pass. */
static void project_head(float *y, const struct walk *walk, size_t head)
{
    const struct weight *w = &walk->weights.out;
    const float *context = walk_context(walk, head);
    size_t width = walk->config->d_v;
    for (size_t c = 0; c < w->out; c++)
        for (size_t i = 0; i < width; i++)
            y[c] = fmaf(context[i], w->data[(head * width + i) * w->stride + c], y[c]);
}

static int name_head(struct board *board, struct label *label, size_t head)
{
    char name[NAME_BYTES];
    int size = snprintf(name, sizeof name, "head %zu", head);
    const char *text = arena_text(board->arena, name, (size_t)size, board->err);
    *label = board_label(text);
    return text ? 0 : -1;
}

/* Rows named after the heads, and `more` behind them. */
static struct label *take_heads(struct board *board, size_t more)
{
    size_t heads = board->walk->config->n_head;
    struct label *rows = board_rows(board, heads + more);
    board->table->own_row = board->walk->head;
    for (size_t head = 0; rows && head < heads; head++)
        if (name_head(board, &rows[head], head))
            return NULL;
    return rows;
}

/* What every head adds to the output, and the bias; below them what they come to. */
static int show_shares(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct weight *w = &walk->weights.out;
    size_t heads = walk->config->n_head;
    struct label *rows = take_heads(board, w->bias != NULL);
    float *shares = board_floats(board, (heads + 1) * w->out);
    if (!rows || !shares)
        return -1;
    for (size_t head = 0; head < heads; head++)
        project_head(shares + head * w->out, walk, head);
    if (w->bias) {
        rows[heads] = board_label("b_O");
        for (size_t c = 0; c < w->out; c++)
            shares[heads * w->out + c] = w->bias[c];
    }
    board->table->total = "attn_out";
    board_vectors(board, "share", "", "", shares, w->out)->total = walk->out;
    return 0;
}

/* The contexts of all heads, which stand side by side in the output. */
static int show_contexts(struct board *board)
{
    const struct walk *walk = board->walk;
    size_t width = walk->config->d_v;
    if (!take_heads(board, 0))
        return -1;
    board_vectors(board, "context", "context_h", "z_h", walk->out, width);
    return 0;
}

int step_output(struct board *board)
{
    const struct config *config = board->walk->config;
    bool bias = board->walk->weights.out.bias != NULL;
    board_title(board, "output", "Output");
    if (config->out_proj) {
        board_formula(board,
                      bias ? "attn_out = Σ_h context_h · W_O,h + b_O"
                           : "attn_out = Σ_h context_h · W_O,h",
                      bias ? "o = \\sum_h z_h\\,W_{O,h} + b_O" : "o = \\sum_h z_h\\,W_{O,h}");
        buf_text(board_note(board),
                 "W_O,h: the rows of the output projection that belong to head h.");
        return given_output(board) || show_shares(board) ? -1 : 0;
    }
    if (config->n_head == 1) {
        board_formula(board, "attn_out = context", "o = z");
        buf_text(board_note(board),
                 "One head and no output projection: the context is the output.");
        return 0;
    }
    board_formula(board, "attn_out = [context_0, context_1, …]", "o = [z_0, z_1, \\ldots]");
    buf_text(board_note(board), "There is no output projection: the heads stand side by side.");
    return show_contexts(board);
}
