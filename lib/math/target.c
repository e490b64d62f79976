#include "math/target.h"

#include <stdlib.h>
#include <strings.h>

/* libxsmm's own names for LIBXSMM_TARGET. */
static const struct target_row {
    const char *name;
    enum target target;
} target_rows[] = {
    {"generic", TARGET_C},  {"none", TARGET_C},   {"0", TARGET_C},       {"sse", TARGET_OLD},
    {"sse3", TARGET_OLD},   {"wsm", TARGET_OLD},  {"sse4", TARGET_OLD},  {"snb", TARGET_OLD},
    {"avx", TARGET_OLD},    {"hsw", TARGET_AVX2}, {"avx2", TARGET_AVX2}, {"skx", TARGET_AVX512},
    {"clx", TARGET_AVX512}, {"cpx", TARGET_BF16}, {"spr", TARGET_TILES},
};

#if defined(__x86_64__) && defined(__GNUC__)
bool target_fuses(void)
{
    return __builtin_cpu_supports("fma");
}

static bool has_all_of_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

static bool has_tiles(void)
{
#ifdef __clang__
    return false; /* its version 14 cannot ask */
#else
    return __builtin_cpu_supports("amx-bf16");
#endif
}

/* libxsmm_cpuid tells the same, but asks the processor anew, and under a hypervisor each question
 * is a trap. */
static enum target most(void)
{
    if (!__builtin_cpu_supports("avx2") || !target_fuses())
        return TARGET_OLD;
    if (!has_all_of_avx512())
        return TARGET_AVX2;
    bool pairs = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
    if (pairs && has_tiles())
        return TARGET_TILES;
    return pairs ? TARGET_BF16 : TARGET_AVX512;
}

static struct habits seen(void)
{
    if (__builtin_cpu_is("amd"))
        return (struct habits){.reads_in_order = true};
    return (struct habits){.slow_dots = true, .stalls_on_bursts = true}; /* Intel's */
}
#else
bool target_fuses(void)
{
    return true; /* or the C library knows better */
}

static enum target most(void)
{
#ifdef __ARM_NEON
    return TARGET_NEON;
#else
    return TARGET_C;
#endif
}

static struct habits seen(void)
{
    return (struct habits){.slow_dots = true};
}
#endif

static const struct habits *pretended; /* NULL: nothing is */

struct habits target_habits(void)
{
    return pretended ? *pretended : seen();
}

void target_pretend(const struct habits *habits)
{
    pretended = habits;
}

enum target target_choose(void)
{
    enum target target = most();
    const char *wish = getenv("LIBXSMM_TARGET");
    for (size_t i = 0; wish && i < sizeof target_rows / sizeof *target_rows; i++)
        if (strcasecmp(wish, target_rows[i].name) == 0 && target_rows[i].target <= target)
            return target_rows[i].target;
    return target == TARGET_BF16 && target_habits().slow_dots ? TARGET_AVX512 : target;
}
