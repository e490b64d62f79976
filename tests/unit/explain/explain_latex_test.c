#include <string.h>

#include "../unit.h"
#include "../rigs/explanation_fixture.h"

static const char document[] =
    "\\begin{document}\n"
    "\\raggedright\\small\n"
    "\\section*{One query, step by step}\n"
    "\\begin{description}\\raggedright\n"
    "\\item[model] \\texttt{o\"{}dd}\n"
    "\\item[sentence] \\texttt{a\\char95{}b|\\sign{7231}{爱}\\char92{}x0d}\n"
    "\\item[query] \\texttt{1:|}, layer 2, head 1\n"
    "\\end{description}\n"
    "\n"
    "\\subsection*{1\\quad Query}\n"
    "\\[ q = x \\cdot W_{q} + b_{q} \\]\n"
    "\n"
    "\\medskip\\begin{tabular}{@{}lRRR}\n"
    "\\multicolumn{2}{l}{} & \\multicolumn{2}{c}{$W_{q}$} \\\\\n"
    "\\cline{3-4}\n"
    "channel & x & 0 & 1 \\\\\n"
    "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"
    "\\texttt{x} & 0.5000 & 1.0000 & -2.0000 \\\\\n"
    "\\texttt{b\\char95{}q} &  & 0.2500 & 0.0000 \\\\\n"
    "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"
    "\\texttt{q} &  & 0.7500 & -1.0000 \\\\\n"
    "\\end{tabular}\\medskip\n"
    "\n"
    "\\subsection*{2\\quad Keys}\n"
    "\\[ k_{j} = x_{j} \\]\n"
    "\\[ s_{j} = q \\cdot k_{j} \\]\n"
    "$W_{k}$, $W_{O,h}$: what they are.\n"
    "\n"
    "\\medskip\\begin{tabular}{@{}lRRRRRRRRR}\n"
    "\\multicolumn{1}{l}{} & \\multicolumn{9}{c}{$k_{j}$} \\\\\n"
    "\\cline{2-10}\n"
    "key & 0 & 1 & 2 & 3 & 4 & 5 & 6 & 7 & 8 \\\\\n"
    "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"
    "0 \\texttt{a\\char95{}b} & 1.0000 & 2.0000 & 3.0000 & 4.0000 & 5.0000 & 6.0000 & 7.0000 & "
    "8.0000 & 9.0000 \\\\\n"
    "\\llap{$\\triangleright$\\,}1 \\texttt{|} & -1.0000 & -2.0000 & -3.0000 & -4.0000 & "
    "-5.0000 & -6.0000 & -7.0000 & -8.0000 & -9.0000 \\\\\n"
    "2 \\texttt{\\sign{7231}{爱}} & 0.0000 & 0.5000 & 0.0000 & 0.5000 & 0.0000 & 0.5000 & "
    "0.0000 & 0.5000 & 0.0000 \\\\\n"
    "3 \\texttt{\\char92{}x0d} & 0.0000 & 0.0000 & 0.0000 & 0.0000 & 0.0000 & 0.0000 & 0.0000 "
    "& 0.0000 & 0.0000 \\\\\n"
    "\\end{tabular}\\medskip\n"
    "\n"
    "$s_{0} = 0.5 \\cdot 1$\n"
    "\n"
    "\\subsection*{3\\quad Softmax}\n"
    "\n"
    "\\medskip\\begin{tabular}{@{}lRRl}\n"
    "key & m_{j} & \\alpha_{j} & \\\\\n"
    "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"
    "0 \\texttt{a\\char95{}b} & 0.5 & 2.5\\mathrm{e}{-01} & \\rule{0.75cm}{1.2ex} \\\\\n"
    "\\llap{$\\triangleright$\\,}1 \\texttt{|} & 1.5 & 7.5\\mathrm{e}{-01} & "
    "\\rule{2.25cm}{1.2ex} \\\\\n"
    "2 \\texttt{\\sign{7231}{爱}} & -\\infty & 0.0\\mathrm{e}{+00} & \\rule{0.00cm}{1.2ex} "
    "\\\\\n"
    "3 \\texttt{\\char92{}x0d} & -\\infty & 0.0\\mathrm{e}{+00} & \\rule{0.00cm}{1.2ex} \\\\\n"
    "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"
    "\\texttt{sum} &  & 1.0\\mathrm{e}{+00} & \\\\\n"
    "\\end{tabular}\\medskip\n"
    "\n"
    "\\subsection*{4\\quad Output}\n"
    "That is all.\n"
    "\\end{document}\n";

TEST(a_document_has_a_section_for_every_step)
{
    const char *text = fixture_explained(explain_latex_write, &fixture_explanation, &fixture_page);
    const char *from = strstr(text, "\\begin{document}");
    ck_assert_ptr_nonnull(from);
    ck_assert_str_eq(from, document);
}

