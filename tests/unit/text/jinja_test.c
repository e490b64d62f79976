#include "text/jinja.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"

/* Templates, and what jinja2 3.1 makes of them in the environment of apply_chat_template
 * (transformers 5.23). */
static const struct {
    const char *template, *expected;
} rendered[] = {
    {"{{ messages[0].role }}: {{ messages[0]['content'] | trim }}", "user: Hi, \344\275\240"},
    {"a\n{% if true %}\nb\n{% endif %}\nc\n", "a\nb\nc"},
    {"a\n  {% if true -%}\n  b\n  {%- endif %}  \n c", "a\nb  \n c"},
    {"  {{ 1 }}  \n{# note #}\n  {#- cut -#}  x", "  1  \nx"},
    {"x {%+ if true +%}\ny{% endif %}", "x \ny"},
    {"{{ 'a\\n\\t\\'b\\\\' \"c\" 'd' }}\\n", "a\n\t'b\\cd\\n"},
    {"{{ '\\u00e9\\x41\\q' }}", "\303\251A\\q"},
    {"{{ 1 + 2 * 3 - 4 // 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }}", "6 -4 2 -2"},
    {"{{ 'a' ~ 1 ~ none ~ true }}{{ undefined_name }}", "a1NoneTrue"},
    {"{{ 1 if false else 2 }}{{ 3 if true }}{{ 4 if false }}", "23"},
    {"{{ not true or 1 and 2 }} {{ 0 or '' or 'last' }} {{ 'a' and '' }}", "2 last "},
    {"{{ 1 < 2 }} {{ 'b' > 'a' }} {{ 2 >= 2 }} {{ 1 != true }} {{ [1] == [1] }} {{ {'a': 1} == "
     "{'a': 1} }}",
     "True True True False True True"},
    {"{{ 'ell' in 'hello' }} {{ 1 in [2, 3] }} {{ 'a' not in {'a': 1} }} {{ 'x' in undefined_name "
     "}}",
     "True False False False"},
    {"{{ [1, 2, 3][-1] }}{{ 'a\303\251\344\270\255'[1] }}{{ 'a\303\251\344\270\255'[1:] }}{{ "
     "'abc'[::-1] }}{{ 'abcdef'[1:5:2] }}{{ 'abcdef'[:-2] }}{{ 'abcdef'[-3::-1] }}",
     "3\303\251\303\251\344\270\255cbabdabcddcba"},
    {"{{ (1, 2)[0] }}{{ [[1], [2, 3]][1][1] }}{{ {'k': {'l': 5}}.k.l }}{{ {}.x }}{{ [][0] }}",
     "135"},
    {"{% for m in messages %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{% "
     "endfor %}",
     "1TrueTrue1"},
    {"{% for x in [1, 2, 3, 4] if x != 2 %}{{ loop.index0 }}={{ x }}{{ ', ' if not loop.last }}{% "
     "else %}none{% endfor %}",
     "0=1, 1=3, 2=4"},
    {"{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for k, v in {'a': 1, 'b': 2}.items() "
     "%}{{ k }}{{ v }}{% endfor %}",
     "nonea1b2"},
    {"{% for x in range(5) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% "
     "endif %}{{ x }}{% endfor %}{{ range(2, 4) | list | join('-') }}",
     "022-3"},
    {"{% set x = 1 %}{% for y in [1, 2] %}{% set x = x + y %}{{ x }}{% endfor %}{{ x }}", "231"},
    {"{% set ns = namespace(x=0) %}{% for y in [1, 2] %}{% set ns.x = ns.x + y %}{% endfor %}{{ "
     "ns.x }}",
     "3"},
    {"{% set a, b = (1, 2) %}{{ b }}{{ a }}{% set c %}in {{ a }}{% endset %}[{{ c }}]", "21[in 1]"},
    {"{% if x is defined %}1{% elif messages is defined and messages | length == 1 %}2{% else "
     "%}3{% endif %}",
     "2"},
    {"{% macro m(a, b='d') %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3, a=4) "
     "}}{{ m() }}",
     "<1d><12><43><d>"},
    {"{% macro m(n) %}{% if n > 0 %}{{ n }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}{% set "
     "x = m(1) | length %}{{ x }}",
     "3211"},
    {"{% set y = 5 %}{% macro m() %}{{ y }}{% endmacro %}{% for z in [1] %}{% set y = 6 %}{{ m() "
     "}}{% endfor %}",
     "5"},
    {"{{ '  a b '.strip() }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'a\\n\\n'.rstrip('\\n') }}|{{ "
     "'\343\200\200a\302\240' | trim }}|",
     "a b|axx|a|a|"},
    {"{{ 'a,b,,c'.split(',') | join('+') }}{{ 'a</t>b'.split('</t>')[-1] }}{{ "
     "'abc'.startswith('ab') }}{{ 'abc'.endswith('ab') }}",
     "a+b++cbTrueFalse"},
    {"{{ 'aXbX' | replace('X', 'yy') }}{{ 'aXb'.replace('X', '') }}{{ 'Ab' | upper }}{{ "
     "'Ab'.lower() }}{{ 'aB c' | capitalize }}{{ 'the dOG'.title() }}",
     "ayybyyabABabAb cThe Dog"},
    {"{{ x | default('d') }}{{ '' | default('e') }}{{ '' | default('e', true) }}{{ none | "
     "default('f', boolean=true) }}{{ x | d }}",
     "def"},
    {"{{ [3, 1] | first }}{{ [3, 1] | last }}{{ 'abc' | first }}{{ [1, 2] | length }}{{ 5 | string "
     "| length }}{{ [1, 2] | reverse | join(',') }}",
     "31a212,1"},
    {"{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ messages | "
     "rejectattr('role', 'equalto', 'user') | list | length }}{{ messages | map(attribute='role') "
     "| join(',') }}{{ tools | selectattr('x') | list | length }}",
     "10user0"},
    {"{{ x is undefined }}{{ none is none }}{{ 'a' is string }}{{ [] is iterable }}{{ {} is "
     "mapping }}{{ 1 is number }}{{ true is boolean }}{{ [] is sequence }}{{ 'a' is not string }}",
     "TrueTrueTrueTrueTrueTrueTrueTrueFalse"},
    {"{{ 3 is odd }}{{ 3 is even }}{{ 4 is divisibleby 2 }}{{ 'a' is in ['a'] }}{{ 1 is eq 1 }}{{ "
     "1 is ne(2) }}{{ true is true }}{{ 1 is true }}",
     "TrueFalseTrueTrueTrueTrueTrueFalse"},
    {"{{ {'ab': 1}.get('abc'[:2]) }}{{ {'ab': 1}['abc'[:2]] }}{{ {'abc': 1}.get('ab') }}",
     "11None"},
    {"{{ messages[0].get('content') | trim }}{{ messages[0].get('x') }}{{ messages[0].get('x', "
     "'y') }}{{ messages[0].x is defined }}",
     "Hi, \344\275\240NoneyFalse"},
    {"{{ bos_token + '<' + (messages[0]['content'] | trim) + '>' + eos_token }}{% if tools is not "
     "none %}tools{% endif %}",
     "<s><Hi, \344\275\240></s>"},
    {"{% for m in messages %}{% generation %}{{ m.role }}{% endgeneration %}{% endfor %}", "user"},
    {"{% for m in [1, 2, 3] %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.revindex }};{% endfor "
     "%}",
     "23;132;21;"},
    {"{{ 'a' if x is defined and x.y.z else 'b' }}{{ x.y if x else 'c' }}", "bc"},
    {"{{- 'a' -}}   b   {{- 'c' }}", "abc"},
    {"{{ 'a\303\251\344\270\255' | length }}{{ 'a\303\251\344\270\255'[-1] }}{{ "
     "'a\303\251\344\270\255'[1:2] }}{{ 'abc'[2:1] }}{{ 'abc'[-9:9] }}{{ 'abc'[7] }}",
     "3\344\270\255\303\251abc"},
    {"{{ [1, 'a', none] | join('\303\251') }}{{ 'abc' | join('-') }}{{ [] | join('-') }}",
     "1\303\251a\303\251Nonea-b-c"},
    {"{% for x in [1, 2] %}{% for y in 'ab' %}{{ loop.index }}{{ loop.last }}{% endfor %}{{ "
     "loop.index }}{{ loop.nextitem }};{% endfor %}",
     "1False2True12;1False2True2;"},
    {"{{ {'a': 1}['a\\x00b'] }}{{ 'a' in {'a': 1} }}{{ 1 in {'a': 1} }}", "TrueFalse"},
    {"{{ {'a': [1, {'b': 'c'}]} == {'a': [1, {'b': 'c'}]} }}{{ {'a': [1, {'b': 'c'}]} == {'a': [1, "
     "{'b': 'd'}]} }}{{ [1, 2] == [1] }}{{ {'a': 1} != {'b': 1} }}{{ [[2], 1] == [(2,), 1] }}",
     "TrueFalseFalseTrueTrue"},
    {"{{ ([1] + [2]) | join }}{{ messages[1:] | length }}{{ messages[0:1][0].role }}", "120user"},
    {"{{ {'a': 1, 'b': 2} | length }}{{ {'a': 1, 'b': 2}.keys() | join(',') }}{% for k, v in {'a': "
     "1} | items %}{{ k }}{{ v }}{% endfor %}",
     "2a,ba1"},
};

