#include "lens/edits.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "format/npy.h"

struct reader {
    struct edit_list *list;
    const char *words; /* "--ablate 9.6": the beginning of messages */
    struct err *err;
};

/* A part of the text, without the blanks around it. */
struct piece {
    const char *at;
    size_t size;
};

/* An axis by name, and the number of its positions; 0: that depends on the text. */
struct edit_axis {
    const char *name;
    size_t count;
};

static struct piece trim(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    return (struct piece){at, (size_t)(end - at)};
}

/* Up to a comma, or the end; `at` moves beyond it. */
static struct piece next_piece(const char **at, const char *end)
{
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    struct piece piece = trim(*at, comma ? comma : end);
    *at = comma ? comma + 1 : end + 1;
    return piece;
}

/* --- positions -------------------------------------------------------------------------------- */

/* Add `3`, `-1` or `0-2`; on axes whose length is known they are counted from the beginning. */
static int add_range(struct edit_places *places, const struct reader *reader,
                     const struct edit_axis *axis, struct piece piece)
{
    struct edit_range range;
    size_t count = axis->count;
    if (!selection_range(&range.first, &range.last, piece.at, piece.size, count)) {
        if (!count)
            return err_usage(reader->err,
                             "%s: %s: expected places such as 2, -1 or 0-3, found '%.*s'",
                             reader->words, axis->name, (int)piece.size, piece.at);
        return err_usage(reader->err,
                         "%s: %s: expected numbers from 0 to %zu (or -%zu to -1 from the end) or "
                         "ranges such as 0-%zu, found '%.*s': there are %zu",
                         reader->words, axis->name, count - 1, count, count - 1, (int)piece.size,
                         piece.at, count);
    }
    struct edit_range *items = arena_grow(reader->list->arena, (void *)places->items, places->count,
                                          sizeof *items, reader->err);
    if (!items)
        return -1;
    items[places->count++] = range;
    places->items = items;
    return 0;
}

static struct edit_axis layers_of_site(const struct reader *reader, enum site site)
{
    const struct config *c = reader->list->config;
    bool encoder = site_rows[site].part == PART_SOURCE;
    return (struct edit_axis){"layer", encoder ? c->n_encoder_layer : c->n_layer};
}

/* The positions of an edit's axis by its name, or NULL, which is refused. */
static struct edit_places *choose_axis(struct edit_axis *axis, struct edit *edit,
                                       const struct reader *reader, struct piece name)
{
    const struct config *c = reader->list->config;
    enum site_axes axes = site_rows[edit->site].axes;
    bool is_map = axes == AXES_HEAD_QUERY_KEY;
    char option[ERR_TEXT_BYTES / 2];
    size_t columns = 0;
    site_size(&columns, c, edit->site, 1, 1, 1);
    const struct edit_axis known[] = {
        layers_of_site(reader, edit->site),
        {"head", axes == AXES_GROUP_TOKEN_DIM ? c->n_kv_head : c->n_head},
        {is_map ? "query" : "token", 0},
        {is_map ? "key" : "channel", is_map ? 0 : columns},
        {"token", 0}, /* a query may be called so, too */
    };
    struct edit_places *const places[] = {&edit->layers, &edit->heads, &edit->tokens,
                                          &edit->columns, &edit->tokens};
    const bool exists[] = {site_rows[edit->site].in_layer, site_has_heads(edit->site), true, true};
    const char *names[4];
    size_t count = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (i < 4 && !exists[i])
            continue;
        *axis = known[i];
        if (strlen(axis->name) == name.size && memcmp(axis->name, name.at, name.size) == 0)
            return places[i];
        if (i < 4)
            names[count++] = axis->name;
    }
    snprintf(option, sizeof option, "%s: places", reader->words);
    names_refuse((struct names){names, count, sizeof *names}, option, name.at, name.size,
                 reader->err);
    return NULL;
}

