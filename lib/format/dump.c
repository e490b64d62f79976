#include "format/dump.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "format/npy.h"
#include "format/pytorch.h"

static struct dumped *add(struct dump *dump, const struct safetensors_entry *entry, struct err *err)
{
    struct dumped *items = arena_grow(&dump->arena, dump->items, dump->count, sizeof *items, err);
    if (!items)
        return NULL;
    dump->items = items;
    items[dump->count] = (struct dumped){.entry = *entry, .sum = (double)NAN};
    return &items[dump->count++];
}

/* --- arrays of NumPy -------------------------------------------------------------------------- */

/* Add the array of an npy file. The array's name is the file's name without ".npy". */
static int add_npy(struct dump *dump, const struct file *file, const char *name, size_t size,
                   struct err *err)
{
    struct safetensors_entry entry;
    bool is_fortran = false;
    size -= size > 4 && memcmp(name + size - 4, ".npy", 4) == 0 ? 4 : 0;
    if (npy_find(&entry, &is_fortran, file, err))
        return err_prefix(err, "'%.*s'", (int)size, name);
    entry.name = arena_text(&dump->arena, name, size, err);
    struct dumped *item = entry.name ? add(dump, &entry, err) : NULL;
    if (!item)
        return -1;
    item->is_fortran = is_fortran;
    return 0;
}

static int read_npz(struct dump *dump, const struct zip *zip, struct err *err)
{
    for (size_t i = 0; i < zip->count; i++) {
        struct zip_entry *entry = &zip->entries[i];
        struct file file = file_borrow(entry->data, entry->size);
        if ((entry->name_size == 11 && memcmp(entry->name, "result.json", 11) == 0) ||
            npy_has_texts(&file))
            continue; /* skip texts and JSON that describe the arrays */
        if (zip_check(entry, err) || add_npy(dump, &file, entry->name, entry->name_size, err))
            return -1;
    }
    return 0;
}

static int read_folder(struct dump *dump, const char *path, struct err *err)
{
    struct listing list;
    if (listing_read(&list, path, &dump->arena, err))
        return -1;
    dump->files = arena_alloc(&dump->arena, list.count, sizeof *dump->files, err);
    for (size_t i = 0; dump->files && i < list.count; i++) {
        const char *name = list.names[i];
        if (!name_ends_in(name, ".npy"))
            continue;
        const char *file = arena_format(&dump->arena, err, "%s/%s", path, name);
        if (!file || file_map_regular(&dump->files[dump->file_count], file, err) ||
            add_npy(dump, &dump->files[dump->file_count++], name, strlen(name), err))
            return -1;
    }
    return dump->files ? 0 : -1;
}

/* --- logs of llama.cpp ---------------------------------------------------------------------------
 *
 *     ggml_debug:   Qcur-0 = (f32)   ROPE(Qcur-0 (reshaped){64, 9, 4, 1}, …}) = {64, 9, 4, 1}
 *                                     [
 *                                      [
 *                                       [     -0.0456,       0.0123, ...,      -0.2345],
 *                                       ...,
 *                                      ],
 *                                     ]
 *                                     sum = 3.141500
 */

enum { LOG_AXES = 4 };

/* Find a word in [at, end); return NULL if it is not there. */
static const char *find_word(const char *at, const char *end, const char *word)
{
    return at && at < end ? memmem(at, (size_t)(end - at), word, strlen(word)) : NULL;
}

/* Read a line that begins a tensor in a log: the name, " = (", the type, the operation and the
 * sizes. Returns false for other lines. */
static bool read_heading(struct safetensors_entry *entry, const char **op, const char *line,
                         const char *end, struct dump *dump, struct err *err)
{
    const char *made = find_word(line, end, " = ("), *sizes = NULL;
    for (const char *at = made; (at = find_word(at, end, " = {"));)
        sizes = at += 4;
    const char *type = made ? made + 4 : NULL,
               *closed = type ? memchr(type, ')', (size_t)(end - type)) : NULL;
    if (!sizes || !closed || closed > sizes)
        return false;
    const char *name = line;
    for (const char *at = line; (at = find_word(at, made, ": "));)
        name = at += 2;
    name += strspn(name, " ");
    const char *first = closed + 1 + strspn(closed + 1, " ");
    *entry = (struct safetensors_entry){.dtype = *type == 'f' && type[1] == '1' ? DTYPE_F16
                                                 : *type == 'b'                 ? DTYPE_BF16
                                                                                : DTYPE_F32,
                                        .rank = LOG_AXES,
                                        .count = 1};
    for (size_t axis = LOG_AXES; axis-- > 0; sizes += strspn(sizes, ", ")) {
        entry->shape[axis] = strtoull(sizes, (char **)&sizes, 10);
        if (!num_multiply(&entry->count, entry->count, entry->shape[axis]))
            return false;
    }
    entry->name = arena_text(&dump->arena, name, (size_t)(made - name), err);
    *op = arena_text(&dump->arena, first, strcspn(first, "({ "), err);
    return entry->name && *op && entry->count && (*type == 'f' || *type == 'b');
}

static int read_log(struct dump *dump, const struct file *file, struct err *err)
{
    const char *text = arena_text(&dump->arena, file->bytes, file->size, err); /* a copy that ends
                                                                                * with a 0 */
    const char *end = text ? text + file->size : NULL;
    struct dumped *item = NULL;
    dump->is_log = true;
    for (const char *line = text, *next; line < end; line = next) {
        const char *op = NULL, *sum;
        struct safetensors_entry entry;
        next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next + 1 : end;
        if (read_heading(&entry, &op, line, next, dump, err)) {
            entry.data = next;
            item = add(dump, &entry, err);
            if (!item)
                return -1;
            item->is_printed = true;
            item->op = op;
            item->after = next;
        } else if (item && (sum = find_word(line, next, "sum = "))) {
            item->sum = strtod(sum + 6, NULL);
            item->after = line;
            item = NULL;
        }
        if (err->kind)
            return -1;
    }
    return text ? 0 : -1;
}

