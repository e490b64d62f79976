/* normalizer_charsmap.c: Precompiled, SentencePiece's own map of characters: a trie in a double
 * array (as darts-clone lays it out), whose values are places of texts that end in a zero, all of
 * it in base64. */
#include <string.h>

#include "format/json.h"
#include "text/normalizer/normalizer.h"

enum {
    SIZE_BYTES = 4,     /* of the trie, before it */
    GRAPHEME_BYTES = 6, /* of longer ones only single characters are looked for */
};

struct charsmap {
    const uint32_t *units; /* [unit_count] of the trie */
    size_t unit_count;
    const char *texts; /* what characters become */
    size_t text_bytes;
};

/* --- reading ---------------------------------------------------------------------------------- */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Write the bytes that a text in base64 stands for; false where it is none. */
static bool base64_decode(unsigned char *out, size_t *size, const char *text)
{
    uint32_t bits = 0;
    size_t count = strcspn(text, "=");
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4)
            out[(*size)++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    return count % 4 != 1 && strspn(text + count, "=") == strlen(text + count);
}

static uint32_t little_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static int read_bytes(struct charsmap *map, const unsigned char *bytes, size_t size,
                      struct arena *arena, struct err *err)
{
    size_t trie_bytes = size < SIZE_BYTES ? SIZE_MAX : little_endian(bytes);
    if (size < SIZE_BYTES || trie_bytes > size - SIZE_BYTES || trie_bytes % sizeof(uint32_t))
        return err_set(err,
                       "field 'precompiled_charsmap': expected a trie of its size, found %zu "
                       "bytes in all",
                       size);
    map->unit_count = trie_bytes / sizeof(uint32_t);
    uint32_t *units = arena_alloc(arena, map->unit_count + 1, sizeof *units, err);
    if (!units)
        return -1;
    for (size_t i = 0; i < map->unit_count; i++)
        units[i] = little_endian(bytes + SIZE_BYTES + i * sizeof(uint32_t));
    map->units = units;
    map->texts = (const char *)bytes + SIZE_BYTES + trie_bytes;
    map->text_bytes = size - SIZE_BYTES - trie_bytes;
    return 0;
}

int normalizer_read_charsmap(struct normalizer *step, const struct json *value, struct arena *arena,
                             struct err *err)
{
    const char *text = NULL;
    size_t size = 0;
    struct charsmap *map = arena_alloc(arena, 1, sizeof *map, err);
    if (!map || json_text(value, "precompiled_charsmap", &text, err))
        return -1;
    if (!text || !*text) /* it maps nothing */
        return 0;
    unsigned char *bytes = arena_alloc(arena, strlen(text) + 1, 1, err);
    if (!bytes)
        return -1;
    if (!base64_decode(bytes, &size, text))
        return err_set(err, "field 'precompiled_charsmap': expected a text in base64");
    step->charsmap = map;
    return read_bytes(map, bytes, size, arena, err);
}

/* --- mapping ---------------------------------------------------------------------------------- */

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Go on by one byte; false where the trie has none. */
static bool step_to(const struct charsmap *map, size_t *node, unsigned char byte, uint32_t *unit)
{
    *node ^= byte;
    if (!byte || *node >= map->unit_count)
        return false;
    *unit = map->units[*node];
    *node ^= offset_of(*unit);
    return (*unit & (1u << 31 | 0xFF)) == byte;
}

/* What the shortest entry with which the bytes begin becomes, as the library has it; NULL: none. */
static const char *find(const struct charsmap *map, const char *bytes, size_t size,
                        size_t *found_size)
{
    uint32_t unit = map->unit_count ? map->units[0] : 0;
    size_t node = offset_of(unit);
    for (size_t i = 0; i < size; i++) {
        if (!step_to(map, &node, (unsigned char)bytes[i], &unit))
            return NULL;
        if (!(unit >> 8 & 1))
            continue;
        size_t place = node < map->unit_count ? map->units[node] & ~(1u << 31) : SIZE_MAX;
        if (place >= map->text_bytes)
            return NULL;
        *found_size = strnlen(map->texts + place, map->text_bytes - place);
        return map->texts + place;
    }
    return NULL;
}

/* Map the characters of a range as one; false where it has no entry. */
static bool map_range(const struct charsmap *map, struct text_rewriter *rewriter, size_t start,
                      size_t end)
{
    size_t size = 0;
    const char *found = find(map, rewriter->in->bytes + start, end - start, &size);
    if (found)
        text_rewriter_replace(rewriter, start, end, found, size);
    return found;
}

int normalize_charsmap(const struct normalizer *step, struct text_rewriter *rewriter,
                       struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    const struct charsmap *map = step->charsmap;
    (void)err;
    if (!map)
        text_rewriter_keep(rewriter, 0, in->size);
    for (size_t at = 0, end; map && at < in->size; at = end) {
        end = at + utf8_grapheme(in->bytes + at, in->size - at);
        if (end - at < GRAPHEME_BYTES && map_range(map, rewriter, at, end))
            continue;
        for (size_t c = at, length; c < end; c += length) {
            uint32_t character = 0;
            length = utf8_decode(&character, in->bytes + c, end - c);
            if (!map_range(map, rewriter, c, c + length))
                text_rewriter_keep(rewriter, c, c + length);
        }
    }
    return 0;
}
