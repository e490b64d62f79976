#include "explain/explanation.h"

#include "explain/steps.h"
#include "explain/walk.h"

/* Mark the heaviest key that is not marked yet, the first of several. */
static void mark_heaviest(bool *marked, const struct walk *walk)
{
    size_t best = walk->keys;
    for (size_t j = 0; j < walk->keys; j++)
        if (!marked[j] && (best == walk->keys || walk->weight[j] > walk->weight[best]))
            best = j;
    marked[best] = true;
}

static int choose_shown(struct explanation *explanation, const struct walk *walk, size_t most,
                        struct arena *arena, struct err *err)
{
    bool *marked = arena_alloc(arena, walk->keys, sizeof *marked, err);
    size_t *shown = arena_alloc(arena, walk->keys, sizeof *shown, err);
    if (!marked || !shown)
        return -1;
    bool all = most == 0 || most >= walk->keys;
    for (size_t n = 0; n < most && !all; n++)
        mark_heaviest(marked, walk);
    for (size_t j = 0; j < walk->keys; j++) {
        if (!all && !marked[j])
            continue;
        shown[explanation->shown_count++] = j;
        explanation->shown_weight += walk->weight[j];
    }
    explanation->shown = shown;
    return 0;
}

static int explain(struct explanation *explanation, const struct walk *walk,
                   const struct explain_wish *wish, struct arena *arena, struct err *err)
{
    bool has_several = walk->config->n_encoder_layer > 0;
    *explanation = (struct explanation){
        .report = walk->report,
        .part = has_several ? &attention_parts[walk->part] : NULL,
        .text = report_queries(walk->report, walk->part),
        .layer = walk->layer,
        .head = walk->head,
        .query = walk->query,
        .key_count = walk->keys,
    };
    return choose_shown(explanation, walk, wish->keys, arena, err) ||
                   steps_make(explanation, walk, wish->digits, walk->query == wish->query, arena,
                              err)
               ? -1
               : 0;
}

int explanation_make(struct explanation *explanations, struct viewer *viewer,
                     const struct subject *subject, const struct explain_wish *wish,
                     struct arena *arena, struct err *err)
{
    struct walk walk;
    if (walk_take(&walk, viewer, subject, wish, arena, err))
        return -1;
    for (size_t i = 0; i < wish->query_count; i++) {
        walk_turn(&walk, wish->query + i);
        if (explain(&explanations[i], &walk, wish, arena, err))
            return -1;
    }
    return 0;
}
