#include "text/subword/bpe.h"

#include <assert.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "text/label.h"

enum { PIECE_BYTES_MAX = INT32_MAX / 2, FEW_RUNS = 8 };

int bpe_init(struct bpe *bpe, size_t merge_count, struct err *err)
{
    *bpe = (struct bpe){.room = merge_count, .unknown = BPE_NONE};
    memset(bpe->byte_ids, 0xFF, sizeof bpe->byte_ids);
    memset(bpe->fallback_ids, 0xFF, sizeof bpe->fallback_ids);
    if (merge_count > HASH_NUMBER_MAX)
        return err_set(err, "expected at most %d merges, found %zu", HASH_NUMBER_MAX, merge_count);
    arena_expect(&bpe->arena, merge_count * (sizeof *bpe->merges + 4 * sizeof *bpe->pairs.slots));
    bpe->merges = arena_room(&bpe->arena, merge_count, sizeof *bpe->merges, err);
    if (bpe->merges && hash_index_init(&bpe->pairs, merge_count, &bpe->arena, err) == 0)
        return 0;
    bpe_release(bpe);
    return -1;
}

void bpe_release(struct bpe *bpe)
{
    arena_release(&bpe->arena);
    *bpe = (struct bpe){0};
}

uint32_t bpe_word_of(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    char joined[BPE_PRODUCT_BYTES];
    size_t left_size = 0;
    size_t right_size = 0;
    uint32_t id = 0;
    const char *left_bytes = word_table_word(bpe->words, left, &left_size);
    const char *right_bytes = word_table_word(bpe->words, right, &right_size);
    const uint32_t *ranks = bpe->ranks;
    if ((ranks && (ranks[left] == BPE_FIXED || ranks[right] == BPE_FIXED)) ||
        left_size + right_size > sizeof joined)
        return BPE_NONE;
    memcpy(joined, left_bytes, left_size);
    memcpy(joined + left_size, right_bytes, right_size);
    bool found = word_table_find(bpe->words, joined, left_size + right_size, bpe->words->form, &id);
    return found && (!ranks || ranks[id] < BPE_FIXED) ? id : BPE_NONE;
}

int bpe_init_ranks(struct bpe *bpe, const struct word_table *words, const uint32_t *ranks,
                   size_t count, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    for (uint32_t id = 0; id < words->size; id++) {
        size_t size = 0;
        const char *bytes = word_table_word(words, id, &size);
        if (bytes && size > BPE_PRODUCT_BYTES)
            return err_set(err, "id %u: expected a word of at most %d bytes, found '%s'", id,
                           BPE_PRODUCT_BYTES, label_excerpt(shown, bytes, size));
    }
    if (bpe_init(bpe, 0, err))
        return -1;
    bpe->words = words;
    bpe->ranks = ranks;
    bpe->count = count;
    bpe->by_characters = words->form == WORD_TEXT;
    for (unsigned byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        word_table_find(words, &c, 1, words->form, &bpe->byte_ids[byte]);
    }
    return 0;
}

void bpe_add(struct bpe *bpe, const struct bpe_merge *merge)
{
    assert(bpe->count < bpe->room);
    bpe->merges[bpe->count++] = *merge;
}

void bpe_index(struct bpe *bpe)
{
    enum { AHEAD = 16 };
    for (size_t rank = 0; rank < bpe->count; rank++) {
        struct hash_probe probe;
        const struct bpe_merge *merge = &bpe->merges[rank];
        if (rank + AHEAD < bpe->count)
            hash_prefetch(&bpe->pairs, hash_mix(merge[AHEAD].left, merge[AHEAD].right));
        if (bpe_find(bpe, merge->left, merge->right, &probe) == BPE_NONE)
            hash_put(&probe, (uint32_t)rank);
        else
            hash_replace(&probe, (uint32_t)rank);
    }
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
    piece->tokens[piece->count++] = (struct bpe_token){id, (uint32_t)start, (uint32_t)end};
}

