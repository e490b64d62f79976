/* measured_form.h: the forms in which measures of heads are written: one row a form.
 *
 *     const struct measured_form *form = NULL;
 *     if (measured_form_choose(&form, "tidy", NULL, "--reduce", err) ||
 *         form->write(&out, &list, &place, err)) ...
 */
#ifndef ATTN_OUT_MEASURED_FORM_H
#define ATTN_OUT_MEASURED_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/stream.h"
#include "lens/measured.h"
#include "out/format.h"

struct measured_form {
    const char *name;
    const char *ending; /* of file names: those of run */
    const char *about;  /* a line for help */
    bool in_folder;     /* one of the files that a folder of reductions holds */
    int (*write)(struct stream *out, const struct measured_list *list, const struct place *place,
                 struct err *err);
    int (*check)(struct err *err); /* refuses what cannot be written here; NULL: it can */
};

/* The first is what people read. */
extern const struct measured_form measured_forms[];
extern const size_t measured_form_count;

/* By its name, as in --format; NULL: by the ending of a path; NULL, too: the first. Refused: a form
 * that there is not, and one that cannot be written here. `option` is what asked for measures. */
int measured_form_choose(const struct measured_form **form, const char *name, const char *path,
                         const char *option, struct err *err);

#endif
