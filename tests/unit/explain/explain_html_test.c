#include <string.h>

#include "../unit.h"
#include "../rigs/explanation_fixture.h"

static const char *written(bool full)
{
    struct explain_page page = {.columns = 60, .full = full};
    return fixture_explained(explain_html_write, &fixture_explanation, &page);
}

static void expect(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "not there: %s\n%s", part, text);
}

TEST(titles_facts_and_formulas)
{
    const char *text = written(false);
    expect(text, "<!DOCTYPE html>\n<html lang=\"en\">\n");
    expect(text, "<title>a_b|爱\\x0d, step by step</title>");
    expect(text, "<dt>model</dt><dd><code>o&quot;dd</code></dd>\n");
    expect(text, "<dt>query</dt><dd><code>1:|</code>, layer 2, head 1</dd>\n");
    expect(text, "<h2>2. Keys</h2>\n"
                 "<p class=\"formula\"><i>k</i><sub><i>j</i></sub> = <i>x</i><sub><i>j</i></sub>"
                 "</p>\n");
    expect(text, "<p><i>W</i><sub><i>k</i></sub>, <i>W</i><sub><i>O</i>,<i>h</i></sub>: what they "
                 "are.</p>\n");
    expect(text, "<p class=\"worked\">score<sub>0</sub> = 0.5 · 1</p>\n");
    expect(text, "<h2>4. Output</h2>\n<p>That is all.</p>\n</section>\n");
}

TEST(a_table_with_its_bars)
{
    expect(written(false),
           "<div class=\"scroll\"><table><thead>\n"
           "<tr><th scope=\"col\">key</th><th scope=\"col\">masked<sub><i>j</i></sub></th>"
           "<th scope=\"col\">weight<sub><i>j</i></sub></th><th></th></tr>\n"
           "</thead><tbody>\n"
           "<tr><th scope=\"row\">0 <bdi>a_b</bdi></th><td>0.5</td><td>2.5e-01</td>"
           "<td class=\"bar\"><span style=\"width: 1.75em\"></span></td></tr>\n"
           "<tr class=\"own\"><th scope=\"row\">1 <bdi>|</bdi></th><td>1.5</td><td>7.5e-01</td>"
           "<td class=\"bar\"><span style=\"width: 5.25em\"></span></td></tr>\n"
           "<tr><th scope=\"row\">2 <bdi>爱</bdi></th><td>−∞</td><td>0.0e+00</td>"
           "<td class=\"bar\"><span style=\"width: 0.00em\"></span></td></tr>\n"
           "<tr><th scope=\"row\">3 <bdi>\\x0d</bdi></th><td>−∞</td><td>0.0e+00</td>"
           "<td class=\"bar\"><span style=\"width: 0.00em\"></span></td></tr>\n"
           "</tbody><tfoot>\n"
           "<tr><th scope=\"row\">sum</th><td></td><td>1.0e+00</td><td></td></tr>\n"
           "</tfoot></table></div>\n");
}

TEST(matrices_in_full)
{
    static const char matrix[] =
        "<tr><td></td><th class=\"group\" colspan=\"2\"><i>W</i><sub><i>k</i></sub></th></tr>\n"
        "<tr><th scope=\"col\">channel</th><th scope=\"col\">0</th><th scope=\"col\">1</th></tr>\n"
        "</thead><tbody>\n"
        "<tr><th scope=\"row\"><bdi>a_b</bdi></th><td>1.0000</td><td>-2.0000</td></tr>\n"
        "<tr><th scope=\"row\"><bdi>|</bdi></th><td>0.2500</td><td>0.0000</td></tr>\n"
        "</tbody><tfoot>\n"
        "<tr><th scope=\"row\">b_k</th><td>0.5000</td><td>0.1250</td></tr>\n";
    ck_assert_ptr_null(strstr(written(false), matrix));
    expect(written(true), matrix);
}

TEST(gaps_are_rows)
{
    const char *text =
        fixture_explained(explain_html_write, &fixture_explanation_short, &fixture_page);
    expect(text, "</thead><tbody>\n<tr><th scope=\"row\">…</th></tr>\n<tr class=\"own\">");
    expect(text, "<dt>keys shown</dt><dd>2 of 4, which have 0.75 of the weight</dd>\n");
}

TEST(every_allocation_may_fail)
{
    fixture_starve_explainer(explain_html_write);
}
