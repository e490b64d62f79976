/* bench_json.h: a benchmark as one JSON object, for scripts: seconds, operations and bytes, whole.
 */
#ifndef ATTN_BENCH_BENCH_JSON_H
#define ATTN_BENCH_BENCH_JSON_H

#include "base/stream.h"
#include "bench/benchmark.h"

void bench_json_write(struct stream *out, const struct bench_report *report);

#endif
