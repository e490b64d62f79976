/* comparison_format.h: a comparison on its way out: one row a format.
 *
 *     const struct comparison_format *format = &comparison_formats[0];
 *     if (format->write(&out, &comparison, err)) ...
 */
#ifndef ATTN_MEASURE_COMPARISON_FORMAT_H
#define ATTN_MEASURE_COMPARISON_FORMAT_H

#include <stddef.h>

#include "base/err.h"
#include "base/stream.h"
#include "measure/comparison.h"

struct comparison_format {
    const char *name;
    const char *ending; /* of files: ".csv" */
    const char *about;  /* a line for help */
    int (*write)(struct stream *out, const struct comparison *comparison, struct err *err);
};

/* The first is what people read. */
extern const struct comparison_format comparison_formats[];
extern const size_t comparison_format_count;

int comparison_page_write(struct stream *out, const struct comparison *comparison, struct err *err);
int comparison_csv_write(struct stream *out, const struct comparison *comparison, struct err *err);
int comparison_json_write(struct stream *out, const struct comparison *comparison, struct err *err);

#endif
