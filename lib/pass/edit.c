/* edit.c: edits of tensors, and the points of the pass where they are applied. */
#include "pass/edit.h"

#include <math.h>

#include "base/buf.h"
#include "math/rng.h"
#include "math/rows.h"
#include "pass/attention_strip.h"
#include "model/points.h"

static const char *words_of(const struct edit *edit)
{
    return edit->words ? edit->words : "edit";
}

/* --- indices ---------------------------------------------------------------------------------- */

static bool indices_have(const struct edit_indices *indices, size_t index, size_t end, bool grows)
{
    bool found = indices->count == 0;
    for (size_t i = 0; i < indices->count && !found; i++) {
        struct edit_range range = indices->items[i];
        ptrdiff_t first = range.first < 0 ? range.first + (ptrdiff_t)end : range.first;
        ptrdiff_t last = range.last == EDIT_PROMPT_END ? (ptrdiff_t)end - 1
                         : grows && range.last == -1   ? PTRDIFF_MAX
                         : range.last < 0              ? range.last + (ptrdiff_t)end
                                                       : range.last;
        found = (ptrdiff_t)index >= first && (ptrdiff_t)index <= last;
    }
    return found;
}

static bool is_of(const struct edit *edit, enum site site, size_t layer)
{
    return edit->site == site &&
           (!site_row(site)->in_layer || indices_have(&edit->layers, layer, 0, false));
}

static bool is_left_out(const struct edits *edits, enum site site, size_t layer)
{
    return site_set_has(edits->without, site) &&
           (!site_row(site)->in_layer || layer == edits->without_layer);
}

bool edits_have(const struct edits *edits, enum site site, size_t layer)
{
    for (size_t i = 0; edits && !is_left_out(edits, site, layer) && i < edits->count; i++)
        if (is_of(&edits->items[i], site, layer))
            return true;
    return false;
}

void edits_write(struct buf *out, const struct edits *edits)
{
    for (size_t i = 0; edits && i < edits->count; i++)
        if (i == 0 || edits->items[i].words != edits->items[i - 1].words)
            buf_format(out, "%s%s", out->size ? ", " : "", words_of(&edits->items[i]));
}

/* --- values ----------------------------------------------------------------------------------- */

static size_t tokens_of(const struct tensor *values)
{
    return values->shape[values->rank - 2];
}

const struct tensor *edit_donor_choose(const struct edit_donor *donor, size_t layer, size_t number,
                                       size_t tokens)
{
    const struct tensor *values = donor->values + layer * donor->count;
    size_t enough = 0;
    for (size_t i = 0; i < donor->count; i++)
        enough += tokens_of(&values[i]) >= tokens;
    if (!enough)
        return NULL;
    size_t nth = enough == 1 ? 0 : rng_below(donor->seed, number, enough);
    for (size_t i = 0;; i++)
        if (tokens_of(&values[i]) >= tokens && nth-- == 0)
            return &values[i];
}

/* Return f such that f · vector is the part of a row that is parallel to the vector. Elements of
 * the vector are `step` floats apart. */
static float part_along(const float *row, const float *vector, size_t step, size_t count)
{
    double product = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        product += (double)row[i] * (double)vector[i * step];
        square += (double)vector[i * step] * (double)vector[i * step];
    }
    return square > 0 ? (float)(product / square) : 0;
}

/* Edit one row of one head. `from` is the donor's row, with elements `step` floats apart; NULL: the
 * edit has no donor. */
static void edit_row(const struct edit *edit, const struct edit_block *block, float *row,
                     const float *from, size_t step)
{
    const float along = edit->op == EDIT_PROJECT ? part_along(row, from, step, block->columns) : 0;
    for (size_t i = 0; i < block->columns; i++) {
        size_t column = block->first_column + i;
        if (from && column >= block->column_places)
            return;
        if (!indices_have(&edit->columns, column, block->column_places, false))
            continue;
        switch (edit->op) {
        case EDIT_SET:
            row[i] = edit->number;
            break;
        case EDIT_SCALE:
            row[i] *= edit->number;
            break;
        case EDIT_TAKE:
            row[i] = from[column * step];
            break;
        case EDIT_ADD:
            row[i] += from ? edit->number * from[column * step] : edit->number;
            break;
        case EDIT_PROJECT:
            row[i] -= along * from[column * step];
            break;
        case EDIT_FORBID:
            row[i] = block->forbidden;
            break;
        }
    }
}

