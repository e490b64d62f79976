#include "measure/reduction.h"

#include <math.h>

#include "base/names.h"
#include "math/portable_math.h"

enum { BLOCK = 64 }; /* terms that are computed side by side before they are added up */

/* -Σ w · ln w; a weight of 0 adds nothing. */
static double entropy(const struct attention_row *row)
{
    double sum = 0;
    double terms[BLOCK];
    for (size_t first = 0; first < row->keys; first += BLOCK) {
        size_t count = row->keys - first < BLOCK ? row->keys - first : BLOCK;
        for (size_t i = 0; i < count; i++) {
            double weight = (double)row->weights[first + i];
            terms[i] = weight * log_double(weight > 0 ? weight : 1);
        }
        for (size_t i = 0; i < count; i++)
            sum -= terms[i];
    }
    return sum;
}

static double first_token(const struct attention_row *row)
{
    return (double)row->weights[0];
}

static double previous_token(const struct attention_row *row)
{
    return (double)row->weights[row->query - 1];
}

/* Σ w · |query - key| */
static double distance(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++) {
        size_t apart = key < row->query ? row->query - key : key - row->query;
        sum += (double)row->weights[key] * (double)apart;
    }
    return sum;
}

static double self(const struct attention_row *row)
{
    return (double)row->weights[row->query];
}

/* The weight on keys that are a token seen before (offset 0), or that follow one (1); NaN: none
 * does. */
static double weight_after(const struct attention_row *row, size_t offset)
{
    double sum = 0;
    bool found = false;
    for (size_t key = offset; key < row->query + offset; key++) {
        if (row->ids[key - offset] != row->ids[row->query])
            continue;
        sum += (double)row->weights[key];
        found = true;
    }
    return found ? sum : (double)NAN;
}

static double duplicate_token(const struct attention_row *row)
{
    return weight_after(row, 0);
}

static double induction(const struct attention_row *row)
{
    return weight_after(row, 1);
}

/* Where many heads look for want of anything else: at the first token, and at what begins texts. */
static double sink(const struct attention_row *row)
{
    double sum = first_token(row);
    for (size_t key = 1; key < row->keys && row->marks->bos >= 0; key++)
        if (row->ids[key] == row->marks->bos)
            sum += (double)row->weights[key];
    return sum;
}

static double at_offset(const struct attention_row *row)
{
    size_t back = (size_t)-row->marks->offset;
    return back > row->query ? (double)NAN : (double)row->weights[row->query - back];
}

static double needle(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++)
        sum += row->marks->keys[key] ? (double)row->weights[key] : 0;
    return sum;
}

/* 1: no key outside has as much weight. */
static double needle_top(const struct attention_row *row)
{
    float inside = -1, outside = -1;
    for (size_t key = 0; key < row->keys; key++) {
        float *most = row->marks->keys[key] ? &inside : &outside;
        *most = row->weights[key] > *most ? row->weights[key] : *most;
    }
    return inside > outside;
}

/* What weights of the model say, and not those of attention, is counted in head_circuits.c. */
static double of_no_row(const struct attention_row *row)
{
    (void)row;
    return (double)NAN;
}

const struct measure_row measure_rows[MEASURE_ALL] = {
    [MEASURE_MEAN] = {"mean", "the mean weight of every query and key, over all texts that long"},
    [MEASURE_MAX] = {"max", "the largest weight of every query and key"},
    [MEASURE_ENTROPY] = {"entropy", "how evenly a query looks, in nats: -sum w ln w", entropy},
    [MEASURE_FIRST_TOKEN] = {"first-token", "the weight on the first token", first_token},
    [MEASURE_PREVIOUS_TOKEN] = {"previous-token", "the weight on the token before the query",
                                previous_token, 1, true},
    [MEASURE_DISTANCE] = {"distance", "how far a query looks, in tokens: sum w |query - key|",
                          distance, 0, true},
    [MEASURE_SELF] = {"self", "the weight on the token itself", self, 0, true},
    [MEASURE_DUPLICATE_TOKEN] = {"duplicate-token",
                                 "the weight on earlier tokens that are the same", duplicate_token,
                                 0, true},
    [MEASURE_INDUCTION] = {"induction", "the weight on what followed the same token before",
                           induction, 0, true},
    [MEASURE_SINK] = {"sink", "the weight on the first token and on those that begin texts", sink,
                      0, true},
    [MEASURE_OFFSET] = {"offset", "the weight on the token at an offset", at_offset, 0, true},
    [MEASURE_NEEDLE] = {"needle", "the weight on a needle", needle, 0, true},
    [MEASURE_NEEDLE_TOP] = {"needle-top", "how often the top key is in the needle", needle_top, 0,
                            true},
    [MEASURE_COPYING] = {"copying", "the share of words whose own logit rises most", of_no_row, 0,
                         true},
    [MEASURE_SUCCESSOR] = {"successor", "the share of words whose successor's logit rises most",
                           of_no_row, 0, true},
};

bool measure_find(const char *name, size_t size, enum measure *measure)
{
    size_t index = 0;
    if (!names_find(&index, NAMES(measure_rows, MEASURE_COUNT), name, size))
        return false;
    *measure = (enum measure)index;
    return true;
}
