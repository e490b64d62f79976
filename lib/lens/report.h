/* report.h: everything one sentence gave: its tokens, and the tensors that were kept, or tables.
 * Writers read the tensors, or the sheets they fall into: one for each head of a tensor that has
 * heads. A report with tables may have tensors with the same numbers, for arrays and pictures.
 *
 *     for (size_t i = 0; i < report_sheet_count(report); i++) {
 *         struct sheet sheet = report_sheet(report, i);
 *         ...
 *     }
 */
#ifndef ATTN_LENS_REPORT_H
#define ATTN_LENS_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "lens/sheet.h"
#include "lens/selection.h"
#include "lens/tokenized.h"
#include "math/precision.h"
#include "math/tensor.h"
#include "model/site.h"

/* A tensor that was kept: dense, with only the heads that were asked for. One whose site has heads
 * or a layer but which has none itself is the mean over them. What was computed from kept values,
 * and is no site's, is a sheet that somebody has made: `data` and the last of `shape` are its. */
struct kept {
    enum site site;
    int layer; /* -1: belongs to no layer */
    size_t rank;
    size_t shape[3];
    const float *data;        /* NULL: not computed yet */
    const size_t *heads;      /* [shape[0]] the model's number of each head; NULL: no heads */
    const struct sheet *made; /* NULL: a site's */
    const float *visible;     /* [queries, keys], more than 0 where one may attend to the other;
                                 NULL: as the causal mask says */
    size_t visible_step;      /* from head to head */
    const size_t *queries;    /* the token of each row, if only some were selected; NULL: all */
    const struct label *query_labels;
};

struct report {
    const char *model;        /* the name or path as it was given */
    enum precision precision; /* of the products that made the numbers */
    const char *mechanism;    /* how the model attended, in words; NULL: as it is */
    struct tokenized sentence;
    struct tokenized source;         /* what is looked at, for cross-attention; else count is 0 */
    const struct tokenized *corrupt; /* of a patch, whose sentence is the clean text; else NULL */
    const struct kept *tensors;
    size_t tensor_count;
    const struct frame *frames; /* tables */
    size_t frame_count;
    bool shows_tensors;        /* text: tensors, too, before the tables for people */
    bool untitled;             /* text: no line of the model and the text above */
    const struct frame *facts; /* one row: what JSON says besides; NULL: nothing */
    const size_t *heads;       /* the heads that were asked for; NULL: all */
    size_t head_count;
    struct layers layers, encoder_layers; /* that were asked for */
    size_t first_shown;          /* tokens, or words, before this one are not on any axis */
    const struct label *numbers; /* "0", "1", …: as many as a tensor has channels or dimensions */
    const struct label *words;   /* the vocabulary, or NULL: numbers serve */
    const char *about;           /* what all of it is about, a line for titles; NULL: the text */
    bool causal;
    bool has_encoder; /* it reads the source: only its own tensors and cross_… are about that */
};

/* The text whose tokens look, in a part; and the one that they look at: where there is an encoder a
 * sentence looks at the source only in cross-attention; else there is no other attention, if there
 * is a source at all. */
const struct tokenized *report_queries(const struct report *report, enum site_part part);
const struct tokenized *report_keys(const struct report *report, enum site_part part);

/* The numbers of a tensor, counted. */
size_t kept_cells(const struct kept *kept);

/* True if columns are keys, as those of attention maps are. */
bool kept_has_key_columns(const struct kept *kept);

/* True for the mean over heads, and for the mean over layers. */
bool kept_is_mean_of_heads(const struct kept *kept);
bool kept_is_mean_of_layers(const struct kept *kept);

/* The tensor's name in files: `h.3.weights`, `ln_f`; of means `h.3.weights.mean` (over its heads),
 * `h.mean.weights` (over layers). Returns `name`. */
const char *kept_name(char name[SITE_NAME_BYTES], const struct kept *kept);

/* A sheet as a tensor of a report, which lives as long as the sheet. */
struct kept kept_made(const struct sheet *sheet);

/* The sheets of one tensor: one for each of its heads, or one. */
size_t kept_sheet_count(const struct kept *kept);

/* The tensor with no other head than that of one of its sheets. */
struct kept kept_head(const struct kept *kept, size_t index);

/* Sheet `index` of a tensor: views, valid as long as the report. */
struct sheet kept_sheet(const struct report *report, const struct kept *kept, size_t index);

/* The sheets of all tensors, counted; and sheet `index` of them, in the order of the tensors. */
size_t report_sheet_count(const struct report *report);
struct sheet report_sheet(const struct report *report, size_t index);

/* True if data formats write tables, not tensors: some table is not for people alone. */
bool report_has_tables(const struct report *report);

/* A copy of the report whose tables are sheets, for arrays and pictures; its own tensors, if it has
 * any, in place of them. */
int report_as_sheets(struct report *copy, const struct report *report, bool for_picture,
                     struct arena *arena, struct err *err);

/* --- what can be made of a report before it is shown (derive.c), in every format -------------- */

struct derivation {
    bool mean_of_heads;
    bool mean_of_layers;
    bool mean_of_texts; /* of several reports, after the rest: text_mean.h */
    bool words;
    bool hide_first;
};

/* Read "heads", "layers", "texts" or several of them, as "heads,layers". */
int derive_read_mean(struct derivation *how, const char *list, struct err *err);

/* Refuse, before anything is computed, what cannot be derived of the selection. */
int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err);

/* Change the report; new memory is the arena's. Tensors with heads become their mean; those of one
 * site in several layers become one, in the place of the first of them; axes lose the first token
 * (or word), the sink that takes most of the attention. Refused where nothing is left. Tensors
 * without values get their new sizes; they have no means. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err);

#endif
