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

/* A setting, or a column copied from the input. */
struct identity_column {
    const char *name;
    const char *value; /* NULL: none for this item */
    bool literal;      /* JSON number or boolean, written verbatim */
};

/* What identifies a report in its stream: its number, the columns and members of its item, and its
 * origin. Zero: the only report, without an origin. */
struct identity {
    size_t index;      /* number of this report in its stream */
    size_t count;      /* reports in the stream, including `failed` */
    size_t failed;     /* missing reports, whose texts failed */
    const char *model; /* csv, tidy: model column if there are several; NULL: none */
    size_t texts;      /* texts, which repeat for each model or setting; 0: as many as reports */
    size_t blank;      /* blank and failed texts before this one, which its number counts */
    bool stacked;      /* npy, safetensors: the reports are rows of one array */
    bool of_pairs;     /* some text is a pair: tidy has columns of segments */
    const struct identity_column *extras; /* csv, tidy: leading columns, which keep their names */
    size_t extra_count;
    size_t text_count; /* csv: 1: tables also have extras[extra_count], the text */
    const char *item;  /* json: leading members, such as settings and the item's columns; or NULL */
    const struct provenance *provenance; /* see write/format.h; NULL: omitted */
};

/* The number of texts of the stream; the number of this text, from 0, with `blank` added. */
static inline size_t identity_texts(const struct identity *identity)
{
    return identity->texts ? identity->texts : identity->count;
}

static inline size_t identity_text(const struct identity *identity)
{
    size_t texts = identity->texts;
    return (texts ? identity->index % texts : identity->index) + identity->blank;
}

/* Tables of a report that belong together: the computation of a query in a head. */
struct chapter {
    const struct attention_branch *branch; /* NULL: the model has only one attention */
    const struct tokenized *text;          /* text of the query */
    size_t layer, head, query;
    size_t layer_count, head_count; /* numbers of layers and heads of this branch */
    size_t key_count;
    const size_t *shown; /* [shown_count] keys shown to people, ascending */
    size_t shown_count;
    float shown_weight; /* sum of the weights of the shown keys */
    bool is_listed;     /* the report is a list of chapters, even if this is the only one */
};

struct report {
    struct identity identity;
    const char *model;        /* the model's name, as in model.h; of several models, "a, b" or "2
                               * models" */
    bool untrained;           /* model_is_untrained: titles say so */
    enum precision precision; /* precision of matrix products */
    const char *mechanism;    /* attention options and edits in words; NULL: none */
    struct tokenized text;
    struct tokenized source;                /* source of cross-attention; count 0: there is none */
    const struct tokenized *corrupt;        /* in patching (`text` is the clean one); else NULL */
    const struct tokenized *corrupt_source; /* source of `corrupt`, if it differs; else NULL */
    const struct array *arrays;
    size_t array_count;
    const struct table *tables;
    size_t table_count;
    const char *strongest;     /* ending of array names for report_add_strongest, or NULL */
    float origin;              /* reference value for `strongest` */
    bool shows_arrays;         /* for people: show the arrays, before the tables */
    bool untitled;             /* for people: omit the lines with model and text */
    const struct table *facts; /* one row of additional JSON members; NULL: none */
    const size_t *heads;       /* selected heads; NULL: all */
    size_t head_count;
    struct layers layers, encoder_layers; /* selected layers */
    size_t first_shown;                   /* first token (or word) on axes */
    const struct label *numbers;          /* "0", "1", … for all channels and dimensions */
    const struct label *words;            /* the vocabulary; NULL: label by number */
    bool of_classes;                      /* `words` are names of classes */
    const struct label *next; /* rows of a decoder's cross-attention, `在 → 垫子`; NULL: tokens */
    const char *about;        /* subject for titles; NULL: the text */
    bool causal;
    bool has_encoder; /* keys of self-attention sites are of the text, even with a source */
};

/* The texts of the queries and of the keys, for one attention of the model. */
const struct tokenized *report_queries(const struct report *report, enum site_branch branch);
const struct tokenized *report_keys(const struct report *report, enum site_branch branch);

/* Label each token, for people, with the token after it, which it predicts: `在 → 垫子`. */
const struct label *labels_with_next(const struct label *labels, size_t count, struct arena *arena,
                                     struct err *err);

/* The first of `size` positions that belongs to the second text of a pair; 0: none, or all. The
 * positions are the tokens (or words, if the text has them) `queries` or, if NULL, from `first`. */
size_t report_second(const struct tokenized *text, const size_t *queries, size_t first,
                     size_t size);

/* The text that supplies the labels of an axis; NULL: none. */
const struct tokenized *report_text_of(const struct report *report, const struct axis *axis);

