/* attention_strip.h: what attention's own files share: a kind of attention, a layer, a head; and a
 * few queries of one head, a strip, against a range of keys, by kernels.
 *
 * Keys are packed once a head, as panels of KEY_PANEL, or are in a cache as such. A strip's scores
 * become weights in place and are multiplied with the values. Ranges begin and end at multiples of
 * STEP; keys that do not exist score 0, and their weight must be 0.
 *
 * A context is a sum over keys: one chain of multiply-adds for every CHAIN keys of the text, added
 * in their order (one over thousands of keys would lose four times as much to rounding). Where a
 * chain begins depends on the key alone.
 *
 *     strip_scores(head, &strip, range, memory->scores);
 *     ... weights in place of scores ...
 *     strip_context(head, &strip, range, memory->scores);
 *     strip_write_context(head, &strip);
 */
#ifndef ATTN_MODEL_ATTENTION_STRIP_H
#define ATTN_MODEL_ATTENTION_STRIP_H

#include <stdatomic.h>

#include "math/kernel.h"
#include "model/cache.h"
#include "model/pass.h"
#include "model/score_rule.h"

enum {
    STRIP = 32, /* queries that are worked on together, at most */
    STEP = 16,  /* kernels exist for one row, and for multiples of this many rows and keys */
    ROW_SIZES = 1 + STRIP / STEP,
    KEY_SIZES = KEY_PANEL / STEP,
    CHAIN = 256, /* keys whose values are summed in one chain; a multiple of KEY_PANEL */
    ATTENTION_BUFFERS = 12,
    FIRST_OF_PAIRS = 8, /* these buffers begin as 0 */
};

/* The buffers of a thread for one head. Not every method uses all of them. */
struct attention_memory {
    union {
        struct {
            float *panels;  /* [panels][dk, KEY_PANEL] keys, transposed */
            float *scores;  /* [rows of a strip, stride] */
            float *context; /* [rows of a strip, context_stride] */
            float *part;    /* the same for a chain that is added to it, if there may be several */
            float *row;     /* of one query, or a few numbers for each of a strip */
            float *sums;    /* of linear and of low-rank attention */
            uint32_t *seen, *drawn; /* the keys of a query in a pattern, and the random ones */
            /* In bf16, pairs of rounded numbers: */
            uint32_t *key_pairs, *value_pairs; /* in pages: cache.h; if they are in no cache */
            uint32_t *query_pairs;             /* [queries, query_stride] */
            uint32_t *weight_pairs; /* [rows of a strip, weight_stride], for the keys of a panel */
        };
        void *buffers[ATTENTION_BUFFERS];
    };
    float *maps[ATTENTION_MAPS]; /* [STRIP, keys] rows of maps that a lender takes; else NULL */
    size_t stride, context_stride, query_stride, weight_stride;
};

/* The floats, keys or pairs of each buffer. Those of scores, context and part follow from rows and
 * strides. */
struct attention_size {
    union {
        struct {
            size_t panels, scores, context, part, row, sums, seen, drawn;
            size_t key_pairs, value_pairs, query_pairs, weight_pairs;
        };
        size_t counts[ATTENTION_BUFFERS];
    };
    size_t rows, part_rows, stride, context_stride, query_stride, weight_stride;
};

/* What the memory must be large enough for: the longest text of a batch. */
struct attention_problem {
    const struct config *config;
    struct score_rule rule; /* of the first layer */
    size_t queries, keys;
    size_t fresh_keys; /* those that are in no cache */
    bool maps;         /* any attention map is */
    bool bf16;         /* products are made of pairs of rounded numbers */
};

/* What all heads of one layer share. */
struct attention_layer {
    struct pass *pass;
    size_t layer;
    struct score_rule rule;
    bool wants_context;
    bool bf16;      /* products are made of pairs of rounded numbers */
    unsigned edits; /* a bit a map that is changed, from SITE_SCORES on; dense attention alone */
    struct kernel score_kernels[ROW_SIZES][KEY_SIZES];      /* by rows, keys */
    struct kernel context_kernels[ROW_SIZES][KEY_SIZES][2]; /* …; add to what is there */
    atomic_size_t first_fault; /* that of the lowest round: round · HEAD_FAULTS + fault */
};

