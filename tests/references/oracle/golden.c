#include "golden.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "format/json.h"
#include "format/safetensors.h"

/* Tensors in expected.json that are not sites of the forward pass. */
static const char *const not_ours[] = {"mask_after_softmax", "mask_then_renormalise"};

static bool is_ours(const char *tensor)
{
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        if (strcmp(not_ours[i], tensor) == 0)
            return false;
    return true;
}

static int copy_text(const char **copy, const struct json *root, const char *name,
                     struct arena *arena, struct err *err)
{
    const char *text = NULL;
    if (json_text(root, name, &text, err))
        return -1;
    *copy = text ? arena_text(arena, text, strlen(text), err) : NULL;
    return text && !*copy ? -1 : 0;
}

static int read_ids(const uint32_t **ids, size_t *count, const struct json *list,
                    struct arena *arena, struct err *err)
{
    *count = list ? json_count(list) : 0;
    uint32_t *read = arena_alloc(arena, *count, sizeof *read, err);
    if (!read)
        return -1;
    const struct json *item = list ? json_first(list) : NULL;
    for (size_t i = 0; item; i++, item = json_next(item)) {
        long long id = 0;
        if (!json_get_integer(item, 0, UINT32_MAX, &id))
            return err_set(err, "id %zu: expected a whole number", i);
        read[i] = (uint32_t)id;
    }
    *ids = read;
    return 0;
}

/* A number, or "-inf". */
static bool read_number(double *number, const struct json *value)
{
    const char *text = NULL;
    *number = -HUGE_VAL;
    if (json_get_text(value, &text))
        return strcmp(text, "-inf") == 0;
    return json_get_number(value, number);
}

static int read_shape(struct golden_tensor *tensor, const struct json *shape, struct err *err)
{
    tensor->count = 1;
    for (const struct json *size = json_first(shape); size; size = json_next(size)) {
        long long extent = 0;
        if (tensor->rank == GOLDEN_RANK_MAX || !json_get_integer(size, 1, 1 << 20, &extent))
            return err_set(err, "expected a shape of at most %d axes", GOLDEN_RANK_MAX);
        tensor->shape[tensor->rank++] = (size_t)extent;
        tensor->count *= (size_t)extent;
    }
    return 0;
}

static int read_tensor(struct golden_tensor *tensor, const struct json *from, struct arena *arena,
                       struct err *err)
{
    const struct json *shape = json_member(from, "shape");
    const struct json *data = json_member(from, "data");
    if (!shape || !data || read_shape(tensor, shape, err))
        return err_set(err, "expected a shape and data");
    if (json_count(data) != tensor->count)
        return err_set(err, "expected %zu numbers, found %zu", tensor->count, json_count(data));
    tensor->values = arena_alloc(arena, tensor->count, sizeof *tensor->values, err);
    if (!tensor->values)
        return -1;
    const struct json *value = json_first(data);
    for (size_t i = 0; i < tensor->count; i++, value = json_next(value)) {
        if (!read_number(&tensor->values[i], value))
            return err_set(err, "number %zu: expected a number", i);
        if (isfinite(tensor->values[i]))
            tensor->largest = fmax(tensor->largest, fabs(tensor->values[i]));
    }
    return 0;
}

static bool is_site(const char *tensor, const char *site)
{
    const char *last = strrchr(tensor, '.');
    return strcmp(last ? last + 1 : tensor, site) == 0;
}

static double lead_of_chosen(const double *weights, const double *scores, size_t experts)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (size_t e = 0; e < experts; e++) {
        if (weights[e] != 0)
            least = fmin(least, scores[e]);
        else
            most = fmax(most, scores[e]);
    }
    return least - most;
}

/* The least lead of all tokens. (Scores that are corrected or grouped before the choice have
 * negative leads: not known.) */
static double least_lead(const struct golden_tensor *weights, const struct golden_tensor *router)
{
    double least = HUGE_VAL;
    size_t experts = weights->shape[weights->rank - 1];
    for (size_t i = 0; i < weights->count; i += experts) {
        double lead = lead_of_chosen(weights->values + i, router->values + i, experts);
        if (lead >= 0)
            least = fmin(least, lead / router->largest);
    }
    return least;
}

