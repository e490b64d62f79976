#include "format/npy.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/utf8.h"
#include "format/dtype.h"

enum {
    RANK_MAX = 32, /* maximum number of axes in NumPy 1; the header has room for that many sizes of
                    * 20 digits */
    ALIGN_BYTES = 64,
    PREFIX_BYTES = 10, /* the magic bytes, the version and the header's length */
};

/* Write a header and return its size in bytes. After the prefix comes a Python dictionary, padded
 * with blanks to align the data. In it, the shape is a tuple: `()`, `(3,)`, `(3, 4)`. */
static size_t header_of(char header[NPY_HEADER_BYTES], const char *type, size_t rank,
                        const size_t *shape)
{
    char *text = header + PREFIX_BYTES;
    const size_t most = NPY_HEADER_BYTES - PREFIX_BYTES;
    assert(rank <= RANK_MAX);
    size_t used =
        (size_t)snprintf(text, most, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (size_t i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, most - used, i ? ", %zu" : "%zu", shape[i]);
    used += (size_t)snprintf(text + used, most - used, rank == 1 ? ",), }" : "), }");
    while ((PREFIX_BYTES + used + 1) % ALIGN_BYTES)
        text[used++] = ' ';
    text[used++] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", PREFIX_BYTES - 2);
    header[PREFIX_BYTES - 2] = (char)(used & 0xff);
    header[PREFIX_BYTES - 1] = (char)(used >> 8);
    return PREFIX_BYTES + used;
}

size_t npy_header(char header[NPY_HEADER_BYTES], size_t rank, const size_t *shape)
{
    return header_of(header, "<f4", rank, shape);
}

void npy_add_text(struct buf *file, const char *text, size_t size)
{
    enum { TYPE_BYTES = 32, CHARACTER_BYTES = 4, REPLACEMENT = 0xfffd };
    char header[NPY_HEADER_BYTES], type[TYPE_BYTES];
    struct buf characters = {0};
    for (size_t at = 0, length; at < size; at += length ? length : 1) {
        uint32_t character = REPLACEMENT;
        length = utf8_decode(&character, text + at, size - at);
        for (int i = 0; i < CHARACTER_BYTES; i++)
            buf_char(&characters, (char)(character >> 8 * i & 0xff));
    }
    snprintf(type, sizeof type, "<U%zu", characters.size / CHARACTER_BYTES);
    buf_bytes(file, header, header_of(header, type, 0, NULL));
    buf_bytes(file, characters.bytes, characters.size);
    buf_fail_with(file, &characters);
    buf_release(&characters);
}

void npy_begin(struct stream *out, size_t rank, const size_t *shape)
{
    char header[NPY_HEADER_BYTES];
    const size_t size = npy_header(header, rank, shape);
    stream_binary(out);
    stream_bytes(out, header, size);
}

/* --- reading ---------------------------------------------------------------------------------- */

enum { MAGIC_BYTES = 6, DIGITS_MAX = 19 };

/* The parts of a file: the header, which is a Python dictionary, and the data after it. */
struct parts {
    const char *header, *data, *end;
};

static bool find_parts(struct parts *parts, const struct file *file)
{
    enum { VERSION = MAGIC_BYTES, LENGTH = VERSION + 2 };
    if (file->size < LENGTH + 4 || memcmp(file->bytes, "\x93NUMPY", MAGIC_BYTES) != 0)
        return false;
    char version = file->bytes[VERSION];
    size_t length_bytes = version > 1 ? 4 : 2;
    size_t size = num_of_bytes(file->bytes + LENGTH, length_bytes);
    if (version < 1 || version > 3 || size > file->size - LENGTH - length_bytes)
        return false;
    parts->header = file->bytes + LENGTH + length_bytes;
    parts->data = parts->header + size;
    parts->end = file->bytes + file->size;
    return true;
}

/* Find the text after a key, a colon and spaces; return NULL if the key is missing. */
static const char *find_value(const struct parts *parts, const char *key)
{
    size_t size = strlen(key);
    const char *at = memmem(parts->header, (size_t)(parts->data - parts->header), key, size);
    for (at = at ? at + size : NULL; at && at < parts->data && (*at == ' ' || *at == ':');)
        at++;
    return at;
}

static bool begins(const struct parts *parts, const char *at, const char *word)
{
    size_t size = strlen(word);
    return at && (size_t)(parts->data - at) >= size && memcmp(at, word, size) == 0;
}

/* Read a shape. Returns false for anything but a tuple of numbers, and for too many axes. */
static bool read_shape(struct safetensors_entry *entry, const struct parts *parts, const char *at)
{
    if (!begins(parts, at, "("))
        return false;
    for (at++; at < parts->data && *at != ')';) {
        size_t digits = 0, number = 0;
        for (; at < parts->data && *at >= '0' && *at <= '9' && digits < DIGITS_MAX; at++, digits++)
            number = number * 10 + (size_t)(*at - '0');
        if (!digits || entry->rank == SAFETENSORS_RANK_MAX)
            return false;
        entry->shape[entry->rank++] = number;
        while (at < parts->data && (*at == ',' || *at == ' '))
            at++;
    }
    return at < parts->data;
}

bool npy_has_texts(const struct file *file)
{
    struct parts parts;
    if (!find_parts(&parts, file))
        return false;
    const char *type = find_value(&parts, "'descr'");
    return begins(&parts, type, "'<U") || begins(&parts, type, "'>U") ||
           begins(&parts, type, "'|S");
}

int npy_find(struct safetensors_entry *entry, bool *is_fortran, const struct file *file,
             struct err *err)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = {{"'<f4'", DTYPE_F32},
                 {"'<f8'", DTYPE_F64},
                 {"'<f2'", DTYPE_F16},
                 {"'<V2'", DTYPE_BF16},
                 {"'|V2'", DTYPE_BF16}};
    enum { TYPES = sizeof types / sizeof *types };
    struct parts parts;
    size_t bytes = 0, kind = 0;
    *entry = (struct safetensors_entry){.count = 1};
    if (!find_parts(&parts, file))
        return err_set(err, "expected a NumPy array file (np.save), found something else");
    const char *type = find_value(&parts, "'descr'");
    while (kind < TYPES && !begins(&parts, type, types[kind].name))
        kind++;
    if (kind == TYPES)
        return err_set(err,
                       "expected float16, float32 or float64 ('<f2', '<f4', '<f8'), found another "
                       "type");
    if (!read_shape(entry, &parts, find_value(&parts, "'shape'")))
        return err_set(err, "expected a shape of at most %d axes, found another",
                       SAFETENSORS_RANK_MAX);
    bool fits = true;
    for (size_t i = 0; i < entry->rank; i++)
        fits = fits && num_multiply(&entry->count, entry->count, entry->shape[i]);
    entry->dtype = types[kind].dtype;
    entry->data = parts.data;
    if (!fits || !num_multiply(&bytes, entry->count, dtype_size_bytes(entry->dtype)) ||
        bytes != (size_t)(parts.end - parts.data))
        return err_set(err, "expected as many numbers as its shape has, found %zu bytes",
                       (size_t)(parts.end - parts.data));
    *is_fortran = begins(&parts, find_value(&parts, "'fortran_order'"), "True");
    return 0;
}

