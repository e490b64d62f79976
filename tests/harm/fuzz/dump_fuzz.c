/* A log of llama.cpp's llama-eval-callback, or an archive of np.savez, or an array of one. */
#include "fuzz.h"

#include <string.h>

#include "../../unit/rigs/zip_made.h"
#include "format/dump.h"

static void read(const char *bytes, size_t size)
{
    struct dump dump;
    struct file file = file_borrow(bytes, size);
    size_t total = 0;
    if (dump_read(&dump, &file, "theirs.npz", &fuzz_err)) {
        fuzz_refused();
        return;
    }
    for (size_t i = 0; i < dump.count; i++) {
        enum { NUMBERS = 1 << 16 };
        static float numbers[NUMBERS];
        const struct safetensors_entry *entry = &dump.items[i].entry;
        total += dump.is_log ? 0 : entry->count * dtype_size_bytes(entry->dtype);
        if (entry->count <= NUMBERS && dump_floats(numbers, &dump.items[i], &fuzz_err))
            fuzz_refused();
    }
    fuzz_check(total <= size, "numbers are in the file");
    dump_release(&dump);
}

void fuzz_one(const char *bytes, size_t size)
{
    struct zip_made made = {0};
    read(bytes, size);
    if (size < 4 || memcmp(bytes, "\x93NUM", 4) != 0)
        return;
    zip_made_add(&made, "h.0.q.npy", 9, bytes, size);
    zip_made_end(&made);
    read(made.file.bytes, made.file.size);
    zip_made_release(&made);
}
