/* divergence.h: the tensors of another program's pass, compared with ours: where they first differ,
 * and which usual mistake explains it.
 *
 * Each name of the dump is looked up (site_names.h), and its layout found (alignment.h), in the
 * order of the pass. A site agrees if no difference is above `tolerance` times our largest number.
 * At the first that does not, our pass is run with each usual mistake (mistakes.h), from the first
 * layer that may have it on; the one that agrees there, and at most later sites, is named.
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
        tolerance; /* 0: 1e-4 for float32 and float64, 1e-2 for float16 and logs, 5e-2 for bfloat16
                    * and logs of quantised weights */
    bool full;     /* people see all sites */
    const struct progress_sink *progress; /* counts the mistakes that are tried; NULL: none */
};

/* *where: the first site that differs, such as "h.3.q"; NULL: all agree. The arena owns both. */
int divergence_make(struct report *report, const char **where, const struct divergence_plan *plan,
                    struct arena *arena, struct err *err);

void divergence_add_memory(struct memory *memory, const struct divergence_plan *plan);
