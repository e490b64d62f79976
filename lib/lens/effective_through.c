/* effective_through.c: attention through the layers up to one: rollout. */
#include "lens/effective_parts.h"

/* y = (mean a + 1) / 2, or the mean alone. */
static void mix(const struct effective *e, const struct held_text *text, double *y)
{
    const struct config *c = e->run->config;
    bool stream = c->kind != MODEL_ATTENTION && !mechanism_lacks(&c->mechanism, PART_RESIDUAL);
    size_t width = text->keys;
    size_t cells = width * width;
    for (size_t i = 0; i < cells; i++) {
        double sum = 0;
        for (size_t head = 0; head < c->n_head; head++)
            sum += (double)text->held[HELD_WEIGHTS][head * cells + i];
        double mean = sum / (double)c->n_head;
        y[i] = stream ? (mean + (i / width == i % width)) / 2 : mean;
    }
}

/* rollout = mixed · rollout, which is 1 before the first layer */
static void roll(struct held_text *text, const double *mixed, bool first)
{
    size_t width = text->keys;
    double *y = text->spare;
    for (size_t i = 0; i < width * width; i++)
        y[i] = first ? mixed[i] : 0;
    for (size_t i = 0; i < width && !first; i++)
        for (size_t k = 0; k < width; k++)
            for (size_t j = 0; j < width && mixed[i * width + k] != 0; j++)
                y[i * width + j] += mixed[i * width + k] * text->rollout[k * width + j];
    text->spare = text->rollout;
    text->rollout = y;
}

static int take_square(double **square, const struct effective *e, const struct held_text *text,
                       struct err *err)
{
    if (!*square)
        *square = arena_room(e->arena, text->keys * text->keys, sizeof **square, err);
    return *square ? 0 : -1;
}

/* A layer more, as far as one that is shown. */
int effective_through(const struct effective *e, const struct announcement *seen, struct err *err)
{
    struct held_text *text = &e->texts[seen->text];
    if (take_square(&text->mixed, e, text, err) || take_square(&text->rollout, e, text, err) ||
        take_square(&text->spare, e, text, err))
        return -1;
    mix(e, text, text->mixed);
    roll(text, text->mixed, seen->layer == 0);
    if (!effective_is_selected(e, SITE_ROLLOUT, seen->layer))
        return 0;
    return effective_show_square(e, seen, SITE_ROLLOUT, text->rollout, err);
}
