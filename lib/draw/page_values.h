/* page_values.h: what a page of html_report.c is made of, and how its numbers are written.
 *
 * The page without its data is put into a table of C by page/embed.sh: its looks and its fields,
 * which stand before the data, and its program after them. Numbers are text that is short and safe
 * in HTML and JSON.
 *
 * Exact: float32 in base64, 5⅓ letters a number. Short: two letters a number, three digits: of all
 * ASCII letters but ", \ and < there are 92, and a pair of them is a code below 8464:
 *
 *     0          the number 0
 *     1          minus infinity
 *     2 + c      c < 99: c + 1 units of the last power; else 100 + (c - 99) % 900 of power
 *                (c - 99) / 900; powers go down from the largest number's, in tens
 *
 * Where there are negative numbers the sign is the lowest bit of c, and there are 4 powers in place
 * of 9; what is smaller loses digits.
 *
 *     struct page_short code = page_short_of(values, count);
 *     page_short_put(&stream, &code, 0.0386f);
 */
#ifndef ATTN_DRAW_PAGE_VALUES_H
#define ATTN_DRAW_PAGE_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stream.h"

struct page_part {
    const char *bytes;
    size_t size;
};

extern const struct page_part page_before; /* from <style> to the last field */
extern const struct page_part page_behind; /* from <script> to the last of what draws */
extern const struct page_part page_live; /* of live pages, after that: what runs their engine … */
extern const struct page_part page_module; /* … which is this, by gzip; without bytes: none */
extern const struct page_part page_end;    /* to </html> */

/* How the numbers of a tensor are written short. */
struct page_short {
    bool has_sign;
    int top; /* the largest number lies between 10^top and 10^(top + 1) */
};

struct page_short page_short_of(const float *values, size_t count);
void page_short_put(struct stream *out, const struct page_short *code, float value);

/* Base64, three bytes at a time. */
struct page_exact {
    struct stream *out;
    unsigned char held[3];
    size_t held_count;
};

void page_exact_put(struct page_exact *exact, float value);
void page_exact_bytes(struct page_exact *exact, const char *bytes, size_t size);
void page_exact_end(struct page_exact *exact);

/* Text of HTML itself. */
void page_put_text(struct stream *out, const char *text);

#endif
