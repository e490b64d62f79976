/* weights_hash.c: hashes of a model's parameters as float32, whatever type its files store. */
#include <string.h>

#include "base/num.h"
#include "base/sha256.h"
#include "model/weights.h"

enum {
    NUMBERS_AT_ONCE = 4096,
    SAMPLE_NUMBERS = 1024, /* whole blocks of every quantised type */
};

/* Add `count` numbers from `first` on, which begin a block of the type. */
static void add_numbers(struct sha256 *hash, const struct safetensors_entry *entry, size_t first,
                        size_t count)
{
    float numbers[NUMBERS_AT_ONCE];
    const char *from = (const char *)entry->data + dtype_bytes(entry->dtype, first);
    dtype_to_float(numbers, from, entry->dtype, count);
    sha256_add(hash, numbers, count * sizeof *numbers);
}

static void add_all(struct sha256 *hash, const struct safetensors_entry *entry)
{
    for (size_t first = 0; first < entry->count; first += NUMBERS_AT_ONCE)
        add_numbers(hash, entry, first, num_min(entry->count - first, NUMBERS_AT_ONCE));
}

/* A block in the middle: to look at more pages of a file takes longer than to hash them. */
static void add_sample(struct sha256 *hash, const struct safetensors_entry *entry)
{
    size_t blocks = (entry->count + SAMPLE_NUMBERS - 1) / SAMPLE_NUMBERS;
    size_t first = blocks / 2 * SAMPLE_NUMBERS;
    add_numbers(hash, entry, first, num_min(entry->count - first, SAMPLE_NUMBERS));
}

static void hash_tensors(const struct weights *weights,
                         void (*add)(struct sha256 *, const struct safetensors_entry *),
                         char digits[SHA256_DIGITS + 1])
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
        add(&hash, info.entry);
    }
    sha256_end(&hash, digits);
}

void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1])
{
    hash_tensors(weights, add_all, digits);
}

void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1])
{
    char whole[SHA256_DIGITS + 1];
    hash_tensors(weights, add_sample, whole);
    memcpy(digits, whole, WEIGHTS_SAMPLE_DIGITS);
    digits[WEIGHTS_SAMPLE_DIGITS] = '\0';
}
