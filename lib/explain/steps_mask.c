/* steps_mask.c: what a query does not see: the future, and what a pattern leaves out. */
#include <math.h>

#include "explain/steps.h"
#include "model/mechanism.h"

/* What is masked, and what takes the place of what is hidden. */
struct mask {
    const struct quantity *quantity;
    const char *hidden;
    const float *values; /* [S] */
};

/* Keys that the mask, and the layer's window, let the query see. */
static struct span visible(const struct trace *trace)
{
    size_t end = trace->config->causal ? trace->query + 1 : trace->keys;
    size_t window = config_window(trace->config, trace->layer);
    size_t count = window && window < end ? window : end;
    return (struct span){end - count, count};
}

static bool hides_any(const struct trace *trace)
{
    for (size_t j = 0; j < trace->keys; j++)
        if (trace->masked[j] == -INFINITY)
            return true;
    return visible(trace).count < trace->keys;
}

/* Scaled scores before a softmax become -infinity; shares of one, and products of features, 0. */
static struct mask find_mask(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    if (trace->softmax)
        return (struct mask){&quantity_softmax, "0", trace->softmax};
    if (trace->config->mechanism.kind == ATTENTION_LINEAR)
        return (struct mask){&quantity_score, "0", trace->scores};
    struct mask mask = {.hidden = "-inf"};
    mask.values = builder_scores(builder, &mask.quantity);
    return mask;
}

static void draw_future(struct builder *builder, const struct mask *mask)
{
    struct buf *out = &builder->out;
    const char *symbol = mask->quantity->symbol;
    size_t query = builder->trace->query;
    size_t window = config_window(builder->trace->config, builder->trace->layer);
    size_t first = visible(builder->trace).first;
    buf_format(out, "masked_j = %s", symbol);
    if (!builder->trace->config->causal) {
        buf_text(builder_note(builder), "There is no mask: every query sees every key.");
    } else if (first) {
        buf_format(out, " for %zu ≤ j ≤ %zu, %s for others", first, query, mask->hidden);
    } else {
        buf_format(out, " for j ≤ %zu, %s for j > %zu", query, mask->hidden, query);
        buf_format(builder_note(builder), "A query sees itself and what came before%s",
                   hides_any(builder->trace) ? ", not the future." : ": the last one sees all.");
    }
    if (window)
        buf_format(builder_note(builder), "This layer has a window: the last %zu keys.", window);
    builder_drawn(builder);
}

/* Each part of the pattern as a condition on j. */
static void draw_ways(struct buf *out, const struct trace *trace)
{
    const struct pattern *pattern = &trace->config->mechanism.pattern;
    const char *bar = trace->config->causal ? "" : "|";
    const char *before = ": ";
    if (pattern->window) {
        buf_format(out, "%s%s%zu - j%s < %zu", before, bar, trace->query, bar, pattern->window);
        before = " or ";
    }
    if (pattern->stride) {
        buf_format(out, "%s(%zu - j) mod %zu = 0", before, trace->query, pattern->stride);
        before = " or ";
    }
    if (pattern->global) {
        buf_format(out, "%sj < %zu", before, pattern->global);
        before = " or ";
    }
    if (pattern->random)
        buf_format(out, "%sj = %zu or j drawn", before, trace->query);
}

/* S = {j ≤ 5: 5 - j < 2 or j < 1} */
static void draw_seen(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct buf *out = &builder->out;
    bool sees_all = trace->query < trace->config->mechanism.pattern.global;
    const struct span all = visible(trace);
    size_t last = all.first + all.count - 1;
    buf_text(out, "S = {");
    if (all.first)
        buf_format(out, "%zu ≤ ", all.first);
    buf_format(out, "j ≤ %zu", last);
    if (!sees_all)
        draw_ways(out, trace);
    buf_text(out, "}");
    builder_drawn(builder);
}

static void draw_pattern(struct builder *builder)
{
    builder_formula(builder, "masked_j = scaled_j for j in S, -inf for others");
    /* How many keys the pattern leaves of those that the mask allows, and why it may be all. */
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    struct buf *note = builder_note(builder);
    size_t seen = 0;
    for (size_t j = 0; j < trace->keys; j++)
        seen += trace->masked[j] != -INFINITY;
    mechanism_write_attention(note, mechanism);
    buf_format(note, " shows this query %zu of %zu keys.", seen, visible(trace).count);
    if (trace->query < mechanism->pattern.global)
        buf_format(builder_note(builder), "The first %zu queries see all.",
                   mechanism->pattern.global);
    draw_seen(builder);
}

void step_masked(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mask mask = find_mask(builder);
    if (trace->config->mechanism.kind == ATTENTION_SPARSE)
        draw_pattern(builder);
    else
        draw_future(builder, &mask);
    if (!hides_any(trace))
        return;
    builder_keys(builder);
    builder_column(builder, mask.quantity, mask.values);
    builder_column(builder, &quantity_masked, trace->masked);
}
