/* edit.h: changes of tensors during a pass.
 *
 * An edit is applied to a complete value, before it is announced: the rest of the pass, a cache and
 * the tap get the changed value. Several edits of one element are applied in their order. Cells of
 * hidden keys are not changed, except in scores and softmax with --mask-after.
 *
 *     struct edit_range head_6 = {6, 6};
 *     struct edit edit = {.site = SITE_CONTEXT, .op = EDIT_SET, .heads = {&head_6, 1}};
 *     struct edits edits = {.items = &edit, .count = 1};
 *     struct run run = {&machine, &config, &weights, &batch, .edits = &edits};
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "math/tensor.h"
#include "model/site.h"

struct batch;
struct buf;
struct edit_block;

enum edit_op {
    EDIT_SET,     /* = number */
    EDIT_SCALE,   /* * number */
    EDIT_TAKE,    /* = the element of the source with the same indices */
    EDIT_ADD,     /* + number, or number times the element of the source */
    EDIT_PROJECT, /* - the part along the donor's row */
    EDIT_FORBID,  /* of SITE_MASKED: mask the key; the weights are made of the other scores */
};

#define EDIT_PROMPT_END PTRDIFF_MIN /* as `last`: the last token of the prompt */

/* Indices on an axis, both ends included; negative ones, only of tokens, count from the end. In a
 * text that grows, rows with a `last` of -1 include each new token. No ranges: all. */
struct edit_range {
    ptrdiff_t first, last;
};

struct edit_indices {
    const struct edit_range *items;
    size_t count;
};

/* Values of other texts, or of a file, with the site's axes; an axis along which they are equal has
 * stride 0. Of several texts, each text in the pass gets one that is at least as long, chosen by
 * the seed and the text's number. */
struct edit_donor {
    const struct tensor *values; /* [layer][count], set for each layer that is edited */
    size_t count;
    uint64_t seed;
    size_t longest; /* the most tokens that a text may have; SIZE_MAX: any number */
    bool exact;     /* a text must have `longest` tokens */
};

/* Choose one of the donor's texts that have enough tokens, by the number of the text that gets its
 * values; NULL: there is none. */
const struct tensor *edit_donor_choose(const struct edit_donor *donor, size_t layer, size_t number,
                                       size_t tokens);

/* Changes a block: all rows of a text in a layer, or those that a cache lacks; with indices, each
 * run of listed heads, rows and columns. Of an attention map, one row of a head; several threads
 * call the function at once. */
typedef void edit_function(void *context, const struct edit_block *block);

struct edit {
    enum site site;
    enum edit_op op;
    bool one_text; /* only of text `text` of the batch */
    size_t text;
    struct edit_indices layers, heads; /* if the site has these; k and v have key/value heads */
    struct edit_indices tokens;        /* rows: queries; of k and v, keys */
    struct edit_indices columns;       /* keys, channels, dimensions of a head, experts or words */
    float number;
    const struct edit_donor *donor;
    edit_function *function; /* in place of `op`; NULL: none */
    void *context;
    const char *words; /* the edit's name in messages: "--ablate 9.6"; NULL: "edit" */
};

struct edits {
    const struct edit *items;
    size_t count;
    struct site_set without; /* sites that are not edited; in layers, only in `without_layer` */
    size_t without_layer;
};

/* Refuse edits that do not fit the model and its mechanism; indices of tokens, and sources, that do
 * not fit a text with these numbers of tokens. `edits` may be NULL. */
int edits_check(const struct edits *edits, const struct config *config, struct err *err);
int edits_check_text(const struct edits *edits, const struct config *config, size_t tokens,
                     size_t source, struct err *err);

/* Whether there is an edit of a site in a layer that `without` does not exclude. */
bool edits_have(const struct edits *edits, enum site site, size_t layer);

/* Append the names of all edits in messages; of neighbours with the same name, one. */
void edits_write(struct buf *out, const struct edits *edits);

/* A token: the number of its text, its index, and the number of tokens that indices refer to. */
struct edit_token {
    size_t number, index, tokens;
    bool grows; /* as in struct text (forward.h) */
};

/* A block of values of a site. */
struct edit_block {
    enum site site;
    size_t layer;
    size_t text, number; /* index in the batch, and among all texts */
    float *data;
    size_t heads, rows, columns;
    size_t head_stride, row_stride;
    size_t first_head, first_row, first_column;
    bool grows;                       /* as in struct text (forward.h) */
    bool one_row;                     /* all rows have the index first_row */
    size_t row_places, column_places; /* tokens that indices refer to; SIZE_MAX: not tokens */
    float forbidden;                  /* value of a masked key */
};

/* Apply the edits of the block's site and layer. Whether an edit is of the block's first row and
 * head. */
void edits_apply(const struct edits *edits, const struct edit_block *block);
bool edit_touches(const struct edit *edit, const struct edit_block *block);
