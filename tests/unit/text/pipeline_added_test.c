#include "text/builder.h"

#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../rigs/starve.h"
#include "../unit.h"

#define FOUR "{\"id\": 4, \"content\": \"<s>\", \"special\": true}"
#define SIX "{\"id\": 6, \"content\": \"<x>\"}"

static const char json[] =
    "{\"added_tokens\": [" FOUR ", " SIX "], \"normalizer\": {\"type\": \"Lowercase\"}, "
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \" \": 3, "
    "\"<s>\": 4, \"<p>\": 5}, \"merges\": [\"a b\"]}}";

static int open_beside(struct tokenizer *pipeline, const char *config, struct err *err)
{
    const struct folder_file files[] = {
        {"tokenizer.json", json, strlen(json)},
        {"tokenizer_config.json", config, strlen(config)},
    };
    const struct folder folder = {"x", files, 2};
    return tokenizer_fill(pipeline, &folder, err);
}

/* The ids are from Hugging Face's tokenizers 0.22.2, with the listed tokens added in the order of
 * their ids, as in transformers. */
TEST(tokens_of_the_config_are_added)
{
    static const struct {
        const char *config, *text, *tokens;
    } cases[] = {
        {"{}", "a<s> <x><p>", "0:0-1 4:1-4 3:4-5 6:5-8 !3@8-9"},
        {"{\"added_tokens_decoder\": null}", "ab<s>", "2:0-2 4:2-5"},
        {"{\"added_tokens_decoder\": {}}", "ab<s>", "2:0-2 4:2-5"},
        {"{\"added_tokens_decoder\": {\"4\": {\"content\": \"<s>\", \"rstrip\": true}}}", "<s> a",
         "4:0-4 0:4-5"},
        {"{\"added_tokens_decoder\": {\"5\": {\"content\": \"<p>\"}}}", "a<p>", "0:0-1 5:1-4"},
        {"{\"added_tokens_decoder\": {\"0\": {\"content\": \"<p>\"}, \"1\": {\"content\": "
         "\"ab\"}}}",
         "bab<p>", "1:0-1 2:1-3 5:3-6"},
        {"{\"added_tokens_decoder\": {\"30\": {\"content\": \"<y>\"}, \"7\": {\"content\": "
         "\"<z>\"}}}",
         "<y><z><x>", "8:0-3 7:3-6 6:6-9"},
        {"{\"added_tokens_decoder\": {\"12\": {\"content\": \"B\", \"normalized\": true}}}", "abB",
         "0:0-1 7:1-2 7:2-3"},
        {"{\"added_tokens_decoder\": {\"12\": {\"content\": \"B\"}}}", "abB", "2:0-2 7:2-3"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer pipeline;
        struct err err = {0};
        ck_assert_msg(!open_beside(&pipeline, cases[i].config, &err), "%s", err.text);
        pipeline_rig_expect(&pipeline, cases[i].text, cases[i].tokens);
        tokenizer_release(&pipeline);
    }
}

TEST(special_tokens_remain_special)
{
    static const char config[] =
        "{\"added_tokens_decoder\": {\"4\": {\"content\": \"<s>\", \"special\": false}, "
        "\"6\": {\"content\": \"<x>\", \"special\": true}}}";
    struct tokenizer pipeline;
    ck_assert_int_eq(open_beside(&pipeline, config, NULL), 0);
    pipeline_rig_expect(&pipeline, "a<s><x>", "0:0-1 4:1-4 6:4-7");
    pipeline_rig_expect_plain(&pipeline, "a<s><x>", "0:0-1 !6@1-2");
    tokenizer_release(&pipeline);
}

TEST(a_failed_allocation_is_an_error)
{
    static const char config[] = "{\"added_tokens_decoder\": {\"12\": {\"content\": \"B\", "
                                 "\"normalized\": true}, \"4\": {\"content\": \"<s>\"}}}";
    struct starve starve = {0};
    while (starve_next(&starve)) {
        struct tokenizer pipeline;
        struct err err = {0};
        if (!starve_check(&starve, open_beside(&pipeline, config, &err), &err))
            pipeline_rig_expect(&pipeline, "aB", "0:0-1 7:1-2");
        tokenizer_release(&pipeline);
    }
}
