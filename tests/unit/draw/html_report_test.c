#include "draw/page.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"

/* The part of a page between two texts. */
static const char *between(const char *page, const char *start, const char *end)
{
    static char part[1 << 12];
    const char *from = strstr(page, start);
    ck_assert_msg(from != NULL, "no '%s'", start);
    from += strlen(start);
    const char *to = strstr(from, end);
    ck_assert(to && (size_t)(to - from) < sizeof part);
    memcpy(part, from, (size_t)(to - from));
    part[to - from] = '\0';
    return part;
}

static size_t count(const char *page, const char *text)
{
    size_t found = 0;
    for (const char *at = page; (at = strstr(at, text)); at += strlen(text))
        found++;
    return found;
}

/* --- numbers ---------------------------------------------------------------------------------- */

TEST(two_characters_encode_a_share_of_the_largest_number)
{
    static const struct {
        float values[6]; /* of the visible cells */
        const char *expected;
    } cases[] = {
        {{1, 1e-6f, 0, 9e-7f, -INFINITY, 1e-3f}, "\"values\": \"//ACAAAAABgB\""},
        {{-8, 8, 8, 8, 8, 8}, "\"values\": \"/9/8/8/8/8/8\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const float *v = cases[i].values;
        const float values[] = {v[0], 0, 0, v[1], v[2], 0, v[3], v[4], v[5]};
        struct array kept = *fixture_plain.arrays;
        struct report report = fixture_plain;
        struct stream out = {0};
        kept.data = values;
        report.arrays = &kept;
        memory_stream_open(&out);
        ck_assert(!page_text_put(&out, &report, false, NULL, NULL));
        struct file file = memory_stream_take(&out);
        ck_assert(memmem(file.bytes, file.size, cases[i].expected, strlen(cases[i].expected)));
        file_release(&file);
    }
}

TEST(exact_numbers_are_base64_of_their_bytes)
{
    static const char *const expected[] = {"", "AACAPw==", "AACAPwAAAL8=", "AACAPwAAAL8AAIDA",
                                           "AACAPwAAAL8AAIDAAACA/w=="};
    static const float values[] = {1, -0.5f, -4, -INFINITY};
    for (size_t size = 0; size <= 4; size++) {
        struct stream out = {0};
        memory_stream_open(&out);
        page_put_base64(&out, (const char *)values, size * sizeof *values);
        struct file file = memory_stream_take(&out);
        ck_assert_uint_eq(file.size, strlen(expected[size]));
        ck_assert_mem_eq(file.bytes, expected[size], file.size);
        file_release(&file);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */

TEST(a_page_is_complete_and_loads_nothing)
{
    const char *page = fixture_written(format_html.write, &fixture_plain, &fixture_alone);
    ck_assert_int_eq(strncmp(page, "<!doctype html>\n<html lang=\"en\">", 32), 0);
    ck_assert_str_eq(page + fixture_size() - 8, "</html>\n");
    ck_assert_str_eq(between(page, "<title>", "</title>"), "life · Life is Life");
    /* http-equiv, which forbids all requests, and the namespace of SVG */
    ck_assert_uint_eq(count(page, "http"), 2);
    ck_assert_uint_eq(count(page, "'http://www.w3.org/2000/svg'"), 1);
    ck_assert_uint_eq(count(page, "default-src 'none'"), 1);
    ck_assert_uint_eq(count(page, "json\" class=\"sentence\""), 1);
}

TEST(only_visible_weights_are_written)
{
    const char *page = fixture_written(format_html.write, &fixture_plain, &fixture_alone);
    ck_assert_str_eq(between(page, "\"tensors\": [\n", "]}"),
                     "{\"tensor\": \"weights\", \"layer\": 0, \"heads\": [0], \"mean_of\": \"\", "
                     "\"rows\": \"query\", \"columns\": \"key\", \"row_labels\": \"sentence\", "
                     "\"column_labels\": \"sentence\", \"shape\": [1, 3, 3], \"causal\": true, "
                     "\"coding\": \"exact\", \"values\": \"AACAPwAAgD4AAEA/zczMPc3MTD4zMzM/\"}");
}

TEST(axes_name_their_labels)
{
    const char *page = fixture_written(format_html.write, &fixture_cross, &fixture_alone);
    ck_assert_str_eq(between(page, "\"labels\": ", ",\n\"tensors\""),
                     "{\"sentence\": [\"3\",\"11\"], \"source\": [\"Life\",\"is\",\"Life\"]}");
    ck_assert_uint_eq(count(page, "\"row_labels\": \"source\", \"column_labels\": \"numbers\""), 1);
    ck_assert_uint_eq(count(page, "\"row_labels\": \"sentence\", \"column_labels\": \"source\""),
                      1);
}

TEST(texts_cannot_end_their_element)
{
    static const struct token tokens[] = {
        {0, false, 0, 12}, {1, false, 12, 15}, {2, false, 15, 16}};
    static const struct label labels[] = {{"</script><b>", "0", "</script><b>"},
                                          {"\xe2\x80\xa8", "1", "\xe2\x80\xa8"},
                                          {"é\xe2\x80\xa9", "2", "é\xe2\x80\xa9"}};
    struct style style = {.title = "</title>&"};
    struct layout layout = {.style = &style};
    struct report report = fixture_plain;
    report.model = "<script>";
    report.text = (struct tokenized){.tokens = tokens, .labels = labels, .count = 3};
    const char *page = fixture_written(format_html.write, &report, &layout);
    ck_assert_uint_eq(count(page, "<script"), count(page, "</script>"));
    ck_assert_uint_eq(count(page, "</script><b>"), 0);
    ck_assert_str_eq(between(page, "<title>", "</title>"), "&lt;/title>&amp;");
    ck_assert_str_eq(between(page, "\"labels\": ", ",\n\"tensors\""),
                     "{\"sentence\": [\"\\u003c/script>\\u003cb>\",\"\\u2028\",\"é\\u2029\"]}");
}

TEST(several_sentences_are_on_one_page)
{
    static const struct report *const reports[] = {&fixture_plain, &fixture_odd, &fixture_cross};
    const char *page = fixture_several(format_html.write, reports, 3);
    ck_assert_uint_eq(count(page, "json\" class=\"sentence\""), 3);
    ck_assert_uint_eq(count(page, "<html"), 1);
    ck_assert_uint_eq(count(page, "</html>"), 1);
    ck_assert_uint_eq(count(page, "id=\"look\""), 1);
}

TEST(a_page_has_its_display_options)
{
    struct style style = {COLOURS_LOG, RANGE_ROW, .hide_first = true};
    struct layout layout = {.style = &style};
    style.palette = palette_find("greys");
    const char *page = fixture_written(format_html.write, &fixture_plain, &layout);
    ck_assert_str_eq(between(page, "id=\"look\">", "fefefe"),
                     "{\"title\": null, \"scale\": \"log\", \"range\": \"row\",\n "
                     "\"colours\": \"ffffff");
    ck_assert_uint_eq(count(page, "\"hide_first\": true"), 1);
}

TEST(every_failed_allocation_is_an_error)
{
    fixture_starve(format_html.write, &fixture_cross);
}
