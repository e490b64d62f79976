#include "lens/edits.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "format/gguf.h"
#include "format/npy.h"
#include "format/safetensors.h"
#include "lens/dictionary.h"
#include "lens/mean.h"
#include "model/layer.h"
#include "model/points.h"
#include "model/score_rule.h"

struct edit_reader {
    struct edit_list *list;
    const struct config *config;
    const char *words; /* the option and its value, "--ablate '9.6'", which begin each error
                        * message */
    struct edit edit;
    struct feature_edit *features; /* set for an edit of features; NULL: the edit changes the site's
                                    * numbers directly */
    struct value_origin value_origin;
    struct err *err;
};

/* A piece of an option's value, without surrounding spaces. */
struct edit_piece {
    const char *at;
    size_t size;
};

struct edit_axis {
    const char *name;
    size_t count; /* number of positions; 0: the axis has the tokens of a text */
    struct edit_indices *indices;
    bool of_source; /* true: the axis has the tokens of the source text */
};

static struct edit_piece trim(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    return (struct edit_piece){at, (size_t)(end - at)};
}

static bool is_word(struct edit_piece piece, const char *word)
{
    return piece.size == strlen(word) && memcmp(piece.at, word, piece.size) == 0;
}

/* Return the piece before the next comma or `end`, and move `at` past the comma (or past `end`). */
static struct edit_piece next_piece(const char **at, const char *end)
{
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    struct edit_piece piece = trim(*at, comma ? comma : end);
    *at = comma ? comma + 1 : end + 1;
    return piece;
}

/* --- positions -------------------------------------------------------------------------------- */

static int append_range(const struct edit_reader *reader, struct edit_indices *indices,
                        struct edit_range range)
{
    struct edit_range *items = arena_grow(reader->list->arena, (void *)indices->items,
                                          indices->count, sizeof *items, reader->err);
    if (!items)
        return -1;
    items[indices->count++] = range;
    indices->items = items;
    return 0;
}

/* Add a range, `3`, `-1`, `0-2` or `1-`, to an axis; an axis of tokens also accepts `prompt`. */
static int add_range(const struct edit_reader *reader, const struct edit_axis *axis,
                     struct edit_piece piece)
{
    struct edit_range range = {0, 0};
    size_t count = axis->count;
    if (is_word(piece, "prompt") && !count)
        range = (struct edit_range){0, EDIT_PROMPT_END};
    else if (!selection_range(&range.first, &range.last, piece.at, piece.size, count)) {
        if (!count)
            return err_usage(reader->err,
                             "%s: %s: expected positions such as 2, -1 or 0-3, found '%.*s'",
                             reader->words, axis->name, (int)piece.size, piece.at);
        return err_usage(reader->err,
                         "%s: %s: expected numbers from 0 to %zu (or -%zu to -1 from the end) or "
                         "ranges such as 0-%zu, found '%.*s': there are %zu",
                         reader->words, axis->name, count - 1, count, count - 1, (int)piece.size,
                         piece.at, count);
    }
    return append_range(reader, axis->indices, range);
}

/* True if a piece is a position by name, such as `@NAME`, `cabinet` or `the/2`, not a number or a
 * range. */
static bool is_name(struct edit_piece piece)
{
    size_t digits = 0;
    while (digits < piece.size && strchr("0123456789-", piece.at[digits]))
        digits++;
    return digits < piece.size && !(piece.size == 1 && *piece.at == '@');
}

/* Add the positions of a piece, such as `0-2`, `cabinet` or `@NAME`, to an axis. On an axis of
 * tokens, list->tokens_of says which tokens a name (or, with list->of_rows, a number) means; if
 * tokens_of is NULL, a name means token 0. */
static int add_position(const struct edit_reader *reader, const struct edit_axis *axis,
                        struct edit_piece piece)
{
    struct edit_list *list = reader->list;
    const bool is_named = is_name(piece);
    if (axis->count || is_word(piece, "prompt") || !(is_named || list->of_rows))
        return add_range(reader, axis, piece);
    const char *tokens = list->tokens_of
                             ? list->tokens_of(list->context, axis->of_source, piece.at, piece.size)
                         : is_named ? "0"
                                    : arena_text(list->arena, piece.at, piece.size, reader->err);
    const char *end = tokens ? tokens + strlen(tokens) : NULL;
    list->by_text = true;
    for (const char *at = tokens; at && at <= end;)
        if (add_range(reader, axis, next_piece(&at, end)))
            return -1;
    return err_if(!tokens);
}

static struct edit_axis layer_axis(struct edit_reader *reader)
{
    return (struct edit_axis){"layer", site_layers(reader->config, reader->edit.site),
                              &reader->edit.layers};
}

/* Parse heads of layers, such as `L9H6`, `9.6`, `L9H0-3`, `L9` or `9` (all heads of layer 9), and
 * `L9KV0`, the query heads that share head 0 of the keys and values. */
static int parse_heads(struct edit_reader *reader, struct edit_piece piece)
{
    const enum site site = reader->edit.site;
    const size_t layers = site_layers(reader->config, site),
                 heads = site_heads(reader->config, site, 0);
    struct head_range found;
    bool is_found = head_range_read(&found, piece.at, piece.size, layers, heads);
    if (is_found && found.of_keys) {
        const ptrdiff_t shared_by =
            (ptrdiff_t)site_shared_by(reader->config, SITE_K, (size_t)found.layers[0]);
        found.heads[0] *= shared_by;
        found.heads[1] = (found.heads[1] + 1) * shared_by - 1;
        is_found = found.heads[1] < (ptrdiff_t)heads;
    }
    if (!is_found)
        return err_usage(reader->err,
                         "%s: expected heads such as L1H3, L1H0-3 or L1, with layers from 0 to %zu "
                         "and heads from 0 to %zu, found '%.*s'",
                         reader->words, layers - 1, heads - 1, (int)piece.size, piece.at);
    if (append_range(reader, &reader->edit.layers,
                     (struct edit_range){found.layers[0], found.layers[1]}))
        return -1;
    return found.is_whole ? 0
                          : append_range(reader, &reader->edit.heads,
                                         (struct edit_range){found.heads[0], found.heads[1]});
}

/* Set `*heads` and `*columns` to the smallest numbers of heads and columns in the edited layers:
 * the layers that were parsed so far or, if there are none, all layers. */