/* Find the array of a site (in `layer`, if the site is in layers); NULL: none. */
const struct array *report_find(const struct report *report, enum site site, size_t layer);

/* The number of values of an array. */
size_t array_cells(const struct array *array);

/* True if columns are keys, as in attention maps. */
bool array_has_key_columns(const struct array *array);

/* True for maps of cross-attention in an encoder-decoder, whose rows predict the next token. */
bool array_predicts(const struct array *array);

/* Whether the first axis is copies of the stream, in place of heads. */
bool array_is_of_copies(const struct array *array);

/* True for the mean over heads, and for the mean over layers. */
bool array_is_mean_of_heads(const struct array *array);
bool array_is_mean_of_layers(const struct array *array);

/* Write the array's name in files: `h.3.weights` or `ln_f`; means are `h.3.weights.mean` (over
 * heads) and `h.mean.weights` (over layers). Returns `name`. */
const char *array_name(char name[SITE_NAME_BYTES], const struct array *array);

/* The name of the rows of a captured array: "query", "token". */
const char *array_row_name(const struct array *array);

/* Add a copy of an array. A computed array gets the names of axes, labels of positions and numbers
 * of heads that it lacks: "row", "column"; 0, 1, … */
int report_add_array(struct report *report, const struct array *array, struct arena *arena,
                     struct err *err);

/* The first chapter of a report; NULL: its tables have none. */
const struct chapter *report_chapter(const struct report *report);

/* The number of matrices, one per head if there are heads; the array of one head; a view of one
 * matrix, with the labels of the array or else of its site. */
size_t array_matrix_count(const struct array *array);
struct array array_head(const struct array *array, size_t index);
struct sheet array_matrix(const struct report *report, const struct array *array, size_t index);

/* Append to attention weights a column for the sinks of their heads, which then are no arrays of
 * their own: rows sum to 1. */
int report_join_sinks(struct report *report, struct arena *arena, struct err *err);

/* True if data formats write tables instead of arrays: some table is not only for people. */
bool report_has_tables(const struct report *report);

/* Replace the tables by one for people, with bars, below the arrays: the cells farthest from
 * `origin` in arrays whose names end with `ending`; or by none if no visible cell differs. */
int report_add_strongest(struct report *report, const char *ending, float origin,
                         struct arena *arena, struct err *err);

/* --- means, words, hidden tokens and pooling -------------------------------------------------- */

extern const struct label pooling_labels[POOL_MODEL]; /* without POOL_NONE */

struct derivation {
    const struct layer_head *heads; /* [head_count] only these heads, in this order */
    size_t head_count;              /* 0: all selected heads */
    bool joins_heads; /* join the heads in one array for each site: [head_count, ...] */
    bool mean_of_heads;
    bool mean_of_layers;
    bool mean_of_texts;   /* the mean over several reports, after derive (mean.h) */
    bool mean_of_regions; /* the tokens of each item of --query and --key; without it, this is so
                           * if mean_of_texts and the text has named positions */
    bool words;
    bool hide_first;
    bool hides_keys;          /* keys that are not selected are hidden, not left out */
    struct pooling_rule pool; /* a row that replaces the rows of an array's tokens */
    bool stats;               /* tables: mean, variance, minimum and maximum of each matrix */
    bool align; /* tables: of the first matrix, the keys of each predicted token, by weight */
    const char *const
        *names; /* [layers, SITE_COUNT] names of another program (site_names_list), or NULL */
    bool merges_heads; /* put heads side by side, as in struct array */
};

/* Axes with means: texts; layers and texts; heads, layers and texts; all and regions. */
enum mean_axes { MEAN_OF_TEXTS = 1, MEAN_OF_LAYERS, MEAN_AXES, MEAN_OF_REGIONS };

/* Parse a comma-separated list of regions, heads, layers and texts, as `axes` allows. */
int derive_read_mean(struct derivation *how, const char *list, enum mean_axes axes,
                     struct err *err);

/* Refuse options that the selection or the tokenizer (NULL: none) does not allow. */
int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err);

/* Join the arrays of each site with heads, of one head each, to one array with the heads of the
 * list in its order. Refused: heads of different sizes. */
int report_join_heads(struct report *report, const struct derivation *how, struct arena *arena,
                      struct err *err);

/* Change the report; the arena owns new memory. The mean over layers replaces the first layer's
 * array; rows of tables that differ only in averaged heads or layers are joined. hide_first removes
 * the first token (or word) of axes, and is refused if none is left. Arrays without values get new
 * sizes; they must not be averaged or pooled. Then only the selected keys are left and, if rows are
 * words, the selected queries. Pooling comes last, before the tables of `stats` and `align`. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err);
