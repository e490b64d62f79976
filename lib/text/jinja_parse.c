#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "text/jinja_tree.h"

typedef struct jinja_node node;

enum {
    DEPTH_MAX = 200,     /* maximum nesting depth of expressions and statements */
    NODES_MAX = 1 << 18, /* maximum number of expressions and statements of a template */
};

struct reader {
    const char *at, *end;
    const char *counted; /* the position in the text whose line number is `line` */
    struct arena *arena;
    struct err *err;
    size_t line, depth, nodes;
    bool at_line_start; /* the text after the last tag begins a line */
};

/* The number of the line at the reader's position, counted from the position of the last call. */
static size_t line_of(struct reader *reader)
{
    for (; reader->counted < reader->at && reader->counted < reader->end; reader->counted++)
        reader->line += *reader->counted == '\n';
    for (; reader->counted > reader->at; reader->counted--)
        reader->line -= reader->counted[-1] == '\n';
    return reader->line;
}

/* Refuse the template at the reader's position, where `expected` is not found. Returns NULL. */
static void *refuse(struct reader *reader, const char *expected)
{
    int size = (int)(reader->end - reader->at < 20 ? reader->end - reader->at : 20);
    size = (int)utf8_invalid_at(reader->at, (size_t)size);
    err_unsupported(reader->err, "line %zu: expected %s, found '%.*s'", line_of(reader), expected,
                    size, reader->at);
    return NULL;
}

/* Refuse the template: it has more than `most` of `what`, such as "levels of nesting". Returns
 * NULL. */
static void *refuse_more(struct reader *reader, int most, const char *what)
{
    err_unsupported(reader->err, "line %zu: expected at most %d %s, found more", line_of(reader),
                    most, what);
    return NULL;
}

/* Begin an expression or statements within another; `reader->depth--` ends it. */
static bool enter(struct reader *reader)
{
    return ++reader->depth <= DEPTH_MAX || refuse_more(reader, DEPTH_MAX, "levels of nesting");
}

static node *make(struct reader *reader, enum node_kind kind, node *a, node *b)
{
    if (reader->nodes++ == NODES_MAX)
        return refuse_more(reader, NODES_MAX, "expressions and statements");
    node *made = arena_alloc(reader->arena, 1, sizeof *made, reader->err);
    if (made)
        *made = (node){.kind = kind, .line = line_of(reader), .a = a, .b = b};
    return made;
}

static bool is_space(char c)
{
    return c && strchr(" \t\n\r\f\v", c);
}

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) ||
           (!first && c >= '0' && c <= '9');
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->end && is_space(*reader->at))
        reader->at++;
}

/* If the sign or word `what` comes next, skip it and return true. */
static bool take(struct reader *reader, const char *what)
{
    size_t size = strlen(what);
    skip_spaces(reader);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, what, size) != 0 ||
        (is_name(*what, true) && is_name(reader->at[size], false)))
        return false;
    reader->at += size;
    return true;
}

static bool expect(struct reader *reader, const char *what)
{
    char words[16];
    snprintf(words, sizeof words, "'%s'", what);
    return take(reader, what) || refuse(reader, words);
}

/* Read a name. If there is none, refuse the template and return NULL. */
static const char *read_name(struct reader *reader)
{
    skip_spaces(reader);
    const char *first = reader->at;
    while (reader->at < reader->end && is_name(*reader->at, reader->at == first))
        reader->at++;
    return reader->at > first
               ? arena_text(reader->arena, first, (size_t)(reader->at - first), reader->err)
               : refuse(reader, "a name");
}

static node *read_expression(struct reader *reader);
static node *read_unary(struct reader *reader, bool filtered);

/* Read expressions, separated by commas, up to the sign `close`. If `named`, they may have the form
 * `name = expression`. `*is_tuple` becomes true if there is a comma. */
