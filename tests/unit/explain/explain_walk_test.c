#include "../rigs/explanation_fixture.h"
#include "explain/explain_walk.h"

#include "../unit.h"

/* A form of a sign a piece. */
struct page {
    struct buf text;
};

static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    buf_format(&page->text, "query %zu at %zu:", explanation->query, place);
}

static void end_query(struct page *page)
{
    buf_text(&page->text, "\n.\n");
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    buf_format(&page->text, "\n%zu %s", number, title);
}

static void end_step(struct page *page)
{
    buf_text(&page->text, ";");
}

static void add_text(struct page *page, enum explain_text kind, const char *text)
{
    static const char *const names[] = {"formula", "note", "worked"};
    buf_format(&page->text, "\n %s %s", names[kind], text);
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    buf_format(&page->text, "\n [%s", table->data->corner ? table->data->corner : "");
}

static void end_table(struct page *page)
{
    buf_text(&page->text, "]");
}

static void begin_line(struct page *page, const struct explain_line *line)
{
    static const char *const names[] = {"headings", "titles", "row", "gap", "total"};
    buf_format(&page->text, "\n  %s", names[line->kind]);
    if (line->row != NO_ROW)
        buf_format(&page->text, " %zu", line->row);
}

static void end_line(struct page *page, enum explain_line_kind line)
{
    (void)line;
    buf_text(&page->text, ",");
}

static void add_symbol(struct buf *out, const struct explain_cell *cell)
{
    buf_text(out, cell->kind == CELL_HEADING ? cell->block->symbol : "0");
}

static void add_cell(struct page *page, const struct explain_cell *cell)
{
    bool first = cell->kind == CELL_HEADING || cell->number == cell->block->first;
    const char *text = cell->kind == CELL_DOTS  ? ".."
                       : cell->kind != CELL_BAR ? cell->text
                       : cell->line == LINE_ROW ? "#"
                                                : "!";
    buf_format(&page->text, "%s%s", first ? " " : "'",
               cell->kind == CELL_NUMBER && !*text ? "_" : text);
}

static const struct explain_form form = {
    .symbol = add_symbol,
    .begin_query = begin_query,
    .begin_step = begin_step,
    .add_text = add_text,
    .begin_table = begin_table,
    .begin_line = begin_line,
    .add_cell = add_cell,
    .end_line = end_line,
    .end_table = end_table,
    .end_step = end_step,
    .end_query = end_query,
};

/* The same without what a form may leave out, in the other notation. */
static const struct explain_form bare_form = {
    .lacks_headings = true,
    .symbol = add_symbol,
    .begin_query = begin_query,
    .begin_step = begin_step,
    .add_text = add_text,
    .begin_table = begin_table,
    .begin_line = begin_line,
    .add_cell = add_cell,
    .end_line = end_line,
};

static void check_walk(const struct explain_form *as, const struct explanations *explanations,
                       struct explain_page how, const char *expected)
{
    struct page page = {0};
    ck_assert_int_eq(explain_walk(explanations, as, &page, &how, NULL), 0);
    ck_assert(!page.text.out_of_memory);
    ck_assert_str_eq(page.text.bytes, expected);
    buf_release(&page.text);
}

TEST(pieces_come_in_the_order_of_a_page)
{
    check_walk(&form, &(struct explanations){&fixture_explanation_short, 1, false},
               (struct explain_page){.columns = 40},
               "query 1 at 0:\n"
               "1 Keys\n"
               " formula k_j = x_j\n"
               " formula score_j = q · k_j\n"
               " note W_k, W_O,h: what they are.\n"
               " [key\n"
               "  headings k_j (3 of 9),\n"
               "  titles 0'1'..'8,\n"
               "  gap,\n"
               "  row 1 -1.0000'-2.0000'..'-9.0000,\n"
               "  row 2 0.0000'0.5000'..'0.0000,\n"
               "  gap,]\n"
               " worked score_0 = 0.5 · 1;\n"
               ".\n");
}

TEST(in_full_wide_vectors_come_in_parts)
{
    check_walk(&form, &(struct explanations){&fixture_explanation_short, 1, false},
               (struct explain_page){.columns = 60, .full = true},
               "query 1 at 0:\n"
               "1 Keys\n"
               " formula k_j = x_j\n"
               " formula score_j = q · k_j\n"
               " note W_k, W_O,h: what they are.\n"
               " [channel\n"
               "  headings W_k,\n"
               "  titles 0'1,\n"
               "  row 0 1.0000'-2.0000,\n"
               "  row 1 0.2500'0.0000,\n"
               "  total 0.5000'0.1250,]\n"
               " [key\n"
               "  headings k_j,\n"
               "  titles 0'1'2'3'4,\n"
               "  gap,\n"
               "  row 1 -1.0000'-2.0000'-3.0000'-4.0000'-5.0000,\n"
               "  row 2 0.0000'0.5000'0.0000'0.5000'0.0000,\n"
               "  gap,]\n"
               " [key\n"
               "  headings k_j,\n"
               "  titles 5'6'7'8,\n"
               "  gap,\n"
               "  row 1 -6.0000'-7.0000'-8.0000'-9.0000,\n"
               "  row 2 0.5000'0.0000'0.5000'0.0000,\n"
               "  gap,]\n"
               " worked score_0 = 0.5 · 1;\n"
               ".\n");
}

TEST(a_form_may_leave_things_out)
{
    const struct explanation two[] = {fixture_explanation, fixture_explanation_short};
    check_walk(&bare_form, &(struct explanations){two, 2, true},
               (struct explain_page){.columns = 40},
               "query 1 at 0:\n"
               "1 Query\n"
               " formula q = x · W_q + b_q\n"
               " [channel\n"
               "  titles 0 0'1,\n"
               "  row 0 0.5000 1.0000'-2.0000,\n"
               "  row 1 _ 0.2500'0.0000,\n"
               "  total _ 0.7500'-1.0000,\n"
               "2 Keys\n"
               " formula k_j = x_j\n"
               " formula score_j = q · k_j\n"
               " note W_k, W_O,h: what they are.\n"
               " [key\n"
               "  titles 0'1'..'8,\n"
               "  row 0 1.0000'2.0000'..'9.0000,\n"
               "  row 1 -1.0000'-2.0000'..'-9.0000,\n"
               "  row 2 0.0000'0.5000'..'0.0000,\n"
               "  row 3 0.0000'0.0000'..'0.0000,\n"
               " worked score_0 = 0.5 · 1\n"
               "3 Softmax\n"
               " [key\n"
               "  titles 0 0 !,\n"
               "  row 0 0.5 2.5e-01 #,\n"
               "  row 1 1.5 7.5e-01 #,\n"
               "  row 2 -inf 0.0e+00 #,\n"
               "  row 3 -inf 0.0e+00 #,\n"
               "  total _ 1.0e+00 !,\n"
               "4 Output\n"
               " note That is all.query 1 at 1:\n"
               "1 Keys\n"
               " formula k_j = x_j\n"
               " formula score_j = q · k_j\n"
               " note W_k, W_O,h: what they are.\n"
               " [key\n"
               "  titles 0'1'..'8,\n"
               "  gap,\n"
               "  row 1 -1.0000'-2.0000'..'-9.0000,\n"
               "  row 2 0.0000'0.5000'..'0.0000,\n"
               "  gap,\n"
               " worked score_0 = 0.5 · 1");
}
