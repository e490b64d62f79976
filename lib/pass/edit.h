/* edit.h: edits, which change tensors during a pass.
 *
 * An edit is applied to a complete value, before the tap receives it: later steps of the pass, a
 * cache and the tap get the changed value. Several edits of one element are applied in their order.
 * Cells of hidden keys are changed only with --mask-after, and only in scores and in the softmax.
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
    EDIT_SET,     /* the element becomes `number` */
    EDIT_SCALE,   /* the element is multiplied by `number` */
    EDIT_TAKE,    /* the element becomes the donor's element with the same indices */
    EDIT_ADD,     /* `number` is added or, with a donor, number · the donor's element */
    EDIT_PROJECT, /* the part of the row that is parallel to the donor's row is subtracted */
    EDIT_FORBID,  /* only for SITE_MASKED: the key is masked, and the weights are computed from the
                   * other scores */
};

/* A value of `last` in edit_range: the range ends with the last token of the prompt. */
#define EDIT_PROMPT_END PTRDIFF_MIN

/* A range of indices on an axis, from `first` to `last`, which is included. A negative index, which
 * only tokens have, counts from the end. In a text that grows, a `last` of -1 includes each new
 * token. An edit without ranges changes all indices. */
struct edit_range {
    ptrdiff_t first, last;
};

struct edit_indices {
    const struct edit_range *items;
    size_t count;
};

/* The donor of an edit: values of other texts or from a file, with the same axes as the edited
 * site. An axis along which all values are equal has stride 0. If the donor has several texts, each
 * text of the pass gets one that is at least as long; the choice depends on the seed and on the
 * number of the pass's text. */
struct edit_donor {
    const struct tensor *values; /* [layer][count]; only layers that are edited have values */
    size_t count;
    uint64_t seed;
    size_t longest; /* maximum number of tokens of a text that can get the values; SIZE_MAX: any
                     * number */
    bool exact;     /* a text must have exactly `longest` tokens */
};

/* Choose one of the donor's texts that have at least `tokens` tokens; NULL: no text has enough
 * tokens. `number` is the number of the edited text among all texts; the choice depends on it. */
const struct tensor *edit_donor_choose(const struct edit_donor *donor, size_t layer, size_t number,
                                       size_t tokens);

/* A function that changes a block: all rows of a text in a layer, without cached tokens. If the
 * edit has indices, it is called for each range of successive heads, rows and columns that are
 * listed. In an attention map, a block is one row of a head, and several threads call the function
 * at once. */
typedef void edit_function(void *context, const struct edit_block *block);

struct edit {
    enum site site;
    enum edit_op op;
    bool one_text; /* only the text with index `text` in the batch is edited */
    size_t text;
    /* The indices that are edited; an axis that the site lacks is ignored. Heads of k and v are
     * key/value heads. */
    struct edit_indices layers, heads;
    struct edit_indices tokens;  /* rows of the values: queries or, for k and v, keys */
    struct edit_indices columns; /* columns of the values: keys, channels, dimensions of a head,
                                  * experts or words */
    float number;
    const struct edit_donor *donor;
    edit_function *function; /* called in place of the operation `op`; NULL: the operation `op` is
                              * applied */
    void *context;
    const char *words; /* the option that made the edit, for messages, such as "--ablate 9.6"; NULL:
                        * messages say "edit" */
};

struct edits {
    const struct edit *items;
    size_t count;
    struct site_set without; /* sites that are not edited; for sites in layers, only in the layer
                              * `without_layer` */
    size_t without_layer;
};

/* edits_check: set an error if the model or its mechanism does not allow one of the edits.
 * edits_check_text: set an error if, in a text of `tokens` tokens with a source of `source` tokens,
 * an index of a token is out of range, or a donor is too short or, if it is `exact`, has another
 * length. `edits` may be NULL. */
int edits_check(const struct edits *edits, const struct config *config, struct err *err);
int edits_check_text(const struct edits *edits, const struct config *config, size_t tokens,
                     size_t source, struct err *err);

/* Whether a site in a layer has an edit that `without` does not exclude. */
bool edits_have(const struct edits *edits, enum site site, size_t layer);

/* Append the names of all edits (edit.words), separated by commas, for a message. Successive edits
 * with the same name are named once. */
void edits_write(struct buf *out, const struct edits *edits);

/* A token. number: the number of its text among all texts; index: its index in the text; tokens:
 * how many tokens of the text the indices of edits refer to. */
struct edit_token {
    size_t number, index, tokens;
    bool grows; /* an edit of token -1 also changes each token after the prompt */
};

/* The values of a site in a layer to which edits are applied. */
struct edit_block {
    enum site site;
    size_t layer;
    size_t text, number; /* the text's index in the batch, and its number among all texts */
    float *data;
    size_t heads, rows, columns;
    size_t head_stride, row_stride;
    size_t first_head, first_row, first_column;
    bool grows;                       /* an edit of token -1 also changes each token after the
                                       * prompt */
    bool one_row;                     /* all rows have the index first_row */
    size_t row_places, column_places; /* how many tokens the indices of rows and of columns refer
                                       * to; SIZE_MAX: the axis has no tokens */
    float forbidden;                  /* the score of a masked key */
};

/* edits_apply: apply the edits of the block's site and layer to the block. edit_touches: whether an
 * edit changes the first row of the first head of a block. */
void edits_apply(const struct edits *edits, const struct edit_block *block);
bool edit_touches(const struct edit *edit, const struct edit_block *block);
