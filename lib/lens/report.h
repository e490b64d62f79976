/* report.h: the result of one text: its tokens, arrays and tables. Writers read arrays, or their
 * matrices, one per head. Besides tables, a report may have arrays with the same numbers, for npy,
 * safetensors and figures.
 *
 *     for (size_t i = 0; i < report->array_count; i++)
 *         for (size_t k = 0; k < array_matrix_count(&report->arrays[i]); k++)
 *             use(array_matrix(report, &report->arrays[i], k));
 */
#pragma once

#include "lens/pooling.h"
#include "lens/selection.h"
#include "lens/sheet.h"
#include "lens/tokenized.h"
#include "math/precision.h"
#include "math/tensor.h"
#include "model/site.h"

/* The name and the value of a setting, or of a column that is copied from the input. */
struct identity_column {
    const char *name;
    const char *value; /* the value as text; NULL: this item has no value */
    bool literal;      /* JSON number or boolean, written verbatim */
};

/* Data that distinguish a report from others in its stream: its number, the columns or JSON members
 * of its item, and its provenance. All zeros: the only report, without provenance. */
struct identity {
    size_t index;      /* index of this report in its stream, from 0 */
    size_t count;      /* number of reports in the stream, including `failed` */
    size_t failed;     /* number of reports that are missing, since their texts failed */
    const char *model; /* csv, tidy: value of the column for the model; NULL: no such column */
    size_t texts;      /* number of texts, each of which runs with every model or setting; 0: one
                        * text for each report */
    size_t blank;      /* number of blank and failed texts before this text; identity_text counts
                        * them */
    bool stacked;      /* npy, safetensors: the reports are rows of one array */
    bool of_pairs;     /* at least one text is a pair: tidy output has columns of segments */
    const struct identity_column *extras; /* csv, tidy: leading columns; columns of a table with the
                                           * same names are renamed */
    size_t extra_count;
    size_t text_count; /* csv: 1 if tables have one more leading column, with the text:
                        * extras[extra_count]; else 0 */
    const char *item;  /* json: leading members, such as settings and item columns; NULL: none */
    const struct provenance *provenance; /* how the report was made (write/format.h); NULL:
                                          * omitted */
};

/* identity_texts: the number of texts in the stream. identity_text: the number of this report's
 * text, from 0, counting blank and failed texts. */
static inline size_t identity_texts(const struct identity *identity)
{
    return identity->texts ? identity->texts : identity->count;
}

static inline size_t identity_text(const struct identity *identity)
{
    size_t texts = identity->texts;
    return (texts ? identity->index % texts : identity->index) + identity->blank;
}

/* Describes the tables that together show the computation of one query in one head. */
struct chapter {
    const struct attention_branch *branch; /* kind of attention; NULL: the model has only one */
    const struct tokenized *text;          /* text of the query */
    size_t layer, head, query;
    size_t layer_count, head_count; /* how many layers and heads the branch has */
    size_t key_count;
    const size_t *shown; /* [shown_count] keys that text output shows, ascending */
    size_t shown_count;
    float shown_weight; /* sum of the weights of the shown keys */
    bool is_listed;     /* the report is a list of chapters, even if this is the only one */
};

struct report {
    struct identity identity;
    const char *model;        /* name of the model, as in model.h; for several models "a, b" or "2
                               * models" */
    bool untrained;           /* the weights are not trained, and titles say so */
    enum precision precision; /* precision of matrix products */
    const char *mechanism;    /* attention options and edits in words; NULL: none */
    struct tokenized text;
    struct tokenized source;                /* source of cross-attention; count 0: there is none */
    const struct tokenized *corrupt;        /* the corrupt text in patching, where `text` is the
                                             * clean one; else NULL */
    const struct tokenized *corrupt_source; /* source of `corrupt`, if it differs from `source`;
                                             * else NULL */
    const struct array *arrays;
    size_t array_count;
    const struct table *tables;
    size_t table_count;
    const char *strongest;          /* ending of array names for report_add_strongest, or NULL */
    float origin;                   /* reference value for `strongest` */
    bool shows_arrays;              /* for people: show the arrays, before the tables */
    bool untitled;                  /* for people: omit the lines with model and text */
    const struct layer_head *named; /* for people: the head whose matrices are marked; NULL: none */
    const struct table *facts;      /* one row of additional JSON members; NULL: none */
    const size_t *heads;            /* selected heads; NULL: all */
    size_t head_count;
    struct layers layers, encoder_layers; /* selected layers */
    size_t first_shown;                   /* index of the first token (or word) that axes show: 1
                                           * with --hide-first, else 0 */
    const struct label *numbers;          /* "0", "1", … for all channels and dimensions */
    const struct label *words;            /* labels of the vocabulary; NULL: use numbers */
    bool of_classes;                      /* `words` are names of classes */
    const struct label *next; /* rows of a decoder's cross-attention, `在 → 垫子`; NULL: tokens */
    const char *about;        /* subject for titles; NULL: the text */
    const char *caption;      /* sentences below a figure, a line for each; NULL: none */
    bool causal;
    bool has_encoder; /* true: keys of BRANCH_TEXT are tokens of `text`, even with a source; false:
                       * of the source, if there is one */
};

/* Return the text whose tokens are the queries (report_queries) or the keys (report_keys) of an
 * attention branch. */
const struct tokenized *report_queries(const struct report *report, enum site_branch branch);
const struct tokenized *report_keys(const struct report *report, enum site_branch branch);

/* Copy labels. The form for people then also shows the next label, which the token predicts, as in
 * `在 → 垫子`; the last label has none. */
const struct label *labels_with_next(const struct label *labels, size_t count, struct arena *arena,
                                     struct err *err);

