#include <check.h>

#include "explanation_fixture.h"

Suite *explain_json_suite(void);

START_TEST(everything_is_in_the_object)
{
    ck_assert_str_eq(
        fixture_explained(explain_json_write, &fixture_explanation, &fixture_page),
        "{\"model\": \"o\\\"dd\",\n"
        " \"sentence\": \"a_b|爱\\r\",\n"
        " \"tokens\": [{\"id\": 3, \"text\": \"a_b\", \"start\": 0, \"end\": 3}, {\"id\": 1, "
        "\"text\": \"|\", \"start\": 3, \"end\": 4}, {\"id\": 4, \"text\": \"爱\", \"start\": 4, "
        "\"end\": 7}, {\"id\": 5, \"text\": \"\\r\", \"start\": 7, \"end\": 8}],\n"
        " \"layer\": 2, \"head\": 1,\n"
        " \"given\": {\"W_k\": [[1, -2],\n"
        "     [0.25, 0]],\n"
        "   \"b_k\": [0.5, 0.125],\n"
        "   \"scale\": 0.25},\n"
        " \"query\": 1,\n"
        " \"steps\": [\n"
        "  {\"name\": \"query\", \"title\": \"Query\",\n"
        "   \"formulas\": [{\"text\": \"q = x · W_q + b_q\", \"latex\": \"q = x\\\\,W_q + "
        "b_q\"}],\n"
        "   \"rows\": [\"x\", \"b_q\"],\n"
        "   \"columns\": {\"x\": [0.5, null],\n"
        "    \"W_q\": [[1, -2],\n"
        "     [0.25, 0]]},\n"
        "   \"total\": {\"name\": \"q\", \"W_q\": [0.75, -1]}},\n"
        "  {\"name\": \"scores\", \"title\": \"Keys\",\n"
        "   \"formulas\": [{\"text\": \"k_j = x_j\", \"latex\": \"k_j = x_j\"}, {\"text\": "
        "\"score_j = q · k_j\", \"latex\": \"s_j = q \\\\cdot k_j\"}],\n"
        "   \"note\": \"W_k, W_O,h: what they are.\",\n"
        "   \"worked\": {\"text\": \"score_0 = 0.5 · 1\", \"latex\": \"s_{0} = 0.5 \\\\cdot 1\"},\n"
        "   \"rows\": [\"0:a_b\", \"1:|\", \"2:爱\", \"3:\\\\x0d\"],\n"
        "   \"columns\": {\"k\": [[1, 2, 3, 4, 5, 6, 7, 8, 9],\n"
        "     [-1, -2, -3, -4, -5, -6, -7, -8, -9],\n"
        "     [0, 0.5, 0, 0.5, 0, 0.5, 0, 0.5, 0],\n"
        "     [0, 0, 0, 0, 0, 0, 0, 0, 0.00001]]}},\n"
        "  {\"name\": \"weights\", \"title\": \"Softmax\",\n"
        "   \"rows\": [\"0:a_b\", \"1:|\", \"2:爱\", \"3:\\\\x0d\"],\n"
        "   \"columns\": {\"masked\": [0.5, 1.5, null, null],\n"
        "    \"weight\": [0.25, 0.75, 0, 0]},\n"
        "   \"total\": {\"name\": \"sum\", \"weight\": 1}},\n"
        "  {\"name\": \"output\", \"title\": \"Output\",\n"
        "   \"note\": \"That is all.\"}]}\n");
}
END_TEST

Suite *explain_json_suite(void)
{
    Suite *suite = suite_create("explain_json");
    TCase *tests = tcase_create("explain_json");
    tcase_add_test(tests, everything_is_in_the_object);
    suite_add_tcase(suite, tests);
    return suite;
}
