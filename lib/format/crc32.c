/* crc32.c: the checksum of zip archives: table look-ups for eight bytes at a time, or carry-less
 * products where the processor has them, which are about as fast as memory. */
#include "base/num.h"
#include "format/pytorch.h"

enum { SLICES = 8, BYTE_VALUES = 256 };

/* sums[n]: the CRC of each byte with n zeros after it. */
static void fill_sums(uint32_t sums[SLICES][BYTE_VALUES])
{
    for (uint32_t byte = 0; byte < BYTE_VALUES; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
        sums[0][byte] = sum;
    }
    for (int n = 1; n < SLICES; n++)
        for (uint32_t byte = 0; byte < BYTE_VALUES; byte++)
            sums[n][byte] = sums[n - 1][byte] >> 8 ^ sums[0][sums[n - 1][byte] & 0xff];
}

static uint32_t add_bytes(uint32_t crc, const char *bytes, size_t size)
{
    uint32_t sums[SLICES][BYTE_VALUES];
    fill_sums(sums);
    for (; size >= SLICES; size -= SLICES, bytes += SLICES) {
        uint32_t low = crc ^ (uint32_t)num_of_bytes(bytes, 4);
        uint32_t high = (uint32_t)num_of_bytes(bytes + 4, 4);
        crc = sums[7][low & 0xff] ^ sums[6][low >> 8 & 0xff] ^ sums[5][low >> 16 & 0xff] ^
              sums[4][low >> 24] ^ sums[3][high & 0xff] ^ sums[2][high >> 8 & 0xff] ^
              sums[1][high >> 16 & 0xff] ^ sums[0][high >> 24];
    }
    for (; size; size--, bytes++)
        crc = crc >> 8 ^ sums[0][(crc ^ (unsigned char)*bytes) & 0xff];
    return crc;
}

#ifdef __x86_64__

#include <immintrin.h>

#define IN_CLMUL __attribute__((target("pclmul,sse4.1")))

/* What comes before `next`, moved by the distance of the factors, and `next`. */
IN_CLMUL static __m128i fold(__m128i before, __m128i factors, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(before, factors, 0x00);
    __m128i high = _mm_clmulepi64_si128(before, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Fold all whole blocks of 64 bytes into 16, whose CRC is theirs. Gueron and others, "Fast CRC
 * computation for generic polynomials using PCLMULQDQ", 2009, has the factors. */
IN_CLMUL static uint32_t add_blocks(uint32_t crc, const char *bytes, size_t blocks)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
    const __m128i *from = (const void *)bytes;
    __m128i lanes[4];
    char folded[16];
    for (int i = 0; i < 4; i++)
        lanes[i] = _mm_loadu_si128(from + i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)crc));
    while (--blocks) {
        from += 4;
        for (int i = 0; i < 4; i++)
            lanes[i] = fold(lanes[i], by_64, _mm_loadu_si128(from + i));
    }
    for (int i = 1; i < 4; i++)
        lanes[0] = fold(lanes[0], by_16, lanes[i]);
    _mm_storeu_si128((__m128i *)(void *)folded, lanes[0]);
    return add_bytes(0, folded, sizeof folded);
}

#endif

uint32_t zip_crc32(const char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    size_t done = 0;
#ifdef __x86_64__
    if (size >= 64 && __builtin_cpu_supports("pclmul")) {
        crc = add_blocks(crc, bytes, size / 64);
        done = size / 64 * 64;
    }
#endif
    return ~add_bytes(crc, bytes + done, size - done);
}