static node *read_list(struct reader *reader, const char *close, bool named, bool *is_tuple)
{
    node *first = NULL, **last = &first;
    bool more = true;
    while (!take(reader, close)) {
        const char *back = reader->at, *name = NULL;
        if (!more)
            return refuse(reader, "',' or the end of a list");
        if (named && is_name(*reader->at, true) && (name = read_name(reader)) &&
            (!take(reader, "=") || *reader->at == '='))
            name = NULL;
        reader->at = name ? reader->at : back;
        *last = read_expression(reader);
        if (!*last)
            return NULL;
        if (name) {
            *last = make(reader, NODE_ARGUMENT, *last, NULL);
            if (!*last)
                return NULL;
            (*last)->name = name;
        }
        last = &(*last)->next;
        more = take(reader, ",");
        if (is_tuple)
            *is_tuple |= more;
    }
    return first;
}

static unsigned read_hex(struct reader *reader, size_t digits)
{
    unsigned number = 0;
    for (; digits && reader->at < reader->end; digits--) {
        const char *all = "0123456789abcdef";
        const char *digit = strchr(all, *reader->at | (*reader->at >= 'A' ? 0x20 : 0));
        if (!digit || !*reader->at)
            break;
        number = 16 * number + (unsigned)(digit - all);
        reader->at++;
    }
    return number;
}

/* Read the rest of an escape sequence, after its backslash, as Python does. */
static void read_escape(struct buf *out, struct reader *reader)
{
    static const char signs[] = "ntrbfv\\'\"0\n", codes[] = "\n\t\r\b\f\v\\'\"\0";
    char c = *reader->at++;
    const char *sign = strchr(signs, c);
    char bytes[4];
    if (c == 'x' || c == 'u')
        buf_bytes(out, bytes, utf8_encode(bytes, read_hex(reader, c == 'x' ? 2 : 4)));
    else if (!sign || !c)
        buf_bytes(out, (char[]){'\\', c}, 2);
    else if (c != '\n') /* a backslash before a line break continues the text in the next line */
        buf_char(out, codes[sign - signs]);
}

static node *read_text(struct reader *reader)
{
    struct buf text = {0};
    while (reader->at < reader->end && (*reader->at == '"' || *reader->at == '\'')) {
        char quote = *reader->at++;
        while (reader->at < reader->end && *reader->at != quote)
            if (*reader->at == '\\' && ++reader->at < reader->end)
                read_escape(&text, reader);
            else if (reader->at < reader->end)
                buf_char(&text, *reader->at++);
        if (reader->at == reader->end) {
            buf_release(&text);
            return refuse(reader, "the end of a text");
        }
        reader->at++;
        skip_spaces(reader); /* adjacent texts form one text */
    }
    size_t size = text.size;
    const char *kept = buf_keep(&text, reader->arena, reader->err);
    node *made = kept ? make(reader, NODE_VALUE, NULL, NULL) : NULL;
    if (made)
        made->value = jinja_text(kept, size);
    return made;
}

static node *read_number(struct reader *reader)
{
    node *made = make(reader, NODE_VALUE, NULL, NULL);
    long long number = 0;
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
        if (number < 100000000000000)
            number = 10 * number + (*reader->at - '0');
    if (*reader->at == '.' && reader->at[1] >= '0' && reader->at[1] <= '9')
        return refuse(reader, "a whole number");
    if (made)
        made->value = (struct jinja_value){.kind = JINJA_INTEGER, .integer = number};
    return made;
}

static const struct constant {
    const char *name;
    struct jinja_value value;
} constants[] = {
    {"true", {.kind = JINJA_BOOLEAN, .integer = 1}},
    {"True", {.kind = JINJA_BOOLEAN, .integer = 1}},
    {"false", {.kind = JINJA_BOOLEAN}},
    {"False", {.kind = JINJA_BOOLEAN}},
    {"none", {.kind = JINJA_NONE}},
    {"None", {.kind = JINJA_NONE}},
};

static node *read_dict(struct reader *reader)
{
    node *dict = make(reader, NODE_DICT, NULL, NULL), **last = dict ? &dict->a : NULL;
    while (dict && !take(reader, "}")) {
        if (!(*last = read_expression(reader)) || !expect(reader, ":") ||
            !((*last = make(reader, NODE_ARGUMENT, *last, NULL))) ||
            !((*last)->b = read_expression(reader)))
            return NULL;
        last = &(*last)->next;
        if (!take(reader, ",") && *reader->at != '}')
            return refuse(reader, "',' or '}'");
    }
    return dict;
}

