/* alignment.h: compares a tensor of another program with our tensor of the same site. The order of
 * the other tensor's axes is found from its sizes and numbers.
 *
 *     struct array_match a;
 *     if (align(&a, &ours, &site, &theirs, tolerance, &arena, err)) ...
 *     a.layout: "[T, H·D]", a.difference.nmse, a.values: their numbers in our order
 */
#pragma once

#include "format/dump.h"
#include "lens/report.h"
#include "model/site_names.h"

/* The other program's numbers compared with ours. In attention maps, numbers that are masked in
 * both do not count. */
struct difference {
    double nmse;           /* sum of squares of differences / sum of squares of ours */
    double max, largest;   /* `max`: the largest difference; `largest`: the largest magnitude of our
                            * numbers */
    double cosine, factor; /* `cosine`: cosine similarity; `factor`: the number f for which f · our
                            * numbers is nearest to the other numbers */
    double median;         /* median over tokens of: norm of the difference / norm of our vector */
    size_t compared;       /* count of numbers that are finite in both */
    size_t masked_in_one;  /* count of numbers that are masked (infinite) in only one of the two */
    bool agrees;           /* max <= tolerance · largest (for printed numbers, plus their rounding
                            * error), both mask the same numbers, and at least one number was
                            * compared */
};

struct array_match {
    const char *layout;  /* order of axes, such as "[T, H·D]"; NULL: the sizes do not fit */
    const float *values; /* the other program's numbers in our order, as many as ours; NaN: the
                          * other program lacks the number */
    size_t rows;         /* number of tokens that both tensors have */
    struct difference difference;
};

/* Find the order of the axes of `theirs` whose numbers agree best with ours. For keys and values,
 * the other program may repeat each of our heads, once for each query head that shares it. */
int align(struct array_match *alignment, const struct array *ours, const struct named_site *name,
          const struct dumped *theirs, double tolerance, struct arena *arena, struct err *err);

/* Compare numbers that are already in our order. `printed`: the other numbers have only four
 * decimals. Scores of keys after the query are not compared. */
struct difference difference_of(const struct array *ours, const float *theirs, double tolerance,
                                bool printed);
