#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/target_folder.h"
#include "write/format.h"
#include "write/json_report.h"

/* One file's share of a report. */
struct part {
    char stem[SHEET_NAME_BYTES]; /* of the file's name */
    struct report report;        /* with only the tensors of this file */
    struct kept one;             /* where that is a single one */
};

/* Whether files hold tables, a file each unless one holds the sentence. */
static bool has_tables(enum format_unit unit, const struct report *report)
{
    return unit != UNIT_SENTENCE && report_has_tables(report);
}

/* Heads that are drawn into one picture share its file. */
static enum format_unit unit_of(const struct format *format, const struct place *place)
{
    bool overlay = place->style && place->style->view == VIEW_OVERLAY;
    return format->is_picture && overlay ? UNIT_TENSOR : format->unit;
}

static size_t part_count(enum format_unit unit, const struct report *report)
{
    if (has_tables(unit, report))
        return report->frame_count;
    switch (unit) {
    case UNIT_SENTENCE:
        break;
    case UNIT_TENSOR:
        return report->tensor_count;
    case UNIT_SHEET:
        return report_sheet_count(report);
    }
    return 1;
}

static void make_part(struct part *part, enum format_unit unit, const struct report *report,
                      size_t index)
{
    part->report = *report;
    if (unit == UNIT_SENTENCE) {
        strcpy(part->stem, "sentence");
        return;
    }
    if (has_tables(unit, report)) {
        snprintf(part->stem, sizeof part->stem, "%s", report->frames[index].name);
        part->report.frames = &report->frames[index];
        part->report.frame_count = 1;
        return;
    }
    if (unit == UNIT_TENSOR) {
        part->one = report->tensors[index];
        kept_name(part->stem, &part->one);
    } else {
        struct sheet sheet = report_sheet(report, index);
        part->one = report_kept(report, index);
        sheet_stem(part->stem, &sheet);
    }
    part->report.tensors = &part->one;
    part->report.tensor_count = 1;
}

/* The path of a file, in `path`, whose first `folder_size` bytes are the folder and a slash. */
static int name_file(struct buf *path, size_t folder_size, const char *stem, const char *ending,
                     struct err *err)
{
    path->size = folder_size;
    buf_text(path, stem);
    buf_text(path, ending);
    return buf_check(path, err);
}

static int write_part(const char *path, const struct target_folder *folder,
                      const struct format *format, const struct report *report,
                      const struct place *place, struct err *err)
{
    struct stream out = {0};
    if (stream_open_inside(&out, path, folder->replaces, err))
        return -1;
    int failed = format_write(format, &out, report, place, err);
    if (failed)
        err_prefix(err, "'%s'", path);
    return stream_end(&out, failed, err);
}

/* {"file": "weights.l00.h01.csv", "tensor": "h.0.weights", "layer": 0, "heads": [1]} */
static void put_entries(struct json_writer *json, const struct format *format,
                        const struct report *report, const struct place *place)
{
    enum format_unit unit = unit_of(format, place);
    for (size_t i = 0; i < part_count(unit, report); i++) {
        struct part part;
        char file[SHEET_NAME_BYTES * 2];
        make_part(&part, unit, report, i);
        snprintf(file, sizeof file, "%s%s", part.stem, format->ending);
        if (has_tables(unit, report)) {
            json_put_open(json, "\n  ", '{');
            json_put_text(json, "file", file);
            json_put_text(json, "table", part.stem);
            json_put_close(json, '}');
            continue;
        }
        for (size_t k = 0; k < part.report.tensor_count; k++) {
            char name[SITE_NAME_BYTES];
            json_put_open(json, "\n  ", '{');
            json_put_text(json, "file", file);
            json_put_text(json, "tensor", kept_name(name, &part.report.tensors[k]));
            json_report_place(json, &part.report.tensors[k]);
            json_put_close(json, '}');
        }
    }
}

static int write_manifest(const char *path, const struct target_folder *folder,
                          const struct format *format, const struct report *report,
                          const struct place *place, struct err *err)
{
    struct stream out = {0};
    struct json_writer json = {.stream = &out};
    if (stream_open_inside(&out, path, folder->replaces, err))
        return -1;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("files"));
    json_report_origin(&json, report);
    json_put_open(&json, "\n files", '[');
    put_entries(&json, format, report, place);
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(&out, '\n');
    return stream_commit(&out, err);
}

/* DIR/ or, for one of several sentences, DIR/0000/, which is made: `path` begins with it. */
static int open_place(struct buf *path, const struct target_folder *folder,
                      const struct place *place, struct err *err)
{
    struct target_folder inner = {0};
    buf_text(path, folder->path);
    if (!path->size || path->bytes[path->size - 1] != '/')
        buf_char(path, '/');
    if (place->count > 1)
        buf_format(path, "%04zu", place->index);
    if (buf_check(path, err))
        return -1;
    if (place->count == 1)
        return 0;
    if (target_folder_open_inside(&inner, path->bytes, folder, err))
        return -1; /* there is no lock to hold: it is that of all */
    buf_char(path, '/');
    return buf_check(path, err);
}

static int write_files(const struct target_folder *folder, const struct format *format,
                       const struct report *report, const struct place *place, struct err *err)
{
    struct buf path = {0};
    struct place alone = *place; /* each file holds one sentence */
    int failed = -1;
    alone.index = alone.sentences = 0;
    alone.count = 1;
    alone.model = NULL;
    size_t folder_size = 0;
    if (open_place(&path, folder, place, err))
        goto done;
    folder_size = path.size;
    enum format_unit unit = unit_of(format, place);
    for (size_t i = 0; i < part_count(unit, report); i++) {
        struct part part;
        make_part(&part, unit, report, i);
        if (name_file(&path, folder_size, part.stem, format->ending, err) ||
            write_part(path.bytes, folder, format, &part.report, &alone, err))
            goto done;
    }
    if (name_file(&path, folder_size, "manifest", ".json", err))
        goto done;
    failed = write_manifest(path.bytes, folder, format, report, place, err);
done:
    if (failed && folder_size && place->count > 1) {
        path.bytes[folder_size - 1] = '\0';
        rmdir(path.bytes); /* it stays if anything is in it */
    }
    buf_release(&path);
    return failed;
}

/* The report as the files hold it: tables for data alone, or as sheets. */
static int prepare(struct report *copy, const struct report *report, const struct format *format,
                   struct arena *arena, struct err *err)
{
    if (!format->has_tables)
        return report_as_sheets(copy, report, format->looks & LOOKS_PICTURE, arena, err);
    struct frame *frames = arena_alloc(arena, report->frame_count, sizeof *frames, err);
    *copy = *report;
    copy->frames = frames;
    copy->frame_count = 0;
    for (size_t i = 0; frames && i < report->frame_count; i++)
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY) || format->unit == UNIT_SENTENCE)
            frames[copy->frame_count++] = report->frames[i];
    return frames ? 0 : -1;
}

int folder_out_write(const struct target_folder *folder, const struct format *format,
                     const struct report *report, const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct report copy = *report;
    int failed = (report->frame_count && prepare(&copy, report, format, &arena, err)) ||
                 write_files(folder, format, &copy, place, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
