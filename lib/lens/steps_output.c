/* steps_output.c: from the values to what the layer's attention gives. */
#include <math.h>
#include <stdio.h>

#include "lens/draft.h"

enum {
    NAME_BYTES = 32,
    WORKED_ELEMENTS = 2, /* of a vector */
};

/* [0.0386 · (-0.2546), 0.0386 · (-0.2608), …]: the beginning of weight_0 · v_0, which is written
 * by one of these. */
static void add_product(struct draft *draft, size_t i)
{
    const struct walk *walk = draft->walk;
    const struct block *blocks = draft->step->blocks;
    pen_number(&draft->pen, blocks[0].numeral, walk->weight[draft->key]);
    pen_times(&draft->pen);
    pen_factor(&draft->pen, blocks[1].numeral, walk->v[draft->key * walk->config->d_v + i]);
}

static void add_result(struct draft *draft, size_t i)
{
    const struct walk *walk = draft->walk;
    size_t count = walk->keys * walk->config->d_v;
    float result = walk->weight[draft->key] * walk->v[draft->key * walk->config->d_v + i];
    pen_number(&draft->pen, draft_numeral(draft, walk->v, count), result);
}

static void add_vector(struct draft *draft, void (*add)(struct draft *, size_t))
{
    size_t width = draft->walk->config->d_v;
    pen_add(&draft->pen, "[", "[");
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++) {
        pen_add(&draft->pen, i ? ", " : "", i ? ",\\, " : "");
        add(draft, i);
    }
    pen_add(&draft->pen, width > WORKED_ELEMENTS ? ", …]" : "]",
            width > WORKED_ELEMENTS ? ",\\, \\ldots]" : "]");
}

/* weight_0 · v_0 = [0.0386 · (-0.2546), …] = [-0.0098, …] */
static int work_values(struct draft *draft)
{
    struct pen *pen = &draft->pen;
    pen_symbol(pen, "weight", "\\alpha", draft->key);
    pen_add(pen, " · ", "\\, ");
    pen_symbol(pen, "v", "v", draft->key);
    pen_equals(pen);
    add_vector(draft, add_product);
    pen_equals(pen);
    add_vector(draft, add_result);
    return draft_worked(draft);
}

int step_values(struct draft *draft)
{
    static const struct formula values[] = {{"v_j = x_j", "v_j = x_j"},
                                            {"v_j = x_j · W_v", "v_j = x_j\\,W_v"},
                                            {"v_j = x_j · W_v + b_v", "v_j = x_j\\,W_v + b_v"}};
    const struct walk *walk = draft->walk;
    draft_title(draft, "values", "Values and their weights");
    draft_projection(draft, &walk->weights.v, values);
    draft_keys(draft);
    draft_column(draft, "weight", "weight_j", "\\alpha_j", walk->weight);
    draft_vectors(draft, "v", "v_j", "v_j", walk->v, walk->config->d_v);
    return work_values(draft);
}

/* Behind these no key has any weight. */
static size_t seen_keys(const struct walk *walk)
{
    size_t count = walk->keys;
    while (count > 1 && walk->weight[count - 1] == 0)
        count--;
    return count;
}

/* context_0 = -0.0098 + 0.4542 - 0.0175 + 0.0498 + 0.0824 - 0.0278 = 0.5313 */
static int work_context(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    struct pen *pen = &draft->pen;
    const struct block *products = &draft->step->blocks[0];
    size_t width = walk->config->d_v;
    pen_symbol(pen, "context", "z", 0);
    pen_equals(pen);
    pen_sum(pen, products->numeral, products->values, width, seen_keys(walk));
    pen_equals(pen);
    pen_number(pen, products->numeral, walk->context[0]);
    return draft_worked(draft);
}

int step_context(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    size_t width = walk->config->d_v;
    float *products = draft_floats(draft, walk->keys * width);
    if (!products)
        return -1;
    for (size_t i = 0; i < walk->keys * width; i++)
        products[i] = walk->weight[i / width] * walk->v[i] + 0.0f; /* no -0 where nothing is seen */
    draft_title(draft, "context", "Weight times value, and the sum: the context");
    draft_formula(draft, "context = Σ_j weight_j · v_j", "z = \\sum_j \\alpha_j v_j");
    draft_keys(draft);
    draft->step->total = "context";
    draft_vectors(draft, "weighted", "weight_j · v_j", "\\alpha_j v_j", products, width)->total =
        walk->context;
    return work_context(draft);
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

static int name_head(struct draft *draft, struct label *label, size_t head)
{
    char name[NAME_BYTES];
    int size = snprintf(name, sizeof name, "head %zu", head);
    const char *text = arena_text(draft->arena, name, (size_t)size, draft->err);
    *label = draft_label(text);
    return text ? 0 : -1;
}

/* Rows named after the heads, and `more` behind them. */
static struct label *take_heads(struct draft *draft, size_t more)
{
    size_t heads = draft->walk->config->n_head;
    struct label *rows = draft_rows(draft, heads + more);
    draft->step->own_row = draft->walk->head;
    for (size_t head = 0; rows && head < heads; head++)
        if (name_head(draft, &rows[head], head))
            return NULL;
    return rows;
}

/* What every head adds to the output, and the bias; below them what they come to. */
static int show_shares(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    const struct weight *w = &walk->weights.out;
    size_t heads = walk->config->n_head;
    struct label *rows = take_heads(draft, w->bias != NULL);
    float *shares = draft_floats(draft, (heads + 1) * w->out);
    if (!rows || !shares)
        return -1;
    for (size_t head = 0; head < heads; head++)
        project_head(shares + head * w->out, walk, head);
    if (w->bias) {
        rows[heads] = draft_label("b_O");
        for (size_t c = 0; c < w->out; c++)
            shares[heads * w->out + c] = w->bias[c];
    }
    draft->step->total = "attn_out";
    draft_vectors(draft, "share", "", "", shares, w->out)->total = walk->out;
    return 0;
}

/* The contexts of all heads, which stand side by side in the output. */
static int show_contexts(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    size_t width = walk->config->d_v;
    if (!take_heads(draft, 0))
        return -1;
    draft_vectors(draft, "context", "context_h", "z_h", walk->out, width);
    return 0;
}

int step_output(struct draft *draft)
{
    const struct config *config = draft->walk->config;
    bool bias = draft->walk->weights.out.bias != NULL;
    draft_title(draft, "output", "Output");
    if (config->out_proj) {
        draft_formula(draft,
                      bias ? "attn_out = Σ_h context_h · W_O,h + b_O"
                           : "attn_out = Σ_h context_h · W_O,h",
                      bias ? "o = \\sum_h z_h\\,W_{O,h} + b_O" : "o = \\sum_h z_h\\,W_{O,h}");
        buf_text(draft_note(draft),
                 "W_O,h: the rows of the output projection that belong to head h.");
        return show_shares(draft);
    }
    if (config->n_head == 1) {
        draft_formula(draft, "attn_out = context", "o = z");
        buf_text(draft_note(draft),
                 "One head and no output projection: the context is the output.");
        return 0;
    }
    draft_formula(draft, "attn_out = [context_0, context_1, …]", "o = [z_0, z_1, \\ldots]");
    buf_text(draft_note(draft), "There is no output projection: the heads stand side by side.");
    return show_contexts(draft);
}
