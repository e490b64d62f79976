#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/memory_stream.h"
#include "../rigs/starve.h"
#include "../rigs/tiny_model.h"
#include "../unit.h"
#include "format/json.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "model/weights.h"

static struct tiny_model model; /* a config, and a file of tensors */
static struct checkpoint checkpoint;
static struct err err;

static struct folder_file files[8]; /* of a folder without a config */
static struct file made[8];
static struct folder folder;

static void prepare(void)
{
    model = (struct tiny_model){0};
    checkpoint = (struct checkpoint){0};
    err = (struct err){0};
    folder = (struct folder){.path = "m", .files = files};
}

static void release(void)
{
    checkpoint_release(&checkpoint);
    tiny_model_release(&model);
    for (size_t i = 0; i < folder.file_count; i++)
        file_release(&made[i]);
}

FIXTURE(prepare, release)

static void expect_message(int failed, const char *message)
{
    ck_assert_str_eq(err.text, message ? message : "");
    ck_assert_int_eq(failed, message ? -1 : 0);
    err_clear(&err);
}

/* --- files ------------------------------------------------------------------------------------ */

static void add_text(const char *name, const char *text)
{
    ck_assert_uint_lt(folder.file_count, COUNT(files));
    made[folder.file_count] = file_borrow(text, strlen(text));
    files[folder.file_count++] = (struct folder_file){name, text, strlen(text), NULL};
}

/* Add a file with two tensors of one number each, `first` and `second`. */
static void add_two(const char *name, const char *first, const char *second, float number)
{
    static const size_t shape[] = {1};
    const struct safetensors_tensor tensors[] = {{first, 1, shape, &number},
                                                 {second, 1, shape, &number}};
    ck_assert_uint_lt(folder.file_count, COUNT(files));
    struct file *file = &made[folder.file_count];
    *file = memory_safetensors(tensors, 2, NULL, 0);
    files[folder.file_count++] = (struct folder_file){name, file->bytes, file->size, NULL};
}

TEST(weights_are_there_if_a_folder_has_one_of_five_names)
{
    static const struct {
        const char *name;
        bool is_weights;
    } names[] = {
        {"model.safetensors", true}, {"model.safetensors.index.json", true},
        {"pytorch_model.bin", true}, {"pytorch_model.bin.index.json", true},
        {"model.gguf", true},        {"model-00001-of-00002.safetensors", false},
        {"config.json", false},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        folder.file_count = 0;
        ck_assert(!checkpoint_is_there(&folder));
        add_text(names[i].name, "");
        ck_assert_msg(checkpoint_is_there(&folder) == names[i].is_weights, "%s", names[i].name);
    }
}

/* A file with all tensors counts before an index, and safetensors before other formats; files that
 * do not count are not read. */
TEST(the_first_file_in_the_order_of_formats_is_opened)
{
    add_text("config.json", "{}");
    expect_message(checkpoint_open(&checkpoint, &folder, &err),
                   "'m': expected model.safetensors or pytorch_model.bin, found neither");
    add_text("model.gguf", "not a file of GGUF");
    expect_message(checkpoint_open(&checkpoint, &folder, &err),
                   "'m': expected a GGUF file, found one that does not begin with GGUF");
    add_text("pytorch_model.bin", "not a file of torch");
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "'m/pytorch_model.bin'"));
    err_clear(&err);
    add_text("model.safetensors.index.json", "{}");
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "'m/model.safetensors.index.json'"));
    err_clear(&err);
    add_two("model.safetensors", "a", "b", 1);
    expect_message(checkpoint_open(&checkpoint, &folder, &err), NULL);
    ck_assert_str_eq(checkpoint.name, "model.safetensors");
    ck_assert_uint_eq(checkpoint.count, 1);
}

TEST(an_index_opens_each_of_its_files_once)
{
    add_two("first", "a", "b", 1);
    add_two("second", "c", "a", 2);
    add_text("model.safetensors.index.json",
             JSON({"weight_map" : {"a" : "second", "b" : "first", "c" : "second"}}));
    expect_message(checkpoint_open(&checkpoint, &folder, &err), NULL);
    ck_assert_str_eq(checkpoint.name, "model.safetensors.index.json");
    ck_assert_uint_eq(checkpoint.count, 2);
    static const char *const names[][2] = {{"b", "first"}, {"c", "second"}};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct found_tensor found = checkpoint_find_exactly(&checkpoint, names[i][0]);
        ck_assert_str_eq(found.file, names[i][1]);
        ck_assert_str_eq(found.entry->name, names[i][0]);
        float number = 0;
        memcpy(&number, found.entry->data, sizeof number);
        ck_assert_float_eq(number, (float)(i + 1));
    }
    ck_assert_ptr_null(checkpoint_find_exactly(&checkpoint, "d").entry);
    ck_assert_ptr_null(checkpoint_find_exactly(&checkpoint, "A").entry);
    checkpoint_release(&checkpoint);
    ck_assert_uint_eq(checkpoint.count, 0); /* a second release does nothing */
}

