#include "base/stream.h"
#include "write/text.h"

#include <string.h>

#include "base/language.h"
#include "base/utf8.h"

static const char ellipsis[] = "…";

void text_blanks(struct buf *line, size_t count)
{
    buf_repeat(line, " ", 1, count);
}

/* The size in bytes of the longest start of a text that is at most `width` columns wide. */
static size_t beginning(const char *text, size_t size, size_t width)
{
    size_t at = 0;
    while (at < size) {
        size_t length = utf8_grapheme(text + at, size - at);
        size_t columns = utf8_width(text + at, length);
        if (columns > width)
            break;
        width -= columns;
        at += length;
    }
    return at;
}

void text_cell(struct buf *line, const char *text, size_t width, bool right)
{
    size_t size = strlen(text);
    size_t columns = utf8_width(text, size);
    bool fits = columns <= width;
    if (!fits) {
        size = width ? beginning(text, size, width - 1) : 0;
        columns = utf8_width(text, size) + (width > 0);
    }
    text_blanks(line, right ? width - columns : 0);
    buf_bytes(line, text, size);
    buf_text(line, fits || width == 0 ? "" : ellipsis);
    text_blanks(line, right ? 0 : width - columns);
}

void text_label(struct buf *line, const struct axis *axis, size_t index, size_t width)
{
    const char *text = axis->labels[index].text;
    size_t size = strlen(text);
    size_t start = 0;
    bool is_cut = strcmp(axis->name, "model") == 0 && utf8_width(text, size) > width;
    while (is_cut && start < size && utf8_width(text + start, size - start) >= width)
        start += utf8_grapheme(text + start, size - start);
    buf_text(line, is_cut ? ellipsis : "");
    buf_text(line, text + start);
}

void text_shorten(struct buf *line, size_t width)
{
    static const char reset[] = "\x1b[0m"; /* the code that ends colours */
    size_t columns = 0;
    size_t end = 0; /* offset at which the ellipsis begins */
    bool coloured = false, coloured_at_end = false;
    for (size_t at = 0, length; at < line->size && columns <= width; at += length) {
        length = terminal_colour(line->bytes + at, line->size - at);
        if (length) { /* colour codes have width 0 */
            coloured = strncmp(line->bytes + at, reset, length) != 0;
            continue;
        }
        length = utf8_grapheme(line->bytes + at, line->size - at);
        columns += utf8_width(line->bytes + at, length);
        if (columns < width) {
            end = at + length;
            coloured_at_end = coloured;
        }
    }
    if (width == 0 || columns <= width)
        return;
    line->size = end;
    buf_text(line, ellipsis);
    buf_text(line, coloured_at_end ? reset : "");
}

int text_send(struct stream *out, const struct buf *text, struct err *err)
{
    if (buf_check(text, err))
        return -1;
    if (text->size)
        stream_bytes(out, text->bytes, text->size);
    return 0;
}

int text_end(struct stream *out, struct buf *line, struct err *err)
{
    while (line->size > 0 && line->bytes[line->size - 1] == ' ')
        line->size--;
    if (text_send(out, line, err))
        return -1;
    stream_char(out, '\n');
    buf_clear(line);
    return 0;
}

/* The number of bytes before the next position at which a line may end: a space, a newline, or next
 * to a wide character, except before closing and after opening punctuation. */
static size_t unbroken(const char *text)
{
    size_t end = strcspn(text, " \n"), size = utf8_grapheme(text, end);
    for (size_t next, last = size; size < end; size += next, last = next) {
        next = utf8_grapheme(text + size, end - size);
        const char *before = text + size - last, *after = text + size;
        bool is_wide = utf8_width(before, last) > 1 || utf8_width(after, next) > 1;
        bool opens = last == 3 && strstr("（《“‘", (char[]){before[0], before[1], before[2], 0});
        bool closes =
            next == 3 && strstr("，。、；：！？）》”’…", (char[]){after[0], after[1], after[2], 0});
        if (is_wide && !opens && !closes)
            break;
    }
    return size;
}

