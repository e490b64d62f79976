#include <stdint.h>
#include <string.h>

#include "../unit.h"
#include "model/model.h"

TEST(the_default_model_is_there_and_comes_first)
{
    ck_assert_str_eq(bundled_default, "tiny");
    ck_assert_ptr_eq(bundled_find(bundled_default), &bundled_models[0]);
}

TEST(the_worked_examples_are_found_by_name)
{
    static const char *const names[] = {"life",           "life-causal", "life-4-heads",
                                        "life-grouped",   "life-cross",  "journey",
                                        "journey-causal", "translate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct folder *folder = bundled_find(names[i]);
        ck_assert_msg(folder != NULL, "no model '%s'", names[i]);
        ck_assert_str_eq(folder->path, names[i]);
    }
}

TEST(only_an_exact_name_finds_a_model)
{
    static const char *const names[] = {"", "Life", "lif", "life ", "life/", "./life"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(!bundled_find(names[i]), "'%s' was found", names[i]);
}

TEST(no_name_stands_twice)
{
    for (size_t i = 0; i < bundled_count; i++)
        ck_assert_ptr_eq(bundled_find(bundled_models[i].path), &bundled_models[i]);
}

TEST(every_model_has_its_three_files)
{
    static const char *const names[] = {"config.json", "vocab.json", "model.safetensors"};
    for (size_t i = 0; i < bundled_count; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            ck_assert_msg(folder_has(&bundled_models[i], names[n]), "%s: no %s",
                          bundled_models[i].path, names[n]);
}

TEST(floats_stand_where_they_can_be_read)
{
    for (size_t i = 0; i < bundled_count; i++) {
        struct file file = {0};
        ck_assert_int_eq(folder_open(&file, &bundled_models[i], "model.safetensors", NULL), 0);
        uint64_t header = 0;
        memcpy(&header, file.bytes, sizeof header);
        ck_assert_uint_eq((uintptr_t)(file.bytes + sizeof header + header) % sizeof(float), 0);
        file_release(&file);
    }
}

TEST(a_file_holds_its_bytes_from_the_first_to_the_last)
{
    static const char text[] = "{\"Your\": 0, \"journey\": 1, \"starts\": 2, \"with\": 3, "
                               "\"one\": 4, \"step\": 5}\n";
    struct file file = {0};
    ck_assert_int_eq(folder_open(&file, bundled_find("journey"), "vocab.json", NULL), 0);
    ck_assert_uint_eq(file.size, sizeof text - 1);
    ck_assert_mem_eq(file.bytes, text, sizeof text - 1);
    file_release(&file);
}

TEST(a_file_that_no_model_has_is_named)
{
    struct file file = {0};
    struct err err = {0};
    ck_assert_int_eq(folder_open(&file, bundled_find("life"), "merges.txt", &err), -1);
    ck_assert_str_eq(err.text, "the bundled model 'life' has no file 'merges.txt'");
}