/* Templates that are refused, when they are read or when they are run. */
static const struct {
    const char *template, *error;
} refused[] = {
    {"a\n{{ 1 +", "line 2: expected a value, found ''"},
    {"{{ 'a }}", "line 1: expected the end of a text, found ''"},
    {"{% if 1 %}", "line 1: expected elif, found ''"},
    {"{% endif %}", "line 1: expected if, for, set, macro, generation, break or continue, found "
                    "'endif %}'"},
    {"{% include 'x' %}", "line 1: expected if, for, set, macro, generation, break or continue, "
                          "found 'include 'x' %}'"},
    {"{{ 1.5 }}", "line 1: expected a whole number, found '.5 }}'"},
    {"{{ a b }}", "line 1: expected '}}', found 'b }}'"},
    {"{{ [1, 2 }}", "line 1: expected ',' or the end of a list, found '}}'"},
    {"{{ x[] }}", "line 1: expected an index, found ' }}'"},
    {"{{ x.y }}", "line 1: expected a value before 'y', found undefined"},
    {"{{ x.strip() }}", "line 1: expected a text or a mapping before '.strip'"},
    {"{{ none.strip() }}", "line 1: expected a text or a mapping before '.strip'"},
    {"{{ 1 | zip }}", "line 1: expected a filter that is known, found 'zip'"},
    {"{{ zip() }}", "line 1: expected a function that is known, found 'zip'"},
    {"{{ 'a'.zip() }}", "line 1: expected a method that is known, found 'zip'"},
    {"{{ 1 is zip }}", "line 1: expected a test that is known, found 'zip'"},
    {"{{ 1 + 'a' }}", "line 1: expected two numbers, or two texts or lists to add"},
    {"{{ 1 // 0 }}", "line 1: expected another divisor than 0 or -1"},
    {"{{ 999999999999999 * 999999999999999 }}", "line 1: expected a number up to 1000000000000000"},
    {"{{ [1] }}", "line 1: expected a text, found a list or a mapping"},
    {"{{ {'a\\x00b': 1} }}", "line 1: expected a key without U+0000"},
    {"{% set a, b = [1] %}", "line 1: expected as many values as names"},
    {"{{ raise_exception('No ' + 'tools') }}", "the template refuses it: No tools"},
    {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
     "line 1: expected at most 500 levels of nesting, found more"},
    {"{% for a in range(2000) %}{% for b in range(2000) %}{{ a }}{% endfor %}{% endfor %}",
     "line 1: expected at most 1000000 steps, found more"},
    {"{% set ns = namespace(x='aaaaaaaa') %}{% for a in range(60) %}{% set ns.x = ns.x + ns.x "
     "%}{% endfor %}",
     "line 1: expected at most 64 MiB of values, found more"},
};