void text_wrap(struct stream *out, const char *text, size_t column, size_t indent, size_t width)
{
    const char *gap = "";
    bool breaks = false;
    while (*text) {
        size_t size = unbroken(text);
        size_t columns = utf8_width(text, size);
        if (breaks && width > 0 && column + strlen(gap) + columns > width) {
            stream_format(out, "\n%*s", (int)indent, "");
            column = indent;
            gap = "";
        }
        stream_text(out, gap);
        stream_bytes(out, text, size);
        column += strlen(gap) + columns;
        gap = text[size] == ' ' ? " " : "";
        breaks = text[size] != '\n';
        if (text[size] == '\n') {
            stream_char(out, '\n');
            column = 0;
        }
        text += size + (text[size] == ' ' || text[size] == '\n');
    }
    stream_char(out, '\n');
}

struct text_cut text_cut_to(size_t size, size_t shown)
{
    if (shown < 2)
        shown = 2;
    if (shown >= size)
        return (struct text_cut){.front = size, .size = size};
    return (struct text_cut){.front = (shown + 1) / 2, .back = shown / 2, .size = size};
}

struct text_cut text_cut_lines(size_t size, size_t lines)
{
    /* true if all rows fit; if rows are omitted, one more line says how many are shown, so one row
     * more than `lines` is not omitted */
    bool all = lines == 0 || size <= lines + 1;
    return text_cut_to(size, all ? size : lines - 1);
}

bool text_is_cut(const struct text_cut *cut)
{
    return cut->front + cut->back < cut->size;
}

size_t text_cut_slots(const struct text_cut *cut)
{
    return cut->front + cut->back + text_is_cut(cut);
}

bool text_cut_between(const struct text_cut *cut, size_t slot)
{
    return text_is_cut(cut) && slot == cut->front;
}

size_t text_cut_place(const struct text_cut *cut, size_t slot)
{
    return slot <= cut->front ? slot : cut->size - (text_cut_slots(cut) - slot);
}

/* --- title lines ------------------------------------------------------------------------------ */

/* Append the title lines. The first is like "life · attention window:4 · sentence 1 · Life is
 * short". */
void text_titles(struct buf *lines, const struct report *report, const struct layout *layout)
{
    struct tokenized model = {.raw = report->model, .size = strlen(report->model)};
    const char *mechanism = report->mechanism;
    bool has_text = report->text.count || report->text.size;
    bool follows = mechanism && has_text && layout->columns &&
                   utf8_width(mechanism, strlen(mechanism)) > layout->columns * 2 / 3;
    tokenized_visible(lines, &model);
    const char *language = layout->style ? layout->style->language : NULL;
    buf_text(lines, report->untrained ? say(language, " (not trained)") : "");
    if (mechanism && !follows)
        buf_format(lines, " · %s", mechanism);
    if (identity_texts(&report->identity) > 1)
        buf_format(lines, " · sentence %zu", identity_text(&report->identity));
    /* without a text, the report is about the model alone */
    buf_text(lines, has_text ? " · " : "");
    if (has_text)
        tokenized_visible(lines, &report->text);
    buf_char(lines, '\n');
    if (follows)
        buf_format(lines, "%s\n", mechanism);
    const struct tokenized *others[] = {report->corrupt, &report->source, report->corrupt_source};
    static const char *const names[] = {"corrupt", "source", "corrupt source"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!others[i] || !others[i]->count)
            continue;
        buf_format(lines, "%s · ", names[i]);
        tokenized_visible(lines, others[i]);
        buf_char(lines, '\n');
    }
}

int text_titles_write(struct stream *out, const struct report *report, const struct layout *layout,
                      struct err *err)
{
    struct buf lines = {0}, line = {0};
    text_titles(&lines, report, layout);
    int failed = buf_check(&lines, err);
    const char *end = failed ? NULL : lines.bytes + lines.size;
    for (const char *at = lines.bytes, *stop; !failed && at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        buf_bytes(&line, at, (size_t)(stop - at));
        text_shorten(&line, layout->columns);
        failed = text_end(out, &line, err);
    }
    if (report->about && !failed)
        text_wrap(out, report->about, 0, 0, layout->columns);
    buf_release(&lines);
    buf_release(&line);
    return failed;
}