#define INDEX "'m/model.safetensors.index.json': "
#define NO_NAME INDEX "field 'weight_map': 'a': expected the name of a file, found "

/* clang-format off */
static const struct {
    const char *index, *message;
} wrong_indices[] = { /* tests/refusals/weights_index.cases has more */
    {JSON([]), INDEX "field 'weight_map': expected an object of tensors and files"},
    {JSON({"weight_map": {"a": "p"}, "weight_map": {}}),
     INDEX "field 'weight_map': expected once, found twice"},
    {JSON({"weight_map": {"a": "p", "a": "p"}}), INDEX "field 'a': expected once, found twice"},
    {JSON({"weight_map": {"b": "p", "a": ".."}}), NO_NAME "\"..\""},
    {JSON({"weight_map": {"a": "../m/p"}}), NO_NAME "\"../m/p\""},
    {JSON({"weight_map": {"a": "p", "b": "q"}}), /* it is in p */
     INDEX "field 'weight_map': expected tensor 'b' in 'q', found none"},
    {JSON({"weight_map": {"a": "none"}}), "the bundled model 'm' has no file 'none'"},
    {JSON({"weight_map": {"a": "p", "b": "short"}}),
     "'m/short': expected at least 8 bytes, found 5"},
};
/* clang-format on */

TEST_LOOP(an_index_is_refused_unless_each_tensor_is_where_it_says, COUNT(wrong_indices))
{
    add_two("p", "a", "b", 1);
    add_two("q", "a", "d", 1);
    add_text("short", "short");
    add_text("model.safetensors.index.json", wrong_indices[_i].index);
    expect_message(checkpoint_open(&checkpoint, &folder, &err), wrong_indices[_i].message);
    ck_assert(!checkpoint.shards && !checkpoint.count); /* nothing to release */
}

TEST(every_allocation_of_an_index_may_fail)
{
    struct starve starve = {.least = 5};
    add_two("p", "a", "b", 1);
    add_two("q", "c", "d", 1);
    add_text("model.safetensors.index.json", JSON({"weight_map" : {"a" : "p", "d" : "q"}}));
    while (starve_next(&starve)) {
        err_clear(&err);
        if (!starve_check(&starve, checkpoint_open(&checkpoint, &folder, &err), &err))
            checkpoint_release(&checkpoint);
    }
}

/* --- tensors of a config ---------------------------------------------------------------------- */

/* Begin a model with the config of a golden model, or a text, and without tensors. */
static void begin(const char *config)
{
    static char path[128];
    snprintf(path, sizeof path, "tests/references/golden-families/%s/config.json", config);
    bool is_text = *config == '{';
    checkpoint_release(&checkpoint);
    tiny_model_release(&model);
    model = (struct tiny_model){
        .files = {{"config.json", config, strlen(config), is_text ? NULL : path},
                  {"model.safetensors", NULL, 0, NULL}}};
    model.folder = (struct folder){.path = "m", .files = model.files, .file_count = 2};
    ck_assert_msg(!config_open(&model.config, &model.folder, &err) &&
                      !config_describe(&model.config, &err),
                  "%s: %s", config, err.text);
}

/* Add tensors of the numbers 0, 1, …: "name:2x3 scalar:". */
static void put(enum dtype dtype, const char *tensors)
{
    char text[512];
    ck_assert_uint_lt(strlen(tensors), sizeof text);
    strcpy(text, tensors);
    for (char *name = strtok(text, " "); name; name = strtok(NULL, " ")) {
        size_t shape[4], rank = 0;
        char *at = strchr(name, ':');
        for (*at++ = '\0'; *at; at += *at == 'x')
            shape[rank++] = strtoul(at, &at, 10);
        struct tiny_tensor *tensor = tiny_model_add(&model, name, dtype, rank, shape);
        ck_assert_str_eq(tensor->name, name);
        for (size_t i = 0; i < tensor->count; i++)
            tensor->values[i] = (float)i;
    }
}

/* Expect a refusal of a tensor for a reason; NULL: none. */
static void expect_refusal(int failed, const char *tensor, const char *reason)
{
    char message[512];
    snprintf(message, sizeof message, "'m/model.safetensors': tensor '%s': %s", tensor, reason);
    expect_message(failed, reason ? message : NULL);
}

static void open_tensors(void)
{
    checkpoint_release(&checkpoint);
    tiny_model_write(&model, 0);
    ck_assert_msg(!checkpoint_open(&checkpoint, &model.folder, &err), "%s", err.text);
}

