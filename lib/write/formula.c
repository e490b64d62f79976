#include "write/text.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "lens/sheet.h"

/* --- the parts of a formula ------------------------------------------------------------------- */

/* The unread part of a formula. */
struct rest {
    const char *at, *end;
};

typedef int char_class(int c); /* a function such as isalnum */

/* The number of consecutive characters of a class, beginning at offset `from`. */
static size_t run_of(const struct rest *rest, size_t from, char_class *is)
{
    size_t size = from;
    while (rest->at + size < rest->end && is((unsigned char)rest->at[size]))
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

/* Consume one UTF-8 character. */
static struct rest take_character(struct rest *rest)
{
    size_t size = 1;
    while (rest->at + size < rest->end && ((unsigned char)rest->at[size] & 0xc0) == 0x80)
        size++;
    return take(rest, size);
}

/* Consume a group in parentheses and return the text inside. If ")" is missing, the group extends
 * to the end. If no group starts here, consume and return `bare` bytes. */
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
    struct rest group = {rest->at + 1, at};
    rest->at = at + (at < rest->end);
    return group;
}

typedef void add_part(struct buf *out, struct rest part);

/* Append subscripts such as _j, _0, _O,h or _raw_j, separated by commas. */
static void add_indices(struct buf *out, struct rest *rest, add_part *add)
{
    bool more = true;
    while (more) {
        rest->at++;
        add(out, take(rest, run_of(rest, 0, isalnum)));
        more = (begins(rest, "_") || begins(rest, ",")) && run_of(rest, 1, isalnum);
        buf_text(out, more ? "," : "");
    }
}

/* --- formulas as LaTeX ------------------------------------------------------------------------ */

/* Append a number such as 1.00e-05. */
static void add_number(struct buf *out, struct rest *rest)
{
    char digits[NUMERAL_BYTES];
    size_t size = run_of(rest, 0, isdigit);
    if (rest->at + size < rest->end && rest->at[size] == '.')
        size += 1 + run_of(rest, size + 1, isdigit);
    if (rest->end - rest->at > (long)size + 1 && rest->at[size] == 'e' &&
        strchr("+-", rest->at[size + 1]))
        size += 2 + run_of(rest, size + 2, isdigit);
    size = size < sizeof digits ? size : sizeof digits - 1;
    memcpy(digits, rest->at, size);
    digits[size] = '\0';
    numeral_latex(out, digits);
    rest->at += size;
}

/* Append a word or a symbol. In LaTeX, a space must follow a command before a letter. */
static void add_sign(struct buf *out, struct rest sign)
{
    static const char *const signs[][2] = {
        {"·", "\\cdot"},       {"⊙", "\\odot"},          {"γ", "\\gamma"},
        {"β", "\\beta"},       {"ε", "\\varepsilon"},    {"θ", "\\theta"},
        {"π", "\\pi"},         {"φ", "\\varphi"},        {"μ", "\\mu"},
        {"σ", "\\sigma"},      {"Σ", "\\sum"},           {"²", "^2"},
        {"≤", "\\le"},         {"…", "\\dots"},          {"{", "\\{"},
        {"}", "\\}"},          {"inf", "\\infty"},       {"max", "\\max"},
        {"score", "s"},        {"scaled", "\\tilde{s}"}, {"capped", "\\hat{s}"},
        {"moved", "\\bar{s}"}, {"cooled", "\\check{s}"}, {"masked", "m"},
        {"softmax", "p"},      {"share", "a"},           {"weight", "\\alpha"},
        {"context", "z"},      {"×", "\\times"}};
    bool is_word = isalpha((unsigned char)*sign.at);
    int size = (int)(sign.end - sign.at);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strlen(signs[i][0]) == (size_t)size &&
            memcmp(signs[i][0], sign.at, (size_t)size) == 0) {
            buf_format(out, !is_word && isalpha((unsigned char)*sign.end) ? "%s " : "%s",
                       signs[i][1]);
            return;
        }
    buf_format(out, is_word && size > 1 ? "\\mathrm{%.*s}" : "%.*s", size, sign.at);
}

/* Consume an operand: a factor or a sum, such as e^(x - max), tanh(x), (a + b), Σ_t x_t. Return it
 * without parentheses around the whole operand. */
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
    struct rest operand = {first, rest->at};
    struct rest inner = operand;
    struct rest group = take_group(&inner, 0);
    return inner.at == operand.end ? group : operand;
}

