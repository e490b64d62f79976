/* A file of numpy with an array. */
#include "fuzz.h"

#include "format/npy.h"

static struct arena arena; /* reused by the next input */

void fuzz_one(const char *bytes, size_t size)
{
    struct npy array;
    struct file file = file_borrow(bytes, size);
    arena_clear(&arena);
    if (npy_read_bytes(&array, &file, &arena, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    size_t count = 1;
    for (size_t i = 0; i < array.rank; i++)
        count *= array.shape[i];
    fuzz_check(count * sizeof *array.data <= size, "numbers are in the file");
    for (size_t i = 0; i < count; i++)
        fuzz_check(array.data[i] - array.data[i] == 0, "numbers are finite");
}
