/* product_judge.h: the expected bits of X · W, by a plain and slow product.
 *
 * A kernel makes one chain of fused multiply-adds for each element, in the order of the sum; a
 * product adds chains of SUM_SEGMENT. An element depends only on its row and column, so the largest
 * product contains all smaller ones.
 *
 *     struct product_judge judge;
 *     product_judge_open(&judge, 129, 129, depths, COUNT(depths));
 *     ... judge.from_zero[i][row * judge.columns + column] ...     (the first depths[i] terms)
 *     product_judge_close(&judge);
 */
#pragma once

#include <stddef.h>

#include "base/memory.h"

enum { JUDGE_DEPTHS_MAX = 16 };

struct product_judge {
    size_t rows, columns, depth; /* of the largest product */
    const size_t *depths;        /* rising; the last one is `depth` */
    size_t depth_count;
    float *x;                            /* [rows, depth] */
    float *w;                            /* [depth, columns] */
    float *start;                        /* [rows, columns], initial values of sums */
    float *sum[JUDGE_DEPTHS_MAX];        /* [rows, columns], X · W up to each depth */
    float *from_zero[JUDGE_DEPTHS_MAX];  /* the same as one chain */
    float *from_start[JUDGE_DEPTHS_MAX]; /* start + X · W */
    struct arena arena;
};

void product_judge_open(struct product_judge *judge, size_t rows, size_t columns,
                        const size_t *depths, size_t depth_count);
void product_judge_close(struct product_judge *judge);
