/* score_rule.h: how products of queries and keys become the scores of the softmax: the scale, the
 * soft cap, the biases, and which keys are visible to a query. The pass and all code that describes
 * attention read this one rule.
 *
 *     const struct score_rule *rule = &attention_of(config, BRANCH_TEXT, layer)->score;
 *     struct key_range visible = score_visible(rule, query, keys);
 *     struct head_bias bias = score_head_bias(rule, biases, head, q, k);
 *     score_apply(rule, &bias, query, scores + visible.first, visible, keys);
 *
 * With sparse attention a key of the range is visible only if it is also in the pattern
 * (mechanism.h): score_keys lists these keys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "math/rows.h"
#include "model/config.h"
#include "model/site.h"

struct score_rule {
    float scale;       /* products of queries and keys are multiplied by it */
    float base_scale;  /* the scale before it is divided by a temperature */
    float cap;         /* scores become cap · tanh(score / cap); 0: scores are not capped */
    float temperature; /* scores are divided by it after cap and bias; 0: there is no temperature,
                        * or `scale` already includes it */
    enum score_bias bias;
    size_t heads;     /* number of query heads, from which ALiBi computes its slopes */
    short bias_layer; /* index of the layer with the table of biases, or with the matrices for
                       * distance vectors; -1: all layers share a table */
    /* For BIAS_BUCKETS and BIAS_DISENTANGLED. buckets: config.bias_buckets; reach: all distances of
     * at least this many tokens in one direction have the same bias. */
    unsigned short buckets, reach;
    unsigned char terms; /* BIAS_DISENTANGLED: bits of enum bias_terms */
    /* Numbers of visible keys before (back) and after (ahead) the query's own position; SIZE_MAX:
     * no limit. */
    size_t back, ahead;
    bool sink;       /* the softmax has an additional score that belongs to no key */
    bool mask_after; /* the softmax is over all keys; then the weights of masked keys become 0, and
                      * each row is divided by its sum */
    enum attention_kind kind;
    const struct pattern *pattern; /* NULL unless `kind` is ATTENTION_SPARSE */
};

/* The keys from `first` to `end` - 1. */
struct key_range {
    size_t first, end;
};

/* Whether scores are changed by a soft cap or a bias, in addition to the scale. */
static inline bool score_bends(const struct score_rule *rule)
{
    return rule->cap > 0 || rule->bias != NO_BIAS;
}

/* The range of keys that are visible to a query, in a text of `keys` keys, without regard to the
 * pattern. */
static inline struct key_range score_visible(const struct score_rule *rule, size_t query,
                                             size_t keys)
{
    size_t first = query > rule->back ? query - rule->back : 0;
    size_t end = rule->ahead == SIZE_MAX ? keys : query + rule->ahead + 1;
    return (struct key_range){first, end < keys ? end : keys};
}

/* The biases of a head's scores: computed from `slope` for ALiBi, from `near` for other kinds. If
 * slope is 0 and near is NULL there are no biases. */
struct head_bias {
    float slope;       /* slope of ALiBi; 0: the bias is of another kind, or there is none */
    const float *near; /* for each distance -reach … reach of a key from the query: its bias
                        * (BIAS_BUCKETS), or the index of its row in the tables `keys` and `queries`
                        * (BIAS_DISENTANGLED); NULL: neither */
    const float *keys, *queries; /* BIAS_DISENTANGLED: tables of keys and of queries, with `stride`
                                  * floats in a row; NULL: the products with this table are not
                                  * added */
    size_t stride;
    struct matrix q, k; /* the text's queries and keys, which are multiplied by rows of `keys` and
                         * of `queries` */
};

/* BIAS_BUCKETS: the row of the table for a distance of a key from the query. All distances of at
 * least `reach` in one direction have the same row. */
size_t score_bucket(const struct score_rule *rule, long distance);

/* BIAS_BUCKETS: fill `biases` [H, 2 · reach + 1] for all distances from a table [buckets, H].
 * BIAS_DISENTANGLED: fill only, for each distance [2 · reach + 1], the index of its row in the
 * tables; weights_biases appends the tables themselves, of keys and of queries, each [2 · buckets,
 * H·dk]. score_biases_count: how many numbers score_biases_fill writes. */
size_t score_biases_count(const struct score_rule *rule);
void score_biases_fill(float *biases, const struct score_rule *rule, const float *table);

/* score_head_bias: the biases of a head with queries q [T, dk] and keys k [S, dk]; `biases` are the
 * numbers that weights_biases returns, or NULL. score_place: the offset, in floats, of the row for
 * a key's distance in the tables of BIAS_DISENTANGLED. score_bias: the bias of a key's score, in a
 * text of `keys` keys. */
struct head_bias score_head_bias(const struct score_rule *rule, const float *biases, size_t head,
                                 struct matrix q, struct matrix k);
size_t score_place(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                   size_t key);
float score_bias(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 size_t key, size_t keys);

/* Scale the scores of a query for the keys in the range `some`, cap them, add biases, and divide
 * them by the temperature. keys: number of keys of the text. */
void score_apply(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 float *scores, struct key_range some, size_t keys);

/* List the keys that are visible to a query in ascending order, and return their number. `list`
 * must have room for score_most(rule, keys) keys. `drawn` is scratch memory for random keys of a
 * pattern, with room for the smaller of pattern->random + 1 and `keys` keys. */
size_t score_keys(const struct score_rule *rule, size_t query, size_t keys, uint32_t *list,
                  uint32_t *drawn);
size_t score_most(const struct score_rule *rule, size_t keys);
