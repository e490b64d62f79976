/* sha256.h: SHA-256 (FIPS 180-4), with the SHA instructions of x86-64 if the processor has them.
 *
 *     sha256_begin(&hash);
 *     sha256_add(&hash, "abc", 3);
 *     sha256_end(&hash, digits);        (ba7816bf…)
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum { SHA256_DIGITS = 64, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t size_bytes;                     /* size of all additions */
    unsigned char block[SHA256_BLOCK_BYTES]; /* an incomplete block */
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t size);

/* Write the hexadecimal digits and a closing 0. */
void sha256_end(struct sha256 *hash, char digits[SHA256_DIGITS + 1]);

/* For tests: do not use the SHA instructions, or use them again. */
void sha256_plain(bool plain);
