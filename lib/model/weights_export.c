/* weights_export.c: a model's parameters in float32, in whatever type its files have them: as one
 * file of safetensors, and as a hash, which tells whether two checkpoints have equal weights. */
#include "base/buf.h"
#include "base/num.h"
#include "base/progress_sink.h"
#include "base/sha256.h"
#include "base/stream.h"
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

/* --- a file ----------------------------------------------------------------------------------- */

struct listed {
    struct safetensors_tensor *tensors;
    const struct safetensors_entry **entries;
    size_t count;
};

static bool is_listed(const struct listed *listed, const struct safetensors_entry *entry)
{
    for (size_t i = 0; i < listed->count; i++)
        if (listed->entries[i] == entry)
            return true; /* queries, keys and values may lie in one */
    return false;
}

static int list(struct listed *listed, const struct weights *weights, struct arena *arena,
                struct err *err)
{
    size_t count = weights_parameter_count(weights);
    listed->tensors = arena_alloc(arena, count, sizeof *listed->tensors, err);
    listed->entries = arena_alloc(arena, count, sizeof *listed->entries, err);
    for (size_t i = 0; listed->entries && i < count; i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (!info.entry || is_listed(listed, info.entry))
            continue;
        const char *name = arena_text(arena, info.name, strlen(info.name), err);
        if (!name || !listed->tensors)
            return -1;
        listed->entries[listed->count] = info.entry;
        listed->tensors[listed->count++] =
            (struct safetensors_tensor){name, info.entry->rank, info.entry->shape, NULL};
    }
    return listed->tensors && listed->entries ? 0 : -1;
}

int weights_export(struct stream *out, const struct weights *weights,
                   const struct progress_sink *progress, struct err *err)
{
    static const struct safetensors_note notes[] = {{"format", "pt"}};
    struct arena arena = {0};
    struct buf header = {0};
    struct listed listed = {0};
    float numbers[NUMBERS_AT_ONCE];
    int failed = list(&listed, weights, &arena, err) ||
                 safetensors_header(&header, listed.tensors, listed.count, notes, 1, err);
    stream_binary(out);
    if (!failed)
        stream_bytes(out, header.bytes, header.size);
    for (size_t i = 0; i < listed.count && !failed; i++) {
        const struct safetensors_entry *entry = listed.entries[i];
        progress_tell(progress, i, listed.count);
        for (size_t first = 0; first < entry->count && !out->failure; first += NUMBERS_AT_ONCE)
            stream_bytes(out, numbers, read_numbers(numbers, entry, first) * sizeof *numbers);
    }
    buf_release(&header);
    arena_release(&arena);
    return failed ? -1 : 0;
}
