/* page.h: the page that people read: how wide and long it is, its colours, and its pager.
 *
 *     pager_begin();
 *     int failed = ... what is written to standard output ...;
 *     return pager_end(failed, err);
 *
 * In between standard output is a page in memory, if it was a terminal; what is longer than that is
 * shown by $ATTN_PAGER, else $PAGER, else less, as git does it. Elsewhere, where TERM is dumb, and
 * where the pager is blank, cat or not there, the page is as it would be without.
 */
#ifndef ATTN_CMD_PAGE_H
#define ATTN_CMD_PAGE_H

#include <stddef.h>

#include "options.h"
#include "write/format.h"

/* Columns: --width, else the terminal's, else 80; 0 with --full: endless. */
size_t page_columns(const struct looks_options *options);

/* Rows of a matrix that are shown before its middle is left out; 0 with --full: all. */
size_t page_lines(const struct looks_options *options);

/* A page of one report, so wide and long. */
struct place page_place(const struct looks_options *options, const struct style *style);

/* Read --palette, --range, --view and the like; --color auto depends on standard output. */
int looks_read(struct style *style, const struct options *options, struct err *err);

/* Say of each of them that was given, and of --width, where the format makes nothing of it. */
void looks_note(const struct looks_options *options, const struct format *format);

void pager_begin(void);

/* Show what was written. Returns `failed`, or -1 with `err` where the page cannot be written. */
int pager_end(int failed, struct err *err);

/* Where a page that is being written will stand: standard output, or the terminal that it was. */
int pager_terminal(void);

#endif
