/* notation.c: a formula as the terminal has it, in other notations: k_j, e^(x - max), √(σ² + ε). */
#include <stdbool.h>
#include <string.h>

#include "explain/explain_page.h"

/* What is written before something and after it. */
struct marks {
    const char *before, *after;
};

struct notation {
    struct marks letter, word; /* x is slanted, cos upright */
    struct marks index, power;
    const char *fraction[3]; /* of a / b; NULL: written as it is */
    const char *space;       /* between words */
    struct marks root;
    const char *minus;                                   /* of " - " */
    void (*number)(struct buf *out, const char *digits); /* NULL: as a word */
    void (*text)(struct buf *out, const char *text, size_t size);
};

/* The rest of a formula, or a part of it. */
struct rest {
    const char *at, *end;
    const struct notation *notation;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_index(char c)
{
    return is_letter(c) || is_digit(c);
}

static size_t run_of(const struct rest *rest, size_t from, bool (*is)(char))
{
    size_t size = from;
    while (rest->at + size < rest->end && is(rest->at[size]))
        size++;
    return size - from;
}

static bool begins(const struct rest *rest, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(rest->end - rest->at) >= size && memcmp(rest->at, text, size) == 0;
}

static struct rest take(struct rest *rest, size_t size)
{
    struct rest part = *rest;
    part.end = size < (size_t)(rest->end - rest->at) ? rest->at + size : rest->end;
    rest->at = part.end;
    return part;
}

/* Take the text between this ( and its ), or all that is left without one; or, without a (, `bare`
 * bytes. */
static struct rest take_group(struct rest *rest, size_t bare)
{
    size_t depth = 0;
    const char *at = rest->at;
    if (!begins(rest, "("))
        return take(rest, bare);
    for (; at < rest->end; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0)
            break;
    }
    struct rest group = {rest->at + 1, at, rest->notation};
    rest->at = at + (at < rest->end);
    return group;
}

static void add_formula(struct buf *out, struct rest rest);

/* _j, _0, _O,h or _raw_j */
static void add_index(struct buf *out, struct rest *rest)
{
    bool more = true;
    buf_text(out, rest->notation->index.before);
    while (more) {
        rest->at++;
        add_formula(out, take(rest, run_of(rest, 0, is_index)));
        more = (begins(rest, "_") || begins(rest, ",")) && run_of(rest, 1, is_index);
        buf_text(out, more ? "," : "");
    }
    buf_text(out, rest->notation->index.after);
}

/* 1.00e-05 */
static void add_number(struct buf *out, struct rest *rest)
{
    char digits[NUMERAL_BYTES];
    size_t size = run_of(rest, 0, is_digit);
    if (rest->at + size < rest->end && rest->at[size] == '.')
        size += 1 + run_of(rest, size + 1, is_digit);
    if (rest->end - rest->at > (long)size + 1 && rest->at[size] == 'e' &&
        strchr("+-", rest->at[size + 1]))
        size += 2 + run_of(rest, size + 2, is_digit);
    size = size < sizeof digits ? size : sizeof digits - 1;
    memcpy(digits, rest->at, size);
    digits[size] = '\0';
    rest->notation->number(out, digits);
    rest->at += size;
}

/* LaTeX for a sign or a word of a formula; NULL: the same. */
static const char *latex_of(const char *sign, size_t size)
{
    static const struct marks signs[] = {
        {"·", "\\cdot"},       {"⊙", "\\odot"},          {"γ", "\\gamma"},
        {"β", "\\beta"},       {"ε", "\\varepsilon"},    {"θ", "\\theta"},
        {"π", "\\pi"},         {"φ", "\\varphi"},        {"μ", "\\mu"},
        {"σ", "\\sigma"},      {"Σ", "\\sum"},           {"²", "^2"},
        {"≤", "\\le"},         {"…", "\\dots"},          {"{", "\\{"},
        {"}", "\\}"},          {"inf", "\\infty"},       {"max", "\\max"},
        {"score", "s"},        {"scaled", "\\tilde{s}"}, {"capped", "\\hat{s}"},
        {"moved", "\\bar{s}"}, {"cooled", "\\check{s}"}, {"masked", "m"},
        {"softmax", "p"},      {"share", "a"},           {"weight", "\\alpha"},
        {"context", "z"}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strlen(signs[i].before) == size && memcmp(signs[i].before, sign, size) == 0)
            return signs[i].after;
    return NULL;
}

static void add_name(struct buf *out, struct rest *rest)
{
    const struct notation *notation = rest->notation;
    if (notation->number && is_digit(*rest->at)) {
        add_number(out, rest);
        return;
    }
    size_t size = run_of(rest, 0, notation->number ? is_letter : is_index);
    const struct rest name = take(rest, size);
    const char *latex = notation->number ? latex_of(name.at, size) : NULL;
    const struct marks *marks = size == 1 ? &notation->letter : &notation->word;
    if (latex)
        buf_text(out, latex);
    else if (is_digit(*name.at))
        buf_bytes(out, name.at, size);
    else
        buf_format(out, "%s%.*s%s", marks->before, (int)size, name.at, marks->after);
}

