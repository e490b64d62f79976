#include "model/weights.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/tiny_model.h"

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 9, "n_embd": 6, "n_layer": 2,
          "n_head": 2, "n_inner": 7, "tie_word_embeddings": false});
/* clang-format on */

static struct tiny_model model;
static struct weights weights;
static struct err err;

static void must_open(void)
{
    err = (struct err){0};
    ck_assert_msg(!weights_open(&weights, &model.config, &model.folder, &err), "%s", err.text);
}

static void release(void)
{
    weights_release(&weights);
    tiny_model_release(&model);
}

static const float *values(const char *name)
{
    return tiny_model_tensor(&model, name)->values;
}

static void check_weight(const struct weight *w, const char *name, size_t in, size_t out)
{
    char bias[64];
    snprintf(bias, sizeof bias, "%.*s.bias", (int)(strlen(name) - strlen(".weight")), name);
    ck_assert_uint_eq(w->in, in);
    ck_assert_uint_eq(w->out, out);
    ck_assert_uint_eq(w->stride, out);
    ck_assert_mem_eq(w->data, values(name), in * out * sizeof(float));
    ck_assert_mem_eq(w->bias, values(bias), out * sizeof(float));
}

static bool is_in_file(const void *at)
{
    return (const char *)at >= model.bytes.bytes &&
           (const char *)at < model.bytes.bytes + model.bytes.size;
}

TEST(aligned_float32_is_used_in_place)
{
    for (size_t shift = 0; shift < 8; shift++) {
        struct block_weights w;
        tiny_model_make(&model, gpt2);
        tiny_model_write(&model, shift);
        must_open();
        ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, 0, &w, &err), 0);
        ck_assert_int_eq(is_in_file(w.mlp.fc.data), shift % 4 == 0);
        check_weight(&w.mlp.fc, "h.0.mlp.c_fc.weight", 6, 7);
        release();
    }
}

TEST(other_types_are_converted_once)
{
    static const enum dtype types[] = {DTYPE_F16, DTYPE_F64};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct block_weights first, second;
        tiny_model_make(&model, gpt2);
        tiny_model_retype(&model, types[i]);
        tiny_model_write(&model, 0);
        must_open();
        ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, 0, &first, &err), 0);
        ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, 0, &second, &err), 0);
        check_weight(&first.mlp.fc, "h.0.mlp.c_fc.weight", 6, 7);
        ck_assert_ptr_eq(first.mlp.fc.data, second.mlp.fc.data);
        ck_assert(!is_in_file(first.mlp.fc.data));
        release();
    }
}

/* Of float16 all that is used is converted, but for the embeddings; of float32 nothing. */
TEST(converted_weights_take_the_documented_memory)
{
    for (size_t i = 0; i < 2; i++) {
        struct block_weights w;
        struct weight words;
        tiny_model_make(&model, gpt2);
        tiny_model_retype(&model, i ? DTYPE_F16 : DTYPE_F32);
        tiny_model_write(&model, 0);
        must_open();
        size_t embeddings = i ? (11 + 9) * 6 * sizeof(float) : 0;
        size_t before = weights.arena.taken_bytes;
        for (size_t layer = 0; layer < 2; layer++)
            ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, layer, &w, &err), 0);
        ck_assert_int_eq(weights_unembedding(&weights, &words, &err), 0);
        size_t taken = weights.arena.taken_bytes - before + embeddings;
        ck_assert_uint_ge(weights_bytes(&weights).heap + 2000, taken); /* alignment */
        ck_assert_uint_le(weights_bytes(&weights).heap, taken + 2 * 6 * sizeof(float)); /* ln_f */
        ck_assert_int_eq(weights_bytes(&weights).mapped > 0, i == 0);
        release();
    }
}

TEST(bf16_matrices_are_used_in_place)
{
    for (size_t shift = 0; shift < 2; shift++) {
        struct block_weights w;
        tiny_model_make(&model, gpt2);
        tiny_model_retype(&model, DTYPE_BF16);
        tiny_model_write(&model, shift);
        must_open();
        weights.packing = true;
        ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, 0, &w, &err), 0);
        ck_assert(is_in_file(w.mlp.fc.halves) && !w.mlp.fc.data && !w.mlp.fc.panels);
        for (size_t i = 0; i < 42; i++)
            ck_assert(weight_element(&w.mlp.fc, i / 7, i % 7) == values("h.0.mlp.c_fc.weight")[i]);
        release();
    }
}

/* Each matrix of this model is one panel of 32 columns; its first one is packed. */
TEST(packing_has_a_limit_and_may_include_bf16)
{
    for (size_t i = 0; i < 2; i++) {
        struct block_weights w, again;
        size_t panel = 6 * PANEL_COLUMNS * sizeof(float);
        tiny_model_make(&model, gpt2);
        tiny_model_retype(&model, i ? DTYPE_BF16 : DTYPE_F32);
        tiny_model_write(&model, 0);
        must_open();
        weights.packing = weights.packing_widened = true;
        weights.packing_bytes = 2 * panel - 1;
        ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, 0, &w, &err), 0);
        ck_assert(w.self.joined.panels && !w.self.out.panels && !w.mlp.fc.panels);
        ck_assert_uint_eq(weights.packing_bytes, panel - 1);
        ck_assert_int_eq(weights_block(&weights, BRANCH_TEXT, 0, &again, &err), 0);
        ck_assert_ptr_eq(again.self.joined.panels, w.self.joined.panels);
        struct weight panels = {.panels = w.self.joined.panels, .in = 6, .out = 18};
        for (size_t at = 0; at < 6 * 18; at++)
            ck_assert(weight_element(&panels, at / 18, at % 18) ==
                      values("h.0.attn.c_attn.weight")[at]);
        for (size_t at = 0; at < 6; at++) /* the rest of the panel is zeros */
            ck_assert(panels.panels[at * PANEL_COLUMNS + 18] == 0);
        release();
    }
}

TEST(a_tied_or_missing_unembedding_is_the_embedding)
{
    struct weight w;
    tiny_model_make(&model, gpt2);
    must_open();
    ck_assert_int_eq(weights_unembedding(&weights, &w, &err), 0);
    ck_assert_mem_eq(w.rows.data, values("lm_head.weight"), 66 * sizeof(float));
    weights_release(&weights);
    tiny_model_drop(&model, "lm_head.weight");
    tiny_model_write(&model, 0);
    must_open();
    ck_assert_int_eq(weights_unembedding(&weights, &w, &err), 0);
    ck_assert_mem_eq(w.rows.data, values("wte.weight"), 66 * sizeof(float));
    weights_release(&weights);
    float *head = tiny_model_add(&model, "lm_head.weight", DTYPE_F32, 2, (size_t[]){11, 6})->values;
    memcpy(head, values("wte.weight"), 66 * sizeof(float));
    for (int own = 0; own < 2; own++) { /* a copy; then other numbers, which count */
        head[65] += (float)own;
        tiny_model_write(&model, 0);
        model.config.tied = true;
        must_open();
        ck_assert_int_eq(model.config.tied, !own);
        ck_assert_int_eq(weights_unembedding(&weights, &w, &err), 0);
        ck_assert_mem_eq(w.rows.data, values(own ? "lm_head.weight" : "wte.weight"),
                         66 * sizeof(float));
        weights_release(&weights);
    }
    release();
}
