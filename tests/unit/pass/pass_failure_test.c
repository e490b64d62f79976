#include "pass/pass.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/small_models.h"
#include "pass/tap.h"

/* clang-format off */
static const char two_heads[] = JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 4,
                                     "n_head": 2, "projections": false});
static const char with_activation[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 30, "n_embd": 12, "n_layer": 2,
          "n_head": 3, "activation_function": "%s"});
/* clang-format on */

static struct tiny_model model;
static struct rig rig;
static struct recording seen;

/* An element that the text uses; of embeddings, a row of one of its tokens or positions. */
static size_t used_element(const struct tiny_tensor *tensor, bool of_source)
{
    struct text text = small_text(&model);
    uint32_t id = of_source ? text.source_ids[3] : text.ids[3];
    if (strcmp(tensor->name, "wte.weight") == 0)
        return id * tensor->shape[1] + 2;
    if (strcmp(tensor->name, "wpe.weight") == 0)
        return 5 * tensor->shape[1] + 1;
    return tensor->count - 1 - tensor->count / 3;
}

static enum site last_site(void)
{
    return model.config.kind == MODEL_ATTENTION ? SITE_ATTN_OUT : SITE_LOGITS;
}

static void expect_blame(const char *tensor, float bad, size_t element)
{
    char expected[256];
    struct err err;
    rig_open(&rig, &model, 1);
    watch_add(&rig.watch, last_site(), 1);
    snprintf(expected, sizeof expected,
             "'tiny-model/model.safetensors': tensor '%s': expected finite numbers, found %s at "
             "element %zu",
             tensor,
             isnan(bad) ? "nan"
             : bad > 0  ? "inf"
                        : "-inf",
             element);
    ck_assert_msg(small_run(&rig, &seen, &err) == -1, "expected an error: %s", expected);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(err.kind, ERR_INPUT);
    rig_watch_all(&rig);
    ck_assert_int_eq(small_run(&rig, &seen, &err), -1);
    ck_assert_str_eq(err.text, expected);
    rig_close(&rig);
}

static void blame_every_tensor(const char *config, bool of_source)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    tiny_model_make(&model, config);
    for (size_t i = 0; i < model.count; i++) {
        struct tiny_tensor *tensor = &model.tensors[i];
        size_t element = used_element(tensor, of_source);
        float sound = tensor->values[element];
        for (size_t k = 0; k < COUNT(bad); k++) {
            tensor->values[element] = bad[k];
            tiny_model_write(&model, 0);
            expect_blame(tensor->name, bad[k], element);
        }
        tensor->values[element] = sound;
    }
    tiny_model_release(&model);
}

TEST(a_weight_that_is_not_finite_is_named_with_its_element)
{
    blame_every_tensor(small_gpt2, false);
    blame_every_tensor(small_self, false);
    blame_every_tensor(small_cross, false);
    blame_every_tensor(small_bare, false);
    blame_every_tensor(small_encoder, false);
}

TEST(an_embedding_that_only_the_source_uses_is_named)
{
    blame_every_tensor(small_cross, true);
    blame_every_tensor(small_encoder, true);
}

TEST(no_activation_hides_infinity)
{
    static const char *const names[] = {"gelu_new", "gelu", "relu", "silu", "tanh", "quick_gelu"};
    static const char *const tensors[] = {"h.1.mlp.c_fc.weight", "h.1.mlp.c_fc.bias"};
    for (size_t i = 0; i < COUNT(names) * COUNT(tensors); i++) {
        char config[256];
        snprintf(config, sizeof config, with_activation, names[i / COUNT(tensors)]);
        for (int sign = -1; sign <= 1; sign += 2) {
            tiny_model_make(&model, config);
            const char *name = tensors[i % COUNT(tensors)];
            tiny_model_tensor(&model, name)->values[7] = (float)sign * INFINITY;
            tiny_model_write(&model, 0);
            expect_blame(name, (float)sign * INFINITY, 7);
            tiny_model_release(&model);
        }
    }
}

/* Weights are finite, but products overflow. */
TEST(an_overflow_names_the_site_and_the_text)
{
    struct err err = {0};
    tiny_model_make(&model, two_heads);
    for (size_t i = 2; i < 4; i++) /* of the second head */
        tiny_model_tensor(&model, "wte.weight")->values[39 * 4 + i] = 1e25f;
    tiny_model_write(&model, 0);
    rig_open(&rig, &model, 1);
    watch_add(&rig.watch, SITE_WEIGHTS, 0);
    struct text texts[] = {{.ids = (uint32_t[]){1, 2}, .count = 2},
                           {.ids = (uint32_t[]){1, 39}, .count = 2},
                           {.ids = (uint32_t[]){3, 4, 39}, .count = 3}};
    seen = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &seen, texts, COUNT(texts), &err), -1);
    ck_assert_str_eq(
        err.text, "'h.0.scores' of L0H1: expected finite numbers, found infinity or nan (text 1)");
    ck_assert_int_eq(err.kind, ERR_INPUT);
    recording_release(&seen);
    rig_close(&rig);
    tiny_model_release(&model);
}

TEST(an_overflow_of_the_embedding_is_not_announced)
{
    struct err err;
    tiny_model_make(&model, small_gpt2);
    tiny_model_tensor(&model, "wpe.weight")->values[3] = 3e38f;
    for (size_t id = 0; id < 40; id++)
        tiny_model_tensor(&model, "wte.weight")->values[12 * id + 3] = 3e38f;
    tiny_model_write(&model, 0);
    rig_open(&rig, &model, 1);
    watch_add(&rig.watch, SITE_EMBEDDING, 0);
    ck_assert_int_eq(small_run(&rig, &seen, &err), -1);
    ck_assert_str_eq(err.text,
                     "'embedding': expected finite numbers, found infinity or nan (text 0)");
    ck_assert_uint_eq(seen.count, 0);
    rig_close(&rig);
    tiny_model_release(&model);
}

TEST(an_error_of_the_sink_ends_the_pass_and_is_returned)
{
    tiny_model_make(&model, small_gpt2);
    rig_open(&rig, &model, 1);
    rig_watch_all(&rig);
    struct text texts[] = {small_text(&model), small_text(&model)};
    for (size_t nth = 1; nth <= 2 * (3 + 2 * 15); nth++) {
        char expected[64];
        struct err err = {0};
        seen = (struct recording){.fail_at = nth};
        ck_assert_int_eq(rig_run(&rig, &seen, texts, COUNT(texts), &err), -1);
        snprintf(expected, sizeof expected, "announcement %zu is refused", nth);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, ERR_OUTPUT);
        ck_assert_uint_eq(seen.count, nth);
        recording_release(&seen);
    }
    rig_close(&rig);
    tiny_model_release(&model);
}
