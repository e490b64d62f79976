/* attention_strip.h: shared by the files of attention: a kind of attention, a layer, a head; and
 * products of a strip, a few queries of one head, with a range of keys, by kernels.
 *
 * Keys are packed once for each head, in panels of KEY_PANEL, or are in the panels of a cache. A
 * strip's scores become weights in place and are multiplied with the values. Ranges begin and end
 * at multiples of STEP; scores of keys that do not exist mean nothing, and their weight must be 0.
 *
 * A context is a sum over keys: one chain of multiply-adds for every CHAIN keys of the text; the
 * chains are added in their order. (One chain of thousands of keys would have four times the
 * rounding error.) The chain of a key depends on its index alone.
 *
 *     strip_scores(head, &strip, range, memory->scores);
 *     ... weights in place of scores ...
 *     strip_context(head, &strip, range, memory->scores, false);
 *     strip_write_context(head, &strip);
 */
#pragma once

#include <stdatomic.h>

#include "math/kernel.h"
#include "pass/cache.h"
#include "pass/pass.h"
#include "model/score_rule.h"

enum {
    STRIP = 32, /* most queries in a strip */
    STEP = 16,  /* kernels exist for one row, and for multiples of this many rows and keys */
    ROW_SIZES = 1 + STRIP / STEP,
    KEY_SIZES = KEY_PANEL / STEP,
    CHAIN = 256, /* keys in one chain of a sum of values; a multiple of KEY_PANEL */
    ATTENTION_BUFFERS = 12,
    FIRST_OF_PAIRS = 8, /* the buffers from this one on are zeroed */
};

/* Floats, or pairs, from one row of a buffer to the next. */
struct attention_strides {
    size_t scores, context, query, weight;
};

/* The buffers of a thread for one head. Not every method uses all of them. */
struct attention_memory {
    union {
        struct {
            float *panels;  /* [panels][dk, KEY_PANEL] keys, transposed */
            float *scores;  /* [rows of a strip, strides.scores] */
            float *context; /* [rows of a strip, strides.context] */
            float *part;    /* as context, of one chain, if context may have several */
            float *row;     /* of one query, or a few numbers for each query of a strip */
            float *sums;    /* linear: sums over keys; low-rank: mean keys, then mean values */
            uint32_t *visible, *drawn; /* visible keys of a query in a pattern; random ones */
            /* In bf16, pairs of rounded numbers: */
            uint32_t *key_pairs, *value_pairs; /* pages (cache.h) of keys that are in no cache */
            uint32_t *query_pairs;             /* [queries, strides.query] */
            uint32_t *weight_pairs; /* [rows of a strip, strides.weight], for the keys of a panel */
        };
        void *buffers[ATTENTION_BUFFERS];
    };
    float *maps[ATTENTION_MAPS]; /* [STRIP, keys] rows for a lender of rows; else NULL */
    struct attention_strides strides;
};

/* Elements of each buffer; scores, context and part follow from rows and strides. */
struct attention_size {
    union {
        struct {
            size_t panels, scores, context, part, row, sums, visible, drawn;
            size_t key_pairs, value_pairs, query_pairs, weight_pairs;
        };
        size_t counts[ATTENTION_BUFFERS];
    };
    struct attention_strides strides;
    size_t rows, part_rows; /* rows of scores and context; rows of part */
};

/* The longest text of a batch, for which the memory must suffice. */
struct attention_problem {
    const struct config *config;
    const struct sublayer *attention; /* of a layer */
    size_t queries, keys;
    size_t fresh_keys; /* keys that are in no cache */
    bool maps;         /* an attention map is watched */
    bool bf16;         /* products are made of pairs of rounded numbers */
};

/* State shared by all heads of a layer. */
struct attention_layer {
    struct pass *pass;
    size_t layer;
    const struct head_rule *heads;
    struct score_rule rule;
    const float *biases;    /* of scores by all distances, if the rule has any */
    const float *sinks;     /* [H] scores of the sinks; NULL: none */
    float lambda;           /* factor of the weights of second heads */
    struct dropout dropout; /* of training, after the weights that are announced */
    bool wants_context;
    bool bf16;      /* products are made of pairs of rounded numbers */
    unsigned edits; /* a bit for each edited map, from SITE_SCORES on; dense attention only */
    struct kernel score_kernels[ROW_SIZES][KEY_SIZES];      /* [row size][keys / STEP - 1] */
    struct kernel context_kernels[ROW_SIZES][KEY_SIZES][2]; /* [1]: adds to a sum */
    atomic_size_t first_fault; /* of heads that fail: the lowest round · HEAD_FAULTS + fault */
};