/* head=6,token=-1,3: a name holds until the next one. */
static int read_places(struct edit *edit, const struct reader *reader, struct piece text)
{
    struct edit_places *places = NULL;
    struct edit_axis axis = {NULL, 0};
    const char *end = text.at + text.size;
    for (const char *at = text.at; at <= end;) {
        struct piece piece = next_piece(&at, end);
        const char *sign = memchr(piece.at, '=', piece.size);
        if (sign || !places)
            places = choose_axis(&axis, edit, reader,
                                 trim(piece.at, sign ? sign : piece.at + piece.size));
        if (!places)
            return -1;
        if (sign && places->count)
            return err_usage(reader->err, "%s: expected each %s once, found it again: %.*s",
                             reader->words, axis.name, (int)piece.size, piece.at);
        if (sign)
            piece = trim(sign + 1, piece.at + piece.size);
        if (add_range(places, reader, &axis, piece))
            return -1;
    }
    return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

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
        bool one_head = i == 2 && size == 1; /* it serves for any */
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

static int open_file(struct edit_list *list, struct edit *edit, const char *path, struct err *err)
{
    const struct config *c = list->config;
    bool of_keys = site_rows[edit->site].axes == AXES_GROUP_TOKEN_DIM;
    size_t layers = num_max(c->n_layer, c->n_encoder_layer);
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
    *source = (struct edit_source){
        .values = values, .count = 1, .longest = values->shape[values->rank - 2], .exact = true};
    edit->source = source;
    return 0;
}

static int read_value(struct edit *edit, struct value_source *source, const struct reader *reader,
                      char sign, struct piece value)
{
    static const char resample[] = "resample:";
    const char *text = arena_text(reader->list->arena, value.at, value.size, reader->err);
    double number = 0;
    long long seed = 0;
    if (!text)
        return -1;
    if (value.size > 4 && memcmp(value.at + value.size - 4, ".npy", 4) == 0 && sign != '*') {
        edit->op = sign == '+' ? EDIT_ADD : EDIT_TAKE;
        return open_file(reader->list, edit, text, reader->err)
                   ? err_prefix(reader->err, "%s", reader->words)
                   : 0;
    }
    edit->op = sign == '*' ? EDIT_SCALE : EDIT_SET;
    if (sign != '+' && num_parse_double(text, -(double)FLT_MAX, (double)FLT_MAX, &number)) {
        edit->number = (float)number;
        return 0;
    }
    if (sign == '=') {
        edit->op = EDIT_TAKE;
        if (strcmp(text, "mean") == 0)
            source->origin = EDIT_MEAN;
        else if (strcmp(text, "from") == 0)
            source->origin = EDIT_FROM;
        else if (strncmp(text, resample, sizeof resample - 1) == 0 &&
                 num_parse_integer(text + sizeof resample - 1, 0, LLONG_MAX, &seed))
            *source = (struct value_source){EDIT_RESAMPLE, (uint64_t)seed};
        if (source->origin != EDIT_NUMBER)
            return 0;
    }
    return err_usage(reader->err, "%s: expected %s after '%c', found '%.*s'", reader->words,
                     sign == '*'   ? "a number"
                     : sign == '+' ? "a file of numpy (.npy)"
                                   : "a number, mean, resample:SEED, from or a file (.npy)",
                     sign, (int)value.size, value.at);
}

/* --- the three forms -------------------------------------------------------------------------- */

static int append(const struct reader *reader, const struct edit *edit,
                  const struct value_source *source)
{
    struct edit_list *list = reader->list;
    size_t count = list->edits.count;
    list->items = arena_grow(list->arena, list->items, count, sizeof *list->items, reader->err);
    list->sources = list->items ? arena_grow(list->arena, list->sources, count,
                                             sizeof *list->sources, reader->err)
                                : NULL;
    if (!list->sources)
        return -1;
    list->items[count] = *edit;
    list->items[count].words = reader->words;
    list->sources[count] = *source;
    list->origins |= 1u << source->origin;
    list->edits = (struct edits){list->items, count + 1};
    return 0;
}

/* `h.9.context`, `enc.0.weights`, or the site's name alone. */
static int read_site(struct edit *edit, const struct reader *reader, struct piece name)
{
    struct buf plain = {0};
    bool encoder = name.size > 4 && memcmp(name.at, "enc.", 4) == 0;
    size_t skip = encoder ? 4 : 2;
    const char *dot = name.size > skip && (encoder || memcmp(name.at, "h.", 2) == 0)
                          ? memchr(name.at + skip, '.', name.size - skip)
                          : NULL;
    if (dot && encoder)
        buf_text(&plain, "enc.");
    const char *rest = dot ? dot + 1 : name.at;
    buf_bytes(&plain, rest, name.size - (size_t)(rest - name.at));
    struct site_word word = {reader->words, plain.bytes, plain.size, false};
    int failed = buf_check(&plain, reader->err) ||
                 selection_site(&edit->site, &word, reader->list->config, reader->err);
    buf_release(&plain);
    if (!failed && dot && !site_rows[edit->site].in_layer)
        failed = err_usage(reader->err, "%s: expected '%s' without a layer: it is in none",
                           reader->words, site_rows[edit->site].name);
    if (failed || !dot)
        return failed ? -1 : 0;
    const struct edit_axis axis = layers_of_site(reader, edit->site);
    for (const char *at = name.at + skip; at <= dot;)
        if (add_range(&edit->layers, reader, &axis, next_piece(&at, dot)))
            return -1;
    return 0;
}

static int read_words(const struct reader *reader, const char *text)
{
    const char *end = text + strlen(text);
    struct edit edit = {.op = EDIT_SET};
    struct value_source source = {EDIT_NUMBER, 0};
    const char *open = memchr(text, '[', (size_t)(end - text));
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    const char *sign = close ? close + 1 : text;
    sign += close ? strspn(sign, " ") : strcspn(sign, "=*+");
    if ((open && !close) || sign >= end || !strchr("=*+", *sign))
        return err_usage(reader->err,
                         "%s: expected SITE[PLACES] = VALUE, * NUMBER or + FILE, as "
                         "'h.0.context[head=1,token=-1] = 0'",
                         reader->words);
    return read_site(&edit, reader, trim(text, open ? open : sign)) ||
                   (open && read_places(&edit, reader, trim(open + 1, close))) ||
                   read_value(&edit, &source, reader, *sign, trim(sign + 1, end)) ||
                   append(reader, &edit, &source)
               ? -1
               : 0;
}

/* `9.6`, or where heads need not be named `9`. */
static int read_heads(struct edit *edit, const struct reader *reader, struct piece piece)
{
    const struct config *c = reader->list->config;
    const struct edit_axis layers = {"layer", c->n_layer};
    const struct edit_axis heads = {"head", c->n_head};
    const char *dot = memchr(piece.at, '.', piece.size);
    size_t size = dot ? (size_t)(dot - piece.at) : piece.size;
    if (add_range(&edit->layers, reader, &layers, (struct piece){piece.at, size}))
        return -1;
    return dot ? add_range(&edit->heads, reader, &heads,
                           (struct piece){dot + 1, piece.size - size - 1})
               : 0;
}

static int read_ablation(const struct reader *reader, const char *text)
{
    struct value_source source = {EDIT_NUMBER, 0};
    struct edit edit = {.site = SITE_CONTEXT, .op = EDIT_SET};
    const char *sign = strchr(text, '=');
    const char *end = sign ? sign : text + strlen(text);
    if (sign && read_value(&edit, &source, reader, '=', trim(sign + 1, text + strlen(text))))
        return -1;
    for (const char *at = text; at <= end;) {
        struct piece piece = next_piece(&at, end);
        edit.layers = edit.heads = (struct edit_places){NULL, 0};
        if (!memchr(piece.at, '.', piece.size))
            return err_usage(reader->err, "%s: expected LAYER.HEAD as 9.6, found '%.*s'",
                             reader->words, (int)piece.size, piece.at);
        if (read_heads(&edit, reader, piece) || append(reader, &edit, &source))
            return -1;
    }
    return 0;
}

/* 4:2, or 9:4:2, or 9.6:4:2 */
static int read_knockout_of(struct edit *edit, const struct reader *reader, struct piece piece)
{
    static const struct edit_axis queries = {"query", 0};
    static const struct edit_axis keys = {"key", 0};
    const char *second = platform_last_byte(piece.at, ':', piece.size);
    const char *first =
        second ? platform_last_byte(piece.at, ':', (size_t)(second - piece.at)) : NULL;
    if (!second)
        return err_usage(reader->err, "%s: expected QUERY:KEY as 4:2, found '%.*s'", reader->words,
                         (int)piece.size, piece.at);
    if ((first && read_heads(edit, reader, trim(piece.at, first))) ||
        add_range(&edit->tokens, reader, &queries, trim(first ? first + 1 : piece.at, second)) ||
        add_range(&edit->columns, reader, &keys, trim(second + 1, piece.at + piece.size)))
        return -1;
    ptrdiff_t query = edit->tokens.items->last;
    ptrdiff_t key = edit->columns.items->first;
    if (!reader->list->config->causal || (query < 0) != (key < 0) || key <= query)
        return 0;
    return err_usage(reader->err,
                     "%s: expected a key that the query sees, itself or one before it, found "
                     "'%.*s'",
                     reader->words, (int)piece.size, piece.at);
}

static int read_knockout(const struct reader *reader, const char *text)
{
    const struct value_source source = {EDIT_NUMBER, 0};
    const char *end = text + strlen(text);
    for (const char *at = text; at <= end;) {
        struct edit edit = {.site = SITE_MASKED, .op = EDIT_FORBID};
        if (read_knockout_of(&edit, reader, next_piece(&at, end)) || append(reader, &edit, &source))
            return -1;
    }
    return 0;
}

int edit_list_add(struct edit_list *list, enum edit_form form, const char *text, struct err *err)
{
    static const struct {
        const char *option;
        int (*read)(const struct reader *, const char *);
    } forms[] = {
        [EDIT_WORDS] = {"--edit", read_words},
        [EDIT_ABLATION] = {"--ablate", read_ablation},
        [EDIT_KNOCKOUT] = {"--knockout", read_knockout},
    };
    for (;; text++) {
        size_t size = form == EDIT_WORDS ? strcspn(text, ";") : strlen(text);
        const char *part = arena_text(list->arena, text, size, err);
        const char *words =
            part ? arena_format(list->arena, err, "%s '%s'", forms[form].option, part) : NULL;
        if (!words || forms[form].read(&(struct reader){list, words, err}, part))
            return -1;
        text += size;
        if (*text == '\0')
            return 0;
    }
}

/* --- values of other texts: passes over these, without edits ---------------------------------- */

/* One site's values in every layer, of each of several texts or of their mean. */
struct gathered {
    enum site site;
    enum edit_origin origin;
    size_t layers;
    struct edit_source source;
    struct tensor *values; /* [layer][source.count] */
    double **sums;         /* [layer] of a mean, as large as the longest text's */
    unsigned **counts;     /* [layer] number of texts in each cell of the sums */
};

struct gathering {
    struct edit_list *list;
    struct viewer *viewer;
    struct selection selection;
    struct gathered *items;
    size_t count;
    struct arena pass; /* of one pass */
    struct err *err;
};

static struct gathered *find(const struct gathering *gathering, enum site site,
                             enum edit_origin origin)
{
    struct gathered *item = gathering->items;
    while (item < gathering->items + gathering->count &&
           (item->site != site || item->origin != origin))
        item++;
    return item;
}

/* One item for each pair of a site and an origin. */
static int plan(struct gathering *gathering, const struct edit_texts *texts)
{
    const struct edit_list *list = gathering->list;
    const struct config *c = &gathering->viewer->model.config;
    struct arena *arena = list->arena;
    struct err *err = gathering->err;
    gathering->items = arena_alloc(arena, list->edits.count, sizeof *gathering->items, err);
    if (!gathering->items)
        return -1;
    for (size_t i = 0; i < list->edits.count; i++) {
        enum site site = list->items[i].site;
        enum edit_origin origin = list->sources[i].origin;
        struct gathered *item = find(gathering, site, origin);
        if (origin == EDIT_NUMBER || item < gathering->items + gathering->count)
            continue;
        gathering->count++;
        *item = (struct gathered){.site = site, .origin = origin, .layers = 1};
        if (site_rows[site].in_layer)
            item->layers = site_rows[site].part == PART_SOURCE ? c->n_encoder_layer : c->n_layer;
        item->source.count = origin == EDIT_RESAMPLE ? texts->reference_count : 1;
        item->source.exact = origin == EDIT_FROM;
        item->values =
            arena_alloc(arena, item->layers * item->source.count, sizeof *item->values, err);
        item->sums = arena_alloc(arena, item->layers, sizeof *item->sums, err);
        item->counts = arena_alloc(arena, item->layers, sizeof *item->counts, err);
        item->source.values = item->values;
        gathering->selection.sites |= site_bit(site);
        if (!item->values || !item->sums || !item->counts)
            return -1;
    }
    return 0;
}

/* The layers in which a gathered site is edited; with an encoder, all layers. */
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

static int keep(struct gathering *gathering, struct tensor *values, const struct kept *kept)
{
    size_t count = kept_cells(kept);
    float *data = arena_room(gathering->list->arena, count, sizeof *data, gathering->err);
    if (!data)
        return -1;
    memcpy(data, kept->data, count * sizeof *data);
    *values = tensor_dense(data, kept->rank, kept->shape);
    return 0;
}

/* Add to the sums of a layer, which have the size of the first text, the longest. */
static int add_to_sums(struct gathering *gathering, struct gathered *item, const struct kept *kept,
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
        size_t cell = head * to->stride[0] * (from.rank == 3) + row * to->stride[last - 1] + column;
        item->sums[layer][cell] += (double)kept->data[i];
        item->counts[layer][cell]++;
    }
    return 0;
}

