#include "train/weight_init.h"

#include <math.h>
#include <string.h>

#include "base/progress_sink.h"
#include "train/torch_random.h"
#include "model/family/family.h"
#include "model/new_model.h"

/* The state while a model is filled. */
struct drawing {
    struct new_model *new_model;
    const struct weight_init *init;
    struct torch_random random;
    struct arena scratch; /* of one tensor */
};

static float *take_scratch(struct drawing *drawing, size_t count, struct err *err)
{
    arena_clear(&drawing->scratch);
    return arena_alloc(&drawing->scratch, count, sizeof(float), err);
}

/* The tensor of a slot, NULL if there is none; `layer` is 0 outside layers. */
static struct new_model_tensor *tensor_of(const struct drawing *drawing, int id, size_t layer)
{
    return new_model_tensor(drawing->new_model, id < SLOTS_OF_ENDS
                                                    ? slot_of_text(id)
                                                    : slot_of(PART_SENTENCE, id, layer));
}

/* --- bare attention: the words --------------------------------------------------------------- */

static int draw_words(struct drawing *drawing, struct err *err)
{
    const struct weight_init *init = drawing->init;
    const struct new_model_tensor *wte = tensor_of(drawing, SLOT_TOKENS, 0);
    size_t channels = wte->shape[1];
    size_t words = wte->shape[0];
    size_t rows = init->table_rows ? init->table_rows : WEIGHT_INIT_TABLE_ROWS;
    rows = rows > words ? rows : words;
    /* From 16 numbers on, they are drawn in blocks of 16; only the last block depends on the size
     * of the tensor. */
    size_t blocks = (words * channels + 15) / 16 * 16;
    size_t count = words * channels + 16 > rows * channels ? rows * channels : blocks;
    float *table = take_scratch(drawing, count, err);
    if (!table)
        return -1;
    torch_random_seed(&drawing->random, drawing->init->seed);
    torch_random_normal(&drawing->random, table, count, 0, 1);
    memcpy(wte->data, table, words * channels * sizeof *table);
    return 0;
}

/* --- bare attention: projections ------------------------------------------------------------- */

/* torch.rand for head `head` of `heads`, which are stored side by side in a matrix, if the model
 * has it. */
static int draw_head(struct drawing *drawing, const struct new_model_tensor *matrix, size_t head,
                     size_t heads, struct err *err)
{
    if (!matrix)
        return 0;
    size_t width = matrix->shape[1] / heads;
    float *from = take_scratch(drawing, matrix->shape[0] * width, err);
    float *to = matrix->data + head * width;
    if (!from)
        return -1;
    torch_random_uniform(&drawing->random, from, matrix->shape[0] * width, 0, 1);
    for (size_t row = 0; row < matrix->shape[0]; row++)
        memcpy(to + row * matrix->shape[1], from + row * width, width * sizeof *from);
    return 0;
}

static int draw_rand(struct drawing *drawing, size_t layer, struct err *err)
{
    const struct config *config = &drawing->new_model->config;
    const struct new_model_tensor *q = tensor_of(drawing, SLOT_Q, layer);
    const struct new_model_tensor *k = tensor_of(drawing, SLOT_K, layer);
    const struct new_model_tensor *v = tensor_of(drawing, SLOT_V, layer);
    size_t group = config->n_head / config->n_kv_head;
    for (size_t head = 0; head < config->n_head; head++) {
        if (draw_head(drawing, q, head, config->n_head, err))
            return -1;
        if (head % group == 0 && (draw_head(drawing, k, head / group, config->n_kv_head, err) ||
                                  draw_head(drawing, v, head / group, config->n_kv_head, err)))
            return -1;
    }
    return draw_head(drawing, tensor_of(drawing, SLOT_O, layer), 0, 1, err);
}

/* nn.Linear: the weight is stored as [out, in]. The ranges of weight and bias are both 1/√in, but
 * computed by different formulas, which round differently. */
static int draw_linear(struct drawing *drawing, int id, size_t layer, struct err *err)
{
    const struct new_model_tensor *matrix = tensor_of(drawing, id, layer);
    const struct new_model_tensor *bias = tensor_of(drawing, id + 1, layer);
    if (!matrix)
        return 0;
    float *weight = take_scratch(drawing, matrix->count, err);
    if (!weight)
        return -1;
    size_t in = matrix->shape[0];
    size_t out = matrix->shape[1];
    double slope = sqrt(5); /* kaiming_uniform_(weight, a=sqrt(5)) */
    double gain = sqrt(2 / (1 + slope * slope));
    double range = sqrt(3) * (gain / sqrt((double)in));
    torch_random_uniform(&drawing->random, weight, matrix->count, -range, range);
    for (size_t row = 0; row < in; row++)
        for (size_t column = 0; column < out; column++)
            matrix->data[row * out + column] = weight[column * in + row];
    range = 1 / sqrt((double)in);
    if (bias)
        torch_random_uniform(&drawing->random, bias->data, bias->count, -range, range);
    return 0;
}

