/* feature_edits.h: edits of the features of a dictionary, as a function of an edit (model/edit.h):
 * each row x of the site becomes x + Σ (f' - f) · w, where f are the row's features, f' their new
 * values and w their directions. What the dictionary does not explain stays.
 *
 *     struct feature_edit change = {.dictionary = &dictionary, .op = EDIT_SET};
 *     struct edit edit = {.site = dictionary.site, .function = feature_edit_apply,
 *                         .context = &change};
 */
#pragma once

#include "lens/dictionary.h"
#include "model/edit.h"

struct feature_edit {
    const struct dictionary *dictionary;
    enum edit_op op; /* EDIT_SET, EDIT_SCALE, EDIT_ADD; EDIT_TAKE: `taken` */
    bool decoded;    /* instead: the row becomes its reconstruction */
    bool is_mean;    /* `taken` is the mean over the texts of the source */
    float number;
    struct edit_indices features; /* none: all */
    float *taken;                 /* [rows, features of the dictionary] by the index of the token */
    size_t rows;
};

/* Refuse a transcoder: what it reads is not what it writes. */
int feature_edit_check(const struct dictionary *dictionary, const char *words, struct err *err);

edit_function feature_edit_apply;

/* Set `taken` from the texts of a source of the site. */
int feature_edit_fill(struct feature_edit *edit, const struct edit_source *source,
                      struct arena *arena, struct err *err);
