#include "base/names.h"

#include <string.h>

#include "../unit.h"

static const struct row {
    int before;
    const char *name;
} rows[] = {{1, "linear"}, {2, "sqrt"}, {3, "log"}};

static const char *const list[] = {"png", "pdf"};

static const struct synonym synonyms[] = {
    {"jpg", "gif"}, {"jpg", "png"}, {"sqrt", "log"}, {NULL, NULL}};

static struct names of_rows(void)
{
    return NAMES(rows, sizeof rows / sizeof *rows);
}

TEST(a_name_is_found_in_a_table_of_rows)
{
    size_t index = 9;
    ck_assert(names_find(&index, of_rows(), "log,sqrt", 3));
    ck_assert_uint_eq(index, 2);
    ck_assert(!names_find(&index, of_rows(), "lo", 2));
    ck_assert(!names_find(&index, of_rows(), "logs", 4));
    ck_assert_uint_eq(index, 2);
    ck_assert_int_eq(names_choose(&index, of_rows(), "--scale", "linear", NULL), 0);
    ck_assert_uint_eq(index, 0);
    ck_assert_str_eq(names_at(NAMES_LIST(list), 1), "pdf");
}

TEST(what_is_none_is_refused_with_what_was_meant)
{
    size_t index = 0;
    struct err err = {0};
    ck_assert_int_eq(names_choose(&index, of_rows(), "--scale", "sqtr", &err), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_str_eq(err.text, "--scale: expected one of linear, sqrt, log, found 'sqtr': did you "
                               "mean 'sqrt'?");
    err_clear(&err);
    ck_assert_int_eq(names_choose_item(&index, of_rows(), "--scale", "cubic,log", 5, &err), -1);
    ck_assert_str_eq(err.text, "--scale: expected one of linear, sqrt, log, found 'cubic'");
}

TEST(a_synonym_counts_where_its_name_is_there)
{
    struct names names = NAMES_LIST(list);
    names.synonyms = synonyms;
    ck_assert_str_eq(names_nearest(names, "jpg", 3), "png");
    ck_assert_str_eq(names_nearest(names, "JPG", 3), "png");
    ck_assert_ptr_null(names_nearest(names, "sqrt", 4));
    ck_assert_ptr_null(names_nearest(names, "jp", 2));
}

TEST(a_file_has_an_ending_in_small_or_large_letters)
{
    ck_assert(name_has_ending("a.gguf", ".gguf") && name_has_ending("b/c.GgUF", ".gguf"));
    ck_assert(!name_has_ending(".gguf", ".gguf") && !name_has_ending("a.gguf/", ".gguf"));
    ck_assert(!name_has_ending("a.ggu", ".gguf") && !name_has_ending("", ".gguf"));
}
