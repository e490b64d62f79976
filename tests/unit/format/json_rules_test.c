#include <string.h>

#include "../unit.h"
#include "base/heap.h"
#include "format/json.h"
#include "format/json_cursor.h"

/* RFC 8259 section by section, with what it leaves to the parser, beside the tables of
 * json_grammar_test.c: as a tree and as a cursor has it. */

/* A rule's name, and bytes that keep it or break it. */
#define RULE(what, literal)               \
    {                                     \
        what, literal, sizeof literal - 1 \
    }

struct rule {
    const char *what;
    const char *bytes;
    size_t size;
};

static const struct rule must_accept[] = {
    RULE("a number alone", "-0.1"),
    RULE("a text alone", "\"asd\""),
    RULE("a word alone", "false"),
    RULE("an empty name", "{\"\":0}"),
    RULE("a name twice", "{\"a\":\"b\",\"a\":\"b\"}"),
    RULE("a name twice with a value twice", "{\"a\":0,\"a\":0}"),
    RULE("extreme numbers", "{\"min\":-1.0e+28,\"max\":1.0e+28}"),
    RULE("a number close to zero", "[-0.000000000000000000000000000000000000000000000001]"),
    RULE("a negative zero", "[-0]"),
    RULE("an exponent of zeros", "[0e00]"),
    RULE("an escaped solidus", "[\"\\/\"]"),
    RULE("escaped controls", "[\"\\u0012\\b\\f\\n\\r\\t\"]"),
    RULE("a noncharacter, escaped", "[\"\\uFFFF\\uD83F\\uDFFE\"]"),
    RULE("a noncharacter", "[\"\xEF\xBF\xBF\xF4\x8F\xBF\xBF\"]"),
    RULE("a delete", "[\"\x7F\"]"),
    RULE("comments in a text", "[\"a/*b*/c/*d//e\"]"),
    RULE("an escaped backslash before u", "[\"\\\\u0000\"]"),
    RULE("a name of escapes", "{\"\\u0066\\u006f\\u006F\":\"\\\"\"}"),
    RULE("blanks of every kind", " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n"),
};

