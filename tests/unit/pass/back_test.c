#include "pass/back.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/goldens.h"
#include "../unit.h"
#include "base/hash.h"
#include "format/json.h"
#include "math/machine.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "model/model.h"
#include "pass/tap.h"

/* tests/references/golden-gradients.json: gradients in float64 of a logit's difference; of each
 * tensor of a file two indices with their numbers, the largest first. */
enum { GOLDENS = 44, IDS_MAX = 32 };

static struct model model;
static struct machine machine;
static struct arena arena;
static struct err err;
static struct json *root;

static void enter(void)
{
    root = goldens_open("tests/references/golden-gradients.json");
}

static void leave(void)
{
    arena_release(&arena);
    model_release(&model);
    machine_release(&machine);
    json_free(root);
}

FIXTURE(enter, leave)

static size_t ids_of(const struct json *golden, const char *name, uint32_t ids[IDS_MAX])
{
    const char *text = golden_text(golden, name);
    size_t count = 0;
    for (char *end = NULL; text && *text; text = *end ? end + 1 : end)
        ids[count++] = (uint32_t)strtoul(text, &end, 10);
    return count;
}

static const struct json *open_golden(int index, size_t threads)
{
    char path[128];
    const struct json *golden = golden_at(root, index);
    int failed = model_open(&model, golden_path(path, golden), &err) ||
                 machine_open(&machine, threads, &err);
    ck_assert_msg(!failed, "%s: %s", path, err.text);
    return golden;
}

/* A row of zeros for each tensor of the model. */
static float **make_gradients(void)
{
    const size_t count = model.weights.parameter_count;
    float **gradients = arena_alloc(&arena, count, sizeof *gradients, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct parameter_info info = weights_parameter(&model.weights, i);
        if (info.entry)
            gradients[i] = arena_alloc(&arena, info.entry->count, sizeof(float), NULL);
    }
    return gradients;
}

/* The gradients of sites that a walk announced. */
static uint64_t digest;

static int take(void *context, const struct announcement *announced, struct err *why)
{
    const size_t bytes = tensor_count(&announced->values) * sizeof(float);
    float *values = malloc(bytes);
    (void)context;
    (void)why;
    tensor_copy(values, &announced->values);
    digest = hash_fnv(digest, (const char *)values, bytes);
    free(values);
    return 0;
}

/* Walk back from the golden's logits in a text between two others of its length. */
static float **walk(const struct json *golden, bool streams)
{
    uint32_t ids[3][IDS_MAX], sources[3][IDS_MAX];
    struct text texts[3];
    struct batch batch;
    struct tape tape = {.arena = &arena, .streams = streams};
    const size_t count = ids_of(golden, "ids", ids[1]), words = model.config.vocab_size;
    const size_t sources_count = ids_of(golden, "source", sources[1]);
    const struct run run = {
        .machine = &machine, .config = &model.config, .weights = &model.weights, .batch = &batch};
    float *seed = arena_alloc(&arena, 3 * count * words, sizeof *seed, NULL);
    const struct question question = golden_question(golden);
    float *row = seed + (count + question.position) * words;
    const struct back_seed seeds = {SITE_LOGITS, -1, seed};
    struct back back = {.run = &run, .tape = &tape, .seeds = &seeds, .seed_count = 1};
    float **gradients = make_gradients();
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < count && i != 1; k++)
            ids[i][k] = (uint32_t)(3 + (k * (i + 2)) % 8);
        for (size_t k = 0; k < sources_count && i != 1; k++)
            sources[i][k] = (uint32_t)(3 + (k * (i + 3)) % 9);
        texts[i] = (struct text){.ids = ids[i], .count = count, .source_count = sources_count};
        texts[i].source_ids = sources_count ? sources[i] : NULL;
    }
    row[question.answer] += 1;
    if (question.against >= 0)
        row[question.against] -= 1;
    back.gradients = gradients;
    back.sink = take;
    digest = 0;
    int failed = batch_init(&batch, &model.config, texts, 3, &arena, &err) ||
                 tape_run(&tape, &run, &err) || back_run(&back, &err);
    ck_assert_msg(!failed, "%s", err.text);
    return gradients;
}

/* The largest number of all tensors of a golden: a gradient that is 0 but for rounding, such as
 * that of the bias of keys, is compared with it. */
static double largest_of(const struct json *golden)
{
    double most = 0, number = 0;
    for (const struct json *at = json_first(json_member(golden, "parameters")); at;
         at = json_next(at))
        if (json_get_number(json_next(json_first(at)), &number))
            most = fmax(most, fabs(number));
    return most;
}

TEST_LOOP(gradients_of_parameters_are_those_of_float64, GOLDENS)
{
    const struct json *golden = open_golden(_i, 2);
    float **gradients = walk(golden, false);
    const double most = largest_of(golden);
    size_t found = 0;
    for (size_t i = 0; i < model.weights.parameter_count; i++) {
        const struct parameter_info info = weights_parameter(&model.weights, i);
        const struct json *numbers =
            info.entry ? json_member(json_member(golden, "parameters"), info.entry->name) : NULL;
        if (!numbers)
            continue;
        golden_expect_two(numbers, gradients[i], 5e-8 * most);
        found++;
    }
    ck_assert_uint_eq(found, json_count(json_member(golden, "parameters")));
}

static void expect_equal(float **one, float **other)
{
    for (size_t i = 0; i < model.weights.parameter_count; i++)
        if (one[i])
            ck_assert_mem_eq(one[i], other[i],
                             weights_parameter(&model.weights, i).entry->count * sizeof(float));
}

TEST_LOOP(threads_do_not_change_a_bit_of_gradients, GOLDENS)
{
    const struct json *golden = open_golden(_i, 1);
    float **one = walk(golden, false);
    machine_release(&machine);
    ck_assert(!machine_open(&machine, 3, &err));
    expect_equal(one, walk(golden, false));
}

TEST_LOOP(layers_that_run_again_give_the_same_bits, GOLDENS)
{
    const struct json *golden = open_golden(_i, 2);
    float **one = walk(golden, false);
    const uint64_t of_sites = digest;
    expect_equal(one, walk(golden, true));
    ck_assert_uint_eq(digest, of_sites);
}
