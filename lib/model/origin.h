/* origin.h: where the numbers of the worked examples in models/ come from.
 *
 * Most were drawn by PyTorch from the seed 123, and recipe.h makes them again. Those of `journey`
 * were given by hand, those of `translate` are trained: nothing makes them but copying.
 *
 *     const struct origin *origin = origin_find("journey");     NULL: drawn, nothing special
 */
#ifndef ATTN_MODEL_ORIGIN_H
#define ATTN_MODEL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

enum { ORIGIN_SEED = 123 };

struct origin {
    const char *name;   /* of the bundled model */
    bool given;         /* its numbers were written by hand, or trained */
    size_t source_rows; /* as in struct recipe */
};

const struct origin *origin_find(const char *name);

#endif
