/* score_rule.h: how scores become attention weights: the scale, the soft cap, the bias of a key,
 * and the keys that are visible to a query. The pass and all that describes it read this one rule.
 *
 *     const struct score_rule *rule = &attention_of(config, BRANCH_TEXT, layer)->score;
 *     struct key_range visible = score_visible(rule, query, keys);
 *     struct head_bias bias = score_head_bias(rule, biases, head);
 *     score_apply(rule, &bias, query, scores + visible.first, visible, keys);
 *
 * With sparse attention the visible keys are the keys of the range that are also in the pattern
 * (mechanism.h): score_keys lists them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "math/rows.h"
#include "model/config.h"
#include "model/site.h"

struct score_rule {
    float scale;       /* factor of the products of queries and keys */
    float base_scale;  /* the scale without a temperature */
    float cap;         /* scores are cap · tanh(score / cap); 0: none */
    float temperature; /* divides scores after cap and bias; 0: none, or it is part of the scale */
    enum score_bias bias;
    size_t heads;     /* query heads, on which the slopes of ALiBi depend */
    short bias_layer; /* the layer that has the table, or its matrices; -1: the stack */
    unsigned short buckets, reach; /* rows of the table; the distance from which biases are equal */
    unsigned char terms;           /* BIAS_DISENTANGLED: as in struct config */
    size_t back, ahead; /* visible keys before and after the query's own; SIZE_MAX: no limit */
    bool sink;          /* the softmax has one score more, which no key has */
    bool mask_after;    /* the softmax is over all keys; then rows are masked and renormalised */
    enum attention_kind kind;
    const struct pattern *pattern; /* of ATTENTION_SPARSE */
};

/* Keys first … end - 1. */
struct key_range {
    size_t first, end;
};

/* Whether scores are changed by more than a factor: by a soft cap or a bias. */
static inline bool score_bends(const struct score_rule *rule)
{
    return rule->cap > 0 || rule->bias != NO_BIAS;
}

/* The keys from the first to the last one that is visible to a query, of a text of `keys` keys. */
static inline struct key_range score_visible(const struct score_rule *rule, size_t query,
                                             size_t keys)
{
    size_t first = query > rule->back ? query - rule->back : 0;
    size_t end = rule->ahead == SIZE_MAX ? keys : query + rule->ahead + 1;
    return (struct key_range){first, end < keys ? end : keys};
}

/* The biases of the scores of a head: by one of these, or none. */
struct head_bias {
    float slope;       /* slope of ALiBi; 0: none */
    const float *near; /* [-reach … reach] by the distance from query to key: the bias, or its row
                        * in the tables below; NULL: none */
    const float *keys, *queries; /* BIAS_DISENTANGLED: tables, of `stride` floats a row, or NULL */
    size_t stride;
    struct matrix q, k; /* of the text: rows that these tables are multiplied with */
};

/* BIAS_BUCKETS: the row of the table for a distance from query to key, up to `reach`. */
size_t score_bucket(const struct score_rule *rule, long distance);

/* BIAS_BUCKETS: the biases of all distances, [H, 2 · reach + 1], from a table [buckets, H].
 * BIAS_DISENTANGLED: only the row of each distance [2 · reach + 1]; the tables [2 · buckets, H·dk]
 * of keys and of queries follow, if the rule has them (weights_biases). */
size_t score_biases_count(const struct score_rule *rule);
void score_biases_fill(float *biases, const struct score_rule *rule, const float *table);

/* The biases of a head with queries [T, dk] and keys [S, dk], given `biases` of all distances or
 * NULL; BIAS_DISENTANGLED: where the row of a key's distance begins in the tables; the bias of one
 * of `keys` keys. */
struct head_bias score_head_bias(const struct score_rule *rule, const float *biases, size_t head,
                                 struct matrix q, struct matrix k);
size_t score_place(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                   size_t key);
float score_bias(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 size_t key, size_t keys);

/* Scale a query's scores of some keys, cap them, add biases, and divide by the temperature. */
void score_apply(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 float *scores, struct key_range some, size_t keys);

/* List the visible keys in ascending order; returns their number. `list` has capacity for
 * score_most keys, and `drawn`, which is used for the random keys of a pattern, for
 * pattern->random + 1 or all keys, whichever is less. */
size_t score_keys(const struct score_rule *rule, size_t query, size_t keys, uint32_t *list,
                  uint32_t *drawn);
size_t score_most(const struct score_rule *rule, size_t keys);
