/* pass_memory.h: the buffers of a pass, one layer deep.
 *
 * They are named after the tensor they hold; queries and values have a few rows more than there are
 * tokens, because attention works on whole tiles.
 *
 *     if (pass_memory_take_stream(pass) || pass_memory_take_layer(pass)) ...
 *     linear(machine, pass->scratch.q, ...);
 */
#ifndef ATTN_MODEL_PASS_MEMORY_H
#define ATTN_MODEL_PASS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/tensor.h"
#include "model/config.h"
#include "model/squares.h"

struct pass;

enum { SPARE_ROWS = 16 }; /* readable zero rows behind all queries, and behind all values */

struct scratch {
    struct matrix x;       /* [T, C] the residual stream */
    struct matrix source;  /* [S, C] cross-attention: what is looked at, of the sources' pass */
    struct matrix norm;    /* [T, C] */
    struct matrix q;       /* [T, H·dk] */
    struct matrix k;       /* [S, Hkv·dk] */
    struct matrix v;       /* [S, Hkv·dv] */
    struct matrix joined;  /* [1, 3C] all three of one token */
    struct matrix context; /* [T, H·dv] */
    struct matrix out;     /* [T, C] of attention, then of the MLP */
    struct matrix hidden;  /* [T, I] */
    struct matrix logits;  /* [V, T], or [V, sequences] where only the last are wanted; by rows
                              [T, V] and [sequences, V] */
    struct squares squares;
    struct attention_memory *attention; /* [thread] what it works in, from the first layer on */
    uint32_t **drawn; /* [sequence] random keys of every query, likewise; see attention_sparse.c */
};

/* Take what a pass over its batch uses: the stream; all else of its layers; of these only the keys
 * and values; the logits, where they are watched. All live as long as the run's arena. */
int pass_memory_take_stream(struct pass *pass);
int pass_memory_take_layer(struct pass *pass);
int pass_memory_take_keys(struct pass *pass);
int pass_memory_take_logits(struct pass *pass);

/* Each token's logits side by side, where the unembedding is turned; else each word's. */
bool pass_memory_logits_are_in_rows(const struct pass *pass);

/* The bytes of the buffers that passes over one text of so many tokens use, and of the logits
 * where they are watched; attention.h tells what each thread takes, squares stand in neither. */
size_t pass_memory_bytes(const struct config *config, size_t tokens);
size_t pass_memory_logits_bytes(const struct config *config, size_t tokens);

#endif