static void apply(const struct edit *edit, const struct edit_block *block, size_t head)
{
    const struct edit_donor *donor = edit->donor;
    size_t layer = site_row(edit->site)->in_layer ? block->layer : 0;
    const struct tensor *values =
        donor ? edit_donor_choose(donor, layer, block->number, block->row_places) : NULL;
    size_t rank = values ? values->rank : 0;
    size_t step = values ? values->stride[rank - 1] : 0;
    const float *from = values ? values->data : NULL;
    if (rank == 3)
        from += (block->first_head + head) * values->stride[0];
    for (size_t i = 0; i < block->rows; i++) {
        size_t row = block->first_row + (block->one_row ? 0 : i);
        bool unknown = edit->donor && edit->donor->longest != SIZE_MAX &&
                       row >= block->row_places; /* the row is a token after the prompt */
        if (!unknown && indices_have(&edit->tokens, row, block->row_places, block->grows))
            edit_row(edit, block, block->data + head * block->head_stride + i * block->row_stride,
                     values ? from + row * values->stride[rank - 2] : NULL, step);
    }
}

/* An axis of a block of values, and the indices on it that an edit lists. */
struct block_axis {
    const struct edit_indices *indices;
    size_t first, count, end;
    bool grows, still; /* `still`: all elements of the axis have the index `first` */
};

static bool axis_has(const struct block_axis *axis, size_t at)
{
    return at < axis->count && indices_have(axis->indices, axis->first + (axis->still ? 0 : at),
                                            axis->end, axis->grows);
}

/* Move *at to the next listed index of an axis. Returns how many listed indices follow without a
 * gap from there; 0: there is no further listed index. */
static size_t next_run(const struct block_axis *axis, size_t *at)
{
    size_t size = 0;
    while (*at < axis->count && !axis_has(axis, *at))
        ++*at;
    while (axis_has(axis, *at + size))
        size++;
    return size;
}

static void call_function(const struct edit *edit, const struct edit_block *block)
{
    const struct block_axis heads = {&edit->heads, block->first_head, block->heads},
                            rows = {&edit->tokens,     block->first_row, block->rows,
                                    block->row_places, block->grows,     block->one_row},
                            columns = {&edit->columns, block->first_column, block->columns,
                                       block->column_places};
    for (size_t head = 0, h; (h = next_run(&heads, &head)) > 0; head += h)
        for (size_t row = 0, r; (r = next_run(&rows, &row)) > 0; row += r)
            for (size_t column = 0, c; (c = next_run(&columns, &column)) > 0; column += c) {
                struct edit_block part = *block;
                part.data += head * block->head_stride + row * block->row_stride + column;
                part.heads = h;
                part.rows = r;
                part.columns = c;
                part.first_head += head;
                part.first_row += block->one_row ? 0 : row;
                part.first_column += column;
                edit->function(edit->context, &part);
            }
}

void edits_apply(const struct edits *edits, const struct edit_block *block)
{
    for (size_t i = 0; i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        if (is_left_out(edits, block->site, block->layer) ||
            !is_of(edit, block->site, block->layer) ||
            (edit->one_text && edit->text != block->text))
            continue;
        if (edit->function)
            call_function(edit, block);
        for (size_t head = 0; head < block->heads && !edit->function; head++)
            if (indices_have(&edit->heads, block->first_head + head, 0, false))
                apply(edit, block, head);
    }
}

bool edit_touches(const struct edit *edit, const struct edit_block *block)
{
    return is_of(edit, block->site, block->layer) &&
           indices_have(&edit->heads, block->first_head, 0, false) &&
           indices_have(&edit->tokens, block->first_row, block->row_places, block->grows);
}