static int draw_linears(struct drawing *drawing, size_t layer, struct err *err)
{
    static const int order[] = {SLOT_Q, SLOT_K, SLOT_V, SLOT_O};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (draw_linear(drawing, order[i], layer, err))
            return -1;
    return 0;
}

static int draw_attention(struct drawing *drawing, struct err *err)
{
    bool linear = drawing->init->way == WEIGHT_INIT_LINEAR;
    if (draw_words(drawing, err))
        return -1;
    torch_random_seed(&drawing->random, drawing->init->seed);
    size_t layers = drawing->new_model->config.n_layer;
    for (size_t layer = 0; layer < layers; layer++) {
        if ((linear ? draw_linears : draw_rand)(drawing, layer, err))
            return -1;
        progress_tell(drawing->init->progress, layer + 1, layers);
    }
    return 0;
}

/* --- GPT-2 and other decoders ----------------------------------------------------------------- */

/* A matrix, or a stack of them. */
static bool is_matrix(const struct new_model_tensor *tensor)
{
    return tensor->rank > 1 && !(tensor->slot.id & 1);
}

/* `linear`: modules are nn.Linear, which draw uniform numbers when they are made; else output
 * projections are drawn twice, the second time with a smaller deviation. */
static void draw_decoder(struct drawing *drawing, bool linear)
{
    const struct config *config = &drawing->new_model->config;
    const struct new_model_tensor *first = drawing->new_model->tensors;
    const struct new_model_tensor *end = first + drawing->new_model->count;
    const struct new_model_tensor *head = tensor_of(drawing, SLOT_HEAD, 0);
    struct torch_random *random = &drawing->random;
    double spread = config->initializer_range;
    torch_random_seed(&drawing->random, drawing->init->seed);
    for (const struct new_model_tensor *t = first; t < end; t++) { /* modules are made */
        bool is_bias = t->slot.id & 1;
        if (t != head && (is_matrix(t) || (linear && is_bias)))
            (linear && t->slot.layer >= 0 ? torch_random_skip_uniform
                                          : torch_random_skip_normal)(random, t->count);
    }
    for (const struct new_model_tensor *t = first; t < end; t++) { /* modules are initialised */
        bool ends_branch = !linear && (t->slot.id == SLOT_O || t->slot.id == SLOT_DOWN);
        if (ends_branch)
            torch_random_skip_normal(random, t->count);
        if (t != head && is_matrix(t))
            torch_random_normal(random, t->data, t->count, 0,
                                ends_branch ? spread / sqrt(2 * (double)config->n_layer) : spread);
        else if (t->rank == 1 && !(t->slot.id & 1)) /* the scale of a norm: times 1 */
            for (size_t i = 0; i < t->count; i++)
                t->data[i] = config->norm_offset ? 0 : 1;
        if (t->slot.id == SLOT_DOWN)
            progress_tell(drawing->init->progress, (size_t)t->slot.layer + 1, config->n_layer);
    }
    /* The unembedding is made, and then initialised, after all other modules. */
    torch_random_skip_uniform(random, config->vocab_size * config->n_embd);
    if (head)
        torch_random_normal(random, head->data, head->count, 0, spread);
}

int weight_init_draw(struct new_model *new_model, const struct weight_init *init, struct err *err)
{
    struct drawing drawing = {.new_model = new_model, .init = init};
    const struct config *c = &new_model->config;
    enum model_kind kind = c->kind;
    bool joined = family_row(c->family, slot_of(PART_SENTENCE, SLOT_Q, 0))->members[1];
    bool like_llama = kind == MODEL_DECODER && c->rms && c->gated && !joined;
    int failed = 0;
    if (kind != MODEL_GPT2 && kind != MODEL_ATTENTION && !like_llama)
        return err_unsupported(
            err,
            "expected a model of type \"gpt2\", \"attention\", \"llama\" or "
            "like it, found type \"%s\": random weights are not supported for it",
            config_kind_name(&new_model->config));
    if (kind == MODEL_ATTENTION)
        failed = draw_attention(&drawing, err);
    else
        draw_decoder(&drawing, like_llama);
    arena_release(&drawing.scratch);
    return failed;
}
