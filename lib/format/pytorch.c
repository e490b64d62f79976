#include "format/pytorch.h"

#include <string.h>

#include "base/folder.h"
#include "base/num.h"
#include "base/utf8.h"
#include "format/other_format.h"

/* A file that is being read. */
struct reading {
    struct safetensors *tensors;
    struct zip zip;
    const char *root; /* "archive/": names begin with that of the file that was saved to */
    size_t copied_bytes;
    struct arena arena;
};

/* An entry below the root, whose data is sound; NULL, which is no error unless it must be there. */
static int find(const struct zip_entry **entry, struct reading *reading, const char *folder,
                const struct pickle_value *name, bool needed, struct err *err)
{
    uint32_t index = 0;
    const char *path = arena_format(&reading->arena, err, "%s%s%.*s", reading->root, folder,
                                    name ? (int)name->size : 0, name ? name->text : "");
    *entry = NULL;
    if (!path)
        return -1;
    if (!map_get(&reading->zip.names, path, strlen(path), &index))
        return needed ? err_set(err, "expected an entry '%s', as torch.save writes it, found none",
                                path)
                      : 0;
    *entry = &reading->zip.entries[index];
    return zip_check(&reading->zip.entries[index], err);
}

static int check_byte_order(struct reading *reading, struct err *err)
{
    static const char little[] = "little";
    const struct zip_entry *order = NULL;
    if (find(&order, reading, "byteorder", NULL, false, err))
        return -1;
    if (!order || (order->size == strlen(little) && !memcmp(order->data, little, order->size)))
        return 0;
    return err_unsupported(err, "byteorder: expected \"little\", found another");
}

/* --- a tensor: offset and strides in a storage, in elements ----------------------------------- */

struct layout {
    const char *numbers; /* of the storage */
    size_t count;        /* of the storage */
    size_t offset;
    size_t strides[SAFETENSORS_RANK_MAX];
    bool in_rows; /* one after the other: nothing is to be copied */
};

static int read_storage(struct layout *layout, struct safetensors_entry *entry,
                        struct reading *reading, const struct pickle_value *storage,
                        struct err *err)
{
    const struct zip_entry *found = NULL;
    size_t size = 0;
    if (find(&found, reading, "data/", &storage->items[2], true, err))
        return -1;
    entry->dtype = (enum dtype)storage->items[1].integer;
    layout->numbers = found->data;
    layout->count = (size_t)storage->items[4].integer;
    if (num_multiply(&size, layout->count, dtype_size_bytes(entry->dtype)) && size == found->size)
        return 0;
    return err_set(err, "expected a storage of %zu numbers of type %s, found %zu bytes",
                   layout->count, dtype_name(entry->dtype), found->size);
}

/* From the last dimension on, whose neighbours lie closest. */
static int read_shape(struct layout *layout, struct safetensors_entry *entry,
                      const struct pickle_value *shape, const struct pickle_value *strides,
                      struct err *err)
{
    size_t last = layout->offset;
    bool fits = true;
    if (shape->size > SAFETENSORS_RANK_MAX || shape->size != strides->size)
        return err_unsupported(err,
                               "shape: expected at most %d dimensions, each with a stride, "
                               "found %zu with %zu",
                               SAFETENSORS_RANK_MAX, (size_t)shape->size, (size_t)strides->size);
    entry->rank = shape->size;
    entry->count = 1;
    layout->in_rows = true;
    for (size_t i = entry->rank; i-- > 0;) {
        if (shape->items[i].kind != PICKLE_INTEGER || strides->items[i].kind != PICKLE_INTEGER)
            return err_set(err, "shape: expected numbers, found %s with the stride %s",
                           pickle_describe(&shape->items[i]), pickle_describe(&strides->items[i]));
        size_t size = entry->shape[i] = (size_t)shape->items[i].integer;
        size_t stride = layout->strides[i] = (size_t)strides->items[i].integer;
        size_t steps = size ? size - 1 : 0;
        layout->in_rows = layout->in_rows && (size == 1 || stride == entry->count);
        fits = fits && num_multiply(&entry->count, entry->count, size) &&
               num_multiply(&steps, steps, stride) && num_add(&last, last, steps);
    }
    if (fits && (entry->count ? last < layout->count : layout->offset <= layout->count))
        return 0;
    return err_set(err, "expected numbers within its storage of %zu, found some beyond",
                   layout->count);
}