/* --- checks --------------------------------------------------------------------------------- */

/* Set an error if a site cannot be edited. The message depends on `point->edit`, the reason in the
 * list of points (model/points.h). */
static int check_point(const struct edit *edit, const struct model_point *point,
                       const struct config *config, struct err *err)
{
    const char *words = words_of(edit), *name = site_name(edit->site);
    switch (point->edit) {
    case EDIT_YES:
        return 0;
    case EDIT_DENSE:
        return err_usage(err, "%s: an edit of '%s' needs --attention dense", words, name);
    case EDIT_FOLLOWS:
        return err_unsupported(err,
                               "%s: '%s' follows from other values: edit mix_q, mix_k, mix_v, "
                               "mix_step, mix_decay or mix_context",
                               words, name);
    case EDIT_INPUT:
        return err_unsupported(err,
                               "%s: the model has no projection '%s': queries, keys and values "
                               "are its input: edit the input",
                               words, name);
    case EDIT_STREAMS:
        return err_unsupported(err, "%s: 'merged' is made of 'streams': edit those", words);
    case EDIT_BORROWED:
        return err_unsupported(
            err, "%s: layer %d reads the keys and values of layer %d: edit those", words,
            point->layer, stack_head(config, BRANCH_TEXT, (size_t)point->layer)->kv_layer);
    default:
        return err_unsupported(err,
                               "%s: expected a tensor that the pass goes on with, found '%s', "
                               "which is only shown",
                               words, name);
    }
}

int edits_check(const struct edits *edits, const struct config *config, struct err *err)
{
    for (size_t i = 0; edits && i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        const struct model_point *point = point_any(config, edit->site);
        for (size_t k = 0; k < edit->layers.count; k++) {
            const size_t layer = (size_t)edit->layers.items[k].last;
            const struct model_point *last = point_find(config, edit->site, layer);
            if ((last || point) && check_point(edit, last ? last : point, config, err))
                return -1;
        }
        if (!edit->layers.count && point && check_point(edit, point, config, err))
            return -1;
    }
    return 0;
}

static int check_indices(const struct edit *edit, const struct edit_indices *indices,
                         const char *thing, size_t end, struct err *err)
{
    ptrdiff_t most = (ptrdiff_t)end;
    for (size_t i = 0; i < indices->count; i++) {
        struct edit_range range = indices->items[i];
        range.last = range.last == EDIT_PROMPT_END ? -1 : range.last;
        ptrdiff_t wrong = range.first >= most || range.first < -most ? range.first : range.last;
        if (wrong >= most || wrong < -most)
            return err_set(err,
                           "%s: %s: expected an index from 0 to %td (or -%td to -1 from the end), "
                           "found %td: the text has %zu",
                           words_of(edit), thing, most - 1, most, wrong, end);
    }
    return 0;
}

int edits_check_text(const struct edits *edits, const struct config *config, size_t tokens,
                     size_t source, struct err *err)
{
    for (size_t i = 0; edits && i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        const enum site_axes axes = site_axes(edit->site);
        enum site_branch branch = site_branch(edit->site);
        bool at_itself =
            branch == BRANCH_MIXER || (branch == BRANCH_TEXT && !config_is_cross(config));
        bool is_map = axes == AXES_HEAD_QUERY_KEY;
        size_t keys = at_itself ? tokens : source;
        size_t queries = branch == BRANCH_SOURCE ? source : tokens;
        size_t rows = axes == AXES_KV_HEAD_TOKEN_DIM ? keys : queries;
        const struct edit_donor *from = edit->donor;
        if (check_indices(edit, &edit->tokens, "token", rows, err) ||
            (is_map && check_indices(edit, &edit->columns, "key", keys, err)))
            return -1;
        if (from && from->longest != SIZE_MAX &&
            (from->exact ? from->longest != rows : from->longest < rows))
            return err_set(err, "%s: expected %zu tokens%s as in the text, found %zu",
                           words_of(edit), rows, from->exact ? "" : " or more", from->longest);
    }
    return 0;
}

