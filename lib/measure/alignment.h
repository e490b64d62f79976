/* alignment.h: a tensor of another program and the same of ours: the order of its axes is found by
 * its sizes and numbers.
 *
 *     struct array_match a;
 *     if (align(&a, &ours, &site, &theirs, tolerance, &arena, err)) ...
 *     a.layout: "[T, H·D]", a.difference.nmse, a.values: their numbers in our order
 */
#pragma once

#include "format/dump.h"
#include "lens/report.h"
#include "model/site_names.h"

/* Their numbers compared with ours; of maps, keys that a mask hides in both do not count. */
struct difference {
    double nmse;           /* sum of squares of differences / sum of squares of ours */
    double max, largest;   /* the largest difference; the largest of our numbers */
    double cosine, factor; /* `factor` of ours is nearest to theirs */
    double median;         /* over tokens: norm of the difference / norm of ours */
    size_t compared;       /* finite in both */
    size_t masked_in_one;  /* infinite in one of them */
    bool agrees;           /* max <= tolerance · largest, and the same numbers are infinite */
};

struct array_match {
    const char *layout;  /* NULL: the sizes do not fit */
    const float *values; /* [cells of ours] NaN: not in theirs */
    size_t rows;         /* tokens that both have */
    struct difference difference;
};

/* `heads`: query heads that share ours, for keys and values. */
int align(struct array_match *alignment, const struct array *ours, const struct named_site *name,
          const struct dumped *theirs, double tolerance, struct arena *arena, struct err *err);

/* `printed`: theirs have four decimals. Scores of hidden keys are not compared. */
struct difference difference_of(const struct array *ours, const float *theirs, double tolerance,
                                bool printed);