static void common_sizes(const struct edit_reader *reader, size_t *heads, size_t *columns)
{
    const struct edits one = {&reader->edit, 1};
    const enum site site = reader->edit.site;
    *heads = *columns = SIZE_MAX;
    for (size_t i = 0; i < site_layers(reader->config, site); i++) {
        size_t own = site_columns(reader->config, site, i);
        if (!edits_have(&one, site, i) || !own)
            continue;
        *heads = num_min(*heads, site_heads(reader->config, site, i));
        *columns = num_min(*columns, own);
    }
}

/* True if the edited site's key axis (`of_keys`) or query axis has the tokens of the source
 * text. */
static bool counts_source(const struct edit_reader *reader, bool of_keys)
{
    enum site_branch branch = site_branch(reader->edit.site);
    bool at_itself = branch == BRANCH_TEXT && !config_is_cross(reader->config);
    return branch == BRANCH_SOURCE || (of_keys && !at_itself);
}

/* Find an axis of the edited site by its name. The axis `query` may be called token; the heads of
 * keys and values may be called kv_head, even if no heads share them. */
static int choose_axis(struct edit_axis *axis, struct edit_reader *reader, struct edit_piece name)
{
    struct edit *edit = &reader->edit;
    struct edit_axis axes[4];
    size_t count = 0, index = 0, heads = 0, columns = 0;
    if (reader->features) {
        const struct edit_axis own[] = {
            {"token", 0, &edit->tokens},
            {"feature", reader->features->dictionary->count, &reader->features->features}};
        if (names_choose_item(&index, NAMES(own, 2), reader->words, name.at, name.size,
                              reader->err))
            return -1;
        *axis = own[index];
        return 0;
    }
    bool is_map = site_axes(edit->site) == AXES_HEAD_QUERY_KEY;
    bool of_keys = site_axes(edit->site) == AXES_KV_HEAD_TOKEN_DIM;
    bool experts = site_axes(edit->site) == AXES_TOKEN_EXPERT;
    common_sizes(reader, &heads, &columns);
    const char *head = site_axes(edit->site) == AXES_COPY_TOKEN_CHANNEL
                           ? "copy"
                           : head_word(of_keys ? reader->config->n_head / heads : 0);
    if (site_row(edit->site)->in_layer)
        axes[count++] = layer_axis(reader);
    if (site_has_heads(edit->site))
        axes[count++] = (struct edit_axis){head, heads, &edit->heads};
    bool of_source = counts_source(reader, of_keys);
    axes[count++] = (struct edit_axis){is_map ? "query" : "token", 0, &edit->tokens, of_source};
    axes[count++] =
        is_map ? (struct edit_axis){"key", 0, &edit->columns, counts_source(reader, true)}
               : (struct edit_axis){experts ? "expert" : "channel", columns, &edit->columns};
    if (is_map && is_word(name, "token"))
        name = (struct edit_piece){"query", 5};
    if (of_keys && is_word(name, "kv_head"))
        name = (struct edit_piece){head, strlen(head)};
    if (names_choose_item(&index, (struct names){&axes->name, count, sizeof *axes}, reader->words,
                          name.at, name.size, reader->err))
        return -1;
    *axis = axes[index];
    return 0;
}

/* Parse a head with its layer, such as `head=L9H6` or `kv_head=L9KV0`. Returns 1 for other
 * positions. All heads of an edit are of the same layers. */
static int parse_named_heads(struct edit_reader *reader, const struct edit_axis *axis,
                             struct edit_piece piece)
{
    struct edit *edit = &reader->edit;
    struct head_range found;
    const enum site site = edit->site;
    if (axis->indices != &edit->heads ||
        !head_range_read(&found, piece.at, piece.size, site_layers(reader->config, site),
                         axis->count) ||
        found.is_bare || found.of_keys != (strcmp(axis->name, "kv_head") == 0))
        return 1;
    const struct edit_range layers = {found.layers[0], found.layers[1]};
    const bool is_same = edit->layers.count == 1 && edit->layers.items->first == layers.first &&
                         edit->layers.items->last == layers.last;
    if (edit->layers.count && !is_same)
        return err_usage(reader->err, "%s: expected heads of the same layers, found '%.*s'",
                         reader->words, (int)piece.size, piece.at);
    return err_if(
        (!is_same && append_range(reader, &edit->layers, layers)) ||
        append_range(reader, &edit->heads, (struct edit_range){found.heads[0], found.heads[1]}));
}

/* Refuse positions by `head` of keys or values that several query heads share: the edit would apply
 * to all of these heads. */
static int check_head(const struct edit_reader *reader, struct edit_piece name,
                      struct edit_piece number)
{
    const struct config *config = reader->config;
    const struct edit_indices *layers = &reader->edit.layers;
    size_t shared_by =
        site_shared_by(config, reader->edit.site, layers->count ? (size_t)layers->items->first : 0);
    char heads[SHEET_NAME_BYTES];
    ptrdiff_t first = 0;
    ptrdiff_t last = 0;
    if (shared_by == 1 || !is_word(name, "head") ||
        !selection_range(&first, &last, number.at, number.size, config->n_head))
        return 0;
    size_t kv_head = (size_t)first / shared_by;
    return err_usage(reader->err,
                     "%s: expected kv_head=%zu, since '%s' of head %td is kv_head %zu, shared by "
                     "%s, found head=%.*s",
                     reader->words, kv_head, site_name(reader->edit.site), first, kv_head,
                     heads_sharing(heads, -1, kv_head, shared_by), (int)number.size, number.at);
}

/* Parse positions such as head=6,token=-1,3. A number without the name of an axis, like this 3,
 * belongs to the axis that was named last. */