/* e^(x - max), e^x; √(σ² + ε), √d_k, √2 */
static void add_power_or_root(struct buf *out, struct rest *rest, bool power)
{
    rest->at += power ? 1 : strlen("√");
    size_t bare = power ? run_of(rest, 0, is_index) : strcspn(rest->at, " /)]");
    const struct marks *marks = power ? &rest->notation->power : &rest->notation->root;
    buf_text(out, marks->before);
    add_formula(out, take_group(rest, bare));
    buf_text(out, marks->after);
}

/* A factor or a whole sum: e^(x - max), tanh(x), (a + b), Σ_t x_t. */
static struct rest take_operand(struct rest *rest)
{
    const char *first = rest->at;
    int depth = 0;
    bool sum = begins(rest, "Σ");
    for (; rest->at < rest->end && depth >= 0; rest->at++) {
        depth += *rest->at == '(';
        depth -= *rest->at == ')';
        if (depth < 0 || (depth == 0 && !sum && strchr(" ,", *rest->at)))
            break;
        sum = sum && *rest->at != ' ';
    }
    struct rest operand = {first, rest->at, rest->notation};
    struct rest inner = operand;
    struct rest group = take_group(&inner, 0);
    return inner.at == operand.end ? group : operand;
}

/* a / b; false: there is no fraction here. */
static bool add_fraction(struct buf *out, struct rest *rest)
{
    const char *const *marks = rest->notation->fraction;
    struct rest after = *rest;
    struct rest above = take_operand(&after);
    if (!marks[0] || above.at == above.end || !begins(&after, " / "))
        return false;
    after.at += strlen(" / ");
    buf_text(out, marks[0]);
    add_formula(out, above);
    buf_text(out, marks[1]);
    add_formula(out, take_operand(&after));
    buf_text(out, marks[2]);
    *rest = after;
    return true;
}

/* A blank between two names, which would run together: "0 for j". */
static bool is_space(const struct rest *rest, const char *first)
{
    return *rest->at == ' ' && rest->at > first && rest->at + 1 < rest->end &&
           (is_index(rest->at[-1]) || rest->at[-1] == ')') && is_index(rest->at[1]);
}

static void add_formula(struct buf *out, struct rest rest)
{
    const char *first = rest.at;
    while (rest.at < rest.end) {
        if ((rest.at == first || strchr(" (", rest.at[-1])) && add_fraction(out, &rest))
            continue;
        if (is_space(&rest, first)) {
            buf_text(out, rest.notation->space);
            rest.at++;
        } else if (is_index(*rest.at)) {
            add_name(out, &rest);
        } else if (*rest.at == '_') {
            add_index(out, &rest);
        } else if (*rest.at == '^') {
            add_power_or_root(out, &rest, true);
        } else if (begins(&rest, "√")) {
            add_power_or_root(out, &rest, false);
        } else if (begins(&rest, " - ")) {
            buf_text(out, rest.notation->minus);
            rest.at += strlen(" - ");
        } else {
            size_t size = 1; /* of a character in UTF-8 */
            while (rest.at + size < rest.end && ((unsigned char)rest.at[size] & 0xc0) == 0x80)
                size++;
            rest.notation->text(out, take(&rest, size).at, size);
        }
    }
}

/* --- HTML and LaTeX --------------------------------------------------------------------------- */

void html_text(struct buf *out, const char *text, size_t size)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *entity = c < sizeof entities / sizeof *entities ? entities[c] : NULL;
        if (entity)
            buf_text(out, entity);
        else
            buf_char(out, text[i]);
    }
}

static const struct notation html = {
    .letter = {"<i>", "</i>"},
    .word = {"", ""},
    .index = {"<sub>", "</sub>"},
    .power = {"<sup>", "</sup>"},
    .root = {"√<span class=\"root\">", "</span>"},
    .minus = " − ",
    .space = " ",
    .text = html_text,
};

void html_symbol(struct buf *out, const char *symbol, size_t size)
{
    add_formula(out, (struct rest){symbol, symbol + size, &html});
}

void html_formula(struct buf *out, const char *formula)
{
    html_symbol(out, formula, strlen(formula));
}

static void add_sign(struct buf *out, const char *sign, size_t size)
{
    const char *latex = latex_of(sign, size);
    if (!latex)
        buf_bytes(out, sign, size);
    else
        buf_format(out, is_letter(sign[size]) ? "%s " : "%s", latex);
}

void latex_math(struct buf *out, const char *formula)
{
    static const struct notation latex = {
        .letter = {"", ""},
        .word = {"\\mathrm{", "}"},
        .index = {"_{", "}"},
        .power = {"^{", "}"},
        .root = {"\\sqrt{", "}"},
        .minus = " - ",
        .fraction = {"\\frac{", "}{", "}"},
        .space = "\\ ",
        .number = numeral_latex,
        .text = add_sign,
    };
    add_formula(out, (struct rest){formula, formula + strlen(formula), &latex});
}
