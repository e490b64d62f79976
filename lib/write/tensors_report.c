/* tensors_report.c: safetensors and npz (all tensors of a report in one file) and npy (one tensor).
 * A stack of reports has one tensor, [reports, …], which has no axis of tokens if each report has
 * only one token; a site in several layers is [reports, layers, …].
 *
 * The metadata of safetensors, a map of strings, has "format": "pt", which readers expect, and,
 * without a stack, "result": the object that json writes, without its tensors. In npz this object
 * is the array `result`, a text, since numpy reads every entry as an array.
 *
 * A tensor that is named as in another program has the axes of that program: first the batch, of
 * size 1, and [token, head, dim] instead of [head, token, dim]. */
#include <string.h>

#include "format/npy.h"
#include "format/safetensors.h"
#include "write/format.h"

/* True if the array is [head, token, dim] here, but [token, head, dim] in the other program whose
 * name for the tensor is used. */
static bool has_heads_inside(const struct array *array)
{
    const enum site_axes axes = site_axes(array->site);
    return array->theirs && (axes == AXES_HEAD_TOKEN_DIM || axes == AXES_KV_HEAD_TOKEN_DIM);
}

static struct safetensors_tensor *name_tensors(const struct writer *writer, struct arena *arena,
                                               struct err *err)
{
    const struct report *report = writer->report;
    size_t count = report->array_count;
    bool stacked = writer->report->identity.stacked;
    bool of_site = count && !report->arrays->name; /* the arrays belong to sites */
    /* true if the reports are stacked, and their arrays are one site in layers of the same shape */
    bool of_layers = stacked && count;
    for (size_t i = 0; i < count; i++) {
        const struct array *first = report->arrays, *other = &first[i];
        if (other->name || other->site != first->site || other->heads.size != first->heads.size ||
            other->rows.size != first->rows.size || other->columns.size != first->columns.size)
            of_layers = false;
    }
    if (count != 1 && !of_layers && (stacked || writer->format->unit == UNIT_ARRAY)) {
        err_usage(err, "--format %s: one %s holds one tensor, found %zu: %s%s",
                  writer->format->name, stacked ? "array" : "file", count,
                  stacked   ? "choose one with --show, of any layers"
                  : of_site ? "choose one with --show and --layer"
                            : "use a folder (-o DIR/)",
                  of_site && !stacked ? ", or use a folder (-o DIR/)" : "");
        return NULL;
    }
    struct safetensors_tensor *tensors = arena_alloc(arena, count, sizeof *tensors, err);
    for (size_t i = 0; i < count && tensors; i++) {
        const struct array *array = &report->arrays[i];
        char *name = arena_alloc(arena, SITE_NAME_BYTES, 1, err);
        const struct tensor tensor = array_tensor(array);
        size_t *shape = arena_alloc(arena, tensor.rank + 2, sizeof *shape, err);
        size_t rank = 0, axes = array_rank(array);
        if (!name || !shape)
            return NULL;
        if (stacked || array->theirs)
            shape[rank++] = stacked ? report->identity.count : 1;
        if (of_layers && count > 1)
            shape[rank++] = count;
        for (size_t axis = 0; axis < axes; axis++)
            if (!stacked || axis + 2 != tensor.rank || tensor.shape[axis] > 1)
                shape[rank++] = tensor.shape[axis];
        if (has_heads_inside(array) && rank >= 3) {
            size_t *end = shape + rank, heads = end[-3];
            end[-3] = end[-2];
            end[-2] = array->merges_heads ? heads * end[-1] : heads;
            rank -= array->merges_heads;
        }
        tensors[i] = (struct safetensors_tensor){
            of_layers && count > 1 ? site_name(array->site) : array_name(name, array), rank, shape};
    }
    return tensors;
}

static int tensors_begin(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    const struct identity *identity = &writer->report->identity;
    struct safetensors_tensor *tensors = name_tensors(writer, &writer->arena, err);
    json_report_metadata(&writer->columns, report);
    if (!tensors || buf_check(&writer->columns, err))
        return -1;
    stream_binary(writer->out);
    if (identity->stacked && identity->index)
        return 0;
    const struct safetensors_note notes[] = {{"format", "pt"}, {"result", writer->columns.bytes}};
    if (safetensors_header(&writer->line, tensors, identity->stacked ? 1 : report->array_count,
                           notes, identity->stacked ? 1 : 2, err))
        return -1;
    stream_bytes(writer->out, writer->line.bytes, writer->line.size);
    return 0;
}

