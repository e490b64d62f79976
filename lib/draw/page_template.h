/* page_template.h: the page of html_report.c without its data, put into a table of C by
 * page/embed.sh: its looks and its fields, which stand before the data, and its program behind. */
#ifndef ATTN_DRAW_PAGE_TEMPLATE_H
#define ATTN_DRAW_PAGE_TEMPLATE_H

#include <stddef.h>

struct page_part {
    const char *bytes;
    size_t size;
};

extern const struct page_part page_before; /* from <style> to the last field */
extern const struct page_part page_behind; /* from <script> to </html> */

#endif