static struct arena memory;

static int render(struct buf *out, const char *template, struct err *err)
{
    static const char content[] = " Hi, 你 ";
    struct jinja_pair parts[] = {{"role", jinja_text("user", 4)},
                                 {"content", jinja_text(content, sizeof content - 1)}};
    struct jinja_dict message = {parts, COUNT(parts)};
    struct jinja_value item = {.kind = JINJA_DICT, .of.dict = &message};
    const struct jinja_list messages = {&item, 1};
    struct jinja_pair pairs[] = {{"messages", {.kind = JINJA_LIST, .of.list = &messages}},
                                 {"tools", {.kind = JINJA_NONE}},
                                 {"add_generation_prompt", jinja_boolean(true)},
                                 {"bos_token", jinja_text("<s>", 3)},
                                 {"eos_token", jinja_text("</s>", 4)},
                                 {"strftime_now", {.kind = JINJA_INTEGER, .integer = 86400}}};
    const struct jinja_dict variables = {pairs, COUNT(pairs)};
    const struct jinja *parsed = jinja_parse(template, strlen(template), &memory, err);
    return parsed ? jinja_render(out, parsed, &variables, &memory, err) : -1;
}

TEST(templates_give_what_jinja_makes_of_them)
{
    for (size_t i = 0; i < COUNT(rendered); i++) {
        struct buf out = {0};
        struct err err = {0};
        ck_assert_msg(!render(&out, rendered[i].template, &err), "%s: %s", rendered[i].template,
                      err.text);
        if (strcmp(out.bytes ? out.bytes : "", rendered[i].expected) != 0)
            ck_abort_msg("%s: expected '%s', found '%s'", rendered[i].template,
                         rendered[i].expected, out.bytes);
        buf_release(&out);
        arena_release(&memory);
    }
}