/* Run one text; `number` counts reference texts. */
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
            size_t index = item->origin == EDIT_RESAMPLE ? number : 0;
            if (item->origin == EDIT_MEAN
                    ? add_to_sums(gathering, item, kept, layer)
                    : keep(gathering, &item->values[layer * item->source.count + index], kept))
                return -1;
        }
    }
    return 0;
}

/* Sums become means; layers in which nothing was gathered have none. */
static int divide(struct gathering *gathering, struct gathered *item)
{
    for (size_t layer = 0; item->origin == EDIT_MEAN && layer < item->layers; layer++) {
        struct tensor *values = &item->values[layer];
        size_t count = values->rank ? tensor_count(values) : 0;
        float *means =
            count ? arena_room(gathering->list->arena, count, sizeof *means, gathering->err) : NULL;
        if (count && !means)
            return -1;
        for (size_t i = 0; i < count; i++)
            means[i] = (float)(item->sums[layer][i] / item->counts[layer][i]);
        values->data = means;
    }
    return 0;
}

static int finish(struct gathering *gathering, size_t longest, size_t from)
{
    const struct edit_list *list = gathering->list;
    for (size_t i = 0; i < gathering->count; i++) {
        struct gathered *item = &gathering->items[i];
        bool of_source = site_is_of_source(item->site);
        item->source.longest = of_source ? SIZE_MAX : item->origin == EDIT_FROM ? from : longest;
        if (divide(gathering, item))
            return -1;
    }
    for (size_t i = 0; i < list->edits.count; i++) {
        if (list->sources[i].origin == EDIT_NUMBER)
            continue;
        struct edit_source *source = arena_alloc(list->arena, 1, sizeof *source, gathering->err);
        if (!source)
            return -1;
        *source = find(gathering, list->items[i].site, list->sources[i].origin)->source;
        source->seed = list->sources[i].seed;
        list->items[i].source = source;
    }
    return 0;
}

static int gather_all(struct gathering *gathering, const struct edit_texts *texts)
{
    size_t longest = 0;
    size_t first = 0; /* the longest reference text is run first */
    for (size_t i = 0; i < texts->reference_count; i++)
        if (texts->reference[i].sentence.count > longest)
            longest = texts->reference[first = i].sentence.count;
    if (texts->reference_count && gather(gathering, &texts->reference[first], true, first))
        return -1;
    for (size_t i = 0; i < texts->reference_count; i++)
        if (i != first && gather(gathering, &texts->reference[i], true, i))
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
