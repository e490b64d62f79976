/* growth.h: how time and memory of attention grow with the length of a text, for several kinds of
 * attention. Only attention is measured: the rest of a layer grows linearly. For an encoder-decoder
 * model that is the decoder's self-attention.
 *
 *     struct growth_plan plan = {&folder, .rounds = 5, .ways = ways, .way_count = 2};
 *     if (growth_measure(&growth, &plan, &arena, err) || growth_text_write(&out, &growth, err)) ...
 */
#ifndef ATTN_BENCH_GROWTH_H
#define ATTN_BENCH_GROWTH_H

#include "base/arena.h"
#include "base/folder.h"
#include "base/progress_sink.h"
#include "draw/drawing.h"
#include "model/config.h"

struct growth_plan {
    const struct folder *folder; /* the model's */
    size_t threads;              /* 0: one for each processor */
    size_t rounds;
    const struct mechanism *ways;
    size_t way_count;
    const size_t *lengths; /* rising; NULL: five, each twice the last, up to the context or 4096 */
    size_t length_count;
    const struct progress_sink *progress; /* or NULL */
};

enum growth_quantity { GROWTH_SECONDS, GROWTH_BYTES, GROWTH_QUANTITIES };

struct growth_way {
    const char *name;                    /* "window:64" */
    double *values[GROWTH_QUANTITIES];   /* [length]: least time of all passes, working memory */
    double exponents[GROWTH_QUANTITIES]; /* of the fitted power; NAN: none */
};

struct growth {
    const char *title; /* "life: 1 layer, 2 heads of 4, 1 thread" */
    const char *model, *kernels;
    size_t threads, rounds;
    const size_t *lengths;
    size_t length_count;
    struct growth_way *ways;
    size_t way_count;
};

/* The arena owns the results. Refused as wrong usage: attention that the model cannot have, a text
 * longer than its context. */
int growth_measure(struct growth *growth, const struct growth_plan *plan, struct arena *arena,
                   struct err *err);

/* The exponent b of y = a · x^b, fitted over the longer half of the points; NAN: fewer than two. */
double growth_exponent(const size_t *x, const double *y, size_t count);

int growth_text_write(struct stream *out, const struct growth *growth, struct err *err);
int growth_json_write(struct stream *out, const struct growth *growth, struct err *err);
int growth_figure_write(struct stream *out, enum drawing_form form, const struct growth *growth,
                        struct err *err);

#endif
