#include <float.h>
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

TEST(a_page_has_a_title_and_a_table_for_every_head)
{
    ck_assert_str_eq(fixture_written(text_page_write, &fixture_plain, &fixture_alone),
                     "life · Life is Life\n"
                     "\n"
                     "weights · layer 0 · rows: query, columns: key\n"
                     "\n"
                     "head 0    Life      is    Life\n"
                     "Life    1.0000\n"
                     "is      0.2500  0.7500\n"
                     "Life    0.1000  0.2000  0.7000\n");
}

TEST(heads_stand_side_by_side_where_they_fit)
{
    ck_assert_str_eq(
        fixture_written(text_page_write, &fixture_layers, &fixture_alone),
        "life · Life is Life\n"
        "\n"
        "embedding · rows: token, columns: channel\n"
        "\n"
        "              0          1\n"
        "Life   5.00e-01  -5.00e-01\n"
        "is     1.23e+07   2.50e-01\n"
        "Life   5.00e-01  -5.00e-01\n"
        "\n"
        "k · layer 0 · rows: token, columns: dim\n"
        "\n"
        "head 0        0        1    head 1        0        1\n"
        "Life     1.0000   2.0000    Life    -5.0000   6.0000\n"
        "is       3.0000   4.0000    is       7.0000   8.0000\n"
        "Life     1.0000   2.0000    Life    -5.0000   6.0000\n"
        "\n"
        "weights · layer 0 · rows: query, columns: key\n"
        "\n"
        "head 0    Life      is    Life    head 1    Life      is    Life\n"
        "Life    1.0000                    Life    1.0000\n"
        "is      0.2500  0.7500            is      0.5000  0.5000\n"
        "Life    0.1000  0.2000  0.7000    Life    0.3000  0.3000  0.4000\n"
        "\n"
        "masked · layer 1 · rows: query, columns: key\n"
        "\n"
        "head 0      Life        is      Life    head 1      Life        is      Life\n"
        "Life      0.5000                        Life      1.0000\n"
        "is       -1.0000    2.0000              is        2.0000    3.0000\n"
        "Life      0.0000    3.0000  -12.5000    Life      4.0000    5.0000    6.0000\n"
        "\n"
        "weights · layer 1 · rows: query, columns: key\n"
        "\n"
        "head 0    Life      is    Life    head 1    Life      is    Life\n"
        "Life    1.0000                    Life    1.0000\n"
        "is      0.0000  1.0000            is      1.0000  0.0000\n"
        "Life    0.1250  0.2500  0.6250    Life    1.0000  0.0000  0.0000\n");
}

TEST(an_endless_page_has_one_head_below_the_other)
{
    struct report report = fixture_layers;
    struct place place = {.count = 1};
    report.tensors = &fixture_layers.tensors[2];
    report.tensor_count = 1;
    ck_assert_str_eq(fixture_written(text_page_write, &report, &place),
                     "life · Life is Life\n"
                     "\n"
                     "weights · layer 0 · rows: query, columns: key\n"
                     "\n"
                     "head 0    Life      is    Life\n"
                     "Life    1.0000\n"
                     "is      0.2500  0.7500\n"
                     "Life    0.1000  0.2000  0.7000\n"
                     "\n"
                     "head 1    Life      is    Life\n"
                     "Life    1.0000\n"
                     "is      0.5000  0.5000\n"
                     "Life    0.3000  0.3000  0.4000\n");
}

TEST(odd_tokens_are_visible_and_aligned)
{
    struct place place = fixture_alone;
    place.show_tokens = true;
    ck_assert_str_eq(
        fixture_written(text_page_write, &fixture_odd, &place),
        "o\"dd · the,\"↵爱🍰theé\n"
        "\n"
        "token  id  start  end  text\n"
        "    0   7      0    3  the\n"
        "    1   1      3    4  ,\n"
        "    2   2      4    5  \"\n"
        "    3   3      5    6  ↵\n"
        "    4   4      6    9  爱\n"
        "    5   5      9   13  🍰\n"
        "    6   7     13   16  the\n"
        "    7   8     16   17  \\xc3\n"
        "    8   9     17   18  \\xa9\n"
        "\n"
        "weights · layer 0 · rows: query, columns: key\n"
        "\n"
        "head 0     the       ,       \"       ↵      爱      🍰     the    \\xc3    \\xa9\n"
        "the     1.0000\n"
        ",       0.5000  0.5000\n"
        "\"       0.5000  0.0000  0.5000\n"
        "↵       0.5000  0.0000  0.0000  0.5000\n"
        "爱      0.5000  0.0000  0.0000  0.0000  0.5000\n"
        "🍰      0.5000  0.0000  0.0000  0.0000  0.0000  0.5000\n"
        "the     0.5000  0.0000  0.0000  0.0000  0.0000  0.0000  0.5000\n"
        "\\xc3    0.5000  0.0000  0.0000  0.0000  0.0000  0.0000  0.0000  0.5000\n"
        "\\xa9    0.5000  0.0000  0.0000  0.0000  0.0000  0.0000  0.0000  0.0000  0.5000\n");
}