/* The shape of a tensor, and a layout that it has or lacks. */
static const struct {
    const char *tensor;
    struct family_layout layout;
    const char *message; /* NULL: it fits */
} shapes[] = {
    {"t:", {.rank = 1, .shape = {1}}, NULL},
    {"t:1", {.rank = 1, .shape = {1}}, NULL},
    {"t:3", {.rank = 1, .shape = {3}}, NULL},
    {"t:1x3", {.rank = 1, .shape = {3}}, NULL},
    {"t:3x1", {.rank = 1, .shape = {3}}, "expected [3], found [3, 1]"},
    {"t:4", {.rank = 1, .shape = {3}}, "expected [3], found [4]"},
    {"t:", {.rank = 1, .shape = {3}}, "expected [3], found []"},
    {"t:2x3", {.rank = 2, .shape = {2, 3}}, NULL},
    {"t:3x2", {.rank = 2, .shape = {2, 3}}, "expected [2, 3], found [3, 2]"},
    {"t:6", {.rank = 2, .shape = {2, 3}}, "expected [2, 3], found [6]"},
    {"t:1x2x3", {.rank = 2, .shape = {2, 3}}, "expected [2, 3], found [1, 2, 3]"},
    {"t:2x1x3", {.rank = 2, .shape = {2, 3}, .squeezed = true}, NULL},
    {"t:1x2x3x1", {.rank = 2, .shape = {2, 3}, .squeezed = true}, NULL},
    {"t:2", {.rank = 2, .shape = {2, 1}, .squeezed = true}, NULL},
    {"t:2x1x4", {.rank = 2, .shape = {2, 3}, .squeezed = true}, "expected [2, 3], found [2, 1, 4]"},
    {"t:2", {.rank = 2, .shape = {2, 3}, .squeezed = true}, "expected [2, 3], found [2]"},
    {"t:2x3x2", {.rank = 2, .shape = {2, 3}, .squeezed = true}, "expected [2, 3], found [2, 3, 2]"},
};

TEST_LOOP(a_tensor_has_the_shape_of_its_layout, COUNT(shapes))
{
    struct found_tensor found;
    begin("llama");
    put(DTYPE_F32, shapes[_i].tensor);
    open_tensors();
    expect_refusal(
        checkpoint_find_extra(&found, &checkpoint, &model.config, "t", &shapes[_i].layout, &err),
        "t", shapes[_i].message);
    ck_assert_str_eq(found.entry->name, "t");
}

TEST(a_tensor_has_one_of_four_types)
{
    static const struct family_layout layout = {.rank = 1, .shape = {3}};
    for (int type = 0; type < DTYPE_COUNT; type++) {
        bool fits =
            type == DTYPE_F32 || type == DTYPE_F16 || type == DTYPE_BF16 || type == DTYPE_F64;
        char reason[64];
        struct found_tensor found;
        begin("llama");
        put((enum dtype)type, "t:3");
        open_tensors();
        snprintf(reason, sizeof reason, "expected F32, F16, BF16 or F64, found %s",
                 dtype_name((enum dtype)type));
        int failed = checkpoint_find_extra(&found, &checkpoint, &model.config, "t", &layout, &err);
        ck_assert(fits || err.kind == ERR_UNSUPPORTED);
        expect_refusal(failed, "t", fits ? NULL : reason);
    }
    struct found_tensor found;
    expect_message(checkpoint_find_extra(&found, &checkpoint, &model.config, "u", &layout, &err),
                   NULL);
    ck_assert_ptr_null(found.entry);
}

/* clang-format off */
#define SELF(id, layer) {BRANCH_TEXT, SLOT_##id, layer, -1}

/* A slot of a golden model, the name that its tensor has there, and others by which it is found. */
static const struct {
    const char *config;
    struct slot slot;
    const char *name, *others;
} names[] = {
    {"llama", SELF(Q, 1), "model.layers.1.self_attn.q_proj.weight",
     "layers.1.self_attn.q_proj.weight"},
    {"opt", SELF(Q, 1), "model.decoder.layers.1.self_attn.q_proj.weight",
     "decoder.layers.1.self_attn.q_proj.weight layers.1.self_attn.q_proj.weight"},
    {"gemma3", SELF(Q, 0), "model.layers.0.self_attn.q_proj.weight",
     "language_model.model.layers.0.self_attn.q_proj.weight "
     "model.language_model.layers.0.self_attn.q_proj.weight layers.0.self_attn.q_proj.weight"},
    {"t5", SELF(TOKENS, -1), "shared.weight", "transformer.shared.weight"},
    {"bert", SELF(EMBED_NORM, -1), "bert.embeddings.LayerNorm.weight",
     "embeddings.LayerNorm.weight bert.embeddings.LayerNorm.gamma embeddings.LayerNorm.gamma "
     "transformer.embeddings.LayerNorm.weight"},
    {"bert", SELF(EMBED_NORM_BIAS, -1), "bert.embeddings.LayerNorm.bias",
     "embeddings.LayerNorm.bias bert.embeddings.LayerNorm.beta embeddings.LayerNorm.beta"},
    {"bert", SELF(UNEMBED_BIAS, -1), "cls.predictions.bias", "cls.predictions.decoder.bias"},
};
/* clang-format on */

