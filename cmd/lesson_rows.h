/* lesson_rows.h: the steps of `attn-cli lesson`, a row each. */
#ifndef ATTN_CMD_LESSON_ROWS_H
#define ATTN_CMD_LESSON_ROWS_H

#include "draw/page_facts.h"

/* Numbers with decimals in the texts are those of the command's output: a test compares. */
extern const struct page_lesson lesson_rows[];
extern const size_t lesson_count;

/* The last step of a page: the way of a text through any model. */
extern const struct page_lesson lesson_walk;

#endif
