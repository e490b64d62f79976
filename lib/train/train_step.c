/* train_step.c: a training step: a forward pass, and the backward pass from its loss
 * (pass/back.h). */
#include "train/train_step.h"

#include <math.h>

#include "math/machine.h"
#include "pass/back.h"
#include "model/features.h"
#include "model/layer.h"

/* --- parameters ------------------------------------------------------------------------------- */

static struct parameters parameters_of(const struct new_model *new_model)
{
    const struct new_model_tensor *last = &new_model->tensors[new_model->count - 1];
    float *first = new_model->tensors[0].data;
    return (struct parameters){new_model, first, (size_t)(last->data - first) + last->count};
}

int parameters_alloc(struct parameters *parameters, const struct new_model *new_model,
                     struct arena *arena, struct err *err)
{
    *parameters = parameters_of(new_model);
    parameters->values = arena_alloc(arena, parameters->count, sizeof(float), err);
    return parameters->values ? 0 : -1;
}

float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor)
{
    return parameters->values + (tensor->data - parameters->new_model->tensors[0].data);
}

/* --- trainable models and texts --------------------------------------------------------------- */

int train_step_check(const struct config *c, struct err *err)
{
    return features_expect(TO_TRAIN, c, NULL, err);
}

enum train_objective train_objective_of(const struct config *c)
{
    return config_classifies(c)     ? TRAIN_CLASSES
           : config_reads_source(c) ? TRAIN_PAIRS
           : c->causal              ? TRAIN_NEXT
                                    : TRAIN_MASKED;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Set step->tensors to the addresses of the gradients of all tensors; NULL for tensors that are not
 * trained. */
static int place_gradients(struct train_step *step, struct err *err)
{
    const size_t count = step->model.parameter_count;
    if (parameters_alloc(&step->gradients, step->plan.new_model, &step->arena, err) ||
        !(step->tensors = arena_alloc(&step->arena, count, sizeof *step->tensors, err)))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct parameter_info info = weights_parameter(&step->model, i);
        const struct new_model_tensor *tensor =
            info.entry ? new_model_tensor(step->plan.new_model, info.slot) : NULL;
        if (tensor)
            step->tensors[i] = parameter_of(&step->gradients, tensor);
    }
    return 0;
}

/* Weights are read in place: an update changes them for the next pass. */
int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err)
{
    struct new_model *new_model = plan->new_model;
    struct config *config = &new_model->config;
    *step =
        (struct train_step){.plan = *plan, .config = config, .rows = plan->texts * plan->tokens};
    if (train_step_check(config, err))
        return -1;
    if (config->n_positions && plan->tokens > config->n_positions)
        return err_set(err,
                       "expected texts of at most %zu tokens, the model's positions, found %zu",
                       config->n_positions, plan->tokens);
    step->weights = parameters_of(new_model);
    if (weights_open(&step->model, config, &new_model->folder, err))
        return -1;
    /* pack the unembedding once for each step, for all chunks of logits */
    step->model.packing_words = true;
    if (place_gradients(step, err) ||
        !(step->texts = arena_alloc(&step->arena, plan->texts, sizeof *step->texts, err)) ||
        !(step->losses = arena_alloc(&step->arena, step->rows, sizeof *step->losses, err))) {
        train_step_release(step);
        return -1;
    }
    return 0;
}

void train_step_release(struct train_step *step)
{
    weights_release(&step->model);
    arena_release(&step->kept);
    arena_release(&step->scratch);
    arena_release(&step->arena);
    *step = (struct train_step){0};
}

int train_step_run(struct train_step *step, const struct train_batch *train_batch, double *loss,
                   struct err *err)
{
    const size_t tokens = train_batch->tokens ? train_batch->tokens : step->plan.tokens;
    const size_t texts = step->plan.texts, rows = texts * tokens;
    const bool learns = train_batch->share > 0;
    struct batch batch;
    size_t count = 0; /* number of targets */
    const size_t sources = train_batch->source_tokens;
    for (size_t i = 0; i < texts; i++) {
        step->texts[i] = (struct text){.ids = train_batch->ids + i * tokens, .count = tokens};
        if (train_batch->segments)
            step->texts[i].segments = train_batch->segments + i * tokens;
        if (sources)
            step->texts[i].source_ids = train_batch->sources + i * sources;
        step->texts[i].source_count = sources;
    }
    for (size_t row = 0; row < rows; row++)
        count += train_batch->targets[row] != BACK_NO_TARGET;
    const struct run run = {
        .machine = step->plan.machine,
        .config = step->config,
        .weights = &step->model,
        .batch = &batch,
        .dropout = {train_batch->key, learns ? step->plan.dropout : 0},
    };
    struct tape tape = {.arena = &step->kept, .lean = true, .scratch = step->scratch};
    const struct back_loss of_rows = {.targets = train_batch->targets,
                                      .factor = train_batch->share / (float)count,
                                      .losses = step->losses,
                                      .of_numbers = step->config->n_class == 1};
    struct back back = {.run = &run, .tape = &tape, .loss = &of_rows, .gradients = step->tensors};
    arena_clear(&step->kept);
    arena_clear(&tape.scratch);
    weights_renew(&step->model);
    int failed = batch_init(&batch, step->config, step->texts, texts, &step->kept, err) ||
                 tape_run(&tape, &run, err) || back_run(&back, err);
    step->scratch = tape.scratch;
    double sum = 0;
    for (size_t row = 0; row < rows && !failed; row++) {
        if (train_batch->targets[row] == BACK_NO_TARGET)
            continue;
        if (!isfinite(step->losses[row]))
            return err_set(err, "the loss of token %zu of text %zu is not finite", row % tokens,
                           row / tokens);
        sum += step->losses[row];
    }
    *loss = sum / (double)count;
    return err_if(failed);
}
