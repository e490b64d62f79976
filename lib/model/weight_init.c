#include "model/weight_init.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/torch_random.h"

/* A new model on its way to its numbers. */
struct cook {
    struct new_model *new_model;
    const struct weight_init *init;
    struct torch_random random;
    struct arena scratch; /* of one tensor */
};

static float *take_scratch(struct cook *cook, size_t count, struct err *err)
{
    arena_clear(&cook->scratch);
    return arena_alloc(&cook->scratch, count, sizeof(float), err);
}

static void seed(struct cook *cook)
{
    torch_random_seed(&cook->random, cook->init->seed);
}

/* --- bare attention: the words --------------------------------------------------------------- */

/* How many numbers to draw for the first `wanted` of a tensor of `count`: with 16 and more they
 * come in blocks of 16, and only the last block of a tensor hangs on what follows. */
static size_t enough_for(size_t wanted, size_t count)
{
    size_t blocks = (wanted + 15) / 16 * 16;
    return wanted + 16 > count ? count : blocks;
}

static int draw_words(struct cook *cook, struct err *err)
{
    const struct weight_init *init = cook->init;
    const struct new_model_tensor *wte = new_model_tensor(cook->new_model, PARAMETER_WTE, 0);
    size_t channels = wte->shape[1];
    assert(init->source_rows <= wte->shape[0]);
    size_t words = wte->shape[0] - init->source_rows;
    size_t rows = init->table_rows ? init->table_rows : WEIGHT_INIT_TABLE_ROWS;
    rows = rows > words ? rows : words;
    size_t count = enough_for(words * channels, rows * channels);
    float *table = take_scratch(cook, count, err);
    if (!table)
        return -1;
    seed(cook);
    torch_random_normal(&cook->random, table, count, 0, 1);
    memcpy(wte->data, table, words * channels * sizeof *table);
    seed(cook);
    torch_random_uniform(&cook->random, wte->data + words * channels, init->source_rows * channels,
                         0, 1);
    return 0;
}

/* --- bare attention: projections ------------------------------------------------------------- */

/* torch.rand for head `head` of `heads`, which stand side by side in a matrix. */
static int draw_head(struct cook *cook, const struct new_model_tensor *matrix, size_t head,
                     size_t heads, struct err *err)
{
    size_t width = matrix->shape[1] / heads;
    float *from = take_scratch(cook, matrix->shape[0] * width, err);
    float *to = matrix->data + head * width;
    if (!from)
        return -1;
    torch_random_uniform(&cook->random, from, matrix->shape[0] * width, 0, 1);
    for (size_t row = 0; row < matrix->shape[0]; row++)
        memcpy(to + row * matrix->shape[1], from + row * width, width * sizeof *from);
    return 0;
}

static int draw_heads(struct cook *cook, size_t layer, struct err *err)
{
    const struct config *config = &cook->new_model->config;
    const struct new_model_tensor *q = new_model_tensor(cook->new_model, PARAMETER_Q, layer);
    const struct new_model_tensor *k = new_model_tensor(cook->new_model, PARAMETER_K, layer);
    const struct new_model_tensor *v = new_model_tensor(cook->new_model, PARAMETER_V, layer);
    size_t group = config->n_head / config->n_kv_head;
    for (size_t head = 0; head < config->n_head; head++) {
        if (draw_head(cook, q, head, config->n_head, err))
            return -1;
        if (head % group == 0 && (draw_head(cook, k, head / group, config->n_kv_head, err) ||
                                  draw_head(cook, v, head / group, config->n_kv_head, err)))
            return -1;
    }
    return 0;
}

static int draw_rand(struct cook *cook, size_t layer, struct err *err)
{
    const struct new_model_tensor *out = new_model_tensor(cook->new_model, PARAMETER_OUT, layer);
    if (new_model_tensor(cook->new_model, PARAMETER_Q, layer) && draw_heads(cook, layer, err))
        return -1;
    return out ? draw_head(cook, out, 0, 1, err) : 0;
}

/* nn.Linear: its weight stands [out, in]; both numbers of its range are 1/√in, but the weight's is
 * reached on another way, with other roundings. */
static int draw_linear(struct cook *cook, enum parameter_id id, size_t layer, struct err *err)
{
    const struct new_model_tensor *matrix = new_model_tensor(cook->new_model, id, layer);
    const struct new_model_tensor *bias =
        new_model_tensor(cook->new_model, (enum parameter_id)(id + 1), layer);
    if (!matrix)
        return 0;
    float *weight = take_scratch(cook, matrix->count, err);
    if (!weight)
        return -1;
    size_t in = matrix->shape[0];
    size_t out = matrix->shape[1];
    double slope = sqrt(5); /* kaiming_uniform_(weight, a=sqrt(5)) */
    double gain = sqrt(2 / (1 + slope * slope));
    double range = sqrt(3) * (gain / sqrt((double)in));
    torch_random_uniform(&cook->random, weight, matrix->count, -range, range);
    for (size_t row = 0; row < in; row++)
        for (size_t column = 0; column < out; column++)
            matrix->data[row * out + column] = weight[column * in + row];
    range = 1 / sqrt((double)in);
    if (bias)
        torch_random_uniform(&cook->random, bias->data, bias->count, -range, range);
    return 0;
}

