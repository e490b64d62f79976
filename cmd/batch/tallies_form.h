/* tallies_form.h: what --reduce found, in the forms in which it is written: one row a form.
 *
 * A page for people, labelled matrices, tidy lines with a column for every setting in which groups
 * differ, and pictures.
 */
#ifndef ATTN_CMD_TALLIES_FORM_H
#define ATTN_CMD_TALLIES_FORM_H

#include "base/err.h"
#include "base/stream.h"
#include "out/format.h"
#include "tallies.h"

struct tallies_form {
    const char *name;
    const char *ending;
    bool in_folder; /* one of the files that a folder of reductions holds */
    int (*write)(struct stream *out, const struct tallies *tallies, unsigned measures,
                 const struct place *page, struct err *err);
    int (*check)(struct err *err); /* refuses what cannot be written here; NULL: it can */
};

enum { TALLIES_FORMS = 6 };

/* Those of --format that take sums. */
extern const struct tallies_form tallies_forms[TALLIES_FORMS];

/* By that name; by the ending of a path. NULL when there is none. */
const struct tallies_form *tallies_form_find(const char *name);
const struct tallies_form *tallies_form_of_path(const char *path);

#endif
