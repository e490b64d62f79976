#include "out/explain_format.h"

#include <check.h>

Suite *explain_format_suite(void);

START_TEST(a_format_is_found_by_its_name)
{
    for (size_t i = 0; i < explain_format_count; i++)
        ck_assert_ptr_eq(explain_format_find(explain_formats[i].name), &explain_formats[i]);
    ck_assert_str_eq(explain_formats[0].name, "text");
    ck_assert_ptr_null(explain_format_find("Text"));
    ck_assert_ptr_null(explain_format_find(""));
}
END_TEST

START_TEST(a_format_is_found_by_the_ending_of_a_path)
{
    ck_assert_ptr_eq(explain_format_of_path("a/walk.md"), explain_format_find("markdown"));
    ck_assert_ptr_eq(explain_format_of_path("walk.v2.tex"), explain_format_find("latex"));
    ck_assert_ptr_eq(explain_format_of_path(".json"), explain_format_find("json"));
    ck_assert_ptr_eq(explain_format_of_path("a.html"), explain_format_find("html"));
    ck_assert_ptr_eq(explain_format_of_path("walk.txt"), explain_format_find("text"));
    ck_assert_ptr_null(explain_format_of_path("walk.csv"));
    ck_assert_ptr_null(explain_format_of_path("md"));
}
END_TEST

Suite *explain_format_suite(void)
{
    Suite *suite = suite_create("explain_format");
    TCase *tests = tcase_create("explain_format");
    tcase_add_test(tests, a_format_is_found_by_its_name);
    tcase_add_test(tests, a_format_is_found_by_the_ending_of_a_path);
    suite_add_tcase(suite, tests);
    return suite;
}
