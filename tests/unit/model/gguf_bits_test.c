/* A GGUF file gives the tensors of the model from which it was written, bit for bit. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/buf.h"
#include "lens/viewer.h"

enum { EDITS = 3, PATH_BYTES = 512 };

static char root[PATH_BYTES / 2];
static struct arena arena;
static struct err err;

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    arena = (struct arena){0};
    scratch_enter();
}

static void leave(void)
{
    arena_release(&arena);
    scratch_leave();
}

FIXTURE(enter, leave)

/* --- the files -------------------------------------------------------------------------------- */

struct replacement {
    const char *old, *new;     /* NULL: none */
    size_t old_size, new_size; /* 0: texts */
};

/* Bytes, which may be 0. */
#define BYTES(old, new)                            \
    {                                              \
        old, new, sizeof(old) - 1, sizeof(new) - 1 \
    }

/* A file of tests/references/gguf and the model from which it was written. */
struct twin {
    const char *file;
    const char *folder;               /* in tests; NULL: golden-families/FILE */
    struct replacement config[EDITS]; /* of what GGUF does not store */
    struct replacement gguf;          /* of the file */
    const char *source;
    const char *missing; /* sites that the file has no weights for: " pooled logits " */
    const char *scaled;  /* sites whose numbers are those of the model times a factor */
    const char *ids;     /* NULL: seven */
    bool near;           /* decays are stored as -exp(A_log), rounded */
};

/* Write a copy of a file with the replacements, each of which must change it. */
static void copy_replaced(const char *to, const char *from, const struct replacement *edits,
                          size_t count)
{
    struct file file = {0};
    ck_assert_msg(!file_map(&file, from, &err), "%s", err.text);
    struct buf text = {0};
    buf_bytes(&text, file.bytes, file.size);
    for (size_t i = 0; i < count && edits[i].old; i++) {
        size_t size = edits[i].old_size ? edits[i].old_size : strlen(edits[i].old);
        const char *at = memmem(text.bytes, text.size, edits[i].old, size);
        ck_assert_msg(at != NULL, "'%s' has no %s", from, edits[i].old);
        struct buf changed = {0};
        size_t before = (size_t)(at - text.bytes);
        buf_bytes(&changed, text.bytes, before);
        buf_bytes(&changed, edits[i].new,
                  edits[i].old_size ? edits[i].new_size : strlen(edits[i].new));
        buf_bytes(&changed, at + size, text.size - before - size);
        buf_release(&text);
        text = changed;
    }
    FILE *out = fopen(to, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(text.bytes, 1, text.size, out), text.size);
    ck_assert_int_eq(fclose(out), 0);
    buf_release(&text);
    file_release(&file);
}

/* The path of a file in tests, in the memory of the test. */
static const char *path_of(const char *folder, const char *name)
{
    const char *path = arena_format(&arena, &err, "%s/tests/references/%s%s", root, folder, name);
    ck_assert_ptr_nonnull(path);
    return path;
}

/* The folder of the model without its vocabulary, with the edits of its config. */
static const char *original_of(const struct twin *twin)
{
    const char *folder =
        twin->folder ? twin->folder : arena_format(&arena, &err, "golden-families/%s", twin->file);
    ck_assert_ptr_nonnull(folder);
    ck_assert_int_eq(mkdir("m", 0777), 0);
    copy_replaced("m/config.json", path_of(folder, "/config.json"), twin->config, EDITS);
    ck_assert_int_eq(symlink(path_of(folder, "/model.safetensors"), "m/model.safetensors"), 0);
    return "m";
}

static const char *gguf_of(const struct twin *twin)
{
    const char *name = arena_format(&arena, &err, "%s.gguf", twin->file);
    const char *path = path_of("gguf/", name);
    if (!twin->gguf.old)
        return path;
    copy_replaced("x.gguf", path, &twin->gguf, 1);
    return "x.gguf";
}

/* --- the tensors ------------------------------------------------------------------------------ */

