/* golden.h: a golden folder: a sentence, its ids, and every tensor as the reference computed it.
 *
 *     struct golden golden;
 *     if (golden_open(&golden, "tests/golden/life", err)) ...
 *     const struct golden_tensor *weights = golden_find(&golden, "h.0.weights");
 *     golden_release(&golden);
 */
#ifndef ATTN_TESTS_GOLDEN_H
#define ATTN_TESTS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "tolerance.h"

enum { GOLDEN_RANK_MAX = 3 };

struct golden_tensor {
    const char *name;
    size_t rank;
    size_t shape[GOLDEN_RANK_MAX];
    size_t count;
    double *values; /* [count], row-major */
    double largest; /* of the finite values, without their signs */
    bool of_random; /* of a model whose weights are random */
};

struct golden {
    const char *folder;         /* borrowed */
    const char *model;          /* the folder, or the bundled model of its name */
    const char *sentence;       /* NULL: the model has no vocabulary */
    const char *source;         /* NULL: none */
    const uint32_t *ids;        /* [id_count] of the sentence */
    const uint32_t *source_ids; /* [source_id_count] */
    const uint32_t *greedy;     /* [greedy_count] how the reference goes on */
    size_t id_count, source_id_count, greedy_count;
    const struct golden_tensor *tensors; /* [tensor_count]: those that are sites of the pass */
    size_t tensor_count;
    struct arena arena;
};

/* Read the folder's expected.json, or expected.safetensors, which has float32 and, in its metadata,
 * the ids. On failure nothing is held. */
int golden_open(struct golden *golden, const char *folder, struct err *err);
void golden_release(struct golden *golden);

/* NULL: there is none of that name. */
const struct golden_tensor *golden_find(const struct golden *golden, const char *name);

/* How far off a number of ours is, as a share of the tensor's largest; and whether that is still
 * the reference's number. */
double golden_error(const struct golden_tensor *tensor, size_t index, double found);
bool golden_agrees(const struct golden_tensor *tensor, size_t index, double found,
                   const struct tolerance *tolerance);

#endif
