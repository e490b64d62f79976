/* growth_write.h: how attention grows, as a page with pictures of characters, as JSON, and as a
 * figure: time and memory side by side on logarithmic axes. */
#ifndef ATTN_BENCH_GROWTH_WRITE_H
#define ATTN_BENCH_GROWTH_WRITE_H

#include "base/err.h"
#include "base/stream.h"
#include "bench/growth.h"

int growth_page_write(struct stream *out, const struct growth *growth, struct err *err);
int growth_json_write(struct stream *out, const struct growth *growth, struct err *err);
int growth_svg_write(struct stream *out, const struct growth *growth, struct err *err);
int growth_png_write(struct stream *out, const struct growth *growth, struct err *err);
int growth_pdf_write(struct stream *out, const struct growth *growth, struct err *err);

#endif