/* Return the first of `size` positions that belongs to the second text of a pair; 0: none, or all
 * of them. The positions are `queries` or, if this is NULL, the tokens (or words, if the text has
 * them) from `first` on. */
size_t report_second(const struct tokenized *text, const size_t *queries, size_t first,
                     size_t size);

/* Return the text or the source whose tokens or words label an axis; NULL: neither does. */
const struct tokenized *report_text_of(const struct report *report, const struct axis *axis);

/* Find the array of a site (in `layer`, if the site is in layers); NULL: the report has none. */
const struct array *report_find(const struct report *report, enum site site, size_t layer);

/* Return the number of values of an array, in all its matrices. */
size_t array_cells(const struct array *array);

/* True if columns are keys, as in attention maps. */
bool array_has_key_columns(const struct array *array);

/* True for maps of cross-attention in an encoder-decoder, whose rows predict the next token. */
bool array_predicts(const struct array *array);

/* True if the first axis counts copies of the residual stream, in place of heads. */
bool array_is_of_copies(const struct array *array);

/* True if a captured array is the mean over heads (or over layers). */
bool array_is_mean_of_heads(const struct array *array);
bool array_is_mean_of_layers(const struct array *array);

/* Return the array's name in files: `h.3.weights` or `ln_f`; means are `h.3.weights.mean` (over
 * heads) and `h.mean.weights` (over layers). It is written to `name`, unless it is the name in
 * another program (array->theirs). */
const char *array_name(char name[SITE_NAME_BYTES], const struct array *array);

/* Return the name of a captured array's rows, such as "query" or "token". */
const char *array_row_name(const struct array *array);

/* Add a copy of an array. If a computed array lacks names of axes, labels of positions or numbers
 * of heads, it gets "row", "column" and 0, 1, … */
int report_add_array(struct report *report, const struct array *array, struct arena *arena,
                     struct err *err);

/* Return the chapter of a report's first table; NULL: none. */
const struct chapter *report_chapter(const struct report *report);

/* array_matrix_count: the number of matrices, one per head or, without heads, 1. array_head: the
 * array of one head. array_matrix: a view of one matrix, with the labels of the array or, without
 * these, of its site. */
size_t array_matrix_count(const struct array *array);
struct array array_head(const struct array *array, size_t index);
struct sheet array_matrix(const struct report *report, const struct array *array, size_t index);

/* In each layer for which the report has both, append the weights of the heads' sinks to the
 * attention weights as a column, and remove the array of sinks: rows then sum to 1. */
int report_join_sinks(struct report *report, struct arena *arena, struct err *err);

/* True if data formats write the report's tables instead of its arrays: at least one table is not
 * for text output alone. */
bool report_has_tables(const struct report *report);

/* Replace the tables by one with bars, which text output shows below the arrays: the cells farthest
 * from `origin` in arrays whose names end with `ending`. If no visible cell differs from `origin`,
 * the report gets no table. */
int report_add_strongest(struct report *report, const char *ending, float origin,
                         struct arena *arena, struct err *err);

/* --- means, words, hidden tokens and pooling -------------------------------------------------- */

extern const struct label pooling_labels[POOL_MODEL]; /* labels of pooled rows; index: a value of
                                                       * enum pooling, minus 1 */

struct derivation {
    const struct layer_head *heads; /* [head_count] the heads to keep, in this order */
    size_t head_count;              /* number of heads in `heads`; 0: keep all selected heads */
    bool joins_heads; /* join the heads in one array for each site: [head_count, ...] */
    bool mean_of_heads;
    bool mean_of_layers;
    bool mean_of_texts;   /* average several reports, after derive (mean.h) */
    bool mean_of_regions; /* average the tokens of each item of --query, and sum the tokens of each
                           * item of --key; mean_of_texts implies this for named positions */
    bool words;
    bool hide_first;
    bool hides_keys;          /* keys that are not selected are hidden, not left out */
    struct pooling_rule pool; /* pools the rows of an array's tokens to one row */
    bool stats;               /* make tables of each matrix's mean, variance, minimum and maximum */
    bool align; /* make tables of the first matrix: the keys of each predicted token, by weight */
    const char *const
        *names;        /* [layers, SITE_COUNT] another program's names (site_names_list); NULL: our
                 * names */
    bool merges_heads; /* files have the heads side by side: see struct array */
};

/* The axes over which a command can average. MEAN_OF_TEXTS: texts; MEAN_OF_LAYERS: layers and
 * texts; MEAN_AXES: heads, layers and texts; MEAN_OF_REGIONS: regions, heads, layers and texts. */
enum mean_axes { MEAN_OF_TEXTS = 1, MEAN_OF_LAYERS, MEAN_AXES, MEAN_OF_REGIONS };

/* Parse a comma-separated list of the axes that `axes` allows: regions, heads, layers, texts. */
int derive_read_mean(struct derivation *how, const char *list, enum mean_axes axes,
                     struct err *err);

/* Refuse options that the selection or the tokenizer (NULL: none) does not allow. */
int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err);

/* For each site with heads, join its arrays, each of one head, into one array with the heads in the
 * order of `how->heads`. Heads of different sizes are a usage error. */
int report_join_heads(struct report *report, const struct derivation *how, struct arena *arena,
                      struct err *err);

/* Change a report as `how` says; the arena owns new memory. The mean over layers replaces the first
 * layer's array; rows of tables that differ only in averaged heads or layers are averaged.
 * hide_first removes the first token (or word) of axes, and fails if no token is left. Arrays
 * without values get new sizes; they must not be averaged or pooled. Then unselected keys are
 * dropped and, if rows are words, unselected queries. Then rows are pooled, heads are joined, and
 * the tables of `align` or `stats` are made. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err);
