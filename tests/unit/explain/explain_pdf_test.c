/* Where pango and cairo are not installed there is nothing to test: tests/pictures.sh says so. */
#include <string.h>

#include "../unit.h"
#include "../rigs/explanation_fixture.h"
#include "../rigs/memory_stream.h"
#include "draw/drawing.h"

static struct file written(const struct explanation *items, size_t count, bool full)
{
    struct explain_page page = {.full = full};
    struct explanations explanations = {items, count, count > 1};
    struct stream out = {0};
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_msg(explain_pdf_write(&out, &explanations, &page, &err) == 0, "%s", err.text);
    return memory_stream_take(&out);
}

static size_t count_of(const struct file *file, const char *mark)
{
    size_t size = strlen(mark);
    size_t count = 0;
    for (size_t i = 0; i + size <= file->size; i++)
        count += memcmp(file->bytes + i, mark, size) == 0;
    return count;
}

/* Newer cairos compress what says so. */
static void expect_pages(const struct file *file, size_t least, size_t most)
{
    size_t pages = count_of(file, "/Type /Page ") + count_of(file, "/Type /Page\n");
    if (count_of(file, "/ObjStm") == 0)
        ck_assert_msg(pages >= least && pages <= most, "%zu pages, expected %zu to %zu", pages,
                      least, most);
}

TEST(a_document_is_the_same_each_time)
{
    if (drawing_check(NULL))
        return;
    struct file first = written(&fixture_explanation, 1, false);
    struct file second = written(&fixture_explanation, 1, false);
    ck_assert_mem_eq(first.bytes, "%PDF-1.", 7);
    expect_pages(&first, 1, 1);
    ck_assert_uint_eq(first.size, second.size);
    ck_assert_mem_eq(first.bytes, second.bytes, first.size);
    file_release(&first);
    file_release(&second);
}

TEST(each_of_several_begins_a_page)
{
    const struct explanation three[] = {fixture_explanation, fixture_explanation_short,
                                        fixture_explanation};
    if (drawing_check(NULL))
        return;
    struct file file = written(three, 3, true);
    expect_pages(&file, 3, 3);
    file_release(&file);
}

enum { LONG = 500, WIDE = 30 };

/* In full in three tables, each with some of the elements. */
TEST(a_long_table_goes_on_on_the_next_page)
{
    static float values[LONG * WIDE];
    static struct label labels[LONG];
    static size_t shown[LONG];
    if (drawing_check(NULL))
        return;
    for (size_t i = 0; i < LONG; i++) {
        labels[i] = (struct label){"a very long name of a token", "w", "w"};
        shown[i] = i;
    }
    struct step step = fixture_explanation.steps[1];
    step.given_count = 0;
    step.table.rows = labels;
    step.table.row_count = LONG;
    step.table.blocks[0].values = values;
    step.table.blocks[0].width = step.table.blocks[0].stride = WIDE;
    struct explanation explanation = fixture_explanation;
    explanation.key_count = explanation.shown_count = LONG;
    explanation.shown = shown;
    explanation.steps = &step;
    explanation.step_count = 1;
    struct file file = written(&explanation, 1, false);
    expect_pages(&file, 8, 8);
    file_release(&file);
    file = written(&explanation, 1, true);
    expect_pages(&file, 24, 24);
    file_release(&file);
}

/* A text that fills pages alone. */
TEST(a_long_text_comes_in_several_paragraphs)
{
    static char text[40000];
    static struct report report;
    struct explanation explanation = fixture_explanation;
    if (drawing_check(NULL))
        return;
    memset(text, 'w', sizeof text);
    for (size_t i = 7; i < sizeof text; i += 8)
        text[i] = ' ';
    report = *explanation.report;
    report.sentence.text = text;
    report.sentence.size = sizeof text;
    explanation.report = &report;
    struct file file = written(&explanation, 1, false);
    expect_pages(&file, 6, 20);
    file_release(&file);
}

TEST(every_allocation_may_fail)
{
    if (drawing_check(NULL) == 0)
        fixture_starve_explainer(explain_pdf_write);
}
