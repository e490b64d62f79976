#include "base/memory.h"
#include "format/json.h"
#include "text/stages.h"

#include <string.h>

#include "base/num.h"
#include "text/token_set.h"

enum row_index {
    ROW_NFC, /* normal forms, in the order of enum unicode_form */
    ROW_NFD,
    ROW_NFKC,
    ROW_NFKD,
    ROW_APPEND = 8,
    ROW_BERT = 12,
    TYPE_COUNT, /* the rows before this value are types of tokenizer.json */
    ROW_CLEAN = TYPE_COUNT,
    ROW_CHINESE,
    ROW_ACCENTS,
    ROW_SMALL,
    ROW_CHARSMAP,
    ROW_TRIM,
    ROW_PREFIX,
    ROW_ESCAPE,
    ROW_COUNT,
};

static const struct stage_row rows[ROW_COUNT];

/* --- characters ------------------------------------------------------------------------------- */

static int lowercase(char bytes[CHANGE_BYTES], uint32_t c)
{
    /* the lower case of İ, the only letter that becomes two characters */
    static const char dotted[] = "i̇";
    enum { DOTTED_CAPITAL = 0x130 };
    uint32_t small = utf8_small(c);
    if (c == DOTTED_CAPITAL) {
        memcpy(bytes, dotted, sizeof dotted - 1);
        return sizeof dotted - 1;
    }
    return small == c ? CHANGE_NONE : (int)utf8_encode(bytes, small);
}

static int strip_marks(char bytes[CHANGE_BYTES], uint32_t c)
{
    (void)bytes;
    return utf8_is_mark(c) ? 0 : CHANGE_NONE;
}

static int strip_nonspacing(char bytes[CHANGE_BYTES], uint32_t c)
{
    (void)bytes;
    return utf8_is_nonspacing(c) ? 0 : CHANGE_NONE;
}

/* Remove U+FFFD and characters of utf8_is_other except \t, \n and \r; these three and other white
 * space become spaces. */
static int clean(char bytes[CHANGE_BYTES], uint32_t c)
{
    bool line = c == '\t' || c == '\n' || c == '\r';
    if (c == UTF8_REPLACEMENT || (utf8_is_other(c) && !line))
        return 0;
    if (c == ' ' || unicode_kind(c) != UNICODE_SPACE)
        return CHANGE_NONE;
    *bytes = ' ';
    return 1;
}

