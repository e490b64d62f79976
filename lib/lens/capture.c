#include "lens/capture.h"

#include <assert.h>

#include "base/num.h"
#include "pass/pass.h"
#include "model/points.h"
#include "pass/tap.h"

int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t texts, struct arena *arena, struct err *err)
{
    size_t heads = config_most_heads(config), most = num_max(heads, config_copies(config));
    size_t *all = arena_alloc(arena, most, sizeof *all, err);
    *capture =
        (struct capture){.selection = selection, .config = config, .arena = arena, .values = arena};
    capture->lists = arena_alloc(arena, texts, sizeof *capture->lists, err);
    if (!all || !capture->lists)
        return -1;
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
        capture->capacity += selection_layers_of(selection, site).count;
    for (size_t i = 0; i < most; i++)
        all[i] = i;
    capture->all_heads = capture->query_heads = (struct capture_heads){all, heads};
    if (selection->heads)
        capture->query_heads = (struct capture_heads){selection->heads, selection->head_count};
    for (size_t i = 0; i < texts; i++) {
        struct array **items = &capture->lists[i].items;
        capture->lists[i].wanted = selection->queries;
        if (!(*items = arena_alloc(arena, capture->capacity, sizeof **items, err)))
            return -1;
    }
    return 0;
}

/* Set `key_heads` to the key/value heads that the selected query heads of a layer use. */
static int find_key_heads(struct capture *capture, enum site site, size_t layer, struct err *err)
{
    const struct capture_heads *heads = &capture->query_heads;
    const enum site queries = SITE_OF(site_branch(site), SITE_WEIGHTS);
    const size_t shared_by =
        site_heads(capture->config, queries, layer) / site_heads(capture->config, site, layer);
    if (capture->shared_by == shared_by)
        return 0;
    size_t *keys = arena_alloc(capture->arena, heads->count, sizeof *keys, err);
    size_t count = 0;
    for (size_t i = 0; keys && i < heads->count; i++)
        if (!count || keys[count - 1] != heads->items[i] / shared_by)
            keys[count++] = heads->items[i] / shared_by;
    capture->key_heads = (struct capture_heads){keys, count};
    capture->shared_by = shared_by;
    return keys ? 0 : -1;
}

struct array *capture_add(struct capture *capture, size_t text, struct array item, bool has_values,
                          struct err *err)
{
    struct array_list *list = &capture->lists[text];
    assert(list->count < capture->capacity);
    if (array_is_of_copies(&item)) { /* --head selects heads, not copies of the stream */
        item.heads = (struct axis){.name = "copy",
                                   .numbers = capture->all_heads.items,
                                   .size = config_copies(capture->config)};
    } else if (item.heads.name) {
        const struct capture_heads *heads = &capture->query_heads;
        const size_t layer = item.layer < 0 ? 0 : (size_t)item.layer;
        bool of_keys = site_axes(item.site) == AXES_KV_HEAD_TOKEN_DIM;
        if (of_keys && find_key_heads(capture, item.site, layer, err))
            return NULL;
        item.shared_by = of_keys ? capture->shared_by : 0;
        item.heads.name = head_word(item.shared_by);
        if (of_keys)
            heads = &capture->key_heads;
        else if (site_set_has(capture->selection->whole, item.site))
            heads = &capture->all_heads;
        item.heads.numbers = heads->items;
        item.heads.size = heads->count;
        size_t most = site_heads(capture->config, item.site, layer);
        while (item.heads.size && item.heads.numbers[item.heads.size - 1] >= most)
            item.heads.size--;
    }
    item.bits = capture->selection->bits && site_id(item.site) == SITE_ENTROPY;
    if (capture->selection->queries && selection_has_queries(capture->selection, item.site)) {
        const struct index_range range = {"--query", "text", "token", item.rows.size};
        if (!list->queries && selection_indices(&list->queries, &list->query_count, list->wanted,
                                                &range, capture->arena, err))
            return NULL;
        item.rows.numbers = list->queries;
        item.rows.size = list->query_count;
    }
    if (has_values &&
        !(item.data = arena_room(capture->values, array_cells(&item), sizeof *item.data, err)))
        return NULL;
    list->items[list->count] = item;
    return &list->items[list->count++];
}

int capture_sink(void *context, const struct announcement *announced, struct err *err)
{
    const struct tensor *values = &announced->values;
    struct array item = {.site = announced->site,
                         .layer = announced->layer,
                         .heads.name = values->rank == 3 ? "head" : NULL,
                         .rows.size = values->shape[values->rank - 2],
                         .columns.size = values->shape[values->rank - 1]};
    const struct array *array = capture_add(context, announced->text, item, true, err);
    float *data = array ? (float *)array->data : NULL;
    for (size_t i = 0; array && i < array_matrix_count(array); i++) {
        struct tensor matrix =
            array->heads.name ? tensor_slice(values, array->heads.numbers[i]) : *values;
        if (!array->rows.numbers)
            tensor_copy(data, &matrix);
        for (size_t row = 0; array->rows.numbers && row < array->rows.size; row++) {
            struct tensor slice = tensor_slice(&matrix, array->rows.numbers[row]);
            tensor_copy(data + row * matrix.shape[1], &slice);
        }
        data += array->rows.size * array->columns.size;
    }
    return array ? 0 : -1;
}

int capture_lend(void *context, struct attention_map_loan *loan, struct err *err)
{
    struct capture *capture = context;
    struct array item = {.site = loan->site,
                         .layer = loan->layer,
                         .heads.name = site_has_heads(loan->site) ? "head" : NULL,
                         .rows.size = loan->queries,
                         .columns.size = loan->keys};
    const struct array *array = capture_add(capture, loan->text, item, true, err);
    if (!array)
        return -1;
    for (size_t i = 0; i < array_matrix_count(array); i++)
        loan->heads[array->heads.name ? array->heads.numbers[i] : 0] =
            (float *)array->data + i * array->rows.size * array->columns.size;
    if (!array->rows.numbers)
        return 0;
    struct array_list *list = &capture->lists[loan->text];
    if (!list->rows) {
        list->rows = arena_alloc(capture->arena, loan->queries, sizeof *list->rows, err);
        for (size_t i = 0; list->rows && i < loan->queries; i++)
            list->rows[i] = ATTENTION_NO_ROW;
        for (size_t i = 0; list->rows && i < list->query_count; i++)
            list->rows[list->queries[i]] = i;
    }
    loan->rows = list->rows;
    return list->rows ? 0 : -1;
}
