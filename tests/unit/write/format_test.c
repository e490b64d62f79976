#include "write/format.h"

#include <string.h>

#include "../unit.h"

TEST(a_format_is_found_by_its_name)
{
    static const struct {
        const char *name;
        int (*write)(struct stream *, const struct report *, const struct place *, struct err *);
    } cases[] = {
        {"text", text_page_write},
        {"csv", csv_write},
        {"tidy", tidy_write},
        {"json", json_report_write},
        {"jsonl", jsonl_report_write},
        {"npy", npy_report_write},
        {"safetensors", tensors_report_write},
        {"svg", figure_write_svg},
        {"tex", figure_write_tex},
        {"png", figure_write_png},
        {"pdf", figure_write_pdf},
        {"html", html_report_write},
    };
    ck_assert_uint_eq(format_count, COUNT(cases));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct format *format = format_find(cases[i].name);
        ck_assert_msg(format != NULL, "no format '%s'", cases[i].name);
        ck_assert(format->write == cases[i].write);
    }
}

TEST(what_is_no_format_is_not_found)
{
    static const char *const names[] = {"", "CSV", "cs", "csv2", "gif", ".csv"};
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_msg(format_find(names[i]) == NULL, "found '%s'", names[i]);
}

TEST(no_two_formats_share_a_name_or_an_ending)
{
    for (size_t i = 0; i < format_count; i++) {
        ck_assert_int_eq(format_rows[i].ending[0], '.');
        ck_assert_uint_gt(strlen(format_rows[i].about), 0);
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(format_rows[i].name, format_rows[k].name);
            ck_assert_str_ne(format_rows[i].ending, format_rows[k].ending);
        }
    }
}