/* Read the numbers that a log prints. "..." replaces numbers that are not printed: as many numbers
 * follow it, up to the end of the axis, as precede it. */
static int read_printed(float *numbers, const struct dumped *item, struct err *err)
{
    const size_t *shape = item->entry.shape;
    size_t at[LOG_AXES] = {0}, depth = 0; /* the first of the four axes has no brackets in a log */
    for (size_t i = 0; i < item->entry.count; i++)
        numbers[i] = NAN;
    for (const char *c = item->entry.data; c < item->after; c++) {
        char *after = NULL;
        if (*c == '[' && depth + 1 < LOG_AXES) {
            at[++depth] = 0;
        } else if (*c == ']') {
            depth -= depth > 0;
            at[depth] += depth > 0;
        } else if (*c == '.' && c[1] == '.') {
            at[depth] = shape[depth] - num_min(at[depth], shape[depth]);
            c += 2;
        } else if (strchr("-0123456789in", *c)) {
            double value = strtod(c, &after);
            size_t index = 0;
            bool fits = after != c && depth + 1 == LOG_AXES;
            for (size_t axis = 1; axis < LOG_AXES; axis++) {
                fits = fits && at[axis] < shape[axis];
                index = index * shape[axis] + at[axis];
            }
            if (!fits)
                return err_set(err, "'%s': expected the numbers of its sizes, found others",
                               item->entry.name);
            numbers[index] = (float)value;
            at[depth]++;
            c = after - 1;
        }
    }
    return 0;
}

/* --- all formats ------------------------------------------------------------------------------ */

int dump_floats(float *numbers, const struct dumped *item, struct err *err)
{
    if (item->is_printed)
        return read_printed(numbers, item, err);
    dtype_to_float(numbers, item->entry.data, item->entry.dtype, item->entry.count);
    if (item->is_fortran) {
        struct arena scratch = {0};
        float *copy = arena_room(&scratch, item->entry.count, sizeof *copy, err);
        if (copy) {
            memcpy(copy, numbers, item->entry.count * sizeof *copy);
            npy_to_c_order(numbers, copy, &item->entry);
        }
        arena_release(&scratch);
        return copy ? 0 : -1;
    }
    return 0;
}

/* Read a NumPy file or a log of llama.cpp. For an archive of torch.save, `*is_archive` becomes true
 * and no tensor is read: the caller opens the archive with pytorch.h. */
static int read_file(struct dump *dump, bool *is_archive, const struct file *file, const char *name,
                     struct err *err)
{
    struct zip zip = {0};
    const bool is_npz = name_ends_in(name, ".npz");
    *is_archive = false;
    if (file->size > 4 && memcmp(file->bytes, "\x93NUM", 4) == 0)
        return add_npy(dump, file, name, strlen(name), err);
    if (file->size < 4 || memcmp(file->bytes, "PK\3\4", 4) != 0)
        return read_log(dump, file, err);
    int failed = zip_read(&zip, file, is_npz ? "numpy.savez" : "torch.save", &dump->arena, err);
    *is_archive = !failed && zip.count && !is_npz;
    failed = failed || (!*is_archive && read_npz(dump, &zip, err));
    hash_table_release(&zip.names);
    return failed;
}

int dump_read(struct dump *dump, const struct file *file, const char *name, struct err *err)
{
    bool is_archive = false;
    *dump = (struct dump){0};
    if (!read_file(dump, &is_archive, file, name, err) && !is_archive)
        return 0;
    dump_release(dump);
    return err_set(err, "expected arrays of NumPy or a log, found others");
}

int dump_open(struct dump *dump, const char *path, struct err *err)
{
    *dump = (struct dump){0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool is_archive = false, is_folder = file_is_directory(path);
    bool is_safe = name_ends_in(path, ".safetensors");
    struct folder folder = {
        .path = slash ? arena_text(&dump->arena, path, (size_t)(slash - path), err) : "."};
    int failed = !folder.path;
    if (is_folder) {
        failed = failed || read_folder(dump, path, err);
    } else if (!is_safe && !failed) {
        dump->files = arena_alloc(&dump->arena, 1, sizeof *dump->files, err);
        failed = !dump->files || file_map(dump->files, path, err);
        dump->file_count = !failed;
        failed = failed || read_file(dump, &is_archive, dump->files, name, err);
        if (failed)
            err_prefix(err, "'%s'", path);
    }
    failed = failed || (is_safe && safetensors_open(&dump->tensors, &folder, name, err)) ||
             (is_archive && pytorch_open_nested(&dump->tensors, &folder, name, err));
    for (size_t i = 0; i < dump->tensors.count && !failed; i++)
        if (dtype_is_weight(dump->tensors.entries[i].dtype))
            failed = !add(dump, &dump->tensors.entries[i], err);
    if (!failed && dump->count)
        return 0;
    dump_release(dump);
    return failed ? -1
                  : err_set(err,
                            "'%s': expected tensors (safetensors, npz, npy, a file of torch.save, "
                            "a folder of npy files, or a log of llama-eval-callback), found none",
                            path);
}

void dump_release(struct dump *dump)
{
    for (size_t i = 0; i < dump->file_count; i++)
        file_release(&dump->files[i]);
    safetensors_release(&dump->tensors);
    arena_release(&dump->arena);
    *dump = (struct dump){0};
}
