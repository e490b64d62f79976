#include "text/encoder.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* --- the cache of pieces ---------------------------------------------------------------------- */

enum {
    ENTRIES_MIN = 256, /* a text that would get fewer entries has no cache */
    BYTES_PER_ENTRY = 32,
};

static bool entry_is(const struct piece_entry *entry, const char *bytes, size_t size)
{
    /* usually the size or the first byte differs, which saves memcmp */
    return entry->size == size && entry->bytes[0] == bytes[0] &&
           (size == 1 || memcmp(entry->bytes, bytes, size) == 0);
}

int encoder_add_known(struct encoder *encoder, const struct text_piece *piece,
                      struct text_range part, struct err *err)
{
    struct piece_cache *cache = &encoder->cache;
    const char *bytes = piece->text->bytes + piece->range.start + part.start;
    size_t size = part.end - part.start;
    size_t start = part.start;
    cache->entry = NULL;
    if (!cache->entries || size > PIECE_ENTRY_BYTES)
        return 0;
    if (!cache->last || !entry_is(cache->last, bytes, size))
        cache->last = &cache->entries[(hash_bytes(bytes, size) >> 32) & cache->mask];
    struct piece_entry *entry = cache->last;
    if (!entry_is(entry, bytes, size)) {
        entry->count = entry->size = 0;
        memcpy(entry->bytes, bytes, size);
        cache->entry = entry;
        cache->part = part;
        return 0;
    }
    for (size_t i = 0; i < entry->count; start = part.start + entry->ends[i++])
        if (encoder_add(encoder, piece, entry->ids[i], start, part.start + entry->ends[i], err))
            return -1;
    return 1;
}

void encoder_store(struct encoder *encoder)
{
    struct piece_cache *cache = &encoder->cache;
    if (cache->entry && cache->entry->count <= PIECE_ENTRY_TOKENS)
        cache->entry->size = (uint8_t)(cache->part.end - cache->part.start);
    cache->entry = NULL;
}

/* --- the stages ------------------------------------------------------------------------------- */

int encoder_pass(struct encoder *encoder, const struct stage *next, const struct text_piece *piece,
                 struct err *err)
{
    const struct subword *model = &encoder->tokenizer->model;
    return next ? next->run(next, encoder, piece, err)
                : model->row->encode(model, encoder, piece, err);
}

void encoder_drop(struct encoder *encoder, const struct text_piece *piece, struct text_range first,
                  size_t count)
{
    struct text_range range = {piece->range.start + first.start, piece->range.start + first.end};
    struct text_range origin = aligned_text_origin(piece->text, range, &encoder->hint);
    if (count == 1 && origin.start == origin.end)
        return; /* a step inserted the character: no character of the text is lost */
    if (!encoder->list->dropped_count)
        encoder->list->dropped_first = (struct token){0, false, origin.start, origin.end};
    encoder->list->dropped_count += count;
}

/* Encode normalized text between added tokens. */
static int encode_piece(void *context, const struct aligned_text *text, struct text_range range,
                        struct err *err)
{
    struct encoder *encoder = context;
    struct text_piece piece = {text, range};
    return encoder_pass(encoder, encoder->tokenizer->pre_tokenizers, &piece, err);
}

/* Marian: if a text between added tokens begins with a code such as >>fra<<, add it as a token. */
static int add_code(struct encoder *encoder, struct aligned_text *text, struct err *err)
{
    const struct subword *model = &encoder->tokenizer->model;
    uint32_t id = model->unknown;
    if (!model->has_codes || text->size < 4 || memcmp(text->bytes, ">>", 2) != 0)
        return 0;
    const char *end = memmem(text->bytes + 2, text->size - 2, "<<", 2);
    if (!end)
        return 0;
    size_t size = (size_t)(end + 2 - text->bytes);
    word_table_find(model->vocabulary, text->bytes, size, WORD_TEXT, &id);
    struct token token = {id, false, text->start, text->start + size};
    text->bytes += size;
    text->size -= size;
    text->start += size;
    return token_list_add(encoder->list, token, err);
}

/* Encode the text between added tokens of the original text: normalize it, then search for the
 * added tokens of normalized texts. */
static int encode_segment(void *context, const struct aligned_text *text, struct text_range range,
                          struct err *err)
{
    struct encoder *encoder = context;
    struct text_rewriter rewriters[2] = {0};
    struct aligned_text normal;
    struct aligned_text segment = {
        .bytes = text->bytes + range.start,
        .size = range.end - range.start,
        .start = range.start,
    };
    struct added_walk walk = {
        .text = &normal,
        .normalized = true,
        .plain = encoder->plain,
        .list = encoder->list,
        .between = encode_piece,
        .context = encoder,
    };
    if (add_code(encoder, &segment, err))
        return -1;
    int failed = normalize(encoder->tokenizer->normalizers, &normal, &segment, rewriters,
                           &encoder->limits, err) ||
                 added_tokens_walk(&encoder->tokenizer->set.added, &walk, err);
    text_rewriter_release(&rewriters[0]);
    text_rewriter_release(&rewriters[1]);
    return failed ? -1 : 0;
}

int encoder_run(struct encoder *encoder, const struct token_text *text, struct err *err)
{
    const struct aligned_text original = {.bytes = text->bytes, .size = text->size};
    struct added_walk walk = {
        .text = &original,
        .plain = text->plain,
        .list = encoder->list,
        .between = encode_segment,
        .context = encoder,
    };
    encoder->plain = text->plain;
    encoder->limits = text_limits_of(text->size);
    encoder->cache = (struct piece_cache){0};
    size_t count = PIECE_CACHE_ENTRIES_MAX;
    while (count > text->size / BYTES_PER_ENTRY && count >= ENTRIES_MIN)
        count /= 2;
    if (count >= ENTRIES_MIN)
        encoder->cache = (struct piece_cache){
            .entries = heap_alloc(count, sizeof *encoder->cache.entries, NULL), .mask = count - 1};
    return added_tokens_walk(&encoder->tokenizer->set.added, &walk, err);
}

void encoder_release(struct encoder *encoder)
{
    bpe_piece_release(&encoder->piece);
    heap_free(encoder->cache.entries);
    buf_release(&encoder->scratch);
    text_rewriter_release(&encoder->spare);
    token_list_release(&encoder->found);
    heap_free(encoder->ways.sums);
    heap_free(encoder->ways.steps);
}
