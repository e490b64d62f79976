#include "train/weight_init.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "base/progress_sink.h"
#include "math/isa.h"
#include "model/config.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "model/new_model.h"
#include "model/parameter_table.h"

enum { BLOCK = 16 /* normally distributed numbers that are made at a time */, PAIRS = BLOCK / 2 };

static const double pi = 3.14159265358979323846;

/* --- words ------------------------------------------------------------------------------------ */

void torch_random_seed(struct torch_random *random, uint64_t seed)
{
    random->waiting = false;
    twister_begin(&random->words, (uint32_t)seed);
}

void torch_random_skip_uniform(struct torch_random *random, size_t count)
{
    for (size_t here; count > 0; count -= here) {
        if (random->words.next == TWISTER_WORDS)
            twister_renew(&random->words);
        here = num_min(count, TWISTER_WORDS - random->words.next);
        random->words.next += (uint32_t)here;
    }
}

/* Return a uniform number in [0, 1), made of two words. */
static double draw_double(struct torch_random *random)
{
    uint64_t high = twister_word(&random->words);
    uint64_t bits = high << 32 | twister_word(&random->words);
    return (double)(bits & 0x1fffffffffffff) * 0x1p-53;
}

/* --- functions of PyTorch's vector code ------------------------------------------------------- */

/* Return ln x for x in (0, 1], as Cephes' logf: x = m · 2^e with m from √½ to √2, and a polynomial
 * in m - 1. */
static inline float log_float(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    float e = (float)((int32_t)(bits >> 23) - 126);
    bits = (bits & 0x007fffffu) | 0x3f000000u;
    memcpy(&x, &bits, sizeof x); /* x is now from ½ to 1 */
    bool low = x < 0.707106781f;
    float m = low ? x - 1.0f + x : x - 1.0f;
    e = low ? e - 1.0f : e;
    float square = m * m;
    float p = 7.0376836292e-2f;
    p = fmaf(p, m, -1.1514610310e-1f);
    p = fmaf(p, m, 1.1676998740e-1f);
    p = fmaf(p, m, -1.2420140846e-1f);
    p = fmaf(p, m, 1.4249322787e-1f);
    p = fmaf(p, m, -1.6668057665e-1f);
    p = fmaf(p, m, 2.0000714765e-1f);
    p = fmaf(p, m, -2.4999993993e-1f);
    p = fmaf(p, m, 3.3333331174e-1f);
    /* e · ln 2 is added in two parts; this is the smaller part */
    p = fmaf(p * m, square, e * -2.12194440e-4f);
    p = fmaf(square, -0.5f, p);
    return fmaf(e, 0.693359375f, m + p);
}

struct angle {
    float sine, cosine;
};

/* Return the sine and cosine of x in [0, 2π), as Cephes' sinf and cosf: both are polynomials of the
 * distance from the nearest even multiple j of π/4. */
static inline struct angle sine_and_cosine(float x)
{
    int32_t j = ((int32_t)(x * 1.27323954f) + 1) & ~1; /* x · 4 / π, rounded to an even number */
    float octants = (float)j;
    x = fmaf(octants, -0.78515625f, x); /* π/4 is subtracted in three parts */
    x = fmaf(octants, -2.41875648e-4f, x);
    x = fmaf(octants, -3.77489498e-8f, x);
    float square = x * x;
    float c = 2.44331571e-5f;
    c = fmaf(c, square, -1.38873163e-3f);
    c = fmaf(c, square, 4.16666456e-2f) * square;
    c = fmaf(c, square, square * -0.5f) + 1.0f;
    float s = -1.95152959e-4f;
    s = fmaf(s, square, 8.33216087e-3f);
    s = fmaf(s, square, -1.66666546e-1f) * square;
    s = fmaf(s, x, x);
    bool turned = j & 2; /* true: j · π/4 is an odd multiple of π/2, so sine and cosine are
                          * exchanged */
    float sine = turned ? c : s;
    float cosine = turned ? s : c;
    return (struct angle){j & 4 ? -sine : sine, (j + 2) & 4 ? -cosine : cosine};
}

/* Turn blocks of uniform numbers in [0, 1) into normal numbers: the radius is √(-2 ln (1 - u)), the
 * angle 2π u'. */
