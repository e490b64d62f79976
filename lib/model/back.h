/* back.h: gradients of a scalar at every site of a pass over one text: one walk back over the
 * sublayers of layer.h, after a pass whose values a tape keeps.
 *
 *     struct tape tape = {.arena = &arena};
 *     if (tape_run(&tape, &run, err)) ...                        (the pass)
 *     struct back back = {&run, &tape, seeds, 1, my_sink, mine};
 *     if (back_run(&back, err)) ...                              (the walk)
 *
 * A scalar is what the seeds say: its gradients at some sites, from which all others follow.
 * Divisors of norms, routing weights and caps have gradients; the choice of experts and of visible
 * keys has none. Weights, masked scores and scores of hidden keys, and weights of experts that were
 * not chosen, have the gradient 0; keys and values have the sum over the queries' heads that share
 * them. */
#pragma once

#include "model/forward.h"

/* What a pass announced, dense, in `arena`. */
struct tape {
    struct arena *arena;
    const float **values; /* [layers + 1][SITE_COUNT]; first those outside of layers */
};

/* Run a batch of one text without a cache, and keep all its sites. Refused, as not supported:
 * edits, and attention that is not the model's own. */
int tape_run(struct tape *tape, const struct run *run, struct err *err);

/* The values of a site, as announced (layer -1: outside of layers); NULL: the pass has none. */
const float *tape_of(const struct tape *tape, enum site site, int layer);

/* The gradient of the scalar at a site, in the shape of its values. */
struct back_seed {
    enum site site;
    int layer;
    const float *values;
};

/* A reader of the stream: queries, keys or values of a query head, or an MLP (SITE_MLP_OUT); and
 * the gradient [T, C] of the stream through it, and its norm, alone. */
struct back_reader {
    enum site site;
    size_t layer, head;
    struct matrix gradient;
};

struct back {
    const struct run *run; /* of the tape */
    const struct tape *tape;
    const struct back_seed *seeds;
    size_t seed_count;
    tap_sink sink; /* gets the gradient of each site, in the reverse order of the pass */
    void *context;
    /* Gets each reader, layers in reverse; of cross-attention only queries; NULL: not called. */
    int (*reader)(void *context, const struct back_reader *reader, struct err *err);
    size_t until; /* layer of the text at whose input the walk ends; 0: at the rows of tokens */
    /* Set by back_run, in the tape's arena: of the scaled rows of the table of tokens, unless the
     * walk ends before them. */
    struct matrix token_rows[PART_CROSS];
};

int back_run(struct back *back, struct err *err);
