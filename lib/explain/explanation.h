/* explanation.h: the computation of queries of one head as a report: a table for each step, with
 * its working (lens/sheet.h), and a chapter for each query (lens/report.h).
 *
 *     struct explain_request request = {.layer = 0, .head = 0, .query = 1, .query_count = 1,
 *                                       .digits = 4};
 *     if (explanation_make(&report, &viewer, &pair, &request, &arena, err)) ...
 */
#pragma once

#include "base/memory.h"
#include "lens/report.h"

struct explain_request {
    enum site_branch branch;   /* BRANCH_TEXT unless the model has an encoder */
    size_t layer, head;        /* must exist in the model */
    size_t query, query_count; /* the first query token, and the number of consecutive queries */
    size_t key;                /* index of the key in worked examples; for a query that cannot
                                * attend to it, the first key that the query can attend to */
    bool is_list;              /* the report is a list of queries, even if there is only one */
    int digits;                /* number of decimals */
    size_t keys;               /* number of keys that pages show, the ones with the largest weights;
                                * 0: all */
    const char *language;      /* language of headings and notes, such as "zh"; NULL: English */
};

struct memory;
struct viewer;
struct text_with_source;

/* Run a text with its source, and set `report` to the explanation of the requested queries. The
 * report lives as long as arena and viewer. */
int explanation_make(struct report *report, struct viewer *viewer,
                     const struct text_with_source *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err);

/* Add to `memory` an estimate of the bytes that the explanations need. */
int explanation_add_memory(struct memory *memory, const struct viewer *viewer,
                           const struct text_with_source *pair,
                           const struct explain_request *request, struct arena *arena,
                           struct err *err);
