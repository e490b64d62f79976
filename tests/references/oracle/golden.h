/* golden.h: reads a golden folder: a sentence, its ids, and the tensors of the reference.
 *
 *     struct golden golden;
 *     if (golden_open(&golden, "tests/references/golden/life", err)) ...
 *     const struct golden_tensor *weights = golden_find(&golden, "h.0.weights");
 *     golden_release(&golden);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory.h"
#include "tolerance.h"

enum { GOLDEN_RANK_MAX = 3 };

struct golden_tensor {
    const char *name;
    size_t rank;
    size_t shape[GOLDEN_RANK_MAX];
    size_t count;
    double *values; /* [count], row-major */
    double largest; /* largest absolute value of the finite values */
    bool of_random; /* the model has random weights */
    double lead;    /* the least of experts that were chosen before, of the largest score */
};

struct golden {
    const char *folder;         /* borrowed */
    const char *model;          /* the folder, or the bundled model of the same name */
    const char *sentence;       /* NULL: the model has no vocabulary */
    const char *source;         /* NULL: none */
    const uint32_t *ids;        /* [id_count] of the sentence */
    const uint32_t *source_ids; /* [source_id_count] */
    const uint32_t *segments;   /* [segment_count] of the ids, of a pair of texts */
    const uint32_t *greedy;     /* [greedy_count] the reference's continuation */
    size_t id_count, source_id_count, greedy_count, segment_count;
    const struct golden_tensor *tensors; /* [tensor_count]: sites of the forward pass */
    size_t tensor_count;
    struct arena arena;
};

/* Read expected.json, or expected.safetensors (float32, with ids in the metadata). On failure,
 * nothing needs to be released. */
int golden_open(struct golden *golden, const char *folder, struct err *err);
void golden_release(struct golden *golden);

/* NULL if there is no tensor of this name. */
const struct golden_tensor *golden_find(const struct golden *golden, const char *name);

/* The error of a number, as a fraction of the tensor's largest; and whether it is within the
 * tolerance. */
double golden_error(const struct golden_tensor *tensor, size_t index, double found);
bool golden_agrees(const struct golden_tensor *tensor, size_t index, double found,
                   const struct tolerance *tolerance);
