/* A log of llama.cpp's llama-eval-callback, or an archive of np.savez. */
#include "fuzz.h"

#include <stdlib.h>

#include "format/dump.h"

void fuzz_one(const char *bytes, size_t size)
{
    struct dump dump;
    struct file file = file_borrow(bytes, size);
    if (dump_read(&dump, &file, "theirs.npz", &fuzz_err)) {
        fuzz_refused();
        return;
    }
    for (size_t i = 0; i < dump.count; i++) {
        enum { NUMBERS = 1 << 16 };
        static float numbers[NUMBERS];
        if (dump.items[i].entry.count <= NUMBERS && dump_floats(numbers, &dump.items[i], &fuzz_err))
            fuzz_refused();
    }
    dump_release(&dump);
}
