/* A line with a text and what is hidden in it. */
#include "fuzz.h"

#include <string.h>

#include "measure/needle.h"

static struct arena arena; /* its memory stays for the next input */

void fuzz_one(const char *bytes, size_t size)
{
    struct needle needle;
    arena_clear(&arena);
    if (needle_read(&needle, bytes, size, &arena, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    fuzz_check(strlen(needle.text) == needle.size, "a text ends where it says");
    fuzz_check(needle.first < needle.end && needle.end <= needle.size, "a needle is in the text");
}
