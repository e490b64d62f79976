#include "survey.h"

#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

static const char ascii_blanks[] = " \t\r\n";

/* --- marks and blanks ------------------------------------------------------------------------- */

/* True for a mark, false for a bar of a special token, <|endoftext|>. */
static bool is_mark(const char *text, const char *bar)
{
    /* characters that cannot be in the name of a special token */
    static const char ends[] = "|<> \t\r\n";
    const char *name = bar;
    size_t size = strcspn(bar + 1, ends);
    if (bar > text && bar[-1] == '<')
        return !size || strncmp(bar + 1 + size, "|>", 2) != 0;
    while (name > text && !strchr(ends, name[-1]))
        name--;
    return bar[1] != '>' || name == bar || name < text + 2 || memcmp(name - 2, "<|", 2) != 0;
}

const char *mark_find(const char *text, const char *at)
{
    while ((at = strchr(at, '|')) && !is_mark(text, at))
        at++;
    return at;
}

/* Decode the character at `at`; `*character` is 0 at the end of the text. Returns the size of the
 * character in bytes. */
static size_t decode(uint32_t *character, const char *at)
{
    *character = 0;
    return utf8_decode(character, at, strnlen(at, 4));
}

/* Find the next stray white space from `*end` on: at the start or end of a text, or several blanks
 * within a line. Blanks next to a mark are not stray. Returns false if there is none. */
static bool find_stray(const char **start, const char **end, const char *text)
{
    for (const char *at = *end; *at; at = *end) {
        size_t count = 0, lines = 0;
        uint32_t c = 0;
        size_t size = *at > ' ' && *at < 0x7f ? 1 : decode(&c, at); /* most characters are ASCII */
        for (; size && utf8_class(c) == UTF8_SPACE; size = decode(&c, *end)) {
            count++;
            lines += c == '\n' || c == '\r';
            *end += size;
        }
        bool is_beside = (at > text && at[-1] == '|' && is_mark(text, at - 1)) ||
                         (**end == '|' && is_mark(text, *end));
        *start = at;
        if (!count)
            *end += size ? size : 1;
        else if (!is_beside && (at == text || !**end || (count > 1 && !lines)))
            return true;
    }
    return false;
}

/* True if a mark without blanks joins two words of a script with spaces. */
static bool is_glue(const char *text, const char *mark)
{
    uint32_t before = 0, after = 0;
    decode(&after, mark + 1);
    if (mark > text)
        decode(&before, text + utf8_before(text, (size_t)(mark - text)));
    bool ends = unicode_is_word(unicode_kind(before)) && !unicode_is_unspaced(before);
    return unicode_is_word(unicode_kind(after)) && !unicode_is_unspaced(after) &&
           (ends || (before && before < 0x80 && strchr(",.;:!?", (int)before)));
}

int text_survey_add(struct text_survey *survey, const char *text, enum cell_kind kind, size_t line,
                    struct arena *arena, struct err *err)
{
    const char *start = text, *end = text, *mark = kind == CELL_WITH_MARKS ? text : NULL;
    bool keeps_ends = kind != CELL_REGION && (!mark || !mark_find(text, mark)), found = false;
    while (!found && find_stray(&start, &end, text))
        found = keeps_ends || (start > text && *end);
    if (found && !survey->stray++)
        survey->stray_line = line;
    for (; mark && (mark = mark_find(text, mark)); mark++) {
        survey->marks++;
        if (!is_glue(text, mark) || survey->glued++)
            continue;
        for (start = mark; start > text && !strchr(ascii_blanks, start[-1]);)
            start--;
        size_t size = strcspn(start, ascii_blanks);
        survey->glued_words = arena_text(arena, start, size, err);
    }
    return err_if(err->kind);
}

static const struct hidden {
    const char *name;
    uint32_t first, last; /* first and last code point of the range */
    bool of_csv;          /* counts only in cells of CSV: JSONL writes such characters as \n */
} hidden[] = {{"line break", '\n', '\r', true},
              {"tab", '\t', '\t', true},
              {"control character", 1, 0x1f, false},
              {"control character", 0x7f, 0x84, false},
              {"line break", 0x85, 0x85, false},
              {"no-break space", 0xa0, 0xa0, false},
              {"soft hyphen", 0xad, 0xad, false},
              {"no-break space", 0x2007, 0x2007, false},
              {"zero-width space", 0x200b, 0x200b, false},
              {"direction mark", 0x200e, 0x200f, false},
              {"line break", 0x2028, 0x2029, false},
              {"direction mark", 0x202a, 0x202e, false},
              {"no-break space", 0x202f, 0x202f, false},
              {"zero-width space", 0x2060, 0x2060, false},
              {"direction mark", 0x2066, 0x2069, false},
              {"zero-width space", 0xfeff, 0xfeff, false}};
enum { HIDDEN = sizeof hidden / sizeof *hidden };

