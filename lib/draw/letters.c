#include "draw/letters.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Advance widths from blank to tilde, in thousandths of the size. */
static const uint16_t ascii[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838,
};

/* The ellipsis, other letters, and those of two columns: 爱, 🍰 */
enum { ELLIPSIS = 1000, OTHER = 700, WIDE = 1150 };

/* The width of a grapheme. */
static unsigned width_of(const char *grapheme, size_t size)
{
    unsigned char byte = (unsigned char)grapheme[0];
    if (size == 1 && byte >= ' ' && byte <= '~')
        return ascii[byte - ' '];
    size_t columns = utf8_width(grapheme, size);
    return columns > 1 ? WIDE : columns ? OTHER : 0;
}

/* The bytes of the longest beginning that is at most so wide, and its width. */
static size_t beginning(const char *text, double most, double *width)
{
    size_t size = strlen(text);
    size_t at = 0;
    unsigned sum = 0;
    while (at < size) {
        size_t length = utf8_grapheme(text + at, size - at);
        length = length ? length : 1;
        unsigned next = width_of(text + at, length);
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
    buf_bytes(out, text, beginning(text, most, &used));
    buf_text(out, "…");
}