/* Begin an npy file, which cannot contain tokens or names: in a folder, the file's name and
 * manifest.json give them. */
static int array_begin(struct writer *writer, struct err *err)
{
    struct safetensors_tensor *tensors = name_tensors(writer, &writer->arena, err);
    stream_binary(writer->out);
    if (tensors && !(writer->report->identity.stacked && writer->report->identity.index))
        npy_begin(writer->out, tensors->rank, tensors->shape);
    return tensors ? 0 : -1;
}

/* Set `*bytes` to values that can be written, and return their size in bytes. 0: the values can
 * only be written after more heads, or memory ran out. */
static size_t next_values(const void **bytes, struct writer *writer, const struct sheet *sheet,
                          struct err *err)
{
    const struct array *array = &writer->report->arrays[writer->array];
    const size_t columns = sheet->columns.size, row = columns * sizeof *sheet->values;
    const size_t heads = array_matrix_count(array), size = sheet->rows.size * row;
    struct buf *all = &writer->line;
    *bytes = sheet->values;
    if (!has_heads_inside(array))
        return size;
    if (writer->sheet == 0) {
        buf_clear(all);
        buf_repeat(all, "", 1, heads * size);
    }
    if (buf_check(all, err))
        return 0;
    for (size_t i = 0; i < sheet->rows.size; i++)
        memcpy(all->bytes + (i * heads + writer->sheet) * row, sheet->values + i * columns, row);
    *bytes = all->bytes;
    return writer_at_last(writer) ? heads * size : 0;
}

static int array_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    const void *bytes = NULL;
    const size_t size = next_values(&bytes, writer, sheet, err);
    stream_bytes(writer->out, bytes, size);
    return err_if(err->kind);
}

/* --- npz -------------------------------------------------------------------------------------- */

static int npz_begin(struct writer *writer, struct err *err)
{
    struct buf text = {0};
    stream_binary(writer->out);
    writer->zip.out = writer->out;
    json_report_metadata(&writer->columns, writer->report);
    writer->tensors = name_tensors(writer, &writer->arena, err);
    if (!writer->tensors || buf_check(&writer->columns, err))
        return -1;
    npy_add_text(&text, writer->columns.bytes, writer->columns.size);
    int failed = buf_check(&text, err);
    if (!failed)
        zip_add(&writer->zip, "result.npy", text.bytes, text.size);
    buf_release(&text);
    return failed;
}

static int npz_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    char header[NPY_HEADER_BYTES];
    const void *bytes = NULL;
    if (writer->sheet == 0) {
        const struct safetensors_tensor *tensor = &writer->tensors[writer->array];
        const char *name = arena_format(&writer->arena, err, "%s.npy", tensor->name);
        if (!name)
            return -1;
        zip_begin(&writer->zip, name);
        zip_put(&writer->zip, header, npy_header(header, tensor->rank, tensor->shape));
    }
    const size_t size = next_values(&bytes, writer, sheet, err);
    zip_put(&writer->zip, bytes, size);
    if (writer_at_last(writer))
        zip_close(&writer->zip);
    return err_if(err->kind);
}

static int npz_end(struct writer *writer, struct err *err)
{
    return zip_end(&writer->zip, err);
}

FORMAT_ROW(npy, ".npy", "NumPy file with one float32 array", UNIT_ARRAY, .for_files = true,
           .single_text = true, .cell_bytes = 4, .keeps_shape = true, .begin = array_begin,
           .sheet = array_sheet)

FORMAT_ROW(npz, ".npz", "all tensors by name, float32, for numpy.load; tokens in result", UNIT_TEXT,
           .for_files = true, .single_text = true, .has_tokens = true, .has_origin = true,
           .cell_bytes = 4, .keeps_shape = true, .begin = npz_begin, .sheet = npz_sheet,
           .end = npz_end)

FORMAT_ROW(safetensors, ".safetensors", "all tensors by name, float32; tokens in the metadata",
           UNIT_TEXT, .for_files = true, .single_text = true, .has_tokens = true,
           .has_origin = true, .cell_bytes = 4, .keeps_shape = true, .begin = tensors_begin,
           .sheet = array_sheet)
