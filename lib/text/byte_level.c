#include "text/byte_level.h"

#include <string.h>

#include "base/heap.h"
#include "text/bpe_split.h"
#include "text/piece_cache.h"

/* One text on its way through. */
struct coder {
    const struct byte_level *level;
    struct token_list *list;
    const char *text;
    struct bpe_piece piece;
    struct piece_cache cache;
    struct err *err;
};

/* A stretch of the text without added tokens. */
struct stretch {
    const char *bytes;
    size_t size;
    size_t start;  /* where it stands in the text */
    size_t blanks; /* bytes at its front that do not: 0, or 1 for the blank that was put there */
};

/* Where a byte of the stretch stands in the text. */
static size_t place_of(const struct stretch *stretch, size_t at)
{
    return stretch->start + (at > stretch->blanks ? at - stretch->blanks : 0);
}

static int add(struct coder *coder, const struct stretch *stretch, uint32_t id, size_t start,
               size_t end)
{
    struct token token = {id, place_of(stretch, start), place_of(stretch, end)};
    return token_list_add(coder->list, token, coder->err);
}

static int add_known(struct coder *coder, const struct stretch *stretch, size_t at,
                     const struct piece_entry *entry)
{
    size_t start = at;
    for (size_t i = 0; i < entry->count; i++) {
        size_t end = at + entry->ends[i];
        if (add(coder, stretch, entry->ids[i], start, end))
            return -1;
        start = end;
    }
    return 0;
}

static int add_merged(struct coder *coder, const struct stretch *stretch, size_t at)
{
    size_t start = at;
    for (size_t i = 0; i < coder->piece.count; i++) {
        struct bpe_token token = coder->piece.tokens[i];
        if (add(coder, stretch, token.id, start, at + token.end))
            return -1;
        start = at + token.end;
    }
    return 0;
}

static int encode_piece(struct coder *coder, const struct stretch *stretch, size_t at, size_t size)
{
    const char *bytes = stretch->bytes + at;
    struct piece_entry *entry = piece_cache_at(&coder->cache, bytes, size);
    if (entry && piece_entry_is(entry, bytes, size))
        return add_known(coder, stretch, at, entry);
    if (bpe_encode(&coder->level->bpe, &coder->piece, bytes, size, place_of(stretch, at),
                   coder->err))
        return -1;
    if (entry)
        piece_entry_set(entry, bytes, size, coder->piece.tokens, coder->piece.count);
    return add_merged(coder, stretch, at);
}

static int encode_pieces(struct coder *coder, const struct stretch *stretch)
{
    struct bpe_splitter splitter = bpe_splitter(stretch->bytes, stretch->size);
    for (size_t at = 0, end; at < stretch->size; at = end) {
        end = bpe_split(&splitter, at);
        if (encode_piece(coder, stretch, at, end - at))
            return -1;
    }
    return 0;
}

/* The stretch with a blank before it. */
static int encode_prefixed(struct coder *coder, const struct stretch *stretch)
{
    char *copy = heap_alloc(stretch->size + 1, 1, coder->err);
    if (!copy)
        return -1;
    struct stretch prefixed = {copy, stretch->size + 1, stretch->start, 1};
    copy[0] = ' ';
    memcpy(copy + 1, stretch->bytes, stretch->size);
    int failed = encode_pieces(coder, &prefixed);
    heap_free(copy);
    return failed;
}

/* What lies between added tokens. */
static int encode_stretch(void *context, size_t start, size_t end, struct err *err)
{
    struct coder *coder = context;
    struct stretch stretch = {coder->text + start, end - start, start, 0};
    coder->err = err;
    if (coder->level->prefix_space && coder->text[start] != ' ')
        return encode_prefixed(coder, &stretch);
    return encode_pieces(coder, &stretch);
}

int byte_level_encode(const struct byte_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err)
{
    struct coder coder = {.level = level, .list = list, .text = text->bytes, .err = err};
    struct added_walk walk = {
        .text = text,
        .list = list,
        .between = encode_stretch,
        .context = &coder,
    };
    piece_cache_init(&coder.cache, text->size);
    int failed = added_tokens_walk(&level->set.added, &walk, err);
    piece_cache_release(&coder.cache);
    bpe_piece_release(&coder.piece);
    return failed;
}

void byte_level_release(struct byte_level *level)
{
    token_set_release(&level->set);
    bpe_release(&level->bpe);
    *level = (struct byte_level){0};
}
