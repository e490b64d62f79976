#include "base/file.h"
#include "base/hash.h"
#include "format/json.h"
#include "model/parameter_table.h"
#include "model/weights.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "format/pytorch.h"
#include "model/family/family.h"
#include "model/gguf/gguf_model.h"
#include "model/layer.h"

/* The formats of weights, in the order in which they are looked for. The tensors are in one file
 * (`single`), or in several files that an index names. */
static const struct tensor_format {
    const char *single, *index;
    int (*open)(struct safetensors *tensors, const struct folder *folder, const char *name,
                struct err *err);
} formats[] = {
    {"model.safetensors", "model.safetensors.index.json", safetensors_open},
    {"pytorch_model.bin", "pytorch_model.bin.index.json", pytorch_open},
    {GGUF_WEIGHTS_NAME, GGUF_WEIGHTS_NAME, gguf_tensors_open}, /* GGUF has no index */
};

static int open_shards(struct checkpoint *checkpoint, struct err *err)
{
    for (size_t i = 0; i < checkpoint->count; i++) {
        struct shard *shard = &checkpoint->shards[i];
        if (checkpoint->format->open(&shard->tensors, checkpoint->folder, shard->name, err))
            return -1;
    }
    return 0;
}

/* List the files that the object "weight_map" of an index names, each once. All must be in the
 * model's folder: a name with a slash is refused. */
static int list_shards(struct checkpoint *checkpoint, const struct json *map, struct err *err)
{
    struct hash_table seen = {0};
    struct shard *shards =
        arena_alloc(&checkpoint->arena, json_count(map), sizeof *checkpoint->shards, err);
    int failed = !shards;
    checkpoint->shards = shards;
    for (const struct json *member = json_first(map); member && !failed;
         member = json_next(member)) {
        char found[64];
        const char *name = "";
        json_get_text(member, &name);
        if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            failed = err_set(err, "field 'weight_map': '%s': expected the name of a file, found %s",
                             json_key(member), json_describe(member, found, sizeof found));
        else if (!hash_table_get(&seen, name, strlen(name), NULL)) {
            name = arena_text(&checkpoint->arena, name, strlen(name), err);
            failed = !name || hash_table_put(&seen, name, strlen(name), 0, err);
            shards[checkpoint->count++].name = name;
        }
    }
    hash_table_release(&seen);
    return err_if(failed);
}

/* Check that every tensor is in the file that the index names for it. */
static int check_places(const struct checkpoint *checkpoint, const struct json *map,
                        struct err *err)
{
    for (const struct json *member = json_first(map); member; member = json_next(member)) {
        const char *name = NULL;
        json_get_text(member, &name);
        size_t i = 0;
        while (strcmp(checkpoint->shards[i].name, name) != 0)
            i++;
        if (!safetensors_find(&checkpoint->shards[i].tensors, json_key(member)))
            return err_set(err, "field 'weight_map': expected tensor '%s' in '%s', found none",
                           json_key(member), name);
    }
    return 0;
}

static int open_index(struct checkpoint *checkpoint, struct err *err)
{
    const struct folder *folder = checkpoint->folder;
    struct file file = {0};
    struct json *root = NULL;
    int failed = -1;
    checkpoint->name = checkpoint->format->index;
    if (folder_open(&file, folder, checkpoint->name, err))
        return -1;
    if (json_parse(&root, file.bytes, file.size, err) ||
        (json_is_object(root) && json_unique_keys(root, err)))
        goto named;
    const struct json *map = json_is_object(root) ? json_member(root, "weight_map") : NULL;
    if (!map || !json_is_object(map) || json_count(map) == 0) {
        err_set(err, "field 'weight_map': expected an object of tensors and files");
        goto named;
    }
    if (json_unique_keys(map, err) || list_shards(checkpoint, map, err))
        goto named;
    if (open_shards(checkpoint, err))
        goto done; /* the message already names the shard */
    failed = check_places(checkpoint, map, err);
named:
    if (failed)
        err_prefix(err, "'%s/%s'", folder->path, checkpoint->name);
done:
    json_free(root);
    file_release(&file);
    return failed;
}

static int open_single(struct checkpoint *checkpoint, struct err *err)
{
    checkpoint->shards = arena_alloc(&checkpoint->arena, 1, sizeof *checkpoint->shards, err);
    if (!checkpoint->shards)
        return -1;
    checkpoint->count = 1;
    checkpoint->name = checkpoint->shards[0].name = checkpoint->format->single;
    return open_shards(checkpoint, err);
}

