/* attention_head.h: what attention's own files share: a layer, a head of it, a kind of attention.
 */
#ifndef ATTN_MODEL_ATTENTION_HEAD_H
#define ATTN_MODEL_ATTENTION_HEAD_H

#include <stdatomic.h>

#include "model/pass.h"

enum {
    STRIP = 32, /* queries that are worked on together, at most */
    STEP = 16,  /* kernels exist for one row, and for multiples of this many rows and keys */
    ROW_SIZES = 1 + STRIP / STEP,
    KEY_SIZES = KEY_PANEL / STEP,
    CHAIN = 256, /* keys whose values are summed in one chain; a multiple of KEY_PANEL */
};

/* In bf16: what is rounded, in pairs. */
struct attention_pairs {
    uint32_t *keys, *values; /* of one head that is in no cache, in pages: cache.h */
    uint32_t *queries;       /* [queries, query_stride] of one head */
    uint32_t *weights;       /* [rows of a strip, weight_stride] */
    size_t query_stride, weight_stride;
};

/* What a thread works in. Not every kind uses all of it. */
struct attention_memory {
    float *panels;  /* [slots][dk, KEY_PANEL] keys of one head, transposed; or the last of them */
    float *scores;  /* [rows of a strip, stride] */
    float *context; /* [rows of a strip, context_stride] */
    float *part;    /* the same for a chain that is added to it, where there may be several */
    float *row;     /* of one query, or a few numbers for each of a strip */
    float *sums;    /* of linear attention */
    uint32_t *singles;
    size_t panel_slots, stride, context_stride;
    size_t single_room; /* of each query */
    struct attention_pairs pairs;
};

/* How many of each: floats, keys, and pairs. */
struct attention_pairs_size {
    size_t keys, values, queries, weights;
    size_t query_stride, weight_stride;
};

struct attention_size {
    size_t panels, rows, stride, context_stride, part_rows, row, sums;
    size_t single_rows, single_room;
    struct attention_pairs_size pairs;
    size_t one; /* 1: the stride of what is no matrix */
};

/* What the memory must be large enough for: the longest text of a batch. */
struct attention_problem {
    const struct config *config;
    size_t queries, keys;
    size_t fresh_keys; /* those that are in no cache */
    bool scores;       /* raw scores are wanted in some layer */
    bool maps;         /* any attention map is */
    bool bf16;         /* products are made of rounded numbers */
    bool causal;
};

/* What all heads of one layer share. */
struct attention_layer {
    struct pass *pass;
    size_t layer;
    float scale;
    bool wants_context;
    bool renormalises; /* the softmax, which is over all keys: see mechanism.h */
    bool bf16;         /* products are made of rounded numbers */
    struct kernel score_kernels[ROW_SIZES][KEY_SIZES];      /* by rows, keys */
    struct kernel context_kernels[ROW_SIZES][KEY_SIZES][2]; /* …; add to what is there */
    struct kernel whole_kernel; /* of STEP rows and all their keys, if those are … */
    size_t whole_keys;          /* … so many */
    atomic_size_t first_fault;  /* that of the lowest round: round · HEAD_FAULTS + fault */
};

/* One head of one sequence. */
struct attention_head {
    const struct attention_layer *layer;
    const struct attention_memory *memory;
    struct matrix q, k, v, context; /* this head's columns, this sequence's rows */
    struct cache *cache;            /* NULL, or where all keys and values are */
    size_t sequence, head;
    size_t group;                               /* of keys and values */
    size_t past, keys;                          /* queries before the first; keys, all of them */
    float *scores, *softmax, *masked, *weights; /* [T, S] where wanted, else NULL */
    uint64_t dropout_key;                       /* a number for the head */
};

/* How a head can fail. */
enum head_fault {
    HEAD_SOUND,
    HEAD_NO_NUMBER, /* a score is not finite */
    HEAD_NO_WEIGHT, /* a row of weights sums to 0 */
    HEAD_FAULTS,
};

/* One kind of attention. */
struct attention_method {
    /* Say how much memory a thread needs; false: more than can be counted. */
    bool (*measure)(struct attention_size *size, const struct attention_problem *problem);
    /* Before the heads of a layer: fetch kernels. 0; or -1 with an error. */
    int (*prepare)(struct attention_layer *layer);
    /* One head of one sequence: its maps where they are wanted, and its context. */
    enum head_fault (*compute)(const struct attention_head *head);
};

const struct attention_method *attention_method(enum attention_kind kind);

/* Every thread's memory, for the longest sequence of the batch; one layer uses it after the other.
 */
int attention_take_memory(struct pass *pass);

extern const struct attention_method attention_dense, attention_sparse, attention_linear,
    attention_blocked;

#endif