static struct family_layout layout_of_slot(struct slot slot)
{
    struct family_layout layout;
    family_layout(&layout, slot, &model.config);
    return layout;
}

static void put_with_layout(const char *name, const struct family_layout *layout)
{
    struct tiny_tensor *tensor =
        tiny_model_add(&model, name, DTYPE_F32, layout->rank, layout->shape);
    for (size_t i = 0; i < tensor->count; i++)
        tensor->values[i] = (float)i;
}

static void expect_found(struct slot slot, const struct family_layout *layout, const char *name)
{
    struct found_tensor found;
    expect_message(checkpoint_find(&found, &checkpoint, &model.config, slot, layout, &err), NULL);
    ck_assert_msg(found.entry != NULL, "'%s' was not found", name);
    ck_assert_str_eq(found.entry->name, name);
    ck_assert_str_eq(found.file, "model.safetensors");
}

/* The name with the prefix comes first, then one without parts of the prefix. */
TEST_LOOP(tensors_have_one_of_the_names_of_their_family, COUNT(names))
{
    char others[512];
    begin(names[_i].config);
    struct slot slot = names[_i].slot;
    const struct family_layout layout = layout_of_slot(slot);
    strcpy(others, names[_i].others);
    for (char *name = strtok(others, " "); name; name = strtok(NULL, " ")) {
        model.count = 0;
        put_with_layout(name, &layout);
        open_tensors();
        expect_found(slot, &layout, name);
    }
    put_with_layout(names[_i].name, &layout);
    open_tensors();
    if (slot.id != SLOT_UNEMBED_BIAS) /* "decoder.bias" goes before it */
        expect_found(slot, &layout, names[_i].name);
}

TEST(only_an_unembedding_may_be_absent)
{
    static const struct {
        const char *config;
        struct slot slot;
        const char *absent; /* NULL: it may be */
    } slots[] = {
        {"llama", SELF(UNEMBED, -1), NULL},
        {"llama", SELF(TOKENS, -1), "model.embed_tokens.weight"},
        {"llama", SELF(NORM_1, 1), "model.layers.1.input_layernorm.weight"},
        {"bart", SELF(UNEMBED_BIAS, -1), NULL},
        {"bert", SELF(UNEMBED_BIAS, -1), "cls.predictions.bias"},
    };
    for (size_t i = 0; i < COUNT(slots); i++) {
        struct found_tensor found;
        begin(slots[i].config);
        put(DTYPE_F32, "other:1");
        open_tensors();
        const struct family_layout layout = layout_of_slot(slots[i].slot);
        int failed =
            checkpoint_find(&found, &checkpoint, &model.config, slots[i].slot, &layout, &err);
        expect_refusal(failed, slots[i].absent,
                       slots[i].absent ? "expected this tensor in the file, found none" : NULL);
        ck_assert_ptr_null(found.entry);
    }
}

/* clang-format off */
#define LLAMA(...)                                                              \
    JSON({"model_type": "llama", "vocab_size": 13, "hidden_size": 8,            \
          "intermediate_size": 8, "num_hidden_layers": 1, __VA_ARGS__})

/* A tensor that does not fit depends on keys; those that config.json lacks are named. */
static const struct {
    const char *config, *tensor;
    struct slot slot;
    const char *message;
} misfits[] = {
    {LLAMA("num_attention_heads": 4, "num_key_value_heads": 2),
     "model.layers.0.self_attn.q_proj.weight:12x8", SELF(Q, 0),
     "expected [8, 8], found [12, 8]: this depends on 'head_dim', which config.json lacks"},
    {LLAMA("num_attention_heads": 4, "head_dim": 2),
     "model.layers.0.self_attn.k_proj.weight:4x8", SELF(K, 0),
     "expected [8, 8], found [4, 8]: this depends on 'num_key_value_heads' or 'num_kv_heads', "
     "which config.json lacks"},
    {LLAMA("num_attention_heads": 4, "head_dim": 2, "num_key_value_heads": 2),
     "model.layers.0.self_attn.k_proj.weight:8x8", SELF(K, 0), "expected [4, 8], found [8, 8]"},
};
/* clang-format on */

TEST_LOOP(keys_that_a_config_lacks_are_named_where_a_tensor_does_not_fit, COUNT(misfits))
{
    struct found_tensor found;
    begin(misfits[_i].config);
    put(DTYPE_F32, misfits[_i].tensor);
    open_tensors();
    const struct family_layout layout = layout_of_slot(misfits[_i].slot);
    expect_refusal(
        checkpoint_find(&found, &checkpoint, &model.config, misfits[_i].slot, &layout, &err),
        model.tensors->name, misfits[_i].message);
}

/* --- what a file decides ---------------------------------------------------------------------- */

/* Tensors, and the end that a model with them has; of classes, their number, who answers, and the
 * biases before the logits. */
