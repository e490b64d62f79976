/* pooling.h: one vector of a text from all of its tokens: by a rule, or as sentence-transformers
 * makes it from the last hidden states, with the modules that modules.json lists.
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
    const float *weight; /* [out, in]; NULL: scale the vector to length 1 */
    const float *bias;   /* [out]; NULL: none */
    size_t out;
    enum activation activation;
};

struct pooling_modules {
    enum pooling by;
    struct pooling_module *list;
    size_t count;
    size_t most_tokens; /* sentence-transformers cuts longer texts to so many tokens; SIZE_MAX: no
                         * limit */
    const char *prompt; /* sentence-transformers puts this before each text; NULL: nothing */
};

struct pooling_rule {
    enum pooling by;
    bool normalize; /* at the end, scale the vector to length 1, unless it is zero */
    struct pooling_modules modules; /* for POOL_MODEL: the modules */
};

/* Read modules.json, and the files that it names, for hidden states of `width` channels. Refused: a
 * folder without it, and modules other than Transformer, Pooling, Dense and Normalize. */
int pooling_open(struct pooling_modules *modules, const struct folder *folder, size_t width,
                 struct arena *arena, struct err *err);

/* The width of the vector that a rule makes from tokens with `columns` channels. */
size_t pooling_width(const struct pooling_rule *rule, size_t columns);

/* Pool `from` [rows, columns] to a vector of pooling_width numbers. */
int pool_rows(float *to, const float *from, size_t rows, size_t columns,
              const struct pooling_rule *rule, struct err *err);
