#include "train/train_step.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/train_step_fixture.h"
#include "math/gemm.h"
#include "math/rng.h"
#include "train/trainer.h"

static const char *const cases[] = {
    "tied",       "untied",        "relu",         "silu",       "tanh",          "quick_gelu",
    "llama",      "llama_tied",    "qwen3",        "gemma",      "phi3",          "stablelm",
    "starcoder2", "opt",           "smollm3",      "granite",    "gpt_neox",      "gptj",
    "mistral",    "llama_dynamic", "llama_llama3", "llama_yarn", "phi3_longrope",
};
enum { CASES = COUNT(cases) };

static double learn(struct train_step_fixture *fixture, size_t step)
{
    struct err err = {0};
    struct train_batch batch = train_step_fixture_batch(fixture, step);
    double loss = 0;
    ck_assert_msg(train_step_run(&fixture->step, &batch, &loss, &err) == 0, "%s", err.text);
    return loss;
}

static float largest(const float *x, size_t count)
{
    float max = 0;
    for (size_t i = 0; i < count; i++)
        max = fmaxf(max, fabsf(x[i]));
    return max;
}

/* Compare a tensor with PyTorch's: |found - expected| <= relative · |expected| + floor. The floor
 * depends on the largest number of the tensor or of the model, because the gradient of the bias of
 * keys is 0 except for rounding. */
static void judge(const char *name, const float *found, const float *expected, size_t count,
                  float relative, float floor)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabsf(found[i] - expected[i]) <= relative * fabsf(expected[i]) + floor,
                      "%s[%zu]: expected %.9g, found %.9g", name, i, (double)expected[i],
                      (double)found[i]);
}

TEST_LOOP(gradients_agree_with_pytorch, CASES)
{
    struct train_step_fixture fixture;
    train_step_fixture_open(&fixture, cases[_i], 2, 0.0f);
    double loss = learn(&fixture, 0);
    float expected = *train_step_fixture_golden(&fixture, "", "loss");
    ck_assert_double_eq_tol(loss, (double)expected, 1e-5);
    float most = largest(fixture.step.gradients.values, fixture.step.gradients.count);
    for (size_t i = 0; i < fixture.new_model.count; i++) {
        const struct new_model_tensor *tensor = &fixture.new_model.tensors[i];
        const float *golden = train_step_fixture_golden(&fixture, "g.", tensor->name);
        judge(tensor->name, parameter_of(&fixture.step.gradients, tensor), golden, tensor->count,
              1e-4f, 2e-6f * fmaxf(largest(golden, tensor->count), 0.02f * most));
    }
    train_step_fixture_release(&fixture);
}

TEST_LOOP(ten_steps_agree_with_pytorch, CASES)
{
    struct train_step_fixture fixture;
    struct arena arena = {0};
    struct adamw adamw = {.beta_1 = 0.9, .beta_2 = 0.99, .epsilon = 1e-5, .decay = 0.1};
    train_step_fixture_open(&fixture, cases[_i], 2, 0.0f);
    ck_assert_int_eq(adamw_alloc(&adamw, &fixture.new_model, &arena, NULL), 0);
    for (size_t step = 0; step < 10; step++) {
        learn(&fixture, step);
        double norm = adamw_norm(&fixture.step.gradients);
        ck_assert_double_gt(norm, 0.5); /* the gradient is clipped */
        adamw_step(&adamw, &fixture.machine, &fixture.step.gradients, 1e-3,
                   (float)(0.5 / (norm + 1e-6)));
    }
    for (size_t i = 0; i < fixture.new_model.count; i++) {
        const struct new_model_tensor *tensor = &fixture.new_model.tensors[i];
        const float *golden = train_step_fixture_golden(&fixture, "t.", tensor->name);
        judge(tensor->name, tensor->data, golden, tensor->count, 1e-5f,
              1e-5f * largest(golden, tensor->count));
    }
    arena_release(&arena);
    train_step_fixture_release(&fixture);
}

