/* path_text.h: a text and its expected tensors on every path: the numbers of the reference, if it
 * has the text, and the bits of the first path.
 *
 *     struct path_text text;
 *     if (path_text_open(&text, &config, &golden, err)) ...
 *     struct path_run run = {.text = &text, .texts = 1, .sequences = &text.sequence};
 *     struct tap tap = {.watch = &text.watch, .sink = path_sink, .context = &run};
 *     ... forward ...
 *     if (path_run_finish(&run, err)) ...
 *     path_text_release(&text);
 */
#pragma once

#include <stdbool.h>

#include "golden.h"
#include "pass/forward.h"
#include "model/site.h"
#include "pass/tap.h"

/* The expected values of a site in a layer. */
struct path_value {
    const struct golden_tensor *golden; /* NULL: the reference does not have it */
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
    const float *bits; /* of the first run; NULL before it */
    size_t rows_seen;  /* rows of whole texts in this run */
};

struct path_text {
    const struct config *config;
    const struct golden *golden; /* NULL: the reference does not have this text */
    struct text sequence;
    struct path_value *values; /* [layer][SITE_COUNT]; sites outside of layers are in layer 0 */
    struct watch watch;
    size_t left_out;
    /* tensors of the reference that are not watched */ /* all sites of the model */
    struct arena arena;
};

/* Open the golden sentence, or a long text that repeats its ids, within the model's context. Config
 * and golden must outlive the text. On failure, nothing needs to be released. */
int path_text_open(struct path_text *text, const struct config *config, const struct golden *golden,
                   struct err *err);
int path_text_open_long(struct path_text *text, const struct config *config,
                        const struct golden *golden, struct err *err);
void path_text_release(struct path_text *text);

/* A run of the text: in one pass, in several passes with a cache, or as a batch of copies. */
struct path_run {
    struct path_text *text;
    size_t texts;                 /* number of whole texts */
    const struct text *sequences; /* of the pass: copies, prefixes, or the next piece */
    size_t past;                  /* tokens in the cache */
    const struct tolerance *tolerance;
    double worst; /* largest golden_error so far */
};

/* A tap_sink that compares tensors, and keeps those of the first run. Its context is a path_run. */
int path_sink(void *context, const struct announcement *seen, struct err *err);

/* Check that all tensors were compared in all whole texts, and reset the counters. */
int path_run_finish(struct path_run *run, struct err *err);
