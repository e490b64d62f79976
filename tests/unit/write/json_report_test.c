#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"
#include "base/err.h"
#include "format/json.h"

#define LIFE_TOKENS                                                \
    "[{\"id\": 0, \"text\": \"Life\", \"start\": 0, \"end\": 4}, " \
    "{\"id\": 1, \"text\": \"is\", \"start\": 5, \"end\": 7}, "    \
    "{\"id\": 0, \"text\": \"Life\", \"start\": 8, \"end\": 12}]"

#define PLAIN                                                 \
    "{\"format\": \"attn-cli/run/1\", \"model\": \"life\",\n" \
    " \"sentence\": \"Life is Life\",\n"                      \
    " \"tokens\": " LIFE_TOKENS ",\n"                         \
    " \"tensors\": {\"h.0.weights\": [[[1, 0, 0],\n"          \
    " [0.25, 0.75, 0],\n"                                     \
    " [0.1, 0.2, 0.7]]]}}"

#define SELECTED                                              \
    "{\"format\": \"attn-cli/run/1\", \"model\": \"life\",\n" \
    " \"sentence\": \"Life is Life\",\n"                      \
    " \"tokens\": " LIFE_TOKENS ",\n"                         \
    " \"heads\": [1],\n"                                      \
    " \"tensors\": {\"h.0.weights\": [[[1, 0, 0],\n"          \
    " [0.5, 0.5, 0],\n"                                       \
    " [0.3, 0.3, 0.4]]]}}"

TEST(a_sentence_is_one_object)
{
    ck_assert_str_eq(fixture_written(json_report_write, &fixture_plain, &fixture_alone),
                     PLAIN "\n");
}

TEST(selected_heads_are_named)
{
    ck_assert_str_eq(fixture_written(json_report_write, &fixture_selected, &fixture_alone),
                     SELECTED "\n");
}

TEST(tensors_are_nested_in_their_axes_and_infinities_null)
{
    const char *text = fixture_written(json_report_write, &fixture_layers, &fixture_alone);
    ck_assert_ptr_ne(strstr(text, " \"tensors\": {\"embedding\": [[0.5, -0.5],\n"
                                  " [12345678, 0.25],\n"
                                  " [0.5, -0.5]],\n"
                                  " \"h.0.k\": [[[1, 2],\n"
                                  " [3, 4],\n"
                                  " [1, 2]],\n"
                                  " [[-5, 6],\n"
                                  " [7, 8],\n"
                                  " [-5, 6]]],\n"
                                  " \"h.0.weights\": [[[1, 0, 0],\n"),
                     NULL);
    ck_assert_ptr_ne(strstr(text, " \"h.1.masked\": [[[0.5, null, null],\n"
                                  " [-1, 2, null],\n"
                                  " [1e-07, 3, -12.5]],\n"
                                  " [[1, null, null],\n"
                                  " [2, 3, null],\n"
                                  " [4, 5, 6]]],\n"),
                     NULL);
}

TEST(ids_have_no_sentence_and_no_place_in_it)
{
    ck_assert_str_eq(
        fixture_written(json_report_write, &fixture_cross, &fixture_alone),
        "{\"format\": \"attn-cli/run/1\", \"model\": \"models/cross\",\n"
        " \"sentence\": null,\n"
        " \"tokens\": [{\"id\": 3, \"text\": \"3\"}, {\"id\": 11, \"text\": \"11\"}],\n"
        " \"source\": \"Life is Life\",\n"
        " \"source_tokens\": " LIFE_TOKENS ",\n"
        " \"tensors\": {\"h.0.k\": [[[1],\n"
        " [-2],\n"
        " [1]]],\n"
        " \"h.0.weights\": [[[0.5, 0.25, 0.25],\n"
        " [0, 0, 1]]]}}\n");
}

TEST(texts_are_escaped)
{
    const char *text = fixture_written(json_report_write, &fixture_odd, &fixture_alone);
    static const char *const parts[] = {
        "{\"format\": \"attn-cli/run/1\", \"model\": \"o\\\"dd\",\n",
        " \"sentence\": \"the,\\\"\\n爱🍰theé\",\n",
        "{\"id\": 2, \"text\": \"\\\"\", \"start\": 4, \"end\": 5}",
        "{\"id\": 3, \"text\": \"\\n\", \"start\": 5, \"end\": 6}",
        "{\"id\": 4, \"text\": \"爱\", \"start\": 6, \"end\": 9}",
        "{\"id\": 8, \"text\": \"\xEF\xBF\xBD\", \"start\": 16, \"end\": 17, \"bytes\": \"c3\"}",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(text, parts[i]) != NULL, "no %s in\n%s", parts[i], text);
}

TEST(several_sentences_are_an_array)
{
    static const struct report *const reports[] = {&fixture_plain, &fixture_selected,
                                                   &fixture_plain};
    ck_assert_str_eq(fixture_several(json_report_write, reports, 3),
                     "[" PLAIN ",\n" SELECTED ",\n" PLAIN "]\n");
}

TEST(a_line_of_jsonl_is_a_sentence)
{
    static const struct report *const reports[] = {&fixture_plain, &fixture_selected};
    ck_assert_str_eq(
        fixture_several(jsonl_report_write, reports, 2),
        "{\"format\": \"attn-cli/run/1\", \"model\": \"life\", \"sentence\": \"Life is Life\", "
        "\"tokens\": " LIFE_TOKENS
        ", \"tensors\": {\"h.0.weights\": [[[1, 0, 0], [0.25, 0.75, 0], [0.1, 0.2, 0.7]]]}}\n"
        "{\"format\": \"attn-cli/run/1\", \"model\": \"life\", \"sentence\": \"Life is Life\", "
        "\"tokens\": " LIFE_TOKENS ", \"heads\": [1], "
        "\"tensors\": {\"h.0.weights\": [[[1, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]]]}}\n");
}

TEST(a_report_without_tensors_still_has_its_tokens)
{
    struct report report = fixture_plain;
    report.tensor_count = 0;
    ck_assert_str_eq(
        fixture_written(jsonl_report_write, &report, &fixture_alone),
        "{\"format\": \"attn-cli/run/1\", \"model\": \"life\", \"sentence\": \"Life is Life\", "
        "\"tokens\": " LIFE_TOKENS ", \"tensors\": {}}\n");
}

TEST(our_own_parser_reads_it)
{
    static const struct report *const reports[] = {&fixture_odd, &fixture_layers, &fixture_cross};
    const char *text = fixture_several(json_report_write, reports, 3);
    struct json *root = NULL;
    struct err err = {0};
    ck_assert_msg(json_parse(&root, text, fixture_size(), &err) == 0, "%s", err.text);
    ck_assert_uint_eq(json_count(root), 3);
    json_free(root);
}
