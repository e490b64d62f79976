/* digest.h: a hash of numbers, to compare their bits with those of another program. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a on 32 bits at a time, as in tests/references/torch/tables.py. */
static inline uint32_t digest(const float *numbers, size_t count)
{
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = 0;
        memcpy(&word, &numbers[i], sizeof word);
        value = (value ^ word) * 16777619u;
    }
    return value;
}
