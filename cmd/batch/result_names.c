/* result_names.c: what the files and folders of a batch are called in the folder of its results. */
#include "store_plan.h"

#include <ctype.h>
#include <string.h>

#include "base/names.h"
#include "base/sha256.h"

enum {
    NAME_BYTES = 180, /* of a folder's name: file systems have room for 255 */
    HASH_DIGITS = 16, /* of a longer one */
};

/* --- of results ------------------------------------------------------------------------------- */

const char result_name_lines[] = "results.jsonl";

bool result_names_have(const char *name)
{
    return strcmp(name, result_name_lines) == 0;
}

/* --- of items --------------------------------------------------------------------------------- */

static bool is_reserved(const char *name, size_t size)
{
    static const char *const names[] = {"journal", "manifest.json", "results.jsonl"};
    size_t index = 0;
    return names_find(&index, NAMES_LIST(names), name, size);
}

static bool is_plain(char c)
{
    return (unsigned char)c < 0x80 && (isalnum((unsigned char)c) || strchr("-_,=+", c));
}

void result_names_folder(struct buf *out, const char *job)
{
    size_t begin = out->size;
    bool reserved = is_reserved(job, strlen(job));
    for (const char *at = job; *at; at++) {
        bool first = at == job; /* no hidden folder, not "..", and none of our own */
        if (first ? is_plain(*at) && !reserved : is_plain(*at) || *at == '.')
            buf_char(out, *at);
        else
            buf_format(out, "%%%02X", (unsigned char)*at);
    }
    if (out->out_of_memory || out->size - begin <= NAME_BYTES)
        return;
    struct sha256 hash;
    char digits[SHA256_DIGITS + 1];
    sha256_begin(&hash);
    sha256_add(&hash, job, strlen(job));
    sha256_end(&hash, digits);
    out->size = begin + NAME_BYTES - HASH_DIGITS;
    buf_bytes(out, digits, HASH_DIGITS);
}

/* As result_names_folder makes them. */
static bool is_item(const char *name, size_t size)
{
    if (!size || *name == '.' || is_reserved(name, size))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_plain(name[i]) && name[i] != '.' && name[i] != '%')
            return false;
    return true;
}

bool result_names_list(const char *file)
{
    const char *slash = strchr(file, '/');
    if (!removal_is_below(file) || !slash)
        return result_names_have(file);
    return is_item(file, (size_t)(slash - file)) && slash[1] != '.' && !strchr(slash + 1, '/');
}
