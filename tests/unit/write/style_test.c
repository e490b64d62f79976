#include "write/style.h"

#include "../unit.h"

TEST(widths_have_units_or_the_name_of_a_venue)
{
    static const struct {
        const char *text;
        double points;
    } rows[] = {{"3.25in", 234}, {"2.54cm", 72}, {"25.4mm", 72}, {"300pt", 300},  {"300bp", 300},
                {"icml", 234},   {"1in", 72},    {"40in", 2880}, {"neurips", 396}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct style style = {.title = NULL};
        ck_assert_int_eq(style_read(&style, &(struct style_words){.width = rows[i].text}, NULL), 0);
        ck_assert_double_eq_tol(style.form.width, rows[i].points, 1e-9);
        ck_assert_double_eq(style.form.font_size, 7);
    }
}

TEST(a_width_keeps_a_chosen_font_size)
{
    struct style style = {.form = {.font_size = 9}};
    ck_assert_int_eq(style_read(&style, &(struct style_words){.width = "acl"}, NULL), 0);
    ck_assert_double_eq(style.form.font_size, 9);
}

TEST(labels_continue_after_z)
{
    static const struct {
        const char *pattern;
        size_t panel;
        const char *label;
    } rows[] = {{"a", 0, "a"},     {"a", 25, "z"}, {"(a)", 2, "(c)"},  {"A.", 26, "AA."},
                {"a)", 53, "bb)"}, {"1", 0, "1"},  {"[1]", 41, "[42]"}};
    char label[PANEL_LABEL_BYTES];
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct style style = {.title = NULL};
        const struct style_words words = {.panel_labels = rows[i].pattern};
        ck_assert_int_eq(style_read(&style, &words, NULL), 0);
        ck_assert_str_eq(figure_form_label(label, &style.form, rows[i].panel), rows[i].label);
    }
}

TEST(marks_apply_to_all_heads_a_layer_or_one_head)
{
    static const struct cell_mark marks[] = {{-1, -1, 4, 2}, {0, -1, 4, 2}, {11, 3, 5, 0}};
    static const char *const lists[] = {"4:2,0:4:2", "11.3:5:0"};
    struct style style = {.title = NULL};
    const struct style_words words = {.marks = lists, .mark_count = COUNT(lists)};
    const struct figure_form *form = &style.form;
    ck_assert_int_eq(style_read(&style, &words, NULL), 0);
    ck_assert_uint_eq(form->mark_count, COUNT(marks));
    for (size_t i = 0; i < COUNT(marks); i++) {
        ck_assert_int_eq(form->marks[i].layer, marks[i].layer);
        ck_assert_int_eq(form->marks[i].head, marks[i].head);
        ck_assert_uint_eq(form->marks[i].row, marks[i].row);
        ck_assert_uint_eq(form->marks[i].column, marks[i].column);
    }
}

TEST(too_many_marks_are_refused)
{
    const char *lists[FIGURE_MARKS_MAX + 1];
    struct style style = {.title = NULL};
    struct style_words words = {.marks = lists, .mark_count = FIGURE_MARKS_MAX};
    struct err err = {0};
    for (size_t i = 0; i <= FIGURE_MARKS_MAX; i++)
        lists[i] = "1:0";
    ck_assert_int_eq(style_read(&style, &words, NULL), 0);
    style.form.mark_count = 0;
    words.mark_count++;
    ck_assert_int_eq(style_read(&style, &words, &err), -1);
    ck_assert_str_eq(err.text, "--mark: expected at most 64 cells, found more");
}
