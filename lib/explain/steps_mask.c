/* steps_mask.c: what a query does not see: the future, and what a pattern leaves out. */
#include <math.h>

#include "explain/steps.h"
#include "model/mechanism.h"

/* What is masked, and what takes the place of what is hidden. */
struct mask {
    const char *name; /* "scaled" */
    struct formula symbol, hidden;
    const float *values; /* [S] */
};

/* Keys that the mask lets the query see. */
static size_t visible_keys(const struct trace *trace)
{
    return trace->config->causal ? trace->query + 1 : trace->keys;
}

static bool hides_any(const struct trace *trace)
{
    for (size_t j = 0; j < trace->keys; j++)
        if (trace->masked[j] == -INFINITY)
            return true;
    return visible_keys(trace) < trace->keys;
}

/* Scaled scores before a softmax become -infinity; shares of one, and products of features, 0. */
static int find_mask(struct mask *mask, struct builder *builder)
{
    const struct trace *trace = builder->trace;
    *mask = (struct mask){
        "scaled", {"scaled_j", "\\tilde{s}_j"}, {"-inf", "-\\infty"}, builder_scaled(builder)};
    if (trace->softmax)
        *mask = (struct mask){"softmax", {"softmax_j", "p_j"}, {"0", "0"}, trace->softmax};
    else if (trace->config->mechanism.kind == ATTENTION_LINEAR)
        *mask = (struct mask){"score", {"score_j", "s_j"}, {"0", "0"}, trace->scores};
    return mask->values ? 0 : -1;
}

/* --- the future ------------------------------------------------------------------------------- */

static int draw_future(struct builder *builder, const struct mask *mask)
{
    struct formula_writer *out = &builder->out;
    size_t query = builder->trace->query;
    formula_add(out, "masked_j = ", "m_j = ");
    formula_add(out, mask->symbol.text, mask->symbol.latex);
    if (!builder->trace->config->causal) {
        buf_text(builder_note(builder), "There is no mask: every query sees every key.");
        return builder_drawn(builder);
    }
    buf_format(&out->text, " for j ≤ %zu, %s for j > %zu", query, mask->hidden.text, query);
    buf_format(&out->latex, " \\text{ for } j \\le %zu, \\quad m_j = %s \\text{ for } j > %zu",
               query, mask->hidden.latex, query);
    buf_format(builder_note(builder), "A query sees itself and what came before%s",
               hides_any(builder->trace) ? ", not the future." : ": the last one sees all.");
    return builder_drawn(builder);
}

/* --- a pattern -------------------------------------------------------------------------------- */

/* One more way for key j to be seen. */
static void begin_way(struct formula_writer *out, bool *first)
{
    formula_add(out, *first ? " " : " or ", *first ? " " : " \\text{ or } ");
    *first = false;
}

static void draw_window(struct formula_writer *out, const struct trace *trace)
{
    size_t window = trace->config->mechanism.pattern.window;
    const char *bar = trace->config->causal ? "" : "|";
    buf_format(&out->text, "%s%zu - j%s < %zu", bar, trace->query, bar, window);
    buf_format(&out->latex, "%s%zu - j%s < %zu", bar, trace->query, bar, window);
}

/* Each part of the pattern as a condition on j. */
static void draw_ways(struct formula_writer *out, const struct trace *trace)
{
    const struct pattern *pattern = &trace->config->mechanism.pattern;
    size_t query = trace->query;
    bool first = true;
    if (pattern->window) {
        begin_way(out, &first);
        draw_window(out, trace);
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
static int draw_seen(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    bool sees_all = trace->query < trace->config->mechanism.pattern.global;
    buf_format(&out->text, "S = {j ≤ %zu", visible_keys(trace) - 1);
    buf_format(&out->latex, "S = \\{\\, j \\le %zu", visible_keys(trace) - 1);
    if (!sees_all) {
        formula_add(out, ":", " :");
        draw_ways(out, trace);
    }
    formula_add(out, "}", " \\,\\}");
    return builder_drawn(builder);
}

/* How many keys the pattern leaves of those that the mask allows, and why it may be all. */
static void note_seen(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    struct buf *note = builder_note(builder);
    size_t seen = 0;
    for (size_t j = 0; j < trace->keys; j++)
        seen += trace->masked[j] != -INFINITY;
    mechanism_write_attention(note, mechanism);
    buf_format(note, " shows this query %zu of %zu keys.", seen, visible_keys(trace));
    if (trace->query < mechanism->pattern.global)
        buf_format(builder_note(builder), "The first %zu queries see all.",
                   mechanism->pattern.global);
}

static int draw_pattern(struct builder *builder)
{
    builder_formula(builder, "masked_j = scaled_j for j in S, -inf for others",
                    "m_j = \\tilde{s}_j \\text{ for } j \\in S, \\quad m_j = -\\infty \\text{ for "
                    "others}");
    note_seen(builder);
    return draw_seen(builder);
}

/* ---------------------------------------------------------------------------------------------- */

int step_masked(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool sparse = trace->config->mechanism.kind == ATTENTION_SPARSE;
    struct mask mask;
    builder_title(builder, "masked", "Mask");
    if (find_mask(&mask, builder) || (sparse ? draw_pattern(builder) : draw_future(builder, &mask)))
        return -1;
    if (!hides_any(trace))
        return 0;
    builder_keys(builder);
    builder_column(builder, mask.name, mask.symbol.text, mask.symbol.latex, mask.values);
    builder_column(builder, "masked", "masked_j", "m_j", trace->masked);
    return 0;
}
