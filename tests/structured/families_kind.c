/* Models of families: folders of a config and weights, run with few ids. */
#include "kind.h"
#include "models_change.h"
#include "odd.h"
#include "specimens.h"

static const char *const names[] = {
    "tests/golden-families/bloom",
    "tests/golden-families/falcon",
    "tests/golden-families/falcon-7b-style",
    "tests/golden-families/falcon-rw-alibi",
    "tests/golden-families/gemma",
    "tests/golden-families/gemma2",
    "tests/golden-families/gemma3_text",
    "tests/golden-families/gpt_neo",
    "tests/golden-families/gpt_neox",
    "tests/golden-families/gptj",
    "tests/golden-families/granite",
    "tests/golden-families/llama",
    "tests/golden-families/llama-bf16-tied-biases",
    "tests/golden-families/llama-rope-dynamic",
    "tests/golden-families/llama-rope-llama3",
    "tests/golden-families/llama-rope-yarn",
    "tests/golden-families/mistral",
    "tests/golden-families/olmo2",
    "tests/golden-families/opt",
    "tests/golden-families/opt-350m-style",
    "tests/golden-families/phi",
    "tests/golden-families/phi3-longrope",
    "tests/golden-families/qwen2",
    "tests/golden-families/qwen3",
    "tests/golden-families/smollm3",
    "tests/golden-families/stablelm",
    "tests/golden-families/starcoder2",
};

enum { COUNT = sizeof names / sizeof *names };

static struct folder folders[COUNT];

int families_open(const char *scratch, struct err *err)
{
    (void)scratch;
    for (size_t i = 0; i < COUNT; i++)
        if (specimens_read(&folders[i], names[i], "m", err))
            return -1;
    return 0;
}

static const char *const keys[] = {
    "model_type",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "max_position_embeddings",
    "vocab_size",
    "hidden_act",
    "rms_norm_eps",
    "layer_norm_eps",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "partial_rotary_factor",
    "rotary_dim",
    "layer_types",
    "no_rope_layers",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "window_size",
    "attention_types",
    "eos_token_id",
    "tie_word_embeddings",
    "use_parallel_residual",
    "new_decoder_architecture",
    "multi_query",
    "alibi",
    "parallel_attn",
    "word_embed_proj_dim",
    "do_layer_norm_before",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "attention_multiplier",
    "residual_multiplier",
    "logits_scaling",
    "original_max_position_embeddings",
};

/* A key of the config gets an odd value, or one that means something elsewhere. */
static void set_key(struct made *made)
{
    static const char *const values[] = {
        "true",
        "false",
        "null",
        "[]",
        "[0, 1]",
        "[[[\"global\", \"local\"], 1]]",
        "\"llama\"",
        "\"falcon\"",
        "\"gpt_neox\"",
        "\"relu\"",
        "[\"full_attention\", \"sliding_attention\"]",
        "{\"type\": \"linear\", \"factor\": 1e6}",
        "{\"rope_type\": \"dynamic\", \"factor\": 1e5}",
        "{\"rope_type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 1}",
        "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 0}",
        "{\"rope_type\": \"longrope\", \"short_factor\": [1e-9, 1], \"long_factor\": [1, 1e8]}",
        "{\"full_attention\": {\"rope_theta\": 1}, \"sliding_attention\": {\"rope_theta\": 1e12}}",
    };
    const char *key = MADE_PICK(made, keys);
    models_set(made, key, made_one_in(made, 2) ? MADE_PICK(made, values) : odd_number(made));
}

void families_make(struct made *made)
{
    static void (*const changes[])(struct made *) = {
        models_change_tensors, models_change_tensors, set_key, set_key,
        models_change_json,    models_split};
    static const char *const others[] = {
        "generate -m m -q -t 1 %s -n 3 --logprobs",
        "generate -m m -q -t 1 %s -n 9 --no-stop --beyond-context",
        "run -m m -v -t 2 %s --beyond-context --show all --format jsonl",
        "run -m m -q %s,5,6,7,8,9,10,12,0,1,2,3 --show logits --format csv",
        "info m --format json%.0s",
        "heads -m m -q -t 1 --format json%.0s",
    };
    static const char text[] = "--ids 1,2,3,11,3";
    const struct folder *folder = &MADE_PICK(made, folders);
    made_copy(made, folder->files, folder->file_count);
    MADE_PICK(made, changes)(made);
    models_add_run(made, text, "");
    made_line(made, MADE_PICK(made, others), text);
}
