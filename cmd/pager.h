/* pager.h: pages that are longer than the terminal are shown by a pager, as git does it:
 * $ATTN_PAGER, else $PAGER, else less.
 *
 *     pager_begin();
 *     int failed = ... what is written to standard output ...;
 *     return pager_end(failed, err);
 *
 * In between standard output is a page in memory, if it was a terminal. Elsewhere, where TERM is
 * dumb, and where the pager is blank or cat, nothing changes; a pager that is not there, or no
 * memory, leaves the page as it would have been without.
 */
#ifndef ATTN_CMD_PAGER_H
#define ATTN_CMD_PAGER_H

#include "base/err.h"

void pager_begin(void);

/* Standard output is the terminal again, and what was written to it is shown. Returns `failed`, or
 * -1 with `err` where that is 0 and the page cannot be written. */
int pager_end(int failed, struct err *err);

/* Where a page that is being written will stand: standard output, or the terminal that it was. */
int pager_terminal(void);

#endif
