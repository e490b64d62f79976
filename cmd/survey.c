#include "survey.h"

#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

static const char ascii_blanks[] = " \t\r\n";

/* --- marks and blanks ------------------------------------------------------------------------- */

/* True for a mark, false for a bar of a special token, <|endoftext|>. */
static bool is_mark(const char *text, const char *bar)
{
    static const char ends[] = "|<> \t\r\n"; /* of the name of a token */
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

/* Decode a character of a text; at the end of the text it is 0. */
static size_t decode(uint32_t *character, const char *at)
{
    *character = 0;
    return utf8_decode(character, at, strnlen(at, 4));
}

/* From `end` on, find the next white space at an end of a text, or several blanks within a line.
 * Blanks beside a mark are not stray. */
static bool find_stray(const char **start, const char **end, const char *text)
{
    for (const char *at = *end; *at; at = *end) {
        size_t count = 0, lines = 0;
        uint32_t c = 0;
        size_t size = *at > ' ' && *at < 0x7f ? 1 : decode(&c, at); /* mostly ASCII */
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
}
