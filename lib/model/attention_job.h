/* attention_job.h: what attention's own files share: the work on one layer, and on one head of it.
 */
#ifndef ATTN_MODEL_ATTENTION_JOB_H
#define ATTN_MODEL_ATTENTION_JOB_H

#include <stdatomic.h>

#include "model/pass.h"

enum {
    STRIP = 64, /* queries of a strip */
    STEP = 16,  /* kernels exist for one row, and for multiples of this many rows and keys */
    ROW_SIZES = 1 + STRIP / STEP,
    KEY_SIZES = KEY_PANEL / STEP,
};

struct strip_memory {
    float *panels;  /* [panel][dk, KEY_PANEL] the keys of one head, transposed */
    float *scores;  /* [STRIP, stride], or as few rows as are needed */
    float *context; /* [STRIP, dv], likewise */
    size_t stride;
};

/* What all heads of one layer share. */
struct layer_job {
    struct pass *pass;
    size_t layer;
    float scale;
    bool wants_context;
    struct kernel score_kernels[ROW_SIZES]; /* by rows */
    struct kernel context_kernels[ROW_SIZES][KEY_SIZES]
                                 [2]; /* by rows, keys; add to what is there */
    atomic_size_t first_failure;      /* the lowest round whose softmax failed */
};

/* One head of one sequence. */
struct head_job {
    const struct layer_job *layer;
    const struct strip_memory *memory;
    struct matrix q, k, v, context;   /* this head's columns, this sequence's rows */
    const struct cache *cache;        /* NULL, or where all keys and values are */
    size_t group;                     /* of keys and values */
    size_t past, keys;                /* keys before the first query's own; all of them */
    float *scores, *masked, *weights; /* [T, S] where wanted, else NULL */
};

#endif
