#include "write/format.h"

#include <string.h>

const struct format format_rows[] = {
    {"text", ".txt", "tables to read, four decimals, fitted to the terminal", UNIT_SENTENCE,
     .looks = LOOKS_CELLS | LOOKS_COLOURS | LOOKS_TERMINAL, .has_tokens = true,
     .show = "tokens,weights,context",
     .show_of_encoder = "tokens,enc.weights,weights,cross_weights", .layer = "-1",
     .has_tables = true, .write = text_page_write},
    {"csv", ".csv", "a labelled matrix, or a table of several, as pandas, R and gnuplot read it",
     UNIT_SHEET, .has_tables = true, .write = csv_write},
    {"tidy", ".tidy.csv", "CSV with a line for every cell, for data frames", UNIT_SENTENCE,
     .has_tables = true, .write = tidy_write},
    {"json", ".json", "one object with the tokens and the tensors as nested arrays", UNIT_SENTENCE,
     .has_tokens = true, .has_tables = true, .write = json_report_write},
    {"jsonl", ".jsonl", "the same objects, one line for each sentence", UNIT_SENTENCE,
     .has_tokens = true, .has_tables = true, .write = jsonl_report_write},
    {"npy", ".npy", "numpy's file of one array, float32", UNIT_TENSOR, .for_files = true,
     .one_sentence = true, .write = npy_report_write},
    {"safetensors", ".safetensors",
     "every tensor under its name, float32, the tokens in the metadata", UNIT_SENTENCE,
     .for_files = true, .one_sentence = true, .has_tokens = true, .write = tensors_report_write},
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

int format_write(const struct format *format, struct stream *out, const struct report *report,
                 const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct report sheets;
    if (!report->frame_count || format->has_tables)
        return format->write(out, report, place, err);
    bool for_picture = format->looks & LOOKS_PICTURE;
    int failed = report_as_sheets(&sheets, report, for_picture, &arena, err) ||
                 format->write(out, &sheets, place, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