bool checkpoint_is_there(const struct folder *folder)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (folder_has(folder, formats[i].single) || folder_has(folder, formats[i].index))
            return true;
    return false;
}

int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err)
{
    int failed = -1;
    *checkpoint = (struct checkpoint){.folder = folder};
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !checkpoint->format; i++) {
        bool single = folder_has(folder, formats[i].single);
        if (!single && !folder_has(folder, formats[i].index))
            continue;
        checkpoint->format = &formats[i];
        failed = (single ? open_single : open_index)(checkpoint, err);
    }
    if (!checkpoint->format)
        err_set(err, "'%s': expected %s or %s, found neither", folder->path, formats[0].single,
                formats[1].single);
    if (failed)
        checkpoint_release(checkpoint);
    return failed;
}

void checkpoint_release(struct checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->count; i++)
        safetensors_release(&checkpoint->shards[i].tensors);
    arena_release(&checkpoint->arena);
    *checkpoint = (struct checkpoint){0};
}

struct found_tensor checkpoint_find_exactly(const struct checkpoint *checkpoint, const char *name)
{
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct shard *shard = &checkpoint->shards[i];
        const struct safetensors_entry *entry = safetensors_find(&shard->tensors, name);
        if (entry)
            return (struct found_tensor){entry, shard->name};
    }
    return (struct found_tensor){0};
}

/* --- tensors of the table of parameters ------------------------------------------------------ */

/* Put the names of a file and a tensor before the message in `err`; returns -1. */
static int blame(const struct checkpoint *checkpoint, const char *file, const char *tensor,
                 struct err *err)
{
    return err_prefix(err, "'%s/%s': tensor '%s'", checkpoint->folder->path, file, tensor);
}

/* Whether a tensor has the shape of a layout if its additional axes of size 1 are ignored:
 * [channels, 1, taps] for [channels, taps]. */
static bool equal_but_ones(const struct safetensors_entry *entry,
                           const struct family_layout *layout)
{
    size_t axis = 0;
    for (size_t i = 0; i < layout->rank; i++, axis++) {
        while (axis < entry->rank && entry->shape[axis] == 1 && layout->shape[i] != 1)
            axis++;
        if (axis == entry->rank ? layout->shape[i] != 1 : entry->shape[axis] != layout->shape[i])
            return false;
    }
    while (axis < entry->rank && entry->shape[axis] == 1)
        axis++;
    return axis >= entry->rank;
}

static int check_entry(const struct safetensors_entry *entry, const struct family_layout *layout,
                       struct err *err)
{
    char expected[PARAMETER_SHAPE_BYTES];
    char found[PARAMETER_SHAPE_BYTES];
    bool one = entry->count == 1 && entry->rank <= 1 && layout->rank == 1 && layout->shape[0] == 1;
    /* 1 if the tensor in the file is a row [1, E], where a vector [E] is expected; else 0 */
    size_t more = layout->rank == 1 && entry->rank == 2 && entry->shape[0] == 1;
    bool same = entry->rank == layout->rank + more &&
                !memcmp(entry->shape + more, layout->shape, layout->rank * sizeof *layout->shape);
    if (!one && !same && !(layout->squeezed && equal_but_ones(entry, layout)))
        return err_set(err, "expected %s, found %s",
                       parameter_shape_text(expected, layout->rank, layout->shape),
                       parameter_shape_text(found, entry->rank, entry->shape));
    if (!dtype_is_weight(entry->dtype))
        return err_unsupported(err, "expected F32, F16, BF16 or F64, found %s",
                               dtype_name(entry->dtype));
    return 0;
}

/* Find a tensor by its name with the family's prefix, or with only the last parts of the prefix, as
 * in files of a model without a head. The file may also have names->wrapper before the name or
 * after the prefix, or "transformer." in place of the prefix, as for some classifiers. */
static struct found_tensor find_in_wrapper(const struct checkpoint *checkpoint, const char *name,
                                           const struct family_names *names)
{
    char wrapped[2 * PARAMETER_NAME_BYTES];
    size_t prefix = strlen(names->prefix);
    const char *end = strncmp(name, names->prefix, prefix) == 0 ? name + prefix : name;
    struct found_tensor found = checkpoint_find_exactly(checkpoint, name);
    if (names->wrapper)
        snprintf(wrapped, sizeof wrapped, "%s%s", names->wrapper, name);
    while (!found.entry && name < end) {
        name = strchr(name, '.') + 1;
        found = checkpoint_find_exactly(checkpoint, name);
    }
    if (!found.entry && names->wrapper)
        found = checkpoint_find_exactly(checkpoint, wrapped);
    if (!found.entry && names->wrapper) {
        snprintf(wrapped, sizeof wrapped, "%s%s%s", names->prefix, names->wrapper, end);
        found = checkpoint_find_exactly(checkpoint, wrapped);
    }
    snprintf(wrapped, sizeof wrapped, "transformer.%s", end);
    return found.entry ? found : checkpoint_find_exactly(checkpoint, wrapped);
}

