#include "measure/jacobian_lens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../rigs/goldens.h"
#include "../unit.h"
#include "base/buf.h"
#include "base/stream.h"
#include "format/json.h"
#include "format/pytorch.h"
#include "lens/selection.h"
#include "measure/logit_lens.h"

/* Matrices of layer 0 and what they predict for the first prompt, in float64,
 * tests/references/golden-jacobian.json: of a model that caps its logits, and of one that divides
 * them. torch wrote these matrices to tests/references/jacobian, as a lens and as a checkpoint of a
 * fit. */
enum { GOLDENS = 2, PROMPTS = 2 };

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct json *root;
static const struct json *golden;
static size_t zero;
static const struct layers first = {&zero, 1};

static void enter(void)
{
    root = goldens_open("tests/references/golden-jacobian.json");
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
    json_free(root);
}

FIXTURE(enter, leave)

static void open_model(int index)
{
    golden = golden_at(root, index);
    golden_open(&viewer, golden);
}

static void read_prompt(struct text_with_source *pair, int index)
{
    struct input ids = {0};
    json_get_text(golden_at(json_member(golden, "prompts"), index), &ids.ids);
    ck_assert_msg(!viewer_read(&viewer, pair, &ids, NULL, &arena, &err), "%s", err.text);
}

static void expect_numbers(const char *name, const float *found, size_t stride, double tolerance)
{
    const struct json *number = json_first(json_member(golden, name));
    double most = 0, expected = 0;
    for (const struct json *at = number; at; at = json_next(at))
        most = json_get_number(at, &expected) ? fmax(most, fabs(expected)) : NAN;
    for (size_t i = 0; number; i++, number = json_next(number), found += stride) {
        ck_assert(json_get_number(number, &expected));
        ck_assert_msg(fabs((double)*found - expected) <= tolerance * most,
                      "%s [%zu]: expected %g, found %g", name, i, expected, (double)*found);
    }
}

static struct jacobian_fit fit_prompts(void)
{
    struct jacobian_fit fit = {.viewer = &viewer, .layers = first};
    ck_assert(!jacobian_fit_begin(&fit, &arena, &err));
    for (int i = 0; i < PROMPTS; i++) {
        struct text_with_source pair;
        read_prompt(&pair, i);
        ck_assert_msg(!jacobian_fit_add(&fit, &pair, &err), "%s", err.text);
        pair.text.count = JACOBIAN_TOKENS_MIN - 1;
        ck_assert_msg(!jacobian_fit_add(&fit, &pair, &err), "%s", err.text);
    }
    ck_assert_uint_eq(fit.prompts, PROMPTS);
    return fit;
}

TEST_LOOP(matrices_are_those_of_float64, GOLDENS)
{
    open_model(_i);
    const struct jacobian_fit fit = fit_prompts();
    const size_t C = viewer.model.config.n_embd;
    for (size_t i = 0; i < C * C; i++)
        fit.sums[i] /= PROMPTS;
    expect_numbers("J", fit.sums, 1, 1e-5);
}