/* Run the text, and capture all tensors of all layers. */
static void capture(struct report *report, struct viewer *viewer, const char *model,
                    const struct twin *twin)
{
    ck_assert_msg(!viewer_open(viewer, model, 1, &err), "%s", err.text);
    const struct input input = {.ids = twin->ids ? twin->ids : "3,1,4,1,5,9,2"};
    const struct input source = {.ids = twin->source};
    struct text_with_source *pair = arena_alloc(&arena, 1, sizeof *pair, &err);
    struct selection *selection = arena_alloc(&arena, 1, sizeof *selection, &err);
    ck_assert(pair && selection);
    *pair = (struct text_with_source){0};
    *selection = (struct selection){0};
    const struct config *config = &viewer->model.config;
    struct capture_request asked = {selection, pair, 1, 0, report, NULL};
    int failed = viewer_read(viewer, pair, &input, source.ids ? &source : NULL, &arena, &err) ||
                 selection_sites(selection, "all", config, &err) ||
                 selection_layers(selection, NULL, config, &arena, &err) ||
                 selection_heads(selection, NULL, config, &arena, &err) ||
                 viewer_capture(viewer, &asked, &arena, &err);
    ck_assert_msg(!failed, "'%s': %s", model, err.text);
}

static bool lists(const char *sites, enum site site)
{
    char word[SITE_NAME_BYTES + 2];
    snprintf(word, sizeof word, " %s ", site_name(site));
    return sites && strstr(sites, word);
}

static const struct array *find(const struct report *report, const struct array *like)
{
    for (size_t i = 0; i < report->array_count; i++)
        if (report->arrays[i].site == like->site && report->arrays[i].layer == like->layer)
            return &report->arrays[i];
    return NULL;
}

/* The largest number of a site in all layers. */
static double largest(const struct report *report, enum site site)
{
    double most = 0;
    for (size_t i = 0; i < report->array_count; i++) {
        struct tensor tensor = array_tensor(&report->arrays[i]);
        for (size_t k = 0; report->arrays[i].site == site && k < tensor_count(&tensor); k++)
            if (isfinite(tensor.data[k]))
                most = fmax(most, fabs((double)tensor.data[k]));
    }
    return most;
}

static void expect_near(const float *found, const float *wanted, size_t count, double most)
{
    for (size_t i = 0; i < count; i++) {
        double off = isfinite(wanted[i]) ? fabs((double)found[i] - (double)wanted[i])
                                         : memcmp(&found[i], &wanted[i], sizeof *found) != 0;
        ck_assert_msg(off <= 1e-6 * most, "expected %.9g, found %.9g", (double)wanted[i],
                      (double)found[i]);
    }
}

/* Compare all tensors of the original with those of the file, which has no others. */
static void expect_same(const struct twin *twin)
{
    struct report found = {0}, wanted = {0};
    struct viewer of_gguf, of_model;
    capture(&found, &of_gguf, gguf_of(twin), twin);
    capture(&wanted, &of_model, original_of(twin), twin);
    size_t compared = 0;
    for (size_t i = 0; i < wanted.array_count; i++) {
        char name[SITE_NAME_BYTES];
        const struct array *like = &wanted.arrays[i], *array = find(&found, like);
        if (lists(twin->missing, like->site)) {
            ck_assert_ptr_null(array);
            continue;
        }
        ck_assert_msg(array != NULL, "%s is missing", array_name(name, like));
        compared++;
        struct tensor a = array_tensor(array), b = array_tensor(like);
        size_t count = tensor_count(&b);
        ck_assert_uint_eq(tensor_count(&a), count);
        if (twin->near && !lists(twin->scaled, like->site))
            expect_near(a.data, b.data, count, largest(&wanted, like->site));
        else if (!twin->near)
            ck_assert_msg(memcmp(a.data, b.data, count * sizeof *a.data) == 0, "%s differs",
                          array_name(name, like));
    }
    ck_assert_uint_eq(compared, found.array_count);
    ck_assert_uint_gt(compared, 10);
    viewer_release(&of_gguf);
    viewer_release(&of_model);
}

/* --- the bits of the model -------------------------------------------------------------------- */

