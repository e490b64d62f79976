#include "../rigs/explanation_fixture.h"

#include "../unit.h"

TEST(a_page_has_a_section_for_every_step)
{
    ck_assert_str_eq(
        fixture_explained(explain_markdown_write, &fixture_explanation, &fixture_page),
        "# One query, step by step\n"
        "\n"
        "- model: o\\\"dd\n"
        "- sentence: a\\_b\\|爱\\\\x0d\n"
        "- query: **1:\\|**, layer 2, head 1\n"
        "\n"
        "## 1. Query\n"
        "\n"
        "$$q = x \\cdot W_{q} + b_{q}$$\n"
        "\n"
        "| channel | $x$ | $(W_{q})_{0}$ | $(W_{q})_{1}$ |\n"
        "|:--|--:|--:|--:|\n"
        "| x | 0.5000 | 1.0000 | -2.0000 |\n"
        "| b\\_q |  | 0.2500 | 0.0000 |\n"
        "| **q** |  | 0.7500 | -1.0000 |\n"
        "\n"
        "## 2. Keys\n"
        "\n"
        "$$k_{j} = x_{j}$$\n"
        "\n"
        "$$s_{j} = q \\cdot k_{j}$$\n"
        "\n"
        "$W_{k}$, $W_{O,h}$: what they are.\n"
        "\n"
        "| key | $(k_{j})_{0}$ | $(k_{j})_{1}$ | $(k_{j})_{2}$ | $(k_{j})_{3}$ | $(k_{j})_{4}$ "
        "| $(k_{j})_{5}$ | $(k_{j})_{6}$ | $(k_{j})_{7}$ | $(k_{j})_{8}$ |\n"
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        "| 0 a\\_b | 1.0000 | 2.0000 | 3.0000 | 4.0000 | 5.0000 | 6.0000 | 7.0000 | "
        "8.0000 | 9.0000 |\n"
        "| **1 \\|** | -1.0000 | -2.0000 | -3.0000 | -4.0000 | -5.0000 | -6.0000 | "
        "-7.0000 | -8.0000 | -9.0000 |\n"
        "| 2 爱 | 0.0000 | 0.5000 | 0.0000 | 0.5000 | 0.0000 | 0.5000 | 0.0000 | "
        "0.5000 | 0.0000 |\n"
        "| 3 \\\\x0d | 0.0000 | 0.0000 | 0.0000 | 0.0000 | 0.0000 | 0.0000 | 0.0000 | "
        "0.0000 | 0.0000 |\n"
        "\n"
        "$s_{0} = 0.5 \\cdot 1$\n"
        "\n"
        "## 3. Softmax\n"
        "\n"
        "| key | $m_{j}$ | $\\alpha_{j}$ |  |\n"
        "|:--|--:|--:|:--|\n"
        "| 0 a\\_b | 0.5 | 2.5e-01 | ████ |\n"
        "| **1 \\|** | 1.5 | 7.5e-01 | ████████████ |\n"
        "| 2 爱 | $-\\infty$ | 0.0e+00 |  |\n"
        "| 3 \\\\x0d | $-\\infty$ | 0.0e+00 |  |\n"
        "| **sum** |  | 1.0e+00 |  |\n"
        "\n"
        "## 4. Output\n"
        "\n"
        "That is all.\n");
}

TEST(keys_with_little_weight_are_left_out)
{
    ck_assert_str_eq(
        fixture_explained(explain_markdown_write, &fixture_explanation_short, &fixture_page),
        "# One query, step by step\n"
        "\n"
        "- model: o\\\"dd\n"
        "- sentence: a\\_b\\|爱\\\\x0d\n"
        "- query: **1:\\|**, layer 2, head 1\n"
        "- keys shown: 2 of 4, which have 0.75 of the weight\n"
        "\n"
        "## 1. Keys\n"
        "\n"
        "$$k_{j} = x_{j}$$\n"
        "\n"
        "$$s_{j} = q \\cdot k_{j}$$\n"
        "\n"
        "$W_{k}$, $W_{O,h}$: what they are.\n"
        "\n"
        "| key | $(k_{j})_{0}$ | $(k_{j})_{1}$ | $(k_{j})_{2}$ | $(k_{j})_{3}$ | $(k_{j})_{4}$ | "
        "$(k_{j})_{5}$ "
        "| $(k_{j})_{6}$ | $(k_{j})_{7}$ | $(k_{j})_{8}$ |\n"
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        "| … |\n"
        "| **1 \\|** | -1.0000 | -2.0000 | -3.0000 | -4.0000 | -5.0000 | -6.0000 | -7.0000 | "
        "-8.0000 | -9.0000 |\n"
        "| 2 爱 | 0.0000 | 0.5000 | 0.0000 | 0.5000 | 0.0000 | 0.5000 | 0.0000 | 0.5000 | 0.0000 "
        "|\n"
        "| … |\n"
        "\n"
        "$s_{0} = 0.5 \\cdot 1$\n");
}

TEST(every_allocation_may_fail)
{
    fixture_starve_explainer(explain_markdown_write);
}
