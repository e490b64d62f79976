#include "format/sniff_format.h"

#include <string.h>

static const struct {
    const char *magic;
    int (*refuse)(struct err *err, const char *format, ...) ERR_PRINTF;
    const char *what;
} others[] = {
    {"version https://git-lfs", err_set, "a Git LFS pointer ('git lfs pull' fetches the file)"},
    {"<", err_set, "an HTML page"},
    {"GGUF", err_unsupported, "a GGUF file"},
    {"PK\003\004", err_unsupported, "a zip archive, as PyTorch writes it"},
    {"\x80\x02", err_unsupported, "a Python pickle"},
    {"\x80\x03", err_unsupported, "a Python pickle"},
    {"\x80\x04", err_unsupported, "a Python pickle"},
    {"\x80\x05", err_unsupported, "a Python pickle"},
};

int sniff_format_refuse(const char *bytes, size_t size, const char *expected, struct err *err)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].magic);
        if (size >= length && memcmp(bytes, others[i].magic, length) == 0)
            return others[i].refuse(err, "expected %s, found %s", expected, others[i].what);
    }
    return 0;
}
