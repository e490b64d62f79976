/* pen.h: a formula written in both notations at once.
 *
 *     struct pen pen = {0};
 *     pen_symbol(&pen, "score", "s", 0);
 *     pen_equals(&pen);
 *     pen_number(&pen, numeral, -0.6004f);
 *     if (pen_finish(&pen, &formula, &arena, err)) ...        (score_0 = -0.6004)
 */
#ifndef ATTN_EXPLAIN_PEN_H
#define ATTN_EXPLAIN_PEN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "explain/explanation.h"

struct pen {
    struct buf text;
    struct buf latex;
};

void pen_add(struct pen *pen, const char *text, const char *latex);

/* name_7 */
void pen_symbol(struct pen *pen, const char *text, const char *latex, size_t index);

void pen_equals(struct pen *pen);
void pen_times(struct pen *pen);

/* A number as it is; behind an operator, so that negative ones stand in parentheses; and as a term
 * of a sum, with its sign before it. */
void pen_number(struct pen *pen, struct numeral numeral, float value);
void pen_factor(struct pen *pen, struct numeral numeral, float value);
void pen_term(struct pen *pen, struct numeral numeral, float value);

/* a · b + c · d + … + y · z: of many products the first ones and the last. The second factors are
 * `stride` floats apart. */
void pen_dot(struct pen *pen, const struct numeral numerals[2], const float *a, const float *b,
             size_t stride, size_t count);

/* a + b - c + … + z: of numbers `stride` floats apart. */
void pen_sum(struct pen *pen, struct numeral numeral, const float *values, size_t stride,
             size_t count);

/* Hand over what was written, as the arena's, and release the pen. */
int pen_finish(struct pen *pen, struct formula *formula, struct arena *arena, struct err *err);

#endif
