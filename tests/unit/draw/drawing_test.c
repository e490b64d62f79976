/* Without rsvg-convert nothing is tested; tests/readers/pictures.sh reports that. */
#include "draw/figure.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"

static bool can_draw(void)
{
    return drawing_check(NULL) == 0;
}

TEST(a_report_becomes_a_png_and_a_pdf)
{
    if (!can_draw())
        return;
    const char *png = fixture_written(format_png.write, &fixture_odd, &fixture_alone);
    ck_assert_mem_eq(png, "\x89PNG\r\n\x1a\n", 8);
    const char *pdf = fixture_written(format_pdf.write, &fixture_odd, &fixture_alone);
    ck_assert_mem_eq(pdf, "%PDF-1.", 7);
    ck_assert_mem_eq(pdf + fixture_size() - 6, "%%EOF\n", 6);
}

TEST(the_same_report_gives_the_same_bytes)
{
    static char first[1 << 20];
    if (!can_draw())
        return;
    const char *pdf = fixture_written(format_pdf.write, &fixture_layers, &fixture_alone);
    size_t size = fixture_size();
    memcpy(first, pdf, size);
    pdf = fixture_written(format_pdf.write, &fixture_layers, &fixture_alone);
    ck_assert_uint_eq(fixture_size(), size);
    ck_assert_mem_eq(pdf, first, size);
}

TEST(a_picture_of_too_many_pixels_is_refused)
{
    struct stream out = {0};
    struct drawing drawing;
    struct drawing_page page = {.width = 100, .height = 12001, .title = "tall"};
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(drawing_begin(&drawing, DRAWING_PNG, &out, &page, &err), -1);
    ck_assert_str_eq(err.text, "--format png: expected at most 32000 pixels a side, found 32003: "
                               "choose fewer layers or heads, or write svg or pdf");
    stream_discard(&out);
}