static const struct {
    const char *config, *tensors;
    enum model_end end;
    size_t classes;
    enum class_answer answers;
    unsigned biases;
} ends[] = {
    {"bert", "other:1", END_STREAM},
    {"bert", "bert.pooler.dense.weight:12x12", END_POOLED},
    {"bert", "cls.predictions.transform.dense.weight:12x12", END_MASKED},
    {"bert", "cls.predictions.transform.LayerNorm.gamma:12", END_MASKED},
    {"bert", "cls.predictions.bias:13 pooler.dense.weight:12x12", END_MASKED},
    {"electra", "discriminator_predictions.dense.weight:16x16", END_DISCRIMINATOR},
    {"electra", "discriminator_predictions.dense_prediction.weight:1x16", END_DISCRIMINATOR},
    {"deberta-v2", "lm_predictions.lm_head.dense.weight:12x12", END_MASKED}, /* a variant's name */
    {"llama", "model.norm.weight:8", END_LOGITS},
    {"bert", "classifier.weight:3x12", END_CLASSES, 3, ANSWER_OF_EACH, 0},
    {"bert", "classifier.weight:3x12 classifier.bias:3", END_CLASSES, 3, ANSWER_OF_EACH,
     BIASED_LOGITS},
    {"bert", "classifier.weight:5x12 bert.pooler.dense.weight:12x12", END_CLASSES, 5,
     ANSWER_OF_FIRST, 0},
    {"bert", "classifier.weight:5x12 pooler.dense.weight:12x12 pooler.dense.bias:12", END_CLASSES,
     5, ANSWER_OF_FIRST, BIASED_TRANSFORM},
    {"bert", "classifier.weight:12", END_STREAM}, /* no matrix */
    {"bert", "qa_outputs.weight:2x12 qa_outputs.bias:2", END_CLASSES, 2, ANSWER_OF_EACH,
     BIASED_LOGITS},
    {"llama", "score.weight:4x8", END_CLASSES, 4, ANSWER_OF_LAST, 0},
    {"electra", "classifier.weight:3x16 sequence_summary.summary.weight:16x16", END_CLASSES, 3,
     ANSWER_OF_FIRST, 0},
    {"roberta", "classifier.out_proj.weight:2x8 classifier.dense.weight:8x8", END_CLASSES, 2,
     ANSWER_OF_FIRST, 0},
    {"roberta", "classifier.out_proj.weight:2x8 lm_head.bias:13", END_MASKED}, /* no dense layer */
};

TEST_LOOP(the_end_of_a_model_is_that_of_its_tensors, COUNT(ends))
{
    struct config *config = &model.config;
    begin(ends[_i].config);
    put(DTYPE_F32, ends[_i].tensors);
    open_tensors();
    checkpoint_settle(&checkpoint, config);
    ck_assert_int_eq(config->end, ends[_i].end);
    if (ends[_i].end != END_CLASSES)
        return;
    ck_assert_uint_eq(config->n_class, ends[_i].classes);
    ck_assert_int_eq(config->answers, ends[_i].answers);
    ck_assert_uint_eq(config->biases & (BIASED_LOGITS | BIASED_TRANSFORM), ends[_i].biases);
    ck_assert(!config->tied);
}

/* The numbers of a head of [50, 6], and of the embedding, which are 0, 1, …, and one type each. */
TEST(a_head_with_other_numbers_than_the_embedding_is_not_tied)
{
    static const struct {
        bool tied; /* in config.json */
        enum dtype type, of_head;
        const char *head; /* NULL: there is none */
        size_t at;        /* the number that differs */
        bool stays_tied;
    } heads[] = {
        {true, DTYPE_F32, DTYPE_F32, NULL, SIZE_MAX, true},
        {true, DTYPE_F32, DTYPE_F32, "lm_head.weight:50x6", SIZE_MAX, true},
        {true, DTYPE_F32, DTYPE_F32, "lm_head.weight:50x6", 299, false},
        {true, DTYPE_F32, DTYPE_F16, "lm_head.weight:50x6", SIZE_MAX, true},
        {true, DTYPE_BF16, DTYPE_F64, "lm_head.weight:50x6", SIZE_MAX, true},
        {true, DTYPE_F32, DTYPE_F16, "lm_head.weight:50x6", 0, false},
        {true, DTYPE_F32, DTYPE_F16, "lm_head.weight:50x6", 299, false}, /* in a second block */
        {true, DTYPE_F32, DTYPE_F32, "lm_head.weight:49x6", SIZE_MAX, false},
        {true, DTYPE_F32, DTYPE_I32, "lm_head.weight:50x6", SIZE_MAX, false},
        {false, DTYPE_F32, DTYPE_F32, "lm_head.weight:50x6", SIZE_MAX, false},
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        begin(JSON({"model_type" : "gpt2", "vocab_size" : 50, "n_embd" : 6, "n_head" : 2}));
        put(heads[i].type, "wte.weight:50x6");
        if (heads[i].head)
            put(heads[i].of_head, heads[i].head);
        for (size_t t = 0; t < model.count; t++) /* BF16 has eight bits */
            for (size_t k = 0; k < model.tensors[t].count; k++)
                model.tensors[t].values[k] = (float)(k % 256);
        if (heads[i].at < SIZE_MAX)
            model.tensors[1].values[heads[i].at]++;
        open_tensors();
        model.config.tied = heads[i].tied;
        checkpoint_settle(&checkpoint, &model.config);
        ck_assert_msg(model.config.tied == heads[i].stays_tied, "row %zu", i);
    }
}

