#include "train/blocks.h"

struct run_of_blocks {
    size_t rows;
    block_verb *verb;
    void *context;
};

size_t blocks_count(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

static void run_block(void *context, size_t round, size_t thread)
{
    const struct run_of_blocks *run = context;
    struct block_of_rows block = {.index = round, .first = round * BLOCK_ROWS, .thread = thread};
    size_t rest = run->rows - block.first;
    block.count = rest < BLOCK_ROWS ? rest : BLOCK_ROWS;
    run->verb(run->context, &block);
}

void blocks_run(struct machine *machine, size_t rows, size_t columns, block_verb *verb,
                void *context)
{
    enum { COST = 8 }; /* multiply-adds that an element costs, about */
    struct run_of_blocks run = {rows, verb, context};
    struct loop loop = {
        .rounds = blocks_count(rows),
        .work = (double)rows * (double)columns * COST,
        .round = run_block,
    };
    pool_run(machine->pool, loop, &run);
}
