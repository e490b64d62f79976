#include "explain/explain_walk.h"

#include <stdbool.h>
#include <string.h>

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void html_text(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char *entity = entity_of(text[i]);
        if (entity)
            buf_text(out, entity);
        else
            buf_char(out, text[i]);
    }
}

/* --- formulas --------------------------------------------------------------------------------- */

/* What is left of a formula. */
struct rest {
    const char *at, *end;
    bool plain_roots; /* no line stands above what is below a root */
};

/* A part of it, to be written by itself. */
static struct rest part_of(const struct rest *rest, const char *at, const char *end)
{
    return (struct rest){at, end, rest->plain_roots};
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_index(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
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

/* Take what stands between this ( and its ), all that is left where there is none; or, without a (,
 * so many bytes. */
static struct rest take_group(struct rest *rest, size_t bare)
{
    size_t depth = 0;
    const char *at = rest->at;
    if (!begins(rest, "(")) {
        rest->at = bare < (size_t)(rest->end - at) ? at + bare : rest->end;
        return part_of(rest, at, rest->at);
    }
    for (; at < rest->end; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0)
            break;
    }
    struct rest group = part_of(rest, rest->at + 1, at);
    rest->at = at + (at < rest->end);
    return group;
}

/* j, 0, or O,h: after the line below that begins an index. */
static size_t index_size(const struct rest *rest)
{
    size_t size = run_of(rest, 0, is_index);
    if (size && rest->at + size < rest->end && rest->at[size] == ',' &&
        run_of(rest, size + 1, is_index))
        size += 1 + run_of(rest, size + 1, is_index);
    return size;
}

static void add_formula(struct buf *out, struct rest rest);

static void add_index(struct buf *out, struct rest *rest)
{
    rest->at++;
    size_t size = index_size(rest);
    buf_text(out, "<sub>");
    add_formula(out, part_of(rest, rest->at, rest->at + size));
    buf_text(out, "</sub>");
    rest->at += size;
}

/* A letter slants, a word or a number does not; 1.00e-05 is a number. */
static void add_name(struct buf *out, struct rest *rest)
{
    size_t size = run_of(rest, 0, is_index);
    bool slants = size == 1 && is_letter(*rest->at);
    buf_format(out, slants ? "<i>%.*s</i>" : "%.*s", (int)size, rest->at);
    rest->at += size;
}

/* e^(x - max), e^x */
static void add_power(struct buf *out, struct rest *rest)
{
    rest->at++;
    struct rest exponent = take_group(rest, run_of(rest, 0, is_index));
    buf_text(out, "<sup>");
    add_formula(out, exponent);
    buf_text(out, "</sup>");
}

/* √(σ² + ε), √d_k, √2 */
static void add_root(struct buf *out, struct rest *rest)
{
    rest->at += strlen("√");
    bool closed = begins(rest, "(");
    struct rest radicand = take_group(rest, strcspn(rest->at, " /)]"));
    buf_text(out, !rest->plain_roots ? "√<span class=\"root\">" : closed ? "√(" : "√");
    add_formula(out, radicand);
    buf_text(out, !rest->plain_roots ? "</span>" : closed ? ")" : "");
}

static void add_formula(struct buf *out, struct rest rest)
{
    while (rest.at < rest.end) {
        if (is_index(*rest.at)) {
            add_name(out, &rest);
        } else if (*rest.at == '_') {
            add_index(out, &rest);
        } else if (*rest.at == '^') {
            add_power(out, &rest);
        } else if (begins(&rest, "√")) {
            add_root(out, &rest);
        } else if (begins(&rest, " - ")) {
            buf_text(out, " − ");
            rest.at += strlen(" - ");
        } else {
            html_text(out, rest.at++, 1);
        }
    }
}

void html_formula(struct buf *out, const char *formula)
{
    add_formula(out, (struct rest){formula, formula + strlen(formula), false});
}

void html_markup(struct buf *out, const char *formula)
{
    add_formula(out, (struct rest){formula, formula + strlen(formula), true});
}

void html_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t blanks = strspn(sentence, " ");
        size_t size = strcspn(sentence + blanks, " ");
        const char *word = sentence + blanks;
        buf_bytes(out, sentence, blanks);
        if (memchr(word, '_', size))
            add_formula(out, (struct rest){word, word + size, true});
        else
            html_text(out, word, size);
        sentence = word + size;
    }
}
