#include "../rigs/explanation_fixture.h"

#include "../unit.h"

TEST(a_page_has_a_table_and_a_line_for_every_step)
{
    ck_assert_str_eq(fixture_explained(explain_text_write, &fixture_explanation, &fixture_page),
                     "o\"dd · a_b|爱\\x0d\n"
                     "query · 1:| · layer 2 · head 1\n"
                     "\n"
                     "1  Query\n"
                     "   q = x · W_q + b_q\n"
                     "\n"
                     "                        ───── W_q ──────\n"
                     "   channel         x          0        1\n"
                     "   x          0.5000     1.0000  -2.0000\n"
                     "   b_q                   0.2500   0.0000\n"
                     "   ─────────────────────────────────────\n"
                     "   q                     0.7500  -1.0000\n"
                     "\n"
                     "2  Keys\n"
                     "   k_j = x_j\n"
                     "   score_j = q · k_j\n"
                     "   W_k, W_O,h: what they are.\n"
                     "\n"
                     "             ──────────────── k_j (5 of 9) ────────────────\n"
                     "   key             0        1        2  …        7        8\n"
                     "   0 a_b      1.0000   2.0000   3.0000  …   8.0000   9.0000\n"
                     " › 1 |       -1.0000  -2.0000  -3.0000  …  -8.0000  -9.0000\n"
                     "   2 爱       0.0000   0.5000   0.0000  …   0.5000   0.0000\n"
                     "   3 \\x0d     0.0000   0.0000   0.0000  …   0.0000   0.0000\n"
                     "\n"
                     "   score_0 = 0.5 · 1\n"
                     "\n"
                     "3  Softmax\n"
                     "\n"
                     "   key       masked_j    weight_j\n"
                     "   0 a_b          0.5     2.5e-01  ████\n"
                     " › 1 |            1.5     7.5e-01  ████████████\n"
                     "   2 爱          -inf     0.0e+00\n"
                     "   3 \\x0d        -inf     0.0e+00\n"
                     "   ──────────────────────────────\n"
                     "   sum                    1.0e+00\n"
                     "\n"
                     "4  Output\n"
                     "   That is all.\n"
                     "\n"
                     "(left out: matrices, inputs of all keys; --full prints them,\n"
                     " JSON has them)\n");
}

TEST(keys_with_little_weight_are_left_out)
{
    ck_assert_str_eq(
        fixture_explained(explain_text_write, &fixture_explanation_short, &fixture_page),
        "o\"dd · a_b|爱\\x0d\n"
        "query · 1:| · layer 2 · head 1\n"
        "(2 of 4 keys shown, those with the most weight: 0.75 of it;\n"
        " --full shows all)\n"
        "\n"
        "1  Keys\n"
        "   k_j = x_j\n"
        "   score_j = q · k_j\n"
        "   W_k, W_O,h: what they are.\n"
        "\n"
        "           ──────────────── k_j (5 of 9) ────────────────\n"
        "   key           0        1        2  …        7        8\n"
        "   …\n"
        " › 1 |     -1.0000  -2.0000  -3.0000  …  -8.0000  -9.0000\n"
        "   2 爱     0.0000   0.5000   0.0000  …   0.5000   0.0000\n"
        "   …\n"
        "\n"
        "   score_0 = 0.5 · 1\n"
        "\n"
        "(left out: matrices, inputs of all keys; --full prints them,\n"
        " JSON has them)\n");
}

TEST(a_narrow_page_breaks_its_lines)
{
    struct explain_page page = {.columns = 40};
    ck_assert_str_eq(fixture_explained(explain_text_write, &fixture_explanation_short, &page),
                     "o\"dd · a_b|爱\\x0d\n"
                     "query · 1:| · layer 2 · head 1\n"
                     "(2 of 4 keys shown, those with the most\n"
                     " weight: 0.75 of it; --full shows all)\n"
                     "\n"
                     "1  Keys\n"
                     "   k_j = x_j\n"
                     "   score_j = q · k_j\n"
                     "   W_k, W_O,h: what they are.\n"
                     "\n"
                     "           ─────── k_j (3 of 9) ───────\n"
                     "   key           0        1  …        8\n"
                     "   …\n"
                     " › 1 |     -1.0000  -2.0000  …  -9.0000\n"
                     "   2 爱     0.0000   0.5000  …   0.0000\n"
                     "   …\n"
                     "\n"
                     "   score_0 = 0.5 · 1\n"
                     "\n"
                     "(left out: matrices, inputs of all keys;\n"
                     " --full prints them, JSON has them)\n");
}

TEST(an_endless_page_shows_whole_vectors)
{
    struct explain_page page = {.full = true};
    ck_assert_str_eq(
        fixture_explained(explain_text_write, &fixture_explanation_short, &page),
        "o\"dd · a_b|爱\\x0d\n"
        "query · 1:| · layer 2 · head 1\n"
        "(2 of 4 keys shown, those with the most weight: 0.75 of it; --full shows all)\n"
        "\n"
        "1  Keys\n"
        "   k_j = x_j\n"
        "   score_j = q · k_j\n"
        "   W_k, W_O,h: what they are.\n"
        "\n"
        "              ───── W_k ──────\n"
        "   channel          0        1\n"
        "   a_b         1.0000  -2.0000\n"
        "   |           0.2500   0.0000\n"
        "   ───────────────────────────\n"
        "   b_k         0.5000   0.1250\n"
        "\n"
        "           ───────────────────────────────────── k_j "
        "─────────────────────────────────────\n"
        "   key           0        1        2        3        4        5        6        7        "
        "8\n"
        "   …\n"
        " › 1 |     -1.0000  -2.0000  -3.0000  -4.0000  -5.0000  -6.0000  -7.0000  -8.0000  "
        "-9.0000\n"
        "   2 爱     0.0000   0.5000   0.0000   0.5000   0.0000   0.5000   0.0000   0.5000   "
        "0.0000\n"
        "   …\n"
        "\n"
        "   score_0 = 0.5 · 1\n");
}

TEST(every_allocation_may_fail)
{
    fixture_starve_explainer(explain_text_write);
}
