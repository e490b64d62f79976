/* folder_out.c: a report as files in a folder, one for each sheet, tensor, table or sentence, and
 * manifest.json, which says which file holds which of them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/target_folder.h"
#include "write/format.h"

/* A folder that is being written, and the file that is open. */
struct folder_files {
    const struct target_folder *target;
    struct buf path; /* whose first `folder_size` bytes are the folder and a slash */
    size_t folder_size;
    bool made, complete; /* a folder of one of several sentences */
    enum format_unit unit;
    struct place place;   /* that of each file: it is alone */
    struct report report; /* its share … */
    struct kept one;      /* … where that is a single tensor or head */
    struct stream stream;
    struct writer writer;
};

/* Heads that are drawn into one picture share its file. */
static enum format_unit unit_of(const struct writer *writer)
{
    const struct style *style = writer->place->style;
    bool overlay = style && style->view == VIEW_OVERLAY;
    return writer->format->is_picture && overlay ? UNIT_TENSOR : writer->format->unit;
}

/* --- one file --------------------------------------------------------------------------------- */

static int open_stream(struct folder_files *folder, const char *stem, const char *ending,
                       struct err *err)
{
    folder->path.size = folder->folder_size;
    buf_text(&folder->path, stem);
    buf_text(&folder->path, ending);
    return buf_check(&folder->path, err) || stream_open_inside(&folder->stream, folder->path.bytes,
                                                               folder->target->replaces, err)
               ? -1
               : 0;
}

/* Begin a file with its share of the report, folder->report. */
static int open_file(struct writer *writer, const char *stem, struct err *err)
{
    struct folder_files *folder = writer->folder;
    const struct target target = {.stream = &folder->stream};
    if (open_stream(folder, stem, writer->format->ending, err))
        return -1;
    if (!writer->format->write && writer_begin(&folder->writer, writer->format, &target,
                                               &folder->report, &folder->place, err))
        return err_prefix(err, "'%s'", folder->path.bytes);
    return 0;
}

static int close_file(struct writer *writer, struct err *err)
{
    struct folder_files *folder = writer->folder;
    const struct format *format = writer->format;
    int failed = format->write
                     ? format->write(&folder->stream, &folder->report, &folder->place, err)
                     : writer_end(&folder->writer, err);
    writer_release(&folder->writer);
    folder->writer = (struct writer){0};
    if (failed)
        err_prefix(err, "'%s'", folder->path.bytes);
    return stream_end(&folder->stream, failed, err);
}

/* --- a folder --------------------------------------------------------------------------------- */

/* DIR/ or, for one of several sentences, DIR/0000/, which is made: the path begins with it. */
static int open_place(struct folder_files *folder, const struct place *place, struct err *err)
{
    struct target_folder inner = {0};
    struct buf *path = &folder->path;
    buf_text(path, folder->target->path);
    if (!path->size || path->bytes[path->size - 1] != '/')
        buf_char(path, '/');
    if (place->count > 1) {
        buf_format(path, "%04zu", place->index);
        if (buf_check(path, err) ||
            target_folder_open_inside(&inner, path->bytes, folder->target, err))
            return -1; /* there is no lock to hold: it is that of all */
        folder->made = true;
        buf_char(path, '/');
    }
    folder->folder_size = path->size;
    return buf_check(path, err);
}

static int write_tables(struct writer *writer, struct err *err)
{
    struct folder_files *folder = writer->folder;
    const struct report *report = writer->report;
    for (size_t i = 0; i < report->frame_count; i++) {
        const struct frame *frame = &report->frames[i];
        if (frame->flags & COLUMN_TEXT_ONLY)
            continue;
        folder->report.frames = frame;
        folder->report.frame_count = 1;
        if (open_file(writer, frame->name, err) || close_file(writer, err))
            return -1;
    }
    return 0;
}

int folder_begin(struct writer *writer, const struct target_folder *target, struct err *err)
{
    struct folder_files *folder = arena_alloc(&writer->arena, 1, sizeof *folder, err);
    if (!folder)
        return -1;
    *folder = (struct folder_files){.target = target,
                                    .unit = unit_of(writer),
                                    .place = *writer->place,
                                    .report = *writer->report};
    folder->place.index = folder->place.sentences = 0;
    folder->place.count = 1;
    folder->place.model = NULL;
    writer->folder = folder;
    if (open_place(folder, writer->place, err))
        return -1;
    return folder->unit == UNIT_SENTENCE ? open_file(writer, "sentence", err)
                                         : write_tables(writer, err);
}