void npy_to_c_order(float *to, const float *from, const struct safetensors_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) { /* the first axis of `from` is contiguous */
        size_t at = 0, rest = i, stride = entry->count;
        for (size_t axis = entry->rank; axis-- > 0; rest /= entry->shape[axis]) {
            stride /= entry->shape[axis];
            at += rest % entry->shape[axis] * stride;
        }
        to[i] = from[at];
    }
}

int npy_read_bytes(struct npy *array, const struct file *file, struct arena *arena, struct err *err)
{
    struct safetensors_entry entry;
    bool is_fortran = false;
    *array = (struct npy){0};
    if (npy_find(&entry, &is_fortran, file, err))
        return -1;
    if (entry.rank > NPY_RANK_MAX)
        return err_set(err, "expected a shape of at most %d axes, found another", NPY_RANK_MAX);
    array->rank = entry.rank;
    memcpy(array->shape, entry.shape, entry.rank * sizeof *entry.shape);
    float *data = arena_room(arena, entry.count, sizeof *data, err);
    float *sorted = is_fortran ? arena_room(arena, entry.count, sizeof *sorted, err) : data;
    if (!data || !sorted)
        return -1;
    dtype_to_float(data, entry.data, entry.dtype, entry.count);
    if (is_fortran)
        npy_to_c_order(sorted, data, &entry);
    array->data = sorted;
    for (size_t i = 0; i < entry.count; i++)
        if (!isfinite(data[i]))
            return err_set(err, "expected finite numbers, found infinity or nan at %zu", i);
    return 0;
}

int npy_read(struct npy *array, const char *path, struct arena *arena, struct err *err)
{
    struct file file = {0};
    if (file_map_regular(&file, path, err))
        return -1;
    int failed = npy_read_bytes(array, &file, arena, err);
    file_release(&file);
    return failed ? err_prefix(err, "'%s'", path) : 0;
}