/* Find a tensor by its name. The scale and shift of a "LayerNorm" may also have the names of old
 * files, which end in ".gamma" and ".beta". */
static struct found_tensor find_tensor(const struct checkpoint *checkpoint, const char *name,
                                       const struct family_names *names)
{
    char old[PARAMETER_NAME_BYTES + 1];
    struct found_tensor found = find_in_wrapper(checkpoint, name, names);
    const char *ending = strstr(name, "LayerNorm.");
    if (found.entry || !ending)
        return found;
    ending = strrchr(ending, '.');
    snprintf(old, sizeof old, "%.*s%s", (int)(ending - name), name,
             strcmp(ending, ".weight") == 0 ? ".gamma" : ".beta");
    return find_in_wrapper(checkpoint, old, names);
}

static struct found_tensor find_slot(const struct checkpoint *checkpoint,
                                     const struct config *config, struct slot slot)
{
    char name[PARAMETER_NAME_BYTES];
    family_tensor_name(name, config, slot);
    return find_tensor(checkpoint, name, config->family->names);
}

/* Whether the file has both tensors (neither is NULL), and their numbers differ. */
static bool tensors_differ(const struct safetensors_entry *a, const struct safetensors_entry *b)
{
    float numbers[DTYPE_BLOCK_MAX], others[DTYPE_BLOCK_MAX];
    if (!a || !b || a->data == b->data)
        return false;
    if (a->count != b->count || !dtype_is_weight(a->dtype) || !dtype_is_weight(b->dtype))
        return true;
    if (a->dtype == b->dtype)
        return memcmp(a->data, b->data, dtype_bytes(a->dtype, a->count)) != 0;
    for (size_t first = 0; first < a->count; first += DTYPE_BLOCK_MAX) {
        size_t count = num_min(a->count - first, DTYPE_BLOCK_MAX);
        dtype_to_float(numbers, (const char *)a->data + dtype_bytes(a->dtype, first), a->dtype,
                       count);
        dtype_to_float(others, (const char *)b->data + dtype_bytes(b->dtype, first), b->dtype,
                       count);
        if (memcmp(numbers, others, count * sizeof *numbers) != 0)
            return true;
    }
    return false;
}

/* If the encoder and the decoder have different tables of tokens, choose the variant of the family
 * with names for both tables, and set n_encoder_vocab. In most files these tables are copies of
 * one, and the family does not change. */
static void find_tables(const struct checkpoint *checkpoint, struct config *config)
{
    const struct slot text = slot_of_text(SLOT_TOKENS),
                      source = slot_of_end(BRANCH_SOURCE, SLOT_TOKENS);
    const struct family *family = config->family, *next = family + 1;
    const struct family_row *row =
        config->n_encoder_layer && next->name && strcmp(next->name, family->name) == 0
            ? family_row(next, source)
            : NULL;
    if (!row || row->branch != BRANCH_SOURCE)
        return;
    const struct safetensors_entry *shared = find_slot(checkpoint, config, text).entry;
    config->family = next;
    const struct safetensors_entry *own = find_slot(checkpoint, config, text).entry;
    const struct safetensors_entry *of_source = find_slot(checkpoint, config, source).entry;
    if (tensors_differ(shared, own) || tensors_differ(shared, of_source) ||
        (!shared && own && of_source))
        config->n_encoder_vocab = config->vocab_size;
    else
        config->family = family;
}

/* Find a classifier by the names of its tensors, and set it in the config; false: the file has
 * none. The last matrix of a classifier has a row for each class, and is not tied to the
 * embedding. */
