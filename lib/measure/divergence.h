/* divergence.h: compares the tensors of another program's pass with ours: finds where they first
 * differ, and which usual mistake explains it.
 *
 * Each name of the dump is looked up (site_names.h), and its layout found (alignment.h), in the
 * order of the pass. A site agrees if no difference is above `tolerance` times our largest number.
 * For the first site that does not agree, our pass is run with each usual mistake (mistakes.h),
 * beginning at the first layer that may have it. The mistake with which this site and most later
 * sites agree is named.
 *
 *     struct divergence_plan plan = {&viewer, &pair, &dump, &names};
 *     if (divergence_make(&report, &where, &plan, &arena, err)) ...
 */
#pragma once

#include "format/dump.h"
#include "lens/viewer.h"
#include "model/site_names.h"

struct divergence_plan {
    struct viewer *viewer;
    const struct text_with_source *pair;
    const struct dump *dump;
    const struct site_names *names;
    double
        tolerance; /* largest difference / our largest number for which tensors agree; 0: 1e-4 for
                    * float32 and float64, 1e-2 for float16 and logs, 5e-2 for bfloat16 and logs of
                    * quantised weights */
    bool full;     /* true: show all sites to people; false: only sites near the first difference */
    const struct progress_sink *progress; /* counts the mistakes that are tried; NULL: progress is
                                           * not reported */
};

/* Compare the dump with our pass. `*where` becomes the first site that differs, such as "h.3.q", or
 * NULL if all agree. The arena owns the report and `*where`. */
int divergence_make(struct report *report, const char **where, const struct divergence_plan *plan,
                    struct arena *arena, struct err *err);

void divergence_add_memory(struct memory *memory, const struct divergence_plan *plan);