/* Tensors are in the order of the pass, the weights of the experts behind the router's scores. */
static void note_leads(struct golden_tensor *tensors, size_t count)
{
    double lead = HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && is_site(tensors[i].name, "expert_weights") &&
            is_site(tensors[i - 1].name, "router"))
            lead = fmin(lead, least_lead(&tensors[i], &tensors[i - 1]));
        tensors[i].lead = lead;
    }
}

static int read_tensors(struct golden *golden, const struct json *list, struct err *err)
{
    size_t most = list ? json_count(list) : 0;
    struct golden_tensor *tensors = arena_alloc(&golden->arena, most, sizeof *tensors, err);
    if (!tensors)
        return -1;
    golden->tensors = tensors;
    for (const struct json *item = list ? json_first(list) : NULL; item; item = json_next(item)) {
        const char *name = json_key(item);
        struct golden_tensor *tensor = &tensors[golden->tensor_count];
        if (!is_ours(name))
            continue;
        tensor->name = arena_text(&golden->arena, name, strlen(name), err);
        if (!tensor->name || read_tensor(tensor, item, &golden->arena, err))
            return err_prefix(err, "'%s'", name);
        golden->tensor_count++;
    }
    note_leads(tensors, golden->tensor_count);
    return golden->tensor_count ? 0 : err_set(err, "expected tensors, found none");
}

/* --- expected.safetensors: models without a vocabulary ---------------------------------------- */

static int take_tensor(struct golden_tensor *tensor, const struct safetensors_entry *entry,
                       struct arena *arena, struct err *err)
{
    tensor->name = arena_text(arena, entry->name, strlen(entry->name), err);
    tensor->values = arena_alloc(arena, entry->count, sizeof *tensor->values, err);
    if (!tensor->name || !tensor->values)
        return -1;
    const float *floats = safetensors_floats(entry);
    if (!floats || entry->rank > GOLDEN_RANK_MAX)
        return err_set(err, "'%s': expected F32 of at most %d axes", entry->name, GOLDEN_RANK_MAX);
    tensor->rank = entry->rank;
    tensor->count = entry->count;
    memcpy(tensor->shape, entry->shape, entry->rank * sizeof *entry->shape);
    for (size_t i = 0; i < entry->count; i++) {
        tensor->values[i] = (double)floats[i];
        if (isfinite(floats[i]))
            tensor->largest = fmax(tensor->largest, fabs(tensor->values[i]));
    }
    tensor->of_random = true;
    return 0;
}

static int take_tensors(struct golden *golden, const struct safetensors *from, struct err *err)
{
    struct golden_tensor *tensors = arena_alloc(&golden->arena, from->count, sizeof *tensors, err);
    golden->tensors = tensors;
    for (size_t i = 0; tensors && i < from->count; i++, golden->tensor_count++)
        if (take_tensor(&tensors[i], &from->entries[i], &golden->arena, err))
            return -1;
    if (tensors)
        note_leads(tensors, golden->tensor_count);
    return tensors ? 0 : -1;
}

/* Read ids from the metadata, where they are text: "[1,2,3]". */
static int take_ids(const uint32_t **ids, size_t *count, const struct json *notes, const char *key,
                    struct arena *arena, struct err *err)
{
    const char *text = NULL;
    struct json *list = NULL;
    int failed = json_text(notes, key, &text, err) ||
                 json_parse(&list, text ? text : "", text ? strlen(text) : 0, err) ||
                 read_ids(ids, count, list, arena, err);
    json_free(list);
    return failed ? err_prefix(err, "'%s'", key) : 0;
}

static int take_notes(struct golden *golden, const struct file *file, struct err *err)
{
    enum { LENGTH_BYTES = 8 };
    struct json *root = NULL;
    uint64_t size = 0;
    memcpy(&size, file->bytes, LENGTH_BYTES);
    if (json_parse(&root, file->bytes + LENGTH_BYTES, (size_t)size, err))
        return -1;
    const struct json *notes = json_member(root, "__metadata__");
    int failed =
        notes ? take_ids(&golden->ids, &golden->id_count, notes, "ids", &golden->arena, err) ||
                    take_ids(&golden->greedy, &golden->greedy_count, notes, "greedy",
                             &golden->arena, err) ||
                    (json_member(notes, "source_ids") &&
                     take_ids(&golden->source_ids, &golden->source_id_count, notes, "source_ids",
                              &golden->arena, err)) ||
                    (json_member(notes, "segments") &&
                     take_ids(&golden->segments, &golden->segment_count, notes, "segments",
                              &golden->arena, err))
              : err_set(err, "expected metadata");
    json_free(root);
    return failed;
}