static bool find_classes(const struct checkpoint *checkpoint, struct config *config)
{
    const struct slot head = slot_of_text(SLOT_UNEMBED), dense = slot_of_text(SLOT_TRANSFORM);
    if (config->kind == MODEL_ATTENTION)
        return false;
    for (const struct classifier *h = classifiers; h->rows->name; h++) {
        config->classifier = h;
        const struct safetensors_entry *last = find_slot(checkpoint, config, head).entry;
        bool fits = !h->family || strcmp(h->family, config->family->name) == 0;
        if (!fits || !last || last->rank != 2 ||
            (h->rows[1].name && !find_slot(checkpoint, config, dense).entry))
            continue;
        class_head_take(config, h, last->shape[0]);
        config->biases &= ~(unsigned)(BIASED_LOGITS | BIASED_TRANSFORM);
        if (find_slot(checkpoint, config, slot_bias(head)).entry)
            config->biases |= BIASED_LOGITS;
        if (h->rows[1].name && find_slot(checkpoint, config, slot_bias(dense)).entry)
            config->biases |= BIASED_TRANSFORM;
        return true;
    }
    config->classifier = NULL;
    config->answers = ANSWER_OF_FIRST;
    return false;
}

static void find_end(const struct checkpoint *checkpoint, struct config *config)
{
    static const struct {
        enum model_end end;
        enum slot_id slot;
    } ends[] = {{END_MASKED, SLOT_TRANSFORM},
                {END_MASKED, SLOT_TRANSFORM_NORM},
                {END_MASKED, SLOT_UNEMBED_BIAS},
                {END_DISCRIMINATOR, SLOT_DISCRIMINATOR},
                {END_DISCRIMINATOR, SLOT_DISCRIMINATOR_LOGIT},
                {END_POOLED, SLOT_POOLER}};
    const struct family *family = config->family;
    if (find_classes(checkpoint, config) || config->end == END_LOGITS)
        return;
    config->end = END_STREAM;
    for (const struct family *f = family; f->name && strcmp(f->name, family->name) == 0; f++) {
        config->family = f; /* a variant of the family has other names for the head's tensors */
        for (size_t i = 0; i < sizeof ends / sizeof *ends && config->end == END_STREAM; i++)
            if (find_slot(checkpoint, config, slot_of_text((int)ends[i].slot)).entry)
                config->end = ends[i].end;
        if (config->end != END_STREAM)
            return;
    }
    config->family = family;
}

/* Set *all to the number of layers that should have the tensor of `row`, and *found to the number
 * of these layers whose tensor is in the file. */
static void count_row(size_t *all, size_t *found, const struct checkpoint *checkpoint,
                      const struct config *config, const struct family_row *row)
{
    *all = *found = 0;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct slot slot = slot_of(row->branch, row->members[0], layer);
        slot.expert = slot_count(slot.id, config) ? 0 : -1;
        if (!slot_exists(slot, config))
            continue;
        ++*all;
        *found += find_slot(checkpoint, config, slot).entry != NULL;
    }
}

/* Choose a variant of the family if, for each of the variant's names, the file has the tensor in at
 * least one layer. Names whose slots no layer has are ignored. */
static void find_variant(const struct checkpoint *checkpoint, struct config *config)
{
    const struct family *family = config->family;
    for (const struct family *next = family + 1; next->name && next->by_file; next++) {
        size_t rows = 0, all, found;
        bool fits = true;
        config->family = next;
        for (const struct family_row *row = next->names->rows; row->name && fits; row++) {
            count_row(&all, &found, checkpoint, config, row);
            fits = !all || found;
            rows += found > 0;
        }
        if (fits && rows)
            return;
    }
    config->family = family;
}

void checkpoint_settle(const struct checkpoint *checkpoint, struct config *config)
{
    find_variant(checkpoint, config);
    find_end(checkpoint, config);
    find_tables(checkpoint, config);
    if (config->tied && config->end <= END_MASKED)
        config->tied =
            !tensors_differ(find_slot(checkpoint, config, slot_of_text(SLOT_TOKENS)).entry,
                            find_slot(checkpoint, config, slot_of_text(SLOT_UNEMBED)).entry);
}

/* --- convolutions of mixers, cut again -------------------------------------------------------- */

enum { CUTS = 3 };

/* Find the entry of a slot's tensor, which the caller may change; NULL: the file has no such
 * tensor. */
static struct safetensors_entry *entry_of(struct checkpoint *checkpoint,
                                          const struct config *config, struct slot slot)
{
    const struct safetensors_entry *found = find_slot(checkpoint, config, slot).entry;
    for (size_t i = 0; found && i < checkpoint->count; i++) {
        struct safetensors *tensors = &checkpoint->shards[i].tensors;
        for (size_t k = 0; k < tensors->count; k++)
            if (&tensors->entries[k] == found)
                return &tensors->entries[k];
    }
    return NULL;
}