/* One head of one text. */
struct attention_head {
    const struct attention_layer *layer;
    const struct attention_memory *memory;
    struct matrix q, k, v, context; /* this head's columns, this text's rows */
    struct cache *cache;            /* NULL, or where all keys and values are */
    size_t text, head;
    size_t group;                               /* of keys and values */
    size_t past, keys;                          /* queries before the first; keys, all of them */
    float *scores, *softmax, *masked, *weights; /* [T, S] where wanted, else NULL */
    struct lent_maps lent;                      /* the rows of these: site.h */
    uint64_t dropout_key;                       /* a number for the head */
    float slope;                                /* of ALiBi; 0: none */
};

/* How a head can fail. */
enum head_fault {
    HEAD_SOUND,
    HEAD_NO_NUMBER, /* a score is not finite */
    HEAD_NO_WEIGHT, /* a row of weights sums to 0 */
    HEAD_NO_KEY,    /* no key is visible to a query */
    HEAD_FAULTS,
};

/* One kind of attention. */
struct attention_method {
    /* Say how much memory a thread needs; false: more than can be counted. */
    bool (*measure)(struct attention_size *size, const struct attention_problem *problem);
    /* Before the heads of a layer: fetch kernels. NULL: none are needed. */
    void (*prepare)(struct attention_layer *layer);
    /* One head of one text: its maps where they are wanted, and its context. */
    enum head_fault (*compute)(const struct attention_head *head);
};

extern const struct attention_method attention_dense, attention_sparse, attention_linear,
    attention_blocked, attention_lowrank;

/* --- strips ----------------------------------------------------------------------------------- */

/* Queries first … first + rows - 1 of the text's new ones. */
struct strip {
    size_t first, rows;
};

size_t strip_round_up(size_t size, size_t step);

/* The keys that are visible to a query. */
struct key_range strip_visible(const struct attention_head *head, size_t query);

/* What a thread needs beside its rows and their stride; false: more than can be counted. */
bool strip_measure(struct attention_size *size, const struct attention_problem *problem);

/* Kernels by the rows they compute: 1 (a step of a text that grows), 16 and 32, as sizes 0, 1, 2.
 */
size_t strip_row_size(size_t rows);
size_t strip_rows_of_size(size_t size);

/* Fetch the kernels for strips of such a size against `keys` keys, a multiple of STEP up to
 * KEY_PANEL (`add`: to a context that has a sum). */
void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys);
void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add);

/* Work on the queries from `first` on, at most `most` at once, until one fails. The rows of maps of
 * each strip go to the lender, if it takes them. */
typedef enum head_fault strip_work(const struct attention_head *head, const struct strip *strip);
enum head_fault strip_for_each(const struct attention_head *head, size_t first, size_t most,
                               strip_work *work);

/* Fill memory->panels with all keys, unless they are in a cache; in bf16 the pairs of keys, values
 * and queries. The panel with a key, in bf16 the page of pairs; the values from a key on, in
 * float32. */
void strip_pack_keys(const struct attention_head *head);
void *strip_panel(const struct attention_head *head, size_t key);
const float *strip_values(const struct attention_head *head, size_t key);

/* q · k of a strip and a range into to[rows, stride]. */
void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to);

/* memory->context [rows, dv] = weights [rows, stride] · v of the range; `adds`: that is added to a
 * context that is 0 or has the sum of earlier ranges. Copy it to the head's context. */
void strip_context(const struct attention_head *head, const struct strip *strip,
                   struct key_range keys, const float *weights, bool adds);
void strip_write_context(const struct attention_head *head, const struct strip *strip);

/* The row of a query in an attention map; NULL: it is not wanted. */
float *strip_map_row(const struct attention_head *head, float *map, size_t query);

/* Write one row of an attention map, if it is wanted: its first `count` cells; what the others are.
 */
void strip_put_row(const struct attention_head *head, float *map, size_t query, const float *from,
                   size_t count, float others);

/* The same of the cells of a range, which are at their indices in `from`. */
void strip_put_range(const struct attention_head *head, float *map, size_t query, const float *from,
                     struct key_range keys, float others);

/* Set dropped weights of a range of keys to 0, if the mechanism has dropout. */
void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys);

/* --- edits: edit.c ---------------------------------------------------------------------------- */

/* Apply those of a map to some of a query's cells, of which `row` has them all; of scores to a few
 * rows; of masked scores, too, where what is the largest of a row may be another one then. */
void attention_edit(const struct attention_head *head, enum site site, size_t query, float *row,
                    struct key_range keys);
void attention_edit_scores(const struct attention_head *head, struct matrix rows, size_t query);
enum head_fault attention_edit_masked(const struct attention_head *head, struct matrix rows,
                                      struct softmax_range *ranges, size_t query);

#endif
