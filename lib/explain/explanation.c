#include "explain/explanation.h"

#include <math.h>

#include "explain/steps.h"
#include "write/format.h"

const struct explain_format explain_formats[] = {
    {"text", ".txt", "a page to read, fitted to the terminal", false, explain_text_write, NULL},
    {"markdown", ".md", "tables and formulas for GitHub, Jupyter, pandoc", false,
     explain_markdown_write, NULL},
    {"latex", ".tex", "a document for pdflatex, xelatex or lualatex", false, explain_latex_write,
     NULL},
    {"html", ".html", "a page for browsers and paper, without scripts", false, explain_html_write,
     NULL},
    {"pdf", ".pdf", "pages of A4 (needs pango and cairo)", true, explain_pdf_write, drawing_check},
    {"json", ".json", "all numbers and the matrices they follow from, for programs", false,
     explain_json_write, NULL},
};

const size_t explain_format_count = sizeof explain_formats / sizeof *explain_formats;

/* --- the keys that pages show ----------------------------------------------------------------- */

/* Mark the heaviest key that is not marked yet, the first of several. */
static void mark_heaviest(bool *marked, const struct trace *trace)
{
    size_t best = trace->keys;
    for (size_t j = 0; j < trace->keys; j++)
        if (!marked[j] && (best == trace->keys || trace->weight[j] > trace->weight[best]))
            best = j;
    marked[best] = true;
}

static int choose_shown(struct explanation *explanation, const struct trace *trace, size_t most,
                        struct arena *arena, struct err *err)
{
    bool *marked = arena_alloc(arena, trace->keys, sizeof *marked, err);
    size_t *shown = arena_alloc(arena, trace->keys, sizeof *shown, err);
    if (!marked || !shown)
        return -1;
    bool all = most == 0 || most >= trace->keys;
    for (size_t n = 0; n < most && !all; n++)
        mark_heaviest(marked, trace);
    for (size_t j = 0; j < trace->keys; j++) {
        if (!all && !marked[j])
            continue;
        shown[explanation->shown_count++] = j;
        explanation->shown_weight += trace->weight[j];
    }
    explanation->shown = shown;
    return 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* How weights come about; steps that all have are ALWAYS there. */
enum way {
    BY_SOFTMAX = 1 << 0,
    BY_LATE_MASK = 1 << 1, /* it comes after the softmax */
    BY_FEATURES = 1 << 2,
    DROPPED = 1 << 3, /* and then some are */
    ALWAYS = BY_SOFTMAX | BY_LATE_MASK | BY_FEATURES,
};

/* In the order of the pass: what makes a step, and what lists the things that it takes as they are.
 */
static const struct step_row {
    int ways;
    const char *name, *title;
    void (*make)(struct builder *builder);
    void (*give)(struct builder *builder);
} step_rows[] = {
    {ALWAYS, "input", "Input", step_input, give_input},
    {ALWAYS, "query", "Query", step_query, give_query},
    {BY_FEATURES, "features", "Features of the query", step_features, NULL},
    {BY_FEATURES, "keys", "Keys", step_keys, give_keys},
    {BY_FEATURES, "scores", "Features of the keys, and scores", step_products, NULL},
    {BY_SOFTMAX | BY_LATE_MASK, "scores", "Keys and scores", step_scores, give_keys},
    {BY_SOFTMAX | BY_LATE_MASK, "scaled", "Scale", step_scaled, give_scale},
    {BY_LATE_MASK, "softmax", "Softmax", step_softmax, NULL},
    {ALWAYS, "masked", "Mask", step_masked, NULL},
    {BY_SOFTMAX, "weights", "Softmax", step_softmax, NULL},
    {BY_LATE_MASK, "weights", "Renormalise", step_shares, NULL},
    {BY_FEATURES, "weights", "Shares of the sum", step_shares, NULL},
    {DROPPED, "weights", "Dropout", step_dropout, give_dropout},
    {ALWAYS, "values", "Values and their weights", step_values, give_values},
    {ALWAYS, "context", "Weight times value, and the sum: the context", step_context, NULL},
    {ALWAYS, "output", "Output", step_output, give_output},
};

enum { STEP_ROWS = sizeof step_rows / sizeof *step_rows };

static int ways_of(const struct mechanism *mechanism)
{
    int way = mechanism->kind == ATTENTION_LINEAR ? BY_FEATURES
              : mechanism->renormalise            ? BY_LATE_MASK
                                                  : BY_SOFTMAX;
    return way | (mechanism->dropout > 0 ? DROPPED : 0);
}

/* The key whose numbers are worked out: the first that is seen. */
static size_t first_seen(const struct trace *trace)
{
    size_t key = 0;
    while (key + 1 < trace->keys && trace->masked[key] == -INFINITY)
        key++;
    return key;
}

static int make_step(struct step *step, const struct step_row *row, struct builder builder,
                     bool gives)
{
    *step = (struct step){
        .name = row->name, .title = row->title, .table = {.corner = "", .own_row = NO_ROW}};
    builder.step = step;
    builder.table = &step->table;
    if (gives && row->give)
        row->give(&builder);
    if (!builder.failed)
        row->make(&builder);
    if (!builder.failed && (builder.note.size || builder.note.out_of_memory)) {
        step->note = buf_keep(&builder.note, builder.arena, builder.err);
        builder.failed = !step->note;
    }
    buf_release(&builder.note);
    buf_release(&builder.out.text); /* half a formula, when the step failed */
    buf_release(&builder.out.latex);
    return builder.failed ? -1 : 0;
}

/* Of several queries the first has what steps take. */
static int explain(struct explanation *explanation, const struct trace *trace,
                   const struct explain_request *request, struct arena *arena, struct err *err)
{
    const struct builder builder = {
        .trace = trace,
        .key = first_seen(trace),
        .digits = request->digits,
        .arena = arena,
        .err = err,
    };
    bool has_several = trace->config->n_encoder_layer > 0;
    int ways = ways_of(&trace->config->mechanism);
    struct step *steps = arena_alloc(arena, STEP_ROWS, sizeof *steps, err);
    *explanation = (struct explanation){
        .report = trace->report,
        .part = has_several ? &attention_parts[trace->part] : NULL,
        .text = report_queries(trace->report, trace->part),
        .layer = trace->layer,
        .head = trace->head,
        .query = trace->query,
        .key_count = trace->keys,
        .steps = steps,
    };
    if (!steps || choose_shown(explanation, trace, request->keys, arena, err))
        return -1;
    for (size_t i = 0; i < STEP_ROWS; i++)
        if ((step_rows[i].ways & ways) &&
            make_step(&steps[explanation->step_count++], &step_rows[i], builder,
                      trace->query == request->query))
            return -1;
    return 0;
}

int explanation_make(struct explanation *explanations, struct viewer *viewer,
                     const struct text_pair *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err)
{
    struct trace trace;
    if (trace_run(&trace, viewer, pair, request, arena, err))
        return -1;
    for (size_t i = 0; i < request->query_count; i++) {
        trace_set_query(&trace, request->query + i);
        if (explain(&explanations[i], &trace, request, arena, err))
            return -1;
    }
    return 0;
}