/* clang-format off */
static const struct twin twins[] = {
    {"gpt2", "golden/gpt2-micro-f16", {{"\"gelu\"", "\"gelu_new\""}}, .ids = "3,1,2"},
    {"llama"},
    {"llama-fused", "golden-families/llama"}, /* queries, keys and values in a tensor */
    {"llama-bf16", "golden-families/llama-bf16-tied-biases"},
    {"llama-rope-linear"}, {"qwen2"}, {"qwen3"}, {"qwen3-bidirectional"},
    {"gemma"}, /* the file has 1 plus the scales of norms */
    {"gpt_neox"}, {"granite"}, {"phi3"}, {"olmo2"}, {"phi"}, {"stablelm"}, {"bloom"}, {"falcon"},
    {"falcon-7b-style"}, {"olmo"}, {"olmo-no-clip"}, {"olmo3"}, {"exaone4"},
    {"exaone4-no-window"}, {"seed_oss"}, {"arcee"}, {"ernie4_5"}, {"ernie4_5-biases"}, {"glm"},
    {"glm-no-bias"}, {"glm4"}, {"cohere-qk-norm"}, {"cohere2"}, {"nemotron"},
    {"nemotron-biases"}, {"gpt_bigcode"}, {"mpt-clip"}, {"ministral3"}, {"mixtral"},
    {"minimax_m2"}, {"qwen2_moe"}, {"qwen3_moe"}, {"olmoe"}, {"granitemoeshared"},
    {"ernie4_5_moe"}, {"glm4_moe"}, {"gpt_oss"}, {"deepseek_v2"}, {"deepseek_v3"},
    {"glm4_moe_lite"}, {"dbrx"}, {"gemma4"}, {"gemma4_text"}, {"gemma4-experts"},
    {"gemma3n_text"}, {"nomic_bert-base-model"},
    {"gemma4_first", "gguf/gemma4_first"}, /* the first layer has no window */
    {"t5-gated-untied", .source = "7,6,5,4", .ids = "0,1,4,1,5,9,2"},
};

/* Parts of the config that are not stored in GGUF have the values of published models. */
static const struct twin unstored[] = {
    {"gemma2", NULL, {{"\"query_pre_attn_scalar\": 7.5", "\"query_pre_attn_scalar\": 4"}}},
    {"gemma3_text", NULL, {{"\"query_pre_attn_scalar\": 9", "\"query_pre_attn_scalar\": 12"}}},
    {"smollm3", NULL, {{"\"no_rope_layers\"", "\"unread\""},
                       {"\"no_rope_layer_interval\": 2", "\"no_rope_layer_interval\": 4"}}},
    {"mpt", NULL, {{"\"softmax_scale\": 0.4", "\"softmax_scale\": null"}}},
    {"starcoder2", NULL, {{"\"sliding_window\": 5", "\"sliding_window\": null"}}},
    {"dots1", NULL, {{"\"sliding_window\": 5", "\"sliding_window\": null"}}},
    {"hunyuan_v1_moe", NULL, {{"\"type\": \"dynamic\"", "\"type\": \"default\""},
                              {"\"rope_theta\": 10000.0", "\"rope_theta\": 1329574.0"},
                              {"\n    3\n", "\n    2\n"}}},
    {"hunyuan_v1_dense", NULL, {{"\"type\": \"dynamic\"", "\"type\": \"default\""},
                                {"\"rope_theta\": 10000.0", "\"rope_theta\": 1842015.8"}}},
    {"t5", NULL, {{"max_distance\": 12", "max_distance\": 128"}}, .source = "7,6,5,4"},
    {"umt5", NULL, {{"max_distance\": 10", "max_distance\": 128"}}, .source = "7,6,5,4"},
    {"deepseek_v3", NULL, {{"\"norm_topk_prob\": true", "\"norm_topk_prob\": false"}},
     .gguf = {"expert_weights_norm", "expert_weights_nor_"}, .ids = "3,1,4"},
    {"glm4_moe_lite", .gguf = {"expert_gating_func", "expert_gating_fun_"}},
};

/* llama.cpp leaves out the pooler and the head. */
static const struct twin headless[] = {
    {"bert-base-model", .missing = " pooled transform logits ", .ids = "3,1,4"},
    {"bert-alibi", .missing = " pooled transform logits ", .ids = "3,1,4"},
    {"distilbert", .missing = " transform logits ", .ids = "3,1,4"},
};

/* Layers that keep a state. */
static const struct twin mixers[] = {
    {"qwen3_5_text", .near = true}, {"qwen3_5_moe_text", .near = true},
    {"qwen3_next", .near = true}, {"lfm2", .near = true}, {"lfm2_moe", .near = true},
    {"granitemoehybrid", .near = true}, {"bamba", .near = true}, {"mamba2", .near = true},
    {"falcon_mamba", .near = true}, {"jamba", .near = true}, {"kimi_linear", .near = true},
    /* as many channels in mixers */
    {"nemotron_h", "gguf/nemotron_h", .near = true},
    {"nemotron_h_moe", "gguf/nemotron_h_moe", .near = true},
    {"granite_expand", "gguf/granite_expand", .near = true},
    {"bamba_expand", "gguf/bamba_expand", .near = true},
    /* outputs have the factors of the residual stream */
    {"falcon_h1", .near = true, .scaled = " attn_out mix_out mlp_out "},
};
/* clang-format on */

TEST_LOOP(all_tensors_have_the_bits_of_the_model, COUNT(twins))
{
    expect_same(&twins[_i]);
}

