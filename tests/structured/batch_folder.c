#include "batch_folder.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "json_change.h"
#include "lines_change.h"

static void change_line(struct buf *out, const char *bytes, size_t size, size_t index,
                        struct made *made)
{
    const char *line;
    size_t line_size;
    for (size_t i = 0; lines_find(&line, &line_size, bytes, size, i); i++) {
        if (i != index || !json_change_line(out, line, line_size, made))
            buf_bytes(out, line, line_size);
        if (line + line_size < bytes + size)
            buf_char(out, '\n');
    }
}

/* In a line's JSON as a rule, else among its lines and words. The last lines are those of items;
 * what is wrong with the first ones is soon noticed. */
static void change(struct buf *out, const struct folder_file *file, struct made *made)
{
    size_t lines = lines_count(file->bytes, file->size);
    size_t first = made_one_in(made, 4) ? 0 : lines / 2;
    if (lines && !made_one_in(made, 4))
        change_line(out, file->bytes, file->size, first + made_below(made, lines - first), made);
    else
        lines_change(out, file->bytes, file->size, made);
}

void batch_folder_change(struct made *made, const char *name)
{
    struct buf text = {0};
    struct folder_file *file = made_find(made, name);
    if (!file)
        return;
    change(&text, file, made);
    made_take(made, file, &text);
}

/* The same draws make the same change of the same text. */
void batch_folder_change_all(struct made *made, const char *const *names, size_t count)
{
    struct folder_file *first = made_find(made, names[0]);
    size_t lines = first ? lines_count(first->bytes, first->size) : 0;
    size_t line = lines ? made_below(made, lines < 5 ? lines : 5) : 0;
    uint32_t dice = made->dice;
    for (size_t i = 0; i < count; i++) {
        struct buf text = {0};
        struct folder_file *file = made_find(made, names[i]);
        made->dice = dice;
        if (!file)
            continue;
        change_line(&text, file->bytes, file->size, line, made);
        made_take(made, file, &text);
    }
}

/* --- hashes ----------------------------------------------------------------------------------- */

static void hash(const struct folder_file *file, char digits[SHA256_DIGITS + 1])
{
    struct sha256 state;
    sha256_begin(&state);
    sha256_add(&state, file->bytes, file->size);
    sha256_end(&state, digits);
}

static const char *find(const char *begin, const char *end, const char *word)
{
    size_t size = strlen(word);
    for (; (size_t)(end - begin) >= size; begin++)
        if (memcmp(begin, word, size) == 0)
            return begin;
    return NULL;
}

/* `"bytes": 12, ` stands before the hash, as the batch writes it. */
static const char *before_bytes(const char *begin, const char *hash_at)
{
    static const char word[] = "\"bytes\": ";
    for (const char *at = hash_at; at > begin && hash_at - at < 64; at--)
        if ((size_t)(hash_at - at) >= sizeof word && memcmp(at, word, sizeof word - 1) == 0)
            return at + sizeof word - 1;
    return NULL;
}

/* Put a new size and a new hash wherever a file has the old hash. */
static void follow(struct made *made, struct folder_file *file, const char *old, const char *new,
                   size_t size)
{
    struct buf text = {0};
    const char *at = file->bytes;
    const char *end = file->bytes + file->size;
    for (const char *found; (found = find(at, end, old)); at = found + SHA256_DIGITS) {
        const char *bytes = before_bytes(at, found);
        const char *rest = bytes ? bytes : found;
        buf_bytes(&text, at, (size_t)(rest - at));
        if (bytes)
            buf_format(&text, "%zu", size);
        while (bytes && isdigit((unsigned char)*rest))
            rest++;
        buf_bytes(&text, rest, (size_t)(found - rest));
        buf_text(&text, new);
    }
    buf_bytes(&text, at, (size_t)(end - at));
    made_take(made, file, &text);
}

void batch_folder_change_any(struct made *made, const char *beginning, const char *but)
{
    char old[SHA256_DIGITS + 1], new[SHA256_DIGITS + 1];
    struct buf text = {0};
    size_t index = made_below(made, made->file_count);
    for (size_t i = 0; i < made->file_count; i++, index++) {
        const char *name = made->files[index % made->file_count].name;
        if (strncmp(name, beginning, strlen(beginning)) == 0 && !strstr(name, but))
            break;
    }
    struct folder_file *file = &made->files[index % made->file_count];
    hash(file, old);
    change(&text, file, made);
    made_take(made, file, &text);
    hash(file, new);
    for (size_t i = 0; i < made->file_count; i++)
        if (find(made->files[i].bytes, made->files[i].bytes + made->files[i].size, old))
            follow(made, &made->files[i], old, new, file->size);
}
