/* generate: write the models in models/ anew: the same bytes every time, on every machine.
 *
 *     build/generate-models models models     read the word list in FROM, write to folders in TO
 *
 * The worked examples' numbers stand in this file. `tiny` has random weights; they are made of
 * integers and exact products, without the C library's functions, so that no rounding differs.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/stream.h"
#include "format/json_text.h"
#include "format/safetensors.h"

/* --- worked examples ------------------------------------------------------------------------- */

/* A row of a matrix is a line here. */
/* clang-format off */
static const float life_words[] = {
     0.337370187f, -0.177777216f,  -0.303527594f, /* Life */
    -0.588011861f,  0.348605186f,   0.660340965f, /* dessert */
    -0.219637617f, -0.379169822f,   0.767107069f, /* eat */
    -1.19250202f,   0.69835192f,   -1.40972292f,  /* first */
     0.179379612f,  1.89514804f,    0.495446384f, /* is */
     0.269198567f, -0.0770202354f, -1.02047193f,  /* short */
};

static const float life_q[] = {
    0.296111941f,  0.516562283f,
    0.251670718f,  0.68855679f,
    0.0739724636f, 0.866521955f,
};

static const float life_k[] = {
    0.136579871f, 0.102479041f,
    0.184056461f, 0.726446748f,
    0.315253913f, 0.687106669f,
};

static const float life_v[] = {
    0.075635314f, 0.196638167f, 0.316411972f, 0.401740134f,
    0.118568301f, 0.82739538f,  0.382084429f, 0.660493851f,
    0.853571773f, 0.593153f,    0.636725366f, 0.982629359f,
};

/* Four heads side by side: two columns each for queries and keys, one for values. */
static const float heads_q[] = {
    0.296111941f,  0.516562283f, 0.401740134f, 0.118568301f, /* heads 0 and 1 */
    0.926822901f,  0.738757193f, 0.515875041f, 0.42201972f,  /* heads 2 and 3 */
    0.251670718f,  0.68855679f,  0.82739538f,  0.382084429f,
    0.717883527f,  0.705837429f, 0.578603506f, 0.945506334f,
    0.0739724636f, 0.866521955f, 0.660493851f, 0.853571773f,
    0.915649533f,  0.433980227f, 0.805746436f, 0.677480757f,
};

static const float heads_k[] = {
    0.136579871f,  0.102479041f, 0.593153f,     0.636725366f, /* heads 0 and 1 */
    0.0771507621f, 0.35652554f,  0.608655274f,  0.617896438f, /* heads 2 and 3 */
    0.184056461f,  0.726446748f, 0.982629359f,  0.274495304f,
    0.147862673f,  0.533053339f, 0.693166614f,  0.435388267f,
    0.315253913f,  0.687106669f, 0.658375621f,  0.277541935f,
    0.406646252f,  0.23180753f,  0.0352956057f, 0.190794051f,
};

static const float heads_v[] = {
    0.075635314f, 0.857324839f,  0.454539299f, 0.92679286f,
    0.196638167f, 0.899328232f,  0.973701894f, 0.529886723f,
    0.316411972f, 0.0390138626f, 0.460562289f, 0.0949632525f,
};

static const float journey_words[] = {
    0.43f, 0.15f, 0.89f, /* Your */
    0.55f, 0.87f, 0.66f, /* journey */
    0.57f, 0.85f, 0.64f, /* starts */
    0.22f, 0.58f, 0.33f, /* with */
    0.77f, 0.25f, 0.10f, /* one */
    0.05f, 0.80f, 0.55f, /* step */
};
/* clang-format on */

#define SHAPE(rows, columns) \
    2, (const size_t[])      \
    {                        \
        rows, columns        \
    }

static const struct safetensors_tensor life_tensors[] = {
    {"wte.weight", SHAPE(6, 3), life_words},
    {"h.0.attn.q_proj.weight", SHAPE(3, 2), life_q},
    {"h.0.attn.k_proj.weight", SHAPE(3, 2), life_k},
    {"h.0.attn.v_proj.weight", SHAPE(3, 4), life_v},
};

static const struct safetensors_tensor heads_tensors[] = {
    {"wte.weight", SHAPE(6, 3), life_words},
    {"h.0.attn.q_proj.weight", SHAPE(3, 8), heads_q},
    {"h.0.attn.k_proj.weight", SHAPE(3, 8), heads_k},
    {"h.0.attn.v_proj.weight", SHAPE(3, 4), heads_v},
};

static const struct safetensors_tensor journey_tensors[] = {
    {"wte.weight", SHAPE(6, 3), journey_words},
};

