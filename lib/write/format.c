#include "write/format.h"

#include <string.h>

const struct format format_rows[] = {
    {"text", ".txt", "tables to read, four decimals, fitted to the terminal", UNIT_SENTENCE,
     .looks = LOOKS_CELLS | LOOKS_COLOURS | LOOKS_TERMINAL, .has_tokens = true,
     .show = "tokens,weights,context",
     .show_of_encoder = "tokens,enc.weights,weights,cross_weights", .layer = "-1",
     .has_tables = true, .write = text_page_write},
    {"csv", ".csv", "a labelled matrix, or a table of several, as pandas, R and gnuplot read it",
     UNIT_SHEET, .has_tables = true, .begin = csv_begin, .sheet = csv_sheet},
    {"tidy", ".tidy.csv", "CSV with a line for every cell, for data frames", UNIT_SENTENCE,
     .has_tables = true, .begin = tidy_begin, .sheet = tidy_sheet},
    {"json", ".json", "one object with the tokens and the tensors as nested arrays", UNIT_SENTENCE,
     .has_tokens = true, .has_tables = true, .begin = json_begin, .sheet = json_sheet,
     .end = json_end},
    {"jsonl", ".jsonl", "the same objects, one line for each sentence", UNIT_SENTENCE,
     .has_tokens = true, .has_tables = true, .begin = jsonl_begin, .sheet = json_sheet,
     .end = json_end},
    {"npy", ".npy", "numpy's file of one array, float32", UNIT_TENSOR, .for_files = true,
     .one_sentence = true, .begin = array_begin, .sheet = array_sheet},
    {"safetensors", ".safetensors",
     "every tensor under its name, float32, the tokens in the metadata", UNIT_SENTENCE,
     .for_files = true, .one_sentence = true, .has_tokens = true, .begin = tensors_begin,
     .sheet = array_sheet},
    {"svg", ".svg", "a picture to be put into a paper: shapes and text", UNIT_SHEET,
     .looks = LOOKS_PICTURE | LOOKS_FONT, .is_picture = true, .one_sentence = true,
     .write = figure_write_svg},
    {"tex", ".tex",
     "the same picture as TikZ, for LaTeX to \\input or to compile, each cell's number beside it",
     UNIT_SHEET, .looks = LOOKS_PICTURE, .is_picture = true, .one_sentence = true,
     .write = figure_write_tex},
    {"png", ".png", "the same picture in pixels, 192 to an inch or --dpi; needs rsvg-convert",
     UNIT_SHEET, .looks = LOOKS_PICTURE | LOOKS_FONT | LOOKS_PIXELS, .for_files = true,
     .is_picture = true, .one_sentence = true, .write = figure_write_png, .check = drawing_check},
    {"pdf", ".pdf", "the same picture as one page; needs rsvg-convert", UNIT_SHEET,
     .looks = LOOKS_PICTURE | LOOKS_FONT, .for_files = true, .is_picture = true,
     .one_sentence = true, .write = figure_write_pdf, .check = drawing_check},
    {"html", ".html", "a page to look around in: matrices, lines, the whole model, tokens in space",
     UNIT_SENTENCE, .for_files = true, .looks = LOOKS_VIEW | LOOKS_COLOURS | LOOKS_TITLE,
     .can_show_all = true, .show = "embedding,weights",
     .show_of_encoder = "embedding,source_embedding,enc.weights,weights,cross_weights",
     .write = html_report_write},
};

const size_t format_count = sizeof format_rows / sizeof *format_rows;

const char *format_show(const struct format *format, bool has_encoder)
{
    if (has_encoder)
        return format && format->show_of_encoder ? format->show_of_encoder
                                                 : "enc.weights,weights,cross_weights";
    return format && format->show ? format->show : "weights";
}

const char *format_layer(const struct format *format)
{
    return format && format->layer ? format->layer : "all";
}

const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < format_count; i++)
        if (strcmp(format_rows[i].name, name) == 0)
            return &format_rows[i];
    return NULL;
}

/* --- writing a report ------------------------------------------------------------------------- */

bool writer_at_first(const struct writer *writer)
{
    return writer->sheet == 0;
}

bool writer_at_last(const struct writer *writer)
{
    return writer->sheet + 1 == kept_sheet_count(&writer->report->tensors[writer->tensor]);
}

int writer_begin(struct writer *writer, const struct format *format, const struct target *target,
                 const struct report *report, const struct place *place, struct err *err)
{
    *writer =
        (struct writer){.format = format, .out = target->stream, .report = report, .place = place};
    return target->folder ? folder_begin(writer, target->folder, err) : format->begin(writer, err);
}

int writer_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    writer_sheet_step *step = writer->folder ? folder_sheet : writer->format->sheet;
    if (step(writer, sheet, err))
        return -1;
    bool last = writer_at_last(writer);
    writer->tensor += last;
    writer->sheet = last ? 0 : writer->sheet + 1;
    return 0;
}

int writer_end(struct writer *writer, struct err *err)
{
    writer_step *step = writer->folder ? folder_end : writer->format->end;
    return step ? step(writer, err) : 0;
}

void writer_release(struct writer *writer)
{
    if (writer->folder)
        folder_release(writer->folder);
    buf_release(&writer->line);
    buf_release(&writer->columns);
    arena_release(&writer->arena);
}

static int write_sheets(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    size_t tensors = report_has_tables(report) ? 0 : report->tensor_count;
    for (size_t i = 0; i < tensors; i++)
        for (size_t k = 0; k < kept_sheet_count(&report->tensors[i]); k++) {
            struct sheet sheet = kept_sheet(report, &report->tensors[i], k);
            if (writer_sheet(writer, &sheet, err))
                return -1;
        }
    return 0;
}

int report_write(const struct format *format, const struct target *target,
                 const struct report *report, const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct report sheets;
    struct writer writer = {0};
    int failed = 0;
    if (report->frame_count && !format->has_tables) {
        failed = report_as_sheets(&sheets, report, format->looks & LOOKS_PICTURE, &arena, err);
        report = &sheets;
    }
    if (!failed && format->write && !target->folder)
        failed = format->write(target->stream, report, place, err);
    else if (!failed)
        failed = writer_begin(&writer, format, target, report, place, err) ||
                 write_sheets(&writer, err) || writer_end(&writer, err);
    writer_release(&writer);
    arena_release(&arena);
    return failed ? -1 : 0;
}

int format_write(const struct format *format, struct stream *out, const struct report *report,
                 const struct place *place, struct err *err)
{
    return report_write(format, &(struct target){.stream = out}, report, place, err);
}