/* The stacks of an encoder-decoder have tables of their own if some numbers of these differ. */
TEST(an_encoder_and_its_decoder_share_a_table_of_equal_numbers)
{
    static const struct {
        const char *tensors;
        size_t changed; /* the tensor whose last number differs */
        bool own;
    } tables[] = {
        {"model.shared.weight:13x8", SIZE_MAX, false},
        {"model.shared.weight:13x8 model.encoder.embed_tokens.weight:13x8 "
         "model.decoder.embed_tokens.weight:13x8",
         SIZE_MAX, false},
        {"model.shared.weight:13x8 model.encoder.embed_tokens.weight:13x8 "
         "model.decoder.embed_tokens.weight:13x8",
         1, true},
        {"model.shared.weight:13x8 model.encoder.embed_tokens.weight:13x8 "
         "model.decoder.embed_tokens.weight:13x8",
         2, true},
        {"model.encoder.embed_tokens.weight:13x8 model.decoder.embed_tokens.weight:13x8", SIZE_MAX,
         true},
        {"model.encoder.embed_tokens.weight:13x8", SIZE_MAX, false},
    };
    for (size_t i = 0; i < COUNT(tables); i++) {
        char name[PARAMETER_NAME_BYTES];
        begin("bart");
        put(DTYPE_F32, tables[i].tensors);
        if (tables[i].changed < SIZE_MAX)
            model.tensors[tables[i].changed].values[13 * 8 - 1]++;
        open_tensors();
        checkpoint_settle(&checkpoint, &model.config);
        ck_assert_msg(model.config.n_encoder_vocab == (tables[i].own ? 13 : 0), "row %zu", i);
        family_tensor_name(name, &model.config, slot_of_text(SLOT_TOKENS));
        ck_assert_str_eq(name, tables[i].own ? "model.decoder.embed_tokens.weight"
                                             : "model.shared.weight");
    }
}

/* Files with the names of the family, with published ones, with those of transformers 5, and with
 * some of the published names. The second of three layers has attention. */
TEST(a_variant_of_a_family_has_all_of_its_own_names)
{
    static const struct {
        const char *tensors, *family;
    } variants[] = {
        {"other:1", "olmo_hybrid"},
        {"model.layers.0.input_layernorm.weight:8", "olmo_hybrid"},
        {"model.layers.0.attention_layer_norm.weight:8 "
         "model.layers.2.feedforward_layer_norm.weight:8 "
         "model.layers.1.post_attention_layernorm.weight:8",
         "olmo_hybrid with published names"},
        {"model.layers.0.attention_layer_norm.weight:8 "
         "model.layers.0.feedforward_layer_norm.weight:8 "
         "model.layers.1.feedforward_layer_norm.weight:8",
         "olmo_hybrid as saved"},
        {"model.layers.0.attention_layer_norm.weight:8", "olmo_hybrid"},
    };
    for (size_t i = 0; i < COUNT(variants); i++) {
        begin("olmo_hybrid");
        put(DTYPE_F32, variants[i].tensors);
        open_tensors();
        checkpoint_settle(&checkpoint, &model.config);
        ck_assert_str_eq(model.config.family->name, variants[i].family);
    }
}

/* --- convolutions, cut again ------------------------------------------------------------------ */

/* Queries, keys and values of OLMo hybrid's mixer need 6, 6 and 10 rows of 4 numbers. */
static const struct {
    size_t rows[3];
    enum dtype types[3];
    bool cut;
} thirds[] = {
    {{8, 8, 6}, {DTYPE_F32, DTYPE_F32, DTYPE_F32}, true},
    {{1, 1, 20}, {DTYPE_F32, DTYPE_F32, DTYPE_F32}, true},
    {{8, 8, 6}, {DTYPE_F16, DTYPE_F16, DTYPE_F16}, true},
    {{6, 6, 10}, {DTYPE_F32, DTYPE_F32, DTYPE_F32}, false},
    {{8, 8, 5}, {DTYPE_F32, DTYPE_F32, DTYPE_F32}, false},
    {{8, 8, 6}, {DTYPE_F32, DTYPE_F32, DTYPE_F16}, false},
    {{8, 8, 6}, {DTYPE_I32, DTYPE_I32, DTYPE_I32}, false},
};