/* All copies together take no more than the file: a storage could be named again and again. */
static int copy_rows(struct safetensors_entry *entry, const struct layout *layout,
                     struct reading *reading, struct err *err)
{
    size_t size = dtype_size_bytes(entry->dtype);
    size_t at[SAFETENSORS_RANK_MAX] = {0};
    size_t from = layout->offset;
    if (entry->count > (reading->tensors->file.size - reading->copied_bytes) / size)
        return err_unsupported(err, "expected numbers that lie row by row, found others");
    char *to = arena_room(&reading->tensors->arena, entry->count, size, err);
    if (!to)
        return -1;
    entry->data = to;
    reading->copied_bytes += entry->count * size;
    for (size_t n = 0; n < entry->count; n++, to += size) {
        memcpy(to, layout->numbers + from * size, size);
        for (size_t i = entry->rank; i-- > 0;) { /* the last index runs first */
            from += layout->strides[i];
            if (++at[i] < entry->shape[i])
                break;
            from -= at[i] * layout->strides[i];
            at[i] = 0;
        }
    }
    return 0;
}

static int read_tensor(struct safetensors_entry *entry, struct reading *reading,
                       const struct pickle_value *tensor, struct err *err)
{
    const struct pickle_value *items = tensor->items;
    struct layout layout = {0};
    if (tensor->kind != PICKLE_TENSOR)
        return err_unsupported(err, "expected a tensor, found %s", pickle_describe(tensor));
    layout.offset = (size_t)items[1].integer;
    if (read_storage(&layout, entry, reading, &items[0], err) ||
        read_shape(&layout, entry, &items[2], &items[3], err))
        return -1;
    entry->data = layout.numbers + layout.offset * dtype_size_bytes(entry->dtype);
    entry->begin = (size_t)((const char *)entry->data - reading->tensors->file.bytes);
    entry->end = entry->begin + entry->count * dtype_size_bytes(entry->dtype);
    return layout.in_rows || !entry->count ? 0 : copy_rows(entry, &layout, reading, err);
}

static int read_pair(struct safetensors_entry *entry, struct reading *reading,
                     const struct pickle_value *name, struct err *err)
{
    if (name->kind != PICKLE_TEXT || utf8_invalid_at(name->text, name->size) != name->size ||
        memchr(name->text, '\0', name->size))
        return err_set(err, "expected the name of a tensor in UTF-8, found %s",
                       pickle_describe(name));
    entry->name = arena_text(&reading->tensors->arena, name->text, name->size, err);
    if (entry->name && !read_tensor(entry, reading, name + 1, err))
        return 0;
    return err_prefix(err, "tensor '%.*s'", (int)name->size, name->text);
}

static int read_archive(struct reading *reading, struct err *err)
{
    struct safetensors *tensors = reading->tensors;
    struct pickle pickle = {0};
    if (zip_read(&reading->zip, &tensors->file, &reading->arena, err))
        return -1;
    const struct zip_entry *first = reading->zip.entries; /* data.pkl, as a rule */
    const char *slash = reading->zip.count ? memchr(first->name, '/', first->name_size) : NULL;
    size_t root = slash ? (size_t)(slash + 1 - first->name) : 0;
    reading->root = arena_text(&reading->arena, root ? first->name : "", root, err);
    const struct zip_entry *list = NULL;
    if (!reading->root || find(&list, reading, "data.pkl", NULL, true, err) ||
        check_byte_order(reading, err))
        return -1;
    if (pickle_read(&pickle, list->data, list->size, &reading->arena, err))
        return err_prefix(err, "data.pkl");
    size_t count = pickle.pair_count;
    tensors->entries = arena_alloc(&tensors->arena, count, sizeof *tensors->entries, err);
    if (!tensors->entries)
        return -1;
    for (; tensors->count < count; tensors->count++)
        if (read_pair(&tensors->entries[tensors->count], reading, &pickle.pairs[2 * tensors->count],
                      err))
            return -1;
    return safetensors_list(tensors, err);
}

static int read_file(struct reading *reading, struct err *err)
{
    const struct file *file = &reading->tensors->file;
    bool archive = file->size > 0 && *file->bytes == 'P';
    if (archive ||
        !other_format_refuse(file->bytes, file->size, "a zip archive of torch.save", err))
        return read_archive(reading, err);
    bool pickle = *file->bytes == '\x80';
    return pickle ? err_append(err, ": torch.save(torch.load(FILE, weights_only=True), FILE) of "
                                    "PyTorch 2 writes one")
                  : -1;
}

int pytorch_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                 struct err *err)
{
    struct reading reading = {.tensors = tensors};
    *tensors = (struct safetensors){0};
    if (folder_open(&tensors->file, folder, name, err))
        return -1;
    int failed = read_file(&reading, err);
    map_release(&reading.zip.names);
    arena_release(&reading.arena);
    if (!failed)
        return 0;
    safetensors_release(tensors);
    return err_prefix(err, "'%s/%s'", folder->path, name);
}
