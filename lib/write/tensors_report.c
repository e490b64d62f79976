/* tensors_report.c: safetensors (all tensors of a report in one file) and npy (one tensor).
 *
 * The metadata, a map of strings, has "format": "pt", which readers expect, and "result": the
 * object that json writes, without its tensors.
 */
#include "format/npy.h"
#include "format/safetensors.h"
#include "write/format.h"

static struct safetensors_tensor *name_tensors(const struct report *report, struct arena *arena,
                                               struct err *err)
{
    size_t count = report->tensor_count;
    struct safetensors_tensor *tensors = arena_alloc(arena, count, sizeof *tensors, err);
    for (size_t i = 0; i < count && tensors; i++) {
        const struct kept *kept = &report->tensors[i];
        char *name = arena_alloc(arena, SITE_NAME_BYTES, 1, err);
        if (!name)
            return NULL;
        tensors[i] = (struct safetensors_tensor){
            .name = kept_name(name, kept), .rank = kept_rank(kept), .shape = kept->shape};
    }
    return tensors;
}

int tensors_begin(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    struct safetensors_tensor *tensors = name_tensors(report, &writer->arena, err);
    json_report_metadata(&writer->columns, report, writer->place);
    if (!tensors || buf_check(&writer->columns, err))
        return -1;
    const struct safetensors_note notes[] = {{"format", "pt"}, {"result", writer->columns.bytes}};
    if (safetensors_header(&writer->line, tensors, report->tensor_count, notes, 2, err))
        return -1;
    stream_binary(writer->out);
    stream_bytes(writer->out, writer->line.bytes, writer->line.size);
    return 0;
}

/* An npy file cannot hold tokens or names: in a folder, its name and manifest.json supply them. */
int array_begin(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    bool of_site = report->tensor_count && !report->tensors->made; /* of a command with --show */
    if (report->tensor_count != 1)
        return err_usage(err, "--format npy: one file holds one tensor, found %zu: %s (-o DIR/)",
                         report->tensor_count,
                         of_site ? "choose one with --show and --layer, or use a folder"
                                 : "use a folder");
    npy_begin(writer->out, kept_rank(report->tensors), report->tensors[0].shape);
    return 0;
}

int array_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    (void)err;
    stream_bytes(writer->out, sheet->values,
                 sheet->rows.size * sheet->columns.size * sizeof *sheet->values);
    return 0;
}
