#include "math/nontemporal.h"

#include <stdint.h>
#include <string.h>

enum {
    WORTH_FLOATS = 256, /* shorter pieces leave most of their lines unfinished */
    LINE = 16,          /* floats of a cache line */
};

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

static inline void stream_line(float *to, const float *from)
{
    const __m128 line[] = {_mm_loadu_ps(from), _mm_loadu_ps(from + 4), _mm_loadu_ps(from + 8),
                           _mm_loadu_ps(from + 12)};
    for (size_t i = 0; i < LINE / 4; i++)
        _mm_stream_ps(to + 4 * i, line[i]);
}

void nontemporal_fence(void)
{
    _mm_sfence();
}
#else
static inline void stream_line(float *to, const float *from)
{
    memcpy(to, from, LINE * sizeof *to);
}

void nontemporal_fence(void)
{
}
#endif

/* Floats before the next line. */
static size_t to_line(const float *x)
{
    return -((uintptr_t)x / sizeof *x) % LINE;
}

void nontemporal_copy(float *to, const float *from, size_t count)
{
    size_t done = count < WORTH_FLOATS ? count : to_line(to);
    memcpy(to, from, done * sizeof *to);
    if (done == count)
        return;
    for (; done + LINE <= count; done += LINE)
        stream_line(to + done, from + done);
    memcpy(to + done, from + done, (count - done) * sizeof *to);
}

void nontemporal_fill(float *to, size_t count, float value)
{
    size_t done = count < WORTH_FLOATS ? count : to_line(to);
    float line[LINE];
    for (size_t i = 0; i < done; i++)
        to[i] = value;
    if (done == count)
        return;
    for (size_t i = 0; i < LINE; i++)
        line[i] = value;
    for (; done + LINE <= count; done += LINE)
        stream_line(to + done, line);
    memcpy(to + done, line, (count - done) * sizeof *to);
}
