#include "write/format.h"

#include <string.h>

const struct format format_rows[] = {
    {
        .name = "text",
        .ending = ".txt",
        .about = "tables to read, four decimals, fitted to the terminal",
        .unit = UNIT_SENTENCE,
        .looks = LOOKS_CELLS | LOOKS_COLOURS | LOOKS_TERMINAL,
        .has_tokens = true,
        .show = "tokens,weights,context",
        .show_of_encoder = "tokens,enc.weights,weights,cross_weights",
        .layer = "-1",
        .write = text_page_write,
    },
    {
        .name = "csv",
        .ending = ".csv",
        .about = "a labelled matrix, or a table of several, as pandas, R and gnuplot read it",
        .unit = UNIT_SHEET,
        .write = csv_write,
    },
    {
        .name = "tidy",
        .ending = ".tidy.csv",
        .about = "CSV with a line for every cell, for data frames",
        .unit = UNIT_SENTENCE,
        .write = tidy_write,
    },
    {
        .name = "arrow",
        .ending = ".arrow",
        .about = "the table of tidy as Apache Arrow's file, for data frames: words, int32, float32",
        .unit = UNIT_SENTENCE,
        .for_files = true,
        .write = arrow_write,
    },
    {
        .name = "json",
        .ending = ".json",
        .about = "one object with the tokens and the tensors as nested arrays",
        .unit = UNIT_SENTENCE,
        .has_tokens = true,
        .write = json_report_write,
    },
    {
        .name = "jsonl",
        .ending = ".jsonl",
        .about = "the same objects, one line for each sentence",
        .unit = UNIT_SENTENCE,
        .has_tokens = true,
        .write = jsonl_report_write,
    },
    {
        .name = "npy",
        .ending = ".npy",
        .about = "numpy's file of one array, float32",
        .unit = UNIT_TENSOR,
        .for_files = true,
        .one_sentence = true,
        .write = npy_report_write,
    },
    {
        .name = "safetensors",
        .ending = ".safetensors",
        .about = "every tensor under its name, float32, the tokens in the metadata",
        .unit = UNIT_SENTENCE,
        .for_files = true,
        .one_sentence = true,
        .has_tokens = true,
        .write = tensors_report_write,
    },
    {
        .name = "svg",
        .ending = ".svg",
        .about = "a picture to be put into a paper: shapes and text",
        .unit = UNIT_SHEET,
        .looks = LOOKS_PICTURE | LOOKS_FONT,
        .is_picture = true,
        .one_sentence = true,
        .write = figure_write_svg,
    },
    {
        .name = "tex",
        .ending = ".tex",
        .about = "the same picture as TikZ, for LaTeX to \\input or to compile, each cell's number "
                 "beside it",
        .unit = UNIT_SHEET,
        .looks = LOOKS_PICTURE,
        .is_picture = true,
        .one_sentence = true,
        .write = figure_write_tex,
    },
    {
        .name = "png",
        .ending = ".png",
        .about = "the same picture in pixels, 192 to an inch or --dpi; needs pango and cairo",
        .unit = UNIT_SHEET,
        .looks = LOOKS_PICTURE | LOOKS_FONT | LOOKS_PIXELS,
        .for_files = true,
        .is_picture = true,
        .one_sentence = true,
        .write = figure_write_png,
        .check = drawing_check,
    },
    {
        .name = "pdf",
        .ending = ".pdf",
        .about = "the same picture as one page; needs pango and cairo",
        .unit = UNIT_SHEET,
        .looks = LOOKS_PICTURE | LOOKS_FONT,
        .for_files = true,
        .is_picture = true,
        .one_sentence = true,
        .write = figure_write_pdf,
        .check = drawing_check,
    },
    {
        .name = "html",
        .ending = ".html",
        .about = "a page to look around in: matrices, lines, the whole model, tokens in space",
        .unit = UNIT_SENTENCE,
        .for_files = true,
        .looks = LOOKS_VIEW | LOOKS_COLOURS | LOOKS_TITLE,
        .can_show_all = true,
        .show = "embedding,weights",
        .show_of_encoder = "embedding,source_embedding,enc.weights,weights,cross_weights",
        .write = html_report_write,
    },
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