/* Find the three tensors of a layer's convolution of queries, keys and values, and how many rows
 * each should have. False: the layer has no such tensors, they already have the expected rows, or
 * they cannot be divided into these rows. */
static bool find_cuts(struct safetensors_entry *entries[CUTS], size_t rows[CUTS],
                      struct checkpoint *checkpoint, const struct config *config, size_t layer)
{
    static const int slots[CUTS] = {SLOT_CONV_Q, SLOT_CONV_K, SLOT_CONV_V};
    size_t wanted = 0, all = 0;
    bool differs = false;
    for (size_t i = 0; i < CUTS; i++) {
        const struct slot slot = slot_of(BRANCH_MIXER, slots[i], layer);
        const struct family_row *row = family_row(config->family, slot);
        size_t shape[SLOT_RANK_MAX];
        entries[i] = NULL;
        if (row && !row->members[1] && slot_shape(shape, slot, config))
            entries[i] = entry_of(checkpoint, config, slot);
        const struct safetensors_entry *entry = entries[i], *first = entries[0];
        if (!entry || entry->rank < 2 || !entry->count || !dtype_is_weight(entry->dtype) ||
            dtype_is_quantised(entry->dtype) || entry->dtype != first->dtype ||
            entry->count / entry->shape[0] != first->count / first->shape[0])
            return false;
        rows[i] = shape[0];
        wanted += rows[i];
        all += entry->shape[0];
        differs |= rows[i] != entry->shape[0];
    }
    return differs && wanted == all;
}

int checkpoint_cut_again(struct checkpoint *checkpoint, const struct config *config,
                         struct err *err)
{
    struct safetensors_entry *entries[CUTS];
    size_t rows[CUTS];
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        if (!find_cuts(entries, rows, checkpoint, config, layer))
            continue;
        const size_t length = entries[0]->count / entries[0]->shape[0]; /* numbers in a row */
        const size_t bytes = dtype_bytes(entries[0]->dtype, length);
        char *all = arena_alloc(&checkpoint->arena, rows[0] + rows[1] + rows[2], bytes, err);
        if (!all)
            return -1;
        for (size_t i = 0, done = 0; i < CUTS; done += entries[i++]->shape[0])
            memcpy(all + done * bytes, entries[i]->data, entries[i]->shape[0] * bytes);
        for (size_t i = 0; i < CUTS; all += rows[i++] * bytes) {
            entries[i]->shape[0] = rows[i];
            entries[i]->count = rows[i] * length;
            entries[i]->end = entries[i]->begin + rows[i] * bytes;
            entries[i]->data = all;
        }
    }
    return 0;
}

/* --- tables of sinusoidal positions ----------------------------------------------------------- */

/* has_sines: whether a file may have a table of sinusoidal positions for this branch; sines_name:
 * the table's name; sines_layout: its shape. */
static bool has_sines(const struct config *config, int branch)
{
    return config->sinusoids && config->sines == SINES_HALVES &&
           family_row(config->family, slot_of_end(branch, SLOT_POSITIONS));
}

static const char *sines_name(char name[PARAMETER_NAME_BYTES], const struct config *config,
                              int branch)
{
    return family_tensor_name(name, config, slot_of_end(branch, SLOT_POSITIONS));
}

static struct family_layout sines_layout(const struct config *config)
{
    return (struct family_layout){.rank = 2, .shape = {config->n_positions, config->n_embd}};
}

/* --- keys that config.json lacks -------------------------------------------------------------- */

/* A tensor that does not fit the config: it is missing, unknown, or has another shape. name_absent
 * adds the names of the absent keys that decide its shape to the message in `err`. */
struct misfit {
    const struct checkpoint *checkpoint;
    const struct config *config;
    const char *tensor;
    struct err *err;
};

/* Set *layout to the layout that the tensor would have if config.json had the value that the trial
 * gives to a key. layout->rank becomes 0 if there would be no such tensor. */
