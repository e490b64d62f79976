/* text_titles.h: what a page is about: its first lines.
 *
 *     life · sentence 1 · Life is short
 *     source · the text that is attended to, where it is another one
 *     corrupt · the other text of a patch
 */
#ifndef ATTN_WRITE_TEXT_TITLES_H
#define ATTN_WRITE_TEXT_TITLES_H

#include "write/format.h"

/* Shortened to the width of the page; numbered where the place has several sentences. */
int text_titles_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err);

#endif
