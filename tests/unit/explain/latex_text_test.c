#include "explain/explain_walk.h"

#include <string.h>

#include "../unit.h"

TEST(whatever_is_in_a_text_is_shown_as_it_is)
{
    static const char *const cases[][2] = {
        {"", "\\texttt{}"},
        {"Life is 50% $x$", "\\texttt{Life is 50\\% \\char36{}x\\char36{}}"},
        {"\\end{a}", "\\texttt{\\char92{}end\\char123{}a\\char125{}}"},
        {"#1 & a_b^c~d", "\\texttt{\\#1 \\& a\\char95{}b\\char94{}c\\char126{}d}"},
        {"--,<<>>''``!`\"", "\\texttt{-{}-{},\\allowbreak{}<{}<{}>{}>{}'{}'{}`{}`{}!{}`{}\"{}}"},
        {"Élan, Größe, ñ", "\\texttt{Élan,\\allowbreak{} Größe,\\allowbreak{} ñ}"},
        {"þ×ÿÀ", "\\texttt{\\sign{00FE}{þ}\\sign{00D7}{×}ÿÀ}"},
        {"爱🍰ł", "\\texttt{\\sign{7231}{爱}\\sign{1F370}{🍰}\\sign{0142}{ł}}"},
        {"e\xcc\x81", "\\texttt{e\\sign{0301}{\xcc\x81}}"},
        {"␣↵⇥‿…", "\\texttt{\\textvisiblespace{}$\\hookleftarrow$$\\mapsto$$\\smile$\\ldots{}}"},
        {"◌é₁é₄", "\\texttt{$\\circ$é$_1$é$_4$}"},
        {"\xc3", "\\texttt{\\sign{FFFD}{?}}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        latex_text(&out, cases[i][0], strlen(cases[i][0]));
        ck_assert_str_eq(out.bytes, cases[i][1]);
        buf_release(&out);
    }
}

TEST(the_preamble_defines_what_texts_use)
{
    struct buf out = {0};
    latex_preamble_signs(&out);
    ck_assert_ptr_nonnull(strstr(out.bytes, "\\DeclareRobustCommand{\\sign}[2]"));
    buf_release(&out);
}
