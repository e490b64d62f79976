/* tallies_form.h: what --reduce found, in the forms in which it is written: one row a form.
 *
 * A page for people, labelled matrices, and tidy lines with a column for every setting in which
 * groups differ.
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
    int (*write)(struct stream *out, const struct tallies *tallies, unsigned measures,
                 const struct place *page, struct err *err);
};

enum { TALLIES_FORMS = 3 };

/* Text, csv and tidy, as --format names them. */
extern const struct tallies_form tallies_forms[TALLIES_FORMS];

/* By that name; by the ending of a path. NULL when there is none. */
const struct tallies_form *tallies_form_find(const char *name);
const struct tallies_form *tallies_form_of_path(const char *path);

#endif
