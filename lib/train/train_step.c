#include "train/train_step.h"

#include "base/num.h"
#include "model/features.h"
#include "model/layer.h"

enum { LINE = 16 }; /* floats per cache line */

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

/* --- memory ----------------------------------------------------------------------------------- */

static int take_matrix(struct train_step *step, struct matrix *matrix, size_t columns,
                       struct err *err)
{
    *matrix = (struct matrix){NULL, step->rows, columns, columns};
    matrix->data = arena_alloc(&step->arena, step->rows * columns, sizeof(float), err);
    return matrix->data ? 0 : -1;
}

/* Allocate queries, keys and values, in one matrix or three. */
static int take_heads(struct train_step *step, struct projections *heads, struct err *err)
{
    const struct config *c = step->config;
    size_t queries = c->n_head * c->d_k;
    size_t keys = c->n_kv_head * c->d_k;
    if (weight_exists(&step->layers->w.self.joined) &&
        take_matrix(step, &heads->joined, queries + 2 * keys, err))
        return -1;
    if (c->kind == MODEL_GPT2) {
        heads->q = matrix_columns(heads->joined, 0, queries);
        heads->k = matrix_columns(heads->joined, queries, queries);
        heads->v = matrix_columns(heads->joined, 2 * queries, queries);
    } else if (take_matrix(step, &heads->q, queries, err) ||
               take_matrix(step, &heads->k, keys, err) || take_matrix(step, &heads->v, keys, err))
        return -1;
    heads->q_plain = heads->q;
    heads->k_plain = heads->k;
    return err_if(c->head_norm && (take_matrix(step, &heads->q_plain, queries, err) ||
                                   take_matrix(step, &heads->k_plain, keys, err)));
}

/* If queries, keys and values are stored in groups, they share one matrix, as in GPT-2. */
static int read_layer(struct train_step *step, size_t layer, struct err *err)
{
    const struct config *c = step->config;
    const struct new_model_tensor *bias =
        new_model_tensor(step->plan.new_model, slot_of(PART_SENTENCE, SLOT_Q_BIAS, layer));
    struct block_weights *w = &step->layers[layer].w;
    if (weights_block(&step->model, layer, SITE_RESID_POST, w, err))
        return -1;
    if (c->style == STYLE_ONE_NORM)
        w->mlp.norm = w->self.norm;
    if (w->self.q.rows.view.stride > 0) {
        w->self.joined = w->self.q;
        w->self.joined.out = (c->n_head + 2 * c->n_kv_head) * c->d_k;
        w->self.joined.bias = bias ? bias->data : NULL;
        w->self.joined.rows.view = (struct row_view){0, SIZE_MAX, 0};
    }
    return 0;
}

/* Weights are read in place, so that updates take effect. */
static int read_model(struct train_step *step, struct err *err)
{
    struct new_model *new_model = step->plan.new_model;
    struct weights *model = &step->model;
    step->weights = parameters_of(new_model);
    return weights_open(model, step->config, &new_model->folder, err) ||
           weights_vector(model, slot_of_end(PART_SENTENCE, SLOT_TOKENS), &step->wte, err) ||
           weights_vector(model, slot_of_end(PART_SENTENCE, SLOT_POSITIONS), &step->wpe, err) ||
           weights_logit_bias(model, &step->logit_bias, err) ||
           weights_unembedding(model, &step->words, err) ||
           weights_final_norm(model, false, &step->final_norm, err);
}

static int take_layer(struct train_step *step, struct layer_tape *layer, struct err *err)
{
    const struct config *c = step->config;
    size_t squares = step->plan.texts * c->n_head * step->plan.tokens;
    layer->weights = arena_alloc(&step->arena, squares * step->weights_stride, sizeof(float), err);
    if (!layer->weights)
        return -1;
    return take_matrix(step, &layer->norm_1, c->n_embd, err) ||
           take_heads(step, &layer->heads, err) ||
           take_matrix(step, &layer->context, c->n_head * c->d_v, err) ||
           take_matrix(step, &layer->mid, c->n_embd, err) ||
           take_matrix(step, &layer->norm_2, c->n_embd, err) ||
           take_matrix(step, &layer->hidden, c->n_inner, err) ||
           (c->gated && take_matrix(step, &layer->up, c->n_inner, err)) ||
           take_matrix(step, &layer->active, c->n_inner, err);
}

static int take_tape(struct train_step *step, struct err *err)
{
    const struct config *c = step->config;
    step->layers = arena_alloc(&step->arena, c->n_layer + 1, sizeof *step->layers, err);
    if (!step->layers)
        return -1;
    for (size_t i = 0; i < c->n_layer; i++)
        if (read_layer(step, i, err) || take_matrix(step, &step->layers[i].x, c->n_embd, err) ||
            take_layer(step, &step->layers[i], err))
            return -1;
    return take_matrix(step, &step->layers[c->n_layer].x, c->n_embd, err) ||
           take_matrix(step, &step->norm_f, c->n_embd, err);
}

static int take_gradients(struct train_step *step, struct err *err)
{
    const struct config *c = step->config;
    struct gradient_tape *d = &step->d;
    return take_matrix(step, &d->stream, c->n_embd, err) ||
           take_matrix(step, &d->branch, c->n_embd, err) ||
           take_matrix(step, &d->context, c->n_head * c->d_v, err) ||
           take_matrix(step, &d->norm, c->n_embd, err) || take_heads(step, &d->heads, err) ||
           take_matrix(step, &d->hidden, c->n_inner, err) ||
           (c->gated && take_matrix(step, &d->up, c->n_inner, err));
}

