/* format.c: writes reports to a stream, or as the files of a folder. */
#include "write/format.h"

#include <string.h>
#include <unistd.h>

#include "base/replacement.h"
#include "write/working.h"

bool writer_at_last(const struct writer *writer)
{
    return writer->sheet + 1 == array_matrix_count(&writer->report->arrays[writer->array]);
}

/* --- files in a folder ------------------------------------------------------------------------ */

/* A folder being written, and its open file. */
struct folder_files {
    const struct target_folder *target;
    /* path of the open file; its first `folder_size` bytes are the folder with a slash */
    struct buf path;
    size_t folder_size;
    bool made, complete; /* `made`: the subfolder of a text was made or opened; `complete`: all
                          * files and the manifest are written */
    enum format_unit unit;
    /* the report with only the tables, tensor or head that are in the open file */
    struct report report;
    struct array one; /* the tensor or head in the open file */
    struct stream stream;
    struct writer writer;
    struct buf entries; /* items of `files` in manifest.json */
};

static int open_stream(struct folder_files *folder, const char *stem, const char *ending,
                       struct err *err)
{
    folder->path.size = folder->folder_size;
    buf_text(&folder->path, stem);
    buf_text(&folder->path, ending);
    return err_if(
        buf_check(&folder->path, err) ||
        stream_open_inside(&folder->stream, folder->path.bytes, folder->target->replaces, err));
}

static int open_file(struct writer *writer, const char *stem, struct err *err)
{
    struct folder_files *folder = writer->folder;
    const struct target target = {.stream = &folder->stream};
    if (open_stream(folder, stem, writer->format->ending, err))
        return -1;
    if (writer_begin(&folder->writer, writer->format, &target, &folder->report, writer->layout,
                     err))
        return err_prefix(err, "'%s'", folder->path.bytes);
    return 0;
}

static int close_file(struct writer *writer, struct err *err)
{
    struct folder_files *folder = writer->folder;
    int failed = writer_end(&folder->writer, err);
    writer_release(&folder->writer);
    folder->writer = (struct writer){0};
    if (failed)
        err_prefix(err, "'%s'", folder->path.bytes);
    return stream_end(&folder->stream, failed, err);
}

/* Begin `path` with DIR/ or, for one of several texts, with DIR/0000/. Create this subfolder unless
 * it exists. */
static int open_folder(struct folder_files *folder, const struct identity *identity,
                       struct err *err)
{
    struct target_folder inner = {0};
    struct buf *path = &folder->path;
    buf_text(path, folder->target->path);
    if (!path->size || path->bytes[path->size - 1] != '/')
        buf_char(path, '/');
    if (identity->count > 1) {
        buf_format(path, "%04zu", identity->index);
        if (buf_check(path, err) ||
            target_folder_open_inside(&inner, path->bytes, folder->target, err))
            return -1; /* the caller closes folder->target, which holds the lock */
        folder->made = true;
        buf_char(path, '/');
    }
    folder->folder_size = path->size;
    return buf_check(path, err);
}

/* Add the open file to the manifest, such as {"file": "weights.l00.h01.csv", "tensor":
 * "h.0.weights", "layer": 0, "heads": [1]}; tables have no layer. */
static void put_entry(struct folder_files *folder, const char *table, const struct array *array)
{
    char name[SITE_NAME_BYTES];
    struct json_writer json = {.buf = &folder->entries, .comma = folder->entries.size > 0};
    json_put_open(&json, "\n  ", '{');
    json_put_text(&json, "file", folder->path.bytes + folder->folder_size);
    json_put_text(&json, table ? "table" : "tensor", table ? table : array_name(name, array));
    if (array)
        json_report_selection(&json, array);
    json_put_close(&json, '}');
}

/* Begin writing to a folder. Open the single file if the format has one, otherwise write a file for
 * each table. */
