/* normalizer_charsmap.c: Precompiled, SentencePiece's own map of characters: a trie in a double
 * array (as darts-clone lays it out), whose values are places of texts that end in a zero, all of
 * it in base64. */
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "format/json.h"
#include "text/normalizer/normalizer.h"
#include "text/token_set.h"

enum {
    SIZE_BYTES = 4,     /* of the trie, before it */
    GRAPHEME_BYTES = 6, /* of longer ones only single characters are looked for */
};

#define VALUE_BIT (1u << 31) /* of a unit that is a value, not a byte */

struct charsmap {
    const uint32_t *units; /* [unit_count] of the trie */
    size_t unit_count;
    const char *texts; /* what characters become */
    size_t text_bytes;
    bool stays[256]; /* ASCII that is no entry; but for \r, which \n may make longer */
    bool alone[256]; /* … that stays, whatever of ASCII comes after it */
};

/* --- the trie --------------------------------------------------------------------------------- */

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
    return (*unit & (VALUE_BIT | 0xFF)) == byte;
}

static bool ends_key(uint32_t unit)
{
    return unit >> 8 & 1;
}

/* What an entry with which the bytes begin becomes, the shortest or the longest, and how many bytes
 * it takes; NULL: there is none. */
static const char *find(const struct charsmap *map, const char *bytes, size_t size, bool longest,
                        size_t *taken, size_t *found_size)
{
    const char *found = NULL;
    uint32_t unit = map->unit_count ? map->units[0] : 0;
    size_t node = offset_of(unit);
    for (size_t i = 0; i < size; i++) {
        if (!step_to(map, &node, (unsigned char)bytes[i], &unit))
            break;
        if (!ends_key(unit))
            continue;
        uint32_t value = node < map->unit_count ? map->units[node] : 0;
        size_t place = value & ~VALUE_BIT;
        if (!(value & VALUE_BIT) || place >= map->text_bytes)
            break;
        found = map->texts + place;
        *found_size = strnlen(found, map->text_bytes - place);
        *taken = i + 1;
        if (!longest)
            break;
    }
    return found;
}

/* --- reading ---------------------------------------------------------------------------------- */

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
                       "field 'precompiled_charsmap': expected the size of a trie, then the trie, "
                       "found %zu bytes",
                       size);
    map->unit_count = trie_bytes / sizeof(uint32_t);
    uint32_t *units = arena_alloc(arena, map->unit_count + 1, sizeof *units, err);
    if (!units)
        return -1;
    for (size_t i = 0; i < map->unit_count; i++)
        units[i] = little_endian(bytes + SIZE_BYTES + i * sizeof(uint32_t));
    map->units = units;
    map->text_bytes = size - SIZE_BYTES - trie_bytes;
    map->texts =
        arena_text(arena, (const char *)bytes + SIZE_BYTES + trie_bytes, map->text_bytes, err);
    return map->texts ? 0 : -1;
}

static bool continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Replacements end in a zero, so each is whole characters if all the texts are and every value is
 * the start of one. */
static int check_texts(const struct charsmap *map, struct err *err)
{
    size_t broken = utf8_invalid_at(map->texts, map->text_bytes);
    for (size_t i = 0; i < map->unit_count && broken == map->text_bytes; i++) {
        size_t place = map->units[i] & ~VALUE_BIT;
        if (map->units[i] & VALUE_BIT && place < map->text_bytes &&
            continues((unsigned char)map->texts[place]))
            broken = place;
    }
    if (broken == map->text_bytes)
        return 0;
    return err_set(err,
                   "field 'precompiled_charsmap': expected replacements of whole characters in "
                   "UTF-8, found one with the byte 0x%02x at byte %zu of the texts",
                   (unsigned char)map->texts[broken], broken);
}

/* The bytes of a character after its first; SIZE_MAX for a byte that begins none. */
static size_t bytes_after(unsigned char first)
{
    return first < 0x80 ? 0 : first < 0xC2 ? SIZE_MAX : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
}

/* True if a key ends inside a character. Goes from node to node, each at most once for every number
 * of bytes that its character still lacks: a trie from a file may lead back to its own nodes. */
