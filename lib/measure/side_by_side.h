/* side_by_side.h: what several models say of the same texts: a sheet a text, a column a model.
 *
 *     struct side_by_side beside;
 *     if (side_by_side_init(&beside, names, 3, text_count, &arena, err) ||
 *         side_by_side_add(&beside, model, text, &column, err) ...    (of each model and text)
 *     const struct sheet *sheet = &beside.sheets[text];
 *
 * Models may cut a text into other tokens; where rows are tokens, that is refused.
 */
#ifndef ATTN_MEASURE_SIDE_BY_SIDE_H
#define ATTN_MEASURE_SIDE_BY_SIDE_H

#include "base/arena.h"
#include "base/err.h"
#include "lens/sheet.h"

struct side_by_side {
    const char *const *models; /* [model_count] their names, which are borrowed */
    size_t model_count;
    struct sheet *sheets; /* [text_count] whole when all models were added */
    float **values;       /* … the sheets' */
    const struct label *columns;
    struct arena *arena; /* of all of it */
};

int side_by_side_init(struct side_by_side *beside, const char *const *models, size_t model_count,
                      size_t text_count, struct arena *arena, struct err *err);

/* Add the sheet of one column that a model gave for a text; the first one's labels stay. Refused as
 * usage: rows that are not the first one's. */
int side_by_side_add(struct side_by_side *beside, size_t model, size_t text,
                     const struct sheet *column, struct err *err);

#endif
