/* page_tensor.h: a tensor of a report as JSON for the page of html_report.c, which data.js reads:
 * its place, its axes by the names of their labels, and its numbers as one text. */
#ifndef ATTN_DRAW_PAGE_TENSOR_H
#define ATTN_DRAW_PAGE_TENSOR_H

#include "format/json_writer.h"
#include "lens/report.h"

/* The labels of a text's tokens, or of its words where those stand on the axes. */
const struct label *page_labels_of(const struct tokenized *tokenized, size_t *count);

/* How many numbers of all tensors are seen. */
size_t page_count_numbers(const struct report *report);

/* `exact`: base64 of float32; else three digits a number. */
void page_tensor_put(struct json_writer *json, const struct report *report, const struct kept *kept,
                     bool exact);

#endif