/* Put spaces around Chinese characters. The blocks are the same as in Hugging Face's library. */
static int space_chinese(char bytes[CHANGE_BYTES], uint32_t c)
{
    static const struct unicode_range blocks[] = {
        {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
        {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
    };
    if (!UNICODE_IS_IN(blocks, c))
        return CHANGE_NONE;
    bytes[0] = ' ';
    size_t size = 1 + utf8_encode(bytes + 1, c);
    bytes[size] = ' ';
    return (int)size + 1;
}

/* Change each character, except ASCII that the step does not change. */
static void change_each(const struct stage *step, struct text_rewriter *rewriter)
{
    const struct aligned_text *in = rewriter->in;
    const unsigned char *text = (const unsigned char *)in->bytes;
    size_t done = 0;
    for (size_t at = 0, length; at < in->size; at += length) {
        char bytes[CHANGE_BYTES];
        uint32_t c = 0;
        length = 1;
        if (step->stays[text[at]])
            continue;
        length = utf8_step(&c, in->bytes + at, in->size - at);
        int written = step->row->change(bytes, c);
        if (written == CHANGE_NONE)
            continue;
        if (done < at)
            text_rewriter_keep(rewriter, done, at);
        done = at + length;
        text_rewriter_replace(rewriter, at, done, bytes, (size_t)written);
    }
    if (done < in->size)
        text_rewriter_keep(rewriter, done, in->size);
}

/* --- texts ------------------------------------------------------------------------------------ */

static int normalize_form(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    enum unicode_form form = (enum unicode_form)(step->row - rows);
    struct buf changed = {0};
    for (size_t at = 0, end; at < in->size; at = end) {
        bool stays = false;
        end = unicode_form_end(form, in->bytes, in->size, at, &stays);
        buf_clear(&changed);
        if (stays || !unicode_form_put(form, &changed, in->bytes + at, end - at))
            text_rewriter_keep(rewriter, at, end);
        else
            text_rewriter_replace(rewriter, at, end, changed.bytes, changed.size);
    }
    int failed = buf_check(&changed, err);
    buf_release(&changed);
    return failed;
}

static int replace(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    struct matcher_walk walk = matcher_walk(&step->matcher, in->bytes, in->size, rewriter->limits);
    struct text_range match;
    size_t at = 0;
    int found = 0;
    while ((found = matcher_next(&walk, &match, err)) > 0) {
        text_rewriter_keep(rewriter, at, match.start);
        text_rewriter_replace(rewriter, match.start, match.end, step->content, step->content_size);
        at = match.end;
    }
    text_rewriter_keep(rewriter, at, in->size);
    matcher_walk_release(&walk);
    return found;
}

/* Put `content` before or after a text that is not empty; with `first`, only if the text begins the
 * original text. */
static int put_at_end(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    static const struct text_range front = {0, 1};
    size_t size = rewriter->in->size;
    size_t at = step->row == &rows[ROW_APPEND] ? size : 0;
    size_t hint = 0;
    bool puts = size && (!step->first || !aligned_text_origin(rewriter->in, front, &hint).start);
    (void)err;
    text_rewriter_keep(rewriter, 0, at);
    if (puts)
        text_rewriter_replace(rewriter, at, at, step->content, step->content_size);
    text_rewriter_keep(rewriter, at, size);
    return 0;
}

static int read_strip(struct stage_list *list, struct stage *step, const struct json *value,
                      struct err *err)
{
    (void)list;
    step->left = step->right = true;
    if (json_bool(value, "strip_left", &step->left, err))
        return -1;
    return json_bool(value, "strip_right", &step->right, err);
}

static int strip(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    const char *bytes = rewriter->in->bytes;
    size_t start = 0;
    size_t end = rewriter->in->size;
    uint32_t c = 0;
    (void)err;
    while (step->left && start < end) {
        size_t length = utf8_step(&c, bytes + start, end - start);
        if (unicode_kind(c) != UNICODE_SPACE)
            break;
        start += length;
    }
    while (step->right && start < end) {
        size_t last = utf8_before(bytes, end);
        utf8_step(&c, bytes + last, end - last);
        if (unicode_kind(c) != UNICODE_SPACE)
            break;
        end = last;
    }
    if (start < end)
        text_rewriter_keep(rewriter, start, end);
    return 0;
}

/* Remove spaces and ▁, the sign of a space, at the end. */
static int trim(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    static const char sign[] = "▁";
    const size_t sign_size = sizeof sign - 1;
    const char *bytes = rewriter->in->bytes;
    size_t size = rewriter->in->size;
    (void)step;
    (void)err;
    for (;;)
        if (size && bytes[size - 1] == ' ')
            size--;
        else if (size >= sign_size && memcmp(bytes + size - sign_size, sign, sign_size) == 0)
            size -= sign_size;
        else
            break;
    text_rewriter_keep(rewriter, 0, size);
    return 0;
}

void normalize_bytes(struct text_rewriter *rewriter, struct text_range range)
{
    for (size_t at = range.start; at < range.end; at++) {
        char sign[4];
        size_t size = utf8_encode(sign, byte_alphabet_sign((unsigned char)rewriter->in->bytes[at]));
        if (size == 1)
            text_rewriter_keep(rewriter, at, at + 1);
        else
            text_rewriter_replace(rewriter, at, at + 1, sign, size);
    }
}

static int encode_bytes(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    (void)step;
    (void)err;
    normalize_bytes(rewriter, (struct text_range){0, rewriter->in->size});
    return 0;
}

/* --- Precompiled: SentencePiece's map of characters --------------------------------------------
 *
 * A trie in a double array, as darts-clone lays it out; its values are offsets of texts that end in
 * a zero. tokenizer.json has it in base64. */

enum {
    SIZE_BYTES = 4,     /* size of the number before the trie, which gives the size of the trie */
    GRAPHEME_BYTES = 6, /* graphemes of this many bytes or more are mapped character by character */
};

#define VALUE_BIT (1u << 31) /* set in a unit of the trie that is a value, not a byte */

struct charsmap {
    const uint32_t *units; /* `unit_count` units of the trie */
    size_t unit_count;
    const char *texts; /* the replacements, each of which ends in a 0 */
    size_t text_bytes;
};

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Follow a byte from a node; false if no key continues with it. */
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

/* Find the shortest or longest key with which some bytes begin. Returns its replacement, of
 * `*found_size` bytes, and sets `*taken` to the size of the key. NULL: the bytes begin with no
 * key. */
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
        size_t offset = value & ~VALUE_BIT;
        if (!(value & VALUE_BIT) || offset >= map->text_bytes)
            break;
        found = map->texts + offset;
        *found_size = strnlen(found, map->text_bytes - offset);
        *taken = i + 1;
        if (!longest)
            break;
    }
    return found;
}