static const struct example {
    const char *name;
    const struct safetensors_tensor *tensors;
    size_t count;
} examples[] = {
    {"life", life_tensors, 4},
    {"life-causal", life_tensors, 4},
    {"life-4-heads", heads_tensors, 4},
    {"journey", journey_tensors, 1},
    {"journey-causal", journey_tensors, 1},
};

/* --- files ----------------------------------------------------------------------------------- */

/* Begin the file TO/MODEL/NAME. */
static int open_file(struct stream *out, const char *to, const char *model, const char *name,
                     struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s", to, model);
    int failed = buf_check(&path, err) || file_make_directory(path.bytes, err);
    buf_format(&path, "/%s", name);
    failed = failed || buf_check(&path, err) || stream_open(out, path.bytes, err);
    buf_release(&path);
    return failed ? -1 : 0;
}

static int write_tensors(const char *to, const char *model,
                         const struct safetensors_tensor *tensors, size_t count,
                         const struct safetensors_note *note, struct err *err)
{
    struct stream out = {0};
    int failed = open_file(&out, to, model, "model.safetensors", err) ||
                 safetensors_write(&out, tensors, count, note, note ? 1 : 0, err) ||
                 stream_commit(&out, err);
    stream_discard(&out);
    return failed ? -1 : 0;
}

/* --- tiny: the word list --------------------------------------------------------------------- */

struct word {
    const char *bytes;
    size_t size;
};

/* Take the next word of the list off `*rest`; false at its end. */
static bool next_word(struct word *word, struct word *rest)
{
    const char *at = rest->bytes;
    const char *end = at + rest->size;
    bool line_begins = true;
    while (at < end && (*at == ' ' || *at == '\n' || (line_begins && *at == '#'))) {
        if (*at == '#') {
            while (at < end && *at != '\n')
                at++;
        } else {
            line_begins = *at++ == '\n';
        }
    }
    word->bytes = at;
    while (at < end && *at != ' ' && *at != '\n')
        at++;
    word->size = (size_t)(at - word->bytes);
    *rest = (struct word){at, (size_t)(end - at)};
    return word->size > 0;
}

/* vocab.json: a line a word, ids in the order of the list. */
static int write_vocabulary(size_t *count, const char *to, const struct file *list, struct err *err)
{
    struct stream out = {0};
    if (open_file(&out, to, "tiny", "vocab.json", err))
        return -1;
    struct word rest = {list->bytes, list->size};
    struct word word;
    for (*count = 0; next_word(&word, &rest); ++*count) {
        stream_text(&out, *count ? ",\n" : "{\n");
        json_write_text(&out, word.bytes, word.size);
        stream_format(&out, ": %zu", *count);
    }
    stream_text(&out, "\n}\n");
    return stream_commit(&out, err);
}

/* --- tiny: random weights -------------------------------------------------------------------- */

enum {
    LAYERS = 2,
    HEADS = 4,
    CHANNELS = 32,
    INNER = 4 * CHANNELS,
    POSITIONS = 64,
    TENSORS_MAX = 64,
    NAME_BYTES = 32,
};

static const uint64_t SEED = 2017;

/* splitmix64: a counter, and a mixer that makes each count look like chance. */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Nearly normal, mean 0, deviation 1, never beyond ±6: twelve uniform numbers have the variance 1
 * together. They are added as integers of 24 bits, which is exact. */
static float random_normal(uint64_t *state)
{
    int32_t sum = -6 * (1 << 24);
    for (int i = 0; i < 12; i++)
        sum += (int32_t)(random_bits(state) >> 40);
    return (float)sum / (1 << 24);
}

struct row {
    const char *name;
    size_t rows, columns; /* 0 columns: a vector */
    float mean, spread;
    size_t sharp; /* this many first columns are drawn SHARPNESS times as wide */
};

/* Queries and keys: wide enough for scores that lie apart and attention that is visibly uneven. */
static const float SHARPNESS = 2.5f;

static const struct row layer_rows[] = {
    {.name = "ln_1.weight", .rows = CHANNELS, .mean = 1},
    {.name = "ln_1.bias", .rows = CHANNELS},
    {"attn.c_attn.weight", CHANNELS, 3 * CHANNELS, 0, 0.1f, 2 * CHANNELS},
    {"attn.c_attn.bias", 3 * CHANNELS, 0, 0, 0.1f, 0},
    {"attn.c_proj.weight", CHANNELS, CHANNELS, 0, 0.15f, 0},
    {.name = "attn.c_proj.bias", .rows = CHANNELS},
    {.name = "ln_2.weight", .rows = CHANNELS, .mean = 1},
    {.name = "ln_2.bias", .rows = CHANNELS},
    {"mlp.c_fc.weight", CHANNELS, INNER, 0, 0.15f, 0},
    {.name = "mlp.c_fc.bias", .rows = INNER},
    {"mlp.c_proj.weight", INNER, CHANNELS, 0, 0.1f, 0},
    {.name = "mlp.c_proj.bias", .rows = CHANNELS},
};