/* Read a text, a number, a name, a list, a map, or an expression in parentheses. */
static node *read_primary(struct reader *reader)
{
    node *made = NULL;
    skip_spaces(reader);
    char c = reader->at < reader->end ? *reader->at : 0;
    if (c == '"' || c == '\'')
        return read_text(reader);
    if (c >= '0' && c <= '9')
        return read_number(reader);
    if (c == '(' || c == '[') {
        bool is_list = c == '[';
        reader->at++;
        node *items = read_list(reader, c == '(' ? ")" : "]", false, &is_list);
        made = is_list && !reader->err->kind ? make(reader, NODE_LIST, items, NULL) : items;
        return made || reader->err->kind ? made : make(reader, NODE_LIST, NULL, NULL);
    }
    if (c == '{') {
        reader->at++;
        return read_dict(reader);
    }
    if (!is_name(c, true))
        return refuse(reader, "a value");
    made = make(reader, NODE_NAME, NULL, NULL);
    if (!made || !(made->name = read_name(reader)))
        return NULL;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(made->name, constants[i].name) == 0) {
            made->kind = NODE_VALUE;
            made->value = constants[i].value;
        }
    return made;
}

/* Read `[…]` after the value `of`: an item, or a slice. */
static node *read_subscript(struct reader *reader, node *of)
{
    node *made = make(reader, NODE_ITEM, of, NULL), *parts[3] = {0};
    size_t count = 0;
    while (made && !take(reader, "]")) {
        if (take(reader, ":"))
            made->kind = NODE_SLICE, count++;
        else if (count > 2 || parts[count] || !(parts[count] = read_expression(reader)))
            return refuse(reader, "']'");
        if (count > 2)
            return refuse(reader, "']'");
    }
    if (!made || (made->kind == NODE_ITEM && !parts[0]))
        return refuse(reader, "an index");
    made->b = parts[0], made->c = parts[1], made->d = parts[2];
    return made;
}

static bool ends_tag(const struct reader *reader)
{
    const char *at = reader->at + (reader->at < reader->end && strchr("-+", *reader->at));
    return at + 1 < reader->end && (*at == '}' || *at == '%') && at[1] == '}';
}

