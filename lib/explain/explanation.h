/* explanation.h: the computation of queries of one head as lists of steps: what each step does, its
 * formula, and its numbers as a table; and the writers of the four formats.
 *
 *     struct explain_request request = {.layer = 0, .head = 0, .query = 1, .query_count = 1,
 *                                       .digits = 4};
 *     if (explanation_make(&explanation, &viewer, &pair, &request, &arena, err)) ...
 *     if (explain_formats[0].write(&stream, &explanations, err)) ...
 */
#ifndef ATTN_EXPLAIN_EXPLANATION_H
#define ATTN_EXPLAIN_EXPLANATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/stream.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "lens/sheet.h"

/* A column of a table, or the columns of a vector. */
struct block {
    const char *name;   /* in JSON: "score" */
    const char *symbol; /* score_j */
    bool is_vector;     /* its elements are numbered, even if there is only one */
    bool is_share;      /* parts of a whole, which can be drawn as bars */
    size_t width;
    const float *values; /* [rows, width]; NAN: empty */
    size_t stride;       /* floats from one row to the next */
    const float *total;  /* [width] below the rows, or NULL */
    struct numeral numeral;
};

#define NO_ROW ((size_t)-1)

enum { STEP_BLOCKS_MAX = 4, STEP_FORMULAS_MAX = 2, STEP_GIVENS_MAX = 8 };

struct step_table {
    const char *corner; /* the title of the rows: "key", or "" */
    const struct label *rows;
    size_t row_count;  /* 0: there is no table */
    bool of_keys;      /* rows are keys; pages may leave out keys with little weight */
    size_t own_row;    /* the query's own, which is marked; or NO_ROW */
    const char *total; /* the label of the total, or NULL */
    struct block blocks[STEP_BLOCKS_MAX]; /* at most one of vectors */
    size_t block_count;
};

/* A number, a weight of the model or earlier rows of the pass, which a step takes as they are. */
struct given {
    bool is_matrix;
    bool is_shown;           /* in the formulas or the table of the step, too */
    bool is_small;           /* shown without --full */
    struct step_table table; /* one block, with the name of the matrix; one row for a vector */
};

struct step {
    const char *name;  /* in JSON: "scores" */
    const char *title; /* Keys and scores */
    const char *formulas[STEP_FORMULAS_MAX];
    size_t formula_count;
    const char *note;   /* sentences, or NULL */
    const char *worked; /* the formula with the numbers of one row, or NULL */
    const struct given *givens;
    size_t given_count; /* of several queries only the first has them */
    struct step_table table;
};

struct explanation {
    const struct report *report;
    const struct attention_part *part; /* NULL: the model has only one attention */
    const struct tokenized *text;      /* of the query */
    size_t layer, head, query;
    size_t layer_count, head_count; /* of the attention in the model */
    size_t key_count;
    const size_t *shown; /* [shown_count] the keys on pages, rising */
    size_t shown_count;
    float shown_weight; /* the sum of their weights */
    const struct step *steps;
    size_t step_count;
};

/* Queries of one head, which share a report, and how they are written. */
struct explanations {
    const struct explanation *items;
    size_t count;   /* at least 1 */
    bool several;   /* written as a list, even if there is only one */
    bool full;      /* whole vectors, all keys, and the given matrices */
    size_t columns; /* of a terminal; 0: endless */
};

struct explain_request {
    enum site_part part;       /* the attention; without an encoder the sentence's */
    size_t layer, head;        /* the model must have them */
    size_t query, query_count; /* tokens in a row */
    int digits;                /* of numbers */
    size_t keys;               /* most keys on a page, those with the most weight; 0: all */
};

/* Run the pair and explain each query into `explanations` [query_count], which live as long as the
 * arena and the viewer. */
struct viewer;
struct text_pair;
int explanation_make(struct explanation *explanations, struct viewer *viewer,
                     const struct text_pair *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err);

/* Failures to write stick to the stream; -1 with `err` for others. */
typedef int explain_writer(struct stream *out, const struct explanations *explanations,
                           struct err *err);

extern explain_writer explain_text_write, explain_markdown_write, explain_html_write,
    explain_json_write;

extern const struct explain_format {
    const char *name, *ending, *about;
    explain_writer *write;
} explain_formats[]; /* text first */
extern const size_t explain_format_count;

#endif