static int read_trie(struct charsmap *map, const unsigned char *bytes, size_t size,
                     struct arena *arena, struct err *err)
{
    size_t trie_bytes =
        size < SIZE_BYTES ? SIZE_MAX : num_of_bytes((const char *)bytes, SIZE_BYTES);
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
        units[i] = (uint32_t)num_of_bytes((const char *)bytes + SIZE_BYTES + i * sizeof(uint32_t),
                                          sizeof(uint32_t));
    map->units = units;
    map->text_bytes = size - SIZE_BYTES - trie_bytes;
    map->texts =
        arena_text(arena, (const char *)bytes + SIZE_BYTES + trie_bytes, map->text_bytes, err);
    return map->texts ? 0 : -1;
}

/* Check that replacements are whole characters. Each ends in a zero, so it is enough that all the
 * texts are UTF-8 and that each value is the start of a character. */
static int check_texts(const struct charsmap *map, struct err *err)
{
    size_t broken = utf8_invalid_at(map->texts, map->text_bytes);
    for (size_t i = 0; i < map->unit_count && broken == map->text_bytes; i++) {
        size_t offset = map->units[i] & ~VALUE_BIT;
        if (map->units[i] & VALUE_BIT && offset < map->text_bytes &&
            utf8_continues(map->texts[offset]))
            broken = offset;
    }
    if (broken == map->text_bytes)
        return 0;
    return err_set(err,
                   "field 'precompiled_charsmap': expected replacements of whole characters in "
                   "UTF-8, found one with the byte 0x%02x at byte %zu of the texts",
                   (unsigned char)map->texts[broken], broken);
}

/* The number of bytes after the first byte of a character; SIZE_MAX for a byte that begins no
 * character. */
static size_t bytes_after(unsigned char first)
{
    return first < 0x80 ? 0 : first < 0xC2 ? SIZE_MAX : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
}

/* True if a key ends inside a character. Visits each node at most once for every number of bytes
 * that the character still lacks, since a trie from a file may have cycles. */
static bool splits_character(const struct charsmap *map, uint32_t *queue, uint8_t *visited,
                             size_t nodes)
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
            if (node >= nodes || visited[node] >> rest & 1)
                continue;
            visited[node] |= (uint8_t)(1 << rest);
            queue[count++] = (uint32_t)(node << 2 | rest);
        }
    }
    return false;
}

