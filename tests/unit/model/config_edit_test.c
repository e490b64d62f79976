#include "base/arena.h"
#include "base/buf.h"
#include "model/config.h"
#include "model/config_edit.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

static struct config_edit edit;
static struct arena arena;
static struct buf out;
static struct err err;

static void empty(void)
{
    edit = (struct config_edit){0};
    out = (struct buf){0};
    err_clear(&err);
}

static void release(void)
{
    buf_release(&out);
    arena_release(&arena);
}

FIXTURE(empty, release)

static void read_list(const char *list)
{
    ck_assert_msg(!config_edit_read(&edit, list, &arena, &err), "%s", err.text);
}

static void must_become(const char *text, const char *expected)
{
    buf_clear(&out);
    ck_assert_msg(!config_edit_apply(&out, &edit, text, strlen(text), &err), "%s", err.text);
    ck_assert_str_eq(out.bytes, expected);
}

TEST(values_are_replaced_in_their_place)
{
    static const struct {
        const char *list, *text, *expected;
    } cases[] = {
        {"n_layer=2", "{\"n_layer\": 12}", "{\"n_layer\": 2}"},
        {"n_layer=2", " {\n \"n_layer\" :12 , \"x\": [1, {}]\n}\n",
         " {\n \"n_layer\" :2 , \"x\": [1, {}]\n}\n"},
        {"n_layer=2,n_head=4", "{\"n_head\":12,\"n_layer\":12}", "{\"n_head\":4,\"n_layer\":2}"},
        {"n_inner=null", "{\"n_inner\": 3072, \"y\": \"n_inner\"}",
         "{\"n_inner\": null, \"y\": \"n_inner\"}"},
        {"causal=true", "{\"causal\": false}", "{\"causal\": true}"},
        {"scale=1e-3", "{\"scale\": null}", "{\"scale\": 1e-3}"},
        {"activation_function=relu", "{\"activation_function\": \"gelu\"}",
         "{\"activation_function\": \"relu\"}"},
        {"n_layer=two", "{\"n_layer\": 12}", "{\"n_layer\": \"two\"}"},
        {"n_layer=01", "{\"n_layer\": 12}", "{\"n_layer\": \"01\"}"},
        {"n_layer=\"", "{\"n_layer\": 12}", "{\"n_layer\": \"\\\"\"}"},
        {"n_layer=3,n_layer=2", "{\"n_layer\": 12}", "{\"n_layer\": 2}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        empty();
        read_list(cases[i].list);
        must_become(cases[i].text, cases[i].expected);
        buf_release(&out);
    }
}

/* A size may stand under the name that other checkpoints give it, even under both. */
TEST(aliases_are_the_same_key)
{
    read_list("n_embd=8,n_positions=16");
    must_become("{\"hidden_size\": 768, \"max_position_embeddings\": 1024}",
                "{\"hidden_size\": 8, \"max_position_embeddings\": 16}");
    must_become("{\"n_ctx\": 1024, \"n_positions\": 1024, \"n_embd\": 768}",
                "{\"n_ctx\": 16, \"n_positions\": 16, \"n_embd\": 8}");
}

TEST(what_was_not_there_is_added_at_the_end)
{
    read_list("d_k=3,d_k=2,d_v=4,n_embd=5");
    must_become("{\"n_embd\": 3}", "{\"n_embd\": 5, \"d_k\": 2, \"d_v\": 4}");
    must_become("{\"n_embd\": 3}\n", "{\"n_embd\": 5, \"d_k\": 2, \"d_v\": 4}\n");
    must_become("{\n  \"n_embd\": 3\n}\n", "{\n  \"n_embd\": 5,\n  \"d_k\": 2,\n  \"d_v\": 4\n}\n");
}

TEST(words_that_were_counted_are_a_change_like_any)
{
    read_list("n_head=8");
    ck_assert(!config_edit_has(&edit, "vocab_size"));
    ck_assert_int_eq(config_edit_add_words(&edit, 6, &arena, NULL), 0);
    ck_assert(config_edit_has(&edit, "vocab_size"));
    must_become("{\"vocab_size\": 512}", "{\"vocab_size\": 6, \"n_head\": 8}");
}

TEST(nothing_to_change_changes_nothing)
{
    must_become(" { \"a\" : 1 } ", " { \"a\" : 1 } ");
}

TEST(many_changes_have_room)
{
    char list[1000] = "n_layer=0";
    for (int i = 1; i <= 40; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",n_layer=%d", i);
    read_list(list);
    ck_assert_uint_eq(edit.count, 41);
    must_become("{\"n_layer\": 12}", "{\"n_layer\": 40}");
}

TEST(wrong_changes_are_usage_errors)
{
    static const struct {
        const char *list, *message;
    } cases[] = {
        {"", "--set: expected KEY=VALUE, found ''"},
        {"n_layer", "--set: expected KEY=VALUE, found 'n_layer'"},
        {"n_layer=", "--set: expected KEY=VALUE, found 'n_layer='"},
        {"=2", "--set: expected KEY=VALUE, found '=2'"},
        {"n_layer=2,", "--set: expected KEY=VALUE, found ''"},
        {"n_layer=2,,n_head=3", "--set: expected KEY=VALUE, found ''"},
        {"n_lay=2",
         "--set: expected one of vocab_size, n_embd, n_layer, n_head, n_positions, n_inner, "
         "activation_function, layer_norm_epsilon, initializer_range, tie_word_embeddings, "
         "scale_attn_weights, scale_attn_by_inverse_layer_idx, bos_token_id, eos_token_id, "
         "num_key_value_heads, head_dim, intermediate_size, hidden_act, rms_norm_eps, rope_theta, "
         "attention_bias, mlp_bias, "
         "n_kv_head, d_k, d_v, causal, projections, out_proj, bias, scale, attention, found "
         "'n_lay': did you mean 'n_layer'?"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        empty();
        ck_assert_int_eq(config_edit_read(&edit, cases[i].list, &arena, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(a_key_of_another_type_of_model_is_refused)
{
    const struct config gpt2 = {.kind = MODEL_GPT2};
    const struct config attention = {.kind = MODEL_ATTENTION};
    read_list("n_head=2,d_k=3");
    ck_assert_int_eq(config_edit_check(&edit, &attention, &err), 0);
    ck_assert_int_eq(config_edit_check(&edit, &gpt2, &err), -1);
    ck_assert_str_eq(err.text, "--set: a model of type \"gpt2\" has no 'd_k'");
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

TEST(a_text_that_is_no_object_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "byte 0: expected a value, found the end"},
        {"{\"a\": }", "byte 6: expected a value, found '}'"},
        {"[1]", "expected a JSON object with members"},
        {"{}", "expected a JSON object with members"},
        {"3", "expected a JSON object with members"},
    };
    read_list("n_layer=2");
    for (size_t i = 0; i < COUNT(cases); i++) {
        err_clear(&err);
        const char *text = cases[i].text;
        ck_assert_int_eq(config_edit_apply(&out, &edit, text, strlen(text), &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_INPUT);
    }
}

/* Every key is one that config.c looks at: an object in its place is refused by name. */
TEST(keys_are_those_that_a_config_is_read_for)
{
    static const struct {
        enum model_kind kind;
        const char *name, *rest;
    } kinds[] = {
        {MODEL_GPT2, "gpt2", ""},
        {MODEL_ATTENTION, "attention", "\"vocab_size\": 1, \"n_embd\": 1,"},
        {MODEL_DECODER, "llama",
         "\"vocab_size\": 1, \"hidden_size\": 4, \"num_hidden_layers\": 1, "
         "\"num_attention_heads\": 1,"},
    };
    for (size_t i = 0; i < config_key_count * COUNT(kinds); i++) {
        const struct config_key *key = &config_keys[i / COUNT(kinds)];
        enum model_kind kind = kinds[i % COUNT(kinds)].kind;
        char text[200];
        char field[64];
        struct config config;
        bool needed = strcmp(key->name, "vocab_size") == 0 || strcmp(key->name, "n_embd") == 0;
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", %s \"%s\": {}}",
                 kinds[i % COUNT(kinds)].name, needed ? "" : kinds[i % COUNT(kinds)].rest,
                 key->name);
        snprintf(field, sizeof field, "field '%s': ", key->name);
        err_clear(&err);
        int failed = config_parse(&config, text, strlen(text), &err);
        bool reads = failed && strncmp(err.text, field, strlen(field)) == 0;
        bool expected = (key->kinds & 1 << kind) != 0;
        bool in_other_words = kind == MODEL_DECODER && reads; /* some families say it so */
        ck_assert_msg(reads == expected || in_other_words, "%s: %s", text, err.text);
    }
}

TEST(an_allocation_that_fails_is_an_error)
{
    static const char text[] = "{\"n_head\": 1}";
    size_t nth = 1;
    for (;; nth++) {
        empty();
        heap_fail_at(nth, 0);
        int failed = config_edit_read(&edit, "n_head=2,activation_function=x", &arena, &err) ||
                     config_edit_add_words(&edit, 3, &arena, &err) ||
                     config_edit_apply(&out, &edit, text, strlen(text), &err);
        heap_fail_at(0, 0);
        buf_release(&out);
        arena_release(&arena);
        if (!failed)
            break;
        ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%s", err.text);
    }
    ck_assert_uint_gt(nth, 3);
}