TEST(a_source_has_a_title_and_tokens_of_its_own)
{
    struct place place = fixture_alone;
    struct report report = fixture_cross;
    report.tensors = &fixture_cross.tensors[1];
    report.tensor_count = 1;
    place.show_tokens = true;
    ck_assert_str_eq(fixture_written(text_page_write, &report, &place),
                     "models/cross · ids 3,11\n"
                     "source · Life is Life\n"
                     "\n"
                     "token  id  sentence\n"
                     "    0   3  3\n"
                     "    1  11  11\n"
                     "\n"
                     "token  id  start  end  source\n"
                     "    0   0      0    4  Life\n"
                     "    1   1      5    7  is\n"
                     "    2   0      8   12  Life\n"
                     "\n"
                     "weights · layer 0 · rows: query, columns: key\n"
                     "\n"
                     "head 0    Life      is    Life\n"
                     "3       0.5000  0.2500  0.2500\n"
                     "11      0.0000  0.0000  1.0000\n");
}

TEST(the_middle_of_a_long_matrix_is_left_out_and_a_line_says_so)
{
    struct report report = fixture_long(60);
    struct place place = {.count = 1, .columns = 60, .lines = 6, .show_tokens = true};
    ck_assert_str_eq(fixture_written(text_page_write, &report, &place),
                     "long · ids 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,1…\n"
                     "\n"
                     "(5 of 60 tokens shown; --full shows all)\n"
                     "token  id  text\n"
                     "    0   0  t0\n"
                     "    1   1  t1\n"
                     "    2   2  t2\n"
                     "    …\n"
                     "   58  58  t58\n"
                     "   59  59  t59\n"
                     "\n"
                     "weights · layer 0 · rows: query, columns: key\n"
                     "(5 of 60 rows, 6 of 60 columns shown; --full shows all)\n"
                     "\n"
                     "head 0      t0      t1      t2  …     t57     t58     t59\n"
                     "t0      1.0000\n"
                     "t1      0.5000  0.5000\n"
                     "t2      0.3333  0.3333  0.3333\n"
                     "…            …       …       …  …       …\n"
                     "t58     0.0169  0.0169  0.0169  …  0.0169  0.0169\n"
                     "t59     0.0167  0.0167  0.0167  …  0.0167  0.0167  0.0167\n"
                     "\n"
                     "head 1      t0      t1      t2  …     t57     t58     t59\n"
                     "t0      1.0000\n"
                     "t1      0.5000  0.5000\n"
                     "t2      0.3333  0.3333  0.3333\n"
                     "…            …       …       …  …       …\n"
                     "t58     0.0169  0.0169  0.0169  …  0.0169  0.0169\n"
                     "t59     0.0167  0.0167  0.0167  …  0.0167  0.0167  0.0167\n");
}