TEST(templates_are_refused_at_their_line)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct buf out = {0};
        struct err err = {0};
        ck_assert_int_eq(render(&out, refused[i].template, &err), -1);
        ck_assert_str_eq(err.text, refused[i].error);
        buf_release(&out);
        arena_release(&memory);
    }
}

TEST(a_template_can_ask_for_the_date)
{
    struct err err = {0};
    struct buf out = {0};
    ck_assert_int_eq(
        0, render(&out, "{{ strftime_now('%Y-%m') }}{{ strftime_now is defined }}", &err));
    ck_assert_str_eq(out.bytes, "1970-01True");
    buf_release(&out);
    arena_release(&memory);
}

#define TOO_DEEP(line, levels) \
    "line " line ": expected at most " levels " levels of nesting, found more"
#define TOO_LONG "line 1: expected at most 1000000 steps, found more"
#define TOO_LARGE "line 1: expected at most 64 MiB of values, found more"
#define DOUBLED(a, b)                                                                            \
    "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(40) %}{% set n.a = " a " %}{% set n" \
    ".b = " b " %}{% endfor %}"
#define LARGE /* n.t is a text of 4 MiB */                                                \
    "{% set n = namespace(t='aaaa') %}{% for i in range(20) %}{% set n.t = n.t + n.t %}{" \
    "% endfor %}"

