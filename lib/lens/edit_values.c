/* edit_values.c: what edits take from other texts: passes over these, without edits; and of
 * files. */
#include <string.h>

#include "format/npy.h"
#include "lens/edit_list.h"

/* What one site has in every layer, of each of several texts or of their mean. */
struct gathered {
    enum site site;
    enum edit_origin origin;
    struct edit_source source;
    struct tensor *values; /* [layer][source.count] */
    double **sums;         /* [layer] of a mean, as large as the longest text's … */
    unsigned **counts;     /* … over so many texts, cell by cell */
};

struct gathering {
    struct edit_list *list;
    struct viewer *viewer;
    struct selection selection;
    struct gathered *items;
    size_t count;
    struct arena pass; /* what one gave */
    struct err *err;
};

static size_t layers_of(const struct gathering *gathering, enum site site)
{
    const struct config *c = &gathering->viewer->model.config;
    if (!site_rows[site].in_layer)
        return 1;
    return site_rows[site].part == PART_SOURCE ? c->n_encoder_layer : c->n_layer;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file's axes are the last ones of the site: [heads, tokens, columns]. */
static int place_file(struct tensor *values, const struct edit *edit, const struct npy *array,
                      const size_t sizes[3], struct err *err)
{
    struct buf found = {0};
    size_t stride = 1;
    bool has_heads = site_has_heads(edit->site);
    bool fits = array->rank > 0 && array->rank <= 2 + (size_t)has_heads;
    *values = (struct tensor){.data = array->data, .rank = 2 + has_heads};
    for (size_t i = 0; i < values->rank; i++) {
        size_t axis = values->rank - 1 - i;
        size_t wanted = sizes[2 - i];
        bool given = i < array->rank;
        size_t size = given ? array->shape[array->rank - 1 - i] : SIZE_MAX;
        bool one_head = i == 2 && size == 1; /* which goes for any */
        fits = fits && (!given || !wanted || one_head || size == wanted);
        values->shape[axis] = size;
        values->stride[axis] = given && !one_head ? stride : 0;
        stride *= given ? size : 1;
    }
    for (size_t i = 0; i < array->rank; i++)
        buf_format(&found, "%s%zu", i ? ", " : "", array->shape[i]);
    if (!fits)
        err_set(err, "expected a shape of [%zu], [tokens, %zu]%s, found [%s]", sizes[2], sizes[2],
                has_heads ? " or with heads before these" : "", found.bytes ? found.bytes : "");
    buf_release(&found);
    return fits ? 0 : -1;
}

int edit_list_open(struct edit_list *list, struct edit *edit, const char *path, struct err *err)
{
    const struct config *c = list->config;
    bool of_keys = site_rows[edit->site].axes == AXES_GROUP_TOKEN_DIM;
    size_t layers = c->n_layer > c->n_encoder_layer ? c->n_layer : c->n_encoder_layer;
    struct edit_source *source = arena_alloc(list->arena, 1, sizeof *source, err);
    struct tensor *values = arena_alloc(list->arena, layers, sizeof *values, err);
    size_t sizes[] = {of_keys ? c->n_kv_head : c->n_head, 0, 0};
    struct npy array;
    if (site_rows[edit->site].axes == AXES_HEAD_QUERY_KEY)
        return err_usage(err, "expected a tensor of channels for a file, found the map '%s'",
                         site_rows[edit->site].name);
    site_size(&sizes[2], c, edit->site, 1, 1, 1);
    if (!source || !values || npy_read(&array, path, list->arena, err))
        return -1;
    if (place_file(&values[0], edit, &array, sizes, err))
        return err_prefix(err, "'%s'", path);
    for (size_t i = 1; i < layers; i++)
        values[i] = values[0];
    source->values = values;
    source->count = 1;
    source->longest = values->shape[values->rank - 2];
    source->exact = true;
    edit->source = source;
    return 0;
}

/* --- which sites ------------------------------------------------------------------------------ */

static struct gathered *find(const struct gathering *gathering, enum site site,
                             enum edit_origin origin)
{
    struct gathered *item = gathering->items;
    while (item < gathering->items + gathering->count &&
           (item->site != site || item->origin != origin))
        item++;
    return item;
}

static int add(struct gathering *gathering, enum site site, enum edit_origin origin, size_t count)
{
    struct arena *arena = gathering->list->arena;
    struct gathered *item = &gathering->items[gathering->count++];
    size_t layers = layers_of(gathering, site);
    *item = (struct gathered){.site = site, .origin = origin};
    item->source.count = count;
    item->source.exact = origin == EDIT_FROM;
    item->values = arena_alloc(arena, layers * count, sizeof *item->values, gathering->err);
    item->sums = arena_alloc(arena, layers, sizeof *item->sums, gathering->err);
    item->counts = arena_alloc(arena, layers, sizeof *item->counts, gathering->err);
    item->source.values = item->values;
    gathering->selection.sites |= site_bit(site);
    return item->values && item->sums && item->counts ? 0 : -1;
}

static int plan(struct gathering *gathering, const struct edit_texts *texts)
{
    const struct edit_list *list = gathering->list;
    gathering->items =
        arena_alloc(list->arena, list->edits.count, sizeof *gathering->items, gathering->err);
    for (size_t i = 0; gathering->items && i < list->edits.count; i++) {
        enum site site = list->items[i].site;
        enum edit_origin origin = list->wishes[i].origin;
        bool is_new = find(gathering, site, origin) == gathering->items + gathering->count;
        size_t count = origin == EDIT_RESAMPLE ? texts->reference_count : 1;
        if (origin != EDIT_NUMBER && is_new && add(gathering, site, origin, count))
            return -1;
    }
    return gathering->items ? 0 : -1;
}

/* Those in which a site of these is edited; where there is an encoder, too, all. */
static int choose_layers(struct gathering *gathering)
{
    const struct config *c = &gathering->viewer->model.config;
    struct selection *selection = &gathering->selection;
    struct arena *arena = gathering->list->arena;
    if (c->n_encoder_layer)
        return selection_layers(selection, NULL, c, arena, gathering->err);
    size_t *layers = arena_alloc(arena, c->n_layer, sizeof *layers, gathering->err);
    for (size_t layer = 0; layers && layer < c->n_layer; layer++) {
        bool edited = false;
        for (size_t i = 0; i < gathering->count; i++)
            edited |= edits_have(&gathering->list->edits, gathering->items[i].site, layer);
        if (edited)
            layers[selection->layers.count++] = layer;
    }
    selection->layers.items = layers;
    return layers ? 0 : -1;
}

/* --- what a pass gave ------------------------------------------------------------------------- */

static int keep(struct gathering *gathering, struct tensor *values, const struct kept *kept)
{
    size_t count = kept_cells(kept);
    float *data = arena_room(gathering->list->arena, count, sizeof *data, gathering->err);
    if (!data)
        return -1;
    memcpy(data, kept->data, count * sizeof *data);
    *values = tensor_dense(kept->data, kept->rank, kept->shape);
    values->data = data;
    return 0;
}

/* The first one is the longest. */
static int sum_up(struct gathering *gathering, struct gathered *item, const struct kept *kept,
                  size_t layer)
{
    struct arena *arena = gathering->list->arena;
    struct tensor from = tensor_dense(kept->data, kept->rank, kept->shape);
    struct tensor *to = &item->values[layer];
    size_t last = from.rank - 1;
    if (!to->rank) {
        *to = from;
        item->sums[layer] = arena_alloc(arena, kept_cells(kept), sizeof(double), gathering->err);
        item->counts[layer] =
            arena_alloc(arena, kept_cells(kept), sizeof(unsigned), gathering->err);
    }
    if (!item->sums[layer] || !item->counts[layer])
        return -1;
    for (size_t i = 0; i < kept_cells(kept); i++) {
        size_t column = i % from.shape[last];
        size_t row = i / from.stride[last - 1] % from.shape[last - 1];
        size_t head = from.rank == 3 ? i / from.stride[0] : 0;
        size_t place =
            head * to->stride[0] * (from.rank == 3) + row * to->stride[last - 1] + column;
        item->sums[layer][place] += (double)kept->data[i];
        item->counts[layer][place]++;
    }
    return 0;
}

/* Run one text; of the reference texts it is the `number`th. */
static int gather(struct gathering *gathering, const struct text_pair *pair, bool of_reference,
                  size_t number)
{
    struct report report;
    struct look look = {&gathering->selection, pair, 1, number, &report};
    arena_clear(&gathering->pass);
    if (viewer_look(gathering->viewer, &look, &gathering->pass, gathering->err))
        return err_prefix(gathering->err, of_reference ? "--reference" : "--from");
    for (size_t i = 0; i < report.tensor_count; i++) {
        const struct kept *kept = &report.tensors[i];
        size_t layer = kept->layer < 0 ? 0 : (size_t)kept->layer;
        for (size_t k = 0; k < gathering->count; k++) {
            struct gathered *item = &gathering->items[k];
            if (item->site != kept->site || (item->origin != EDIT_FROM) != of_reference)
                continue;
            size_t place = item->origin == EDIT_RESAMPLE ? number : 0;
            if (item->origin == EDIT_MEAN
                    ? sum_up(gathering, item, kept, layer)
                    : keep(gathering, &item->values[layer * item->source.count + place], kept))
                return -1;
        }
    }
    return 0;
}

/* --- and what comes of it --------------------------------------------------------------------- */

static int divide(struct gathering *gathering, struct gathered *item, size_t layer)
{
    struct tensor *values = &item->values[layer];
    if (!values->rank) /* it was not wanted */
        return 0;
    size_t count = tensor_count(values);
    float *means = arena_room(gathering->list->arena, count, sizeof *means, gathering->err);
    for (size_t i = 0; means && i < count; i++)
        means[i] = (float)(item->sums[layer][i] / item->counts[layer][i]);
    values->data = means;
    return means ? 0 : -1;
}

static int finish(struct gathering *gathering, size_t longest, size_t from)
{
    const struct edit_list *list = gathering->list;
    for (size_t i = 0; i < gathering->count; i++) {
        struct gathered *item = &gathering->items[i];
        bool of_source = site_is_of_source(item->site);
        item->source.longest = of_source ? SIZE_MAX : item->origin == EDIT_FROM ? from : longest;
        for (size_t layer = 0;
             item->origin == EDIT_MEAN && layer < layers_of(gathering, item->site); layer++)
            if (divide(gathering, item, layer))
                return -1;
    }
    for (size_t i = 0; i < list->edits.count; i++) {
        struct edit_source *source = arena_alloc(list->arena, 1, sizeof *source, gathering->err);
        if (!source)
            return -1;
        if (list->wishes[i].origin == EDIT_NUMBER)
            continue;
        *source = find(gathering, list->items[i].site, list->wishes[i].origin)->source;
        source->seed = list->wishes[i].seed;
        list->items[i].source = source;
    }
    return 0;
}

static int gather_all(struct gathering *gathering, const struct edit_texts *texts)
{
    size_t longest = 0;
    size_t place = 0;
    for (size_t i = 0; i < texts->reference_count; i++)
        if (texts->reference[i].sentence.count > longest)
            longest = texts->reference[place = i].sentence.count;
    if (texts->reference_count && gather(gathering, &texts->reference[place], true, place))
        return -1;
    for (size_t i = 0; i < texts->reference_count; i++)
        if (i != place && gather(gathering, &texts->reference[i], true, i))
            return -1;
    if (texts->from && gather(gathering, texts->from, false, 0))
        return -1;
    return finish(gathering, longest, texts->from ? texts->from->sentence.count : 0);
}

int edit_list_fill(struct edit_list *list, struct viewer *viewer, const struct edit_texts *texts,
                   struct err *err)
{
    struct gathering gathering = {.list = list, .viewer = viewer, .err = err};
    const struct edits *before = viewer->edits;
    viewer->edits = NULL;
    int failed = plan(&gathering, texts) || choose_layers(&gathering) ||
                 (gathering.count && gather_all(&gathering, texts));
    viewer->edits = before;
    arena_release(&gathering.pass);
    return failed ? -1 : 0;
}
