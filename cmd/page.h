/* page.h: the page that people read: how wide and how long it is. */
#ifndef ATTN_CMD_PAGE_H
#define ATTN_CMD_PAGE_H

#include <stddef.h>

#include "options.h"

/* Columns: --width, else the terminal's, else 80; 0 with --full: endless. */
size_t page_columns(const struct options *options);

/* Rows of a matrix that are shown before its middle is left out; 0 with --full: all. */
size_t page_lines(const struct options *options);

#endif