static int check_keys(const struct charsmap *map, struct err *err)
{
    size_t nodes = (map->unit_count | 0xFF) + 1; /* a node's children are within 256 aligned
                                                  * units */
    uint8_t *visited = heap_alloc(nodes, sizeof *visited, err);
    uint32_t *queue = visited ? heap_alloc(nodes, 4 * sizeof *queue, err) : NULL;
    int failed = queue ? 0 : -1;
    if (queue && map->unit_count && splits_character(map, queue, visited, nodes))
        failed = err_set(err, "field 'precompiled_charsmap': expected keys of whole characters in "
                              "UTF-8, found one that ends inside a character");
    heap_free(queue);
    heap_free(visited);
    return failed;
}

/* Mark in `stays` the ASCII characters from `first` on that are no key and do not begin a key
 * together with another ASCII character. \r is not marked: it may begin the grapheme \r\n. */
static void mark_plain(struct stage *step, unsigned char first)
{
    const struct charsmap *map = step->charsmap;
    for (unsigned char byte = first; byte < 0x80; byte++) {
        uint32_t unit = map && map->unit_count ? map->units[0] : 0;
        size_t node = offset_of(unit);
        bool begins = map && step_to(map, &node, byte, &unit);
        bool found = begins && ends_key(unit);
        for (unsigned char next = 1; begins && !found && next < 0x80; next++) {
            size_t after = node;
            found = step_to(map, &after, next, &unit);
        }
        step->stays[byte] = byte != '\r' && !found;
    }
}

static int read_charsmap(struct stage *step, const unsigned char *bytes, size_t size,
                         struct arena *arena, struct err *err)
{
    struct charsmap *map = arena_alloc(arena, 1, sizeof *map, err);
    step->charsmap = map;
    return err_if(!map || read_trie(map, bytes, size, arena, err) || check_texts(map, err) ||
                  check_keys(map, err));
}

static int read_precompiled(struct stage_list *list, struct stage *step, const struct json *value,
                            struct err *err)
{
    const char *text = NULL;
    size_t size = 0;
    if (json_text(value, "precompiled_charsmap", &text, err))
        return -1;
    if (!text || !*text) /* the map is empty */
        return 0;
    unsigned char *bytes = arena_alloc(list->arena, strlen(text) + 1, 1, err);
    if (!bytes)
        return -1;
    if (!base64_decode((char *)bytes, &size, text, strlen(text)))
        return err_set(err, "field 'precompiled_charsmap': expected a text in base64");
    if (read_charsmap(step, bytes, size, list->arena, err))
        return -1;
    mark_plain(step, 0);
    return 0;
}

/* The end of a run of ASCII characters that are not mapped, do not begin a user-defined token and
 * are followed by ASCII: no character can combine with them. */
static size_t plain_end(const struct stage *step, const struct aligned_text *in, size_t at)
{
    static const bool none[256];
    const unsigned char *text = (const unsigned char *)in->bytes;
    const bool *defined = step->kept ? step->kept->begins[true] : none;
    while (at + 1 < in->size && step->stays[text[at]] && !defined[text[at]] && text[at + 1] < 0x80)
        at++;
    return at;
}

/* The start of the range of a replacement: characters removed at the front belong to the first
 * character that stays, as in Hugging Face's library. */
static size_t start_of(const struct text_rewriter *rewriter, size_t start)
{
    bool none_stayed = !rewriter->bytes.size && rewriter->kept.start == rewriter->kept.end;
    return none_stayed ? 0 : start;
}

/* Map the characters of a range one by one. */
static void map_each(const struct charsmap *map, struct text_rewriter *rewriter, size_t start,
                     size_t end)
{
    const char *bytes = rewriter->in->bytes;
    for (size_t at = start, length; at < end; at += length) {
        uint32_t character = 0;
        size_t size = 0, taken = 0;
        length = utf8_step(&character, bytes + at, end - at);
        size_t from = start_of(rewriter, at);
        const char *found = find(map, bytes + at, length, false, &taken, &size);
        if (found)
            text_rewriter_replace(rewriter, from, at + length, found, size);
        else if (from == at)
            text_rewriter_keep(rewriter, at, at + length);
        else
            text_rewriter_replace(rewriter, 0, at + length, bytes + at, length);
    }
}

/* Map the text as Hugging Face's library does: a grapheme by its shortest key or, if it has none,
 * character by character. */
