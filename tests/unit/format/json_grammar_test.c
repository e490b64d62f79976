#include "format/json.h"

#include <string.h>

#include "../unit.h"
#include "base/memory.h"

/* Cases like those of JSONTestSuite that every parser must accept or refuse. */

#define TEXT(literal)               \
    {                               \
        literal, sizeof literal - 1 \
    }

struct text {
    const char *bytes;
    size_t size;
};

static const struct text accepted[] = {
    /* white space */
    TEXT("[]"),
    TEXT("{}"),
    TEXT(" [] "),
    TEXT("[ ]"),
    TEXT("\t{\n}\r"),
    TEXT("\n\n[\r\n1 ,\t2 ]\n"),
    TEXT("{ \"a\" : 1 , \"b\" : 2 }"),
    TEXT("[]\n"),
    /* words */
    TEXT("true"),
    TEXT("false"),
    TEXT("null"),
    TEXT(" null "),
    TEXT("[true,false,null]"),
    TEXT("{\"a\":null}"),
    /* containers */
    TEXT("[[]]"),
    TEXT("[{}]"),
    TEXT("[[],[[]],{}]"),
    TEXT("{\"a\":{\"a\":{}}}"),
    TEXT("{\"\":0}"),
    TEXT("{\"a\":[],\"b\":{}}"),
    TEXT("{\"a\":1,\"a\":1}"),
    TEXT("[[[[[[[[[[[[[[[[[[[[\"deep\"]]]]]]]]]]]]]]]]]]]]"),
    TEXT("[null,1,\"1\",{}]"),
    /* numbers */
    TEXT("0"),
    TEXT("-0"),
    TEXT("1"),
    TEXT("-1"),
    TEXT("10"),
    TEXT("[-12]"),
    TEXT("0.0"),
    TEXT("-0.0"),
    TEXT("0.5"),
    TEXT("1.25"),
    TEXT("100.001"),
    TEXT("0e1"),
    TEXT("0E1"),
    TEXT("0e+1"),
    TEXT("0e-1"),
    TEXT("1e0"),
    TEXT("1E22"),
    TEXT("1E+2"),
    TEXT("1E-2"),
    TEXT("1.5e9"),
    TEXT("[1e00]"),
    TEXT("123e65"),
    TEXT("123.456e-789"),
    TEXT("1e999"),
    TEXT("-1e999"),
    TEXT("[Infinity]"),
    TEXT("18446744073709551616"),
    TEXT("[-9223372036854775809]"),
    TEXT("[0.00000000000000000000000000000000000000000000000000000000000000000000001]"),
    TEXT("1000000000000000000000000000000000000000000000000000000000000000000000000"),
    /* texts */
    TEXT("\"\""),
    TEXT("\" \""),
    TEXT("\"a\""),
    TEXT("\"'\""),
    TEXT("[\"//\"]"),
    TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    TEXT("\"\\\\n\""),
    TEXT("\"\\\\u0000\""),
    TEXT("\"\\u0041\""),
    TEXT("\"\\u00e9\\u00E9\""),
    TEXT("\"\\u2028\\u2029\""),
    TEXT("\"\\uD834\\uDD1E\""),
    TEXT("\"\\ud800\\udc00\\udbff\\udfff\""),
    TEXT("\"\\uFFFE\\uFFFF\\uD7FF\\uE000\""),
    TEXT("\"\\u0001\\u001f\\u007F\""),
    TEXT("\"\x7f\""),
    TEXT("\"\xC3\xA9\""),
    TEXT("\"\xE6\x88\x91\xE7\x88\xB1\""),
    TEXT("\"\xF0\x9F\x8D\xB0\""),
    TEXT("\"\xEF\xBF\xBF\""),
    TEXT("\"\xEF\xBB\xBF\""),
    TEXT("\"\xF4\x8F\xBF\xBF\""),
    TEXT("\"\xE2\x80\xA8\xE2\x80\xA9\""),
    TEXT("{\"\xC4\xA0the\":262}"),
    TEXT("[\"a\",\"b\\\"\",\"\\\\\"]"),
    TEXT("{\"a\\u0062\":\"/*\"}"),
    TEXT("[\"\\u0060\\u012a\\u12AB\"]"),
};

