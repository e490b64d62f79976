/* A text for a normalizer with a precompiled map made from the input, and further steps. Parts,
 * separated by 0 bytes: options, a key, its replacement, a key, ..., the text. */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"

enum {
    NODES_MAX = 256, /* of the trie: bytes of keys */
    BLOCK = 256,     /* units of a node: its children and its value */
    UNITS_MAX = (NODES_MAX + 1) * BLOCK,
    LEAF_BIT = 1 << 8,
    OPTION_BYTES = 4, /* steps; the entry to damage, and how */
};

#define VALUE_BIT (1u << 31)

struct trie {
    uint32_t units[UNITS_MAX];
    size_t nodes;
};

static size_t base_of(size_t node)
{
    return (node + 1) * BLOCK;
}

/* The node after a byte, which is added if necessary; 0: too many nodes. */
static size_t step(struct trie *trie, size_t node, unsigned char byte, uint32_t **unit)
{
    size_t at = base_of(node) ^ byte;
    *unit = &trie->units[at];
    if (**unit)
        return ((**unit >> 10) ^ at) / BLOCK - 1;
    if (trie->nodes == NODES_MAX)
        return 0;
    **unit = (uint32_t)(at ^ base_of(trie->nodes)) << 10 | byte;
    return trie->nodes++;
}

static void add_key(struct trie *trie, const char *key, size_t size, size_t value)
{
    uint32_t *unit = NULL;
    size_t node = 0;
    for (size_t i = 0; i < size; i++)
        if (!(node = step(trie, node, (unsigned char)key[i], &unit)))
            return;
    if (!size)
        return;
    *unit |= LEAF_BIT;
    trie->units[base_of(node)] = VALUE_BIT | (uint32_t)value;
}

static void put_base64(struct buf *out, const char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            buf_char(out, i + k > size ? '=' : digits[three >> (18 - 6 * k) & 63]);
    }
}

/* The map of the parts except first and last; `options` may damage one of its units. */
static void make_map(struct buf *map, const struct fuzz_parts *parts, const unsigned char *options)
{
    static struct trie trie;
    struct buf texts = {0};
    memset(trie.units, 0, (trie.nodes + 1) * BLOCK * sizeof *trie.units);
    trie.nodes = 1;
    trie.units[0] = (uint32_t)base_of(0) << 10;
    for (size_t i = 1; i + 2 < parts->count; i += 2) {
        add_key(&trie, parts->parts[i], parts->sizes[i], texts.size + (options[2] >> 7));
        buf_bytes(&texts, parts->parts[i + 1], parts->sizes[i + 1]);
        buf_char(&texts, '\0');
    }
    size_t units = base_of(trie.nodes);
    for (size_t i = 1, used = 0; i < units && options[1]; i++) {
        if (trie.units[i] && ++used == options[1])
            trie.units[i] ^= 1u << (options[2] & 31);
    }
    for (size_t i = 0; i <= units; i++)
        for (unsigned shift = 0; shift < 32; shift += 8)
            buf_char(map, (char)((i ? trie.units[i - 1] : units * 4) >> shift));
    buf_bytes(map, texts.bytes ? texts.bytes : "", texts.size);
    buf_release(&texts);
}

static void put_steps(struct buf *json, unsigned char chosen)
{
    static const char *const steps[] = {
        "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"b*\"}, \"content\": \"x\"}",
        "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"[^a]\\\\b\"}, \"content\": \"é\"}",
        "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aaaaaaaa\"}",
        "{\"type\": \"Strip\"}",
        "{\"type\": \"NFC\"}",
        "{\"type\": \"Lowercase\"}",
        "{\"type\": \"BertNormalizer\"}",
        "{\"type\": \"NFKD\"}, {\"type\": \"StripAccents\"}",
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (chosen >> i & 1)
            buf_format(json, ", %s", steps[i]);
}

/* Write a tokenizer.json, or a tokenizer.model of SentencePiece. */
static void make_file(struct buf *file, const struct buf *map, const unsigned char *options)
{
    static const char model[] = "\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x08\x0a\x01"
                                "a\x15\0\0\x80\xbf";
    if (options[3] & 1) {
        buf_bytes(file, model, sizeof model - 1);
        unsigned char head[] = {0x1a, 0, 0, 0, 0, 0x12, 0, 0, 0, 0};
        for (unsigned i = 0; i < 4; i++) { /* numbers of four bytes, 7 bits each */
            unsigned char more = i < 3 ? 0x80 : 0;
            head[1 + i] = (unsigned char)((map->size + 5) >> (7 * i) & 0x7F) | more;
            head[6 + i] = (unsigned char)(map->size >> (7 * i) & 0x7F) | more;
        }
        buf_bytes(file, (const char *)head, sizeof head);
        buf_bytes(file, map->bytes, map->size);
        return;
    }
    buf_text(file, "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
                   "\"Precompiled\", \"precompiled_charsmap\": \"");
    put_base64(file, map->bytes, map->size);
    buf_text(file, "\"}");
    put_steps(file, options[0]);
    buf_text(file,
             "]}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"model\": {\"type\": \"BPE\", "
             "\"vocab\": {\"a\": 0}, \"merges\": []}}");
}

void fuzz_one(const char *bytes, size_t size)
{
    struct fuzz_parts parts;
    struct buf map = {0};
    struct buf file = {0};
    struct tokenizer *tokenizer = NULL;
    unsigned char options[OPTION_BYTES] = {0};
    fuzz_split(&parts, bytes, size);
    memcpy(options, parts.parts[0], parts.sizes[0] < OPTION_BYTES ? parts.sizes[0] : OPTION_BYTES);
    make_map(&map, &parts, options);
    make_file(&file, &map, options);
    struct folder_file files = {options[3] & 1 ? "tokenizer.model" : "tokenizer.json", file.bytes,
                                file.size};
    struct folder folder = {"folder", &files, 1};
    if (tokenizer_open(&tokenizer, &folder, &fuzz_err)) {
        fuzz_refused();
    } else {
        size_t last = parts.count - 1;
        fuzz_encode(tokenizer, parts.parts[last], parts.sizes[last], false);
        tokenizer_free(tokenizer);
    }
    buf_release(&file);
    buf_release(&map);
    fuzz_release(&parts);
}
