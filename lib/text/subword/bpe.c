#include "text/subword/bpe.h"

#include "base/memory.h"
#include "base/utf8.h"

enum { PIECE_BYTES_MAX = INT32_MAX / 2, FIRST_TOKENS = 64, INDEX_BYTES = 16 };

/* --- merges ----------------------------------------------------------------------------------- */

static enum word_form form_of(const struct bpe *bpe)
{
    return bpe->by_characters ? WORD_TEXT : WORD_BYTES;
}

void bpe_init(struct bpe *bpe, const struct word_table *words)
{
    *bpe = (struct bpe){
        .words = words, .by_characters = words->form != WORD_BYTES, .unknown = BPE_NONE};
    memset(bpe->byte_ids, 0xFF, sizeof bpe->byte_ids);
    memset(bpe->fallback_ids, 0xFF, sizeof bpe->fallback_ids);
    for (unsigned byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        word_table_find(words, &c, 1, form_of(bpe), &bpe->byte_ids[byte]);
    }
}

void bpe_release(struct bpe *bpe)
{
    arena_release(&bpe->arena);
    *bpe = (struct bpe){0};
}

/* Most vocabularies have a word for each merge: room for so many, and for their index, comes at
 * once, in a large page. */
static int grow(struct bpe *bpe, struct err *err)
{
    size_t capacity = bpe->capacity ? 2 * bpe->capacity : bpe->words->most_words + 1;
    if (!bpe->capacity)
        arena_expect(&bpe->arena, capacity * (sizeof *bpe->merges + INDEX_BYTES));
    struct bpe_merge *merges = arena_room(&bpe->arena, capacity, sizeof *merges, err);
    if (!merges)
        return -1;
    if (bpe->count)
        memcpy(merges, bpe->merges, bpe->count * sizeof *merges);
    bpe->merges = merges;
    bpe->capacity = capacity;
    return 0;
}

int bpe_add(struct bpe *bpe, const struct bpe_merge *merge, struct err *err)
{
    if (bpe->count == HASH_NUMBER_MAX)
        return err_set(err, "expected at most %d merges, found more", HASH_NUMBER_MAX);
    if (bpe->count == bpe->capacity && grow(bpe, err))
        return -1;
    bpe->merges[bpe->count++] = *merge;
    return 0;
}

/* The merge of a pair, or BPE_NONE; the probe stands after it. */
static inline uint32_t find_merge(const struct bpe *bpe, uint32_t left, uint32_t right,
                                  struct hash_probe *probe)
{
    uint32_t number = 0;
    *probe = hash_probe(&bpe->pairs, hash_mix(left, right));
    while (hash_next(probe, &number))
        if (bpe->merges[number].left == left && bpe->merges[number].right == right)
            return number;
    return BPE_NONE;
}

int bpe_index(struct bpe *bpe, struct err *err)
{
    enum { AHEAD = 16 };
    if (hash_index_init(&bpe->pairs, bpe->count, &bpe->arena, err))
        return -1;
    for (size_t number = 0; number < bpe->count; number++) {
        struct hash_probe probe;
        const struct bpe_merge *merge = &bpe->merges[number];
        if (number + AHEAD < bpe->count)
            hash_prefetch(&bpe->pairs, hash_mix(merge[AHEAD].left, merge[AHEAD].right));
        if (find_merge(bpe, merge->left, merge->right, &probe) == BPE_NONE)
            hash_put(&probe, (uint32_t)number);
        else
            hash_replace(&probe, (uint32_t)number);
    }
    return 0;
}

bool bpe_drops(const struct bpe *bpe)
{
    const uint32_t *ids = bpe->by_characters ? bpe->fallback_ids : bpe->byte_ids;
    for (int byte = 0; byte < 256; byte++)
        if (bpe->unknown == BPE_NONE && ids[byte] == BPE_NONE)
            return true;
    return false;
}

/* --- what a piece begins as ------------------------------------------------------------------- */

/* A piece on its way to its first tokens. */
struct beginning {
    const struct bpe *bpe;
    struct bpe_piece *piece;
    const char *bytes;
    size_t size;
    struct bpe_token unknown; /* one that may grow, when there is one */
    bool has_unknown;
};

static void put(struct bpe_piece *piece, uint32_t id, size_t start, size_t end)
{
    piece->tokens[piece->count++] =
        (struct bpe_token){.id = id, .start = (uint32_t)start, .end = (uint32_t)end};
}

