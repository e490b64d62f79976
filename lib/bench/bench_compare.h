/* bench_compare.h: a benchmark beside an earlier one of the same tasks.
 *
 * A difference is beyond noise where all of this holds: the medians are 2 % apart; the rounds of
 * one run are so much above those of the other that chance would bring it about once in eighty
 * times (Mann and Whitney's test of ranks, which no single slow round upsets); and both hold again
 * when the later times are what they would be at the speed that the machine had in the earlier run,
 * by the limit that binds the task. The last is left out where the machines are not the same.
 *
 *     if (bench_json_read(&then, "old.json", &arena, err) || ... ||
 *         bench_compare(&compared, "old.json", &then, &now, &arena, err))
 *         return -1;
 *     now.compared = &compared; // what writes it has it at its end
 */
#ifndef ATTN_BENCH_BENCH_COMPARE_H
#define ATTN_BENCH_BENCH_COMPARE_H

#include "bench/benchmark.h"

struct json_writer;

/* A task, as it was measured in both, or in one of them. */
struct bench_change {
    const struct bench_result *then, *now; /* NULL: not measured in that run */
    double ratio;                          /* of the medians, now to then; else 0 */
    bool beyond_noise;
};

/* What is not the same of the machine, the program or the model. */
struct bench_difference {
    const char *name, *then, *now;
};

enum { BENCH_DIFFERENCES_MAX = 7 };

struct bench_compared {
    const char *path; /* of the earlier one; borrowed, as both are */
    const struct bench_report *then, *now;
    struct bench_change
        *changes; /* in the order of the later one; then what only the earlier has */
    size_t change_count;
    struct bench_difference differences[BENCH_DIFFERENCES_MAX];
    size_t difference_count;
    bool same_machine;
    double compute, read; /* its limits, all threads, now to then; 0 where one is not known */
    bool can_tell;        /* there are rounds enough for anything to be beyond noise */
};

int bench_compare(struct bench_compared *compared, const char *path,
                  const struct bench_report *then, const struct bench_report *now,
                  struct arena *arena, struct err *err);

/* The largest rate of multiply-adds among several kinds of vectors. */
double bench_compute(const struct bench_limits *limits);

/* As a table below a page; as a member of an object. */
int bench_compared_page(struct stream *out, const struct bench_compared *compared, struct err *err);
void bench_compared_json(struct json_writer *json, const struct bench_compared *compared);

#endif