/* True for a test that accepts a value without parentheses: `x is equalto y`. */
static bool test_takes_value(const char *name)
{
    static const char *const names[] = {"equalto", "eq", "ne", "in", "divisibleby"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Read the members, items and calls after a value. */
static node *read_postfix(struct reader *reader, node *made)
{
    while (made) {
        if (take(reader, ".")) {
            made = make(reader, NODE_MEMBER, made, NULL);
            if (made && !(made->name = read_name(reader)))
                return NULL;
        } else if (take(reader, "["))
            made = read_subscript(reader, made);
        else if (take(reader, "(")) {
            node *arguments = read_list(reader, ")", true, NULL);
            made = reader->err->kind ? NULL : make(reader, NODE_CALL, made, arguments);
        } else
            break;
    }
    return made;
}

/* Read the filters and tests after a value. */
static node *read_filters(struct reader *reader, node *made)
{
    while (made && !reader->err->kind) {
        bool filters = take(reader, "|"), tests = !filters && take(reader, "is");
        if (!filters && !tests)
            break;
        bool negates = tests && take(reader, "not");
        made = make(reader, filters ? NODE_FILTER : NODE_TEST, made, NULL);
        if (!made || !(made->name = read_name(reader)))
            return NULL;
        if (take(reader, "("))
            made->b = read_list(reader, ")", true, NULL);
        else if (tests && test_takes_value(made->name))
            made->b = read_postfix(reader, read_primary(reader));
        if (negates)
            made = make(reader, NODE_NOT, made, NULL);
    }
    return reader->err->kind ? NULL : made;
}

/* Read a value with its sign and, if `filtered`, with its filters and tests. */
static node *read_unary(struct reader *reader, bool filtered)
{
    node *made = NULL;
    if (take(reader, "-")) {
        if (!enter(reader))
            return NULL;
        made = make(reader, NODE_MINUS, read_unary(reader, false), NULL);
        reader->depth--;
    } else
        made = read_postfix(reader, read_primary(reader));
    return reader->err->kind ? NULL : filtered ? read_filters(reader, made) : made;
}

/* Operators of two values; a lower level binds more weakly. */
static const struct sign {
    const char *sign;
    enum binary binary;
    int level;
} signs[] = {
    {"==", EQUAL, 0}, {"!=", UNEQUAL, 0},    {"<=", MOST, 0}, {">=", LEAST, 0},    {"<", LESS, 0},
    {">", MORE, 0},   {"not in", NOT_IN, 0}, {"in", IN, 0},   {"+", PLUS, 1},      {"-", MINUS, 1},
    {"~", JOINED, 2}, {"//", QUOTIENT, 3},   {"*", TIMES, 3}, {"%", REMAINDER, 3},
};
enum { LEVELS = 4 };

static const struct sign *take_sign(struct reader *reader, int level)
{
    skip_spaces(reader);
    for (const struct sign *s = signs; s < signs + sizeof signs / sizeof *signs; s++)
        if (s->level == level && !ends_tag(reader) && take(reader, s->sign))
            return s;
    return NULL;
}

static node *read_binary(struct reader *reader, int level)
{
    node *made = level == LEVELS ? read_unary(reader, true) : read_binary(reader, level + 1);
    const struct sign *sign = NULL;
    while (level < LEVELS && made && (sign = take_sign(reader, level))) {
        node *right = read_binary(reader, level + 1);
        made = right ? make(reader, NODE_BINARY, made, right) : NULL;
        if (made)
            made->binary = sign->binary;
    }
    return made;
}

static node *read_not(struct reader *reader)
{
    if (!take(reader, "not"))
        return read_binary(reader, 0);
    if (!enter(reader))
        return NULL;
    node *of = read_not(reader);
    reader->depth--;
    return of ? make(reader, NODE_NOT, of, NULL) : NULL;
}

static node *read_logic(struct reader *reader, const char *word, enum node_kind kind)
{
    bool is_and = kind == NODE_AND;
    node *made = is_and ? read_not(reader) : read_logic(reader, "and", NODE_AND);
    while (made && take(reader, word)) {
        node *right = is_and ? read_not(reader) : read_logic(reader, "and", NODE_AND);
        made = right ? make(reader, kind, made, right) : NULL;
    }
    return made;
}

static node *read_expression(struct reader *reader)
{
    if (!enter(reader))
        return NULL;
    node *made = read_logic(reader, "or", NODE_OR);
    while (made && take(reader, "if")) {
        node *condition = read_logic(reader, "or", NODE_OR);
        made = condition ? make(reader, NODE_CHOOSE, condition, made) : NULL;
        if (made && take(reader, "else") && !(made->c = read_expression(reader)))
            made = NULL;
    }
    reader->depth--;
    return made;
}

/* --- tags ------------------------------------------------------------------------------------- */

/* Skip the end of a tag, the white space after `-`, and a line break after a statement. */
static bool end_tag(struct reader *reader, const char *close)
{
    skip_spaces(reader);
    char trim = reader->at < reader->end && strchr("-+", *reader->at) ? *reader->at++ : 0;
    if (!expect(reader, close))
        return false;
    const char *first = reader->at;
    while (trim == '-' && reader->at < reader->end && is_space(*reader->at))
        reader->at++;
    if (!trim && *close != '}' && reader->at < reader->end && *reader->at == '\n')
        reader->at++;
    reader->at_line_start = reader->at > first && reader->at[-1] == '\n';
    return true;
}

/* Unless the text is empty, append a statement that prints it. Returns the pointer that the next
 * statement will set. */
static node **add_text(struct reader *reader, node **last, const char *text, size_t size)
{
    if (!size)
        return last;
    node *made = make(reader, NODE_OUTPUT, make(reader, NODE_VALUE, NULL, NULL), NULL);
    if (!made || !made->a)
        return last;
    made->a->value = jinja_text(text, size);
    *last = made;
    return &made->next;
}

/* Read the text up to a tag, and the beginning of the tag. Return the second sign of the tag; 0:
 * the template has ended. */
static char read_until_tag(struct reader *reader, node ***last)
{
    const char *first = reader->at, *at = first;
    while (at + 1 < reader->end && !(*at == '{' && strchr("{%#", at[1]) && at[1]))
        at++;
    bool found = at + 1 < reader->end;
    const char *tag = at, *past = found ? at : reader->end;
    char sign = found ? tag[1] : 0, trim = found && tag + 2 < reader->end ? tag[2] : 0;
    if (found && trim == '-')
        while (past > first && is_space(past[-1]))
            past--;
    else if (found && trim != '+' && sign != '{') { /* remove the indent before the tag */
        const char *line = past;
        while (line > first && is_space(line[-1]) && line[-1] != '\n')
            line--;
        if (line > first ? line[-1] == '\n' : reader->at_line_start)
            past = line;
    }
    *last = add_text(reader, *last, first, (size_t)(past - first));
    reader->at = found ? tag + 2 + (trim == '-' || trim == '+') : reader->end;
    return sign;
}

static node *read_statements(struct reader *reader, const char *const *ends, const char **end);

/* Read the body of a statement up to the tag that begins with `end`, and read the rest of this
 * tag. */
static bool read_body(struct reader *reader, node **body, const char *end)
{
    *body = read_statements(reader, (const char *const[]){end, NULL}, NULL);
    return !reader->err->kind && end_tag(reader, "%}");
}

static node *read_names(struct reader *reader)
{
    node *first = NULL, **last = &first;
    bool closes = take(reader, "(");
    do {
        if (!(*last = make(reader, NODE_NAME, NULL, NULL)) || !((*last)->name = read_name(reader)))
            return NULL;
        last = &(*last)->next;
    } while (take(reader, ","));
    return !closes || expect(reader, ")") ? first : NULL;
}

static bool read_if(struct reader *reader, node *made)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    const char *end = ends[0];
    for (bool more = false; end == ends[0]; more = true) {
        if (more && !(made = made->otherwise = make(reader, NODE_IF, NULL, NULL)))
            return false;
        if (!(made->a = read_expression(reader)) || !end_tag(reader, "%}"))
            return false;
        made->body = read_statements(reader, ends, &end);
        if (reader->err->kind)
            return false;
    }
    return end_tag(reader, "%}") &&
           (end == ends[2] || read_body(reader, &made->otherwise, "endif"));
}

static bool read_for(struct reader *reader, node *made)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    const char *end = NULL;
    if (!(made->a = read_names(reader)) || !expect(reader, "in") ||
        !(made->b = read_logic(reader, "or", NODE_OR)) ||
        (take(reader, "if") && !(made->c = read_expression(reader))))
        return false;
    take(reader, "recursive");
    if (!end_tag(reader, "%}"))
        return false;
    made->body = read_statements(reader, ends, &end);
    return !reader->err->kind && end_tag(reader, "%}") &&
           (end == ends[1] || read_body(reader, &made->otherwise, "endfor"));
}

