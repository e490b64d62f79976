/* argmax.h: find the row of a large weight, stored as [out, in], that has the largest product with
 * a vector, while reading one byte for each number: a quantised copy bounds the products of
 * `linear`, and only rows that may have the largest product are multiplied.
 *
 *     if (argmax_init(&argmax, machine, &words, &arena, err)) ...
 *     if (!argmax_find(machine, &argmax, hidden.data, &id))
 *         ... it cannot tell: linear(machine, logits, hidden, &words, ACTIVATION_NONE) ...
 *
 * With w quantised to n bytes q of scale s, x likewise to p of scale t, ‖·‖ the Euclidean norm and
 * u = 2^-24, by Cauchy and Schwarz
 *
 *     |w·x - st q·p|      <= ‖w - sq‖ ‖x‖ + ‖sq‖ ‖x - tp‖
 *     |chain(w, x) - w·x| <= n u / (1 - n u) ‖w‖ ‖x‖ + n times the smallest normal float
 *
 * where q·p is exact, a sum of integers in 32 bits, and chain(w, x) is the product of `linear`. */
#pragma once

#include <stdint.h>

#include "base/memory.h"
#include "math/gemm.h"

struct thread_buffers;

struct argmax {
    const struct thread_buffers *buffers; /* [thread] buffers of the machine */
    struct weight words;                  /* the weight [n, V], borrowed */
    size_t stride;                        /* bytes from row to row of `quants`: n, rounded up to
                                           * whole cache lines */
    int8_t *quants;                       /* [V, stride] the quantised rows q, filled up
                                           * with zeros */
    float *scales;                        /* [V] the scale s of each row */
    float *errors;                        /* [V] for each row, an upper bound of the error of its
                                           * quantised product, relative to ‖x‖: ‖w - sq‖ +
                                           * 2 n u ‖w‖, with the symbols of the comment at the
                                           * top */
    float *norms;                         /* [V] for each row, an upper bound of ‖sq‖ */
    double largest; /* an upper bound of the largest norm ‖w‖ of a row; infinity: argmax_find
                     * returns false */
    int16_t *x;     /* [stride] the quantised vector p, filled up with zeros */
    double *bounds; /* [V] upper bounds of the products with x */
    struct argmax_top *tops; /* the row with the largest quantised product in each part of
                              * the rows */
};

/* Quantise the rows on all threads; if rows have more than SUMS_ROOM numbers, argmax_find always
 * returns false. The arena owns the copy. */
int argmax_init(struct argmax *argmax, struct machine *machine, const struct weight *words,
                struct arena *arena, struct err *err);

/* Find the row that has the largest product with x; of equal products, the first. Returns false if
 * the row is not known, because rows are too long, or a number is or may become infinite or NaN. */
bool argmax_find(struct machine *machine, struct argmax *argmax, const float *x, uint32_t *row);
