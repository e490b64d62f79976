/* weights_hash.c: what tells whether two checkpoints have equal weights: a hash of the numbers, not
 * of the bytes in which a file keeps them. */
#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "base/sha256.h"
#include "model/weights.h"

enum { NUMBERS_AT_ONCE = 4096 };

static void add_numbers(struct sha256 *hash, const struct safetensors_entry *entry)
{
    float numbers[NUMBERS_AT_ONCE];
    for (size_t first = 0; first < entry->count; first += NUMBERS_AT_ONCE) {
        size_t count = num_min(entry->count - first, NUMBERS_AT_ONCE);
        const char *from = (const char *)entry->data + dtype_bytes(entry->dtype, first);
        dtype_to_float(numbers, from, entry->dtype, count);
        sha256_add(hash, numbers, count * sizeof *numbers);
    }
}

void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1])
{
    struct sha256 hash;
    sha256_begin(&hash);
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (!info.entry)
            continue;
        sha256_add(&hash, info.name, strlen(info.name) + 1);
        for (size_t axis = 0; axis < info.entry->rank; axis++) {
            uint64_t length = info.entry->shape[axis];
            sha256_add(&hash, &length, sizeof length);
        }
        add_numbers(&hash, info.entry);
    }
    sha256_end(&hash, digits);
}