static int map_graphemes(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    const struct charsmap *map = step->charsmap;
    (void)err;
    if (!map)
        text_rewriter_keep(rewriter, 0, in->size);
    for (size_t at = 0, end; map && at < in->size; at = end) {
        size_t size = 0, taken = 0;
        const char *found = NULL;
        end = start_of(rewriter, at) == at ? plain_end(step, in, at) : at;
        text_rewriter_keep(rewriter, at, end);
        if (end > at)
            continue;
        end = at + utf8_grapheme(in->bytes + at, in->size - at);
        if (end - at < GRAPHEME_BYTES)
            found = find(map, in->bytes + at, end - at, false, &taken, &size);
        if (found)
            text_rewriter_replace(rewriter, start_of(rewriter, at), end, found, size);
        else
            map_each(map, rewriter, at, end);
    }
    return 0;
}

/* The first `taken` bytes of a text and their replacement. */
struct unit {
    const char *bytes;
    size_t size;
    size_t taken;
    bool mapped;
};

/* SentencePiece maps the longest key at every position, and does not map user-defined tokens. */
static struct unit next_unit(const struct stage *step, const char *bytes, size_t size)
{
    const struct added_token *kept = added_tokens_at(step->kept, bytes, size);
    struct unit unit = {0};
    uint32_t character = 0;
    if (!kept && step->charsmap)
        unit.bytes = find(step->charsmap, bytes, size, true, &unit.taken, &unit.size);
    unit.mapped = unit.bytes;
    if (unit.mapped)
        return unit;
    unit.size = kept ? kept->size : utf8_step(&character, bytes, size);
    return (struct unit){bytes, unit.size, unit.size, false};
}

