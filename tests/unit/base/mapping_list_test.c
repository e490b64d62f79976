#include "base/mapping_list.h"

#include <stdio.h>

#include "../unit.h"
#include "base/heap.h"

TEST(an_address_in_a_file_has_its_path)
{
    static const char first[10] = "first";
    static const char second[10] = "second";
    mapping_list_add(first, sizeof first, "models/a");
    mapping_list_add(second, sizeof second, "models/b");
    ck_assert_str_eq(mapping_list_path(first), "models/a");
    ck_assert_str_eq(mapping_list_path(first + 9), "models/a");
    ck_assert_str_eq(mapping_list_path(second + 4), "models/b");
    mapping_list_remove(first);
    ck_assert_ptr_null(mapping_list_path(first + 9));
    ck_assert_str_eq(mapping_list_path(second), "models/b");
    mapping_list_remove(second);
    ck_assert_ptr_null(mapping_list_path(second));
}

TEST(what_finds_no_place_has_no_path)
{
    static const char bytes[200][2];
    for (size_t i = 0; i < 200; i++)
        mapping_list_add(bytes[i], sizeof bytes[i], "many");
    ck_assert_str_eq(mapping_list_path(bytes[0]), "many");
    ck_assert_ptr_null(mapping_list_path(bytes[199]));
    for (size_t i = 0; i < 200; i++)
        mapping_list_remove(bytes[i]);
    heap_fail_at(1, 0);
    mapping_list_add(bytes[0], sizeof bytes[0], "none");
    ck_assert_ptr_null(mapping_list_path(bytes[0]));
    mapping_list_add(bytes[199], sizeof bytes[199], "more");
    ck_assert_str_eq(mapping_list_path(bytes[199]), "more");
    mapping_list_remove(bytes[199]);
}
