/* score_rule.h: how scores become attention weights: the scale, the soft cap, the biases, and the
 * keys that are visible to a query. The pass, and all code that describes attention, read this one
 * rule.
 *
 *     const struct score_rule *rule = &attention_of(config, BRANCH_TEXT, layer)->score;
 *     struct key_range visible = score_visible(rule, query, keys);
 *     struct head_bias bias = score_head_bias(rule, biases, head);
 *     score_apply(rule, &bias, query, scores + visible.first, visible, keys);
 *
 * With sparse attention only those keys of the range are visible that are also in the pattern
 * (mechanism.h): score_keys lists them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "math/rows.h"
#include "model/config.h"
#include "model/site.h"

struct score_rule {
    float scale;       /* products of queries and keys are multiplied by it */
    float base_scale;  /* the scale before it is divided by a temperature */
    float cap;         /* scores become cap · tanh(score / cap); 0: they stay */
    float temperature; /* scores are divided by it after cap and bias; 0: there is none, or it is
                        * part of `scale` */
    enum score_bias bias;
    size_t heads;     /* query heads, on which the slopes of ALiBi depend */
    short bias_layer; /* the layer that has the table of biases, or its matrices; -1: the stack has
                       * it */
    /* buckets: rows of the table; reach: all distances of at least this have the same bias. */
    unsigned short buckets, reach;
    unsigned char terms; /* BIAS_DISENTANGLED: bits of enum bias_terms */
    /* How many keys before the query's own are visible, and how many after it; SIZE_MAX: no
     * limit. */
    size_t back, ahead;
    bool sink;       /* the softmax has one more score, which belongs to no key */
    bool mask_after; /* the softmax is over all keys; then masked weights become 0 and rows are
                         * divided by their sum */
    enum attention_kind kind;
    const struct pattern *pattern; /* NULL unless `kind` is ATTENTION_SPARSE */
};

/* Keys first … end - 1. */
struct key_range {
    size_t first, end;
};

/* Whether a soft cap or a bias changes scores, in addition to the scale. */
static inline bool score_bends(const struct score_rule *rule)
{
    return rule->cap > 0 || rule->bias != NO_BIAS;
}

/* The range of keys, in a text of `keys` keys, that a query sees if there is no pattern. */
static inline struct key_range score_visible(const struct score_rule *rule, size_t query,
                                             size_t keys)
{
    size_t first = query > rule->back ? query - rule->back : 0;
    size_t end = rule->ahead == SIZE_MAX ? keys : query + rule->ahead + 1;
    return (struct key_range){first, end < keys ? end : keys};
}

/* The biases of a head's scores, given by `slope` (ALiBi) or by `near` (other kinds). If slope is 0
 * and near is NULL there are no biases. */
struct head_bias {
    float slope;       /* slope of ALiBi; 0: another bias, or none */
    const float *near; /* for each distance [-reach … reach] from query to key: the bias, or the row
                        * of the tables `keys` and `queries` for this distance; NULL: none */
    const float *keys, *queries; /* BIAS_DISENTANGLED: tables with `stride` floats in a row; NULL:
                                  * the rule lacks the products with this table */
    size_t stride;
    struct matrix q, k; /* the text's queries and keys, which are multiplied by rows of the
                         * tables */
};

/* BIAS_BUCKETS: the row of the table for a distance from query to key; all distances from `reach`
 * on have the same row. */
size_t score_bucket(const struct score_rule *rule, long distance);

/* BIAS_BUCKETS: fill biases [H, 2 · reach + 1] of all distances from a table [buckets, H].
 * BIAS_DISENTANGLED: only fill the row of each distance [2 · reach + 1]; weights_biases puts the
 * tables [2 · buckets, H·dk] of keys and of queries after these rows. score_biases_count: how many
 * numbers are filled. */
size_t score_biases_count(const struct score_rule *rule);
void score_biases_fill(float *biases, const struct score_rule *rule, const float *table);

/* score_head_bias: the biases of a head with queries q [T, dk] and keys k [S, dk], from the
 * `biases` of all distances, or NULL. score_place: where the row for a key's distance begins in the
 * tables of BIAS_DISENTANGLED. score_bias: the bias of one of `keys` keys. */
struct head_bias score_head_bias(const struct score_rule *rule, const float *biases, size_t head,
                                 struct matrix q, struct matrix k);
size_t score_place(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                   size_t key);
float score_bias(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 size_t key, size_t keys);

/* Scale a query's scores for the keys `some`, cap them, add biases, and divide by the
 * temperature. */
void score_apply(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 float *scores, struct key_range some, size_t keys);

/* List the visible keys in ascending order; returns how many there are. `list` must have room for
 * score_most keys. `drawn` is scratch for the random keys of a pattern, with room for
 * pattern->random + 1 keys, or for all keys if they are fewer. */
size_t score_keys(const struct score_rule *rule, size_t query, size_t keys, uint32_t *list,
                  uint32_t *drawn);
size_t score_most(const struct score_rule *rule, size_t keys);