static const struct {
    struct text text;
    const char *message;
} refused[] = {
    /* no value, and text after a value */
    {TEXT(""), "byte 0: expected a value, found the end"},
    {TEXT(" \n"), "byte 2: expected a value, found the end"},
    {TEXT("\0"), "byte 0: expected a value, found U+0000"},
    {TEXT("[]\0"), "byte 2: expected the end, found U+0000"},
    {TEXT("\xEF\xBB\xBF{}"), "byte 0: expected a value, found U+FEFF"},
    {TEXT("\xFF\xFE[\0]\0"), "byte 0: expected a value, found the byte 0xff"},
    {TEXT("[\0]\0"), "byte 1: expected a value, found U+0000"},
    {TEXT("[][]"), "byte 2: expected the end, found '['"},
    {TEXT("{} {}"), "byte 3: expected the end, found '{'"},
    {TEXT("1 2"), "byte 2: expected the end, found '2'"},
    {TEXT("[1]x"), "byte 3: expected the end, found 'x'"},
    {TEXT("{}}"), "byte 2: expected the end, found '}'"},
    {TEXT("\"\"x"), "byte 2: expected the end, found 'x'"},
    {TEXT("{}/**/"), "byte 2: expected the end, found '/'"},
    {TEXT("{} // x"), "byte 3: expected the end, found '/'"},
    {TEXT("\f[]"), "byte 0: expected a value, found U+000C"},
    {TEXT("\v[]"), "byte 0: expected a value, found U+000B"},
    {TEXT("\xC2\xA0[]"), "byte 0: expected a value, found U+00A0"},
    {TEXT("[\xE2\x81\xA0]"), "byte 1: expected a value, found U+2060"},
    {TEXT("<html>"), "byte 0: expected a value, found '<'"},
    {TEXT("*"), "byte 0: expected a value, found '*'"},
    {TEXT("\xE6\x88\x91"), "byte 0: expected a value, found U+6211"},
    /* words */
    {TEXT("t"), "byte 1: expected 'r' of 'true', found the end"},
    {TEXT("[tru]"), "byte 4: expected 'e' of 'true', found ']'"},
    {TEXT("trUe"), "byte 2: expected 'u' of 'true', found 'U'"},
    {TEXT("TRUE"), "byte 0: expected a value, found 'T'"},
    {TEXT("[falze]"), "byte 4: expected 's' of 'false', found 'z'"},
    {TEXT("nul"), "byte 3: expected 'l' of 'null', found the end"},
    {TEXT("nullx"), "byte 4: expected the end, found 'x'"},
    {TEXT("None"), "byte 0: expected a value, found 'N'"},
    {TEXT("nan"), "byte 1: expected 'u' of 'null', found 'a'"},
    {TEXT("NaN"), "byte 0: expected a value, found 'N'"},
    {TEXT("[Infinite]"), "byte 8: expected 'y' of 'Infinity', found 'e'"},
    {TEXT("[a"), "byte 1: expected a value, found 'a'"},
    /* arrays */
    {TEXT("["), "byte 1: expected a value, found the end"},
    {TEXT("]"), "byte 0: expected a value, found ']'"},
    {TEXT("[1"), "byte 2: expected ',' or ']', found the end"},
    {TEXT("[1,"), "byte 3: expected a value, found the end"},
    {TEXT("[1,]"), "byte 3: expected a value, found ']'"},
    {TEXT("[,]"), "byte 1: expected a value, found ','"},
    {TEXT("[,1]"), "byte 1: expected a value, found ','"},
    {TEXT("[1,,2]"), "byte 3: expected a value, found ','"},
    {TEXT("[1 2]"), "byte 3: expected ',' or ']', found '2'"},
    {TEXT("[1 true]"), "byte 3: expected ',' or ']', found 't'"},
    {TEXT("[1:2]"), "byte 2: expected ',' or ']', found ':'"},
    {TEXT("[\"a\":1]"), "byte 4: expected ',' or ']', found ':'"},
    {TEXT("[1}"), "byte 2: expected ',' or ']', found '}'"},
    {TEXT("[1;2]"), "byte 2: expected ',' or ']', found ';'"},
    {TEXT("[3[4]]"), "byte 2: expected ',' or ']', found '['"},
    {TEXT("[[1]"), "byte 4: expected ',' or ']', found the end"},
    {TEXT("[1,\n1\n,1"), "byte 8: expected ',' or ']', found the end"},
    {TEXT("[\"\","), "byte 4: expected a value, found the end"},
    {TEXT("[1/**/]"), "byte 2: expected ',' or ']', found '/'"},
    {TEXT("[1\f]"), "byte 2: expected ',' or ']', found U+000C"},
    {TEXT("[\xFF]"), "byte 1: expected a value, found the byte 0xff"},
    /* objects */
    {TEXT("{"), "byte 1: expected a name in quotes, found the end"},
    {TEXT("}"), "byte 0: expected a value, found '}'"},
    {TEXT("{a:1}"), "byte 1: expected a name in quotes, found 'a'"},
    {TEXT("{'a':1}"), "byte 1: expected a name in quotes, found '''"},
    {TEXT("{1:1}"), "byte 1: expected a name in quotes, found '1'"},
    {TEXT("{null:1}"), "byte 1: expected a name in quotes, found 'n'"},
    {TEXT("{[]:1}"), "byte 1: expected a name in quotes, found '['"},
    {TEXT("{:1}"), "byte 1: expected a name in quotes, found ':'"},
    {TEXT("{,}"), "byte 1: expected a name in quotes, found ','"},
    {TEXT("{\"a\""), "byte 4: expected ':', found the end"},
    {TEXT("{\"a\"}"), "byte 4: expected ':', found '}'"},
    {TEXT("{\"a\",1}"), "byte 4: expected ':', found ','"},
    {TEXT("{\"a\" 1}"), "byte 5: expected ':', found '1'"},
    {TEXT("{\"a\"=1}"), "byte 4: expected ':', found '='"},
    {TEXT("{\"a\":"), "byte 5: expected a value, found the end"},
    {TEXT("{\"a\":}"), "byte 5: expected a value, found '}'"},
    {TEXT("{\"a\"::1}"), "byte 5: expected a value, found ':'"},
    {TEXT("{\"a\":1"), "byte 6: expected ',' or '}', found the end"},
    {TEXT("{\"a\":1,"), "byte 7: expected a name in quotes, found the end"},
    {TEXT("{\"a\":1,}"), "byte 7: expected a name in quotes, found '}'"},
    {TEXT("{\"a\":1,,\"b\":2}"), "byte 7: expected a name in quotes, found ','"},
    {TEXT("{\"a\":1 \"b\":2}"), "byte 7: expected ',' or '}', found '\"'"},
    {TEXT("{\"a\":\"b\"x}"), "byte 8: expected ',' or '}', found 'x'"},
    {TEXT("{\"a\":1]"), "byte 6: expected ',' or '}', found ']'"},
    {TEXT("{\"a\":1,2}"), "byte 7: expected a name in quotes, found '2'"},
    {TEXT("{\"a\":{\"b\":1}"), "byte 12: expected ',' or '}', found the end"},
    /* numbers */
    {TEXT("-"), "byte 1: expected a digit, found the end"},
    {TEXT("--1"), "byte 1: expected a digit, found '-'"},
    {TEXT("+1"), "byte 0: expected a value, found '+'"},
    {TEXT("- 1"), "byte 1: expected a digit, found ' '"},
    {TEXT("-x"), "byte 1: expected a digit, found 'x'"},
    {TEXT("-Infinity"), "byte 1: expected a digit, found 'I'"},
    {TEXT("01"), "byte 1: expected no digit after a leading 0, found '1'"},
    {TEXT("-012"), "byte 2: expected no digit after a leading 0, found '1'"},
    {TEXT("[00]"), "byte 2: expected no digit after a leading 0, found '0'"},
    {TEXT(".5"), "byte 0: expected a value, found '.'"},
    {TEXT("-.5"), "byte 1: expected a digit, found '.'"},
    {TEXT("[1.]"), "byte 3: expected a digit, found ']'"},
    {TEXT("1.e1"), "byte 2: expected a digit, found 'e'"},
    {TEXT("1.-2"), "byte 2: expected a digit, found '-'"},
    {TEXT("1.2.3"), "byte 3: expected the end, found '.'"},
    {TEXT("1e"), "byte 2: expected a digit, found the end"},
    {TEXT("[1e+]"), "byte 4: expected a digit, found ']'"},
    {TEXT("1e-"), "byte 3: expected a digit, found the end"},
    {TEXT("1e+-2"), "byte 3: expected a digit, found '-'"},
    {TEXT("1eE2"), "byte 2: expected a digit, found 'E'"},
    {TEXT("1e1.5"), "byte 3: expected the end, found '.'"},
    {TEXT("0x1"), "byte 1: expected the end, found 'x'"},
    {TEXT("[1a]"), "byte 2: expected ',' or ']', found 'a'"},
    {TEXT("[1+2]"), "byte 2: expected ',' or ']', found '+'"},
    {TEXT("1 000"), "byte 2: expected the end, found '0'"},
    {TEXT("\xEF\xBC\x91"), "byte 0: expected a value, found U+FF11"},
    /* texts */
    {TEXT("\""), "byte 1: expected a closing '\"', found the end"},
    {TEXT("[\"a]"), "byte 4: expected a closing '\"', found the end"},
    {TEXT("\"\\\""), "byte 3: expected a closing '\"', found the end"},
    {TEXT("'a'"), "byte 0: expected a value, found '''"},
    {TEXT("\"a\0\""), "byte 2: expected an escape for a control character, found U+0000"},
    {TEXT("\"\t\""), "byte 1: expected an escape for a control character, found U+0009"},
    {TEXT("\"a\nb\""), "byte 2: expected an escape for a control character, found U+000A"},
    {TEXT("\"\x1f\""), "byte 1: expected an escape for a control character, found U+001F"},
    {TEXT("\"\\"), "byte 2: expected one of \"\\/bfnrtu after '\\', found the end"},
    {TEXT("\"\\a\""), "byte 2: expected one of \"\\/bfnrtu after '\\', found 'a'"},
    {TEXT("\"\\x00\""), "byte 2: expected one of \"\\/bfnrtu after '\\', found 'x'"},
    {TEXT("\"\\\0\""), "byte 2: expected one of \"\\/bfnrtu after '\\', found U+0000"},
    {TEXT("\"\\U0041\""), "byte 2: expected one of \"\\/bfnrtu after '\\', found 'U'"},
    {TEXT("\"\\\xF0\x9F\x8C\x80\""),
     "byte 2: expected one of \"\\/bfnrtu after '\\', found U+1F300"},
    {TEXT("\"\\u\""), "byte 3: expected a hexadecimal digit, found '\"'"},
    {TEXT("\"\\u00A"), "byte 6: expected a hexadecimal digit, found the end"},
    {TEXT("\"\\u00AG\""), "byte 6: expected a hexadecimal digit, found 'G'"},
    {TEXT("\"\\u 123\""), "byte 3: expected a hexadecimal digit, found ' '"},
    {TEXT("\"\\u+123\""), "byte 3: expected a hexadecimal digit, found '+'"},
    {TEXT("\"\\uD834\""), "byte 1: expected a pair of surrogates, found \\ud834 alone"},
    {TEXT("\"\\uDD1E\""), "byte 1: expected a pair of surrogates, found \\udd1e alone"},
    {TEXT("\"\\uDFFF\""), "byte 1: expected a pair of surrogates, found \\udfff alone"},
    {TEXT("\"\\uD834\\n\""), "byte 1: expected a pair of surrogates, found \\ud834 alone"},
    {TEXT("\"\\uD834x\""), "byte 1: expected a pair of surrogates, found \\ud834 alone"},
    {TEXT("\"\\uD834\\uD834\""), "byte 1: expected a pair of surrogates, found \\ud834 alone"},
    {TEXT("\"\\uD834\\u0041\""), "byte 1: expected a pair of surrogates, found \\ud834 alone"},
    {TEXT("\"\\uDD1E\\uD834\""), "byte 1: expected a pair of surrogates, found \\udd1e alone"},
    {TEXT("\"\\uD834\\uDX\""), "byte 10: expected a hexadecimal digit, found 'X'"},
    {TEXT("\"\xFF\""), "byte 1: expected UTF-8, found the byte 0xff"},
    {TEXT("\"a\x80\""), "byte 2: expected UTF-8, found the byte 0x80"},
    {TEXT("\"\xC0\xAF\""), "byte 1: expected UTF-8, found the byte 0xc0"},
    {TEXT("\"\xE0\x80\xAF\""), "byte 1: expected UTF-8, found the byte 0xe0"},
    {TEXT("\"\xED\xA0\x80\""), "byte 1: expected UTF-8, found the byte 0xed"},
    {TEXT("\"\xF4\x90\x80\x80\""), "byte 1: expected UTF-8, found the byte 0xf4"},
    {TEXT("\"\xE6\x88\""), "byte 1: expected UTF-8, found the byte 0xe6"},
    {TEXT("\"\xE6\x88"), "byte 1: expected UTF-8, found the byte 0xe6"},
    {TEXT("{\"\xE9\":1}"), "byte 2: expected UTF-8, found the byte 0xe9"},
    /* valid JSON that is not supported */
    {TEXT("[\"\\u0000\"]"), "byte 2: expected no \\u0000 in a text, found one"},
    {TEXT("{\"a\\\\\\u0000b\":1}"), "byte 5: expected no \\u0000 in a text, found one"},
};

/* Parse a copy of exact size, so that a sanitizer detects reading beyond its end. */
static int parse(struct json **root, struct text text, struct err *err)
{
    char *copy = heap_alloc(text.size, 1, NULL);
    memcpy(copy, text.bytes, text.size);
    int failed = json_parse(root, copy, text.size, err);
    heap_free(copy);
    return failed;
}

TEST(valid_json_is_accepted)
{
    for (size_t i = 0; i < COUNT(accepted); i++) {
        struct json *root = NULL;
        struct err err = {0};
        int failed = parse(&root, accepted[i], &err);
        ck_assert_msg(!failed, "%s: %s", accepted[i].bytes, err.text);
        json_free(root);
    }
}

TEST(invalid_json_is_refused_with_the_index_of_the_byte)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct json *root = NULL;
        struct err err = {0};
        ck_assert_int_eq(parse(&root, refused[i].text, &err), -1);
        ck_assert_str_eq(err.text, refused[i].message);
        ck_assert_int_eq(err.kind, ERR_INPUT);
        ck_assert_ptr_null(root);
    }
}