TEST(keys_with_little_weight_are_left_out)
{
    const char *text =
        fixture_explained(explain_latex_write, &fixture_explanation_short, &fixture_page);
    const char *from = strstr(text, "\\begin{document}");
    ck_assert_ptr_nonnull(from);
    ck_assert_str_eq(from,
                     "\\begin{document}\n"
                     "\\raggedright\\small\n"
                     "\\section*{One query, step by step}\n"
                     "\\begin{description}\\raggedright\n"
                     "\\item[model] \\texttt{o\"{}dd}\n"
                     "\\item[sentence] \\texttt{a\\char95{}b|\\sign{7231}{爱}\\char92{}x0d}\n"
                     "\\item[query] \\texttt{1:|}, layer 2, head 1\n"
                     "\\item[keys shown] 2 of 4, which have 0.75 of the weight\n"
                     "\\end{description}\n"
                     "\n"
                     "\\subsection*{1\\quad Keys}\n"
                     "\\[ k_{j} = x_{j} \\]\n"
                     "\\[ s_{j} = q \\cdot k_{j} \\]\n"
                     "$W_{k}$, $W_{O,h}$: what they are.\n"
                     "\n"
                     "\\medskip\\begin{tabular}{@{}lRRRRRRRRR}\n"
                     "\\multicolumn{1}{l}{} & \\multicolumn{9}{c}{$k_{j}$} \\\\\n"
                     "\\cline{2-10}\n"
                     "key & 0 & 1 & 2 & 3 & 4 & 5 & 6 & 7 & 8 \\\\\n"
                     "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"
                     "$\\cdots$ \\\\\n"
                     "\\llap{$\\triangleright$\\,}1 \\texttt{|} & -1.0000 & -2.0000 & -3.0000 & "
                     "-4.0000 & -5.0000 & -6.0000 & -7.0000 & -8.0000 & -9.0000 \\\\\n"
                     "2 \\texttt{\\sign{7231}{爱}} & 0.0000 & 0.5000 & 0.0000 & 0.5000 & 0.0000 & "
                     "0.5000 & 0.0000 & 0.5000 & 0.0000 \\\\\n"
                     "$\\cdots$ \\\\\n"
                     "\\end{tabular}\\medskip\n"
                     "\n"
                     "$s_{0} = 0.5 \\cdot 1$\n"
                     "\\end{document}\n");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

enum { LONG = 45, WIDE = 30 };

/* Many keys, each with a number and a long vector. */
static const char *long_and_wide(bool full)
{
    static float values[LONG * WIDE];
    static struct label labels[LONG];
    static size_t shown[LONG];
    for (size_t i = 0; i < LONG; i++) {
        labels[i] = (struct label){"w", "w", "w"};
        shown[i] = i;
    }
    struct step step = fixture_explanation.steps[1];
    step.given_count = 0;
    step.table.rows = labels;
    step.table.row_count = LONG;
    step.table.blocks[0].values = values;
    step.table.blocks[0].width = step.table.blocks[0].stride = WIDE;
    step.table.blocks[1] = fixture_explanation.steps[2].table.blocks[1];
    step.table.blocks[1].values = values;
    step.table.block_count = 2;
    struct explanation explanation = fixture_explanation;
    explanation.key_count = explanation.shown_count = LONG;
    explanation.shown = shown;
    explanation.steps = &step;
    explanation.step_count = 1;
    struct explain_page page = {.full = full};
    return fixture_explained(explain_latex_write, &explanation, &page);
}

TEST(a_long_vector_loses_its_middle)
{
    static const char titles[] = "\nkey & 0 & 1 & 2 & 3 & 4 & \\cdots & 25 & 26 & 27 & 28 & 29 & "
                                 "\\alpha_{j} & \\\\\n";
    const char *text = long_and_wide(false);
    ck_assert_uint_eq(count_of(text, "\\begin{tabular}"), 2); /* forty rows, and five */
    ck_assert_uint_eq(count_of(text, "{$k_{j}$ (10 of 30)}"), 2);
    ck_assert_uint_eq(count_of(text, titles), 2);
    ck_assert_uint_eq(count_of(text, "\n0 \\texttt{w}"), 1);
    ck_assert_uint_eq(count_of(text, "\n44 \\texttt{w}"), 1);
}

TEST(in_full_it_comes_in_several_tables)
{
    static const char *const titles[] = {
        "\nkey & 0 & 1 & 2 & 3 & 4 & 5 & 6 & 7 & 8 & 9 & \\alpha_{j} & \\\\\n",
        "\nkey & 10 & 11 & 12 & 13 & 14 & 15 & 16 & 17 & 18 & 19 \\\\\n",
        "\nkey & 20 & 21 & 22 & 23 & 24 & 25 & 26 & 27 & 28 & 29 \\\\\n",
    };
    const char *text = long_and_wide(true);
    ck_assert_uint_eq(count_of(text, "\\begin{tabular}"), 6);
    ck_assert_uint_eq(count_of(text, "\\cdots"), 0);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        ck_assert_uint_eq(count_of(text, titles[i]), 2);
    ck_assert_uint_eq(count_of(text, "\n44 \\texttt{w}"), 3);
}

TEST(every_allocation_may_fail)
{
    fixture_starve_explainer(explain_latex_write);
}