/* Templates with a piece that is repeated. What is read is refused, or what is run. */
static const struct {
    const char *begin, *piece;
    size_t times;
    const char *end, *error;
} repeated[] = {
    {"\n{{ ", "(", 100000, "", TOO_DEEP("2", "200")},
    {"{{ ", "[", 100000, "", TOO_DEEP("1", "200")},
    {"{{ ", "not ", 100000, "", TOO_DEEP("1", "200")},
    {"{{ ", "-", 100000, "", TOO_DEEP("1", "200")},
    {"", "{% if 1 %}", 100000, "", TOO_DEEP("1", "200")},
    {"", "{{ {'a': ", 100000, "", TOO_DEEP("1", "200")},
    {"{{ [", "1,", 300000, "] }}",
     "line 1: expected at most 262144 expressions and statements, found more"},
    {"\n{{ 'a'", "~1", 20000, "}}", TOO_DEEP("2", "500")},
    {"{{ 'a'", "|upper", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 'a'", ".upper()", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 'a'", " is eq(1)", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 'a'", "[0]", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 'a'", "[0:1]", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 'a'", ".a", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 1", "+1", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 1", " and 1", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 1", "<1", 20000, "}}", TOO_DEEP("1", "500")},
    {"{{ 1", " if 1", 20000, "}}", TOO_DEEP("1", "500")},
    {"{% macro m() %}{{ ", "-", 150, "m() }}{% endmacro %}{{ m() }}", TOO_DEEP("1", "500")},
    {"{% macro m() %}{{ m()", "|upper", 300, "}}{% endmacro %}{{ m() }}", TOO_DEEP("1", "500")},
    {"{% set n = namespace(a=[1], b=[1]) %}{% for i in range(", "9", 4,
     ") %}{% set n.a = [n.a] %}{% set n.b = [n.b] %}{% endfor %}{{ n.a == n.b }}",
     TOO_DEEP("1", "500")},
    {"{% set n = namespace() %}{% set n.n = n %}{{ n == n }}", "", 0, "", TOO_DEEP("1", "500")},
    {DOUBLED("[n.a, n.a]", "[n.b, n.b]"), "{{ n.a == n.b }}", 1, "", TOO_LONG},
    {DOUBLED("[n.a, n.a]", "[n.b, n.b]"), "{{ n.a in [n.b] }}", 1, "", TOO_LONG},
    {DOUBLED("{1: n.a, 2: n.a}", "{1: n.b, 2: n.b}"),
     "{{ [{1: n.a}] | selectattr('1', 'equalto', n.b) }}", 1, "", TOO_LONG},
    {"{% for i in range(100000) %}", "{% macro m() %}{% endmacro %}", 1000, "{% endfor %}",
     TOO_LONG},
    {LARGE "{% for i in range(1000) %}", "{{ 'b' in n.t }}", 1, "{% endfor %}", TOO_LARGE},
    {LARGE "{% for i in range(1000) %}", "{{ n.t < n.t }}", 1, "{% endfor %}", TOO_LARGE},
    {LARGE "{% for i in range(1000) %}", "{{ n.t == n.t }}", 1, "{% endfor %}", TOO_LARGE},
    {LARGE "{% for i in range(1000) %}", "{{ n.t | length }}", 1, "{% endfor %}", TOO_LARGE},
    {LARGE "{% for i in range(1000) %}", "{{ n[n.t] }}", 1, "{% endfor %}", TOO_LARGE},
    {LARGE "{% for i in range(1000) %}", "{{ n.t }}", 1, "{% endfor %}", TOO_LARGE},
    {LARGE, "{{ n.t | replace('a', n.t) }}", 1, "", TOO_LARGE},
    {LARGE, "{{ n.t.strip('b' ~ n.t) }}", 1, "", TOO_LARGE},
    {LARGE, "{{ [n.t, n.t, n.t] | join(n.t ~ n.t ~ n.t ~ n.t ~ n.t ~ n.t ~ n.t ~ n.t) }}", 1, "",
     TOO_LARGE},
    {"{% if 0 %}", "{% elif 0 %}", 20000, "{% elif 1 %}a{% endif %}", NULL},
    {"{{ range(100000) | join(', ') | length }}{{ '", "ab", 100000, "'[1:] | length }}", NULL},
    {"{{ {'a': 1", ", 'b': 2, 'c': 3", 20000, "}.a }}", NULL},
};

TEST(no_template_can_fill_the_stack_or_the_memory)
{
    for (size_t i = 0; i < COUNT(repeated); i++) {
        struct buf text = {0}, out = {0};
        struct err err = {0};
        buf_text(&text, repeated[i].begin);
        buf_repeat(&text, repeated[i].piece, strlen(repeated[i].piece), repeated[i].times);
        buf_text(&text, repeated[i].end);
        int failed = render(&out, text.bytes, &err);
        const char *expected = repeated[i].error ? repeated[i].error : "";
        ck_assert_msg(failed == -(repeated[i].error != NULL) && strcmp(err.text, expected) == 0,
                      "%s%s…: expected '%s', found '%s'", repeated[i].begin, repeated[i].piece,
                      expected, err.text);
        buf_release(&text);
        buf_release(&out);
        arena_release(&memory);
    }
}
