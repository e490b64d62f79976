/* Lines of a rank file, after those of all bytes. One input in eight has Qwen's name, with hundreds
 * of special tokens; the others that with the fewest. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 9, ROOM = 1 << 16, QWEN_EVERY = 8 };

/* Write the lines of all bytes; returns their size. */
static size_t write_bytes(char *lines)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    for (unsigned i = 0; i < 256; i++)
        used += (size_t)snprintf(lines + used, LINE_BYTES + 1, "%c%c== %u\n", digits[i >> 2],
                                 digits[(i & 3) << 4], i);
    return used;
}

void fuzz_one(const char *bytes, size_t size)
{
    static char lines[256 * LINE_BYTES + ROOM];
    static size_t used;
    if (size > ROOM)
        return;
    used = used ? used : write_bytes(lines);
    memcpy(lines + used, bytes, size);
    const char *name = size % QWEN_EVERY ? "r50k_base.tiktoken" : "qwen.tiktoken";
    struct folder_file file = {name, lines, used + size};
    struct folder folder = {"folder", &file, 1};
    fuzz_tokenizer(&folder);
}
