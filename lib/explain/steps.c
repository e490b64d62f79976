#include "explain/steps.h"

#include <math.h>

/* The key whose numbers are worked out: the first that is seen. */
static size_t first_seen(const struct walk *walk)
{
    size_t key = 0;
    while (key + 1 < walk->keys && walk->masked[key] == -INFINITY)
        key++;
    return key;
}

static int keep_note(struct board *board)
{
    struct buf *note = &board->note;
    if (buf_check(note, board->err))
        return -1;
    if (note->size == 0)
        return 0;
    board->step->note = arena_text(board->arena, note->bytes, note->size, board->err);
    return board->step->note ? 0 : -1;
}

static int make(struct board *board, int (*step)(struct board *))
{
    int failed = step(board) || keep_note(board) ? -1 : 0;
    buf_release(&board->note);
    buf_release(&board->pen.text); /* half a formula, when the step failed */
    buf_release(&board->pen.latex);
    return failed;
}

/* The steps of a mechanism, in the order of its pass. */
typedef int (*maker)(struct board *board);

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

int steps_make(struct explanation *explanation, const struct walk *walk, int digits, bool gives,
               struct arena *arena, struct err *err)
{
    maker makers[STEPS_MAX];
    size_t count = choose_steps(makers, &walk->config->mechanism);
    struct step *steps = arena_alloc(arena, count, sizeof *steps, err);
    if (!steps)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct board board = {
            .walk = walk,
            .step = &steps[i],
            .table = &steps[i].table,
            .key = first_seen(walk),
            .digits = digits,
            .gives = gives,
            .arena = arena,
            .err = err,
        };
        if (make(&board, makers[i]))
            return -1;
    }
    explanation->steps = steps;
    explanation->step_count = count;
    return 0;
}
