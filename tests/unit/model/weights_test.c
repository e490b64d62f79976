#include "model/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/tiny_model.h"
#include "base/heap.h"

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 9, "n_embd": 6, "n_layer": 2,
          "n_head": 2, "n_inner": 7, "tie_word_embeddings": false});
static const char attention[] =
    JSON({"model_type": "attention", "vocab_size": 11, "n_embd": 6, "n_layer": 2, "n_head": 4,
          "n_kv_head": 2, "d_k": 3, "d_v": 5, "out_proj": true, "bias": true});
static const char wide[] =
    JSON({"model_type": "gpt2", "vocab_size": 3, "n_positions": 2, "n_embd": 600, "n_layer": 1,
          "n_head": 1, "n_inner": 1});
static const char bare[] =
    JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "projections": false});
/* clang-format on */

static struct tiny_model model;
static struct weights weights;
static struct err err;

static void make(const char *config)
{
    tiny_model_make(&model, config);
}

static int open_weights(void)
{
    err = (struct err){0};
    return weights_open(&weights, &model.config, &model.folder, &err);
}

static void must_open(void)
{
    ck_assert_msg(!open_weights(), "%s", err.text);
}

static void release(void)
{
    weights_release(&weights);
    tiny_model_release(&model);
}

/* What the named tensor holds, from its element `first` on. */
static const float *values(const char *name, size_t first)
{
    return tiny_model_tensor(&model, name)->values + first;
}

static void check_weight(const struct weight *w, const char *name, size_t in, size_t out)
{
    char bias[64];
    snprintf(bias, sizeof bias, "%.*s.bias", (int)(strlen(name) - strlen(".weight")), name);
    ck_assert_uint_eq(w->in, in);
    ck_assert_uint_eq(w->out, out);
    ck_assert_uint_eq(w->stride, out);
    ck_assert_mem_eq(w->data, values(name, 0), in * out * sizeof(float));
    ck_assert_mem_eq(w->bias, values(bias, 0), out * sizeof(float));
}

TEST(a_gpt2_layer_has_its_parts)
{
    struct block_weights w;
    make(gpt2);
    must_open();
    ck_assert_int_eq(weights_block(&weights, 1, SITE_RESID_POST, &w, &err), 0);
    ck_assert_mem_eq(w.self.norm.scale, values("h.1.ln_1.weight", 0), 6 * sizeof(float));
    ck_assert_mem_eq(w.self.norm.shift, values("h.1.ln_1.bias", 0), 6 * sizeof(float));
    ck_assert_mem_eq(w.mlp.norm.scale, values("h.1.ln_2.weight", 0), 6 * sizeof(float));
    ck_assert_mem_eq(w.mlp.norm.shift, values("h.1.ln_2.bias", 0), 6 * sizeof(float));
    ck_assert(w.self.norm.epsilon == 1e-5f && w.mlp.norm.epsilon == 1e-5f);
    check_weight(&w.self.out, "h.1.attn.c_proj.weight", 6, 6);
    check_weight(&w.mlp.fc, "h.1.mlp.c_fc.weight", 6, 7);
    check_weight(&w.mlp.proj, "h.1.mlp.c_proj.weight", 7, 6);
    release();
}

TEST(queries_keys_and_values_are_columns_of_one_matrix)
{
    struct block_weights w;
    make(gpt2);
    must_open();
    ck_assert_int_eq(weights_block(&weights, 0, SITE_RESID_POST, &w, &err), 0);
    const struct weight *const parts[] = {&w.self.q, &w.self.k, &w.self.v};
    for (size_t i = 0; i < COUNT(parts); i++) {
        ck_assert_uint_eq(parts[i]->in, 6);
        ck_assert_uint_eq(parts[i]->out, 6);
        ck_assert_uint_eq(parts[i]->stride, 18);
        ck_assert_mem_eq(parts[i]->bias, values("h.0.attn.c_attn.bias", 6 * i), 6 * sizeof(float));
        for (size_t row = 0; row < 6; row++)
            ck_assert_mem_eq(parts[i]->data + row * parts[i]->stride,
                             values("h.0.attn.c_attn.weight", row * 18 + 6 * i), 6 * sizeof(float));
    }
    release();
}

