/* looks.h: how pictures and pages are to look: --palette, --range, --view, --color and their like.
 */
#ifndef ATTN_CMD_LOOKS_H
#define ATTN_CMD_LOOKS_H

#include "base/err.h"
#include "write/style.h"
#include "options.h"
#include "write/format.h"

/* Read the options; whether there is colour on standard output is found out by what it is. */
int looks_read(struct style *style, const struct options *options, struct err *err);

/* Say of each of them that was given, and of --width, where the format makes nothing of it. */
void looks_note(const struct options *options, const struct format *format);

#endif
