/* measured_form.h: the forms in which measures of heads are written: one row a form.
 *
 *     const struct measured_form *form = measured_form_find("tidy");
 *     if (!form || form->write(&out, &list, &place, err)) ...
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

/* By name; by the ending of a path. NULL when there is none. */
const struct measured_form *measured_form_find(const char *name);
const struct measured_form *measured_form_of_path(const char *path);

/* Refuse, as wrong usage of --format or --output, a form that there is not; `option` is what asked
 * for one. Returns -1. */
int measured_form_unknown_name(const char *name, const char *option, struct err *err);
int measured_form_unknown_ending(const char *path, const char *option, struct err *err);

#endif
