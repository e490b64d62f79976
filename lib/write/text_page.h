/* text_page.h: reports as people read them, and the parts that other pages share with them.
 *
 *     life · sentence 1 · Life is short                 the first lines
 *     source · the text that is attended to, where it is another one
 *     corrupt · the other text of a patch
 */
#ifndef ATTN_WRITE_TEXT_PAGE_H
#define ATTN_WRITE_TEXT_PAGE_H

#include "write/format.h"

/* The first lines, shortened to the width of the page; numbered where there are several sentences.
 */
int text_titles_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err);

/* A table of a report. */
int frame_text_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err);

#endif
