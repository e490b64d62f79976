/* bench_page.h: a benchmark as a page for people, 80 columns wide. */
#ifndef ATTN_BENCH_BENCH_PAGE_H
#define ATTN_BENCH_BENCH_PAGE_H

#include "base/stream.h"
#include "bench/benchmark.h"

void bench_page_write(struct stream *out, const struct bench_report *report);

#endif