unsigned hidden_find(const char *text, bool is_csv)
{
    unsigned kinds = 0;
    uint32_t c = 0;
    for (size_t size = 1; *text; text += size ? size : 1) {
        const bool is_plain = *text >= ' ' && *text < 0x7f; /* true for most characters */
        size = is_plain ? 1 : decode(&c, text);
        for (size_t i = 0; i < HIDDEN && size && !is_plain; i++)
            if (c >= hidden[i].first && c <= hidden[i].last) {
                kinds |= is_csv || !hidden[i].of_csv ? 1u << i : 0;
                break;
            }
    }
    return kinds;
}

bool cell_is_error(const char *cell)
{
    /* error values in English; German, French, Spanish, Italian, Portuguese, Dutch */
    static const char errors[] =
        " #NULL! #DIV/0! #VALUE! #REF! #NAME? #NUM! #N/A #SPILL! #CALC! #FIELD! #BLOCKED! "
        "#UNKNOWN! #CONNECT! #BUSY! #GETTING_DATA "
        "#WERT! #BEZUG! #ZAHL! #NV #UEBERLAUF! #ÜBERLAUF! #FELD! "
        "#NUL! #VALEUR! #NOM? #NOMBRE! #PROPAGATION! "
        "#¡NULO! #¡DIV/0! #¡VALOR! #¡REF! #¿NOMBRE? #¡NUM! #N/D "
        "#NULLO! #VALORE! #RIF! #NOME? #VALOR! #NULO! #NÚM! #WAARDE! #VERW! #NAAM? #GETAL! #N/B ";
    const char *found = *cell == '#' ? strstr(errors, cell) : NULL;
    return found && found[-1] == ' ' && found[strlen(cell)] == ' ';
}

enum cells cells_add(enum cells cells, const char *cell)
{
    static const char digits[] = "0123456789";
    const char *at = cell + (*cell == '-');
    at += strspn(at, digits);
    const bool has_comma = *at == ',' && at[1];
    at += has_comma ? 1 + strspn(at + 1, digits) : 0;
    return *at ? CELLS_OTHER : has_comma && cells == CELLS_PLAIN ? CELLS_WITH_COMMAS : cells;
}

const char *text_trim(const char *text, struct arena *arena, struct err *err)
{
    struct buf trimmed = {0};
    const char *at = text, *start = text, *end = text;
    for (; find_stray(&start, &end, text); at = end) {
        buf_bytes(&trimmed, at, (size_t)(start - at));
        buf_text(&trimmed, start > text && *end ? " " : "");
    }
    buf_text(&trimmed, at);
    return buf_keep(&trimmed, arena, err);
}

void text_survey_write(struct buf *out, const struct text_survey *survey, bool leaves_marks,
                       bool keeps_blanks)
{
    if (survey->nameless)
        buf_format(out, "; %zu column%s without a name %s ignored", survey->nameless,
                   num_plural(survey->nameless), survey->nameless == 1 ? "is" : "are");
    if (survey->blank)
        buf_format(out, "; %zu blank line%s skipped", survey->blank, num_plural(survey->blank));
    if (survey->marks && leaves_marks)
        buf_format(out, "; %zu mark%s | between regions %s left out of the texts", survey->marks,
                   num_plural(survey->marks), survey->marks == 1 ? "is" : "are");
    if (survey->glued)
        buf_format(out, "; %zu mark%s | without blanks join%s two words, as in '%s': write ' | '",
                   survey->glued, num_plural(survey->glued), survey->glued == 1 ? "s" : "",
                   survey->glued_words);
    if (survey->stray && keeps_blanks)
        buf_format(out,
                   "; %zu text%s with blanks at an end or double blanks, which are tokens, "
                   "%s line %zu: --trim removes them",
                   survey->stray, num_plural(survey->stray),
                   survey->stray == 1 ? "in" : "the first in", survey->stray_line);
    if (survey->hidden) {
        const char *comma = "";
        buf_format(out, "; %zu text%s with characters that are tokens but not seen (",
                   survey->hidden, num_plural(survey->hidden));
        for (size_t i = 0; i < HIDDEN; i++) {
            bool is_new = survey->hidden_kinds >> i & 1;
            for (size_t k = 0; k < i && is_new; k++)
                is_new =
                    !(survey->hidden_kinds >> k & 1) || strcmp(hidden[k].name, hidden[i].name) != 0;
            if (is_new)
                buf_format(out, "%s%s", comma, hidden[i].name);
            comma = is_new ? ", " : comma;
        }
        buf_format(out, "), %s line %zu", survey->hidden == 1 ? "in" : "the first in",
                   survey->hidden_line);
    }
    if (survey->errors)
        buf_format(out, "; %zu cell%s an error of Excel, such as '%s' in line %zu, copied as it is",
                   survey->errors, survey->errors == 1 ? " is" : "s are", survey->error,
                   survey->error_line);
    if (survey->whole)
        buf_format(out,
                   "; it has one column: commas, semicolons and tabs in %zu line%s are part of the "
                   "texts",
                   survey->whole, num_plural(survey->whole));
}
