/* attention_strip.h: declarations that the files of attention share: the types of a kind of
 * attention, a layer and a head; and products of a strip, which is a few queries of one head, with
 * a range of keys.
 *
 * Keys are packed once for each head, in panels of KEY_PANEL, or are in the panels of a cache. A
 * strip's scores become weights in place and are multiplied with the values. Ranges begin and end
 * at multiples of STEP; scores of keys after the last key are undefined, and their weights must be
 * 0.
 *
 * A context is a sum over keys: one chain of multiply-adds for every CHAIN keys of the text; the
 * chains are added in their order. (One chain of thousands of keys would have four times the
 * rounding error.) The chain of a key depends only on its index.
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
    STRIP = 32, /* maximum number of queries in a strip */
    STEP = 16,  /* unit of kernel sizes: a kernel has one row or a multiple of STEP rows, and a
                 * multiple of STEP keys */
    ROW_SIZES = 1 + STRIP / STEP,
    KEY_SIZES = KEY_PANEL / STEP,
    CHAIN = 256, /* number of keys in one chain of the sum over values; a multiple of KEY_PANEL */
    ATTENTION_BUFFERS = 12,
    FIRST_OF_PAIRS = 8, /* index in `buffers` of the first buffer of pairs: these are zeroed when
                         * they are allocated */
};

/* Row strides of buffers: the number of floats, or of bf16 pairs, from the beginning of one row to
 * the next. */
struct attention_strides {
    size_t scores, context, query, weight;
};

/* The buffers of a thread for one head. Not every method uses all of them. */
struct attention_memory {
    union {
        struct {
            float *panels;  /* [panels][dk, KEY_PANEL] keys, transposed */
            float *scores;  /* [rows of a strip, strides.scores] scores, then weights */
            float *context; /* [rows of a strip, strides.context] context vectors */
            float *part;    /* [rows of a strip, strides.context] the sum of one chain; only if a
                             * context may have several chains */
            float *row; /* sparse, low-rank: scores, then weights, of one query; block by block: the
                         * largest score so far and the sum so far for each query of a strip;
                         * linear: φ of a query or a key */
            float *sums; /* linear: sums over keys; low-rank: mean keys, then mean values */
            /* visible: the keys that a query sees in a pattern; drawn: scratch memory for the
             * random keys of the pattern. */
            uint32_t *visible, *drawn;
            /* Only with bf16 products: pairs of numbers rounded to bf16. */
            uint32_t *key_pairs, *value_pairs; /* pages (cache.h) of keys and values that are in no
                                                * cache */
            uint32_t *query_pairs;             /* [queries, strides.query] the rounded queries */
            uint32_t *weight_pairs; /* [rows of a strip, strides.weight] rounded weights of the keys
                                     * of a panel */
        };
        void *buffers[ATTENTION_BUFFERS];
    };
    float *maps[ATTENTION_MAPS]; /* [STRIP, keys] a strip's rows of each map, if the tap's lender
                                  * receives rows; otherwise NULL */
    struct attention_strides strides;
};

/* The number of elements of each buffer. For `scores`, `context` and `part`, it is the product of
 * rows and strides. */
struct attention_size {
    union {
        struct {
            size_t panels, scores, context, part, row, sums, visible, drawn;
            size_t key_pairs, value_pairs, query_pairs, weight_pairs;
        };
        size_t counts[ATTENTION_BUFFERS];
    };
    struct attention_strides strides;
    size_t rows, part_rows; /* numbers of rows: `rows` of the buffers `scores` and `context`,
                             * `part_rows` of `part` */
};

/* The largest sizes in a batch, for which the memory of a thread must suffice. */
struct attention_problem {
    const struct config *config;
    const struct sublayer *attention; /* the attention sublayer whose memory is measured */
    size_t queries, keys;
    size_t fresh_keys; /* number of keys that are not in a cache */
    bool maps;         /* an attention map is watched */
    bool bf16;         /* products multiply pairs of bf16 numbers */
};

/* State shared by all heads of a layer. */
struct attention_layer {
    struct pass *pass;
    size_t layer;
    const struct head_rule *heads;
    struct score_rule rule;
    const float *biases;    /* biases of scores for all distances (score_rule.h); NULL: scores have
                             * no biases */
    const float *sinks;     /* [H] scores of the sinks; NULL: the heads have no sinks */
    float lambda;           /* with differential attention: the factor of the weights of second
                             * heads */
    struct dropout dropout; /* dropout during training; applied after the attention weights are
                             * passed to the tap, which gets them without dropout */
    bool wants_context;
    bool bf16;      /* products multiply pairs of bf16 numbers */
    unsigned edits; /* bit i: the map SITE_SCORES + i is edited, which only dense attention
                     * allows */
    struct kernel score_kernels[ROW_SIZES][KEY_SIZES];      /* indexed by the row size
                                                             * (strip_row_size), and by the number
                                                             * of keys / STEP - 1 */
    struct kernel context_kernels[ROW_SIZES][KEY_SIZES][2]; /* indexed as score_kernels, then by 0:
                                                             * set the sum, or 1: add to the sum */
    atomic_size_t first_fault; /* the smallest round · HEAD_FAULTS + fault among the heads that
                                * failed, where `round` is the index of a head among the heads of
                                * all texts; if no head failed, the number of these heads ·
                                * HEAD_FAULTS */
};