static int map_longest(const struct stage *step, struct text_rewriter *rewriter, struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    bool after_space = true;
    (void)err;
    for (size_t at = 0; at < in->size;) {
        size_t end = plain_end(step, in, at);
        if (end > at) {
            text_rewriter_keep(rewriter, at, end);
            after_space = false;
            at = end;
            continue;
        }
        struct unit unit = next_unit(step, in->bytes + at, in->size - at);
        size_t dropped = 0;
        while (step->collapses && after_space && dropped < unit.size && unit.bytes[dropped] == ' ')
            dropped++;
        if (unit.mapped)
            text_rewriter_replace(rewriter, at, at + unit.taken, unit.bytes + dropped,
                                  unit.size - dropped);
        else if (dropped < unit.size)
            text_rewriter_keep(rewriter, at + dropped, at + unit.taken);
        if (dropped < unit.size)
            after_space = unit.bytes[unit.size - 1] == ' ';
        at += unit.taken;
    }
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int begin_step(struct stage_list *list, struct stage *step, struct err *err)
{
    char bytes[CHANGE_BYTES];
    (void)list, (void)err;
    step->name = step->row->name;
    for (uint32_t c = 0; step->row->change && c < 0x80; c++)
        step->stays[c] = step->row->change(bytes, c) == CHANGE_NONE;
    return 0;
}

static int read_bert(struct stage_list *list, struct stage *step, const struct json *value,
                     struct err *err)
{
    static const enum row_index steps[] = {ROW_CLEAN, ROW_CHINESE, ROW_NFD, ROW_ACCENTS, ROW_SMALL};
    enum { STEPS = sizeof steps / sizeof *steps };
    bool cleans = true, spaces = true, lowers = true;
    (void)step;
    if (json_bool(value, "clean_text", &cleans, err) ||
        json_bool(value, "handle_chinese_chars", &spaces, err) ||
        json_bool(value, "lowercase", &lowers, err))
        return -1;
    bool strips = lowers; /* the default of strip_accents */
    if (json_bool(value, "strip_accents", &strips, err))
        return -1;
    const bool wanted[STEPS] = {cleans, spaces, strips, strips, lowers};
    for (size_t i = 0; i < STEPS; i++)
        if (wanted[i] && !stages_add(list, &rows[steps[i]], err))
            return -1;
    return 0;
}

static const struct stage_row rows[ROW_COUNT] = {
    {"NFC", .apply = normalize_form},
    {"NFD", .apply = normalize_form},
    {"NFKC", .apply = normalize_form},
    {"NFKD", .apply = normalize_form},
    {"Lowercase", .change = lowercase},
    {"StripAccents", .change = strip_marks},
    {"Strip", .apply = strip, .read = read_strip},
    {"Prepend", "prepend", .apply = put_at_end},
    [ROW_APPEND] = {"Append", "append", .apply = put_at_end},
    {"Replace", "content", .apply = replace, .read = stage_read_pattern},
    {"ByteLevel", .apply = encode_bytes},
    {"Precompiled", .apply = map_graphemes, .read = read_precompiled},
    [ROW_BERT] = {"BertNormalizer", .read = read_bert, .adds_steps = true},
    [ROW_CLEAN] = {"clean_text", .change = clean},
    [ROW_CHINESE] = {"handle_chinese_chars", .change = space_chinese},
    [ROW_ACCENTS] = {"strip_accents", .change = strip_nonspacing},
    [ROW_SMALL] = {"lowercase", .change = lowercase},
    [ROW_CHARSMAP] = {"charsmap", .apply = map_longest},
    [ROW_TRIM] = {"end", .apply = trim},
    [ROW_PREFIX] = {"prefix", .apply = put_at_end},
    [ROW_ESCAPE] = {"escape", .apply = replace},
};

const struct stage_kind normalizers = {"normalizers", rows, TYPE_COUNT, begin_step};

int normalizers_sentencepiece(struct stage **steps, const struct sentencepiece_rules *rules,
                              struct arena *arena, struct err *err)
{
    const char *sign = rules->escapes ? "▁" : " ";
    const struct {
        enum row_index row;
        bool wanted;
    } list[] = {
        {ROW_CHARSMAP, rules->charsmap_size || rules->collapses},
        {ROW_TRIM, rules->collapses},
        {ROW_PREFIX, rules->prefixes},
        {ROW_ESCAPE, rules->escapes},
    };
    struct stage_list added = {&normalizers, arena, steps};
    for (struct stage *step = *steps; step; step = step->next)
        added.last = step;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (!list[i].wanted)
            continue;
        struct stage *step = stages_add(&added, &rows[list[i].row], err);
        if (!step || (list[i].row == ROW_CHARSMAP && rules->charsmap_size &&
                      read_charsmap(step, rules->charsmap, rules->charsmap_size, arena, err)))
            return -1;
        step->kept = rules->kept;
        step->collapses = rules->collapses;
        step->first = rules->first;
        step->content = sign;
        step->content_size = strlen(sign);
        step->matcher = (struct matcher){.literal = " ", .literal_size = 1};
        mark_plain(step, ' ' + 1);
    }
    return 0;
}

bool normalizers_encode_bytes(const struct stage *steps)
{
    while (steps && steps->row->apply != encode_bytes)
        steps = steps->next;
    return steps;
}

int normalize(const struct stage *steps, struct aligned_text *out, const struct aligned_text *text,
              struct text_rewriter rewriters[2], struct text_limits *limits, struct err *err)
{
    struct aligned_text now = *text;
    int free = 0; /* index of the rewriter that does not hold the text */
    for (; steps; steps = steps->next) {
        struct text_rewriter *rewriter = &rewriters[free];
        *out = now;
        text_rewriter_restart(rewriter, out, limits);
        if (steps->row->change)
            change_each(steps, rewriter);
        else if (steps->row->apply(steps, rewriter, err))
            return err_prefix(err, "normalizer: %s", steps->name);
        if (text_rewriter_finish(rewriter, &now, err))
            return err_prefix(err, "normalizer: %s", steps->name);
        free = rewriter->changed ? !free : free;
    }
    text_rewriter_release(&rewriters[free]);
    *out = now;
    return 0;
}