static bool cuts_character(const struct charsmap *map, uint32_t *queue, uint8_t *seen, size_t nodes)
{
    size_t node = offset_of(map->units[0]);
    size_t count = node < nodes;
    queue[0] = (uint32_t)node << 2;
    for (size_t next = 0; next < count; next++) {
        unsigned lacks = queue[next] & 3;
        for (unsigned byte = lacks ? 0x80 : 1; byte < (lacks ? 0xC0 : 0xF5); byte++) {
            uint32_t unit = 0;
            size_t rest = lacks ? lacks - 1 : bytes_after((unsigned char)byte);
            node = queue[next] >> 2;
            if (rest == SIZE_MAX || !step_to(map, &node, (unsigned char)byte, &unit))
                continue;
            if (rest && ends_key(unit))
                return true;
            if (node >= nodes || seen[node] >> rest & 1)
                continue;
            seen[node] |= (uint8_t)(1 << rest);
            queue[count++] = (uint32_t)(node << 2 | rest);
        }
    }
    return false;
}

static int check_keys(const struct charsmap *map, struct err *err)
{
    size_t nodes = (map->unit_count | 0xFF) + 1; /* a child is in the same 256 as its node */
    uint8_t *seen = heap_alloc(nodes, sizeof *seen, err);
    uint32_t *queue = seen ? heap_alloc(nodes, 4 * sizeof *queue, err) : NULL;
    int failed = queue ? 0 : -1;
    if (queue && map->unit_count && cuts_character(map, queue, seen, nodes))
        failed = err_set(err, "field 'precompiled_charsmap': expected keys of whole characters in "
                              "UTF-8, found one that ends inside a character");
    heap_free(queue);
    heap_free(seen);
    return failed;
}

/* Is an entry nothing but this byte, or does one go on from it in ASCII? */
static bool begins_entry(const struct charsmap *map, unsigned char byte)
{
    uint32_t unit = map->unit_count ? map->units[0] : 0;
    size_t node = offset_of(unit);
    if (!step_to(map, &node, byte, &unit))
        return false;
    bool found = ends_key(unit);
    for (unsigned char next = 1; !found && next < 0x80; next++) {
        size_t after = node;
        found = step_to(map, &after, next, &unit);
    }
    return found;
}

int charsmap_read(const struct charsmap **charsmap, const unsigned char *bytes, size_t size,
                  struct arena *arena, struct err *err)
{
    struct charsmap *map = arena_alloc(arena, 1, sizeof *map, err);
    *charsmap = map;
    if (!map || read_bytes(map, bytes, size, arena, err) || check_texts(map, err) ||
        check_keys(map, err))
        return -1;
    for (unsigned byte = 0; byte < 0x80; byte++) {
        char c = (char)byte;
        size_t taken = 0;
        size_t found = 0;
        map->stays[byte] = c != '\r' && !find(map, &c, 1, false, &taken, &found);
        map->alone[byte] = !begins_entry(map, (unsigned char)byte);
    }
    return 0;
}

int normalizer_read_charsmap(struct normalizer *step, const struct json *value, struct arena *arena,
                             struct err *err)
{
    const char *text = NULL;
    size_t size = 0;
    if (json_text(value, "precompiled_charsmap", &text, err))
        return -1;
    if (!text || !*text) /* it maps nothing */
        return 0;
    unsigned char *bytes = arena_alloc(arena, strlen(text) + 1, 1, err);
    if (!bytes)
        return -1;
    if (!base64_decode((char *)bytes, &size, text, strlen(text)))
        return err_set(err, "field 'precompiled_charsmap': expected a text in base64");
    return charsmap_read(&step->charsmap, bytes, size, arena, err);
}

/* --- mapping ---------------------------------------------------------------------------------- */

/* Where a range stands: what was taken away at the front belongs to the first that stays, as in
 * Hugging Face's library, and so the text begins where it did. */
static size_t place_of(const struct text_rewriter *rewriter, size_t start)
{
    bool none_stayed = !rewriter->bytes.size && rewriter->kept.start == rewriter->kept.end;
    return none_stayed ? 0 : start;
}

