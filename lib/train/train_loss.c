#include "train/train_pass.h"

#include <math.h>

#include "math/gemm.h"
#include "math/rows.h"

enum { CHUNK_ROWS = 512 };

size_t train_loss_rows(size_t rows)
{
    return rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
}

/* Some rows of the batch. */
struct chunk {
    const struct train_step *step;
    struct matrix logits;
    size_t first;
    float factor; /* of the gradient of a token's loss */
};

static void judge_block(void *context, const struct row_block *block)
{
    const struct chunk *chunk = context;
    const struct train_step *step = chunk->step;
    struct matrix logits = block_rows(chunk->logits, block);
    for (size_t i = 0; i < logits.rows; i++) {
        size_t row = chunk->first + block->first + i;
        if (!cross_entropy_row(logits.data + i * logits.stride, logits.columns,
                               step->batch->targets[row], chunk->factor,
                               &step->scratch.losses[row]))
            step->scratch.losses[row] = (double)NAN;
    }
}

/* The matrix that makes logits: the token embedding, or one of its own. */
static enum parameter_id unembedding(const struct train_step *step)
{
    return step->config->tied ? PARAMETER_WTE : PARAMETER_LM_HEAD;
}

/* Logits of a chunk, its losses, and in the logits' place their gradients. */
static void judge(struct train_step *step, struct chunk *chunk, struct matrix x)
{
    const struct config *c = step->config;
    struct weight w = {
        .data = step->scratch.transposed_weight,
        .in = c->n_embd,
        .out = c->vocab_size,
        .stride = c->vocab_size,
    };
    chunk->logits = matrix_rows(step->scratch.logits, 0, x.rows);
    linear(step->plan.machine, chunk->logits, x, &w, ACTIVATION_NONE);
    parallel_rows(step->plan.machine, x.rows, c->vocab_size, judge_block, chunk);
}

/* From the gradients of a chunk's logits to those of x and of the unembedding. */
static void judge_backward(struct train_step *step, const struct chunk *chunk, struct matrix x)
{
    const struct config *c = step->config;
    struct matrix transposed = {step->scratch.transposed, c->vocab_size, x.rows,
                                matrix_stride(x.rows)};
    struct weight w = {
        .data = parameter_at(&step->weights, unembedding(step), 0),
        .in = c->vocab_size,
        .out = c->n_embd,
        .stride = c->n_embd,
    };
    linear(step->plan.machine, matrix_rows(step->d.norm, chunk->first, x.rows), chunk->logits, &w,
           ACTIVATION_NONE);
    parallel_transpose(step->plan.machine, transposed, chunk->logits);
    add_weight_gradient(step, parameter_at(&step->gradients, unembedding(step), 0), transposed, x);
}

static int sum_losses(const struct train_step *step, double *loss, struct err *err)
{
    double sum = 0;
    for (size_t row = 0; row < step->rows; row++) {
        if (!isfinite(step->scratch.losses[row]))
            return err_set(err, "the loss of token %zu of text %zu is no number",
                           row % step->plan.tokens, row / step->plan.tokens);
        sum += step->scratch.losses[row];
    }
    *loss = sum / (double)step->rows;
    return 0;
}

int train_loss(struct train_step *step, bool learns, double *loss, struct err *err)
{
    const struct config *c = step->config;
    float *words = parameter_at(&step->weights, unembedding(step), 0);
    struct matrix matrix = {words, c->vocab_size, c->n_embd, c->n_embd};
    struct matrix transposed = {step->scratch.transposed_weight, c->n_embd, c->vocab_size,
                                c->vocab_size};
    parallel_transpose(step->plan.machine, transposed, matrix);
    for (size_t first = 0; first < step->rows; first += CHUNK_ROWS) {
        struct chunk chunk = {.step = step, .first = first};
        struct matrix x =
            matrix_rows(step->tape.norm_f, first, train_loss_rows(step->rows - first));
        chunk.factor = step->batch->share / (float)step->rows;
        judge(step, &chunk, x);
        if (learns)
            judge_backward(step, &chunk, x);
    }
    return sum_losses(step, loss, err);
}