static add_part add_latex;

static void add_braces(struct buf *out, const char *before, struct rest part)
{
    buf_text(out, before);
    add_latex(out, part);
    buf_char(out, '}');
}

/* Append a / b as a fraction; false if no fraction begins here. */
static bool add_fraction(struct buf *out, struct rest *rest)
{
    struct rest after = *rest;
    struct rest above = take_operand(&after);
    if (above.at == above.end || !begins(&after, " / "))
        return false;
    after.at += strlen(" / ");
    add_braces(out, "\\frac{", above);
    add_braces(out, "{", take_operand(&after));
    *rest = after;
    return true;
}

static void add_latex(struct buf *out, struct rest rest)
{
    const char *first = rest.at;
    while (rest.at < rest.end) {
        if ((rest.at == first || strchr(" (", rest.at[-1])) && add_fraction(out, &rest))
            continue;
        /* in formulas, LaTeX ignores plain spaces, which would join the words */
        bool after_word =
            rest.at > first && (isalnum((unsigned char)rest.at[-1]) || rest.at[-1] == ')');
        if (after_word && *rest.at == ' ' && run_of(&rest, 1, isalnum)) {
            buf_text(out, "\\ ");
            rest.at++;
        } else if (run_of(&rest, 0, isdigit)) {
            add_number(out, &rest);
        } else if (run_of(&rest, 0, isalpha)) {
            add_sign(out, take(&rest, run_of(&rest, 0, isalpha)));
        } else if (*rest.at == '_') {
            buf_text(out, "_{");
            add_indices(out, &rest, add_latex);
            buf_char(out, '}');
        } else if (*rest.at == '^') {
            rest.at++;
            add_braces(out, "^{", take_group(&rest, run_of(&rest, 0, isalnum)));
        } else if (begins(&rest, "√")) {
            rest.at += strlen("√");
            add_braces(out, "\\sqrt{", take_group(&rest, strcspn(rest.at, " /)]")));
        } else {
            add_sign(out, take_character(&rest));
        }
    }
}

void latex_math(struct buf *out, const char *formula)
{
    add_latex(out, (struct rest){formula, formula + strlen(formula)});
}

/* --- formulas as HTML ------------------------------------------------------------------------- */

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

/* Append a formula as HTML: single letters in italics, words upright. */
static void add_html(struct buf *out, struct rest rest)
{
    while (rest.at < rest.end) {
        size_t size = run_of(&rest, 0, isalnum);
        if (size > 0) {
            const char *form = size == 1 && run_of(&rest, 0, isalpha) ? "<i>%.*s</i>" : "%.*s";
            buf_format(out, form, (int)size, take(&rest, size).at);
        } else if (*rest.at == '_') {
            buf_text(out, "<sub>");
            add_indices(out, &rest, add_html);
            buf_text(out, "</sub>");
        } else if (*rest.at == '^') {
            rest.at++;
            buf_text(out, "<sup>");
            add_html(out, take_group(&rest, run_of(&rest, 0, isalnum)));
            buf_text(out, "</sup>");
        } else if (begins(&rest, "√")) { /* the bar of a root extends over the whole operand */
            rest.at += strlen("√");
            buf_text(out, "<math><msqrt><mtext><span>");
            add_html(out, take_group(&rest, strcspn(rest.at, " /)]")));
            buf_text(out, "</span></mtext></msqrt></math>");
        } else if (begins(&rest, " - ")) {
            buf_text(out, " − ");
            rest.at += strlen(" - ");
        } else {
            const struct rest character = take_character(&rest);
            html_text(out, character.at, (size_t)(character.end - character.at));
        }
    }
}

void html_symbol(struct buf *out, const char *symbol, size_t size)
{
    add_html(out, (struct rest){symbol, symbol + size});
}

void html_formula(struct buf *out, const char *formula)
{
    html_symbol(out, formula, strlen(formula));
}

/* --- sentences -------------------------------------------------------------------------------- */

void formula_prose(struct buf *out, const char *sentence, write_word *symbol, write_word *other)
{
    while (*sentence) {
        size_t size = strcspn(sentence, " ");
        size_t blanks = strspn(sentence + size, " ");
        bool is_symbol = memchr(sentence, '_', size) && *sentence != '\'';
        (is_symbol ? symbol : other)(out, sentence, size);
        buf_bytes(out, sentence + size, blanks);
        sentence += size + blanks;
    }
}