/* A character, which is counted once, however many of its bytes are dropped. */
static void drop(struct bpe_piece *piece, size_t start, size_t end)
{
    if (!piece->dropped++)
        piece->dropped_first =
            (struct bpe_token){.id = BPE_NONE, .start = (uint32_t)start, .end = (uint32_t)end};
}

/* Put the unknown token after those that overtook it, so that places rise. */
static void flush_unknown(struct beginning *begin)
{
    const struct bpe_piece *piece = begin->piece;
    uint32_t before = piece->count ? piece->tokens[piece->count - 1].end : 0;
    struct bpe_token unknown = begin->unknown;
    if (begin->has_unknown)
        put(begin->piece, unknown.id, unknown.start > before ? unknown.start : before,
            unknown.end > before ? unknown.end : before);
    begin->has_unknown = false;
}

static void put_unknown(struct beginning *begin, size_t start, size_t end)
{
    if (!begin->bpe->fuses_unknown)
        flush_unknown(begin);
    if (!begin->has_unknown)
        begin->unknown = (struct bpe_token){.id = begin->bpe->unknown, .start = (uint32_t)start};
    begin->unknown.end = (uint32_t)end;
    begin->has_unknown = true;
}

static bool goes_on(const struct beginning *begin, size_t at)
{
    return at < begin->size && ((unsigned char)begin->bytes[at] & 0xC0) == 0x80;
}

/* Drop the character that a byte is of, from `counted` on; returns its end. */
static size_t drop_around(const struct beginning *begin, size_t at, size_t counted)
{
    size_t start = at;
    size_t end = at + 1;
    while (start > counted && goes_on(begin, start))
        start--;
    while (goes_on(begin, end))
        end++;
    drop(begin->piece, start, end);
    return end;
}

/* The entry of a character, or of a byte, with what is written before or after it. */
static bool find_character(struct beginning *begin, size_t start, size_t end, uint32_t *id)
{
    const struct bpe *bpe = begin->bpe;
    const char *bytes = begin->bytes + start;
    bool prefixed = start > 0 && bpe->prefix.size;
    bool suffixed = end == begin->size && bpe->suffix.size;
    if (!prefixed && !suffixed && end - start == 1) {
        *id = bpe->byte_ids[(unsigned char)*bytes];
        return *id != BPE_NONE;
    }
    if (!prefixed && !suffixed)
        return word_table_find(bpe->words, bytes, end - start, form_of(bpe), id);
    struct buf *written = &begin->piece->scratch;
    buf_clear(written);
    if (prefixed)
        buf_bytes(written, bpe->prefix.bytes, bpe->prefix.size);
    buf_bytes(written, bytes, end - start);
    if (suffixed)
        buf_bytes(written, bpe->suffix.bytes, bpe->suffix.size);
    return !written->out_of_memory &&
           word_table_find(bpe->words, written->bytes, written->size, form_of(bpe), id);
}

/* True when every byte of a character has a token of its own, which are put. */
static bool fall_back(const struct beginning *begin, size_t start, size_t end)
{
    const uint32_t *ids = begin->bpe->fallback_ids;
    for (size_t i = start; i < end; i++)
        if (ids[(unsigned char)begin->bytes[i]] == BPE_NONE)
            return false;
    for (size_t i = start; i < end; i++)
        put(begin->piece, ids[(unsigned char)begin->bytes[i]], i, i + 1);
    return true;
}

/* An unknown character waits for the next known one, as Hugging Face has it: bytes that stand for a
 * character between the two come before it. */
static void begin_tokens(struct beginning *begin)
{
    const struct bpe *bpe = begin->bpe;
    size_t counted = 0; /* the end of the last character that was dropped */
    uint32_t id = 0;
    uint32_t character = 0;
    for (size_t at = 0, end; at < begin->size; at = end) {
        end = at + 1;
        if (bpe->by_characters)
            end = at + utf8_decode(&character, begin->bytes + at, begin->size - at);
        if (find_character(begin, at, end, &id)) {
            flush_unknown(begin);
            put(begin->piece, id, at, end);
        } else if (fall_back(begin, at, end)) {
            continue;
        } else if (bpe->unknown != BPE_NONE) {
            put_unknown(begin, at, end);
        } else if (at >= counted) {
            counted = drop_around(begin, at, counted);
        }
    }
    flush_unknown(begin);
}

/* --- joining ---------------------------------------------------------------------------------- */

