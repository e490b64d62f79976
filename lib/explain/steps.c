#include "explain/steps.h"

#include <math.h>

/* The key whose numbers are worked out: the first that is seen. */
static size_t first_seen(const struct trace *trace)
{
    size_t key = 0;
    while (key + 1 < trace->keys && trace->masked[key] == -INFINITY)
        key++;
    return key;
}

static int make(struct builder *builder, int (*step)(struct builder *))
{
    int failed = step(builder);
    if (!failed && (builder->note.size || builder->note.out_of_memory)) {
        builder->step->note = buf_keep(&builder->note, builder->arena, builder->err);
        failed = !builder->step->note;
    }
    buf_release(&builder->note);
    buf_release(&builder->out.text); /* half a formula, when the step failed */
    buf_release(&builder->out.latex);
    return failed ? -1 : 0;
}

/* The steps of a mechanism, in the order of its pass. */
typedef int (*maker)(struct builder *builder);

enum { STEPS_MAX = 13 };

static void add_steps(maker makers[STEPS_MAX], size_t *count, const maker *more)
{
    while (*more)
        makers[(*count)++] = *more++;
}

static size_t choose_steps(maker makers[STEPS_MAX], const struct mechanism *mechanism)
{
    static const maker by_softmax[] = {step_scores, step_scaled, step_masked, step_softmax, NULL};
    static const maker by_late_mask[] = {step_scores, step_scaled, step_softmax,
                                         step_masked, step_shares, NULL};
    static const maker by_features[] = {step_features, step_keys,   step_products,
                                        step_masked,   step_shares, NULL};
    size_t count = 0;
    add_steps(makers, &count, (const maker[]){step_input, step_query, NULL});
    add_steps(makers, &count,
              mechanism->kind == ATTENTION_LINEAR ? by_features
              : mechanism->renormalise            ? by_late_mask
                                                  : by_softmax);
    if (mechanism->dropout > 0)
        makers[count++] = step_dropout;
    add_steps(makers, &count, (const maker[]){step_values, step_context, step_output, NULL});
    return count;
}

int steps_make(struct explanation *explanation, const struct trace *trace, int digits, bool gives,
               struct arena *arena, struct err *err)
{
    maker makers[STEPS_MAX];
    size_t count = choose_steps(makers, &trace->config->mechanism);
    struct step *steps = arena_alloc(arena, count, sizeof *steps, err);
    if (!steps)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct builder builder = {
            .trace = trace,
            .step = &steps[i],
            .table = &steps[i].table,
            .key = first_seen(trace),
            .digits = digits,
            .gives = gives,
            .arena = arena,
            .err = err,
        };
        if (make(&builder, makers[i]))
            return -1;
    }
    explanation->steps = steps;
    explanation->step_count = count;
    return 0;
}