static const struct rule must_refuse[] = {
    /* 2: grammar, one value */
    RULE("a comma after the value", "[\"\"],"),
    RULE("a bracket too many", "[\"x\"]]"),
    RULE("a bracket that closes nothing", "1]"),
    RULE("a brace too many", "{\"a\":true}}"),
    RULE("a value after a name and value", "{\"a\":true} \"x\""),
    RULE("a comment after the value", "{\"a\":\"b\"}/**/"),
    RULE("an open comment after the value", "{\"a\":\"b\"}/**//"),
    RULE("a line comment after the value", "{\"a\":\"b\"}//"),
    RULE("half a line comment", "{\"a\":\"b\"}/"),
    RULE("a hash after the value", "{\"a\":\"b\"}#{}"),
    RULE("a sign after a number", "2@"),
    RULE("a word of no language", "\xC3\xA5"),
    RULE("a byte that is no character", "\xE5"),
    RULE("half a byte order mark", "\xEF\xBB{}"),
    RULE("a backslash outside of a text", "[\\u000A\"\"]"),
    RULE("a word joiner as a blank", "[\xE2\x81\xA0]"),
    RULE("a form feed as a blank", "[\x0C]"),
    RULE("an open array before an open escape", "[\"\\{[\"\\{[\"\\{"),
    /* 3: values */
    RULE("a word cut off in an array", "[ false, fals"),
    RULE("true cut off in an array", "[ false, tru"),
    RULE("null cut off in an array", "[ false, nul"),
    RULE("false without its end", "[fals]"),
    RULE("null without its end", "[nul]"),
    RULE("a word of other letters", "[\"x\", truth]"),
    RULE("a bare letter", "[x"),
    RULE("a letter with an accent", "[\xC3\xA9]"),
    RULE("an asterisk", "[*]"),
    RULE("a tree in angles", "[<null>]"),
    /* 4: objects */
    RULE("a value after a value", "{\"x\", null}"),
    RULE("two colons", "{\"x\"::\"b\"}"),
    RULE("an emoji for a name", "{\xF0\x9F\x87\xA8\xF0\x9F\x87\xAD}"),
    RULE("a value cut short", "[\"x\", tru]"),
    RULE("a value and more", "{\"a\":\"a\" 123}"),
    RULE("a name in other quotes", "{key: 'value'}"),
    RULE("a name that is a number", "{9999E9999:1}"),
    RULE("a name without a colon", "{\"a\" b}"),
    RULE("a name before a name", "{\"a\" \"b\"}"),
    RULE("a name of half a character", "{\"\xB9\":\"0\",}"),
    RULE("commas after a member", "{\"id\":0,,,,,}"),
    RULE("a value without a name", "{null:null,null:null}"),
    RULE("a comment in place of a value", "{\"a\":/*comment*/\"b\"}"),
    RULE("an object that an array closes", "{]"),
    RULE("an array that an object closes", "[}"),
    RULE("an object in place of a name", "{{}"),
    /* 5: arrays */
    RULE("an item without a comma", "[1 true]"),
    RULE("a colon in an array", "[\"\": 1]"),
    RULE("a comma alone", "[,]"),
    RULE("commas between", "[1,,2]"),
    RULE("commas at the end", "[\"\",,]"),
    RULE("a minus alone", "[-]"),
    RULE("an item after lines", "[\"a\",\n4\n,1,"),
    /* 6: numbers */
    RULE("a minus before a name", "[-NaN]"),
    RULE("a minus before garbage", "[-foo]"),
    RULE("a minus and a blank", "[- 1]"),
    RULE("a minus before a zero before a digit", "[-012]"),
    RULE("a point and nothing", "[-1.0.]"),
    RULE("two points", "[0.1.2]"),
    RULE("a point before an exponent", "[0.e1]"),
    RULE("two exponents", "[0e+-1]"),
    RULE("an exponent of nothing", "[0E+]"),
    RULE("an exponent of letters", "[1ea]"),
    RULE("an exponent of no character", "[1e\xE5]"),
    RULE("an integer of no character", "[0\xE5]"),
    RULE("a larger one", "[123\xE5]"),
    RULE("an exponent and no character", "[1e1\xE5]"),
    RULE("a blank between digits", "[1 000.0]"),
    RULE("hexadecimal digits", "[0x42]"),
    RULE("a digit and x", "[0x1]"),
    RULE("a fraction and a letter", "[-123.123foo]"),
    RULE("a letter among digits", "[1.8011670033376514H-308]"),
    RULE("an expression", "[1+2]"),
    RULE("a minus after a digit", "[-1x]"),
    RULE("a leading point", "[.-1]"),
    RULE("a leading plus", "[++1234]"),
    RULE("infinity", "[-Infinity]"),
    RULE("a digit of full width", "[\xEF\xBC\x91]"),
    /* 7: texts */
    RULE("an escape of a single quote", "[\"\\'\"]"),
    RULE("an escape of a tab", "[\"\\\t\"]"),
    RULE("an escape of an emoji", "[\"\\\xF0\x9F\x8C\x80\"]"),
    RULE("an escape of no character", "[\"\\\xE5\"]"),
    RULE("an escape cut off", "[\"\\u00A\"]"),
    RULE("an escape of other letters", "[\"\\uqqqq\"]"),
    RULE("an escape of half a character", "[\"\\u\xE5\"]"),
    RULE("a surrogate before an escape", "[\"\\uD800\\\"]"),
    RULE("a surrogate before u", "[\"\\uD800\\u\"]"),
    RULE("a surrogate before u1", "[\"\\uD800\\u1\"]"),
    RULE("a surrogate before u1x", "[\"\\uD800\\u1x\"]"),
    RULE("a surrogate before x", "[\"\\uD800\\uD800\\x\"]"),
    RULE("a vertical tab", "[\"\x0B"
                           "a\"\\f]"),
    RULE("a new line", "[\"new\nline\"]"),
    RULE("a zero byte", "[\"a\0a\"]"),
    RULE("no quotes", "[\\n]"),
    RULE("one quote", "\""),
    RULE("single quotes", "['single quote']"),
    RULE("a backslash before the end", "[\"\\\\\\\"]"),
    RULE("no end", "[\"\\"),
};