/* Map the characters of a range as one, by the shortest entry; false where there is none. */
static bool map_range(const struct charsmap *map, struct text_rewriter *rewriter, size_t start,
                      size_t end)
{
    size_t size = 0;
    size_t taken = 0;
    const char *found = find(map, rewriter->in->bytes + start, end - start, false, &taken, &size);
    if (found)
        text_rewriter_replace(rewriter, place_of(rewriter, start), end, found, size);
    return found;
}

/* The end of ASCII that stays, and that nothing combines with. */
static size_t plain_end(const struct charsmap *map, const struct aligned_text *in, size_t at)
{
    const unsigned char *text = (const unsigned char *)in->bytes;
    while (at + 1 < in->size && map->stays[text[at]] && text[at + 1] < 0x80)
        at++;
    return at;
}

/* Map the characters of a range one by one. */
static void map_each(const struct charsmap *map, struct text_rewriter *rewriter, size_t start,
                     size_t end)
{
    const char *bytes = rewriter->in->bytes;
    for (size_t at = start, length; at < end; at += length) {
        uint32_t character = 0;
        size_t size = 0;
        size_t taken = 0;
        length = utf8_decode(&character, bytes + at, end - at);
        size_t place = place_of(rewriter, at);
        const char *found = find(map, bytes + at, length, false, &taken, &size);
        if (found)
            text_rewriter_replace(rewriter, place, at + length, found, size);
        else if (place == at)
            text_rewriter_keep(rewriter, at, at + length);
        else
            text_rewriter_replace(rewriter, 0, at + length, bytes + at, length);
    }
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
        end = place_of(rewriter, at) == at ? plain_end(map, in, at) : at;
        text_rewriter_keep(rewriter, at, end);
        if (end > at)
            continue;
        end = at + utf8_grapheme(in->bytes + at, in->size - at);
        if (end - at >= GRAPHEME_BYTES || !map_range(map, rewriter, at, end))
            map_each(map, rewriter, at, end);
    }
    return 0;
}

/* What a text begins with, and what becomes of it. */
struct unit {
    const char *bytes;
    size_t size;
    size_t taken;
    bool mapped;
};

/* SentencePiece itself takes the longest entry at every place; what users defined stays. */
static struct unit next_unit(const struct normalizer *step, const char *bytes, size_t size)
{
    const struct added_token *kept = added_tokens_at(step->kept, bytes, size);
    struct unit unit = {0};
    uint32_t character = 0;
    if (!kept && step->charsmap)
        unit.bytes = find(step->charsmap, bytes, size, true, &unit.taken, &unit.size);
    unit.mapped = unit.bytes;
    if (unit.mapped)
        return unit;
    unit.size = kept ? kept->size : utf8_decode(&character, bytes, size);
    return (struct unit){bytes, unit.size, unit.size, false};
}

/* The end of ASCII that nothing maps or defines. */
static size_t alone_end(const struct normalizer *step, const struct aligned_text *in, size_t at)
{
    const unsigned char *text = (const unsigned char *)in->bytes;
    const bool *defined = step->kept->begins[true];
    while (at + 1 < in->size && text[at] > ' ' && text[at] < 0x80 && text[at + 1] < 0x80 &&
           !defined[text[at]] && (!step->charsmap || step->charsmap->alone[text[at]]))
        at++;
    return at;
}

int normalize_charsmap_longest(const struct normalizer *step, struct text_rewriter *rewriter,
                               struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    bool after_blank = true;
    (void)err;
    for (size_t at = 0; at < in->size;) {
        size_t end = alone_end(step, in, at);
        if (end > at) {
            text_rewriter_keep(rewriter, at, end);
            after_blank = false;
            at = end;
            continue;
        }
        struct unit unit = next_unit(step, in->bytes + at, in->size - at);
        size_t gone = 0;
        while (step->collapses && after_blank && gone < unit.size && unit.bytes[gone] == ' ')
            gone++;
        if (unit.mapped)
            text_rewriter_replace(rewriter, at, at + unit.taken, unit.bytes + gone,
                                  unit.size - gone);
        else if (gone < unit.size)
            text_rewriter_keep(rewriter, at + gone, at + unit.taken);
        if (gone < unit.size)
            after_blank = unit.bytes[unit.size - 1] == ' ';
        at += unit.taken;
    }
    return 0;
}
