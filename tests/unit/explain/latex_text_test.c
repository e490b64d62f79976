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

static const char *const formulas[][2] = {
    {"score_j = q · k_j", "s_{j} = q \\cdot k_{j}"},
    {"k_raw_j = x_j · W_k + b_O,h", "k_{\\mathrm{raw},j} = x_{j} \\cdot W_{k} + b_{O,h}"},
    {"weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max)",
     "\\alpha_{j} = \\frac{e^{m_{j} - \\max}}{\\sum_{t}\\ e^{m_{t} - \\max}}"},
    {"x = (h - μ) / √(σ² + ε) ⊙ γ",
     "x = \\frac{h - \\mu}{\\sqrt{\\sigma^2 + \\varepsilon}} \\odot \\gamma"},
    {"30 · tanh((dot_v + b_v) / 2.5 / 30)",
     "30 \\cdot \\mathrm{tanh}(\\frac{\\mathrm{dot}_{v} + b_{v}}{2.5} / 30)"},
    {"scaled_j / (√d_k · layer)", "\\frac{\\tilde{s}_{j}}{\\sqrt{d_{k}} \\cdot \\mathrm{layer}}"},
    {"(a + b)c / (d)", "\\frac{(a + b)c}{d}"},
    {"masked_j = capped_j for j ≤ 2, -inf for j > 2",
     "m_{j} = \\hat{s}_{j}\\ \\mathrm{for}\\ j \\le 2, -\\infty\\ \\mathrm{for}\\ j > 2"},
    {"S = {j ≤ 7: (7 - j) mod 3 = 0 or j drawn}",
     "S = \\{ j \\le 7: (7 - j)\\ \\mathrm{mod}\\ 3 = 0\\ \\mathrm{or}\\ j\\ \\mathrm{drawn}\\}"},
    {"[1.00e-05, …] + …", "[1.00\\mathrm{e}{-05}, \\dots] + \\dots"},
    {"e^(x", "e^{x}"}, /* whatever is wrong with it, it ends */
    {"x_ ^ √", "x_{} ^{} \\sqrt{}"},
    {" / Σ", " / \\sum"},
    {"a / ", "\\frac{a}{}"},
    {"", ""},
};

TEST_LOOP(a_formula_is_that_of_the_terminal, COUNT(formulas))
{
    struct buf out = {0};
    latex_math(&out, formulas[_i][0]);
    ck_assert_str_eq(out.bytes ? out.bytes : "", formulas[_i][1]);
    buf_release(&out);
}
