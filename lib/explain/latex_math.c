/* latex_math.c: a formula as the terminal has it, in LaTeX's notation. */
#include <string.h>

#include "explain/steps.h"

static const struct {
    const char *sign, *latex;
} signs[] = {{"·", "\\cdot"},  {"⊙", "\\odot"}, {"γ", "\\gamma"}, {"β", "\\beta"},
             {"θ", "\\theta"}, {"π", "\\pi"},   {"²", "^2"},      {"…", "\\cdots"}};

enum { SIGNS = sizeof signs / sizeof *signs };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* x slants, words stand upright; 1.00e-05 is a number. */
static const char *add_run(struct buf *out, const char *at)
{
    char digits[NUMERAL_BYTES];
    size_t size = 0;
    while (is_letter(at[size]))
        size++;
    if (size) {
        buf_format(out, size == 1 ? "%.*s" : "\\mathrm{%.*s}", (int)size, at);
        return at + size;
    }
    while (size + 1 < sizeof digits && (is_digit(at[size]) || at[size] == '.'))
        size++;
    if (at[size] == 'e' && (at[size + 1] == '-' || at[size + 1] == '+'))
        for (size += 2; size + 1 < sizeof digits && is_digit(at[size]);)
            size++;
    memcpy(digits, at, size);
    digits[size] = '\0';
    numeral_latex(out, digits);
    return at + size;
}

/* h_0, O_h, and as one index ln_1_post and W_O,h. */
static const char *add_index(struct buf *out, const char *at)
{
    bool single = is_letter(at[1]) && !is_letter(at[2]) && at[2] != '_' && at[2] != ',';
    buf_text(out, single ? "_" : "_{");
    at = add_run(out, at + 1);
    if (single)
        return at;
    while ((*at == '_' || *at == ',') && (is_letter(at[1]) || is_digit(at[1]))) {
        buf_char(out, ',');
        at = add_run(out, at + 1);
    }
    buf_char(out, '}');
    return at;
}

static void add_math(struct buf *out, const char *at, const char *end);

/* What follows a root or ^, without the parentheses around it. */
static const char *add_group(struct buf *out, const char *at)
{
    const char *end = at;
    size_t depth = 0;
    buf_char(out, '{');
    if (*at != '(') {
        at = add_run(out, at);
    } else {
        do
            depth += (*end == '(') - (size_t)(*end == ')');
        while (depth && *++end);
        add_math(out, at + 1, end);
        at = end + (*end == ')');
    }
    buf_char(out, '}');
    return at;
}

static const char *add_sign(struct buf *out, const char *at)
{
    for (size_t i = 0; i < SIGNS; i++) {
        size_t size = strlen(signs[i].sign);
        if (strncmp(at, signs[i].sign, size) == 0) {
            buf_text(out, signs[i].latex);
            buf_text(out, is_letter(at[size]) ? " " : "");
            return at + size;
        }
    }
    buf_char(out, *at);
    return at + 1;
}

static void add_math(struct buf *out, const char *at, const char *end)
{
    static const char root[] = "√";
    while (at < end) {
        if (is_letter(*at) || is_digit(*at)) {
            at = add_run(out, at);
        } else if (*at == '_') {
            at = add_index(out, at);
        } else if (*at == '^') {
            buf_char(out, '^');
            at = add_group(out, at + 1);
        } else if (strncmp(at, root, strlen(root)) == 0) {
            buf_text(out, "\\sqrt");
            at = add_group(out, at + strlen(root));
        } else {
            at = add_sign(out, at);
        }
    }
}

void latex_math(struct buf *out, const char *formula)
{
    add_math(out, formula, formula + strlen(formula));
}