static int folder_begin(struct writer *writer, const struct target_folder *target, struct err *err)
{
    const struct style *style = writer->layout->style;
    const struct report *report = writer->report;
    struct folder_files *folder = arena_alloc(&writer->arena, 1, sizeof *folder, err);
    if (!folder)
        return -1;
    *folder =
        (struct folder_files){.target = target, .unit = writer->format->unit, .report = *report};
    if (writer->format->is_picture && style && style->view == VIEW_OVERLAY)
        folder->unit = UNIT_ARRAY; /* one picture, and so one file, shows all heads */
    struct identity *identity = &folder->report.identity;
    identity->index = identity->texts = 0;
    identity->count = 1;
    identity->model = NULL;
    writer->folder = folder;
    if (open_folder(folder, &report->identity, err))
        return -1;
    bool shared = folder->unit == UNIT_TEXT;
    if (shared && open_file(writer, "sentence", err))
        return -1;
    for (size_t i = 0; i < report->table_count; i++) {
        const struct table *table = &report->tables[i];
        if (table->flags & COLUMN_TEXT_ONLY)
            continue;
        if (!shared) {
            folder->report.tables = table;
            folder->report.table_count = 1;
            if (open_file(writer, table->name, err))
                return -1;
        }
        put_entry(folder, table->name, NULL);
        if (!shared && close_file(writer, err))
            return -1;
    }
    if (!shared)
        folder->report.identity.extra_count = 0; /* files of matrices have no leading columns */
    return 0;
}

/* Set folder->report to the tensor or head that the next file contains. Returns the file's name
 * without its extension. */
static const char *choose_share(struct writer *writer, char stem[SHEET_NAME_BYTES],
                                const struct sheet *sheet)
{
    struct folder_files *folder = writer->folder;
    const struct array *array = &writer->report->arrays[writer->array];
    folder->report.arrays = &folder->one;
    folder->report.array_count = 1;
    folder->one = *array;
    if (folder->unit == UNIT_ARRAY)
        return array_name(stem, array);
    folder->one = array_head(array, writer->sheet);
    folder->one.data = sheet->values;
    folder->one.visible = sheet->visible;
    return sheet_stem(stem, sheet);
}

static int folder_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    char stem[SHEET_NAME_BYTES];
    struct folder_files *folder = writer->folder;
    bool shared = folder->unit == UNIT_TEXT;
    bool begins = folder->unit == UNIT_SHEET || writer->sheet == 0;
    bool ends = folder->unit == UNIT_SHEET || writer_at_last(writer);
    if (begins && !shared && open_file(writer, choose_share(writer, stem, sheet), err))
        return -1;
    if (begins)
        put_entry(folder, NULL, shared ? &writer->report->arrays[writer->array] : &folder->one);
    if (writer_sheet(&folder->writer, sheet, err))
        return err_prefix(err, "'%s'", folder->path.bytes);
    return ends && !shared ? close_file(writer, err) : 0;
}

/* Write a manifest: the origin of the report, and the list of files, whose items are in
 * `entries`. */
static int put_manifest(struct stream *stream, const struct report *report, struct buf *entries,
                        struct err *err)
{
    struct json_writer json = {.stream = stream};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("files"));
    json_report_origin(&json, report, report->identity.provenance);
    json_put_open(&json, "\n files", '[');
    if (text_send(stream, entries, err))
        return -1;
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(stream, '\n');
    return 0;
}

/* Close the single file, if the format has one, and write manifest.json. */
static int folder_end(struct writer *writer, struct err *err)
{
    struct folder_files *folder = writer->folder;
    if ((folder->unit == UNIT_TEXT && close_file(writer, err)) ||
        open_stream(folder, "manifest", ".json", err) ||
        put_manifest(&folder->stream, writer->report, &folder->entries, err))
        return -1;
    folder->complete = !stream_commit(&folder->stream, err);
    return folder->complete ? 0 : -1;
}

