/* Rows of the table of options: what is shown of a pass, in what form, and how it looks. */
#include "../option_row.h"

#include "lens/sheet.h"

static const struct option_row output_rows[] = {
    STRING("show", 0, "LIST", select.show, FOR_RUN | FOR_PAGE | VIEW,
           "tokens, weights, context, … or all: see Tensors (default: by the format)"),
    STRING("show", 0, "LIST", select.show, FOR_GENERATE,
           "tokens, weights, context, … of the whole text in place of the text: see Tensors"),
    STRING("layer", 0, "LIST", select.layer, FOR_RUN | FOR_GENERATE | FOR_PAGE | VIEW,
           "layers: 0,3-5, -1 for the last, or all (default: by the format)"),
    STRING("head", 0, "LIST", select.head, FOR_RUN | FOR_GENERATE | FOR_COMPARE | FOR_PAGE | VIEW,
           "heads: as layers (default: all)"),
    STRING("mean", 0, "LIST", select.mean, OF_REPORTS | FOR_PAGE,
           "the mean over heads, layers or heads,layers in place of them"),
    FLAG("words", 0, select.words, OF_REPORTS | FOR_PAGE,
         "merge subword tokens into words: average over queries, sum over keys"),
    FLAG("hide-first", 0, select.hide_first, OF_REPORTS | FOR_PAGE,
         "leave out the first token, which many heads look at for want of anything else"),
    STRING("layer", 0, "N", select.layer, FOR_EXPLAIN, "one layer, -1 for the last (default: 0)"),
    STRING("head", 0, "N", select.head, FOR_EXPLAIN, "one head, -1 for the last (default: 0)"),
    STRING("format", 0, "FORMAT", output.format,
           (LOOKING & ~FOR_PAGE) | FOR_COMPARE | FOR_HEADS | FOR_TOKENIZE | FOR_INFO | NOT_BATCH |
               NOT_SWEPT,
           "how to write it (default: by the ending of -o, else text)"),
    STRING("format", 0, "FORMAT", output.format, FOR_BATCH | NOT_SWEPT,
           "how to write it (default: by the ending of -o, else jsonl)"),
    STRING("format", 0, "FORMAT", output.format, FOR_BENCH, "text (default), csv or json"),
    STRING("output", 'o', "PATH", output.path,
           FOR_RUN | FOR_GENERATE | INSTRUMENTS | FOR_HEADS | NOT_BATCH | PROCESS,
           "a file, or a folder for a file each (default: standard output)"),
    STRING("view", 0, "VIEW", looks.view, OF_REPORTS | INSTRUMENTS | FOR_PAGE,
           "pictures: matrix, bars of what is farthest from 0; of attention lines, or overlay, "
           "those of all heads in one (default: what suits the numbers)"),
    STRING("style", 0, "STYLE", looks.cells, COLOURED,
           "what stands in a cell: numbers, heat or both (default: what there is room for)"),
    STRING("color-scale", 0, "KIND", looks.color_scale, COLOURED | FOR_PAGE,
           "from numbers to colours: linear (default), sqrt or log, which lift what is small"),
    STRING("range", 0, "RANGE", looks.range,
           OF_REPORTS | FOR_HEADS | FOR_ATTRIBUTE | FOR_PATCH | FOR_PAGE,
           "values that the colours span: all that are shown, each head, each row, or LOW:HIGH "
           "(default: 0:1 for attention and other fractions, else all)"),
    STRING("palette", 0, "NAME", looks.palette, COLOURED | FOR_PAGE,
           "the colours: see Palettes (default: by the signs of the numbers)"),
    STRING("color", 0, "WHEN", looks.color, COLOURED | NOT_SWEPT,
           "colours in text: auto (default), always or never"),
    STRING(
        "title", 0, "TEXT", looks.title, COLOURED | FOR_PAGE,
        "title of a picture (default: the model and the text; '': neither title nor subtitle, but "
        "titles of the axes)"),
    STRING("figure-width", 0, "WIDTH", looks.figure.width, COLOURED,
           "exactly so wide on paper: 3.25in, 8cm, 89mm, 234pt, or a column of a venue: see Venues "
           "(default: what it takes, up to two columns)"),
    STRING("font", 0, "FAMILY", looks.figure.font, COLOURED,
           "the letters of svg, png and pdf, as 'Times' (default: a sans serif)"),
    REAL("font-size", 0, "POINTS", looks.figure.font_size, COLOURED, 4, 72,
         "all letters are so large, numbers in cells at most (default: by kind and room; 7 with "
         "--figure-width)"),
    INTEGER("dpi", 0, "N", looks.figure.dpi, COLOURED, 36, 2400,
            "pixels to an inch, of png (default: 192)"),
    STRING("panel-labels", 0, "A", looks.figure.panel_labels, COLOURED,
           "a letter at each panel: a, A, 1, or with what stands around it: (a)"),
    STRING("token-range", 0, "N-N", looks.figure.tokens, OF_REPORTS | INSTRUMENTS,
           "in pictures only tokens 3-12 of the sentence, or words with --words; from 0 on"),
    STRING("mask", 0, "LOOK", looks.figure.mask, COLOURED,
           "masked cells, such as the future: hatch (default) or triangle (not drawn)"),
    STRINGS("mark", 0, "LIST", looks.figure.marks, COLOURED,
            "a frame around cells: 4:2, row and column; in one layer or head: 0:4:2, 0.1:4:2; may "
            "be given several times"),
    INTEGER("top", 0, "N", looks.figure.top, OF_REPORTS, 1, 100000000,
            "the N strongest lines of each head (default: all)"),
    STRING("output", 'o', "DIR", output.path, FOR_INIT | PROCESS, "the directory to write"),
    STRING("output", 'o', "FILE", output.path, FOR_EXPLAIN | FOR_PAGE | PROCESS,
           "a file (default: standard output)"),
    INTEGER("digits", 0, "N", explain.digits, FOR_EXPLAIN, 1, NUMERAL_DIGITS_MAX,
            "decimals of all numbers (default: 4)"),
};

const struct option_rows output_options = {output_rows, sizeof output_rows / sizeof *output_rows};
