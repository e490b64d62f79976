#include "draw/figure.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"

static char drawn[8192];

/* The commands after the background of a figure of 30 by 20 points. */
static const char *draw(void (*put)(struct canvas *canvas))
{
    static const char box[] = "\\path[use as bounding box] (0,0) rectangle (30,-20);\n"
                              "\\fill[fill={rgb,255:red,255;green,255;blue,255}] (0,0) rectangle "
                              "(30,-20);\n";
    struct stream out = {0};
    struct canvas tex;
    memory_stream_open(&out);
    tex_begin(&tex, &out, &(struct drawing_page){.width = 30, .height = 20, .title = "a\n\\end"});
    put(&tex);
    tex_end(&tex);
    struct file file = memory_stream_take(&out);
    ck_assert_uint_lt(file.size, sizeof drawn);
    memcpy(drawn, file.bytes, file.size);
    drawn[file.size] = '\0';
    file_release(&file);
    char *end = strstr(drawn, "\\end{tikzpicture}");
    char *start = strstr(drawn, box);
    ck_assert(start && end);
    *end = '\0';
    return start + sizeof box - 1;
}

static void nothing(struct canvas *canvas)
{
    (void)canvas;
}

TEST(a_title_stays_in_its_comment)
{
    ck_assert_str_eq(draw(nothing), "");
    ck_assert_int_eq(strncmp(drawn, "% a \\end\n% In a document", 24), 0);
}

static const char *letters;

static void some_letters(struct canvas *canvas)
{
    canvas->text(canvas, (struct point){1, 2}, letters,
                 &(struct font){.size = 7, .anchor = ANCHOR_END, .turn = -45, .bold = true});
}

TEST(special_characters_are_escaped)
{
    static const struct {
        const char *text, *tex;
    } cases[] = {
        {"Life", "Life"},
        {"\\{}", "\\textbackslash{}\\{\\}"},
        {"$&#%_", "\\$\\&\\#\\%\\_"},
        {"^~", "\\textasciicircum{}\\textasciitilde{}"},
        {"--", "-{}-{}"},
        {"a  b", "a \\ b"},
        {"<|>", "$<$$|$$>$"},
        {"␣a…", "\\textvisiblespace{}a\\ldots{}"},
        {"é", "\\attnsign{00E9}{é}"},
        {"爱🍰", "\\attnsign{7231}{爱}\\attnsign{1F370}{🍰}"},
        {"\x01\x7f\xff\xc2\x85", "\\attnsign{FFFD}{?}\\attnsign{FFFD}{?}\\attnsign{FFFD}{?}"
                                 "\\attnsign{FFFD}{?}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        snprintf(expected, sizeof expected,
                 "\\attntext{right,base,x=1bp,y=-2bp,rotate=45}{7}{000000}{\\bfseries %s}\n",
                 cases[i].tex);
        letters = cases[i].text;
        ck_assert_str_eq(draw(some_letters), expected);
    }
}

static void two_cells(struct canvas *canvas)
{
    static struct ramp ramp;
    unsigned char levels[] = {2, 0, 1};
    float values[] = {0.25f, 0, 0.1f};
    ramp.colours[1] = colour_of_hex(0xfe0102);
    canvas->cells(canvas, (struct box){1, 2, 9, 4},
                  &(struct cells){.rows = 1, .columns = 3, .levels = levels, .values = values},
                  &ramp);
}

TEST(a_cell_has_its_number)
{
    ck_assert_str_eq(draw(two_cells), "\\attncells{1}{-2}{3.00000}{4.00000}\n"
                                      "\\attncell{0}{0}{000000}{0.25}\n"
                                      "\\attncell{0}{2}{FE0102}{0.1}\n");
}

TEST(every_failed_allocation_is_an_error)
{
    fixture_starve(format_tex.write, &fixture_odd);
}
