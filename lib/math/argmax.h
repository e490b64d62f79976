/* argmax.h: which column of a large weight that lies as [out, in], a row there, has the largest
 * product with a vector, by reading a quarter: a copy in bytes bounds what `linear` would compute,
 * and only rows that may win are multiplied out.
 *
 *     if (argmax_init(&argmax, machine, &words, &arena, err)) ...
 *     if (!argmax_find(machine, &argmax, hidden, &id))
 *         ... it cannot tell: linear(machine, logits, hidden, &words, ACTIVATION_NONE) ...
 *
 * With w quantised to n bytes q of scale s, x likewise to p of scale t, ‖·‖ the Euclidean norm and
 * u = 2^-24, by Cauchy and Schwarz
 *
 *     |w·x - st q·p|      <= ‖w - sq‖ ‖x‖ + ‖sq‖ ‖x - tp‖
 *     |chain(w, x) - w·x| <= n u / (1 - n u) ‖w‖ ‖x‖ + n times the least normal float
 *
 * where q·p is exact, a sum of whole numbers that has room in 32 bits.
 */
#ifndef ATTN_MATH_ARGMAX_H
#define ATTN_MATH_ARGMAX_H

#include <stdint.h>

#include "base/memory.h"
#include "math/gemm.h"

struct machine;

struct argmax {
    struct weight words; /* [n, V] borrowed */
    size_t stride;       /* of quants: columns, and zeros up to whole cache lines */
    int8_t *quants;      /* [V, stride] q */
    float *scales;       /* [V] s */
    float *errors;       /* [V] at least ‖w - sq‖ + 2 n u ‖w‖ */
    float *norms;        /* [V] at least ‖sq‖ */
    double largest;      /* no row's norm is larger; infinity: nothing can be told of these rows */
    float *const *room;  /* [thread] for a row, meanwhile */
    int16_t *x;          /* [stride] p: from here on scratch of a query … */
    double *bounds;      /* [V] no product is larger */
    struct argmax_top *tops; /* … for each part of the rows */
};

/* Quantise the rows, on all threads; they are borrowed, the rest is the arena's. */
int argmax_init(struct argmax *argmax, struct machine *machine, const struct weight *words,
                struct arena *arena, struct err *err);

/* The row whose product with x is the largest, the first of equal ones. False where that cannot be
 * promised: something may not be finite. */
bool argmax_find(struct machine *machine, struct argmax *argmax, const float *x, uint32_t *row);

#endif