/* The loss with a tensor moved by ±far along a random direction. */
static double moved(struct train_step_fixture *fixture, const struct new_model_tensor *tensor,
                    float far, bool dropping)
{
    struct train_batch batch = train_step_fixture_batch(fixture, 0);
    double loss = 0;
    float *old = arena_alloc(&fixture->new_model.arena, tensor->count, sizeof *old, NULL);
    memcpy(old, tensor->data, tensor->count * sizeof *old);
    for (size_t i = 0; i < tensor->count; i++)
        tensor->data[i] += rng_below(1, i, 2) ? far : -far;
    if (!dropping)
        batch.share = 0;
    ck_assert_int_eq(train_step_run(&fixture->step, &batch, &loss, NULL), 0);
    memcpy(tensor->data, old, tensor->count * sizeof *old);
    return loss;
}

static void compare_differences(struct train_step_fixture *fixture, float dropout)
{
    const float far = 5e-4f;
    size_t count = fixture->step.gradients.count;
    float *gradients = arena_alloc(&fixture->new_model.arena, count, sizeof *gradients, NULL);
    learn(fixture, 0);
    memcpy(gradients, fixture->step.gradients.values, count * sizeof *gradients);
    for (size_t t = 0; t < fixture->new_model.count; t++) {
        const struct new_model_tensor *tensor = &fixture->new_model.tensors[t];
        const float *gradient = gradients + (tensor->data - fixture->new_model.tensors[0].data);
        double slope = 0;
        double size = 0;
        for (size_t i = 0; i < tensor->count; i++) {
            slope += (double)(rng_below(1, i, 2) ? gradient[i] : -gradient[i]);
            size += fabs((double)gradient[i]);
        }
        double high = moved(fixture, tensor, far, dropout > 0);
        double low = moved(fixture, tensor, -far, dropout > 0);
        double found = (high - low) / (2 * (double)far);
        ck_assert_msg(fabs(found - slope) < 2e-3 * size + 1e-3, "%s: slope %g, differences %g",
                      tensor->name, slope, found);
    }
    train_step_fixture_release(fixture);
}

static void check_differences(const char *name, float dropout)
{
    struct train_step_fixture fixture;
    train_step_fixture_open(&fixture, name, 1, dropout);
    compare_differences(&fixture, dropout);
}

TEST(gradients_agree_with_finite_differences)
{
    check_differences("tied", 0.0f);
    check_differences("untied", 0.0f);
    check_differences("llama", 0.0f);
    check_differences("qwen3", 0.0f);
}

/* Without experts, whose choice is a step. */
static const char *const families[] = {"bert", "t5",    "bart",  "gemma2",     "albert",   "mpnet",
                                       "mpt",  "olmo2", "bloom", "modernbert", "diffllama"};

TEST_LOOP(gradients_of_all_objectives_agree_with_finite_differences, COUNT(families))
{
    struct train_step_fixture fixture;
    train_step_fixture_family(&fixture, families[_i], 0.0f);
    compare_differences(&fixture, 0.0f);
    train_step_fixture_family(&fixture, families[_i], 0.2f);
    compare_differences(&fixture, 0.2f);
}

TEST(the_backward_pass_drops_as_the_forward_pass)
{
    check_differences("tied", 0.2f);
    check_differences("untied", 0.4f);
    check_differences("llama", 0.2f);
}

TEST_LOOP(threads_do_not_change_a_bit, CASES)
{
    struct train_step_fixture one;
    struct train_step_fixture other;
    train_step_fixture_open(&one, cases[_i], 1, 0.1f);
    train_step_fixture_open(&other, cases[_i], 3, 0.1f);
    ck_assert_double_eq(learn(&one, 0), learn(&other, 0));
    ck_assert_mem_eq(one.step.gradients.values, other.step.gradients.values,
                     one.step.gradients.count * sizeof(float));
    train_step_fixture_release(&one);
    train_step_fixture_release(&other);
}
