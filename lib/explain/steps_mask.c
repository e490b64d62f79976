/* steps_mask.c: what a query does not see: the future, and what a pattern leaves out. */
#include <math.h>

#include "explain/steps.h"
#include "model/mechanism.h"

/* What is masked, and what takes the place of what is hidden. */
struct mask {
    const struct quantity *quantity;
    struct formula hidden;
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
        return (struct mask){&quantity_softmax, {"0", "0"}, trace->softmax};
    if (trace->config->mechanism.kind == ATTENTION_LINEAR)
        return (struct mask){&quantity_score, {"0", "0"}, trace->scores};
    struct mask mask = {.hidden = {"-inf", "-\\infty"}};
    mask.values = builder_scores(builder, &mask.quantity);
    return mask;
}

/* --- the future ------------------------------------------------------------------------------- */

static void draw_future(struct builder *builder, const struct mask *mask)
{
    struct formula_writer *out = &builder->out;
    const struct formula *symbol = &mask->quantity->symbol;
    size_t query = builder->trace->query;
    size_t window = config_window(builder->trace->config, builder->trace->layer);
    size_t first = visible(builder->trace).first;
    buf_format(&out->text, "masked_j = %s", symbol->text);
    buf_format(&out->latex, "m_j = %s", symbol->latex);
    if (!builder->trace->config->causal) {
        buf_text(builder_note(builder), "There is no mask: every query sees every key.");
    } else if (first) {
        buf_format(&out->text, " for %zu ≤ j ≤ %zu, %s for others", first, query,
                   mask->hidden.text);
        buf_format(&out->latex,
                   " \\text{ for } %zu \\le j \\le %zu, \\quad m_j = %s \\text{ for others}", first,
                   query, mask->hidden.latex);
    } else {
        buf_format(&out->text, " for j ≤ %zu, %s for j > %zu", query, mask->hidden.text, query);
        buf_format(&out->latex, " \\text{ for } j \\le %zu, \\quad m_j = %s \\text{ for } j > %zu",
                   query, mask->hidden.latex, query);
        buf_format(builder_note(builder), "A query sees itself and what came before%s",
                   hides_any(builder->trace) ? ", not the future." : ": the last one sees all.");
    }
    if (window)
        buf_format(builder_note(builder), "This layer has a window: the last %zu keys.", window);
    builder_drawn(builder);
}

/* --- a pattern -------------------------------------------------------------------------------- */

/* One more way for key j to be seen. */
static void begin_way(struct formula_writer *out, bool *first)
{
    buf_text(&out->text, *first ? " " : " or ");
    buf_text(&out->latex, *first ? " " : " \\text{ or } ");
    *first = false;
}

/* Each part of the pattern as a condition on j. */
static void draw_ways(struct formula_writer *out, const struct trace *trace)
{
    const struct pattern *pattern = &trace->config->mechanism.pattern;
    const char *bar = trace->config->causal ? "" : "|";
    size_t query = trace->query;
    bool first = true;
    if (pattern->window) {
        begin_way(out, &first);
        buf_format(&out->text, "%s%zu - j%s < %zu", bar, query, bar, pattern->window);
        buf_format(&out->latex, "%s%zu - j%s < %zu", bar, query, bar, pattern->window);
    }
    if (pattern->stride) {
        begin_way(out, &first);
        buf_format(&out->text, "(%zu - j) mod %zu = 0", query, pattern->stride);
        buf_format(&out->latex, "(%zu - j) \\bmod %zu = 0", query, pattern->stride);
    }
    if (pattern->global) {
        begin_way(out, &first);
        buf_format(&out->text, "j < %zu", pattern->global);
        buf_format(&out->latex, "j < %zu", pattern->global);
    }
    if (pattern->random) {
        begin_way(out, &first);
        buf_format(&out->text, "j = %zu or j drawn", query);
        buf_format(&out->latex, "j = %zu \\text{ or } j \\text{ drawn}", query);
    }
}

/* S = {j ≤ 5: 5 - j < 2 or j < 1} */
static void draw_seen(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    bool sees_all = trace->query < trace->config->mechanism.pattern.global;
    const struct span all = visible(trace);
    size_t last = all.first + all.count - 1;
    formula_write(out, "S = {", "S = \\{\\, ", 0, NULL);
    if (all.first) {
        buf_format(&out->text, "%zu ≤ ", all.first);
        buf_format(&out->latex, "%zu \\le ", all.first);
    }
    buf_format(&out->text, "j ≤ %zu%s", last, sees_all ? "" : ":");
    buf_format(&out->latex, "j \\le %zu%s", last, sees_all ? "" : " :");
    if (!sees_all)
        draw_ways(out, trace);
    formula_write(out, "}", " \\,\\}", 0, NULL);
    builder_drawn(builder);
}

static void draw_pattern(struct builder *builder)
{
    builder_formula(builder, "masked_j = scaled_j for j in S, -inf for others",
                    "m_j = \\tilde{s}_j \\text{ for } j \\in S, \\quad m_j = -\\infty \\text{ for "
                    "others}");
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
