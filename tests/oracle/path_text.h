/* path_text.h: a text, and what every way to compute it must give: the reference's numbers where
 * there are any, and the bits of the way that was tried first.
 *
 *     struct path_text text;
 *     if (path_text_open(&text, &config, &golden, err)) ...
 *     struct path_run run = {.text = &text, .texts = 1, .sequences = &text.sequence};
 *     struct tap tap = {.watch = &text.watch, .sink = path_sink, .context = &run};
 *     ... forward ...
 *     if (path_run_finish(&run, err)) ...
 *     path_text_release(&text);
 */
#ifndef ATTN_TESTS_PATH_TEXT_H
#define ATTN_TESTS_PATH_TEXT_H

#include <stdbool.h>

#include "golden.h"
#include "model/batch.h"
#include "model/tap.h"

/* What is known of one site of one layer. */
struct path_value {
    const struct golden_tensor *golden; /* NULL: the reference has nothing of it */
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
    const float *bits; /* of the first run; NULL before it */
    size_t rows_seen;  /* of whole texts, in this run */
};

struct path_text {
    const struct config *config;
    const struct golden *golden; /* NULL: the reference knows nothing of this text */
    struct text sequence;
    struct path_value *values; /* [layer][SITE_COUNT]; sites outside the layers: in the first one */
    struct watch watch;        /* everything that the model has */
    struct arena arena;
};

/* The golden sentence; and a long one, within the model's context, of the same ids. Config and
 * golden must outlive them. On failure nothing is held. */
int path_text_open(struct path_text *text, const struct config *config, const struct golden *golden,
                   struct err *err);
int path_text_open_long(struct path_text *text, const struct config *config,
                        const struct golden *golden, struct err *err);
void path_text_release(struct path_text *text);

/* The text once, in one pass or in several that a cache goes on from; or often, in a batch. */
struct path_run {
    struct path_text *text;
    size_t texts;                 /* how often, as a whole */
    const struct text *sequences; /* of the pass: the text, parts that it begins with, or what
                                         comes next where there is a cache */
    size_t past;                  /* tokens in the cache */
    const struct tolerance *tolerance;
    double worst; /* of golden_error, so far */
};

/* A tap_sink that compares, and keeps what comes for the first time; the context is a path_run. */
int path_sink(void *context, const struct announcement *seen, struct err *err);

/* Everything that is known of the text was compared, in as many whole texts as there were. */
int path_run_finish(struct path_run *run, struct err *err);

#endif
