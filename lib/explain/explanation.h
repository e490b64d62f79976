/* explanation.h: the computation of queries of one head as a list of steps, each with a title, its
 * formula and its numbers in a table; and the writers of the four formats.
 *
 *     struct explain_request request = {.layer = 0, .head = 0, .query = 1, .query_count = 1,
 *                                       .digits = 4};
 *     if (explanation_make(&explanation, &viewer, &pair, &request, &arena, err)) ...
 *     if (explain_formats[0].write(&stream, &explanations, err)) ...
 */
#pragma once

#include "base/memory.h"
#include "base/stream.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "lens/sheet.h"

/* A column of a table, or all columns of a vector. */
struct block {
    const char *name;   /* JSON name: "score" */
    const char *symbol; /* displayed name: score_j */
    bool is_vector;     /* number the elements, even if there is only one */
    bool is_share;      /* fractions of a whole, which can be drawn as bars */
    size_t width;
    const float *values; /* [rows, width]; NAN: empty */
    size_t stride;       /* floats between rows */
    const float *total;  /* [width] shown below the rows; NULL: none */
    struct numeral numeral;
};

#define NO_ROW ((size_t)-1)

enum { STEP_BLOCKS_MAX = 4, STEP_FORMULAS_MAX = 3, STEP_GIVENS_MAX = 10 };

struct step_table {
    const char *corner; /* title of the row labels: "key", or "" */
    const struct label *rows;
    size_t row_count;                     /* 0: no table */
    bool of_keys;                         /* rows are keys; pages may omit keys with low weights */
    size_t own_row;                       /* row of the query, which is marked; or NO_ROW */
    const char *total;                    /* label of the total; NULL: none */
    struct block blocks[STEP_BLOCKS_MAX]; /* at most one holds vectors */
    size_t block_count;
};

/* An operand of a step: a number, a weight matrix, or earlier rows of the pass. */
struct given {
    bool is_shown;           /* also visible in the step's formulas or table */
    bool is_small;           /* shown even without --full */
    struct step_table table; /* one block, named like the matrix; without labels of rows: a number
                                or vector */
};

struct step {
    const char *name;  /* JSON name: "scores" */
    const char *title; /* displayed title: "Keys and scores" */
    const char *formulas[STEP_FORMULAS_MAX];
    size_t formula_count;
    const char *note;   /* sentences; NULL: none */
    const char *worked; /* the formula with the numbers of one row; NULL: none */
    const struct given *givens;
    size_t given_count; /* 0 for all queries but the first */
    struct step_table table;
};

struct explanation {
    const struct report *report;
    const struct attention_part *part; /* NULL: the model has only one attention */
    const struct tokenized *text;      /* text of the query */
    size_t layer, head, query;
    size_t layer_count, head_count; /* numbers of layers and heads of this part */
    size_t key_count;
    const size_t *shown; /* [shown_count] keys shown on pages, ascending */
    size_t shown_count;
    float shown_weight; /* sum of their weights */
    const char *language;
    const struct step *steps;
    size_t step_count;
};

/* Explained queries of one head, which share a report, and output options. */
struct explanations {
    const struct explanation *items;
    size_t count;   /* at least 1 */
    bool several;   /* write a list, even for a single query */
    bool full;      /* show whole vectors, all keys and the operand matrices */
    size_t columns; /* terminal width; 0: unlimited, in HTML the usual width */
};

struct explain_request {
    enum site_part part;       /* PART_SENTENCE unless the model has an encoder */
    size_t layer, head;        /* must exist in the model */
    size_t query, query_count; /* consecutive tokens */
    int digits;                /* decimals of numbers */
    size_t keys;               /* limit of keys on a page, chosen by weight; 0: all */
    const char *language;      /* of titles and notes, "zh"; NULL: English */
};

/* Run the pair and write an explanation of each query into `explanations` [query_count]. They are
 * valid as long as the arena and the viewer. */
struct viewer;
struct text_with_source;
int explanation_make(struct explanation *explanations, struct viewer *viewer,
                     const struct text_with_source *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err);

/* Add the memory of the explanations. */
struct memory;
int explanation_add_memory(struct memory *memory, const struct viewer *viewer,
                           const struct text_with_source *pair,
                           const struct explain_request *request, struct arena *arena,
                           struct err *err);

/* Write explanations. Write errors stick to the stream; other failures return -1 with `err`. */
typedef int explain_writer(struct stream *out, const struct explanations *explanations,
                           struct err *err);

extern explain_writer explain_html_write;

extern const struct explain_format {
    const char *name, *ending, *about;
    explain_writer *write;
} explain_formats[]; /* text is first */
extern const size_t explain_format_count;
