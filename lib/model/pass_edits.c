/* pass_edits.c: where the pass changes what it announces. */
#include <math.h>

#include "math/rows.h"
#include "model/attention_strip.h"

bool pass_edits(const struct pass *pass, enum site site, size_t layer)
{
    return pass->edits && edits_have(pass->edits, SITE_OF(pass->part, site), layer);
}

/* The block of a text, its axes told by the site: rows of queries or keys; how many there are. */
static struct edit_block block_of(const struct pass *pass, enum site site, size_t layer,
                                  size_t text)
{
    const struct batch *batch = pass->batch;
    enum site own = SITE_OF(pass->part, site);
    bool of_keys = site_row(own)->axes == AXES_GROUP_TOKEN_DIM;
    const struct edit_token *token = pass->edit_token;
    size_t queries = token ? token->tokens : batch_prompt(batch, text);
    size_t keys = batch->keys == batch->queries ? queries : batch_keys(batch, text);
    return (struct edit_block){
        .site = own,
        .layer = layer,
        .text = text,
        .number = token ? token->number : batch->first + text,
        .rows = (of_keys ? batch->keys : batch->queries)[text].count,
        .first_row = token ? token->place : (of_keys ? batch->past_keys : batch->past)[text],
        .one_row = token != NULL,
        .row_places = of_keys ? keys : queries,
        .column_places = site_row(own)->axes == AXES_HEAD_QUERY_KEY ? keys : SIZE_MAX,
    };
}

void pass_edit_rows(const struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    const struct batch *batch = pass->batch;
    bool of_keys = site_row(site)->axes == AXES_GROUP_TOKEN_DIM;
    const struct span *spans = of_keys ? batch->keys : batch->queries;
    size_t heads = of_keys                ? pass->config->n_kv_head
                   : site_has_heads(site) ? pass->config->n_head
                                          : 1;
    for (size_t s = 0; pass_edits(pass, site, layer) && s < batch->count; s++) {
        struct edit_block block = block_of(pass, site, layer, s);
        block.data = rows.data + spans[s].first * rows.stride;
        block.heads = heads;
        block.columns = block.head_stride = rows.columns / heads;
        block.row_stride = rows.stride;
        edits_apply(pass->edits, &block);
    }
}

void pass_edit_logits(const struct pass *pass)
{
    struct matrix logits = pass->scratch.logits;
    for (size_t s = 0; pass_edits(pass, SITE_LOGITS, 0) && s < pass->batch->count; s++) {
        struct span rows = pass_logit_rows(pass, s);
        struct edit_block block = block_of(pass, SITE_LOGITS, 0, s);
        block.first_row += block.rows - rows.count;
        block.data = logits.data + rows.first * logits.stride;
        block.heads = 1;
        block.rows = rows.count;
        block.columns = logits.columns;
        block.row_stride = logits.stride;
        edits_apply(pass->edits, &block);
    }
}

/* Changed before they are used or shown. */
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
        attention_edit(head, SITE_SCORES, query + row, rows.data + row * rows.stride,
                       head->layer->rule.mask_after ? all : strip_visible(head, query + row));
}

enum head_fault attention_edit_masked(const struct attention_head *head, struct matrix rows,
                                      struct softmax_range *ranges, size_t query)
{
    if (!(head->layer->edits >> (SITE_MASKED - SITE_SCORES) & 1))
        return HEAD_SOUND;
    for (size_t row = 0; row < rows.rows; row++)
        attention_edit(head, SITE_MASKED, query + row, rows.data + row * rows.stride,
                       strip_visible(head, query + row));
    softmax_range_scale(rows, ranges, 1.0f);
    for (size_t row = 0; row < rows.rows; row++)
        if (ranges[row].largest == -INFINITY)
            return HEAD_NO_KEY;
    return HEAD_SOUND;
}

int edits_check_batch(const struct edits *edits, const struct config *config,
                      const struct batch *batch, struct err *err)
{
    if (edits_check(edits, config, err))
        return -1;
    for (size_t s = 0; edits && s < batch->count; s++) {
        size_t source = batch->past_sources[s] + batch->sources[s].count;
        if (edits_check_text(edits, config, batch_prompt(batch, s), source, err))
            return batch->count > 1 ? err_prefix(err, "text %zu", batch->first + s) : -1;
    }
    return 0;
}