/* Fill the tables, which all texts share; the inverse rotation negates the sines. */
static int take_cos_sin(struct train_step *step, struct err *err)
{
    const struct rotary *rotary = &step->config->rotary;
    struct train_scratch *scratch = &step->scratch;
    size_t tokens = step->plan.tokens;
    size_t pairs = rotary->components / 2;
    if (!config_rotates(step->config))
        return 0;
    if (take_matrix(step, &scratch->cos_sin, rotary->components, err) ||
        take_matrix(step, &scratch->cos_minus_sin, rotary->components, err))
        return -1;
    for (size_t text = 0; text < step->plan.texts; text++)
        rotary_fill(matrix_rows(scratch->cos_sin, text * tokens, tokens), rotary, 0, tokens);
    copy_rows(scratch->cos_minus_sin, scratch->cos_sin);
    struct matrix sines = matrix_columns(scratch->cos_minus_sin, pairs, pairs);
    for (size_t row = 0; row < sines.rows; row++)
        scale_row(sines.data + row * sines.stride, sines.data + row * sines.stride, pairs, -1);
    return 0;
}

static int take_scratch(struct train_step *step, struct err *err)
{
    const struct config *c = step->config;
    struct train_scratch *scratch = &step->scratch;
    struct arena *arena = &step->arena;
    size_t heads = (c->n_head + 2 * c->n_kv_head) * c->d_k;
    size_t widest = num_max(num_max(c->n_embd, heads), c->n_inner);
    size_t chunk = num_min(step->rows, TRAIN_CHUNK_ROWS);
    size_t tall = num_max(widest * matrix_stride(step->rows), c->vocab_size * matrix_stride(chunk));
    size_t matrix = c->n_embd * num_max(widest, c->vocab_size);
    scratch->transposed = arena_alloc(arena, tall, sizeof(float), err);
    scratch->transposed_weight = arena_alloc(arena, matrix, sizeof(float), err);
    scratch->sums = arena_alloc(arena, train_blocks(step->rows) * 2 * widest, sizeof(float), err);
    scratch->losses = arena_alloc(arena, step->rows, sizeof *scratch->losses, err);
    scratch->logits = (struct matrix){NULL, chunk, c->vocab_size, matrix_stride(c->vocab_size)};
    scratch->logits.data = arena_alloc(arena, chunk * scratch->logits.stride, sizeof(float), err);
    return scratch->transposed && scratch->transposed_weight && scratch->sums && scratch->losses &&
                   scratch->logits.data && !take_matrix(step, &scratch->out, c->n_embd, err) &&
                   !take_cos_sin(step, err)
               ? train_attention_init(step, err)
               : -1;
}

/* --- trainable models and texts --------------------------------------------------------------- */

const uint64_t train_features =
    HAS(SHARED_KEYS) | HAS(EMBEDDING_SCALE) | HAS(LAYER_SCALE) | HAS(LOGIT_BIAS) |
    HAS(POSITION_OFFSET) | HAS(RMS) | HAS(NORM_OFFSET) | HAS(PARALLEL) | HAS(SHARED_NORM) |
    HAS(GATED) | HAS(HEAD_NORM) | HAS(ROTARY) | HAS(ROTARY_PART) | HAS(ROTARY_PAIRS) |
    HAS(ROTARY_LINEAR) | HAS(ROTARY_DYNAMIC) | HAS(ROTARY_LLAMA3) | HAS(ROTARY_YARN) |
    HAS(ROTARY_LONGROPE) | HAS(WINDOW) | HAS(RESIDUAL_SCALE) | HAS(LOGIT_DIVISOR) | HAS(UNROTATED);

int train_step_check(const struct config *c, struct err *err)
{
    if (c->kind != MODEL_GPT2 && c->kind != MODEL_DECODER)
        return err_unsupported(err,
                               "expected a model of type \"gpt2\", \"llama\" or like it to train, "
                               "found \"%s\"",
                               config_kind_name(c));
    return features_expect(train_features, c, "to train", err);
}

/* A window at least as long as the texts hides no key. */
static int check_plan(const struct train_step_plan *plan, struct err *err)
{
    const struct config *config = &plan->new_model->config;
    if (train_step_check(config, err))
        return -1;
    if (config->n_positions && plan->tokens > config->n_positions)
        return err_set(err,
                       "expected texts of at most %zu tokens, the model's positions, found %zu",
                       config->n_positions, plan->tokens);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        size_t window = config_window(config, layer);
        if (window && plan->tokens > window)
            return err_unsupported(err,
                                   "expected texts of at most %zu tokens, the window of layer "
                                   "%zu, found %zu: longer ones are not trained",
                                   window, layer, plan->tokens);
    }
    return 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err)
{
    *step = (struct train_step){.plan = *plan, .config = &plan->new_model->config};
    if (check_plan(plan, err))
        return -1;
    step->rows = plan->texts * plan->tokens;
    step->weights_stride = (plan->tokens + LINE - 1) / LINE * LINE;
    if (read_model(step, err) ||
        parameters_alloc(&step->gradients, plan->new_model, &step->arena, err) ||
        take_tape(step, err) || take_gradients(step, err) || take_scratch(step, err)) {
        train_step_release(step);
        return -1;
    }
    return 0;
}

void train_step_release(struct train_step *step)
{
    weights_release(&step->model);
    arena_release(&step->arena);
    *step = (struct train_step){0};
}
