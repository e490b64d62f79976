/* report.h: the result of one text: its tokens, and captured tensors or tables. Writers read
 * tensors, or their sheets: one per head. A report with tables may also have tensors with the same
 * numbers, for arrays and figures.
 *
 *     for (size_t i = 0; i < report->tensor_count; i++)
 *         for (size_t k = 0; k < kept_sheet_count(&report->tensors[i]); k++) {
 *             struct sheet sheet = kept_sheet(report, &report->tensors[i], k);
 */
#ifndef ATTN_LENS_REPORT_H
#define ATTN_LENS_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "lens/selection.h"
#include "lens/sheet.h"
#include "lens/tokenized.h"
#include "math/precision.h"
#include "math/tensor.h"
#include "model/site.h"

/* A dense captured tensor of the selected heads. Without the heads or the layer that its site has,
 * it is the mean over them. A computed tensor is a sheet: `data` and the last of `shape` are its
 * own. */
struct kept {
    enum site site;
    int layer; /* -1: none */
    size_t rank;
    size_t shape[3];
    const float *data;        /* NULL: not computed yet */
    const size_t *heads;      /* [shape[0]] index of each head in the model; NULL: none */
    const struct sheet *made; /* NULL: a site's tensor */
    const float *visible;     /* [queries, keys] 0: hidden; NULL: as the causal mask */
    size_t visible_step;      /* from head to head */
    const size_t *queries;    /* token of each row; NULL: all tokens */
    const struct label *query_labels;
};

struct report {
    const char *model;        /* name or path as given */
    enum precision precision; /* of the products */
    const char *mechanism;    /* changes to the attention, in words; NULL: none */
    struct tokenized sentence;
    struct tokenized source;         /* for cross-attention; else its count is 0 */
    const struct tokenized *corrupt; /* of a patch, whose sentence is the clean text; else NULL */
    const struct kept *tensors;
    size_t tensor_count;
    const struct frame *frames; /* tables */
    size_t frame_count;
    const char *strongest;     /* name of the sheets of report_add_strongest; NULL: none */
    float origin;              /* of these */
    bool shows_tensors;        /* text: tensors before the tables for people */
    bool untitled;             /* text: no line with the model and the text */
    const struct frame *facts; /* one row: further fields of JSON; NULL: none */
    const size_t *heads;       /* the selected heads; NULL: all */
    size_t head_count;
    struct layers layers, encoder_layers; /* the selected ones */
    size_t first_shown;          /* tokens, or words, before this one are not on any axis */
    const struct label *numbers; /* "0", "1", … for all channels and dimensions */
    const struct label *words;   /* the vocabulary; NULL: numbers */
    const char *about;           /* subject for titles; NULL: the text */
    bool causal;
    bool has_encoder; /* the source belongs to encoder and cross-attention sites only */
};

/* The texts of the queries and of the keys of a part's attention. */
const struct tokenized *report_queries(const struct report *report, enum site_part part);
const struct tokenized *report_keys(const struct report *report, enum site_part part);

/* The text whose tokens or words an axis has; NULL: none. */
const struct tokenized *report_text_of(const struct report *report, const struct axis *axis);

/* The tensor of a site, of this layer if it is in layers; NULL: there is none. */
const struct kept *report_find(const struct report *report, enum site site, size_t layer);

/* The number of values of a tensor. */
size_t kept_cells(const struct kept *kept);

/* True if columns are keys, as those of attention maps are. */
bool kept_has_key_columns(const struct kept *kept);

/* True for the mean over heads, and for the mean over layers. */
bool kept_is_mean_of_heads(const struct kept *kept);
bool kept_is_mean_of_layers(const struct kept *kept);

/* Write the tensor's name in files: `h.3.weights`, `ln_f`; `h.3.weights.mean` (over heads),
 * `h.mean.weights` (over layers). Returns `name`. */
const char *kept_name(char name[SITE_NAME_BYTES], const struct kept *kept);

/* A sheet as a tensor, which lives as long as the sheet. */
struct kept kept_made(const struct sheet *sheet);

/* Add a copy of a sheet to the tensors of a report, which are from this function. */
int report_add_sheet(struct report *report, const struct sheet *sheet, struct arena *arena,
                     struct err *err);

/* A copy of the list of tensors. */
struct kept *report_copy_tensors(const struct report *report, struct arena *arena, struct err *err);

/* The number of sheets: one per head, or one; the tensor of one head; one sheet, which is a
 * view. */
size_t kept_sheet_count(const struct kept *kept);
struct kept kept_head(const struct kept *kept, size_t index);
struct sheet kept_sheet(const struct report *report, const struct kept *kept, size_t index);

/* True if data formats write tables instead of tensors: some table is not for people only. */
bool report_has_tables(const struct report *report);

/* A copy of a report whose tables are sheets, for arrays and figures. If the report has tensors,
 * they replace the tables. */
int report_as_sheets(struct report *copy, const struct report *report, bool for_picture,
                     struct arena *arena, struct err *err);

/* For people: add a table with bars, below the tensors, of the cells that are farthest from a value
 * in the sheets of this name; nothing if none differs from it. */
int report_add_strongest(struct report *report, const char *tensor, float origin,
                         struct arena *arena, struct err *err);

/* --- means, words and hidden tokens ----------------------------------------------------------- */

struct derivation {
    bool mean_of_heads;
    bool mean_of_layers;
    bool mean_of_texts; /* of several reports, after the rest: mean.h */
    bool words;
    bool hide_first;
};

/* The axes over which a result has means: texts; layers and texts; heads, layers and texts. */
enum mean_axes { MEAN_OF_TEXTS = 1, MEAN_OF_LAYERS, MEAN_AXES };

/* Read the names of one of these axes or several, separated by commas. */
int derive_read_mean(struct derivation *how, const char *list, enum mean_axes axes,
                     struct err *err);

/* Refuse a derivation that the selection does not allow. */
int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err);

/* Change the report; new memory is the arena's. The mean over layers replaces the first layer;
 * tables get a row for all heads or layers whose other keys are the same.
 * hide_first removes the first token (or word) from all axes, and is refused if none is left.
 * Tensors without values get their new sizes; they have no means. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err);

#endif
