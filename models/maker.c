/* generate-models: writes the models in models/ again, with the same bytes on every machine.
 *
 *     build/generate-models models models life journey     FROM TO MODEL...
 *
 * A worked example has a config.json. Its weights are drawn by recipe, or are in this file. `tiny`
 * is not a worked example: models/train.sh trains it.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/stream.h"
#include "model/new_model.h"
#include "train/weight_init.h"

/* --- files ----------------------------------------------------------------------------------- */

/* Open the file TO/MODEL/NAME for writing. */
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

static int write_weights(const char *to, const char *model, const struct new_model *new_model,
                         struct err *err)
{
    struct stream out = {0};
    const struct folder_file *file = &new_model->files[0];
    if (open_file(&out, to, model, file->name, err))
        return -1;
    stream_bytes(&out, file->bytes, file->size);
    return stream_commit(&out, err);
}

/* --- worked examples ------------------------------------------------------------------------- */

/* One line per row of the matrix. */
/* clang-format off */
static const float journey_words[] = {
    0.43f, 0.15f, 0.89f, /* Your */
    0.55f, 0.87f, 0.66f, /* journey */
    0.57f, 0.85f, 0.64f, /* starts */
    0.22f, 0.58f, 0.33f, /* with */
    0.77f, 0.25f, 0.10f, /* one */
    0.05f, 0.80f, 0.55f, /* step */
    /* journey-seven: the context of journey over the six words, as printed */
    0.4419f, 0.6515f, 0.5683f,
};
/* clang-format on */

enum { SIX_WORDS = 6 * 3 * sizeof(float) }; /* without journey-seven's own */

/* clang-format off */
static const float nlp_words[] = {
    0.1f, 0.9f, 0.2f, /* 我 */
    0.3f, 0.6f, 0.7f, /* 爱 */
    0.8f, 0.1f, 0.4f, /* 自然 */
    1.0f, 0.0f, 0.0f, /* 语言: its scores are the first channels of all words */
    0.6f, 0.3f, 0.5f, /* 处理 */
};
/* clang-format on */

/* Embeddings that were written by hand: the first rows. */
static const struct {
    const char *model;
    const float *words;
    size_t size;
} written[] = {
    {"journey", journey_words, SIX_WORDS},
    {"journey-causal", journey_words, SIX_WORDS},
    {"journey-seven", journey_words, sizeof journey_words},
    {"nlp", nlp_words, sizeof nlp_words},
};

enum { SOURCE_ROWS = 8 }; /* life-cross: words of the second text */

static const struct slot tokens = {BRANCH_TEXT, SLOT_TOKENS, -1, -1};

/* torch.rand for the second text, after the three matrices without a new seed. */
static void draw_source(const struct new_model *new_model)
{
    struct new_model_tensor *words = new_model_tensor(new_model, tokens);
    size_t count = SOURCE_ROWS * words->shape[1];
    struct torch_random random;
    torch_random_seed(&random, ORIGIN_SEED);
    for (int id = SLOT_Q; id <= SLOT_V; id += 2)
        torch_random_skip_uniform(&random,
                                  new_model_tensor(new_model, slot_of(BRANCH_TEXT, id, 0))->count);
    torch_random_uniform(&random, words->data + words->count - count, count, 0, 1);
}

static int fill_example(struct new_model *new_model, const char *model, struct err *err)
{
    const struct weight_init init = {.seed = ORIGIN_SEED};
    if (weight_init_draw(new_model, &init, err))
        return -1;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (strcmp(model, written[i].model) == 0)
            memcpy(new_model_tensor(new_model, tokens)->data, written[i].words, written[i].size);
    if (strcmp(model, "life-cross") == 0)
        draw_source(new_model);
    return 0;
}

static int write_example(const char *from, const char *to, const char *model, struct err *err)
{
    const struct folder folder = {.path = from};
    struct buf name = {0};
    struct file config = {0};
    struct new_model new_model = {0};
    buf_format(&name, "%s/config.json", model);
    int failed = buf_check(&name, err) || folder_open(&config, &folder, name.bytes, err) ||
                 new_model_open(&new_model, model, config.bytes, config.size, err) ||
                 fill_example(&new_model, model, err) || write_weights(to, model, &new_model, err);
    new_model_release(&new_model);
    file_release(&config);
    buf_release(&name);
    return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: generate-models FROM TO MODEL...\n");
        return 2;
    }
    static struct err err;
    int failed = 0;
    for (char **model = argv + 3; *model && !failed; model++)
        failed = write_example(argv[1], argv[2], *model, &err);
    if (failed)
        fprintf(stderr, "generate-models: error: %s\n", err.text);
    return failed ? 1 : 0;
}
