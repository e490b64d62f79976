/* growth.h: how the time and the memory of attention grow with the length of a text, in several
 * ways to attend. Attention alone is measured: what stands around it grows as the text does,
 * whatever the way. Of an encoder and its decoder that is the decoder's look at its own text.
 *
 *     struct growth_plan plan = {&folder, .ways = ways, .way_count = 2, .lengths = lengths,
 *                                .length_count = 5, .rounds = 5};
 *     if (growth_measure(&growth, &plan, &arena, err)) ...
 *     growth.ways[1].seconds[4] ...            (of the second way, the fifth length)
 */
#ifndef ATTN_BENCH_GROWTH_H
#define ATTN_BENCH_GROWTH_H

#include "base/arena.h"
#include "base/folder.h"
#include "base/stream.h"
#include "draw/drawing.h"
#include "model/config.h"

struct growth_plan {
    const struct folder *folder; /* the model's */
    size_t threads;              /* 0: one a processor */
    size_t rounds;
    const struct mechanism *ways;
    size_t way_count;
    const size_t *lengths; /* rising; NULL: 256 to 4096, or as many halves of the context */
    size_t length_count;
    const struct progress_sink *progress; /* told what comes next; or NULL */
};

/* One way; of each length: */
struct growth_way {
    const char *name;                      /* "window:64" */
    double *seconds;                       /* the least of all passes */
    double *bytes;                         /* that attention works in */
    double *products;                      /* multiply-adds of the pairs that are seen, counted */
    double time_exponent, memory_exponent; /* growth_exponent of seconds and bytes */
};

struct growth {
    const char *model;
    struct config config;
    size_t threads, rounds;
    const char *kernels; /* their instruction set */
    const size_t *lengths;
    size_t length_count;
    struct growth_way *ways;
    size_t way_count;
};

/* Measure. All of it lives as long as the arena, the plan and the folder. Refused as wrong usage: a
 * way that is not for the model, a text that is longer than it takes. */
int growth_measure(struct growth *growth, const struct growth_plan *plan, struct arena *arena,
                   struct err *err);

/* The exponent b of y = a · x^b that fits best over the longer half of the points; NAN: there are
 * fewer than two, or the fit has no number. */
double growth_exponent(const size_t *x, const double *y, size_t count);

/* "life · 1 layer, 2 heads of 4, causal", with what stands between model and sizes. */
const char *growth_title(const struct growth *growth, const char *between, struct arena *arena,
                         struct err *err);

/* As a page with pictures of characters, as JSON, or as a figure: time and memory side by side. */
typedef int growth_writer(struct stream *out, const struct growth *growth, struct err *err);
extern growth_writer growth_page_write, growth_json_write;
int growth_figure_write(struct stream *out, enum drawing_form form, const struct growth *growth,
                        struct err *err);

#endif