int manifest_write(struct stream *stream, const struct report *report,
                   const struct table_file *files, size_t count, struct err *err)
{
    struct buf entries = {0};
    for (size_t i = 0; i < count; i++) {
        struct json_writer json = {.buf = &entries, .comma = i > 0};
        json_put_open(&json, "\n  ", '{');
        json_put_text(&json, "file", files[i].name);
        json_put_text(&json, "table", files[i].table);
        json_put_close(&json, '}');
    }
    int failed = put_manifest(stream, report, &entries, err);
    buf_release(&entries);
    return failed;
}

/* --- writing a report ------------------------------------------------------------------------- */

int writer_begin(struct writer *writer, const struct format *format, const struct target *target,
                 const struct report *report, const struct layout *layout, struct err *err)
{
    *writer = (struct writer){
        .format = format, .out = target->stream, .report = report, .layout = layout};
    if (target->folder)
        return folder_begin(writer, target->folder, err);
    return format->begin ? format->begin(writer, err) : 0;
}

int writer_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    writer_sheet_step *step = writer->folder ? folder_sheet : writer->format->sheet;
    if (step && step(writer, sheet, err))
        return -1;
    bool last = writer_at_last(writer);
    writer->array += last;
    writer->sheet = last ? 0 : writer->sheet + 1;
    return 0;
}

int writer_end(struct writer *writer, struct err *err)
{
    const struct format *format = writer->format;
    writer_step *step = writer->folder ? folder_end : format->end;
    if (!step && format->markup)
        return markup_write(format->markup, writer->out, writer->report, writer->layout, err);
    if (!step && format->write)
        return format->write(writer->out, writer->report, writer->layout, err);
    return step ? step(writer, err) : 0;
}

void writer_release(struct writer *writer)
{
    struct folder_files *folder = writer->folder;
    if (folder) {
        stream_discard(&folder->stream);
        writer_release(&folder->writer);
        if (folder->made && !folder->complete) {
            folder->path.bytes[folder->folder_size - 1] = '\0';
            rmdir(folder->path.bytes); /* rmdir fails, and the folder stays, if it is not empty */
        }
        buf_release(&folder->path);
        buf_release(&folder->entries);
    }
    buf_release(&writer->line);
    buf_release(&writer->columns);
    buf_release(&writer->zip.directory);
    arena_release(&writer->arena);
}

int report_as_arrays(struct report *copy, const struct report *report, bool for_picture,
                     struct arena *arena, struct err *err)
{
    struct array array;
    *copy = *report;
    copy->table_count = 0;
    for (size_t i = 0; i < report->table_count && !report->array_count; i++) {
        const struct table *table = &report->tables[i];
        size_t pictures = for_picture ? table->picture_count : 0;
        const struct table *end = pictures ? table->pictures + pictures : table + 1;
        for (table = pictures ? table->pictures : table; table < end; table++)
            if (!(table->flags & COLUMN_TEXT_ONLY) &&
                (table_array(&array, table, for_picture, arena, err) ||
                 report_add_array(copy, &array, arena, err)))
                return -1;
    }
    return 0;
}

int report_write(const struct format *format, const struct target *target,
                 const struct report *report, const struct layout *layout, struct err *err)
{
    struct arena arena = {0};
    struct report sheets;
    struct writer writer = {0};
    int failed = 0;
    if (report->table_count && !format->has_tables && !report_chapter(report)) {
        failed = report_as_arrays(&sheets, report, format->display & DISPLAY_PICTURE, &arena, err);
        report = &sheets;
    }
    if (!format->keeps_shape && !failed) {
        sheets = *report;
        failed = report_join_sinks(&sheets, &arena, err);
        report = &sheets;
    }
    failed = failed || writer_begin(&writer, format, target, report, layout, err);
    size_t tensors = failed || report_has_tables(report) ? 0 : report->array_count;
    for (size_t i = 0; i < tensors; i++)
        for (size_t k = 0; k < array_matrix_count(&report->arrays[i]) && !failed; k++) {
            struct sheet sheet = array_matrix(report, &report->arrays[i], k);
            failed = writer_sheet(&writer, &sheet, err);
        }
    failed = failed || writer_end(&writer, err);
    writer_release(&writer);
    arena_release(&arena);
    return err_if(failed);
}