struct model {
    struct arena arena;
    uint64_t random;
    struct safetensors_tensor tensors[TENSORS_MAX];
    size_t count;
};

/* Draw a tensor; `prefix` stands before its name. */
static int add_tensor(struct model *model, const char *prefix, const struct row *row,
                      struct err *err)
{
    size_t columns = row->columns ? row->columns : 1;
    size_t count = row->rows * columns;
    char *name = arena_alloc(&model->arena, NAME_BYTES, 1, err);
    size_t *shape = arena_alloc(&model->arena, 2, sizeof *shape, err);
    float *data = arena_alloc(&model->arena, count, sizeof *data, err);
    if (!name || !shape || !data)
        return -1;
    snprintf(name, NAME_BYTES, "%s%s", prefix, row->name);
    shape[0] = row->rows;
    shape[1] = columns;
    for (size_t i = 0; i < count; i++) {
        float spread = i % columns < row->sharp ? row->spread * SHARPNESS : row->spread;
        data[i] = row->mean + spread * random_normal(&model->random); /* one of the two is 0 */
    }
    model->tensors[model->count++] =
        (struct safetensors_tensor){name, row->columns ? 2 : 1, shape, data};
    return 0;
}

static int add_layer(struct model *model, int layer, struct err *err)
{
    char prefix[NAME_BYTES];
    snprintf(prefix, sizeof prefix, "h.%d.", layer);
    for (size_t i = 0; i < sizeof layer_rows / sizeof *layer_rows; i++)
        if (add_tensor(model, prefix, &layer_rows[i], err))
            return -1;
    return 0;
}

static int add_all(struct model *model, size_t words, struct err *err)
{
    const struct row wte = {"wte.weight", words, CHANNELS, 0, 0.3f, 0};
    const struct row wpe = {"wpe.weight", POSITIONS, CHANNELS, 0, 0.15f, 0};
    const struct row ln_weight = {.name = "ln_f.weight", .rows = CHANNELS, .mean = 1};
    const struct row ln_bias = {.name = "ln_f.bias", .rows = CHANNELS};
    if (add_tensor(model, "", &wte, err) || add_tensor(model, "", &wpe, err))
        return -1;
    for (int layer = 0; layer < LAYERS; layer++)
        if (add_layer(model, layer, err))
            return -1;
    return add_tensor(model, "", &ln_weight, err) || add_tensor(model, "", &ln_bias, err) ? -1 : 0;
}

static int write_weights(const char *to, size_t words, struct err *err)
{
    static const struct safetensors_note note = {"format", "pt"}; /* transformers asks for it */
    struct model model = {.random = SEED};
    int failed = add_all(&model, words, err) ||
                 write_tensors(to, "tiny", model.tensors, model.count, &note, err);
    arena_release(&model.arena);
    return failed ? -1 : 0;
}

static int write_config(const char *to, size_t words, struct err *err)
{
    struct stream out = {0};
    if (open_file(&out, to, "tiny", "config.json", err))
        return -1;
    stream_format(&out,
                  "{\n"
                  "  \"model_type\": \"gpt2\",\n"
                  "  \"architectures\": [\"GPT2LMHeadModel\"],\n"
                  "  \"activation_function\": \"gelu_new\",\n"
                  "  \"layer_norm_epsilon\": 1e-05,\n"
                  "  \"tie_word_embeddings\": true,\n"
                  "  \"n_layer\": %d,\n"
                  "  \"n_head\": %d,\n"
                  "  \"n_embd\": %d,\n"
                  "  \"n_positions\": %d,\n"
                  "  \"vocab_size\": %zu\n"
                  "}\n",
                  LAYERS, HEADS, CHANNELS, POSITIONS, words);
    return stream_commit(&out, err);
}

static int write_tiny(const char *from, const char *to, struct err *err)
{
    const struct folder folder = {.path = from};
    struct file list = {0};
    size_t words = 0;
    int failed = folder_open(&list, &folder, "tiny/words.txt", err) ||
                 write_vocabulary(&words, to, &list, err) || write_config(to, words, err) ||
                 write_weights(to, words, err);
    file_release(&list);
    return failed ? -1 : 0;
}

/* --------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: generate-models FROM TO\n");
        return 2;
    }
    static struct err err;
    int failed = write_tiny(argv[1], argv[2], &err);
    for (size_t i = 0; i < sizeof examples / sizeof *examples && !failed; i++)
        failed = write_tensors(argv[2], examples[i].name, examples[i].tensors, examples[i].count,
                               NULL, &err);
    if (failed)
        fprintf(stderr, "generate-models: error: %s\n", err.text);
    return failed ? 1 : 0;
}