/* The file's share: a tensor, or one head of it. */
static const char *choose_share(struct writer *writer, char stem[SHEET_NAME_BYTES],
                                const struct sheet *sheet)
{
    struct folder_files *folder = writer->folder;
    const struct kept *kept = &writer->report->tensors[writer->tensor];
    folder->report.tensors = &folder->one;
    folder->report.tensor_count = 1;
    folder->one = *kept;
    if (folder->unit == UNIT_TENSOR)
        return kept_name(stem, kept);
    folder->one = kept_head(kept, writer->sheet);
    folder->one.data = sheet->values;
    folder->one.visible = sheet->visible;
    return sheet_stem(stem, sheet);
}

int folder_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    char stem[SHEET_NAME_BYTES];
    struct folder_files *folder = writer->folder;
    bool alone = folder->unit == UNIT_SHEET;
    bool shared = folder->unit == UNIT_SENTENCE;
    if (!shared && (alone || writer_at_first(writer)) &&
        open_file(writer, choose_share(writer, stem, sheet), err))
        return -1;
    if (!writer->format->write && writer_sheet(&folder->writer, sheet, err))
        return err_prefix(err, "'%s'", folder->path.bytes);
    return !shared && (alone || writer_at_last(writer)) ? close_file(writer, err) : 0;
}

/* --- manifest.json ---------------------------------------------------------------------------- */

/* {"file": "weights.l00.h01.csv", "tensor": "h.0.weights", "layer": 0, "heads": [1]}; a table has
 * no layer. */
static void put_entry(struct json_writer *json, const struct writer *writer, const char *stem,
                      const char *table, const struct kept *kept)
{
    char file[SHEET_NAME_BYTES * 2];
    char name[SITE_NAME_BYTES];
    snprintf(file, sizeof file, "%s%s", stem, writer->format->ending);
    json_put_open(json, "\n  ", '{');
    json_put_text(json, "file", file);
    json_put_text(json, table ? "table" : "tensor", table ? table : kept_name(name, kept));
    if (kept)
        json_report_place(json, kept);
    json_put_close(json, '}');
}

static void put_entries(struct json_writer *json, const struct writer *writer)
{
    char stem[SHEET_NAME_BYTES] = "sentence";
    const struct report *report = writer->report;
    enum format_unit unit = writer->folder->unit;
    for (size_t i = 0; i < report->frame_count; i++) {
        const char *table = report->frames[i].name;
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY))
            put_entry(json, writer, unit == UNIT_SENTENCE ? stem : table, table, NULL);
    }
    size_t tensors = report_has_tables(report) ? 0 : report->tensor_count;
    for (size_t i = 0; i < tensors; i++) {
        const struct kept *kept = &report->tensors[i];
        for (size_t k = 0; unit == UNIT_SHEET && k < kept_sheet_count(kept); k++) {
            struct sheet sheet = kept_sheet(report, kept, k);
            struct kept head = kept_head(kept, k);
            put_entry(json, writer, sheet_stem(stem, &sheet), NULL, &head);
        }
        if (unit == UNIT_TENSOR)
            kept_name(stem, kept);
        if (unit != UNIT_SHEET)
            put_entry(json, writer, stem, NULL, kept);
    }
}

int folder_end(struct writer *writer, struct err *err)
{
    struct folder_files *folder = writer->folder;
    struct json_writer json = {.stream = &folder->stream};
    if (folder->unit == UNIT_SENTENCE && close_file(writer, err))
        return -1;
    if (open_stream(folder, "manifest", ".json", err))
        return -1;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("files"));
    json_report_origin(&json, writer->report, folder->place.provenance);
    json_put_open(&json, "\n files", '[');
    put_entries(&json, writer);
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(&folder->stream, '\n');
    folder->complete = !stream_commit(&folder->stream, err);
    return folder->complete ? 0 : -1;
}

void folder_release(struct folder_files *folder)
{
    stream_discard(&folder->stream);
    writer_release(&folder->writer);
    if (folder->made && !folder->complete) {
        folder->path.bytes[folder->folder_size - 1] = '\0';
        rmdir(folder->path.bytes); /* it stays if anything is in it */
    }
    buf_release(&folder->path);
}
