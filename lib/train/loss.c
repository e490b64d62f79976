#include "train/loss.h"

#include <math.h>

#include "math/gemm.h"
#include "math/rows.h"
#include "train/back.h"
#include "train/blocks.h"

enum { CHUNK_ROWS = 512 };

size_t loss_rows(size_t rows)
{
    return rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
}

/* Some rows of the study. */
struct chunk {
    const struct study *study;
    struct matrix logits;
    size_t first;
    float factor; /* of the gradient of a token's loss */
};

static void judge_block(void *context, const struct block_of_rows *block)
{
    const struct chunk *chunk = context;
    const struct study *study = chunk->study;
    struct matrix logits = block_rows(chunk->logits, block);
    for (size_t i = 0; i < logits.rows; i++) {
        size_t row = chunk->first + block->first + i;
        if (!cross_entropy_row(logits.data + i * logits.stride, logits.columns,
                               study->batch->targets[row], chunk->factor, &study->room.losses[row]))
            study->room.losses[row] = (double)NAN;
    }
}

/* The matrix that makes logits: the token embedding, or one of its own. */
static enum parameter_id unembedding(const struct study *study)
{
    return study->config->tied ? PARAMETER_WTE : PARAMETER_LM_HEAD;
}

/* Logits of a chunk, its losses, and in the logits' place their gradients. */
static void judge(struct study *study, struct chunk *chunk, struct matrix x)
{
    const struct config *c = study->config;
    struct weight w = {
        .data = study->room.turned_weight,
        .in = c->n_embd,
        .out = c->vocab_size,
        .stride = c->vocab_size,
    };
    chunk->logits = matrix_rows(study->room.logits, 0, x.rows);
    linear(study->plan.machine, chunk->logits, x, &w, ACTIVATION_NONE);
    blocks_run(study->plan.machine, x.rows, c->vocab_size, judge_block, chunk);
}

/* From the gradients of a chunk's logits to those of x and of the unembedding. */
static void judge_back(struct study *study, const struct chunk *chunk, struct matrix x)
{
    const struct config *c = study->config;
    struct matrix turned = {study->room.turned, c->vocab_size, x.rows, matrix_stride(x.rows)};
    struct weight w = {
        .data = parameter_at(&study->weights, unembedding(study), 0),
        .in = c->vocab_size,
        .out = c->n_embd,
        .stride = c->n_embd,
    };
    linear(study->plan.machine, matrix_rows(study->back.norm, chunk->first, x.rows), chunk->logits,
           &w, ACTIVATION_NONE);
    back_turn(study->plan.machine, turned, chunk->logits);
    back_multiply(study, parameter_at(&study->gradients, unembedding(study), 0), turned, x);
}

static int sum_losses(const struct study *study, double *loss, struct err *err)
{
    double sum = 0;
    for (size_t row = 0; row < study->rows; row++) {
        if (!isfinite(study->room.losses[row]))
            return err_set(err, "the loss of token %zu of text %zu is no number",
                           row % study->plan.tokens, row / study->plan.tokens);
        sum += study->room.losses[row];
    }
    *loss = sum / (double)study->rows;
    return 0;
}

static int run(struct study *study, bool learns, double *loss, struct err *err)
{
    const struct config *c = study->config;
    float *words = parameter_at(&study->weights, unembedding(study), 0);
    struct matrix matrix = {words, c->vocab_size, c->n_embd, c->n_embd};
    struct matrix turned = {study->room.turned_weight, c->n_embd, c->vocab_size, c->vocab_size};
    back_turn(study->plan.machine, turned, matrix);
    for (size_t first = 0; first < study->rows; first += CHUNK_ROWS) {
        struct chunk chunk = {.study = study, .first = first};
        struct matrix x = matrix_rows(study->tape.norm_f, first, loss_rows(study->rows - first));
        chunk.factor = study->batch->share / (float)study->rows;
        judge(study, &chunk, x);
        if (learns)
            judge_back(study, &chunk, x);
    }
    return sum_losses(study, loss, err);
}

int loss_learn(struct study *study, double *loss, struct err *err)
{
    return run(study, true, loss, err);
}

int loss_test(struct study *study, double *loss, struct err *err)
{
    return run(study, false, loss, err);
}
