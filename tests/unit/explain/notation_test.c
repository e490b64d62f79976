#include "explain/explain_walk.h"

#include <string.h>

#include "../unit.h"

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
