#include "train/study.h"

#include <string.h>

#include "train/attend.h"
#include "train/back.h"
#include "train/blocks.h"
#include "train/forth.h"
#include "train/loss.h"

static int take_matrix(struct study *study, struct matrix *matrix, size_t columns, struct err *err)
{
    *matrix = (struct matrix){NULL, study->rows, columns, columns};
    matrix->data = arena_alloc(&study->arena, study->rows * columns, sizeof(float), err);
    return matrix->data ? 0 : -1;
}

static int take_layer(struct study *study, struct layer_tape *layer, struct err *err)
{
    const struct config *c = study->config;
    size_t squares = study->plan.texts * c->n_head * study->plan.tokens;
    layer->weights =
        arena_alloc(&study->arena, squares * study->weights_stride, sizeof(float), err);
    if (!layer->weights)
        return -1;
    return take_matrix(study, &layer->norm_1, c->n_embd, err) ||
           take_matrix(study, &layer->qkv, 3 * c->n_embd, err) ||
           take_matrix(study, &layer->context, c->n_embd, err) ||
           take_matrix(study, &layer->mid, c->n_embd, err) ||
           take_matrix(study, &layer->norm_2, c->n_embd, err) ||
           take_matrix(study, &layer->hidden, c->n_inner, err) ||
           take_matrix(study, &layer->active, c->n_inner, err);
}

static int take_tape(struct study *study, struct err *err)
{
    const struct config *c = study->config;
    struct tape *tape = &study->tape;
    tape->streams = arena_alloc(&study->arena, c->n_layer + 1, sizeof *tape->streams, err);
    tape->layers = arena_alloc(&study->arena, c->n_layer, sizeof *tape->layers, err);
    if (!tape->streams || !tape->layers || take_matrix(study, &tape->norm_f, c->n_embd, err))
        return -1;
    for (size_t i = 0; i <= c->n_layer; i++)
        if (take_matrix(study, &tape->streams[i], c->n_embd, err))
            return -1;
    for (size_t i = 0; i < c->n_layer; i++)
        if (take_layer(study, &tape->layers[i], err))
            return -1;
    return 0;
}

static int take_back(struct study *study, struct err *err)
{
    const struct config *c = study->config;
    struct back_tape *back = &study->back;
    return take_matrix(study, &back->stream, c->n_embd, err) ||
           take_matrix(study, &back->branch, c->n_embd, err) ||
           take_matrix(study, &back->context, c->n_embd, err) ||
           take_matrix(study, &back->norm, c->n_embd, err) ||
           take_matrix(study, &back->qkv, 3 * c->n_embd, err) ||
           take_matrix(study, &back->hidden, c->n_inner, err);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int take_room(struct study *study, struct err *err)
{
    const struct config *c = study->config;
    struct study_room *room = &study->room;
    struct arena *arena = &study->arena;
    size_t widest = larger(3 * c->n_embd, c->n_inner);
    size_t chunk = loss_rows(study->rows);
    size_t tall = larger(widest * matrix_stride(study->rows), c->vocab_size * matrix_stride(chunk));
    size_t matrix = c->n_embd * larger(larger(widest, c->vocab_size), 1);
    room->turned_stride = matrix_stride(study->rows);
    room->turned = arena_alloc(arena, tall, sizeof(float), err);
    room->turned_weight = arena_alloc(arena, matrix, sizeof(float), err);
    room->parts = arena_alloc(arena, blocks_count(study->rows) * 2 * widest, sizeof(float), err);
    room->losses = arena_alloc(arena, study->rows, sizeof *room->losses, err);
    room->logits = (struct matrix){NULL, chunk, c->vocab_size, matrix_stride(c->vocab_size)};
    room->logits.data = arena_alloc(arena, chunk * room->logits.stride, sizeof(float), err);
    return room->turned && room->turned_weight && room->parts && room->losses &&
                   room->logits.data && !take_matrix(study, &room->out, c->n_embd, err)
               ? attend_take(study, err)
               : -1;
}

static int check_plan(const struct study_plan *plan, struct err *err)
{
    const struct config *config = &plan->new_model->config;
    if (config->kind != MODEL_GPT2)
        return err_unsupported(err, "expected a model of type \"gpt2\" to train, found \"%s\"",
                               config_kind_name(config));
    if (plan->tokens > config->n_positions)
        return err_set(err,
                       "expected texts of at most %zu tokens, the model's positions, found %zu",
                       config->n_positions, plan->tokens);
    return 0;
}

int study_open(struct study *study, const struct study_plan *plan, struct err *err)
{
    *study = (struct study){.plan = *plan, .config = &plan->new_model->config};
    if (check_plan(plan, err))
        return -1;
    study->weights = parameters_of(plan->new_model);
    study->rows = plan->texts * plan->tokens;
    study->weights_stride = attend_stride(plan->tokens);
    if (parameters_take(&study->gradients, plan->new_model, &study->arena, err) ||
        take_tape(study, err) || take_back(study, err) || take_room(study, err)) {
        study_release(study);
        return -1;
    }
    return 0;
}

void study_release(struct study *study)
{
    arena_release(&study->arena);
    *study = (struct study){0};
}

int study_learn(struct study *study, const struct batch_of_texts *batch, double *loss,
                struct err *err)
{
    study->batch = batch;
    study->dropping = study->plan.dropout > 0;
    forth(study);
    if (loss_learn(study, loss, err))
        return -1;
    back(study);
    return 0;
}

int study_test(struct study *study, const struct batch_of_texts *batch, double *loss,
               struct err *err)
{
    study->batch = batch;
    study->dropping = false;
    forth(study);
    return loss_test(study, loss, err);
}
