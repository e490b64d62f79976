/* measured_form.h: the forms in which measures of heads are written: one row a form. All of a list
 * have the measures of the first. Pictures are layers × heads, those of a list side by side on one
 * scale; queries × keys of every head for measures of cells.
 *
 *     const struct measured_form *form = &measured_forms[0];
 *     if (form->check && form->check(err) || form->write(&out, &list, &place, err)) ...
 */
#ifndef ATTN_DRAW_MEASURED_FORM_H
#define ATTN_DRAW_MEASURED_FORM_H

#include "lens/measured.h"
#include "write/format.h"

struct measured_form {
    const char *name;
    const char *ending; /* of file names: those of run */
    const char *about;  /* a line for help */
    bool in_folder;     /* one of the files that a folder of reductions holds */
    bool for_files;     /* nothing for a terminal */
    int (*write)(struct stream *out, const struct measured_list *list, const struct place *place,
                 struct err *err);
    int (*check)(struct err *err); /* refuses what cannot be written here; NULL: it can */
};

/* The first is what people read. */
extern const struct measured_form measured_forms[];
extern const size_t measured_form_count;

#endif
