/* pooling.h: combines the vectors of a text's tokens into one vector: by a rule, or as
 * sentence-transformers does it with the last hidden states, with the modules that modules.json
 * lists.
 *
 *     if (pooling_open(&modules, &model->folder, config->n_embd, arena, err)) ...
 *     pool_rows(vector, values, tokens, config->n_embd, &rule);      [pooling_width(&rule, n_embd)]
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "math/activation.h"

struct arena;

enum pooling { POOL_NONE, POOL_FIRST, POOL_LAST, POOL_MEAN, POOL_MAX, POOL_MODEL };

/* A module after the pooling: Dense, or Normalize. */
struct pooling_module {
    const float *weight; /* [out, in] of a Dense; NULL: a Normalize, which scales the vector to
                          * length 1 */
    const float *bias;   /* [out]; NULL: no bias */
    size_t out;
    enum activation activation;
};

struct pooling_modules {
    enum pooling by;
    struct pooling_module *list;
    size_t count;
    size_t most_tokens; /* number of tokens to which sentence-transformers cuts longer texts;
                         * SIZE_MAX: no limit */
    const char *prompt; /* sentence-transformers puts this before each text; NULL: nothing */
};

struct pooling_rule {
    enum pooling by;
    bool normalize; /* at the end, scale the vector to length 1, unless it is zero */
    struct pooling_modules modules; /* for POOL_MODEL; other rules must have no modules */
};

/* Read modules.json, and the files that it names, for hidden states of `width` channels. It is an
 * error if the folder lacks modules.json, or if a module is not a Transformer, Pooling, Dense or
 * Normalize. */
int pooling_open(struct pooling_modules *modules, const struct folder *folder, size_t width,
                 struct arena *arena, struct err *err);

/* Return the width of the vector that a rule makes from tokens with `columns` channels. */
size_t pooling_width(const struct pooling_rule *rule, size_t columns);

/* Pool the tokens of `from` [rows, columns] into one vector of pooling_width numbers. */
int pool_rows(float *to, const float *from, size_t rows, size_t columns,
              const struct pooling_rule *rule, struct err *err);
