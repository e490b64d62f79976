#include "draw/canvas.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

/* Hatch a box. Its lines are clipped here: clip paths and rotated patterns are ten times as slow in
 * viewers. */
void canvas_hatch(struct canvas *canvas, struct box box)
{
    enum { LINES = 256 };
    static const double step = 3.677;
    const struct pen pen = {colour_of_hex(0xd2d2d2), 0.5, 1};
    struct stroke lines[LINES];
    size_t count = 0;
    canvas->rect(canvas, box, colour_of_hex(0xf5f5f5));
    for (double at = step / 2; at < box.width + box.height; at += step) {
        /* distance of the line's upper end from the top of the box */
        double down = fmax(0, at - box.width);
        double across = fmax(0, at - box.height);
        lines[count++] = (struct stroke){{box.x + at - down, box.y + down},
                                         {box.x + across, box.y + at - across}};
        if (count == LINES || at + step >= box.width + box.height) {
            canvas->strokes(canvas, lines, count, true, &pen);
            count = 0;
        }
    }
}

void canvas_put(struct canvas *canvas, const char *text, const double *numbers)
{
    struct stream *out = canvas->out;
    char digits[NUM_COUNT_BYTES];
    for (; *text; text++) {
        if (*text != '#') {
            stream_char(out, *text);
            continue;
        }
        long long thousandths = llround(1000 * *numbers++);
        if (thousandths < 0) {
            stream_char(out, '-');
            thousandths = -thousandths;
        }
        stream_bytes(out, digits, num_count(digits, (uint64_t)thousandths / 1000));
        unsigned rest = (unsigned)(thousandths % 1000);
        if (rest)
            stream_char(out, '.');
        for (unsigned unit = 100; rest; rest %= unit, unit /= 10)
            stream_char(out, (char)('0' + rest / unit));
    }
}

/* --- width of texts --------------------------------------------------------------------------- */

/* Advance widths of the characters from space to tilde, in thousandths of the font size. */
static const uint16_t ascii[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838,
};

static const char RIGHT_TO_LEFT[] = "\xE2\x80\x8F"; /* the invisible right-to-left mark */

/* Widths in thousandths of the font size: ELLIPSIS of the ellipsis, OTHER of characters that are
 * not in `ascii`, WIDE of double-width characters (爱, 🍰). */
enum { ELLIPSIS = 1000, OTHER = 700, WIDE = 1150 };

/* Return the number of bytes of the longest beginning of a text whose width is at most `most`
 * thousandths of the font size; `*width` gets the width of these bytes, in the same unit. */
static size_t beginning(const char *text, double most, double *width)
{
    size_t size = strlen(text);
    size_t at = 0;
    unsigned sum = 0;
    while (at < size) {
        unsigned char byte = (unsigned char)text[at];
        size_t length = utf8_grapheme(text + at, size - at);
        size_t columns = utf8_width(text + at, length);
        unsigned next = columns > 1 ? WIDE : columns ? OTHER : 0;
        if (length == 1 && byte >= ' ' && byte <= '~')
            next = ascii[byte - ' '];
        if (sum + next > most)
            break;
        sum += next;
        at += length;
    }
    *width = sum;
    return at;
}

double letters_width(const char *text, double size)
{
    double width = 0;
    beginning(text, 1e12, &width);
    return width * size / 1000;
}

void letters_fit(struct buf *out, const char *text, double width, double size)
{
    double used = 0;
    if (letters_width(text, size) <= width) {
        buf_text(out, text);
        return;
    }
    double most = width * 1000 / size - ELLIPSIS;
    size_t end = beginning(text, most, &used);
    buf_bytes(out, text, end);
    buf_text(out, "…");
    if (utf8_ends_leftwards(text, end))
        buf_text(out, RIGHT_TO_LEFT); /* the mark puts the ellipsis at the left end of the text */
}

int letters_break(struct letter_lines *to, const char *text, struct arena *arena, struct err *err)
{
    for (; *text && to->count < to->most; to->count++) {
        double used = 0;
        size_t rest = strlen(text);
        size_t bytes =
            to->count + 1 < to->most ? beginning(text, to->width * 1000 / to->size, &used) : rest;
        while (bytes && text[bytes] && text[bytes] != ' ')
            bytes--;
        bytes = bytes ? bytes : rest; /* the first word is wider than a line */
        to->lines[to->count] = arena_text(arena, text, bytes, err);
        if (!to->lines[to->count])
            return -1;
        text += bytes + (text[bytes] == ' ');
    }
    return 0;
}

void canvas_text_fit(struct canvas *canvas, struct point at, const char *text, double width,
                     const struct font *font)
{
    struct buf fitted = {0};
    buf_text(&fitted, "");
    letters_fit(&fitted, text, width, font->size);
    if (!buf_check(&fitted, canvas->err))
        canvas->text(canvas, at, fitted.bytes, font);
    buf_release(&fitted);
}
