/* weights_hash.c: a hash of a model's parameters as float32, whatever type its files store. Equal
 * hashes mean equal weights. */
#include "base/num.h"
#include "base/sha256.h"
#include "model/weights.h"

enum { NUMBERS_AT_ONCE = 4096 };

/* Numbers from `first` on; returns how many. */
static size_t read_numbers(float numbers[NUMBERS_AT_ONCE], const struct safetensors_entry *entry,
                           size_t first)
{
    size_t count = num_min(entry->count - first, NUMBERS_AT_ONCE);
    const char *from = (const char *)entry->data + dtype_bytes(entry->dtype, first);
    dtype_to_float(numbers, from, entry->dtype, count);
    return count;
}

void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1])
{
    struct sha256 hash;
    float numbers[NUMBERS_AT_ONCE];
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
        for (size_t first = 0; first < info.entry->count; first += NUMBERS_AT_ONCE)
            sha256_add(&hash, numbers, read_numbers(numbers, info.entry, first) * sizeof *numbers);
    }
    sha256_end(&hash, digits);
}