TEST(a_note_says_how_much_is_shown)
{
    static const struct {
        size_t tokens, columns, lines;
        const char *note; /* NULL: none, all is shown */
    } cases[] = {
        {9, 78, 0, NULL},
        {9, 77, 0, "(8 of 9 columns shown; --full shows all)\n"},
        {9, 0, 0, NULL},
        {20, 80, 0, "(8 of 20 columns shown; --full shows all)\n"},
        {60, 80, 0, "(8 of 60 columns shown; --full shows all)\n"},
        {9, 80, 9, NULL},
        {9, 80, 8, "(7 of 9 rows shown; --full shows all)\n"},
        {9, 24, 0, "(2 of 9 columns shown;\n  --full shows all)\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct report report = fixture_long(cases[i].tokens);
        struct place place = {.count = 1, .columns = cases[i].columns, .lines = cases[i].lines};
        const char *text = fixture_written(text_page_write, &report, &place);
        if (cases[i].note)
            ck_assert_msg(strstr(text, cases[i].note) != NULL, "no %s in\n%s", cases[i].note, text);
        else
            ck_assert_msg(strchr(text, '(') == NULL, "a note in\n%s", text);
    }
}

TEST(no_line_is_wider_than_the_page)
{
    for (size_t columns = 25; columns <= 90; columns++) { /* 25: two keys and the ellipsis */
        struct report report = fixture_long(12);
        struct place place = {.count = 1, .columns = columns, .show_tokens = true};
        const char *at = fixture_written(text_page_write, &report, &place);
        for (bool heading = true; *at; at++) {
            size_t width = 0;
            heading = strncmp(at, "weights", 7) == 0 || *at == '(';
            for (; *at != '\n'; at++)
                width += ((unsigned char)*at & 0xC0) != 0x80; /* characters, not bytes */
            ck_assert_msg(heading || width <= columns, "%zu columns of %zu", width, columns);
        }
    }
}

/* A sentence with one tensor of one row, whose columns are channels or the tokens given. */
static const char *page_of(size_t count, const float *values, const struct label *labels,
                           size_t columns)
{
    static const size_t heads[] = {0};
    struct kept kept = {SITE_WEIGHTS, 0, 3, {1, 1, count}, values, heads, NULL};
    struct report report = fixture_plain;
    struct place place = {.count = 1, .columns = columns};
    report.causal = false;
    report.tensors = &kept;
    report.sentence.labels = labels;
    const char *page = fixture_written(text_page_write, &report, &place);
    return strstr(page, "\nhead 0") + 1;
}

TEST(numbers_are_as_wide_as_the_widest)
{
    static const struct label labels[] = {{"a", "a", "a"}, {"b", "b", "b"}};
    static const struct {
        float values[2];
        const char *table;
    } cases[] = {
        {{0, 1}, "head 0       a       b\na       0.0000  1.0000\n"},
        {{0.0386f, -0.5f}, "head 0        a        b\na        0.0386  -0.5000\n"},
        {{1, 9999}, "head 0          a          b\na          1.0000  9999.0000\n"},
        {{1, 9999.99999f}, "head 0         a         b\na       1.00e+00  1.00e+04\n"},
        {{1, -1234}, "head 0          a          b\na        1.00e+00  -1.23e+03\n"},
        {{FLT_MAX, -FLT_MAX}, "head 0          a          b\na        3.40e+38  -3.40e+38\n"},
        {{0.0009f, 0}, "head 0         a         b\na       9.00e-04  0.00e+00\n"},
        {{0.001f, 0}, "head 0       a       b\na       0.0010  0.0000\n"},
        {{0, 0}, "head 0       a       b\na       0.0000  0.0000\n"},
        {{-INFINITY, 0.5f}, "head 0       a       b\na         -inf  0.5000\n"},
        {{-INFINITY, INFINITY}, "head 0       a       b\na         -inf     inf\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(page_of(2, cases[i].values, labels, 80), cases[i].table);
}

TEST(labels_take_the_room_there_is)
{
    static const struct label labels[] = {{"dessert", "", ""}, {"自然语言处理", "", ""}};
    static const float values[] = {0.25f, 0.75f};
    static const struct {
        size_t columns;
        const char *table;
    } cases[] = {
        {80, "head 0        dessert  自然语言处理\ndessert        0.2500        0.7500\n"},
        {0, "head 0        dessert  自然语言处理\ndessert        0.2500        0.7500\n"},
        {27, "head 0    dessert   自然语…\ndessert    0.2500    0.7500\n"},
        {25, "head 0   dessert  自然语…\ndessert   0.2500   0.7500\n"},
        {23, "head 0   desse…   自然…\ndessert  0.2500  0.7500\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(page_of(2, values, labels, cases[i].columns), cases[i].table);
}

TEST(a_very_long_label_is_shortened)
{
    static const struct label labels[] = {{"abcdefghijklmnopqrstuvwxyz", "", ""}};
    static const float values[] = {1};
    ck_assert_str_eq(page_of(1, values, labels, 80), "head 0            abcdefghijklmno…\n"
                                                     "abcdefghijklmno…            1.0000\n");
}

TEST(a_rule_parts_sentences_which_are_numbered)
{
    static const struct report *const reports[] = {&fixture_plain, &fixture_selected};
    ck_assert_str_eq(
        fixture_several(text_page_write, reports, 2),
        "life · sentence 0 · Life is Life\n"
        "\n"
        "weights · layer 0 · rows: query, columns: key\n"
        "\n"
        "head 0    Life      is    Life\n"
        "Life    1.0000\n"
        "is      0.2500  0.7500\n"
        "Life    0.1000  0.2000  0.7000\n"
        "\n"
        "--------------------------------------------------------------------------------\n"
        "\n"
        "life · sentence 1 · Life is Life\n"
        "\n"
        "weights · layer 0 · rows: query, columns: key\n"
        "\n"
        "head 1    Life      is    Life\n"
        "Life    1.0000\n"
        "is      0.5000  0.5000\n"
        "Life    0.3000  0.3000  0.4000\n");
}

TEST(a_long_sentence_is_shortened_in_the_title)
{
    struct report report = fixture_plain;
    struct place place = {.count = 1, .columns = 16};
    report.tensor_count = 0;
    ck_assert_str_eq(fixture_written(text_page_write, &report, &place), "life · Life is …\n");
    place.columns = 0;
    ck_assert_str_eq(fixture_written(text_page_write, &report, &place), "life · Life is Life\n");
}

TEST(what_could_drive_a_terminal_is_made_visible)
{
    struct report report = fixture_plain;
    report.tensor_count = 0;
    report.model = "a\x1b[2Jb";
    report.sentence.text = "x\ry\x1b]0;z\a";
    report.sentence.size = strlen(report.sentence.text);
    ck_assert_str_eq(fixture_written(text_page_write, &report, &fixture_alone),
                     "a\\x1b[2Jb · x\\x0dy\\x1b]0;z\\x07\n");
}

TEST(every_allocation_may_fail)
{
    fixture_starve(text_page_write, &fixture_odd);
    fixture_starve(text_page_write, &fixture_cross);
}
