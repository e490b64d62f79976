/* Lines of a rank file, after those of all bytes. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

void fuzz_one(const char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { LINE_BYTES = 9, ROOM = 1 << 16 };
    static char lines[256 * LINE_BYTES + ROOM];
    size_t used = 0;
    if (size > ROOM)
        return;
    for (unsigned i = 0; i < 256; i++)
        used += (size_t)snprintf(lines + used, LINE_BYTES + 1, "%c%c== %u\n", digits[i >> 2],
                                 digits[(i & 3) << 4], i);
    memcpy(lines + used, bytes, size);
    struct folder_file file = {"qwen.tiktoken", lines, used + size};
    struct folder folder = {"folder", &file, 1};
    fuzz_tokenizer(&folder);
}