/* One head of one text. */
struct attention_head {
    const struct attention_layer *layer;
    const struct attention_memory *memory;
    struct matrix q, k, v, context; /* this head's columns, this text's rows */
    struct cache *cache;            /* has all keys and values; NULL: no cache */
    size_t text, head;
    size_t kv_head;    /* the key/value head of this head */
    size_t past, keys; /* number of earlier queries; of all keys */
    union {            /* rows of the map (strip_map_row); NULL: not watched */
        struct {
            float *scores, *softmax, *masked, *weights, *difference;
        };
        float *maps[ATTENTION_MAPS];
    };
    struct lent_maps lent; /* rows of `maps` (site.h) */
    uint64_t dropout_key;  /* key of the head's random numbers */
    const float *sink;     /* score of the head's sink; NULL: none */
    struct matrix rests;   /* [T, 1] the sink's parts of the softmax */
    struct head_bias bias;
    const struct attention_head *second; /* makes one context with this one; NULL: none */
};

/* Causes of failure of a head. */
enum head_fault {
    HEAD_SOUND,
    HEAD_NO_NUMBER, /* a score is not finite */
    HEAD_NO_WEIGHT, /* a row of weights sums to 0 */
    HEAD_NO_KEY,    /* no key is visible to a query */
    HEAD_FAULTS,
};

/* One kind of attention. */
struct attention_method {
    /* Compute the memory that a thread needs; false: the size overflows. */
    bool (*measure)(struct attention_size *size, const struct attention_problem *problem);
    /* Before the heads of a layer: fetch kernels. NULL: none are needed. */
    void (*prepare)(struct attention_layer *layer);
    /* Compute one head of one text: its watched maps, and its context. */
    enum head_fault (*compute)(const struct attention_head *head);
};

extern const struct attention_method attention_dense, attention_sparse, attention_linear,
    attention_blocked, attention_lowrank;

/* --- strips ----------------------------------------------------------------------------------- */

/* Queries first … first + rows - 1 of the text's new queries. */
struct strip {
    size_t first, rows;
};

size_t strip_round_up(size_t size, size_t step);

/* The keys that are visible to a query. */
struct key_range strip_visible(const struct attention_head *head, size_t query);

/* Compute the sizes of a thread's memory for strips of size->rows rows; false: one overflows. */
bool strip_measure(struct attention_size *size, const struct attention_problem *problem);

/* Row sizes of kernels: 0: one row (a generated token), 1: up to 16 rows, 2: up to 32 rows. */
size_t strip_row_size(size_t rows);
size_t strip_rows_of_size(size_t size);

/* Fetch the kernels for strips of a row size against `keys` keys, a multiple of STEP up to
 * KEY_PANEL (`add`: to a context that has a sum). */
void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys);
void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add);

/* Process the queries from `first` on in strips of at most `most`, until one fails. Pass each
 * strip's rows of maps to the lender, if it asks for rows. */
typedef enum head_fault strip_work(const struct attention_head *head, const struct strip *strip);
enum head_fault strip_for_each(const struct attention_head *head, size_t first, size_t most,
                               strip_work *work);

/* Pack the keys of a head, in bf16 also its values, unless they are in a cache; in bf16 also pack
 * the queries. A key's panel, in bf16 its page; float32 values from a key on. */
void strip_pack_keys(const struct attention_head *head);
void *strip_panel(const struct attention_head *head, size_t key);
const float *strip_values(const struct attention_head *head, size_t key);

/* q · k of a strip and a range into to[rows, stride]. */
void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to);

/* memory->context [rows, dv] = weights [rows, stride] · v of the range; `adds`: the product is
 * added to a context that is 0 or has a sum of earlier ranges. Copy it to head->context. */
void strip_context(const struct attention_head *head, const struct strip *strip,
                   struct key_range keys, const float *weights, bool adds);
void strip_write_context(const struct attention_head *head, const struct strip *strip);

/* The row of a query in an attention map; NULL: the map is not watched, or lacks the row. */
float *strip_map_row(const struct attention_head *head, float *map, size_t query);

/* Write a row of an attention map, if it is watched: its first `count` cells, and 0 in all later
 * cells; the cells of a range, by the same indices of `from`, and `others` in all other cells. */
void strip_put_row(const struct attention_head *head, float *map, size_t query, const float *from,
                   size_t count);
void strip_put_range(const struct attention_head *head, float *map, size_t query, const float *from,
                     struct key_range keys, float others);

/* Drop weights of a range of keys, if the mechanism has dropout, and scale the others. */
void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys);

/* --- edits: edit.c ---------------------------------------------------------------------------- */

/* Apply the edits of a map to some cells of a query's row; of scores to a few rows; of masked
 * scores to a few rows, with their largest scores computed again. */
void attention_edit(const struct attention_head *head, enum site site, size_t query, float *row,
                    struct key_range keys);
void attention_edit_scores(const struct attention_head *head, struct matrix rows, size_t query);
enum head_fault attention_edit_masked(const struct attention_head *head, struct matrix rows,
                                      struct softmax_range *ranges, size_t query);