/* --- in a pass -------------------------------------------------------------------------------- */

bool pass_edits(const struct pass *pass, enum site site, size_t layer)
{
    return pass->edits && edits_have(pass->edits, SITE_OF(pass->branch, site), layer);
}

/* Describe the rows of a text at a site in this pass, for edits_apply: queries or, for k and v,
 * keys. The caller sets `data`, the heads and the columns. */
static struct edit_block block_of(const struct pass *pass, enum site site, size_t layer,
                                  size_t text)
{
    const struct batch *batch = pass->batch;
    enum site own = SITE_OF(pass->branch, site);
    bool of_keys = site_axes(own) == AXES_KV_HEAD_TOKEN_DIM;
    const struct edit_token *token = pass->edit_token;
    struct batch_rows rows = (of_keys ? batch->keys : batch->queries)[text];
    size_t queries = token ? token->tokens : batch_prompt(batch, text);
    size_t keys = batch->keys == batch->queries ? queries : batch_keys(batch, text);
    return (struct edit_block){
        .site = own,
        .layer = layer,
        .text = text,
        .number = token ? token->number : batch->first + text,
        .rows = rows.count,
        .first_row = token ? token->index : rows.past,
        .grows = token ? token->grows : batch->texts[text].grows,
        .one_row = token != NULL,
        .row_places = of_keys ? keys : queries,
        .column_places = site_axes(own) == AXES_HEAD_QUERY_KEY ? keys : SIZE_MAX,
    };
}

void pass_edit_rows(const struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    size_t heads = pass_heads_of(pass, site, layer);
    for (size_t s = 0; pass_edits(pass, site, layer) && s < pass->batch->count; s++) {
        struct batch_rows span = pass_rows(pass, site, s);
        struct edit_block block = block_of(pass, site, layer, s);
        block.first_row += block.rows - span.count; /* the pass may have only the last row of
                                                     * logits */
        block.rows = span.count;
        block.data = matrix_row(rows, span.first);
        block.heads = heads;
        block.columns = block.head_stride = rows.columns / heads;
        block.row_stride = rows.stride;
        edits_apply(pass->edits, &block);
    }
}

void attention_edit(const struct attention_head *head, enum site site, size_t query, float *row,
                    struct key_range keys)
{
    const struct attention_layer *layer = head->layer;
    if (!(layer->edits >> (site - SITE_SCORES) & 1))
        return;
    struct edit_block block = block_of(layer->pass, site, layer->layer, head->text);
    block.data = row + keys.first;
    block.heads = block.rows = 1;
    block.columns = keys.end - keys.first;
    block.first_head = head->head;
    block.first_row += query;
    block.first_column = keys.first;
    block.forbidden = layer->rule.mask_after ? 0.0f : -INFINITY;
    edits_apply(layer->pass->edits, &block);
}

void attention_edit_scores(const struct attention_head *head, struct matrix rows, size_t query)
{
    const struct key_range all = {0, head->keys};
    for (size_t row = 0; head->layer->edits & 1 && row < rows.rows; row++)
        attention_edit(head, SITE_SCORES, query + row, matrix_row(rows, row),
                       head->layer->rule.mask_after ? all : strip_visible(head, query + row));
}

enum head_fault attention_edit_masked(const struct attention_head *head, struct matrix rows,
                                      struct softmax_range *ranges, size_t query)
{
    if (!(head->layer->edits >> (SITE_MASKED - SITE_SCORES) & 1))
        return HEAD_SOUND;
    for (size_t row = 0; row < rows.rows; row++)
        attention_edit(head, SITE_MASKED, query + row, matrix_row(rows, row),
                       strip_visible(head, query + row));
    softmax_range_scale(rows, ranges, 1.0f);
    for (size_t row = 0; row < rows.rows; row++)
        if (ranges[row].largest == -INFINITY)
            return HEAD_NO_KEY;
    return HEAD_SOUND;
}
