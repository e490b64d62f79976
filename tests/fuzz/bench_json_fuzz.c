/* What `bench --format json` has written; held against itself, nothing is beyond noise. */
#include "fuzz.h"

#include "bench/bench_compare.h"

static struct arena arena; /* its memory stays for the next input */

void fuzz_one(const char *bytes, size_t size)
{
    struct bench_report report;
    struct bench_compared compared;
    arena_clear(&arena);
    if (bench_json_parse(&report, bytes, size, &arena, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    fuzz_check(report.rounds > 0 && report.together.threads > 0, "there are rounds and threads");
    fuzz_check(!bench_compare(&compared, "file", &report, &report, &arena, &fuzz_err),
               "it can be compared");
    fuzz_check(compared.change_count == report.result_count, "each row is found");
    fuzz_check(!compared.difference_count, "nothing is different");
    for (size_t i = 0; i < compared.change_count; i++)
        fuzz_check(!compared.changes[i].beyond_noise, "nothing has changed");
}