TEST(a_layer_of_bare_attention_has_its_parts)
{
    struct block_weights w;
    make(attention);
    must_open();
    ck_assert_int_eq(weights_block(&weights, 1, SITE_RESID_POST, &w, &err), 0);
    check_weight(&w.self.q, "h.1.attn.q_proj.weight", 6, 12);
    check_weight(&w.self.k, "h.1.attn.k_proj.weight", 6, 6);
    check_weight(&w.self.v, "h.1.attn.v_proj.weight", 6, 10);
    check_weight(&w.self.out, "h.1.attn.out_proj.weight", 20, 6);
    release();
}

TEST(what_a_model_lacks_is_null)
{
    struct block_weights w;
    make(bare);
    must_open();
    ck_assert_int_eq(weights_block(&weights, 0, SITE_RESID_POST, &w, &err), 0);
    ck_assert(!w.self.q.data && !w.self.k.data && !w.self.v.data && !w.self.out.data &&
              !w.self.q.bias && !w.mlp.fc.data);
    release();
}

static bool is_in_file(const void *at)
{
    return (const char *)at >= model.bytes.bytes &&
           (const char *)at < model.bytes.bytes + model.bytes.size;
}

TEST(float32_is_used_where_it_lies_if_it_lies_well)
{
    for (size_t shift = 0; shift < 8; shift++) {
        struct block_weights w;
        make(gpt2);
        tiny_model_write(&model, shift);
        must_open();
        ck_assert_int_eq(weights_block(&weights, 0, SITE_RESID_POST, &w, &err), 0);
        ck_assert_int_eq(is_in_file(w.mlp.fc.data), shift % 4 == 0);
        check_weight(&w.mlp.fc, "h.0.mlp.c_fc.weight", 6, 7);
        release();
    }
}

TEST(other_types_are_read_once)
{
    static const enum dtype types[] = {DTYPE_F16, DTYPE_F64};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct block_weights first, second;
        make(gpt2);
        tiny_model_retype(&model, types[i]);
        tiny_model_write(&model, 0);
        must_open();
        ck_assert_int_eq(weights_block(&weights, 0, SITE_RESID_POST, &first, &err), 0);
        ck_assert_int_eq(weights_block(&weights, 0, SITE_RESID_POST, &second, &err), 0);
        check_weight(&first.mlp.fc, "h.0.mlp.c_fc.weight", 6, 7);
        ck_assert_ptr_eq(first.mlp.fc.data, second.mlp.fc.data);
        ck_assert(!is_in_file(first.mlp.fc.data));
        release();
    }
}

TEST(bf16_matrices_are_used_where_they_lie)
{
    for (size_t shift = 0; shift < 2; shift++) {
        struct block_weights w;
        make(gpt2);
        tiny_model_retype(&model, DTYPE_BF16);
        tiny_model_write(&model, shift);
        must_open();
        weights.packing = true;
        ck_assert_int_eq(weights_block(&weights, 0, SITE_RESID_POST, &w, &err), 0);
        ck_assert(is_in_file(w.mlp.fc.halves) && !w.mlp.fc.data && !w.mlp.fc.panels);
        for (size_t i = 0; i < 42; i++)
            ck_assert(weight_element(&w.mlp.fc, i / 7, i % 7) == *values("h.0.mlp.c_fc.weight", i));
        release();
    }
}

TEST(embeddings_are_read_row_by_row)
{
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_F64};
    for (size_t i = 0; i < COUNT(types) * 2; i++) {
        float row[600];
        make(wide);
        tiny_model_retype(&model, types[i / 2]);
        tiny_model_write(&model, i % 2);
        must_open();
        weights_embed_token(&weights, row, 2);
        ck_assert_mem_eq(row, values("wte.weight", 1200), sizeof row);
        weights_add_position(&weights, row, 1);
        const float *word = values("wte.weight", 1200);
        const float *position = values("wpe.weight", 600);
        for (size_t k = 0; k < COUNT(row); k++)
            if (row[k] != word[k] + position[k])
                ck_abort_msg("channel %zu is %g", k, row[k]);
        release();
    }
}

TEST(a_model_without_positions_adds_none)
{
    float row[6] = {1, 2, 3, 4, 5, 6};
    make(attention);
    must_open();
    weights_add_position(&weights, row, 1000000);
    ck_assert_mem_eq(row, ((float[]){1, 2, 3, 4, 5, 6}), sizeof row);
    release();
}

