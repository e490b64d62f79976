/* explanation.h: the trace of one query of one head as a list of steps: what each does, its
 * formula, and its numbers as a table; and the forms that they are written in.
 *
 *     struct explain_request request = {.layer = 0, .head = 0, .query = 1, .query_count = 1,
 *                                       .digits = 4};
 *     if (explanation_make(&explanation, &viewer, &pair, &request, &arena, err)) ...
 *     if (explain_formats[0].write(&stream, &explanations, &page, err)) ...
 */
#ifndef ATTN_EXPLAIN_EXPLANATION_H
#define ATTN_EXPLAIN_EXPLANATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/stream.h"
#include "lens/selection.h"
#include "lens/sheet.h"
#include "lens/report.h"

/* A column of a table, or as many as a vector has elements. */
struct block {
    const char *name;   /* as programs call it: "score" */
    const char *symbol; /* what stands above it: score_j */
    bool is_vector;     /* its elements are numbered, though there be only one */
    bool is_share;      /* parts of a whole that can be drawn as bars */
    size_t first;       /* the number of its first element */
    size_t width;
    const float *values; /* [rows, width]; NAN: there is nothing */
    size_t stride;       /* floats from one row to the next */
    const float *total;  /* [width] below the rows, or NULL */
    struct numeral numeral;
};

#define NO_ROW ((size_t)-1)

enum { STEP_BLOCKS_MAX = 4, STEP_FORMULAS_MAX = 2, STEP_GIVENS_MAX = 8 };

/* Rows with what they are called, and columns of numbers. */
struct step_table {
    const char *corner; /* what the rows are: "key", or "" */
    const struct label *rows;
    size_t row_count;  /* 0: there is no table */
    bool of_keys;      /* a row is a key, and long tables may leave out those with little weight */
    size_t own_row;    /* the query's own, which is marked; NO_ROW: there is none */
    const char *total; /* what the row below is called, or NULL */
    struct block blocks[STEP_BLOCKS_MAX]; /* at most one of them of vectors */
    size_t block_count;
};

/* What a step takes as it is: a weight of the model, or rows that the pass made before. */
struct given {
    bool is_matrix;
    bool is_shown; /* by the formulas or the table of the step, too: pages need it no more */
    bool is_small; /* pages have it without --full, too */
    struct step_table table; /* of one block, whose name is the given's; of a vector one row */
};

struct step {
    const char *name;  /* as programs call it: "scores" */
    const char *title; /* Keys and scores */
    const char *formulas[STEP_FORMULAS_MAX];
    size_t formula_count;
    const char *note;   /* a sentence to read with it, or NULL */
    const char *worked; /* the formula with the numbers of one row */
    const struct given *givens;
    size_t given_count; /* of several queries only the first has them */
    struct step_table table;
};

struct explanation {
    const struct report *report;       /* the model and its texts */
    const struct attention_part *part; /* which attention it is; NULL: the model has one */
    const struct tokenized *text;      /* that the query stands in */
    size_t layer, head, query;
    size_t key_count;
    const size_t *shown; /* [shown_count] the keys that pages show, rising */
    size_t shown_count;
    float shown_weight; /* of the attention, that they have */
    const struct step *steps;
    size_t step_count;
};

/* Of some queries of one head, which share their report. */
struct explanations {
    const struct explanation *items;
    size_t count; /* at least 1 */
    bool several; /* may be: a list, though there be only one */
};

struct explain_request {
    enum site_part part; /* the attention, as attention_part_sites has it */
    size_t layer, head;  /* the model must have them */
    size_t query;        /* a token of the text that looks there, … */
    size_t query_count;  /* … and so many in all from there on */
    int digits;          /* of the numbers in formulas, and of `numeral` */
    size_t keys;         /* pages show at most so many, those with the most weight; 0: all */
};

struct viewer;
struct text_pair;

/* Run the pair and explain each of the queries: `explanations` has room for them. All of it
 * lives as long as the arena and the viewer. */
int explanation_make(struct explanation *explanations, struct viewer *viewer,
                     const struct text_pair *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err);

/* --- forms ------------------------------------------------------------------------------------ */

/* How much there is room for. */
struct explain_page {
    size_t columns; /* of a terminal; 0: endless */
    bool full;      /* nothing is left out: long vectors are whole in every form */
};

/* Failures to write stick to the stream; -1 with `err` for others. */
typedef int explain_writer(struct stream *out, const struct explanations *explanations,
                           const struct explain_page *page, struct err *err);

struct explain_format {
    const char *name;   /* as in --format */
    const char *ending; /* of file names, with its dot */
    const char *about;  /* a line for help */
    explain_writer *write;
};

extern const struct explain_format explain_formats[]; /* text first */
extern const size_t explain_format_count;

extern explain_writer explain_text_write, explain_markdown_write, explain_html_write,
    explain_json_write;

#endif
