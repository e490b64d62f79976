/* edit.h: values that a pass changes on their way.
 *
 * An edit is applied where its site is announced, when the value is whole: the rest of the pass, a
 * cache and the tap get what it made of it. Several of one place are applied in their order. What
 * lies in the future of a causal text is not touched.
 *
 *     struct edit_range sixth = {6, 6};
 *     struct edit edit = {.site = SITE_CONTEXT, .op = EDIT_SET, .heads = {&sixth, 1}};
 *     struct edits edits = {.items = &edit, .count = 1};
 *     struct run run = {&machine, &config, &weights, &batch, .edits = &edits};
 */
#ifndef ATTN_MODEL_EDIT_H
#define ATTN_MODEL_EDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "math/tensor.h"
#include "model/site.h"

struct batch;
struct buf;
struct config;

enum edit_op {
    EDIT_SET,    /* = number */
    EDIT_SCALE,  /* * number */
    EDIT_TAKE,   /* = what the source has in the same place */
    EDIT_ADD,    /* + that */
    EDIT_FORBID, /* of SITE_MASKED: a key that is not seen; the weights are a softmax of the rest */
};

/* Places on an axis, both ends included; below 0 they count from the end. No ranges: all. */
struct edit_range {
    ptrdiff_t first, last;
};

struct edit_places {
    const struct edit_range *items;
    size_t count;
};

/* Values of other texts, or of a file, of the site's axes; an axis along which they are all the
 * same has stride 0. Of several texts each text that is run takes one that is as long at least:
 * which one follows from the seed and the text's number. */
struct edit_source {
    const struct tensor *values; /* [layer][count] of each layer that is edited */
    size_t count;
    uint64_t seed;
    size_t longest; /* tokens of the longest of them; SIZE_MAX: a text may have any number … */
    bool exact;     /* … and must have so many, not only as many at most */
};

struct edit {
    enum site site;
    enum edit_op op;
    bool one_text; /* of the batch: `text` */
    size_t text;
    struct edit_places layers, heads; /* of sites that have some; those of keys count their own */
    struct edit_places tokens;        /* rows: queries, or of keys and values the keys */
    struct edit_places columns;       /* keys, channels, dimensions of a head, or words */
    float number;
    const struct edit_source *source;
    const char *words; /* what messages call it: "--ablate 9.6"; NULL: "edit" */
};

struct edits {
    const struct edit *items;
    size_t count;
};

/* Refuse what a model, attending as its config says, cannot change; for a text of so many tokens,
 * with a source of so many, places and sources that do not fit it; both, for all of a batch. No
 * edits are NULL. */
int edits_check(const struct edits *edits, const struct config *config, struct err *err);
int edits_check_text(const struct edits *edits, const struct config *config, size_t tokens,
                     size_t source, struct err *err);

int edits_check_batch(const struct edits *edits, const struct config *config,
                      const struct batch *batch, struct err *err);

/* Is there an edit of that site in that layer? */
bool edits_have(const struct edits *edits, enum site site, size_t layer);

/* Append what messages call them, those that have a name in common once. */
void edits_write(struct buf *out, const struct edits *edits);

/* A token: its text's number, its index there, and the tokens that the text's indices refer to. */
struct edit_token {
    size_t number, place, tokens;
};

/* Where a block of values stands: its axes begin at these places. */
struct edit_block {
    enum site site;
    size_t layer;
    size_t text, number; /* in the batch, and in all */
    float *data;
    size_t heads, rows, columns;
    size_t head_stride, row_stride;
    size_t first_head, first_row, first_column;
    bool one_row;                     /* all rows stand in the first one's place */
    size_t row_places, column_places; /* that the text has */
    float forbidden;                  /* what a key that is not seen has */
};

/* Apply those of the block's site and layer. Is one of them of the block's first head and row? */
void edits_apply(const struct edits *edits, const struct edit_block *block);
bool edit_touches(const struct edit *edit, const struct edit_block *block);

#endif
