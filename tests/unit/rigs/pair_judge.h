/* pair_judge.h: the slow plain product of numbers rounded to bf16, to the bit.
 *
 * One chain of fused multiply-adds an element: pair after pair in the order of the sum, of each
 * pair the second product first. Or as tiles sum: sixteen pairs at a time, their second products
 * apart from the first. As product_judge.h, one judge serves all smaller products.
 *
 *     struct pair_judge judge;
 *     pair_judge_open(&judge, 129, 129, depths, COUNT(depths), false);
 *     ... judge.from_zero[i][row * judge.columns + column] ...     (the first depths[i] numbers)
 *     pair_judge_close(&judge);
 */
#ifndef ATTN_TESTS_PAIR_JUDGE_H
#define ATTN_TESTS_PAIR_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { PAIR_JUDGE_DEPTHS_MAX = 16 };

struct pair_judge {
    size_t rows, columns, depth; /* of the largest product; depth counts numbers, not pairs */
    const size_t *depths;        /* rising; the last one is `depth` */
    size_t depth_count;
    float *x, *w; /* [rows, depth] and [depth, columns], not rounded */
    float *rounded_x, *rounded_w;
    float *start;                             /* [rows, columns] what is added to */
    float *from_zero[PAIR_JUDGE_DEPTHS_MAX];  /* [rows, columns] X · W, cut off at each depth */
    float *from_start[PAIR_JUDGE_DEPTHS_MAX]; /* start + X · W */
    struct arena arena;
};

void pair_judge_open(struct pair_judge *judge, size_t rows, size_t columns, const size_t *depths,
                     size_t depth_count, bool tiles);
void pair_judge_close(struct pair_judge *judge);

#endif
