#include "math/nontemporal.h"

#include <stdint.h>
#include <string.h>

enum { WORTH_FLOATS = 256 }; /* shorter pieces leave most of their lines unfinished */

static void fill(float *to, size_t count, float value)
{
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { LINE = 16 }; /* floats of a cache line */

/* Floats before the next line. */
static size_t to_line(const float *x)
{
    return -((uintptr_t)x / sizeof *x) % LINE;
}

static void stream_line(float *to, const __m128 line[LINE / 4])
{
    for (size_t i = 0; i < LINE / 4; i++)
        _mm_stream_ps(to + 4 * i, line[i]);
}

void nontemporal_copy(float *to, const float *from, size_t count)
{
    size_t first = to_line(to);
    if (count < WORTH_FLOATS) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    size_t lines = (count - first) / LINE;
    memcpy(to, from, first * sizeof *to);
    for (size_t i = first; i < first + lines * LINE; i += LINE) {
        const __m128 line[] = {_mm_loadu_ps(from + i), _mm_loadu_ps(from + i + 4),
                               _mm_loadu_ps(from + i + 8), _mm_loadu_ps(from + i + 12)};
        stream_line(to + i, line);
    }
    size_t done = first + lines * LINE;
    memcpy(to + done, from + done, (count - done) * sizeof *to);
}

void nontemporal_fill(float *to, size_t count, float value)
{
    size_t first = to_line(to);
    if (count < WORTH_FLOATS) {
        fill(to, count, value);
        return;
    }
    size_t lines = (count - first) / LINE;
    const __m128 four = _mm_set1_ps(value);
    const __m128 line[] = {four, four, four, four};
    fill(to, first, value);
    for (size_t i = 0; i < lines; i++)
        stream_line(to + first + i * LINE, line);
    fill(to + first + lines * LINE, count - first - lines * LINE, value);
}

void nontemporal_fence(void)
{
    _mm_sfence();
}
#else
void nontemporal_copy(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
}

void nontemporal_fill(float *to, size_t count, float value)
{
    fill(to, count, value);
}

void nontemporal_fence(void)
{
}
#endif
