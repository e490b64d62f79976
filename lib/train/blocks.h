/* blocks.h: the rows of a batch in blocks that threads share.
 *
 * What is summed over rows is summed block by block: each block into numbers of its own, then those
 * in their order. So the bits do not depend on which thread had which block.
 */
#ifndef ATTN_TRAIN_BLOCKS_H
#define ATTN_TRAIN_BLOCKS_H

#include <stddef.h>

#include "math/machine.h"
#include "math/tensor.h"

enum { BLOCK_ROWS = 64 };

struct block_of_rows {
    size_t index;        /* of the block */
    size_t first, count; /* its rows */
    size_t thread;
};

typedef void block_verb(void *context, const struct block_of_rows *block);

/* Call a verb for all blocks of `rows` rows of about `columns` numbers. */
void blocks_run(struct machine *machine, size_t rows, size_t columns, block_verb *verb,
                void *context);

size_t blocks_count(size_t rows);

/* The block's rows of a matrix. */
static inline struct matrix block_rows(struct matrix whole, const struct block_of_rows *block)
{
    return matrix_rows(whole, block->first, block->count);
}

#endif