TEST_LOOP(what_is_not_stored_is_that_of_published_models, COUNT(unstored))
{
    expect_same(&unstored[_i]);
}

TEST_LOOP(only_the_pooler_and_the_head_are_missing, COUNT(headless))
{
    expect_same(&headless[_i]);
}

TEST_LOOP(decays_are_rounded_once, COUNT(mixers))
{
    expect_same(&mixers[_i]);
}

/* --- refusals --------------------------------------------------------------------------------- */

/* A file with other bytes, and the message. Keys that become longer or shorter are two. */
static const struct refusal {
    const char *file;
    struct replacement edits[2];
    const char *message;
} refusals[] = {
    {"deepseek_v3",
     {{"expert_group_count", "expert_group_coun_"}},
     "key 'deepseek2.expert_group_count': expected a number, found nothing"},
    {"gemma4_text",
     {{"sliding_window_pattern", "sliding_window_patter_"}},
     "key 'gemma4.attention.sliding_window_pattern': expected a list of 5 layers"},
    {"gemma4_text",
     {BYTES("\xca\xf2\x49\x71", "\x00\x00\x00\x3f")}, /* 1e30, 0.5 */
     "tensor 'rope_freqs.weight': expected 1, then 1e30, found 0.5"},
    {"gemma4_text",
     {BYTES("key_length\x04\x00\x00\x00\x08", "key_length\x04\x00\x00\x00\x10")},
     "tensor 'rope_freqs.weight': expected 8 numbers of F32, found 4 of F32"},
    {"gemma3n_text",
     {BYTES("\x1c\x3f\x06\x3f", "\x00\x00\xc0\x7f")}, /* a deviation, not a number */
     "'x.gguf/config.json': field 'activation_sparsity_pattern': expected numbers from 0 to below "
     "1"},
    {"gemma3n_text",
     {{"altup.num_inputs", "altup.num_input_"}},
     "key 'gemma3n.altup.num_inputs': expected a number, found nothing"},
    {"bert-alibi-norms",
     {{NULL, NULL, 0, 0}},
     "'x.gguf/model.gguf': tensor 'blk.0.attn_k_norm.bias': expected the tensors of a model of "
     "type "
     "\"bert\" with this config.json, found another tensor"},
    {"falcon_h1",
     {BYTES("output.weight\x02", "output_weight\x02")},
     "tensor 'output.weight': expected this tensor, as the file has no factor of the logits of "
     "tied "
     "models, found none: read the model's Hugging Face files"},
    {"nemotron_h_moe",
     {{"expert_used_count", "expert_used_coun_"}},
     "key 'nemotron_h_moe.expert_used_count': expected a number, found nothing"},
    {"qwen3_5_text",
     {BYTES("time_step_rank\x04\x00\x00\x00\x04", "time_step_rank\x04\x00\x00\x00\x06")},
     "tensor 'blk.0.ssm_a': expected a multiple of 6 rows, for each of 6 heads, found 4 rows"},
    {"qwen3_5_text",
     {BYTES("\xb8\x7b\xf7\xbe\x29", "\xb8\x7b\xf7\x3e\x29")}, /* a decay of the first layer */
     "tensor 'blk.0.ssm_a': expected numbers of at most 0, found 0.483366"},
    {"bamba_expand",
     {BYTES("inner_size\x04\x00\x00\x00\x08", "inner_size\x04\x00\x00\x00\x0c")},
     "key 'granitehybrid.ssm.inner_size': expected a multiple of embedding_length = 8, found 12"},
    {"granitemoehybrid",
     {BYTES("\x24\0\0\0\0\0\0\0granitehybrid.rope.scaling.finetuned",
            "\x1e\0\0\0\0\0\0\0granitehybrid.attention.causal"),
      BYTES("\x12\0\0\0\0\0\0\0general.size_label", "\x18\0\0\0\0\0\0\0general.size_label-other")},
     "key 'granitehybrid.attention.causal': expected true, as layer 0 keeps a state, found false"},
};

TEST_LOOP(what_a_file_lacks_is_named, COUNT(refusals))
{
    const struct refusal *row = &refusals[_i];
    struct model model = {0};
    const char *name = arena_format(&arena, &err, "%s.gguf", row->file);
    copy_replaced("x.gguf", path_of("gguf/", name), row->edits, COUNT(row->edits));
    ck_assert_int_ne(model_open(&model, "x.gguf", &err), 0);
    const char *found = strstr(err.text, row->message);
    ck_assert_msg(found && strcmp(found, row->message) == 0, "%s", err.text);
}