/* What section 8.1 and 9 leave open, and what is done here: depth and length are limited
 * elsewhere. */
static const struct rule accepted_here[] = {
    RULE("a number too large for a double", "[123123e100000]"),
    RULE("one too small", "[123e-10000000]"),
    RULE("a negative one too large", "[-123123e100000]"),
    RULE("an exponent too large", "[0.4e00669999999999999999999999999999999999999999999999999]"),
    RULE("an integer too large", "[-123123123123123123123123123123]"),
};

static const struct rule refused_here[] = {
    RULE("a byte order mark", "\xEF\xBB\xBF{}"),
    RULE("UTF-16", "\xFF\xFE[\0\"\0\xE9\0\"\0]\0"),
    RULE("UTF-16 without a mark", "\0[\0\"\0\xE9\0\"\0]"),
    RULE("UTF-16, the other way", "[\0\"\0\xE9\0\"\0]\0"),
    RULE("Latin 1", "[\"\xE9\"]"),
    RULE("a continuation alone", "[\"\x81\"]"),
    RULE("a character cut off", "[\"\xE0\xFF\"]"),
    RULE("an overlong character", "[\"\xC0\xAF\"]"),
    RULE("an overlong one of six bytes", "[\"\xFC\x83\xBF\xBF\xBF\xBF\"]"),
    RULE("a character beyond the last", "[\"\xF4\xBF\xBF\xBF\"]"),
    RULE("a surrogate in UTF-8", "[\"\xED\xA0\x80\"]"),
    RULE("a surrogate alone", "[\"\\uDADA\"]"),
    RULE("a second surrogate alone", "[\"\\uDFAA\"]"),
    RULE("a second surrogate in a name", "{\"\\uDFAA\":0}"),
    RULE("a surrogate before another character", "[\"\\uD888\\u1234\"]"),
    RULE("a surrogate before a new line", "[\"\\uD800\\n\"]"),
    RULE("two first surrogates", "[\"\\uD800\\uD800\\n\"]"),
    RULE("surrogates the wrong way round", "[\"\\uDd1e\\uD834\"]"),
    RULE("a surrogate before abc", "[\"\\ud800abc\"]"),
};

/* Both doors agree; on a copy that ends where its memory ends, so that a sanitizer sees a step too
 * far. */
static bool is_accepted(const struct rule *rule)
{
    struct json *root = NULL;
    struct json_cursor cursor;
    char *copy = heap_alloc(rule->size, 1, NULL);
    memcpy(copy, rule->bytes, rule->size);
    bool as_tree = json_parse(&root, copy, rule->size, NULL) == 0;
    bool as_cursor = json_cursor_open(&cursor, NULL, copy, rule->size, NULL) == 0;
    json_free(root);
    heap_free(copy);
    ck_assert_msg(as_tree == as_cursor, "%s: a tree %d, a cursor %d", rule->what, as_tree,
                  as_cursor);
    return as_tree;
}

static void expect_all(const struct rule *rules, size_t count, bool accepted)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(is_accepted(&rules[i]) == accepted, "%s: %s", rules[i].what, rules[i].bytes);
}

TEST(what_every_parser_must_accept_is_accepted)
{
    expect_all(must_accept, COUNT(must_accept), true);
}

TEST(what_every_parser_must_refuse_is_refused)
{
    expect_all(must_refuse, COUNT(must_refuse), false);
}

TEST(what_is_left_open_is_settled)
{
    expect_all(accepted_here, COUNT(accepted_here), true);
    expect_all(refused_here, COUNT(refused_here), false);
}