TEST_LOOP(rows_of_convolutions_are_cut_again_if_they_are_as_many_together, COUNT(thirds))
{
    static const char letters[] = "qkv";
    static const size_t wanted[] = {6, 6, 10};
    const size_t *rows = thirds[_i].rows, width = 4;
    begin("olmo_hybrid"); /* layers 0 and 2 have mixers */
    size_t next = 0;
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "model.layers.2.linear_attn.%c_conv1d.weight", letters[i]);
        struct tiny_tensor *tensor =
            tiny_model_add(&model, name, thirds[_i].types[i], 3, (size_t[]){rows[i], 1, width});
        for (size_t k = 0; k < tensor->count; k++)
            tensor->values[k] = (float)next++;
    }
    open_tensors();
    expect_message(checkpoint_cut_again(&checkpoint, &model.config, &err), NULL);
    next = 0;
    for (size_t i = 0; i < 3; i++) {
        float numbers[22 * 4];
        const size_t expected = thirds[_i].cut ? wanted[i] : rows[i];
        const struct safetensors_entry *entry =
            checkpoint_find_exactly(&checkpoint, model.tensors[i].name).entry;
        ck_assert_uint_eq(entry->rank, 3);
        ck_assert_uint_eq(entry->shape[0], expected);
        ck_assert_uint_eq(entry->count, expected * width);
        ck_assert_uint_eq(entry->end - entry->begin, dtype_bytes(entry->dtype, entry->count));
        if (!dtype_is_weight(entry->dtype))
            continue;
        dtype_to_float(numbers, entry->data, entry->dtype, entry->count);
        for (size_t k = 0; k < entry->count; k++)
            ck_assert_float_eq(numbers[k], (float)next++);
    }
}

/* --- tables of sinusoids ---------------------------------------------------------------------- */

/* Marian and Pegasus have sinusoids of halves, BART learned positions. */
TEST(a_table_of_sinusoids_is_found_where_a_model_may_have_one)
{
    static const struct {
        const char *config, *tensors;
        bool found;
        const char *message;
    } tables[] = {
        {"marian", "other:1", false, NULL},
        {"marian", "model.encoder.embed_positions.weight:24x8", true, NULL},
        {"marian", "model.decoder.embed_positions.weight:24x8", false, NULL}, /* of the text */
        {"marian", "model.encoder.embed_positions.weight:25x8", false,
         "expected [24, 8], found [25, 8]"},
        {"bart", "model.encoder.embed_positions.weight:14x8", false, NULL},
        {"llama", "model.encoder.embed_positions.weight:14x8", false, NULL},
    };
    for (size_t i = 0; i < COUNT(tables); i++) {
        const struct safetensors_entry *table = NULL;
        begin(tables[i].config);
        put(DTYPE_F32, tables[i].tensors);
        open_tensors();
        expect_refusal(
            checkpoint_find_sines(&table, &checkpoint, &model.config, BRANCH_SOURCE, &err),
            model.tensors->name, tables[i].message);
        if (!tables[i].message)
            ck_assert_msg((table != NULL) == tables[i].found, "row %zu", i);
    }
}

/* --- names of other tensors ------------------------------------------------------------------- */

/* Tensors that are no parameters; refused unless their model is known to have them. */
static const struct {
    const char *config, *tensor;
    bool known;
} extras[] = {
    {"llama", "model.layers.0.self_attn.rotary_emb.inv_freq:2", true},
    {"llama", "model.layers.0.self_attn.rotary_emb.inv_freqs:2", false},
    {"llama", "model.layers.0.self_attn.q_proj.lora:2", false},
    {"llama", "lm_head.weight:13x8", false}, /* it is a parameter, but not among the wanted */
    {"llama-bf16-tied-biases", "lm_head.weight:13x8", true},
    {"llama", "vision_tower.patch:2", true},
    {"llama", "model.vision_tower.patch:2", true},
    {"llama", "text.vision_tower.patch:2", false},
    {"llama", "mtp.layers.0.norm.weight:2", true},
    {"gpt_neox", "gpt_neox.layers.0.attention.bias:2", true},
    {"gpt_neox", "gpt_neox.layers.0.attention.masked_bias:1", true},
    {"gpt_neox", "gpt_neox.layers.0.attention.bios:2", false},
    {"deepseek_v3", "model.layers.2.enorm.weight:8", true}, /* predicts several tokens */
    {"bert", "bert.embeddings.position_ids:1", true},
    {"bert", "bert.pooler.dense.weight:12x12", true},
    {"bert", "cls.seq_relationship.weight:2x12", true},
    {"bert", "cls.predictions.bias:13", true}, /* a second name */
    {"bert", "bert.pooled.weight:2", false},
    {"llama", "model.pooler.dense.weight:2", false},
    {"esm", "esm.embeddings.position_embeddings.weight:12x8", true},
    {"esm", "esm.contact_head.regression.weight:1x4", true},
    {"esm", "esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq:2", true},
    {"gemma4", "model.language_model.layers.2.self_attn.k_proj.weight:8x8", true}, /* borrows */
    {"gemma4", "language_model.model.layers.2.self_attn.v_proj.weight:8x8", true},
    {"gemma4", "model.layers.4.self_attn.k_norm.weight:8", true},
    {"gemma4", "model.language_model.layers.2.self_attn.q_proj.weight:8x8", false},
    {"gemma4", "model.language_model.layers.1.self_attn.k_proj.weight:8x8", false},
    {"t5", "encoder.embed_tokens.weight:13x8", true},
    {"t5", "block.0.layer.1.EncDecAttention.relative_attention_bias.weight:8x3", true},
    {"t5", "block.0.layer.1.EncDecAttention.x.weight:8x3", false},
    {"t5-encoder", "transformer.anything:1", true}, /* a family that is open to others */
};

