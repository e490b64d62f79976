#include "train/train_pass.h"

#include <math.h>

#include "math/gemm.h"
#include "math/rows.h"

enum { CHUNK_ROWS = 512 };

size_t train_loss_rows(size_t rows)
{
    return rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
}

static void judge_block(const struct row_operation *op, const struct row_block *block)
{
    const struct train_step *step = op->step;
    struct matrix logits = block_rows(op->y, block);
    for (size_t i = 0; i < logits.rows; i++) {
        size_t row = op->first + block->first + i;
        if (!cross_entropy_row(logits.data + i * logits.stride, logits.columns,
                               step->batch->targets[row], op->factor, &step->scratch.losses[row]))
            step->scratch.losses[row] = (double)NAN;
    }
}

/* The matrix that makes logits: the token embedding, or one of its own. */
static enum parameter_id unembedding(const struct train_step *step)
{
    return step->config->tied ? PARAMETER_WTE : PARAMETER_LM_HEAD;
}

/* Logits of the rows x from `first` on, their losses, and in the logits' place their gradients. */
static struct matrix judge(struct train_step *step, struct matrix x, size_t first)
{
    const struct config *c = step->config;
    struct matrix logits = matrix_rows(step->scratch.logits, 0, x.rows);
    float factor = step->batch->share / (float)step->rows;
    struct weight w = {
        .data = step->scratch.transposed_weight,
        .in = c->n_embd,
        .out = c->vocab_size,
        .stride = c->vocab_size,
    };
    linear(step->plan.machine, logits, x, &w, ACTIVATION_NONE);
    row_operation_run(
        step, (struct row_operation){judge_block, .y = logits, .first = first, .factor = factor},
        logits);
    return logits;
}

/* From the gradients of the logits to those of x and of the unembedding. */
static void judge_backward(struct train_step *step, struct matrix logits, struct matrix x,
                           size_t first)
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
    linear(step->plan.machine, matrix_rows(step->d.norm, first, x.rows), logits, &w,
           ACTIVATION_NONE);
    parallel_transpose(step, transposed, logits);
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
    parallel_transpose(step, transposed, matrix);
    for (size_t first = 0; first < step->rows; first += CHUNK_ROWS) {
        struct matrix x =
            matrix_rows(step->tape.norm_f, first, train_loss_rows(step->rows - first));
        struct matrix logits = judge(step, x, first);
        if (learns)
            judge_backward(step, logits, x, first);
    }
    return sum_losses(step, loss, err);
}
