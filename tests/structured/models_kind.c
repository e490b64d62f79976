/* Models: folders of a config, weights and a vocabulary, run with few tokens. */
#include <cjson/cJSON.h>
#include <string.h>

#include "kind.h"
#include "models_change.h"
#include "odd.h"
#include "specimens.h"
#include "tensors.h"

/* What inputs begin with, and a text for it: its ids, a word of it, and the text it looks at. */
static struct specimen {
    const char *folder;
    const char *ids;
    const char *word;
    const char *source; /* NULL: it has none */
    struct folder files;
} specimens[] = {
    {"models/life", "0,4,5", "Life", NULL, {0}},
    {"models/life-causal", "0,4,5", "Life", NULL, {0}},
    {"models/life-4-heads", "0,4,5,2", "Life", NULL, {0}},
    {"models/life-grouped", "0,4", "Life", NULL, {0}},
    {"models/life-cross", "0,4,5", "Life", "cat", {0}},
    {"models/journey", "0,1,2", "step", NULL, {0}},
    {"models/journey-causal", "3", "step", NULL, {0}},
    {"models/translate", "0,24,28", "le", "cat", {0}},
    {"tests/golden/gpt2-micro", "4,39,13", "w4", NULL, {0}},
    {"tests/golden/gpt2-micro-f16", "4,4,4,13", "w4", NULL, {0}},
    {"tests/golden/gpt2-micro-bf16-prefixed-untied", "4,29,13", "w4", NULL, {0}},
    {"tests/golden/gqa", "4,8,10", "w4", NULL, {0}},
    {"tests/golden/multi-query", "4,8,10", "cat", NULL, {0}},
    {"tests/golden/uneven", "10,9,6,2", "w4", NULL, {0}},
    {"tests/golden/transformer-paper", "0,10,18", "le", "cat", {0}},
    {"tests/golden/transformer-pre", "0,10,18", "le", "cat", {0}},
};

int models_open(const char *scratch, struct err *err)
{
    (void)scratch;
    for (size_t i = 0; i < sizeof specimens / sizeof *specimens; i++)
        if (specimens_read(&specimens[i].files, specimens[i].folder, "m", err))
            return -1;
    return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* One field of the config gets an odd value. */
static void set_field(struct made *made)
{
    static const char *const fields[] = {
        "scale",
        "layer_norm_epsilon",
        "n_positions",
        "n_ctx",
        "bos_token_id",
        "eos_token_id",
        "initializer_range",
        "n_inner",
        "n_kv_head",
        "n_head",
        "n_layer",
        "n_encoder_layer",
        "d_k",
        "d_v",
        "scale_embedding",
        "scale_attn_weights",
        "tie_word_embeddings",
        "scale_attn_by_inverse_layer_idx",
        "causal",
        "norm_first",
        "final_norm",
        "bias",
        "positions",
        "activation_function",
        "add_cross_attention",
        "hidden_size",
        "vocab_size",
        "projections",
        "out_proj",
        "attention",
        "architectures",
    };
    static const char *const values[] = {
        "true",      "false",    "null",     "\"learned\"",  "\"sinusoidal\"", "\"self\"",
        "\"cross\"", "\"gelu\"", "\"relu\"", "\"gelu_new\"", "\"silu\"",       "[]",
    };
    const char *field = MADE_PICK(made, fields);
    models_set(made, field, made_one_in(made, 3) ? MADE_PICK(made, values) : odd_number(made));
}

/* Twice as many words: every row of the embeddings twice. */
static void double_words(struct made *made)
{
    static struct tensors tensors;
    static const char *const names[] = {"wte.weight", "lm_head.weight"};
    struct buf text = {0};
    struct folder_file *file = made_find(made, "m/model.safetensors");
    struct folder_file *config = made_find(made, "m/config.json");
    cJSON *root = cJSON_ParseWithLength(config->bytes, config->size);
    cJSON *size = cJSON_GetObjectItemCaseSensitive(root, "vocab_size");
    if (size && !tensors_read(&tensors, file, made)) {
        cJSON_SetNumberValue(size, 2 * size->valuedouble);
        for (size_t i = 0; i < 2; i++)
            if (tensors_find(&tensors, names[i]))
                tensors_double_rows(tensors_find(&tensors, names[i]), made);
        tensors_write(&text, &tensors);
        made_take(made, file, &text);
        char *json = made_memory(cJSON_PrintUnformatted(root));
        made_text(made, "m/config.json", json);
        cJSON_free(json);
    }
    cJSON_Delete(root);
}

/* --- command lines ---------------------------------------------------------------------------- */

/* `heads` reads long texts of its own, and `compare` goes several ways: seldom. */
static void add_slow(struct made *made, const struct specimen *specimen, const char *text,
                     const char *source)
{
    if (made_one_in(made, 4))
        made_line(made, "heads -m m -q -t 1 --format json %s", specimen->word);
    else
        made_line(made, "compare -m m -q -t 1 %s%s --attention dense,linear,window:1", text,
                  source);
}

/* Each takes the text and its source, or passes them over. */
static void add_other(struct made *made, const char *text, const char *source)
{
    static const char *const others[] = {
        "info m --format json%.0s%.0s",
        "info m -n 7%.0s%.0s",
        "explain -m m -q %s%s --full --token all --format json",
        "explain -m m -q %s%s --full --digits 9 --format markdown",
        "explain -m m -q %s%s --format text",
        "generate -m m -q -t 1 %s%s -n 3 --logprobs",
        "generate -m m -q -t 1 %s%s -n 3 --temp 0.9 --top-k 3 --top-p 0.5",
    };
    made_line(made, MADE_PICK(made, others), text, source);
}

void models_make(struct made *made)
{
    static void (*const changes[])(struct made *) = {
        models_change_tensors, models_change_tensors, models_change_tensors, set_field, set_field,
        models_change_json,    double_words,          models_split};
    const struct specimen *specimen = &MADE_PICK(made, specimens);
    struct buf text = {0}, source = {0};
    made_copy(made, specimen->files.files, specimen->files.file_count);
    MADE_PICK(made, changes)(made);
    buf_format(&text, "--ids %s", specimen->ids);
    buf_text(&source, "");
    if (specimen->source)
        buf_format(&source, " --source %s", specimen->source);
    models_add_run(made, text.bytes, source.bytes);
    if (made_one_in(made, 16))
        add_slow(made, specimen, text.bytes, source.bytes);
    else
        add_other(made, text.bytes, source.bytes);
    buf_release(&text);
    buf_release(&source);
}