static int draw_linears(struct cook *cook, size_t layer, struct err *err)
{
    static const enum parameter_id order[] = {PARAMETER_Q, PARAMETER_K, PARAMETER_V, PARAMETER_OUT};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (draw_linear(cook, order[i], layer, err))
            return -1;
    return 0;
}

static int draw_attention(struct cook *cook, struct err *err)
{
    bool linear = cook->init->way == WEIGHT_INIT_LINEAR;
    if (draw_words(cook, err))
        return -1;
    seed(cook);
    size_t layers = cook->new_model->config.n_layer;
    for (size_t layer = 0; layer < layers; layer++) {
        if ((linear ? draw_linears : draw_rand)(cook, layer, err))
            return -1;
        progress_tell(cook->init->progress, layer + 1, layers);
    }
    return 0;
}

/* --- GPT-2 ----------------------------------------------------------------------------------- */

/* The matrices of a layer, as its modules stand in it. */
static const struct step {
    enum parameter_id id;
    bool ends_branch;
} block_steps[] = {
    {PARAMETER_C_ATTN, false},
    {PARAMETER_ATTN_PROJ, true},
    {PARAMETER_FC, false},
    {PARAMETER_MLP_PROJ, true},
};

enum { BLOCK_STEPS = sizeof block_steps / sizeof *block_steps };

static void skip_matrix(struct cook *cook, enum parameter_id id, size_t layer)
{
    const struct new_model_tensor *matrix = new_model_tensor(cook->new_model, id, layer);
    if (matrix)
        torch_random_skip_normal(&cook->random, matrix->count);
}

static void draw_matrix(struct cook *cook, enum parameter_id id, size_t layer, double spread)
{
    const struct new_model_tensor *matrix = new_model_tensor(cook->new_model, id, layer);
    if (matrix)
        torch_random_normal(&cook->random, matrix->data, matrix->count, 0, spread);
}

/* What is drawn when the modules are made, and not kept. */
static void skip_making(struct cook *cook)
{
    skip_matrix(cook, PARAMETER_WTE, 0);
    skip_matrix(cook, PARAMETER_WPE, 0);
    for (size_t layer = 0; layer < cook->new_model->config.n_layer; layer++)
        for (size_t i = 0; i < BLOCK_STEPS; i++)
            skip_matrix(cook, block_steps[i].id, layer);
}

static void draw_block(struct cook *cook, size_t layer)
{
    const struct config *config = &cook->new_model->config;
    double spread = config->initializer_range;
    double less = spread / sqrt(2 * (double)config->n_layer);
    for (size_t i = 0; i < BLOCK_STEPS; i++) {
        if (block_steps[i].ends_branch)
            skip_matrix(cook, block_steps[i].id, layer);
        draw_matrix(cook, block_steps[i].id, layer, block_steps[i].ends_branch ? less : spread);
    }
}

static void fill_scales(struct cook *cook, enum parameter_id id, size_t layer)
{
    const struct new_model_tensor *scale = new_model_tensor(cook->new_model, id, layer);
    for (size_t i = 0; scale && i < scale->count; i++)
        scale->data[i] = 1;
}

static void draw_gpt2(struct cook *cook)
{
    const struct config *config = &cook->new_model->config;
    seed(cook);
    skip_making(cook);
    draw_matrix(cook, PARAMETER_WTE, 0, config->initializer_range);
    draw_matrix(cook, PARAMETER_WPE, 0, config->initializer_range);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        draw_block(cook, layer);
        fill_scales(cook, PARAMETER_LN_1, layer);
        fill_scales(cook, PARAMETER_LN_2, layer);
        progress_tell(cook->init->progress, layer + 1, config->n_layer);
    }
    fill_scales(cook, PARAMETER_LN_F, 0);
    /* The head is made, uniform, when all else is initialised; then it is initialised, too. */
    torch_random_skip_uniform(&cook->random, config->vocab_size * config->n_embd);
    draw_matrix(cook, PARAMETER_LM_HEAD, 0, config->initializer_range);
}

int weight_init_draw(struct new_model *new_model, const struct weight_init *init, struct err *err)
{
    struct cook cook = {.new_model = new_model, .init = init};
    int failed = 0;
    if (new_model->config.kind == MODEL_TRANSFORMER)
        return err_unsupported(err,
                               "expected a model of type \"gpt2\" or \"attention\", found type "
                               "\"transformer\": there is no recipe for its weights");
    if (new_model->config.kind == MODEL_GPT2)
        draw_gpt2(&cook);
    else
        failed = draw_attention(&cook, err);
    arena_release(&cook.scratch);
    return failed;
}

static const struct origin origins[] = {
    {.name = "life-cross", .source_rows = 8},
    {.name = "journey", .given = true},
    {.name = "journey-causal", .given = true},
    {.name = "translate", .given = true},
};

const struct origin *origin_find(const char *name)
{
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        if (strcmp(origins[i].name, name) == 0)
            return &origins[i];
    return NULL;
}
