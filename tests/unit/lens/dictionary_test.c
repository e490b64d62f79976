#include "lens/dictionary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/names.h"
#include "math/machine.h"

/* Files of each format, with random numbers, in tests/references/golden-features; in
 * numbers.safetensors the rows of the site, and the features and outputs that the publishers' own
 * code makes of them: SAELens 6.54.12 and its loaders, sparsify 9d3b136, circuit-tracer d797c82,
 * dictionary-learning 0.1.0 (gated, jumprelu); or their formulas in torch: OpenMOSS 1e710367,
 * circuit-tracer 196e2ce, dictionary_learning 088e587, Qwen Scope and Goodfire, whose files have a
 * layer in their names. */
#define GOLDENS "tests/references/golden-features/"

static const struct golden {
    const char *folder; /* the first name is that of its numbers */
    int layer;
    bool rms, post_norms;
    enum site site, site_out;
    bool of_direction;
    const char *refused; /* a part of the message; NULL: it is read */
} goldens[] = {
    {"circuit-tracer", 1, true, false, SITE_LN_2, SITE_MLP_OUT},
    {"circuit-tracer-2025", 0, true, false, SITE_RESID_MID, SITE_MLP_OUT},
    {"dictionary-learning", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"dictionary-learning-gated", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"dictionary-learning-jumprelu", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"dictionary-learning-topk", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"gemma-scope/gemma-scope-2b-pt-res/layer_1/width_16k/average_l0_9", 1, true, true,
     SITE_RESID_POST, SITE_RESID_POST},
    {"gemma-scope-2/gemma-scope-2-1b-pt/resid_post/layer_1_width_16k_l0_small", 1, true, true,
     SITE_RESID_POST, SITE_RESID_POST},
    {"gemma-scope-2-transcoder/gemma-scope-2-1b-pt/transcoder/layer_0_width_16k_l0_small_affine", 0,
     true, true, SITE_LN_2, SITE_LN_2_POST},
    {"gemma-scope-embedding/gemma-scope-2b-pt-res/embedding/width_4k/average_l0_9", 0, true, true,
     SITE_EMBEDDING, SITE_EMBEDDING},
    {"gemma-scope-transcoder/gemma-scope-2b-pt-transcoders/layer_1/width_16k/average_l0_9", 1, true,
     true, SITE_RESID_MID, SITE_LN_2_POST, true},
    {"goodfire", 1, true, false, SITE_RESID_POST, SITE_RESID_POST},
    {"llama-scope/Llama3_1-8B-Base-L1R-8x", 1, true, false, SITE_RESID_POST, SITE_RESID_POST},
    {"llama-scope-transcoder/Llama3_1-8B-Base-L1TC-8x", 1, true, false, SITE_RESID_MID,
     SITE_MLP_OUT, true},
    {"qwen-scope/SAE-Res-Qwen3-8B-Base-W64K-L0_14", 1, true, false, SITE_RESID_POST,
     SITE_RESID_POST},
    {"saelens-centered-5", 1, false, false, SITE_RESID_PRE, SITE_RESID_PRE},
    {"saelens-finetuned-5", 0, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-gated", 0, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-jumprelu", 0, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-norm-average", 0, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-norm-constant", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-skip-transcoder", 0, true, false, SITE_RESID_MID, SITE_MLP_OUT},
    {"saelens-standard", 0, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-topk", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"saelens-topk-5", 0, false, false, SITE_ATTN_OUT, SITE_ATTN_OUT},
    {"saelens-transcoder", 1, true, false, SITE_LN_2, SITE_MLP_OUT},
    {"sparsify/layers.1", 1, false, false, SITE_RESID_POST, SITE_RESID_POST},
    {"sparsify-skip-transcoder/layers.1.mlp", 1, true, false, SITE_LN_2, SITE_MLP_OUT},
    {"refused-average", .refused = "expected_average_only_in"},
    {"refused-folded-values", .refused = "fold_value_biases"},
    {"refused-matching-pursuit", .refused = "matching_pursuit"},
    {"refused-tanh", .refused = "tanh-relu"},
    {"refused-temporal", .refused = "temporal"},
    {"refused-whitening", .refused = "covariance_whitening"},
};

static struct arena arena;
static struct err err;
static struct dump numbers;

static void enter(void)
{
    ck_assert_msg(!dump_open(&numbers, GOLDENS "numbers.safetensors", &err), "%s", err.text);
}

static void leave(void)
{
    dump_release(&numbers);
    arena_release(&arena);
}

FIXTURE(enter, leave)

static struct matrix numbers_of(const struct golden *golden, const char *what)
{
    char name[96];
    snprintf(name, sizeof name, "%.*s.%s", (int)strcspn(golden->folder, "/"), golden->folder, what);
    const struct safetensors_entry *entry = safetensors_find(&numbers.tensors, name);
    ck_assert_msg(entry != NULL, "expected '%s', found none", name);
    struct matrix found = matrix_new(entry->shape[0], entry->shape[1], &arena, &err);
    for (size_t i = 0; i < found.rows; i++)
        memcpy(matrix_row(found, i), safetensors_row(entry, i), found.columns * sizeof(float));
    return found;
}

static double largest_of(struct matrix x)
{
    double largest = 0;
    for (size_t i = 0; i < x.rows; i++)
        for (size_t k = 0; k < x.columns; k++)
            largest = fmax(largest, fabs((double)matrix_row(x, i)[k]));
    return largest;
}

static void expect_close(struct matrix found, struct matrix expected, const char *what)
{
    const double largest = largest_of(expected);
    for (size_t i = 0; i < found.rows; i++)
        for (size_t k = 0; k < found.columns; k++) {
            float one = matrix_row(found, i)[k], other = matrix_row(expected, i)[k];
            ck_assert_msg(fabs((double)one - (double)other) <= 1e-5 * largest,
                          "%s: token %zu, %zu: expected %g, found %g", what, i, k, (double)other,
                          (double)one);
        }
}

static int open_golden(struct dictionary *dictionary, const struct golden *golden)
{
    char path[160];
    const struct dictionary_model model = {golden->rms, golden->post_norms, 0};
    const bool by_layer =
        name_is_among("circuit-tracer circuit-tracer-2025 goodfire", golden->folder) ||
        strncmp(golden->folder, "qwen", 4) == 0;
    snprintf(path, sizeof path, GOLDENS "%s", golden->folder);
    return dictionary_read(dictionary,
                           &(struct dictionary_request){path, by_layer ? golden->layer : -1},
                           &model, &err);
}

TEST_LOOP(files_of_each_format_give_the_features_of_their_own_code, COUNT(goldens))
{
    const struct golden *golden = &goldens[_i];
    struct dictionary d;
    int failed = open_golden(&d, golden);
    if (golden->refused) {
        ck_assert_msg(failed && strstr(err.text, golden->refused) && err.kind == ERR_UNSUPPORTED,
                      "%s: found: %s", golden->folder, err.text);
        return;
    }
    ck_assert_msg(!failed, "%s: %s", golden->folder, err.text);
    ck_assert_uint_eq(d.layer, (size_t)golden->layer);
    ck_assert_int_eq(d.site, golden->site);
    ck_assert_int_eq(d.site_out, golden->site_out);
    ck_assert_int_eq(d.of_direction, golden->of_direction);

    struct machine machine;
    ck_assert(!machine_open(&machine, 1, &err));
    const struct matrix x = numbers_of(golden, "input"), f = numbers_of(golden, "features");
    struct matrix y = numbers_of(golden, "output"),
                  found = matrix_new(x.rows, d.count, &arena, &err);
    struct feature_row rows[16], alone[16];
    ck_assert_uint_le(x.rows, COUNT(rows));
    ck_assert(!dictionary_encode(&d, &machine, rows, x, &arena, &err));
    ck_assert(!dictionary_encode(&d, NULL, alone, x, &arena, &err));
    for (size_t i = 0; i < x.rows; i++) {
        ck_assert_uint_eq(rows[i].count, alone[i].count);
        ck_assert(memcmp(rows[i].items, alone[i].items, rows[i].count * sizeof *rows[i].items) ==
                  0);
        for (size_t j = 0; j < rows[i].count; j++)
            matrix_row(found, i)[rows[i].items[j].id] = rows[i].items[j].value;
        for (size_t j = 0; j < d.count; j++)
            ck_assert_msg((matrix_row(found, i)[j] != 0) == (matrix_row(f, i)[j] != 0),
                          "%s: token %zu, feature %zu: expected %g, found %g", golden->folder, i, j,
                          (double)matrix_row(f, i)[j], (double)matrix_row(found, i)[j]);
    }
    expect_close(found, f, golden->folder);
    struct matrix decoded = matrix_new(x.rows, d.out, &arena, &err);
    ck_assert(!dictionary_decode(&d, decoded, rows, x, &arena, &err));
    expect_close(decoded, y, golden->folder);
    machine_release(&machine);
    dictionary_release(&d);
}
