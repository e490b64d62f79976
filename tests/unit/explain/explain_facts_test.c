#include "explain/explain_walk.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/explanation_fixture.h"
#include "base/heap.h"
#include "lens/selection.h"

static struct buf out;

static void write_text(struct buf *to, const char *text, size_t size)
{
    buf_bytes(to, text, size);
}

/* query: *1:|*, layer 2, head 1 */
static const struct fact_marks marks = {.text = write_text,
                                        .name = {"", ": "},
                                        .quote = {"\"", "\""},
                                        .query_quote = {"*", "*"},
                                        .end = "\n"};

static void add_facts(const struct explanation *explanation)
{
    explain_facts_add(&out, explanation->report, &marks);
    explain_facts_add_query(&out, explanation, &marks);
}

static void expect(const struct explanation *explanation, const char *text)
{
    buf_clear(&out);
    add_facts(explanation);
    ck_assert_int_eq(buf_check(&out, NULL), 0);
    ck_assert_uint_eq(out.size, strlen(text));
    ck_assert_mem_eq(out.bytes, text, out.size);
    buf_release(&out);
}

TEST(the_model_the_sentence_and_the_query)
{
    expect(&fixture_explanation, "model: \"o\"dd\"\n"
                                 "sentence: \"a_b|爱\\x0d\"\n"
                                 "query: *1:|*, layer 2, head 1\n");
}

TEST(what_is_not_always_there)
{
    struct report report = *fixture_explanation_short.report;
    struct explanation explanation = fixture_explanation_short;
    report.mechanism = "attention window:3";
    report.source = report.sentence;
    explanation.report = &report;
    explanation.part = &attention_parts[PART_CROSS];
    expect(&explanation, "model: \"o\"dd\"\n"
                         "mechanism: attention window:3\n"
                         "sentence: \"a_b|爱\\x0d\"\n"
                         "source: \"a_b|爱\\x0d\"\n"
                         "query: *1:|*, cross-attention, layer 2, head 1\n"
                         "keys shown: 2 of 4, which have 0.75 of the weight\n");
}

TEST(every_allocation_may_fail)
{
    bool failed = true;
    for (size_t nth = 1; failed; nth++) {
        heap_fail_at(nth, 0);
        add_facts(&fixture_explanation_short);
        heap_fail_at(0, 0);
        failed = out.out_of_memory;
        ck_assert(failed || nth > 3);
        buf_release(&out);
    }
}