static int layout_of(struct family_layout *layout, const struct misfit *misfit,
                     const struct json *root, struct family_trial *trial)
{
    const struct family *family = family_find(config_kind_name(misfit->config));
    char name[PARAMETER_NAME_BYTES];
    struct err ignored = {0};
    struct arena arena = {0};
    struct slot *slots = NULL;
    struct config config;
    int failed =
        family_try(&config, family, root, trial, &ignored) || config_describe(&config, &ignored);
    if (!failed) {
        checkpoint_settle(misfit->checkpoint, &config);
        failed = config_describe(&config, &ignored);
    }
    const size_t count = failed ? 0 : slot_list(NULL, 0, &config);
    if (!failed)
        slots = arena_alloc(&arena, count, sizeof *slots, &ignored);
    layout->rank = 0;
    if (slots)
        slot_list(slots, sizeof *slots, &config);
    for (size_t i = 0; slots && i < count && !layout->rank; i++) {
        family_tensor_name(name, &config, slots[i]);
        if (name_ends_in(name, misfit->tensor) || name_ends_in(misfit->tensor, name))
            family_layout(layout, slots[i], &config);
    }
    for (int branch = BRANCH_TEXT; branch <= BRANCH_SOURCE && slots && !layout->rank; branch++)
        if (has_sines(&config, branch) &&
            strcmp(sines_name(name, &config, branch), misfit->tensor) == 0)
            *layout = sines_layout(&config);
    config_release(&config);
    arena_release(&arena);
    return err_if(failed || !slots);
}

/* Whether the tensor's layout would differ from `usual` if config.json had another value of the key
 * that the trial is about. */
static bool decides(const struct misfit *misfit, const struct json *root,
                    struct family_trial *trial, const struct family_layout *usual)
{
    bool differs = false;
    for (trial->value = 0; trial->value < FAMILY_VALUES && !differs; trial->value++) {
        struct family_layout other;
        if (!layout_of(&other, misfit, root, trial))
            differs = other.rank != usual->rank ||
                      memcmp(other.shape, usual->shape, other.rank * sizeof *other.shape) != 0;
    }
    return differs;
}

static void add_names(struct buf *text, const char *const names[FAMILY_NAMES_MAX])
{
    buf_format(text, "%s'%s'", text->size ? ", " : "", names[0]);
    for (size_t i = 1; i < FAMILY_NAMES_MAX && names[i]; i++)
        buf_format(text, " or '%s'", names[i]);
}

static int name_absent(void *context, const struct json *root, struct err *err)
{
    const struct misfit *misfit = context;
    struct family_trial trial;
    struct family_layout usual;
    struct buf names = {0};
    int failed = family_trial_begin(&trial, misfit->config->n_layer, err) ||
                 layout_of(&usual, misfit, root, &trial);
    const size_t count = trial.count; /* number of keys to try; a trial may find further absent
                                       * keys, which are not tried */
    for (trial.key = 0; trial.key < count && !failed; trial.key++)
        if (decides(misfit, root, &trial, &usual))
            add_names(&names, trial.absent[trial.key]);
    family_trial_end(&trial);
    if (names.size && !buf_check(&names, err))
        err_append(misfit->err, ": this depends on %s, which config.json lacks", names.bytes);
    buf_release(&names);
    return err_if(failed);
}

/* Report a tensor that is missing, unknown, or has another shape, with the keys whose absence may
 * be the cause. */
static int blame_misfit(const struct checkpoint *checkpoint, const struct config *config,
                        const char *file, const char *tensor, struct err *err)
{
    struct misfit misfit = {checkpoint, config, tensor, err};
    struct err ignored = {0};
    if (err && err->kind == ERR_INPUT && !err->out_of_memory &&
        config_layers(config) <= CONFIG_FLAGS_MAX && checkpoint->format->open != gguf_tensors_open)
        json_read_file(checkpoint->folder, "config.json", name_absent, &misfit, &ignored);
    return blame(checkpoint, file, tensor, err);
}

/* --- tensors of slots ------------------------------------------------------------------------- */

int checkpoint_find_extra(struct found_tensor *found, const struct checkpoint *checkpoint,
                          const struct config *config, const char *name,
                          const struct family_layout *layout, struct err *err)
{
    *found = find_tensor(checkpoint, name, config->family->names);
    return !found->entry || !check_entry(found->entry, layout, err)
               ? 0
               : blame_misfit(checkpoint, config, found->file, found->entry->name, err);
}

int checkpoint_find_sines(const struct safetensors_entry **table,
                          const struct checkpoint *checkpoint, const struct config *config,
                          int branch, struct err *err)
{
    const struct family_layout layout = sines_layout(config);
    struct found_tensor found = {0};
    char name[PARAMETER_NAME_BYTES];
    int failed = has_sines(config, branch) &&
                 checkpoint_find_extra(&found, checkpoint, config, sines_name(name, config, branch),
                                       &layout, err);
    *table = found.entry;
    return err_if(failed);
}