static void push(struct bpe_piece *piece, uint64_t entry)
{
    uint64_t *queue = piece->queue;
    size_t at = piece->queued++;
    for (; at > 0 && queue[(at - 1) / 2] > entry; at = (at - 1) / 2)
        queue[at] = queue[(at - 1) / 2];
    queue[at] = entry;
}

static uint64_t pop(struct bpe_piece *piece)
{
    uint64_t *queue = piece->queue;
    uint64_t first = queue[0];
    size_t count = --piece->queued;
    uint64_t entry = queue[count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && queue[child + 1] < queue[child];
        if (queue[child] >= entry)
            break;
        queue[at] = queue[child];
    }
    queue[at] = entry;
    return first;
}

/* Find the merge of a token and the next one, and queue the pair. */
static void queue_pair(const struct bpe *bpe, struct bpe_piece *piece, uint32_t at)
{
    struct hash_probe probe;
    struct bpe_token *token = &piece->tokens[at];
    token->merge = BPE_NONE;
    if (token->next == piece->count)
        return;
    token->merge = find_merge(bpe, token->id, piece->tokens[token->next].id, &probe);
    if (token->merge != BPE_NONE)
        push(piece, (uint64_t)bpe->merges[token->merge].rank << 32 | at);
}

/* Join the pair at a token, whose neighbours then have other merges. */
static void join_pair(const struct bpe *bpe, struct bpe_piece *piece, uint32_t at)
{
    struct bpe_token *token = &piece->tokens[at];
    struct bpe_token *right = &piece->tokens[token->next];
    token->id = bpe->merges[token->merge].id;
    token->end = right->end;
    token->next = right->next;
    right->id = right->merge = BPE_NONE;
    if (token->next < piece->count)
        piece->tokens[token->next].previous = at;
    if (token->previous != BPE_NONE)
        queue_pair(bpe, piece, token->previous);
    queue_pair(bpe, piece, at);
}

/* A pair that is no longer there, or has another rank by now, stays in the queue and is skipped.
 * Each join takes one pair out and puts in two at most, so that there are never more than twice as
 * many as tokens. */
static void join_all(const struct bpe *bpe, struct bpe_piece *piece)
{
    struct bpe_token *tokens = piece->tokens;
    uint32_t count = (uint32_t)piece->count;
    piece->queued = 0;
    for (uint32_t at = 0; at < count; at++) {
        tokens[at].previous = at ? at - 1 : BPE_NONE;
        tokens[at].next = at + 1;
        queue_pair(bpe, piece, at);
    }
    while (piece->queued) {
        uint64_t entry = pop(piece);
        uint32_t at = (uint32_t)entry;
        uint32_t merge = tokens[at].merge;
        if (merge != BPE_NONE && bpe->merges[merge].rank == entry >> 32)
            join_pair(bpe, piece, at);
    }
    piece->count = 0;
    for (uint32_t at = 0; at < count; at++)
        if (tokens[at].id != BPE_NONE)
            tokens[piece->count++] = tokens[at];
}

/* --- all of a piece --------------------------------------------------------------------------- */

static int reserve(struct bpe_piece *piece, size_t size, struct err *err)
{
    size_t capacity = size < FIRST_TOKENS ? FIRST_TOKENS : size;
    if (size <= piece->capacity)
        return 0;
    struct bpe_token *tokens = heap_resize(piece->tokens, capacity, sizeof *tokens, err);
    if (!tokens)
        return -1;
    piece->tokens = tokens;
    uint64_t *queue = heap_resize(piece->queue, 2 * capacity, sizeof *queue, err);
    if (!queue)
        return -1;
    piece->queue = queue;
    piece->capacity = capacity;
    return 0;
}

int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               struct err *err)
{
    struct beginning begin = {.bpe = bpe, .piece = piece, .bytes = bytes, .size = size};
    uint32_t id = 0;
    piece->count = piece->dropped = 0;
    if (size > PIECE_BYTES_MAX)
        return err_set(err, "expected at most %d bytes without a split, found %zu", PIECE_BYTES_MAX,
                       size);
    if (reserve(piece, size, err))
        return -1;
    if (bpe->takes_whole && word_table_find(bpe->words, bytes, size, form_of(bpe), &id)) {
        put(piece, id, 0, size);
        return 0;
    }
    begin_tokens(&begin);
    if (buf_check(&piece->scratch, err))
        return -1;
    join_all(bpe, piece);
    return 0;
}

void bpe_piece_release(struct bpe_piece *piece)
{
    heap_free(piece->tokens);
    heap_free(piece->queue);
    buf_release(&piece->scratch);
    *piece = (struct bpe_piece){0};
}
