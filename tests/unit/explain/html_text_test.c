#include "explain/explain_walk.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"

TEST(nothing_in_a_text_is_markup)
{
    static const char text[] = "<b onclick=\"x\">&amp; 'é' 爱</b>";
    struct buf out = {0};
    html_text(&out, text, strlen(text));
    ck_assert_str_eq(out.bytes, "&lt;b onclick=&quot;x&quot;&gt;&amp;amp; 'é' 爱&lt;/b&gt;");
    buf_release(&out);
}

static const char *const formulas[][2] = {
    {"k_j = x_j · W_k", "<i>k</i><sub><i>j</i></sub> = <i>x</i><sub><i>j</i></sub> · "
                        "<i>W</i><sub><i>k</i></sub>"},
    {"score_12 = -0.5", "score<sub>12</sub> = -0.5"},
    {"W_O,h + b_0,1, …", "<i>W</i><sub><i>O</i>,<i>h</i></sub> + <i>b</i><sub>0,1</sub>, …"},
    {"e^(x_j - max) / 2", "<i>e</i><sup><i>x</i><sub><i>j</i></sub> − max</sup> / 2"},
    {"e^((a) - b)c", "<i>e</i><sup>(<i>a</i>) − <i>b</i></sup><i>c</i>"},
    {"e^x for x ≤ 0", "<i>e</i><sup><i>x</i></sup> for <i>x</i> ≤ 0"},
    {"√(σ² + ε) ⊙ γ", "√<span class=\"root\">σ² + ε</span> ⊙ γ"},
    {"s / √d_k = s / √2", "<i>s</i> / √<span class=\"root\"><i>d</i><sub><i>k</i></sub></span> = "
                          "<i>s</i> / √<span class=\"root\">2</span>"},
    {"ε = 1.00e-05", "ε = 1.00e-05"},
    {"|3 - j| < 2", "|3 − <i>j</i>| &lt; 2"},
    {"e^(x", "<i>e</i><sup><i>x</i></sup>"}, /* whatever is wrong with it, it ends */
    {"√(x", "√<span class=\"root\"><i>x</i></span>"},
    {"x_ ^ √", "<i>x</i><sub></sub> <sup></sup> √<span class=\"root\"></span>"},
    {"", ""},
};

TEST_LOOP(a_formula_has_indices_powers_and_roots, COUNT(formulas))
{
    struct buf out = {0};
    html_formula(&out, formulas[_i][0]);
    ck_assert_str_eq(out.bytes ? out.bytes : "", formulas[_i][1]);
    buf_release(&out);
}

TEST(names_in_a_sentence_have_their_index)
{
    struct buf out = {0};
    html_prose(&out, "W_q is the [96, 24] of < h, b_k.");
    ck_assert_str_eq(out.bytes, "<i>W</i><sub><i>q</i></sub> is the [96, 24] of &lt; h, "
                                "<i>b</i><sub><i>k</i></sub>.");
    buf_release(&out);
}

TEST(every_allocation_may_fail)
{
    bool failed = true;
    for (size_t nth = 1; failed; nth++) {
        struct buf out = {0};
        heap_fail_at(nth, 0);
        html_prose(&out, "W_q is the [96, 24] of this head, and so on and so on and so on.");
        heap_fail_at(0, 0);
        failed = out.out_of_memory;
        ck_assert(failed || nth > 1);
        buf_release(&out);
    }
}