/* --- both formats ----------------------------------------------------------------------------- */

static int find_model(struct golden *golden, struct err *err)
{
    struct buf config = {0};
    const char *name = strrchr(golden->folder, '/');
    buf_format(&config, "%s/config.json", golden->folder);
    int failed = buf_check(&config, err);
    golden->model = name && !failed && !file_exists(config.bytes) ? name + 1 : golden->folder;
    buf_release(&config);
    return failed;
}

static int read_root(struct golden *golden, const struct json *root, struct err *err)
{
    struct arena *arena = &golden->arena;
    return copy_text(&golden->sentence, root, "sentence", arena, err) ||
                   copy_text(&golden->source, root, "source", arena, err) ||
                   read_ids(&golden->ids, &golden->id_count, json_member(root, "ids"), arena,
                            err) ||
                   read_ids(&golden->source_ids, &golden->source_id_count,
                            json_member(root, "source_ids"), arena, err) ||
                   read_tensors(golden, json_member(root, "tensors"), err)
               ? -1
               : 0;
}

static const char text_name[] = "expected.json";
static const char tensors_name[] = "expected.safetensors";

static int open_text(struct golden *golden, const struct folder *folder, struct err *err)
{
    struct file file = {0};
    struct json *root = NULL;
    if (folder_open(&file, folder, text_name, err))
        return -1;
    int failed = json_parse(&root, file.bytes, file.size, err) || read_root(golden, root, err);
    json_free(root);
    file_release(&file);
    return failed ? err_prefix(err, "%s/%s", folder->path, text_name) : 0;
}

static int open_tensors(struct golden *golden, const struct folder *folder, struct err *err)
{
    struct safetensors tensors = {0};
    if (safetensors_open(&tensors, folder, tensors_name, err))
        return -1;
    int failed = take_notes(golden, &tensors.file, err) || take_tensors(golden, &tensors, err);
    safetensors_release(&tensors);
    return failed ? err_prefix(err, "%s/%s", folder->path, tensors_name) : 0;
}

int golden_open(struct golden *golden, const char *folder, struct err *err)
{
    struct folder on_disk = {.path = folder};
    *golden = (struct golden){.folder = folder};
    bool of_tensors = folder_has(&on_disk, tensors_name);
    if ((of_tensors ? open_tensors : open_text)(golden, &on_disk, err) == 0 &&
        find_model(golden, err) == 0)
        return 0;
    golden_release(golden);
    return -1;
}

void golden_release(struct golden *golden)
{
    arena_release(&golden->arena);
    *golden = (struct golden){0};
}

const struct golden_tensor *golden_find(const struct golden *golden, const char *name)
{
    for (size_t i = 0; i < golden->tensor_count; i++)
        if (strcmp(golden->tensors[i].name, name) == 0)
            return &golden->tensors[i];
    return NULL;
}

static double difference(const struct golden_tensor *tensor, size_t index, double found)
{
    double wanted = tensor->values[index];
    return wanted == found ? 0 : fabs(wanted - found); /* the difference of infinities is NaN */
}

double golden_error(const struct golden_tensor *tensor, size_t index, double found)
{
    double off = difference(tensor, index, found);
    return off == 0 ? 0 : off / tensor->largest;
}

bool golden_agrees(const struct golden_tensor *tensor, size_t index, double found,
                   const struct tolerance *tolerance)
{
    if (tensor->lead < tolerance->tie)
        return true;
    bool absolute = tolerance->weights > 0 && is_site(tensor->name, "weights");
    double limit = absolute ? tolerance->weights : tolerance->share * tensor->largest;
    if (tensor->of_random)
        limit = tolerance->of_random * tensor->largest + tolerance->least;
    return difference(tensor, index, found) <= limit;
}
