#include "model/model.h"

#include <string.h>

#include "../unit.h"

TEST(names_of_the_hub_are_known_in_every_form)
{
    static const char *const cases[][2] = {
        {"openai-community/gpt2", "openai-community/gpt2"},
        {"gpt2", "openai-community/gpt2"},
        {"gpt2-medium", "openai-community/gpt2-medium"},
        {"distilgpt2", "distilbert/distilgpt2"},
        {"https://huggingface.co/gpt2", "openai-community/gpt2"},
        {"https://huggingface.co/gpt2/tree/main", "openai-community/gpt2"},
        {"http://www.huggingface.co/roneneldan/TinyStories-1M/", "roneneldan/TinyStories-1M"},
        {"hf.co/a/b.c_d", "a/b.c_d"},
        {"./gpt2", "openai-community/gpt2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[HUB_NAME_BYTES];
        ck_assert_msg(hub_name_read(name, cases[i][0]), "%s", cases[i][0]);
        ck_assert_str_eq(name, cases[i][1]);
        ck_assert_str_eq(hub_name_model(name), strchr(cases[i][1], '/') + 1);
    }
}

TEST(paths_are_none)
{
    static const char *const cases[] = {
        "",   "life",        "./gpt3", "./a/gpt2", "../a/b", "a/b/c",   "/a/b",
        "a/", "C:\\a\\gpt2", "~/gpt2", "gpt2/",    "a b/c",  "gpt2/x/", "https://huggingface.co/",
    };
    char name[HUB_NAME_BYTES];
    char longest[2 * HUB_NAME_BYTES];
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(!hub_name_read(name, cases[i]), "%s", cases[i]);
    memset(longest, 'a', sizeof longest);
    longest[1] = '/';
    longest[HUB_NAME_BYTES - 1] = '\0';
    ck_assert(hub_name_read(name, longest));
    ck_assert_str_eq(name, longest);
    longest[HUB_NAME_BYTES - 1] = 'a';
    longest[HUB_NAME_BYTES] = '\0';
    ck_assert(!hub_name_read(name, longest));
}
