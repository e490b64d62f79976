#include "write/text_heat.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

/* What a page says of a report, in a style. */
static const char *page(const struct report *report, const struct style *style)
{
    struct place place = {.count = 1, .columns = 60, .style = style};
    return fixture_written(text_page_write, report, &place);
}

TEST(without_colours_there_are_numbers)
{
    struct style style = {.depth = DEPTH_NONE};
    ck_assert_str_eq(page(&fixture_plain, &style), "life · Life is Life\n"
                                                   "\n"
                                                   "weights · layer 0 · rows: query, columns: key\n"
                                                   "\n"
                                                   "head 0    Life      is    Life\n"
                                                   "Life    1.0000\n"
                                                   "is      0.2500  0.7500\n"
                                                   "Life    0.1000  0.2000  0.7000\n");
}

TEST(shades_stand_beside_numbers_or_alone)
{
    struct style both = {.cells = CELLS_BOTH};
    struct style heat = {.cells = CELLS_HEAT};
    ck_assert_str_eq(page(&fixture_plain, &both), "life · Life is Life\n"
                                                  "\n"
                                                  "weights · layer 0 · rows: query, columns: key\n"
                                                  "\n"
                                                  "head 0    Life      is    Life\n"
                                                  "Life   █1.0000\n"
                                                  "is     ░0.2500 ▓0.7500\n"
                                                  "Life   ░0.1000 ░0.2000 ▓0.7000\n");
    ck_assert_str_eq(page(&fixture_plain, &heat), "life · Life is Life\n"
                                                  "\n"
                                                  "weights · layer 0 · rows: query, columns: key\n"
                                                  "\n"
                                                  "head 0  0 1 2\n"
                                                  "0 Life ██\n"
                                                  "1 is   ░░▓▓\n"
                                                  "2 Life ░░░░▓▓\n"
                                                  "\n"
                                                  "0  ░░░░░▒▒▒▒▒▒▓▓▓▓▓▓██████ 1\n");
}

/* Without the lines above the matrix. */
static const char *rows(const char *text)
{
    return strstr(text, "\nLife") + 1;
}

TEST(colours_lie_behind_numbers_as_far_as_the_terminal_can)
{
    static const struct {
        struct style style;
        const char *rows;
    } cases[] = {
        {{.depth = DEPTH_16, .dark = true},
         "Life   \x1b[107;30m 1.0000 \x1b[0m\n"
         "is     \x1b[46;30m 0.2500 \x1b[106;30m 0.7500 \x1b[0m\n"
         "Life   \x1b[44;97m 0.1000 \x1b[44;97m 0.2000 \x1b[106;30m 0.7000 \x1b[0m\n"},
        {{.depth = DEPTH_16},
         "Life   \x1b[44;97m 1.0000 \x1b[0m\n"
         "is     \x1b[46;30m 0.2500 \x1b[104;30m 0.7500 \x1b[0m\n"
         "Life   \x1b[106;30m 0.1000 \x1b[106;30m 0.2000 \x1b[104;30m 0.7000 \x1b[0m\n"},
        {{.depth = DEPTH_256, .palette = NULL, .dark = true},
         "Life   \x1b[48;5;255;38;5;16m 1.0000 \x1b[0m\n"},
        {{.depth = DEPTH_FULL}, "Life   \x1b[48;2;10;37;88;38;5;231m 1.0000 \x1b[0m\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = rows(page(&fixture_plain, &cases[i].style));
        ck_assert_msg(strncmp(found, cases[i].rows, strlen(cases[i].rows)) == 0, "%zu: '%s'", i,
                      found);
    }
}

TEST(heat_alone_is_blanks_of_colour_and_a_legend)
{
    struct style style = {.depth = DEPTH_16, .dark = true, .cells = CELLS_HEAT};
    const char *text = page(&fixture_plain, &style);
    ck_assert_ptr_nonnull(strstr(text, "0 Life \x1b[107;30m  \x1b[0m\n"));
    ck_assert_ptr_nonnull(strstr(text, "1 is   \x1b[46;30m  \x1b[106;30m  \x1b[0m\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n\n0  \x1b[44;97m "));
    ck_assert_str_eq(text + strlen(text) - 7, "\x1b[0m 1\n");
}

TEST(numbers_of_columns_stand_apart)
{
    struct style style = {.depth = DEPTH_16, .dark = true, .cells = CELLS_HEAT};
    struct report some = fixture_long(10);
    ck_assert_ptr_nonnull(strstr(page(&some, &style), " 0 1 2 3 4 5 6 7 8 9"));
    some = fixture_long(20);
    ck_assert_ptr_nonnull(strstr(page(&some, &style), " 0         5        10        15"));
}

TEST(both_signs_have_colours_of_their_own)
{
    struct style style = {.depth = DEPTH_16, .dark = true, .cells = CELLS_HEAT};
    struct report report = fixture_layers;
    report.tensors = &fixture_layers.tensors[1]; /* keys: 1 … 8, and -5 */
    report.tensor_count = 1;
    const char *text = page(&report, &style);
    ck_assert_ptr_nonnull(strstr(text, "0 Life \x1b[43;30m  \x1b[43;30m  \x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\n\n-8 \x1b[46;30m "));
}

TEST(numbers_alone_stay_without_colour)
{
    struct style style = {.depth = DEPTH_FULL, .cells = CELLS_NUMBERS};
    ck_assert_ptr_null(strchr(page(&fixture_layers, &style), '\x1b'));
}

TEST(ranges_of_rows_and_heads_are_named)
{
    static const char *const endings[] = {"█ 1\n", "█ the most of the head\n",
                                          "█ the most of the row\n"};
    for (int range = RANGE_ALL; range <= RANGE_ROW; range++) {
        struct style style = {.cells = CELLS_HEAT, .range = (enum style_range)range};
        const char *text = page(&fixture_plain, &style);
        ck_assert_str_eq(text + strlen(text) - strlen(endings[range]), endings[range]);
        ck_assert_ptr_nonnull(strstr(text, range == RANGE_ROW ? "1 is   ▒▒██" : "1 is   ░░▓▓"));
    }
}

static int write_heat(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    static const struct style style = {.range = RANGE_HEAD, .cells = CELLS_HEAT};
    struct place styled = *place;
    styled.style = &style;
    return text_page_write(out, report, &styled, err);
}

TEST(missing_memory_is_an_error)
{
    fixture_starve(write_heat, &fixture_layers);
}