int checkpoint_find(struct found_tensor *found, const struct checkpoint *checkpoint,
                    const struct config *config, struct slot slot,
                    const struct family_layout *layout, struct err *err)
{
    const char *file = checkpoint->name;
    char name[PARAMETER_NAME_BYTES];
    const struct family_row *row = config_row(config, slot);
    *found = (struct found_tensor){0};
    if (row && row->bias && slot.id & 1) { /* if the file has "NAME.bias" this tensor is used, not
                                            * row->bias */
        snprintf(name, sizeof name, "%s.bias", row->name);
        *found = checkpoint_find_exactly(checkpoint, name);
    }
    family_tensor_name(name, config, slot);
    if (!found->entry)
        *found = find_tensor(checkpoint, name, config->family->names);
    bool may_lack = slot.id == SLOT_UNEMBED ||
                    (slot.id == SLOT_UNEMBED_BIAS && config->n_encoder_layer) ||
                    slot.id == SLOT_XIELU_BETA || slot.id == SLOT_XIELU_EPSILON;
    if (!found->entry && may_lack)
        return 0;
    if (!found->entry)
        err_set(err, "expected this tensor in the file, found none");
    else if (check_entry(found->entry, layout, err))
        file = found->file;
    else
        return 0;
    return blame_misfit(checkpoint, config, file, name, err);
}

/* The part of a name after `start`. If the name does not begin with `start`, leading parts of
 * `start`, up to a dot, are dropped until it does; if it never does, the whole name is returned. */
static const char *name_after(const char *name, const char *start)
{
    while (*start && strncmp(name, start, strlen(start)) != 0)
        start = strchr(start, '.') ? strchr(start, '.') + 1 : "";
    return name + strlen(start);
}

/* The layer in a tensor's name: 12 in "h.12.attn…" and "transformer.h.12.attn…"; -1: the name has
 * no layer. Before the layer, prefix and wrapper may come in any order. `of_encoder`: find a layer
 * of the encoder, not of the decoder. */
static long layer_in(const char *name, const struct config *config, bool of_encoder)
{
    const struct family_names *names = config->family->names;
    const char *layers = of_encoder ? names->source_layers : names->layers;
    const char *wrapper = names->wrapper ? names->wrapper : "";
    if (!layers)
        return -1;
    name = name_after(name_after(name_after(name, wrapper), names->prefix), wrapper);
    if (strncmp(name, layers, strlen(layers)) != 0)
        return -1;
    name += strlen(layers);
    return *name >= '0' && *name <= '9' ? strtol(name, NULL, 10) : -1;
}

/* Whether a tensor is ignored on purpose: it belongs to a layer for multi-token prediction or to a
 * module for images or audio, is a mask, an index or frequencies of an older file, a copy of a
 * table, an unused tensor of keys, values or copies of the stream, a tied unembedding, another head
 * of an encoder, or a bias of logits that this model does not compute. */
