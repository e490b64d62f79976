/* report.h: everything one sentence gave: its tokens, and the tensors that were kept.
 *
 * Writers take a report and read either the tensors, as they are, or the sheets they fall into: one
 * for each head of a tensor with heads, one for a tensor without.
 *
 *     for (size_t i = 0; i < report->tensor_count; i++)
 *         for (size_t k = 0; k < kept_sheet_count(&report->tensors[i]); k++) {
 *             struct sheet sheet = kept_sheet(report, &report->tensors[i], k);
 *             ...
 *         }
 */
#ifndef ATTN_LENS_REPORT_H
#define ATTN_LENS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lens/selection.h"
#include "lens/sheet.h"
#include "math/precision.h"
#include "model/site.h"
#include "text/token_list.h"

/* A tensor that was kept: dense, with only the heads that were asked for. One whose site has heads
 * or a layer but which has none itself is the mean over them (derive.h). */
struct kept {
    enum site site;
    int layer; /* -1: belongs to no layer */
    size_t rank;
    size_t shape[3];
    const float *data;
    const size_t *heads; /* [shape[0]] the model's number of each head; NULL: no heads */
};

/* A token's own bytes, which may be a part of a character. */
struct token_bytes {
    const char *bytes; /* NULL: they are not known, the label says what there is */
    size_t size;
};

/* Tokens in a row that make a word. */
struct word_span {
    size_t first;
    size_t count;
};

/* A text with its tokens and their labels. */
struct tokenized {
    const char *text; /* NULL when ids were given in its place */
    size_t size;
    const struct token *tokens;      /* [count] */
    const uint32_t *ids;             /* [count] theirs, as a pass takes them */
    const struct label *labels;      /* [count] */
    const struct token_bytes *bytes; /* [count], alive as long as the tokenizer; NULL: none known */
    size_t count;
    size_t dropped_count;       /* marks that the vocabulary does not have */
    struct token dropped_first; /* where the first of them stood */
    const struct word_span
        *words; /* [word_count] what axes count in place of tokens; NULL: tokens */
    const struct label *word_labels;
    size_t word_count;
};

struct report {
    const char *model;        /* the name or path as it was given */
    enum precision precision; /* of the products that made the numbers */
    const char *mechanism;    /* how the model attended, in words; NULL: as it is */
    struct tokenized sentence;
    struct tokenized source; /* what is looked at, for cross-attention; else count is 0 */
    const struct kept *tensors;
    size_t tensor_count;
    const size_t *heads; /* the heads that were asked for; NULL: all */
    size_t head_count;
    struct layers layers, encoder_layers; /* that were asked for */
    size_t first_shown;          /* tokens, or words, before this one are not on any axis */
    const struct label *numbers; /* "0", "1", …: as many as a tensor has channels or dimensions */
    const struct label *words;   /* the vocabulary, or NULL: numbers serve */
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

/* True for the mean over heads, and for the mean over layers. */
bool kept_is_mean_of_heads(const struct kept *kept);
bool kept_is_mean_of_layers(const struct kept *kept);

/* The tensor's name in files: `h.3.weights`, `ln_f`; of means `h.3.weights.mean` (over its heads),
 * `h.mean.weights` (over layers). Returns `name`. */
const char *kept_name(char name[SITE_NAME_BYTES], const struct kept *kept);

/* The sheets of one tensor: one for each of its heads, or one. */
size_t kept_sheet_count(const struct kept *kept);

/* Sheet `index` of a tensor: views, valid as long as the report. */
struct sheet kept_sheet(const struct report *report, const struct kept *kept, size_t index);

/* The sheets of all tensors, counted; and sheet `index` of them, in the order of the tensors. */
size_t report_sheet_count(const struct report *report);
struct sheet report_sheet(const struct report *report, size_t index);

/* The tensor of that sheet, with no other head than the sheet's. */
struct kept report_kept(const struct report *report, size_t index);

/* Append the text on one line, for headings: blanks stay, all else that a terminal could trip over
 * is made visible as in label.h. In place of a text that is not known, `ids 3,1,4`. */
void tokenized_visible(struct buf *out, const struct tokenized *tokenized);

#endif