/* One head of one text. */
struct attention_head {
    const struct attention_layer *layer;
    const struct attention_memory *memory;
    struct matrix q, k, v, context; /* the columns of this head in the rows of this text */
    struct cache *cache;            /* the cache with all keys and values; NULL: the text has no
                                     * cache */
    size_t text, head;
    size_t kv_head;    /* index of the key/value head that this head reads */
    size_t past, keys; /* past: number of queries in earlier passes; keys: number of all keys */
    union {            /* memory of each map (strip_map_row); NULL: the map is not watched */
        struct {
            float *scores, *softmax, *masked, *weights, *difference;
        };
        float *maps[ATTENTION_MAPS];
    };
    struct lent_maps lent; /* which rows of `maps` are written, or the function that receives the
                            * rows (tap.h) */
    uint64_t dropout_key;  /* key of the head's random numbers */
    const float *sink;     /* score of the head's sink; NULL: the head has no sink */
    struct matrix rests;   /* [T, 1]: the share of the softmax that the sink gets */
    struct head_bias bias;
    const struct attention_head *second; /* in the first of two heads of differential attention: the
                                          * head whose weights are subtracted; otherwise NULL */
};

/* Causes of failure of a head. */
enum head_fault {
    HEAD_SOUND,
    HEAD_NO_NUMBER, /* a score is not finite */
    HEAD_NO_WEIGHT, /* a row of weights sums to 0 */
    HEAD_NO_KEY,    /* no key is visible to a query */
    HEAD_FAULTS,
};

/* The functions of one kind of attention. */
struct attention_method {
    /* Compute the memory that a thread needs; false: the size overflows. */
    bool (*measure)(struct attention_size *size, const struct attention_problem *problem);
    /* Called before the heads of a layer, to fetch kernels. NULL: no kernels are needed. */
    void (*prepare)(struct attention_layer *layer);
    /* Compute one head of one text: its watched maps, and its context. */
    enum head_fault (*compute)(const struct attention_head *head);
};

extern const struct attention_method attention_dense, attention_sparse, attention_linear,
    attention_blocked, attention_lowrank;

/* --- strips ----------------------------------------------------------------------------------- */

/* A strip: the queries first … first + rows - 1 of the text's new queries. */
struct strip {
    size_t first, rows;
};

size_t strip_round_up(size_t size, size_t step);

/* Return the range of keys that are visible to a query; a pattern of sparse attention is
 * ignored. */
struct key_range strip_visible(const struct attention_head *head, size_t query);

/* Compute the sizes of a thread's memory for strips of size->rows rows. Returns false if a size
 * overflows. */
bool strip_measure(struct attention_size *size, const struct attention_problem *problem);

/* strip_row_size: the row size, an index of kernels, for strips of `rows` rows: 0 for one row (a
 * generated token), 1 for up to 16 rows, 2 for up to 32. strip_rows_of_size: the number of rows
 * that kernels of a row size compute. */
size_t strip_row_size(size_t rows);
size_t strip_rows_of_size(size_t size);

/* Fetch the kernels of scores or of contexts for strips of a row size, with `keys` keys, which is a
 * multiple of STEP up to KEY_PANEL. If `add`, the kernel adds to the context; otherwise it
 * overwrites it. */
void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys);
void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add);

/* Call `work` for the queries from `first` on, in strips of at most `most` queries, until a strip
 * fails. If the lender asks for rows of maps, pass it the rows of each strip. */
typedef enum head_fault strip_work(const struct attention_head *head, const struct strip *strip);
enum head_fault strip_for_each(const struct attention_head *head, size_t first, size_t most,
                               strip_work *work);

/* strip_pack_keys: pack the keys of a head unless a cache has them; in bf16 also its queries and,
 * unless a cache has them, its values. strip_panel: the panel of a key or, in bf16, its page.
 * strip_values: the float32 values from a key on. */
void strip_pack_keys(const struct attention_head *head);
void *strip_panel(const struct attention_head *head, size_t key);
const float *strip_values(const struct attention_head *head, size_t key);

/* to [rows, strides.scores] = the raw scores q · k of the queries of a strip and the keys of a
 * range. */
void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to);

/* strip_context: memory->context [rows, dv] = weights [rows, strides.scores] · v of a range of
 * keys. If `adds`, the product is added to the context, which is 0 or the sum of earlier ranges.
 * strip_write_context: copy memory->context to head->context. */
void strip_context(const struct attention_head *head, const struct strip *strip,
                   struct key_range keys, const float *weights, bool adds);
void strip_write_context(const struct attention_head *head, const struct strip *strip);

/* Return the row of a query in an attention map; NULL: the map is not watched, or the tap's lender
 * does not want this row. */
float *strip_map_row(const struct attention_head *head, float *map, size_t query);

/* Write a row of an attention map, if the map is watched. strip_put_row writes the first `count`
 * cells from `from`, and 0 in all later cells. strip_put_range writes the cells of a range from the
 * same indices of `from`, and `others` in all other cells. */
void strip_put_row(const struct attention_head *head, float *map, size_t query, const float *from,
                   size_t count);
void strip_put_range(const struct attention_head *head, float *map, size_t query, const float *from,
                     struct key_range keys, float others);

/* If the mechanism has dropout, drop weights of a range of keys, and scale the weights that
 * stay. */
void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys);

/* --- edits: edit.c ---------------------------------------------------------------------------- */

/* Apply the edits of a map: attention_edit to a range of keys in a query's row;
 * attention_edit_scores to a few rows of scores; attention_edit_masked to a few rows of masked
 * scores, whose largest scores are then computed again. */
void attention_edit(const struct attention_head *head, enum site site, size_t query, float *row,
                    struct key_range keys);
void attention_edit_scores(const struct attention_head *head, struct matrix rows, size_t query);
enum head_fault attention_edit_masked(const struct attention_head *head, struct matrix rows,
                                      struct softmax_range *ranges, size_t query);