FOR_EACH_ISA
static void make_normal(float *x, size_t blocks, float mean, float spread)
{
    const float turn = (float)(2 * pi);
    for (size_t block = 0; block < blocks; block++, x += BLOCK) {
        for (size_t j = 0; j < PAIRS; j++) {
            float radius = sqrtf(-2.0f * log_float(1.0f - x[j]));
            struct angle angle = sine_and_cosine(turn * x[j + PAIRS]);
            x[j] = fmaf(radius * angle.cosine, spread, mean);
            x[j + PAIRS] = fmaf(radius * angle.sine, spread, mean);
        }
    }
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Draw uniform numbers in [0, 1), from 24 bits of a word each. */
static void draw_floats(struct torch_random *random, float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(twister_word(&random->words) & 0xffffff) * 0x1p-24f;
}

FOR_EACH_ISA
void torch_random_uniform(struct torch_random *random, float *x, size_t count, double low,
                          double high)
{
    float first = (float)low, width = (float)high - first;
    draw_floats(random, x, count);
    for (size_t i = 0; i < count; i++)
        x[i] = fmaf(x[i], width, first);
}

/* Return a normally distributed number: the first of a new pair, or the second of the last pair. */
static double draw_normal(struct torch_random *random)
{
    if (random->waiting) {
        random->waiting = false;
        return random->second;
    }
    double angle = 2 * pi * draw_double(random);
    double radius = sqrt(-2 * log1p(-draw_double(random)));
    random->second = radius * sin(angle);
    random->waiting = true;
    return radius * cos(angle);
}

void torch_random_normal(struct torch_random *random, float *x, size_t count, double mean,
                         double spread)
{
    if (count < BLOCK) {
        for (size_t i = 0; i < count; i++)
            x[i] = (float)(draw_normal(random) * spread + mean);
        return;
    }
    draw_floats(random, x, count);
    make_normal(x, count / BLOCK, (float)mean, (float)spread);
    if (count % BLOCK == 0)
        return;
    float *last = x + count - BLOCK;
    draw_floats(random, last, BLOCK);
    make_normal(last, 1, (float)mean, (float)spread);
}

void torch_random_skip_normal(struct torch_random *random, size_t count)
{
    float unwanted[BLOCK];
    if (count < BLOCK)
        torch_random_normal(random, unwanted, count, 0, 1);
    else
        torch_random_skip_uniform(random, count + (count % BLOCK ? BLOCK : 0));
}

/* --- weights ---------------------------------------------------------------------------------- */

/* The state of filling a model with random weights. */
struct weight_drawing {
    struct new_model *new_model;
    const struct weight_init *init;
    struct torch_random random;
    struct arena scratch; /* memory for one tensor */
};

static float *take_scratch(struct weight_drawing *drawing, size_t count, struct err *err)
{
    arena_clear(&drawing->scratch);
    return arena_alloc(&drawing->scratch, count, sizeof(float), err);
}

/* Return the tensor of a slot, NULL if the model has none. `layer` is 0 for slots outside of
 * layers. */
static struct new_model_tensor *tensor_of(const struct weight_drawing *drawing, int id,
                                          size_t layer)
{
    return new_model_tensor(drawing->new_model, id < SLOTS_OF_ENDS
                                                    ? slot_of_text(id)
                                                    : slot_of(BRANCH_TEXT, id, layer));
}

/* --- bare attention --------------------------------------------------------------------------- */

/* Draw the numbers of torch.rand for one of the `heads` heads that are side by side in a matrix. Do
 * nothing if `matrix` is NULL. */
static int draw_head(struct weight_drawing *drawing, const struct new_model_tensor *matrix,
                     size_t head, size_t heads, struct err *err)
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

static int draw_rand(struct weight_drawing *drawing, size_t layer, struct err *err)
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

/* Draw the numbers of nn.Linear, whose weight is stored as [out, in]. The ranges of weight and bias
 * are both 1/√in, but computed by different formulas, which round differently. */
static int draw_linear(struct weight_drawing *drawing, int id, size_t layer, struct err *err)
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
    double slope = sqrt(5); /* as in PyTorch's kaiming_uniform_(weight, a=sqrt(5)) */
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

static int draw_linears(struct weight_drawing *drawing, size_t layer, struct err *err)
{
    static const int order[] = {SLOT_Q, SLOT_K, SLOT_V, SLOT_O};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (draw_linear(drawing, order[i], layer, err))
            return -1;
    return 0;
}

static int draw_attention(struct weight_drawing *drawing, struct err *err)
{
    const struct weight_init *init = drawing->init;
    const struct new_model_tensor *wte = tensor_of(drawing, SLOT_TOKENS, 0);
    bool linear = init->way == WEIGHT_INIT_LINEAR;
    size_t words = wte->shape[0], channels = wte->shape[1];
    size_t rows = init->table_rows ? init->table_rows : WEIGHT_INIT_TABLE_ROWS;
    rows = rows > words ? rows : words;
    /* Tables of 16 numbers or more are drawn in blocks of 16; only the last block depends on the
     * size of the tensor. */
    size_t blocks = (words * channels + 15) / 16 * 16;
    size_t count = words * channels + 16 > rows * channels ? rows * channels : blocks;
    float *table = take_scratch(drawing, count, err);
    if (!table)
        return -1;
    torch_random_seed(&drawing->random, init->seed);
    torch_random_normal(&drawing->random, table, count, 0, 1);
    memcpy(wte->data, table, words * channels * sizeof *table);

    torch_random_seed(&drawing->random, init->seed);
    size_t layers = drawing->new_model->config.n_layer;
    for (size_t layer = 0; layer < layers; layer++) {
        if ((linear ? draw_linears : draw_rand)(drawing, layer, err))
            return -1;
        progress_tell(init->progress, layer + 1, layers);
    }
    return 0;
}

/* --- GPT-2 and other decoders ----------------------------------------------------------------- */

/* True for a matrix or a stack of matrices, false for vectors and biases. */
static bool is_matrix(const struct new_model_tensor *tensor)
{
    return tensor->rank > 1 && !(tensor->slot.id & 1);
}

/* Draw the weights of a decoder. If `linear`, layers have nn.Linear, which draws uniform numbers
 * when it is made. Otherwise output projections are initialised twice, the second time with a
 * smaller deviation. */
static void draw_decoder(struct weight_drawing *drawing, bool linear)
{
    const struct config *config = &drawing->new_model->config;
    const struct new_model_tensor *first = drawing->new_model->tensors;
    const struct new_model_tensor *end = first + drawing->new_model->count;
    const struct new_model_tensor *head = tensor_of(drawing, SLOT_UNEMBED, 0);
    struct torch_random *random = &drawing->random;
    double spread = config->initializer_range;
    torch_random_seed(&drawing->random, drawing->init->seed);
    /* skip the numbers that PyTorch draws when it makes modules */
    for (const struct new_model_tensor *t = first; t < end; t++) {
        bool is_bias = t->slot.id & 1;
        if (t != head && (is_matrix(t) || (linear && is_bias)))
            (linear && t->slot.layer >= 0 ? torch_random_skip_uniform
                                          : torch_random_skip_normal)(random, t->count);
    }
    /* fill the tensors in the order in which PyTorch initialises modules */
    for (const struct new_model_tensor *t = first; t < end; t++) {
        bool ends_branch = !linear && (t->slot.id == SLOT_O || t->slot.id == SLOT_DOWN);
        if (ends_branch)
            torch_random_skip_normal(random, t->count);
        if (t != head && is_matrix(t))
            torch_random_normal(random, t->data, t->count, 0,
                                ends_branch ? spread / sqrt(2 * (double)config->n_layer) : spread);
        else if (t->rank == 1 && !(t->slot.id & 1)) /* scales begin as 1, except scales to which a
                                                     * norm adds an offset and scales of corrected
                                                     * copies, which begin as 0 */
            for (size_t i = 0; i < t->count; i++)
                t->data[i] = config->norm_offset || t->slot.id == SLOT_COPY_SCALE ? 0 : 1;
        if (t->slot.id == SLOT_DOWN)
            progress_tell(drawing->init->progress, (size_t)t->slot.layer + 1, config->n_layer);
    }
    /* The unembedding is the last module; making it draws uniform numbers. If it has its own
     * weights, normal numbers are drawn when it is initialised. */
    torch_random_skip_uniform(random, config_logits(config) * config->n_embd);
    if (head)
        torch_random_normal(random, head->data, head->count, 0, spread);
}

void weight_init_classes(struct new_model *new_model, uint64_t seed)
{
    static const int ids[] = {SLOT_TRANSFORM, SLOT_TRANSFORM_NORM, SLOT_UNEMBED};
    struct torch_random random;
    torch_random_seed(&random, seed);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct new_model_tensor *t = new_model_tensor(new_model, slot_of_text(ids[i]));
        if (t && is_matrix(t))
            torch_random_normal(&random, t->data, t->count, 0, new_model->config.initializer_range);
        for (size_t k = 0; t && !is_matrix(t) && k < t->count; k++)
            t->data[k] = 1;
    }
}

int weight_init_draw(struct new_model *new_model, const struct weight_init *init, struct err *err)
{
    struct weight_drawing drawing = {.new_model = new_model, .init = init};
    const struct config *c = &new_model->config;
    enum model_kind kind = c->kind;
    bool joined = family_row(c->family, slot_of(BRANCH_TEXT, SLOT_Q, 0))->members[1];
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
