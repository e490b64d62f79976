/* page.h: a page with the steps of the tour. */
#ifndef ATTN_CMD_PAGE_H
#define ATTN_CMD_PAGE_H

#include "draw/page.h"
#include "output.h"

/* Put the text of other options, a step of the tour, into a page that is being written. */
int page_add_lesson(struct output *output, struct place *place, const struct options *options,
                    const struct page_lesson *lesson, struct err *err);

#endif
