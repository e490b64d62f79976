/* estimates.h: first-order estimates of patches (attribution patching): to first order, a patch
 * changes the answer's logit by Σ (new value - old value) · gradient, with the gradient of the run
 * that is patched. One pass and one walk back (pass/back.h) estimate all patches of a site.
 *
 *     struct estimate_plan plan = {&viewer, &question, text, .values = {.from = …, .to = …}};
 *     if (estimate_cells(effects, &plan, SITE_CONTEXT, columns, err)) ...
 *
 * An edge (edge attribution patching; Syed et al., 2023) leads from a writer to a later reader of
 * the stream: the patch changes the writer's output at all tokens, but only for the reader and its
 * norm. Writers are the embedding, each head (its context times its rows of the output matrix; in
 * differential attention, the two heads that make one context are one writer, and the context is
 * the normed one) and each MLP, times the multiplier of their sublayer; readers are queries, keys
 * and values of each query head, each MLP, and the logits. Edges that leave a writer add up to the
 * estimate of its patch. */
#pragma once

#include "lens/viewer.h"
#include "model/layer.h"

struct question;

/* The values of a site, a tensor for each layer: `from` are the values of the run that is patched,
 * `to` the values that replace them. Rank 0: the layer lacks the site. */
struct estimate_values {
    const struct tensor *from, *to;
};

struct estimate_plan {
    struct viewer *viewer;
    struct question *question;
    struct text text;                     /* the text that is patched */
    bool by_head, by_token;               /* the cell that a patch replaces is a head, a token or,
                                           * if both are true, a head at a token; if both are false,
                                           * it is a neuron */
    struct estimate_values values;        /* values of the patched site; for edges, of
                                           * context_out */
    struct estimate_values outs, streams; /* for edges: `outs` are values of mlp_out, `streams` are
                                           * values of resid_pre */
    size_t steps; /* for edges: number of runs whose gradients are averaged. Run k, from 0 to steps
                   * - 1, has the token rows text + k / steps · (other - text) */
    const struct text *other; /* for edges: the text towards which the steps lead, with as many
                               * tokens as `text` */
};

/* Add the estimate of each cell of a site to effects [layers, columns]. Refuses what tape_run
 * refuses. */
int estimate_cells(double *effects, const struct estimate_plan *plan, enum site site,
                   size_t columns, struct err *err);

/* The sublayers of a model, as writers and readers of the residual stream. */
struct edges {
    const struct edge_part *parts; /* [count] one for each sublayer */
    size_t count, writers, readers;
};

/* Find writers and readers. Refused, as not supported: models with cross-attention or layers that
 * keep a state, and models in which an output or a sum is normed, replaces the stream or is added
 * to the normed input: in these, no value of the stream belongs to a single edge. */
int edges_find(struct edges *edges, const struct viewer *viewer, struct arena *arena,
               struct err *err);

/* Make the axes of writers ("L0H1", "L0.mlp") and of readers ("L1H2.q", "L1.mlp"). */
int edges_axes(struct axis *writers, struct axis *readers, const struct edges *edges,
               struct arena *arena, struct err *err);

/* Set effects [writers, readers] to the estimate of each edge, or to NaN if the reader comes before
 * the writer. */
int estimate_edges(double *effects, const struct estimate_plan *plan, const struct edges *edges,
                   struct err *err);

/* Return the bytes that an estimate needs in addition to the values in its plan; `of_edges`: an
 * estimate of edges. */
double estimate_bytes(const struct config *config, const struct text_with_source *pair,
                      bool of_edges);
