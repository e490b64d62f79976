#include "lens/steps.h"

#include <math.h>

#include "lens/board.h"

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

int steps_make(struct explanation *explanation, const struct walk *walk, int digits,
               struct arena *arena, struct err *err)
{
    static int (*const makers[])(struct board *) = {
        step_input,   step_query,  step_scores,  step_scaled, step_masked,
        step_weights, step_values, step_context, step_output,
    };
    enum { COUNT = sizeof makers / sizeof *makers };
    struct step *steps = arena_alloc(arena, COUNT, sizeof *steps, err);
    if (!steps)
        return -1;
    for (size_t i = 0; i < COUNT; i++) {
        struct board board = {
            .walk = walk,
            .step = &steps[i],
            .key = first_seen(walk),
            .digits = digits,
            .arena = arena,
            .err = err,
        };
        if (make(&board, makers[i]))
            return -1;
    }
    explanation->steps = steps;
    explanation->step_count = COUNT;
    return 0;
}