TEST_LOOP(a_tensor_that_is_no_parameter_is_refused_unless_it_is_known, COUNT(extras))
{
    const struct hash_table wanted = {0};
    char reason[256];
    begin(extras[_i].config);
    put(DTYPE_F32, extras[_i].tensor);
    open_tensors();
    snprintf(reason, sizeof reason,
             "expected the tensors of a model of type \"%s\" with this config.json, found another "
             "tensor",
             config_kind_name(&model.config));
    expect_refusal(checkpoint_check_names(&checkpoint, &model.config, &wanted, &err),
                   model.tensors->name, extras[_i].known ? NULL : reason);
}

/* Before the names of all parameters are known. */
TEST(a_tensor_of_a_layer_that_the_config_lacks_is_refused)
{
    static const struct {
        const char *config, *tensor, *message;
    } layers[] = {
        {"llama", "model.layers.1.x:1", NULL},
        {"llama", "model.layers.2.x:1", "expected layers below n_layer = 2, found layer 2"},
        {"llama", "layers.12.x:1", "expected layers below n_layer = 2, found layer 12"},
        {"llama", "model.layers.x:1", NULL},
        {"llama", "other.layers.2.x:1", NULL},
        {"gemma3", "language_model.model.layers.2.x:1",
         "expected layers below n_layer = 2, found layer 2"},
        {"gemma3", "model.language_model.layers.2.x:1",
         "expected layers below n_layer = 2, found layer 2"},
        {"t5", "decoder.block.2.x:1", "expected layers below n_layer = 2, found layer 2"},
        {"t5", "encoder.block.1.x:1", NULL},
        {"t5", "encoder.block.3.x:1", "expected layers below n_encoder_layer = 2, found layer 3"},
    };
    for (size_t i = 0; i < COUNT(layers); i++) {
        begin(layers[i].config);
        put(DTYPE_F32, layers[i].tensor);
        open_tensors();
        expect_refusal(checkpoint_check_names(&checkpoint, &model.config, NULL, &err),
                       model.tensors->name, layers[i].message);
    }
}

TEST(a_copy_of_the_table_of_tokens_has_its_numbers)
{
    const struct hash_table wanted = {0};
    for (int differs = 0; differs < 2; differs++) {
        begin("t5");
        put(DTYPE_F32, "shared.weight:13x8 encoder.embed_tokens.weight:13x8");
        model.tensors[1].values[100] += (float)differs;
        open_tensors();
        int failed = checkpoint_check_names(&checkpoint, &model.config, &wanted, &err);
        ck_assert_int_eq(err.kind, differs ? ERR_UNSUPPORTED : ERR_NONE);
        expect_refusal(failed, model.tensors[1].name,
                       differs ? "expected the numbers of 'shared.weight', found others" : NULL);
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

TEST(a_number_that_is_not_finite_is_refused_with_its_index)
{
    static const struct {
        enum dtype type;
        size_t at;
        float number;
        const char *message;
    } bad[] = {
        {DTYPE_F32, 0, NAN, "expected finite numbers, found nan at element 0"},
        {DTYPE_F32, 299, INFINITY, "expected finite numbers, found inf at element 299"},
        {DTYPE_F16, 255, -INFINITY, "expected finite numbers, found -inf at element 255"},
        {DTYPE_BF16, 256, NAN, "expected finite numbers, found nan at element 256"},
        {DTYPE_F64, 257, INFINITY, "expected finite numbers, found inf at element 257"},
        {DTYPE_F32, 0, 3e38f, NULL},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        begin("llama");
        put(bad[i].type, "t:3x100");
        model.tensors->values[bad[i].at] = bad[i].number;
        open_tensors();
        expect_refusal(
            checkpoint_check_finite(&checkpoint, checkpoint_find_exactly(&checkpoint, "t"), &err),
            "t", bad[i].message);
    }
    expect_message(checkpoint_check_finite(&checkpoint, (struct found_tensor){0}, &err), NULL);
}
