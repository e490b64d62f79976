#include "explain/explanation.h"

#include "explain/steps.h"
#include "explain/trace.h"

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

static int explain(struct explanation *explanation, const struct trace *trace,
                   const struct explain_request *request, struct arena *arena, struct err *err)
{
    bool has_several = trace->config->n_encoder_layer > 0;
    *explanation = (struct explanation){
        .report = trace->report,
        .part = has_several ? &attention_parts[trace->part] : NULL,
        .text = report_queries(trace->report, trace->part),
        .layer = trace->layer,
        .head = trace->head,
        .query = trace->query,
        .key_count = trace->keys,
    };
    return choose_shown(explanation, trace, request->keys, arena, err) ||
                   steps_make(explanation, trace, request->digits, trace->query == request->query,
                              arena, err)
               ? -1
               : 0;
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
