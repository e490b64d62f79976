#include "base/buf.h"
#include "base/memory.h"
#include "model/config.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"

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

TEST(values_are_replaced_in_place)
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

/* A size may have the name of other checkpoints, or several names. */
TEST(aliases_are_the_same_key)
{
    read_list("n_embd=8,n_positions=16");
    must_become("{\"hidden_size\": 768, \"max_position_embeddings\": 1024}",
                "{\"hidden_size\": 8, \"max_position_embeddings\": 16}");
    must_become("{\"n_ctx\": 1024, \"n_positions\": 1024, \"n_embd\": 768}",
                "{\"n_ctx\": 16, \"n_positions\": 16, \"n_embd\": 8}");
}

TEST(missing_keys_are_added_at_the_end)
{
    read_list("d_k=3,d_k=2,d_v=4,n_embd=5");
    must_become("{\"n_embd\": 3}", "{\"n_embd\": 5, \"d_k\": 2, \"d_v\": 4}");
    must_become("{\"n_embd\": 3}\n", "{\"n_embd\": 5, \"d_k\": 2, \"d_v\": 4}\n");
    must_become("{\n  \"n_embd\": 3\n}\n", "{\n  \"n_embd\": 5,\n  \"d_k\": 2,\n  \"d_v\": 4\n}\n");
}

/* config.c reads a key if it refuses an object as its value, with the name of the key. */
TEST(config_parse_reads_every_key)
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
        bool is_alias = kind == MODEL_DECODER && reads; /* the name in some families */
        ck_assert_msg(reads == expected || is_alias, "%s: %s", text, err.text);
    }
}