TEST(the_unembedding_is_the_embedding_where_it_is_tied_or_absent)
{
    struct weight w;
    make(gpt2);
    must_open();
    ck_assert_int_eq(weights_unembedding(&weights, &w, &err), 0);
    ck_assert_mem_eq(w.rows.data, values("lm_head.weight", 0), 66 * sizeof(float));
    weights_release(&weights);
    tiny_model_drop(&model, "lm_head.weight");
    tiny_model_write(&model, 0);
    must_open();
    ck_assert_int_eq(weights_unembedding(&weights, &w, &err), 0);
    ck_assert_mem_eq(w.rows.data, values("wte.weight", 0), 66 * sizeof(float));
    weights_release(&weights);
    memset(tiny_model_add(&model, "lm_head.weight", DTYPE_F32, 2, (size_t[]){11, 6})->values, 0,
           66 * sizeof(float));
    tiny_model_write(&model, 0);
    model.config.tied = true;
    must_open();
    ck_assert_int_eq(weights_unembedding(&weights, &w, &err), 0);
    ck_assert_mem_eq(w.rows.data, values("wte.weight", 0), 66 * sizeof(float));
    release();
}

TEST(the_final_norm_has_its_parts)
{
    struct norm norm;
    make(gpt2);
    must_open();
    ck_assert_int_eq(weights_final_norm(&weights, false, &norm, &err), 0);
    ck_assert_mem_eq(norm.scale, values("ln_f.weight", 0), 6 * sizeof(float));
    ck_assert_mem_eq(norm.shift, values("ln_f.bias", 0), 6 * sizeof(float));
    ck_assert(norm.epsilon == 1e-5f);
    release();
}

TEST(the_first_number_that_is_not_finite_is_named)
{
    static const struct {
        const char *name;
        int layer;
        enum dtype dtype;
        float bad;
        const char *found;
    } cases[] = {
        {"wte.weight", -1, DTYPE_F32, NAN, "nan"},
        {"ln_f.bias", -1, DTYPE_F16, INFINITY, "inf"},
        {"h.0.attn.c_attn.bias", 0, DTYPE_BF16, -INFINITY, "-inf"},
        {"h.1.mlp.c_proj.weight", 1, DTYPE_F64, NAN, "nan"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        make(gpt2);
        struct tiny_tensor *tensor = tiny_model_tensor(&model, cases[i].name);
        tensor->values[4] = tensor->values[5] = cases[i].bad;
        tensor->dtype = cases[i].dtype;
        tiny_model_write(&model, 1);
        must_open();
        for (int layer = -1; layer < 2; layer++)
            ck_assert_int_eq(weights_check_finite(&weights, layer, &err),
                             layer == cases[i].layer ? -1 : 0);
        snprintf(
            expected, sizeof expected,
            "'tiny-model/model.safetensors': tensor '%s': expected finite numbers, found %s at "
            "element 4",
            cases[i].name, cases[i].found);
        ck_assert_str_eq(err.text, expected);
        release();
    }
}

TEST(every_tensor_is_listed)
{
    size_t listed = 0;
    make(gpt2);
    must_open();
    for (size_t i = 0; i < weights_parameter_count(&weights); i++) {
        struct parameter_info info = weights_parameter(&weights, i);
        if (!info.entry)
            continue;
        ck_assert_str_eq(info.file, "model.safetensors");
        ck_assert_str_eq(info.name, info.entry->name);
        ck_assert_uint_eq(info.entry->count, tiny_model_tensor(&model, info.name)->count);
        listed++;
    }
    ck_assert_uint_eq(listed, model.count);
    release();
}

/* Opening, then reading a layer, the norm and the unembedding of a type that must be converted. */
static int use_everything(bool packing, enum precision precision)
{
    struct block_weights w;
    struct weight unembedding;
    struct norm norm;
    if (open_weights())
        return -1;
    weights.packing = weights.packing_words = packing;
    weights.precision = precision;
    return weights_block(&weights, 0, SITE_RESID_POST, &w, &err) ||
                   weights_final_norm(&weights, false, &norm, &err) ||
                   weights_unembedding(&weights, &unembedding, &err)
               ? -1
               : 0;
}

TEST(every_allocation_that_fails_is_an_error)
{
    make(wide);
    tiny_model_retype(&model, DTYPE_F16);
    tiny_model_write(&model, 0);
    for (int way = 0; way < 4; way++) {
        int failed = -1;
        for (size_t nth = 1; failed; nth++) {
            heap_fail_at(nth, 0);
            failed = use_everything(way % 2, (enum precision)(way / 2));
            heap_fail_at(0, 0);
            ck_assert(!failed || strstr(err.text, "out of memory"));
            ck_assert(failed || nth > 10);
            weights_release(&weights);
        }
    }
    tiny_model_release(&model);
}