TEST_LOOP(files_of_torch_predict_what_they_do_in_float64, GOLDENS)
{
    static const char *const files[] = {"tests/references/jacobian/gemma2.pt",
                                        "tests/references/jacobian/granite.pt"};
    struct text_with_source pair;
    struct jacobian_lens jacobian;
    struct logit_lens lens;
    open_model(_i);
    read_prompt(&pair, 0);
    struct lens_plan plan = {.viewer = &viewer,
                             .site = SITE_RESID_POST,
                             .layers = first,
                             .best_count = 1,
                             .target = -1,
                             .against = -1,
                             .jacobian = &jacobian};
    int failed =
        jacobian_lens_open(&jacobian, files[_i], &viewer.model.config, &first, &arena, &err) ||
        lens_capture(&lens, &plan, &pair, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_uint_eq(jacobian.prompts, PROMPTS);
    const size_t stride = sizeof *lens.cells / sizeof(float);
    float *best = arena_room(&arena, pair.text.count, sizeof *best, &err);
    for (size_t i = 0; i < pair.text.count; i++)
        best[i] = lens.cells[i].best->logprob;
    expect_numbers("kl", &lens.cells->kl, stride, 1e-4);
    expect_numbers("entropy", &lens.cells->entropy, stride, 1e-5);
    expect_numbers("best", best, 1, 1e-5);
}

TEST(a_file_is_read_as_it_was_written)
{
    char path[] = "/tmp/attn-test.XXXXXX";
    struct jacobian_lens read;
    struct stream out = {0};
    open_model(1);
    const struct jacobian_fit fit = fit_prompts();
    const size_t C = viewer.model.config.n_embd;
    int descriptor = mkstemp(path);
    ck_assert(!stream_to(&out, descriptor, &err) && !jacobian_fit_write(&fit, &out, &err) &&
              !stream_commit(&out, &err));
    int failed = jacobian_lens_open(&read, path, &viewer.model.config, &first, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_uint_eq(read.prompts, PROMPTS);
    for (size_t i = 0; i < C * C; i++)
        ck_assert_float_eq(weight_element(read.weights, i % C, i / C),
                           float_of_half(half_of_float(fit.sums[i] / PROMPTS)));
    fit.sums[C] = 2e5f * PROMPTS;
    ck_assert(!stream_to(&out, descriptor, &err));
    ck_assert_int_eq(jacobian_fit_write(&fit, &out, &err), -1);
    ck_assert_str_eq(err.text, "Jacobian lens: expected numbers that fit in float16, found larger "
                               "ones in layer 0");
    stream_discard(&out);
    close(descriptor);
    unlink(path);
}

TEST(safetensors_have_a_matrix_for_each_layer)
{
    char path[] = "/tmp/attn-test.XXXXXX.safetensors";
    struct jacobian_lens read;
    struct buf bytes = {0};
    open_model(0);
    const size_t shape[] = {viewer.model.config.n_embd, viewer.model.config.n_embd};
    float *numbers = arena_alloc(&arena, shape[0] * shape[1], sizeof *numbers, &err);
    const struct safetensors_tensor tensor = {"J.0", 2, shape, numbers};
    numbers[shape[1] + 2] = 0.1f; /* row 1, column 2 */
    ck_assert(!safetensors_header(&bytes, &tensor, 1, NULL, 0, &err));
    buf_bytes(&bytes, numbers, shape[0] * shape[1] * sizeof *numbers);
    int descriptor = mkstemps(path, (int)strlen(".safetensors"));
    ck_assert_int_eq(write(descriptor, bytes.bytes, bytes.size), (ssize_t)bytes.size);
    int failed = jacobian_lens_open(&read, path, &viewer.model.config, &first, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_uint_eq(read.prompts, 0);
    ck_assert_float_eq(weight_element(read.weights, 2, 1), 0.1f);
    buf_release(&bytes);
    close(descriptor);
    unlink(path);
}

TEST(halves_are_rounded_to_nearest)
{
    static const struct {
        float value;
        uint16_t half;
    } rows[] = {{0, 0},
                {-0.0f, 0x8000},
                {1, 0x3c00},
                {1.00048828125f, 0x3c00},
                {1.0009f, 0x3c01},
                {65519, 0x7bff},
                {65520, 0x7c00},
                {-1e9f, 0xfc00},
                {0x1p-24f, 1},
                {0x1p-25f, 0},
                {0x1.8p-24f, 2},
                {0x1.ff8p-15f, 0x3ff},
                {0x1.ffcp-15f, 0x400},
                {0x1p-14f, 0x400}};
    for (uint32_t half = 0; half < 0x7c00; half++)
        ck_assert_uint_eq(half_of_float(float_of_half((uint16_t)half)), half);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_uint_eq(half_of_float(rows[i].value), rows[i].half);
    ck_assert_uint_eq(half_of_float(NAN) & 0x7fff, 0x7e00);
}