static bool read_set(struct reader *reader, node *made)
{
    const char *back = reader->at;
    if (!(made->a = read_names(reader)))
        return false;
    if (!made->a->next && *reader->at == '.') { /* the target is a member: namespace.name */
        reader->at = back;
        made->a = read_postfix(reader, read_primary(reader));
    }
    if (take(reader, "="))
        return (made->b = read_expression(reader)) && end_tag(reader, "%}");
    made->kind = NODE_CAPTURE;
    return made->a && end_tag(reader, "%}") && read_body(reader, &made->body, "endset");
}

static bool read_macro(struct reader *reader, node *made)
{
    if (!(made->name = read_name(reader)) || !expect(reader, "("))
        return false;
    for (node **last = &made->a; !take(reader, ")"); last = &(*last)->next)
        if (!(*last = make(reader, NODE_NAME, NULL, NULL)) ||
            !((*last)->name = read_name(reader)) ||
            (take(reader, "=") && !((*last)->b = read_expression(reader))) ||
            (!take(reader, ",") && *reader->at != ')' && !refuse(reader, "',' or ')'")))
            return false;
    return end_tag(reader, "%}") && read_body(reader, &made->body, "endmacro");
}

/* {% generation %} marks answers in training; it is replaced by its contents. */
static bool read_generation(struct reader *reader, node *made)
{
    made->a = make(reader, NODE_VALUE, NULL, NULL);
    if (!made->a || !end_tag(reader, "%}"))
        return false;
    made->a->value = jinja_boolean(true);
    return read_body(reader, &made->body, "endgeneration");
}

