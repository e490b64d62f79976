/* tensors_report.c: safetensors (all tensors of a report in one file) and npy (one tensor). A stack
 * of reports has one tensor, [reports, …], without an axis of one token; a site in several layers
 * is [reports, layers, …].
 *
 * The metadata, a map of strings, has "format": "pt", which readers expect, and, without a stack,
 * "result": the object that json writes, without its tensors. */
#include <string.h>

#include "format/npy.h"
#include "format/safetensors.h"
#include "write/format.h"

static struct safetensors_tensor *name_tensors(const struct writer *writer, struct arena *arena,
                                               struct err *err)
{
    const struct report *report = writer->report;
    size_t count = report->array_count;
    bool stacked = writer->report->identity.stacked;
    bool of_site = count && !report->arrays->name; /* of a command with --show */
    bool of_layers = stacked && count; /* the tensors of one site in several layers, of one shape */
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
        size_t rank = 0;
        if (!name || !shape)
            return NULL;
        if (stacked)
            shape[rank++] = writer->report->identity.count;
        if (of_layers && count > 1)
            shape[rank++] = count;
        for (size_t axis = 0; axis < array_rank(array); axis++)
            if (!stacked || axis + 2 != tensor.rank || tensor.shape[axis] > 1)
                shape[rank++] = tensor.shape[axis];
        array_name(name, array);
        tensors[i] = (struct safetensors_tensor){
            of_layers && count > 1 ? site_name(array->site) : name, rank, shape};
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

/* An npy file cannot hold tokens or names: in a folder, its name and manifest.json supply them. */
static int array_begin(struct writer *writer, struct err *err)
{
    struct safetensors_tensor *tensors = name_tensors(writer, &writer->arena, err);
    stream_binary(writer->out);
    if (tensors && !(writer->report->identity.stacked && writer->report->identity.index))
        npy_begin(writer->out, tensors->rank, tensors->shape);
    return tensors ? 0 : -1;
}

static int array_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    (void)err;
    stream_bytes(writer->out, sheet->values,
                 sheet->rows.size * sheet->columns.size * sizeof *sheet->values);
    return 0;
}

FORMAT_ROW(npy, ".npy", "NumPy file with one float32 array", UNIT_ARRAY, .for_files = true,
           .one_sentence = true, .cell_bytes = 4, .keeps_shape = true, .begin = array_begin,
           .sheet = array_sheet)

FORMAT_ROW(safetensors, ".safetensors", "all tensors by name, float32; tokens in the metadata",
           UNIT_SENTENCE, .for_files = true, .one_sentence = true, .has_tokens = true,
           .has_origin = true, .cell_bytes = 4, .keeps_shape = true, .begin = tensors_begin,
           .sheet = array_sheet)
