#include "train/train_pass.h"

#include "math/rng.h"

enum { BLOCK_ROWS = 64 };

struct rows_job {
    size_t rows;
    void (*function)(void *context, const struct row_block *block);
    void *context;
};

size_t row_blocks(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

static void run_block(void *context, size_t round, size_t thread)
{
    const struct rows_job *job = context;
    struct row_block block = {.index = round, .first = round * BLOCK_ROWS};
    size_t rest = job->rows - block.first;
    (void)thread;
    block.count = rest < BLOCK_ROWS ? rest : BLOCK_ROWS;
    job->function(job->context, &block);
}

void parallel_rows(struct machine *machine, size_t rows, size_t columns,
                   void (*function)(void *context, const struct row_block *block), void *context)
{
    enum { COST = 8 }; /* multiply-adds that an element costs, about */
    struct rows_job job = {rows, function, context};
    struct loop loop = {
        .rounds = row_blocks(rows),
        .work = (double)rows * (double)columns * COST,
        .round = run_block,
    };
    pool_run(machine->pool, loop, &job);
}

struct transposition {
    struct matrix y, x;
};

static void transpose_block(void *context, const struct row_block *block)
{
    const struct transposition *t = context;
    transpose(matrix_columns(t->y, block->first, block->count), block_rows(t->x, block));
}

void parallel_transpose(struct machine *machine, struct matrix y, struct matrix x)
{
    parallel_rows(machine, x.rows, x.columns, transpose_block, &(struct transposition){y, x});
}

uint64_t dropout_key(const struct train_step *step, enum drop_place place, size_t layer)
{
    return rng_fold_in(step->batch->key, layer * DROP_PLACES + place);
}

float dropout_rate(const struct train_step *step)
{
    return step->dropping ? step->plan.dropout : 0.0f;
}

void dropout_rows(const struct train_step *step, struct matrix x, uint64_t key, size_t first)
{
    for (size_t row = 0; row < x.rows; row++)
        rng_dropout(x.data + row * x.stride, x.columns, key, first + row, dropout_rate(step));
}