static int parse_positions(struct edit_reader *reader, struct edit_piece text)
{
    struct edit_axis axis = {NULL, 0, NULL};
    const char *end = text.at + text.size;
    for (const char *at = text.at; at <= end;) {
        struct edit_piece piece = next_piece(&at, end);
        const char *sign = memchr(piece.at, '=', piece.size);
        struct edit_piece name = trim(piece.at, sign ? sign : piece.at + piece.size);
        struct edit_piece rest = sign ? trim(sign + 1, piece.at + piece.size) : piece;
        if ((sign || !axis.name) &&
            (check_head(reader, name, rest) || choose_axis(&axis, reader, name)))
            return -1;
        if (sign && axis.indices->count)
            return err_usage(reader->err, "%s: expected each %s once, found it again: %.*s",
                             reader->words, axis.name, (int)piece.size, piece.at);
        const int failed = parse_named_heads(reader, &axis, rest);
        if (failed < 0 || (failed && add_position(reader, &axis, rest)))
            return -1;
    }
    return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

/* View an array as [heads, tokens, columns], or without heads if the site has none. An axis that
 * the array lacks, or a single head or token, gets stride 0: its values repeat. */
static int view_file(struct tensor *values, const struct edit *edit, const struct npy *array,
                     const size_t sizes[3], struct err *err)
{
    struct buf found = {0};
    struct npy one = *array;
    size_t stride = 1;
    bool has_heads = site_has_heads(edit->site);
    bool has_batch = array->rank == 3 + (size_t)has_heads && array->shape[0] == 1;
    if (has_batch) {
        memmove(one.shape, one.shape + 1, --one.rank * sizeof *one.shape);
        array = &one;
    }
    bool fits = array->rank <= 2 + (size_t)has_heads;
    *values = (struct tensor){.data = array->data, .rank = 2 + has_heads};
    for (size_t i = 0; i < values->rank; i++) {
        size_t axis = values->rank - 1 - i;
        size_t wanted = sizes[2 - i];
        bool given = i < array->rank;
        size_t size = given ? array->shape[array->rank - 1 - i] : SIZE_MAX;
        bool single = i > 0 && size == 1;
        fits = fits && (!given || !wanted || single || size == wanted);
        values->shape[axis] = single ? SIZE_MAX : size;
        values->stride[axis] = given && !single ? stride : 0;
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

/* A tensor of a file, or an array of the calling program, before its conversion to float32. */
struct numbers_read {
    const char *name;
    const size_t *shape; /* [rank] size of each axis */
    size_t rank;
    const void *data;
    enum dtype dtype;
};

/* Convert a tensor of a file, or an array of the calling program, to float32. */
static int copy_array(struct npy *array, const struct numbers_read *from, struct arena *arena,
                      struct err *err)
{
    size_t count = 1;
    if (!dtype_is_weight(from->dtype) || dtype_is_quantised(from->dtype))
        return err_set(err, "tensor '%s': expected F16, BF16, F32 or F64, found %s", from->name,
                       dtype_name(from->dtype));
    if (from->rank > NPY_RANK_MAX)
        return err_set(err, "tensor '%s': expected at most %d axes, found %zu", from->name,
                       NPY_RANK_MAX, from->rank);
    for (size_t i = 0; i < from->rank; i++)
        count *= array->shape[i] = from->shape[i];
    float *numbers = arena_room(arena, count, sizeof *numbers, err);
    if (!numbers)
        return -1;
    dtype_to_float(numbers, from->data, from->dtype, count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return err_set(err,
                           "tensor '%s': expected finite numbers, found infinity or nan at %zu",
                           from->name, i);
    array->rank = from->rank;
    array->data = numbers;
    return 0;
}

/* Read the site's tensor of each layer, such as h.2.context, or the tensor `named` for all
 * layers. */
static int read_safetensors(struct npy *arrays, size_t layers, const struct edit_reader *reader,
                            const char *path, const char *named)
{
    struct arena *arena = reader->list->arena;
    enum site site = reader->edit.site;
    const char *slash = strrchr(path, '/');
    struct safetensors tensors;
    const struct folder folder = {
        .path = slash ? arena_text(arena, path, (size_t)(slash - path) + 1, reader->err) : "."};
    int failed = 0;
    if (!folder.path || safetensors_open(&tensors, &folder, slash ? slash + 1 : path, reader->err))
        return -1;
    for (size_t i = 0; i < layers && !failed; i++) {
        char own[SITE_NAME_BYTES];
        const char *name = named ? named : site_tensor_name(own, site, (int)i);
        const struct safetensors_entry *entry = safetensors_find(&tensors, name);
        if (!entry && named)
            failed = err_set(reader->err, "'%s': expected a tensor '%s', found none", path, named);
        if (!entry)
            continue;
        const struct numbers_read from = {name, entry->shape, entry->rank, entry->data,
                                          entry->dtype};
        failed = copy_array(&arrays[i], &from, arena, reader->err) &&
                 err_prefix(reader->err, "'%s'", path);
    }
    safetensors_release(&tensors);
    return err_if(failed);
}

/* Read a control vector of llama.cpp: its tensor direction.L is added to the output of layer L. */
static int read_control_vector(struct npy *arrays, size_t layers, const struct edit_reader *reader,
                               const char *path)
{
    struct gguf gguf = {0};
    if (site_id(reader->edit.site) != SITE_RESID_POST)
        return err_usage(reader->err, "'%s': a control vector is added to resid_post, not to '%s'",
                         path, site_name(reader->edit.site));
    int failed = gguf_open(&gguf, path, reader->err);
    for (size_t i = 0; i < layers && !failed; i++) {
        char name[SHEET_NAME_BYTES];
        snprintf(name, sizeof name, "direction.%zu", i);
        const struct gguf_tensor *tensor = gguf_find(&gguf, name);
        struct numbers_read from = {.name = name};
        if (tensor)
            from = (struct numbers_read){name, tensor->sizes, tensor->rank,
                                         gguf.file.bytes + tensor->begin, DTYPE_BOOL};
        if (tensor && dtype_find(tensor->type->name, &from.dtype))
            failed = copy_array(&arrays[i], &from, reader->list->arena, reader->err) &&
                     err_prefix(reader->err, "'%s'", path);
        else if (tensor)
            failed =
                err_set(reader->err, "'%s': tensor '%s': expected F16, BF16, F32 or F64, found %s",
                        path, name, tensor->type->name);
    }
    gguf_release(&gguf);
    return err_if(failed);
}

/* If the edit names no layers, add the layers that the file has; otherwise refuse a file that lacks
 * a tensor of a named layer. A file without any tensor of the site is an error. */
static int choose_file_layers(struct edit_reader *reader, const struct npy *arrays, size_t layers,
                              const char *path)
{
    struct edit *edit = &reader->edit;
    bool is_given = edit->layers.count;
    const struct edit_axis axis = layer_axis(reader);
    size_t found = 0;
    for (size_t i = 0; i < layers; i++) {
        char number[NUM_COUNT_BYTES];
        const struct edits one = {edit, 1};
        int size = snprintf(number, sizeof number, "%zu", i);
        found += arrays[i].data != NULL;
        if (is_given && !arrays[i].data && edits_have(&one, edit->site, i))
            return err_set(reader->err, "'%s': expected a tensor for layer %zu, found none", path,
                           i);
        if (!is_given && site_row(edit->site)->in_layer && arrays[i].data &&
            add_range(reader, &axis, (struct edit_piece){number, (size_t)size}))
            return -1;
    }
    return found ? 0
                 : err_set(reader->err, "'%s': expected tensors named like '%s', found none", path,
                           site_name(edit->site));
}

static const struct edit_value *find_value(const struct edit_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->items[i].name, name) == 0)
            return &values->items[i];
    return NULL;
}

/* The parts of a value [NUMBER *] FILE[:TENSOR] or [NUMBER *] DICTIONARY#FEATURE. */
struct file_value {
    const char *feature; /* number of a feature, after `#`; NULL: the value is not a feature */
    const char *star;    /* the `*` after NUMBER; NULL: the value has no NUMBER */
    const char *path;    /* [path_size] path of the file or dictionary */
    size_t path_size;
    const char *named; /* name of the tensor; NULL: not given */
    bool is_file;      /* the value names a file or dictionary, and the edit's sign is not `*` */
};

/* Compute the direction of a feature of a dictionary. */
static int read_direction(struct npy *array, const struct edit_reader *reader, const char *path,
                          const char *feature)
{
    struct arena *arena = reader->list->arena;
    struct err *err = reader->err;
    struct dictionary dictionary;
    struct dictionary_request request;
    long long number = 0;
    if (dictionary_request_read(&request, path, arena, err) ||
        dictionary_open(&dictionary, &request, reader->config, err))
        return -1;
    float *w = arena_alloc(arena, dictionary.out, sizeof *w, err);
    *array = (struct npy){.rank = 1, .shape = {dictionary.out}, .data = w};
    int failed = !w;
    if (!failed && !num_parse_integer(feature, 0, (long long)dictionary.count - 1, &number))
        failed = err_usage(err, "expected a feature from 0 to %zu, found #%s", dictionary.count - 1,
                           feature);
    if (!failed)
        dictionary_direction(&dictionary, w, (size_t)number, NULL);
    dictionary_release(&dictionary);
    return err_if(failed);
}

/* Read the edit's value from a file, a dictionary or the calling program. Files of named tensors
 * have an array for each layer; otherwise one array serves every layer. */
static int open_file(struct edit_reader *reader, const char *path, const struct file_value *form)
{
    struct arena *arena = reader->list->arena;
    struct err *err = reader->err;
    struct edit *edit = &reader->edit;
    size_t layers = site_layers(reader->config, edit->site);
    const struct edits one = {edit, 1};
    struct edit_donor *donor = arena_alloc(arena, 1, sizeof *donor, err);
    struct tensor *values = arena_alloc(arena, layers, sizeof *values, err);
    struct npy *arrays = arena_alloc(arena, layers, sizeof *arrays, err);
    const struct edit_value *value = find_value(&reader->list->values, path);
    if (value && value->function) {
        edit->function = value->function;
        edit->context = value->context;
        return edit->op == EDIT_ADD ? err_usage(err, "expected SITE = %s, a function", path) : 0;
    }
    if (site_axes(edit->site) == AXES_HEAD_QUERY_KEY)
        return err_usage(err, "'%s' applies only to tensors with channels, not to '%s'", path,
                         site_name(edit->site));
    if (!donor || !values || !arrays)
        return -1;
    bool by_layer = !value && !form->feature && !name_ends_in(path, ".npy");
    struct numbers_read given = {.name = path};
    if (value)
        given = (struct numbers_read){path, value->array.shape, value->array.rank,
                                      value->array.data, DTYPE_F32};
    if (value                         ? copy_array(arrays, &given, arena, err)
        : form->feature               ? read_direction(arrays, reader, path, form->feature)
        : !by_layer                   ? npy_read(arrays, path, arena, err)
        : name_ends_in(path, ".gguf") ? read_control_vector(arrays, layers, reader, path)
                                      : read_safetensors(arrays, layers, reader, path, form->named))
        return -1;
    if (by_layer && choose_file_layers(reader, arrays, layers, path))
        return -1;
    for (size_t i = 0; i < layers; i++) {
        const struct npy *array = &arrays[by_layer ? i : 0];
        const size_t sizes[] = {site_heads(reader->config, edit->site, i), 0,
                                site_columns(reader->config, edit->site, i)};
        if (!array->data || !edits_have(&one, edit->site, i))
            continue;
        if (view_file(&values[i], edit, array, sizes, err))
            return err_prefix(err, "'%s'", path);
        size_t tokens = values[i].shape[values[i].rank - 2];
        if (donor->longest && donor->longest != tokens)
            return err_set(err, "'%s': expected as many tokens in each layer, found others", path);
        *donor =
            (struct edit_donor){.values = values, .count = 1, .longest = tokens, .exact = true};
    }
    edit->donor = donor;
    return 0;
}

static struct file_value split_file(char sign, const char *text)
{
    static const char *const endings[] = {".npy", ".gguf", ".safetensors"};
    struct file_value value = {.star = sign == '+' ? strchr(text, '*') : NULL};
    value.path = value.star ? value.star + 1 + strspn(value.star + 1, " ") : text;
    const char *name = strstr(value.path, ".safetensors:");
    value.path_size =
        name ? (size_t)(name - value.path) + strlen(".safetensors") : strlen(value.path);
    value.named = name ? value.path + value.path_size + 1 : NULL;
    value.is_file = name;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        value.is_file |= name_ends_in(text, endings[i]);
    const char *mark = strrchr(value.path, '#');
    if (mark && mark[1] && mark[1 + strspn(mark + 1, "0123456789")] == '\0') {
        value.feature = mark + 1;
        value.path_size = (size_t)(mark - value.path);
        value.is_file = true;
    }
    value.is_file &= sign != '*';
    return value;
}

/* Read [NUMBER *] FILE or DICTIONARY#FEATURE, or a value of the calling program. Returns 1 if
 * `text` is none of these, or if the sign is `*`. */
static int read_file(struct edit_reader *reader, char sign, const char *text)
{
    struct edit *edit = &reader->edit;
    const struct file_value value = split_file(sign, text);
    double number = 1;
    if (sign == '*' || !(value.is_file || find_value(&reader->list->values, value.path)))
        return 1;
    if (value.star) {
        struct edit_piece before = trim(text, value.star);
        const char *factor = arena_text(reader->list->arena, before.at, before.size, reader->err);
        if (!factor || !num_parse_double(factor, -(double)FLT_MAX, (double)FLT_MAX, &number))
            return err_usage(reader->err, "%s: expected NUMBER * FILE, found '%s'", reader->words,
                             text);
    }
    edit->op = sign == '+' ? EDIT_ADD : EDIT_TAKE;
    edit->number = (float)number;
    if (reader->list->like) { /* `like` has the same edit: reuse the values that it read */
        const struct edit *like = &reader->list->like->items[reader->list->edits.count];
        edit->layers = like->layers;
        edit->function = like->function;
        edit->context = like->context;
        return 0;
    }
    const char *path = arena_text(reader->list->arena, value.path, value.path_size, reader->err);
    if (!path || open_file(reader, path, &value))
        return err_prefix(reader->err, "%s", reader->words);
    return 0;
}

static int parse_value(struct edit_reader *reader, char sign, struct edit_piece value)
{
    static const char resample[] = "resample:";
    const char *text = arena_text(reader->list->arena, value.at, value.size, reader->err);
    struct edit *edit = &reader->edit;
    double number = 0;
    long long seed = 0;
    if (!text)
        return -1;
    int failed = read_file(reader, sign == '-' ? '=' : sign, text);
    if (sign == '-') {
        edit->op = EDIT_PROJECT;
        if (!failed && (edit->function || edit->columns.count))
            return err_usage(reader->err, "%s: expected a vector and all channels, found %s",
                             reader->words, edit->function ? "a function" : "some channels");
        return failed <= 0
                   ? failed
                   : err_usage(reader->err, "%s: expected - proj(FILE.npy), a vector, found '%s'",
                               reader->words, text);
    }
    if (failed <= 0)
        return failed;
    if (num_parse_double(text, -(double)FLT_MAX, (double)FLT_MAX, &number)) {
        edit->op = sign == '*' ? EDIT_SCALE : sign == '+' ? EDIT_ADD : EDIT_SET;
        edit->number = (float)number;
        return 0;
    }
    edit->op = EDIT_TAKE;
    if (sign == '=' && strcmp(text, "mean") == 0)
        reader->value_origin.origin = EDIT_MEAN;
    else if (sign == '=' && strcmp(text, "from") == 0)
        reader->value_origin.origin = EDIT_FROM;
    else if (sign == '=' && strncmp(text, resample, sizeof resample - 1) == 0 &&
             num_parse_integer(text + sizeof resample - 1, 0, LLONG_MAX, &seed))
        reader->value_origin = (struct value_origin){EDIT_RESAMPLE, (uint64_t)seed};
    else
        return err_usage(reader->err, "%s: expected %s after '%c', found '%s'", reader->words,
                         sign == '*' ? "a number"
                         : sign == '+'
                             ? "a number, or [NUMBER *] a file (.npy, .safetensors, .gguf)"
                             : "a number, mean, resample:SEED, from or a file (.npy, "
                               ".safetensors, .gguf)",
                         sign, text);
    return 0;
}

/* --- the three options ------------------------------------------------------------------------ */

/* Add the edit to the list. It is an error if none of the edit's layers has the site: for example,
 * a site of experts in layers without experts. */
static int append(struct edit_reader *reader)
{
    struct edit *edit = &reader->edit;
    const struct edit_range *range = edit->layers.items;
    bool found = !edit->layers.count;
    for (size_t i = 0; i < edit->layers.count; i++)
        for (ptrdiff_t layer = range[i].first; layer <= range[i].last; layer++)
            found |= site_is_in_layer(reader->config, edit->site, (size_t)layer);
    if (!found)
        return err_usage(reader->err, "%s: layer %zu has no '%s'", reader->words,
                         (size_t)range->first, site_name(edit->site));

    struct edit_list *list = reader->list;
    size_t count = list->edits.count;
    list->items = arena_grow(list->arena, list->items, count, sizeof *list->items, reader->err);
    list->value_origins = arena_grow(list->arena, list->value_origins, count,
                                     sizeof *list->value_origins, reader->err);
    if (!list->items || !list->value_origins)
        return -1;
    edit->words = reader->words;
    if (list->like)
        edit->donor = list->like->items[count].donor;
    list->items[count] = *edit;
    list->value_origins[count] = reader->value_origin;
    list->origins |= 1u << reader->value_origin.origin;
    list->edits = (struct edits){list->items, count + 1};
    return 0;
}

/* Return a site's name without its layer: `q` for `h.9.q`, `enc.q` for `enc.0.q`. `*dot` is the dot
 * after the layer; NULL: the name has no layer. */
static const char *name_after_layer(const char **dot, struct edit_reader *reader,
                                    struct edit_piece name)
{
    bool encoder = name.size > 4 && memcmp(name.at, "enc.", 4) == 0;
    size_t skip = encoder ? 4 : 2;
    bool in_layer = name.size > skip && (encoder || memcmp(name.at, "h.", 2) == 0);
    *dot = in_layer ? memchr(name.at + skip, '.', name.size - skip) : NULL;
    const char *rest = *dot ? *dot + 1 : name.at;
    return arena_format(reader->list->arena, reader->err, "%s%.*s", *dot && encoder ? "enc." : "",
                        (int)(name.at + name.size - rest), rest);
}

/* Parse a site: `h.9.context`, `enc.0.weights`, a name without layer, or another program's name. */
static int parse_site(struct edit_reader *reader, struct edit_piece name)
{
    enum site *site = &reader->edit.site;
    struct err *err = reader->err;
    const char *dot = NULL, *plain = name_after_layer(&dot, reader, name);
    char own[SITE_NAME_BYTES];
    int layer = -1;
    const struct site_word word = {reader->words, name.at, name.size, false};
    if (plain && !site_find(plain, strlen(plain), site) &&
        selection_other_name(site, &layer, &word, reader->config, reader->list->note, err)) {
        site_tensor_name(own, *site, layer);
        name = (struct edit_piece){own, strlen(own)};
        plain = name_after_layer(&dot, reader, name);
    }
    if (!plain || err->kind ||
        selection_site(site, &(struct site_word){reader->words, plain, strlen(plain), false},
                       reader->config, err))
        return -1;
    if (dot && !site_row(*site)->in_layer)
        return err_usage(err, "%s: expected '%s' without a layer, since no layer contains it",
                         reader->words, site_name(*site));
    const struct edit_axis layers = layer_axis(reader);
    for (const char *at = name.at + strcspn(name.at, ".") + 1; dot && at <= dot;)
        if (add_range(reader, &layers, next_piece(&at, dot)))
            return -1;
    return 0;
}

/* Return the sign after SITE[POSITIONS]; `*open` and `*close` get the brackets, or NULL. */
static const char *find_sign(const char *text, const char **open, const char **close)
{
    *open = strchr(text, '[');
    *close = *open ? strchr(*open, ']') : NULL;
    const char *after = *close ? *close + 1 : text, *minus = strstr(after, "- proj(");
    const char *sign = after + (*close ? strspn(after, " ") : strcspn(after, "=*+"));
    return minus && minus < sign ? minus : sign;
}

/* Return the value after a sign, without `proj(` and `)`. */
static struct edit_piece value_after(const char *sign)
{
    struct edit_piece value = trim(*sign ? sign + 1 : sign, sign + strlen(sign));
    if (*sign == '-' && value.at[value.size - 1] == ')')
        value = trim(value.at + strlen("proj("), value.at + value.size - 1);
    return value;
}

/* Parse the new value of features: a number, mean, from or decoded. */
static int parse_feature_value(struct edit_reader *reader, char sign, struct edit_piece value)
{
    const char *text = arena_text(reader->list->arena, value.at, value.size, reader->err);
    struct feature_edit *features = reader->features;
    double number = 0;
    if (!text)
        return -1;
    features->op = sign == '*' ? EDIT_SCALE : sign == '+' ? EDIT_ADD : EDIT_SET;
    features->decoded = sign == '=' && strcmp(text, "decoded") == 0;
    features->is_mean = sign == '=' && strcmp(text, "mean") == 0;
    if (num_parse_double(text, -(double)FLT_MAX, (double)FLT_MAX, &number)) {
        features->number = (float)number;
        return sign == '-' ? err_usage(reader->err, "%s: expected = * or + before %s, found -",
                                       reader->words, text)
                           : 0;
    }
    if (features->is_mean || (sign == '=' && strcmp(text, "from") == 0)) {
        reader->value_origin.origin = features->is_mean ? EDIT_RESAMPLE : EDIT_FROM;
        features->op = EDIT_TAKE;
        return 0;
    }
    if (features->decoded && features->features.count)
        return err_usage(reader->err, "%s: expected 'features = decoded' without features",
                         reader->words);
    return features->decoded
               ? 0
               : err_usage(reader->err, "%s: expected %s after '%c', found '%s'", reader->words,
                           sign == '=' ? "a number, mean, from or decoded" : "a number", sign,
                           text);
}

/* Parse `features[feature=27,token=-1] = 0`, and append an edit for each dictionary of the list. */
static int parse_features(struct edit_reader *reader, struct edit_piece positions, char sign,
                          struct edit_piece value)
{
    struct edit_list *list = reader->list;
    if (!list->dictionary_count)
        return err_usage(reader->err,
                         "%s: expected --sae DIR, the folder of a sparse autoencoder, found none",
                         reader->words);
    for (size_t i = 0; i < list->dictionary_count; i++) {
        const struct dictionary *dictionary = &list->dictionaries[i];
        struct feature_edit *features = arena_alloc(list->arena, 1, sizeof *features, reader->err);
        const bool in_layer = site_row(dictionary->site)->in_layer;
        const ptrdiff_t layer = (ptrdiff_t)dictionary->layer;
        struct edit_range *layers = arena_alloc(list->arena, 1, sizeof *layers, reader->err);
        if (!features || !layers || feature_edit_check(dictionary, reader->words, reader->err))
            return -1;
        *layers = (struct edit_range){layer, layer};
        *features = (struct feature_edit){.dictionary = dictionary};
        reader->features = features;
        reader->edit = (struct edit){.site = dictionary->site,
                                     .layers = {in_layer ? layers : NULL, in_layer},
                                     .function = feature_edit_apply,
                                     .context = features};
        if ((positions.at && parse_positions(reader, positions)) ||
            parse_feature_value(reader, sign, value))
            return -1;
        if (list->like) {
            const struct feature_edit *like = list->like->items[list->edits.count].context;
            features->taken = like->taken;
            features->rows = like->rows;
        }
        if (append(reader))
            return -1;
    }
    return 0;
}

static int parse_words(struct edit_reader *reader, const char *text)
{
    const char *end = text + strlen(text), *open = NULL, *close = NULL;
    const char *sign = find_sign(text, &open, &close);
    if ((open && !close) || sign >= end || !strchr("=*+-", *sign))
        return err_usage(reader->err,
                         "%s: expected SITE[POSITIONS] = VALUE, * NUMBER, + VALUE or - proj(FILE), "
                         "such as "
                         "'h.0.context[head=1,token=-1] = 0'",
                         reader->words);
    const struct edit_piece site = trim(text, open ? open : sign);
    if (is_word(site, "features"))
        return parse_features(reader, open ? trim(open + 1, close) : (struct edit_piece){NULL, 0},
                              *sign, value_after(sign));
    return err_if(parse_site(reader, site) ||
                  (open && parse_positions(reader, trim(open + 1, close))) ||
                  parse_value(reader, *sign, value_after(sign)) || append(reader));
}

static int parse_ablation(struct edit_reader *reader, const char *text)
{
    const char *sign = strchr(text, '=');
    const char *end = sign ? sign : text + strlen(text);
    reader->edit = (struct edit){.site = SITE_CONTEXT, .op = EDIT_SET};
    if (sign && parse_value(reader, '=', trim(sign + 1, text + strlen(text))))
        return -1;
    for (const char *at = text; at <= end;) {
        struct edit_piece piece = next_piece(&at, end);
        reader->edit.layers = reader->edit.heads = (struct edit_indices){NULL, 0};
        if (parse_heads(reader, piece) || append(reader))
            return -1;
    }
    return 0;
}

/* True if all keys of an edit come after all its queries. False if a key is counted from the start
 * of the text and a query from its end, or vice versa. */
static bool is_ahead(const struct edit *edit)
{
    bool ahead = true;
    for (size_t i = 0; i < edit->tokens.count; i++)
        for (size_t k = 0; k < edit->columns.count; k++) {
            ptrdiff_t query = edit->tokens.items[i].last, key = edit->columns.items[k].first;
            ahead &= (query < 0) == (key < 0) && key > query;
        }
    return ahead;
}

/* Parse QUERY:KEY, after an optional layer or head: 4:2, L9:4:2 or L9H6:4:2. */
static int parse_knockout(struct edit_reader *reader, const char *text)
{
    struct edit *edit = &reader->edit;
    const struct edit_axis queries = {"query", 0, &edit->tokens};
    const struct edit_axis keys = {"key", 0, &edit->columns, config_is_cross(reader->config)};
    const char *end = text + strlen(text);
    const char *masked = site_name(SITE_MASKED);
    const struct site_word word = {reader->words, masked, strlen(masked), false};
    enum site site;
    if (selection_site(&site, &word, reader->config, reader->err))
        return -1; /* the model has no attention */
    for (const char *at = text; at <= end;) {
        struct edit_piece piece = next_piece(&at, end);
        const char *second = platform_last_byte(piece.at, ':', piece.size);
        const char *first =
            second ? platform_last_byte(piece.at, ':', (size_t)(second - piece.at)) : NULL;
        *edit = (struct edit){.site = SITE_MASKED, .op = EDIT_FORBID};
        if (!second)
            return err_usage(reader->err, "%s: expected QUERY:KEY such as 4:2, found '%.*s'%s",
                             reader->words, (int)piece.size, piece.at,
                             memchr(piece.at, '.', piece.size) ? ": --ablate L1H3 removes a head"
                                                               : "");
        if ((first && parse_heads(reader, trim(piece.at, first))) ||
            add_position(reader, &queries, trim(first ? first + 1 : piece.at, second)) ||
            add_position(reader, &keys, trim(second + 1, piece.at + piece.size)))
            return -1;
        bool is_known = !reader->list->by_text || reader->list->tokens_of;
        const struct sublayer *attention = first_attention(reader->config, BRANCH_TEXT);
        bool causal = attention && attention->score.ahead == 0;
        if (is_known && causal && is_ahead(edit))
            return err_usage(reader->err,
                             "%s: expected a key no later than the query, which cannot attend to "
                             "others, found '%.*s'",
                             reader->words, (int)piece.size, piece.at);
        if (append(reader))
            return -1;
    }
    return 0;
}

int edit_files(const char *edit, int (*use)(void *context, const char *path, struct err *err),
               void *context, struct arena *arena, struct err *err)
{
    for (const char *at = edit; *at; at += at[0] == ';') {
        const char *open = NULL, *close = NULL;
        size_t size = strcspn(at, ";");
        const char *part = arena_text(arena, at, size, err);
        const char *sign = part ? find_sign(part, &open, &close) : "";
        struct edit_piece words = value_after(sign);
        const char *text = part ? arena_text(arena, words.at, words.size, err) : NULL;
        struct file_value value = text ? split_file(*sign, text) : (struct file_value){0};
        const char *path = text ? arena_text(arena, value.path, value.path_size, err) : NULL;
        if (!path || (value.feature   ? dictionary_files(path, use, context, arena, err)
                      : value.is_file ? use(context, path, err)
                                      : 0))
            return -1;
        at += size;
    }
    return 0;
}

int edit_list_add(struct edit_list *list, enum edit_form form, const char *text, struct err *err)
{
    static const struct {
        const char *option, *separator;
        int (*read)(struct edit_reader *, const char *);
    } forms[] = {
        [EDIT_WORDS] = {"--edit", ";", parse_words},
        [EDIT_ABLATION] = {"--ablate", "", parse_ablation},
        [EDIT_KNOCKOUT] = {"--knockout", "", parse_knockout},
    };
    for (;; text++) {
        struct edit_reader reader = {.list = list, .config = list->config, .err = err};
        size_t size = *forms[form].separator ? strcspn(text, forms[form].separator) : strlen(text);
        const char *part = arena_text(list->arena, text, size, err);
        reader.words =
            part ? arena_format(list->arena, err, "%s '%s'", forms[form].option, part) : NULL;
        if (!reader.words || forms[form].read(&reader, part))
            return -1;
        text += size;
        if (*text == '\0')
            return 0;
    }
}

/* --- values of other texts -------------------------------------------------------------------- */

enum { STORE_BYTES = 256 << 20 };

struct edit_stored {
    const char *key;
    enum site site;
    enum edit_origin origin;
    struct edit_donor donor;
};

struct gathering {
    struct edit_list *list;
    struct viewer *viewer;
    struct selection selection;
    struct text_mean mean;
    bool stores;         /* true: the values of all layers go to the store */
    struct arena *arena; /* owns the values: the arena of the store or of the list */
    struct arena pass;   /* memory of one pass */
    struct err *err;
};

/* Return the values of an edit in the store; NULL: the store does not have them. */
static const struct edit_stored *find_stored(const struct edit_list *list, size_t edit)
{
    const struct edit_store *store = list->store;
    for (size_t i = 0; store && i < store->count; i++) {
        const struct edit_stored *stored = &store->items[i];
        if (stored->site == list->items[edit].site &&
            stored->origin == list->value_origins[edit].origin &&
            strcmp(stored->key, list->key) == 0)
            return stored;
    }
    return NULL;
}

bool edit_list_is_stored(const struct edit_list *list)
{
    for (size_t i = 0; i < list->edits.count; i++)
        if (list->value_origins[i].origin != EDIT_NUMBER && !find_stored(list, i))
            return false;
    return true;
}

void edit_store_release(struct edit_store *store)
{
    arena_release(&store->arena);
    *store = (struct edit_store){0};
}

/* Return how many arrays an edit needs in a layer: 1 or, for `= resample`, one for each
 * reference text. */
static size_t count_texts(const struct edit_list *list, size_t edit, const struct edit_texts *texts)
{
    return list->value_origins[edit].origin == EDIT_RESAMPLE ? texts->reference_count : 1;
}

/* Decide if the values of all layers go to the store: set `stores` if they fit into it, and `arena`
 * to the arena that owns them. */
static void choose_store(struct gathering *gathering, const struct edit_texts *texts,
                         size_t longest)
{
    const struct config *c = &gathering->viewer->model.config;
    struct edit_list *list = gathering->list;
    const struct text_with_source *first = texts->from ? texts->from : texts->reference;
    size_t source = first ? first->source.count : 0;
    double bytes = 0;
    for (size_t i = 0; list->store && i < list->edits.count; i++) {
        enum site site = list->items[i].site;
        size_t cells = 0;
        if (list->value_origins[i].origin == EDIT_NUMBER || find_stored(list, i))
            continue;
        bytes += site_size(&cells, c, site, c->n_head, longest, source)
                     ? (double)cells * sizeof(float) * (double)site_layers(c, site) *
                           (double)count_texts(list, i, texts)
                     : INFINITY;
    }
    gathering->stores = list->store && list->store->bytes + bytes <= STORE_BYTES;
    gathering->arena = gathering->stores ? &list->store->arena : list->arena;
    if (gathering->stores)
        list->store->bytes += bytes;
}

/* Create a donor for each edit that uses values of other texts; keep() fills the donors that the
 * store does not have. Also select the tensors to capture: the edited sites, in the edited layers
 * or, with an encoder or for the store, in all layers. */
static int make_donors(struct gathering *gathering, const struct edit_texts *texts)
{
    const struct config *c = &gathering->viewer->model.config;
    struct edit_list *list = gathering->list;
    struct selection *selection = &gathering->selection;
    struct err *err = gathering->err;
    size_t longest = 0;
    size_t *layers = arena_alloc(list->arena, c->n_layer, sizeof *layers, err);
    bool *edited = arena_alloc(list->arena, c->n_layer, sizeof *edited, err);
    for (size_t i = 0; i < texts->reference_count; i++)
        longest = num_max(longest, texts->reference[i].text.count);
    choose_store(gathering, texts,
                 texts->from ? num_max(longest, texts->from->text.count) : longest);
    for (size_t i = 0; i < list->edits.count; i++) {
        enum site site = list->items[i].site;
        enum edit_origin origin = list->value_origins[i].origin;
        const struct edit_stored *stored = find_stored(list, i);
        size_t count = count_texts(list, i, texts);
        const struct edits one = {&list->items[i], 1};
        if (origin == EDIT_NUMBER)
            continue;
        struct edit_donor *donor = arena_alloc(list->arena, 1, sizeof *donor, err);
        struct tensor *values = stored ? NULL
                                       : arena_alloc(gathering->arena, site_layers(c, site) * count,
                                                     sizeof *values, err);
        if (err->kind)
            return -1;
        *donor = stored ? stored->donor
                        : (struct edit_donor){
                              .values = values,
                              .count = count,
                              .longest = site_is_of_source(site) ? SIZE_MAX
                                         : origin == EDIT_FROM   ? texts->from->text.count
                                                                 : longest,
                              .exact = origin == EDIT_FROM,
                          };
        donor->seed = list->value_origins[i].seed;
        list->items[i].donor = donor;
        if (stored)
            continue;
        site_set_add(&selection->sites, site);
        for (size_t layer = 0; layer < c->n_layer; layer++)
            edited[layer] |= edits_have(&one, site, layer);
    }
    if (has_encoder(c) || gathering->stores)
        return selection_layers(selection, NULL, c, list->arena, err);
    selection->layers.items = layers;
    for (size_t layer = 0; layer < c->n_layer && edited && layers; layer++)
        if (edited[layer])
            layers[selection->layers.count++] = layer;
    return err_if(err->kind);
}

static int store_values(const struct gathering *gathering)
{
    const struct edit_list *list = gathering->list;
    struct edit_store *store = list->store;
    const char *key = arena_text(&store->arena, list->key, strlen(list->key), gathering->err);
    for (size_t i = 0; key && i < list->edits.count; i++) {
        if (list->value_origins[i].origin == EDIT_NUMBER || find_stored(list, i))
            continue;
        struct edit_stored *items =
            arena_grow(&store->arena, store->items, store->count, sizeof *items, gathering->err);
        if (!items)
            return -1;
        store->items = items;
        items[store->count++] = (struct edit_stored){
            key, list->items[i].site, list->value_origins[i].origin, *list->items[i].donor};
    }
    return key ? 0 : -1;
}

/* Copy the tensors of a text to the donors of all edits whose values have the origin `origin`.
 * `number`: index of the text among the texts of this origin. */
static int keep(struct gathering *gathering, const struct report *report, enum edit_origin origin,
                size_t number)
{
    const struct edit_list *list = gathering->list;
    for (const struct array *array = report->arrays; array < report->arrays + report->array_count;
         array++) {
        size_t layer = array->layer < 0 ? 0 : (size_t)array->layer;
        float *data = NULL;
        for (size_t i = 0; i < list->edits.count; i++) {
            const struct edit_donor *donor = list->items[i].donor;
            if (list->value_origins[i].origin != origin || list->items[i].site != array->site)
                continue;
            size_t cells = array_cells(array);
            if (!data) {
                data = arena_room(gathering->arena, cells, sizeof *data, gathering->err);
                if (!data)
                    return -1;
                memcpy(data, array->data, cells * sizeof *data);
            }
            struct tensor *values = (struct tensor *)donor->values;
            values[layer * donor->count + number] = array_tensor(array);
            values[layer * donor->count + number].data = data;
        }
    }
    return 0;
}

/* Run the reference texts, then the text of `= from`; keep their values and, for `= mean`, the mean
 * over the reference texts. */
static int gather(struct gathering *gathering, const struct edit_texts *texts)
{
    struct report report;
    struct text_mean *mean = &gathering->mean;
    struct err *err = gathering->err;
    size_t references = texts->reference_count;
    bool has_mean = gathering->list->origins >> EDIT_MEAN & 1;
    for (size_t i = 0; i < references; i++)
        mean->longest = num_max(mean->longest, num_max(texts->reference[i].text.count,
                                                       texts->reference[i].source.count));
    for (size_t i = 0; i < references + (texts->from != NULL); i++) {
        bool is_from = i == references;
        size_t number = is_from ? 0 : i;
        const struct text_with_source *pair = is_from ? texts->from : &texts->reference[i];
        const struct capture_request asked = {
            &gathering->selection, pair, 1, number, &report, NULL};
        arena_clear(&gathering->pass);
        if (viewer_capture(gathering->viewer, &asked, &gathering->pass, err) ||
            keep(gathering, &report, is_from ? EDIT_FROM : EDIT_RESAMPLE, number) ||
            (has_mean && !is_from && text_mean_add(mean, &report, err)))
            return err_prefix(err, is_from ? "--from" : "--reference");
    }
    return err_if(has_mean &&
                  (text_mean_report(&report, mean, NULL, false, &gathering->pass, err) ||
                   keep(gathering, &report, EDIT_MEAN, 0)));
}

int edit_list_fill(struct edit_list *list, struct viewer *viewer, const struct edit_texts *texts,
                   struct err *err)
{
    struct gathering gathering = {.list = list, .viewer = viewer, .err = err};
    const struct edits *before = viewer->edits;
    viewer->edits = NULL;
    int failed = make_donors(&gathering, texts) ||
                 (!site_set_is_empty(gathering.selection.sites) &&
                  (gather(&gathering, texts) || (gathering.stores && store_values(&gathering))));
    for (size_t i = 0; i < list->edits.count && !failed; i++)
        if (list->items[i].function == feature_edit_apply &&
            list->value_origins[i].origin != EDIT_NUMBER)
            failed =
                feature_edit_fill(list->items[i].context, list->items[i].donor, list->arena, err);
    viewer->edits = before;
    text_mean_release(&gathering.mean);
    arena_release(&gathering.pass);
    return err_if(failed);
}