/* A character, which is counted once, however many of its bytes are dropped. */
static void drop(struct bpe_piece *piece, size_t start, size_t end)
{
    if (!piece->dropped++)
        piece->dropped_first = (struct bpe_token){BPE_NONE, (uint32_t)start, (uint32_t)end};
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
        begin->unknown = (struct bpe_token){begin->bpe->unknown, (uint32_t)start, 0};
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

static enum word_form form_of(const struct bpe *bpe)
{
    return bpe->by_characters ? WORD_TEXT : WORD_BYTES;
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

/* --- short pieces: what is left of them stands side by side ----------------------------------- */

static size_t lowest(const uint32_t *ranks, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (ranks[i] < ranks[best])
            best = i;
    return best;
}

/* Join token `i` with the next one; returns how many are left. */
static size_t join(const struct bpe *bpe, uint32_t *ranks, struct bpe_token *tokens, size_t i,
                   size_t count)
{
    size_t after = count - i - 2;
    tokens[i].id = bpe_product(bpe, ranks[i], tokens[i].id, tokens[i + 1].id);
    tokens[i].end = tokens[i + 1].end;
    memmove(tokens + i + 1, tokens + i + 2, after * sizeof *tokens);
    memmove(ranks + i + 1, ranks + i + 2, after * sizeof *ranks);
    ranks[i] = after ? bpe_rank(bpe, tokens[i].id, tokens[i + 1].id) : BPE_NONE;
    if (i)
        ranks[i - 1] = bpe_rank(bpe, tokens[i - 1].id, tokens[i].id);
    return count - 1;
}

static void join_short(const struct bpe *bpe, struct bpe_piece *piece)
{
    uint32_t ranks[BPE_SHORT_TOKENS];
    struct bpe_token *tokens = piece->tokens;
    for (size_t i = 0; i + 1 < piece->count; i++)
        ranks[i] = bpe_rank(bpe, tokens[i].id, tokens[i + 1].id);
    ranks[piece->count - 1] = BPE_NONE;
    for (size_t i; ranks[i = lowest(ranks, piece->count)] != BPE_NONE;)
        piece->count = join(bpe, ranks, tokens, i, piece->count);
}

/* --- all pieces ------------------------------------------------------------------------------- */

int bpe_piece_reserve(struct bpe_piece *piece, size_t size, struct err *err)
{
    piece->tokens = size <= BPE_SHORT_TOKENS ? piece->short_tokens : piece->long_tokens;
    if (size <= BPE_SHORT_TOKENS || size <= piece->room)
        return 0;
    struct bpe_token *tokens = heap_resize(piece->long_tokens, size, sizeof *tokens, err);
    if (!tokens)
        return -1;
    piece->long_tokens = piece->tokens = tokens;
    piece->room = size;
    return 0;
}

/* The end of a run: what is written before or after a character makes it another one. */
static size_t run_end(const struct beginning *begin, size_t at, size_t size)
{
    const struct bpe *bpe = begin->bpe;
    size_t end = utf8_row_end(begin->bytes, begin->size, at, size);
    if (bpe->suffix.size && end == begin->size && end > at + size)
        end -= size;
    return bpe->prefix.size && !at ? size : end;
}

/* The tokens that the character at hand begins as where it is known; else those of its bytes. */
static bool find_tokens(struct beginning *begin, size_t at, size_t size, struct bpe_run *run)
{
    const struct bpe *bpe = begin->bpe;
    bool known = true;
    uint32_t id = 0;
    size_t step = size / run->width;
    for (size_t i = 0; known && i < run->width; i++) {
        known = find_character(begin, at + i, at + i + step, &id);
        run->unit[i] = (struct bpe_unit_token){id, (uint32_t)step};
    }
    for (size_t i = 0; !known && i < size; i++) {
        id = bpe->by_characters ? bpe->fallback_ids[(unsigned char)begin->bytes[at + i]] : BPE_NONE;
        if (id == BPE_NONE)
            return false;
        run->unit[i] = (struct bpe_unit_token){id, 1};
    }
    if (!known)
        run->width = size;
    return true;
}

/* The character that comes, and how often; by bytes it has as many tokens where it comes again. */
static bool find_unit(struct beginning *begin, size_t at, struct bpe_run *run)
{
    uint32_t c = 0;
    bool by_characters = begin->bpe->by_characters;
    size_t size = utf8_decode(&c, begin->bytes + at, begin->size - at); /* 0 within a character */
    bool again = size && run_end(begin, at, size) > at + size;
    run->width = !by_characters && again ? size : 1;
    if (!by_characters && !again)
        size = 1;
    run->count = (run_end(begin, at, size) - at) / size;
    return find_tokens(begin, at, size, run);
}

/* True where a piece is a few runs of known characters, or of bytes. */
static bool find_runs(struct beginning *begin, struct bpe_runs *runs)
{
    struct bpe_run run;
    runs->count = 0;
    for (size_t at = 0; at < begin->size;) {
        if (runs->count == FEW_RUNS || !find_unit(begin, at, &run) || !bpe_runs_add(runs, &run))
            return false;
        for (size_t i = 0; i < run.width; i++)
            at += run.count * run.unit[i].size;
    }
    return true;
}

int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               struct err *err)
{
    struct beginning begin = {.bpe = bpe, .piece = piece, .bytes = bytes, .size = size};
    uint32_t id = 0;
    piece->count = piece->dropped = piece->runs.count = piece->runs.at = 0;
    if (size > PIECE_BYTES_MAX)
        return err_set(err, "expected at most %d bytes in a row that nothing cuts, found %zu",
                       PIECE_BYTES_MAX, size);
    if (bpe_piece_reserve(piece, BPE_SHORT_TOKENS, err))
        return -1;
    if (bpe->takes_whole && word_table_find(bpe->words, bytes, size, form_of(bpe), &id)) {
        put(piece, id, 0, size);
        return 0;
    }
    if (size > BPE_SHORT_TOKENS && find_runs(&begin, &piece->runs) &&
        bpe_join_runs(bpe, &piece->runs)) {
        bpe_go_on(piece);
        return 0;
    }
    piece->runs.count = 0;
    if (bpe_piece_reserve(piece, size, err))
        return -1;
    begin_tokens(&begin);
    if (buf_check(&piece->scratch, err))
        return -1;
    if (piece->count > BPE_SHORT_TOKENS)
        return bpe_join_long(bpe, piece, err);
    if (piece->count)
        join_short(bpe, piece);
    return 0;
}

void bpe_piece_release(struct bpe_piece *piece)
{
    bpe_queue_free(piece->queue);
    heap_free(piece->links);
    heap_free(piece->long_tokens);
    buf_release(&piece->scratch);
    *piece = (struct bpe_piece){0};
}