static bool is_no_parameter(const char *name, const struct config *config)
{
    static const char *const endings[] = {".attention.bias",      ".attention.masked_bias",
                                          ".attn.bias",           ".attn.masked_bias",
                                          ".rotary_emb.inv_freq", "embeddings.position_ids"};
    static const char *const of_images[] = {"vision_tower.", "multi_modal_projector.",
                                            "audio_tower.",  "embed_vision.",
                                            "embed_audio.",  "visual.",
                                            "mtp."};
    static const int idle[] = {SLOT_K, SLOT_V, SLOT_K_NORM, /* layers that read another layer's keys
                                                             * do not use these slots, but files may
                                                             * have their tensors */
                               SLOT_COPY_SCALE};
    static const char *const of_encoders[] = {"pooler.",
                                              "cls.seq_relationship.",
                                              "sop_classifier.",
                                              "mask_predictions.",
                                              "contact_head.",
                                              "rotary_embeddings.inv_freq",
                                              "embeddings.position_embeddings."};
    static const char *const of_translators[] = {"embed_tokens.weight", "embed_positions.weight",
                                                 "EncDecAttention.relative_attention_bias.weight",
                                                 "cross_attn_rel_b.weight", "shared.weight"};
    char head[PARAMETER_NAME_BYTES];
    if (layer_in(name, config, false) >= (long)config->n_layer)
        return true;
    for (size_t i = 0; i < sizeof of_translators / sizeof *of_translators; i++)
        if (config->n_encoder_layer && name_ends_in(name, of_translators[i]))
            return true;
    for (size_t i = 0; i < sizeof of_images / sizeof *of_images; i++) {
        const char *found = strstr(name, of_images[i]);
        if (found && (found == name || strncmp(name, "model.", (size_t)(found - name)) == 0))
            return true;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (name_ends_in(name, endings[i]))
            return true;
    for (size_t i = 0; config->end && i < sizeof of_encoders / sizeof *of_encoders; i++)
        if (strstr(name, of_encoders[i]))
            return true;
    bool may_idle = config->n_borrowing || config->copies.count;
    long layer = may_idle ? layer_in(name, config, false) : -1;
    for (size_t i = 0; layer >= 0 && i < sizeof idle / sizeof *idle; i++) {
        struct slot slot = slot_of(BRANCH_TEXT, idle[i], (size_t)layer);
        family_tensor_name(head, config, slot);
        if (!slot_exists(slot, config) &&
            name_ends_in(name, head + strlen(config->family->names->prefix)))
            return true;
    }
    family_tensor_name(head, config, slot_bias(slot_of_text(SLOT_UNEMBED)));
    if (config->end && strcmp(name, head) == 0)
        return true;
    family_tensor_name(head, config, slot_of_text(SLOT_UNEMBED));
    return config->tied && strcmp(name, head) == 0;
}

static int check_name(const char *name, const struct config *config,
                      const struct hash_table *wanted, struct err *err)
{
    long layer = layer_in(name, config, false), encoder_layer = layer_in(name, config, true);
    if (!wanted && layer >= 0 && (size_t)layer >= config->n_layer + config->extra_layers)
        return err_set(err, "expected layers below n_layer = %zu, found layer %ld", config->n_layer,
                       layer);
    if (!wanted && encoder_layer >= 0 && (size_t)encoder_layer >= config->n_encoder_layer)
        return err_set(err, "expected layers below n_encoder_layer = %zu, found layer %ld",
                       config->n_encoder_layer, encoder_layer);
    if (!wanted || config->family->names->open ||
        hash_table_get(wanted, name, strlen(name), NULL) || is_no_parameter(name, config))
        return 0;
    return err_set(err,
                   "expected the tensors of a model of type \"%s\" with this config.json, found "
                   "another tensor",
                   config_kind_name(config));
}

int checkpoint_check_names(const struct checkpoint *checkpoint, const struct config *config,
                           const struct hash_table *wanted, struct err *err)
{
    struct slot text = slot_of_text(SLOT_TOKENS);
    const struct safetensors_entry *tokens =
        wanted && config->n_encoder_layer ? find_slot(checkpoint, config, text).entry : NULL;
    for (size_t s = 0; s < checkpoint->count; s++) {
        const struct shard *shard = &checkpoint->shards[s];
        for (size_t i = 0; i < shard->tensors.count; i++) {
            const struct safetensors_entry *entry = &shard->tensors.entries[i];
            const char *name = entry->name;
            bool is_copy = tokens && name_ends_in(name, "embed_tokens.weight") &&
                           !hash_table_get(wanted, name, strlen(name), NULL);
            if (check_name(name, config, wanted, err) ||
                (is_copy && tensors_differ(entry, tokens) &&
                 err_unsupported(err, "expected the numbers of '%s', found others", tokens->name)))
                return blame_misfit(checkpoint, config, shard->name, name, err);
        }
    }
    return 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The index of the first number that is infinite or NaN; *bad becomes this number. If all numbers
 * are finite: entry->count. */
static size_t find_bad(const struct safetensors_entry *entry, float *bad)
{
    float some[DTYPE_BLOCK_MAX];
    for (size_t first = 0; first < entry->count; first += DTYPE_BLOCK_MAX) {
        const char *from = (const char *)entry->data + dtype_bytes(entry->dtype, first);
        size_t count = num_min(entry->count - first, DTYPE_BLOCK_MAX);
        dtype_to_float(some, from, entry->dtype, count);
        for (size_t i = 0; i < count; i++) {
            *bad = some[i];
            if (!isfinite(*bad))
                return first + i;
        }
    }
    return entry->count;
}

int checkpoint_check_finite(const struct checkpoint *checkpoint, struct found_tensor found,
                            struct err *err)
{
    char value[NUM_FLOAT_BYTES];
    float bad = 0;
    size_t index = found.entry ? find_bad(found.entry, &bad) : 0;
    if (!found.entry || index == found.entry->count)
        return 0;
    num_float(value, bad);
    err_set(err, "expected finite numbers, found %s at element %zu", value, index);
    return blame(checkpoint, found.file, found.entry->name, err);
}
