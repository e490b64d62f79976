/* generate: write the models in models/ anew: the same bytes every time, on every machine.
 *
 *     build/generate-models models models tiny life     read from FROM, write to TO, those models
 *
 * A worked example has a config.json; its numbers are drawn by recipe, or stand in this file.
 * `tiny` has random weights; they are made of integers and exact products, without the C library's
 * functions, so that no rounding differs.
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
#include "model/draft.h"
#include "model/origin.h"
#include "model/recipe.h"
#include "model/shape.h"

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

static int write_weights(const char *to, const char *model, const struct draft *draft,
                         struct err *err)
{
    struct stream out = {0};
    const struct folder_file *file = &draft->files[0];
    if (open_file(&out, to, model, file->name, err))
        return -1;
    stream_bytes(&out, file->bytes, file->size);
    return stream_commit(&out, err);
}

/* --- worked examples ------------------------------------------------------------------------- */

/* A row of a matrix is a line here. */
/* clang-format off */
static const float journey_words[] = {
    0.43f, 0.15f, 0.89f, /* Your */
    0.55f, 0.87f, 0.66f, /* journey */
    0.57f, 0.85f, 0.64f, /* starts */
    0.22f, 0.58f, 0.33f, /* with */
    0.77f, 0.25f, 0.10f, /* one */
    0.05f, 0.80f, 0.55f, /* step */
};
/* clang-format on */

/* Numbers that were given by hand: so far one sentence has them. */
static int give(const struct draft *draft, const char *model, struct err *err)
{
    struct draft_tensor *words = draft_tensor(draft, PARAMETER_WTE, 0);
    bool is_journey = strncmp(model, "journey", strlen("journey")) == 0;
    if (!is_journey || words->count != sizeof journey_words / sizeof *journey_words)
        return err_set(err, "'%s': expected a model whose numbers stand in maker.c", model);
    memcpy(words->data, journey_words, sizeof journey_words);
    return 0;
}

static int fill_example(struct draft *draft, const char *model, struct err *err)
{
    const struct origin *origin = origin_find(model);
    const struct recipe recipe = {
        .seed = ORIGIN_SEED,
        .source_rows = origin ? origin->source_rows : 0,
    };
    return origin && origin->given ? give(draft, model, err) : recipe_draw(draft, &recipe, err);
}

static int write_example(const char *from, const char *to, const char *model, struct err *err)
{
    const struct folder folder = {.path = from};
    struct buf name = {0};
    struct file config = {0};
    struct draft draft = {0};
    buf_format(&name, "%s/config.json", model);
    int failed = buf_check(&name, err) || folder_open(&config, &folder, name.bytes, err) ||
                 draft_open(&draft, model, config.bytes, config.size, err) ||
                 fill_example(&draft, model, err) || write_weights(to, model, &draft, err);
    draft_release(&draft);
    file_release(&config);
    buf_release(&name);
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

/* Queries and keys: wide enough for scores that lie apart and attention that is visibly uneven. */
static const float SHARPNESS = 2.5f;

/* How tensors are drawn; those that are not listed are 0. */
static const struct spread {
    float mean, spread;
} spreads[PARAMETERS] = {
    [PARAMETER_WTE] = {.spread = 0.3f},
    [PARAMETER_WPE] = {.spread = 0.15f},
    [PARAMETER_LN_1] = {.mean = 1},
    [PARAMETER_C_ATTN] = {.spread = 0.1f},
    [PARAMETER_C_ATTN_BIAS] = {.spread = 0.1f},
    [PARAMETER_ATTN_PROJ] = {.spread = 0.15f},
    [PARAMETER_LN_2] = {.mean = 1},
    [PARAMETER_FC] = {.spread = 0.15f},
    [PARAMETER_MLP_PROJ] = {.spread = 0.1f},
    [PARAMETER_LN_F] = {.mean = 1},
};

/* Every tensor takes its numbers from the row, also one that has no use for them. */
static void draw_tensor(const struct draft_tensor *tensor, uint64_t *random)
{
    const struct spread *row = &spreads[tensor->id];
    size_t columns = tensor->shape[1];
    size_t sharp = tensor->id == PARAMETER_C_ATTN ? columns / 3 * 2 : 0; /* queries and keys */
    for (size_t i = 0; i < tensor->count; i++) {
        float spread = i % columns < sharp ? row->spread * SHARPNESS : row->spread;
        tensor->data[i] = row->mean + spread * random_normal(random); /* one of the two is 0 */
    }
}

static int write_random(const char *to, const struct buf *config, struct err *err)
{
    struct draft draft = {0};
    uint64_t random = SEED;
    if (draft_open(&draft, "tiny", config->bytes, config->size, err))
        return -1;
    for (size_t i = 0; i < draft.count; i++)
        draw_tensor(&draft.tensors[i], &random);
    int failed = write_weights(to, "tiny", &draft, err);
    draft_release(&draft);
    return failed;
}

static int write_config(const char *to, const struct buf *config, struct err *err)
{
    struct stream out = {0};
    if (open_file(&out, to, "tiny", "config.json", err))
        return -1;
    stream_bytes(&out, config->bytes, config->size);
    return stream_commit(&out, err);
}

/* Its sizes are those of the shape of its name, but for the words. */
static int write_tiny(const char *from, const char *to, struct err *err)
{
    const struct folder folder = {.path = from};
    struct file list = {0};
    struct buf config = {0};
    const struct shape_row *shape = shape_find("tiny", err);
    struct shape_row row = shape ? *shape : (struct shape_row){0};
    int failed = !shape || folder_open(&list, &folder, "tiny/words.txt", err) ||
                 write_vocabulary(&row.vocab_size, to, &list, err);
    if (!failed) {
        shape_config(&config, &row);
        failed = buf_check(&config, err) || write_config(to, &config, err) ||
                 write_random(to, &config, err);
    }
    buf_release(&config);
    file_release(&list);
    return failed ? -1 : 0;
}

/* --------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: generate-models FROM TO MODEL...\n");
        return 2;
    }
    static struct err err;
    int failed = 0;
    for (char **model = argv + 3; *model && !failed; model++)
        failed = strcmp(*model, "tiny") == 0 ? write_tiny(argv[1], argv[2], &err)
                                             : write_example(argv[1], argv[2], *model, &err);
    if (failed)
        fprintf(stderr, "generate-models: error: %s\n", err.text);
    return failed ? 1 : 0;
}
