/* patching_parts.h: what patching.c consists of: copies of a text, patched each in its way, run to
 * the answer. */
#ifndef ATTN_MEASURE_PATCHING_PARTS_H
#define ATTN_MEASURE_PATCHING_PARTS_H

#include "measure/patching.h"
#include "model/cache.h"

/* What a text's own run had. */
struct side {
    const uint32_t *ids;
    const float **streams; /* [L] resid_pre, [T, C] */
    struct tensor *values; /* [L] of the site; rank 0: the layer has none */
    const float *logits;   /* [V] after the position */
};

/* Of a copy: its first tokens are the base's. */
struct copy_cache {
    struct cache cache;
    size_t sound; /* so many */
};

struct sweep {
    const struct patching_plan *plan;
    const struct config *config;
    struct patching *found;
    enum site site;
    size_t tokens;             /* up to the position */
    size_t most;               /* copies that share a pass */
    struct side base, other;   /* whose run is patched; whose values are put there */
    const struct edits *edits; /* of all runs; NULL: none */
    bool whole;                /* tokens see those to come, or … */
    bool from_ids;             /* … the stream into layers is edited, once: copies run whole */
    struct cache cache;        /* the base's */
    struct copy_cache *copies; /* [most] */
    struct run run;            /* for rows by themselves */
    struct arena kept, chunk;
    size_t done;
    struct err *err;
};

/* Up to the position, as it stands in the whole. */
static inline struct text text_of(const struct sweep *s, const struct side *side)
{
    return (struct text){
        .ids = side->ids, .count = s->tokens, .whole_count = s->plan->clean->count};
}

/* Copies of the base's text, patched in one layer. Before the first token whose value is another
 * one they are as the base is. */
struct copies {
    size_t layer;
    size_t *columns; /* [count] what of it: a head, or a token */
    size_t *firsts;  /* [count] that token */
    size_t count;
    double *logits; /* [count] what comes of them */
};

/* The answer's logit, or the difference, of all logits. */
double patching_answer(const struct sweep *s, const float *logits);

/* Patch copies by edits; what heads give; what goes from them straight to the receiver. */
int patching_run_edited(struct sweep *s, struct copies *copies);
int patching_run_heads(struct sweep *s, struct copies *copies);
int patching_run_paths(struct sweep *s, struct copies *copies);

#endif