/* Read {% break %} or {% continue %}; the kind of `made` says which. */
static bool read_leave(struct reader *reader, node *made)
{
    (void)made;
    return end_tag(reader, "%}");
}

static const struct statement {
    const char *name;
    enum node_kind kind;
    bool (*read)(struct reader *reader, node *made);
} statements[] = {
    {"if", NODE_IF, read_if},
    {"for", NODE_FOR, read_for},
    {"set", NODE_SET, read_set},
    {"macro", NODE_MACRO, read_macro},
    {"generation", NODE_IF, read_generation},
    {"break", NODE_BREAK, read_leave},
    {"continue", NODE_CONTINUE, read_leave},
};

/* Read the statement of a tag; NULL: the statement was refused. */
static node *read_statement(struct reader *reader)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (take(reader, statements[i].name)) {
            node *made = make(reader, statements[i].kind, NULL, NULL);
            return made && statements[i].read(reader, made) ? made : NULL;
        }
    return refuse(reader, "if, for, set, macro, generation, break or continue");
}

/* Skip the rest of a comment, {# … #}, with its end. */
static void skip_comment(struct reader *reader)
{
    while (reader->at + 1 < reader->end && (reader->at[0] != '#' || reader->at[1] != '}'))
        reader->at++;
    reader->at -= strchr("-+", reader->at[-1]) != NULL;
    end_tag(reader, "#}");
}

/* Read statements up to one of the words `ends` (a list that ends in NULL), and set `*end` to this
 * word, unless `end` is NULL. If `ends` is NULL, read to the end of the template. */
static node *read_statements(struct reader *reader, const char *const *ends, const char **end)
{
    node *first = NULL, **last = &first;
    char sign = 0;
    if (!enter(reader))
        return NULL;
    while (!reader->err->kind && (sign = read_until_tag(reader, &last))) {
        const char *const *word = sign == '%' ? ends : NULL;
        while (word && *word && !take(reader, *word))
            word++;
        if (word && *word) {
            if (end)
                *end = *word;
            break;
        }
        if (sign == '#') {
            skip_comment(reader);
            continue;
        }
        *last = sign == '%' ? read_statement(reader) : make(reader, NODE_OUTPUT, NULL, NULL);
        if (*last && sign == '{' && ((*last)->a = read_expression(reader)))
            end_tag(reader, "}}");
        last = *last ? &(*last)->next : last;
    }
    reader->depth--;
    return ends && !sign && !reader->err->kind ? refuse(reader, *ends) : first;
}

struct jinja *jinja_parse(const char *text, size_t size, struct arena *arena, struct err *err)
{
    struct jinja *template = arena_alloc(arena, 1, sizeof *template, err);
    char *copy = template ? arena_text(arena, text, size, err) : NULL, *to = copy;
    if (!copy)
        return NULL;
    for (const char *from = copy; from < copy + size; from++) /* write all line breaks as \n */
        if (*from != '\r' || from[1] != '\n')
            *to++ = *from == '\r' ? '\n' : *from;
    to -= to > copy && to[-1] == '\n'; /* a line break at the end is not part of the template */
    *to = '\0';
    struct reader reader = {.at = copy,
                            .end = to,
                            .counted = copy,
                            .line = 1,
                            .arena = arena,
                            .err = err,
                            .at_line_start = true};
    template->body = read_statements(&reader, NULL, NULL);
    return err->kind ? NULL : template;
}
