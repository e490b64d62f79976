/* dose.h: the figure of a batch, in place of its results: a number of each result, as a mean over
 * texts, over the first swept setting that is a number; a line for each value of the others.
 *
 *     if (dose_begin(&dose, &driver->sweep, "difference_nats:-1", arena, err)) ...
 *     dose_add(&dose, &report, err)       (each result, while its setting is open)
 *     dose_report(&report, &dose, arena, err)
 */
#pragma once

#include "lens/report.h"
#include "sweep.h"

struct dose {
    const char *y; /* NAME or NAME:ROW, of a column or a fact; NULL: the first number */
    char name[SHEET_NAME_BYTES]; /* of the number; empty: no result yet */
    const struct sweep *sweep;
    size_t axis;    /* index of the setting on the axis */
    double *x;      /* [points], in the order of the sweep */
    double *sums;   /* [lines, points] */
    size_t *counts; /* the numbers in each sum */
    size_t points, lines;
};

/* Choose the settings. Refused: no swept setting is a number. */
int dose_begin(struct dose *dose, const struct sweep *sweep, const char *y, struct arena *arena,
               struct err *err);

/* Add the number of a result: of the row, or the mean over all rows that have it. */
int dose_add(struct dose *dose, const struct report *report, struct err *err);

/* Set the report's table, a row for each point and a column for each line. */
int dose_report(struct report *report, const struct dose *dose, struct arena *arena,
                struct err *err);
