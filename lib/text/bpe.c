#include "text/bpe.h"

#include <assert.h>
#include <string.h>

#include "base/heap.h"

int bpe_init(struct bpe *bpe, size_t merge_count, struct err *err)
{
    *bpe = (struct bpe){.room = merge_count};
    for (size_t i = 0; i < sizeof bpe->byte_ids / sizeof *bpe->byte_ids; i++)
        bpe->byte_ids[i] = BPE_NONE;
    if (merge_count > HASH_NUMBER_MAX)
        return err_set(err, "expected at most %d merges, found %zu", HASH_NUMBER_MAX, merge_count);
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

/* The rank at which two neighbours are joined; the probe stands after it. */
static inline uint32_t find_rank(const struct bpe *bpe, uint32_t left, uint32_t right,
                                 struct hash_probe *probe)
{
    uint32_t rank = 0;
    *probe = hash_probe(&bpe->pairs, hash_mix(left, right));
    while (hash_next(probe, &rank))
        if (bpe->merges[rank].left == left && bpe->merges[rank].right == right)
            return rank;
    return BPE_NONE;
}

static inline uint32_t rank_of(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    struct hash_probe probe;
    return find_rank(bpe, left, right, &probe);
}

void bpe_add(struct bpe *bpe, const struct bpe_merge *merge)
{
    struct hash_probe probe;
    assert(bpe->count < bpe->room);
    uint32_t rank = (uint32_t)bpe->count++;
    uint32_t known = find_rank(bpe, merge->left, merge->right, &probe);
    bpe->merges[rank] = *merge;
    if (known == BPE_NONE)
        hash_put(&probe, rank);
    else
        hash_replace(&probe, rank);
}

static int refuse_byte(unsigned char byte, size_t offset, struct err *err)
{
    return err_set(err, "the byte 0x%02x at byte %zu has no token in the vocabulary", byte, offset);
}

/* --- short pieces: what is left of them stands side by side ----------------------------------- */

/* One token of what is left, and the rank at which it joins the next. */
struct part {
    uint32_t id;
    uint32_t rank;
};

static size_t lowest(const struct part *parts, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (parts[i].rank < parts[best].rank)
            best = i;
    return best;
}

/* Join part `i` with the next one; returns how many are left. */
static size_t join(const struct bpe *bpe, struct part *parts, struct bpe_token *tokens, size_t i,
                   size_t count)
{
    size_t after = count - i - 2;
    parts[i].id = bpe->merges[parts[i].rank].id;
    memmove(parts + i + 1, parts + i + 2, after * sizeof *parts);
    memmove(tokens + i, tokens + i + 1, (after + 1) * sizeof *tokens); /* their ends */
    parts[i].rank = after ? rank_of(bpe, parts[i].id, parts[i + 1].id) : BPE_NONE;
    if (i)
        parts[i - 1].rank = rank_of(bpe, parts[i - 1].id, parts[i].id);
    return count - 1;
}

static int encode_short(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes,
                        size_t size, size_t offset, struct err *err)
{
    struct part parts[BPE_SHORT_BYTES];
    struct bpe_token *tokens = piece->short_tokens;
    size_t count = size;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        parts[i] = (struct part){.id = bpe->byte_ids[byte], .rank = BPE_NONE};
        tokens[i].end = (uint32_t)i + 1;
        if (parts[i].id == BPE_NONE)
            return refuse_byte(byte, offset + i, err);
        if (i)
            parts[i - 1].rank = rank_of(bpe, parts[i - 1].id, parts[i].id);
    }
    for (size_t i; parts[i = lowest(parts, count)].rank != BPE_NONE;)
        count = join(bpe, parts, tokens, i, count);
    for (size_t i = 0; i < count; i++)
        tokens[i].id = parts[i].id;
    piece->tokens = tokens;
    piece->count = count;
    return 0;
}

/* --- long pieces: a list through the bytes, and a heap of its pairs --------------------------- */

enum { PIECE_BYTES_MAX = INT32_MAX }; /* places are 32 bits */

/* The token that begins at a byte of the piece, if one does. */
struct bpe_symbol {
    uint32_t id;       /* BPE_NONE: none does, the byte was joined to those before it */
    uint32_t previous; /* where the token before it begins; the piece's size: there is none */
    uint32_t next;     /* where the one after it begins; the piece's size: there is none */
};

/* One long piece on its way. An entry of the heap is a pair's rank, then its place, in one number:
 * the least is the leftmost of the lowest rank. The entry of a pair that is gone stays, and is
 * passed over when it comes up. */
struct long_piece {
    const struct bpe *bpe;
    struct bpe_symbol *symbols;
    uint32_t size;
    uint64_t *heap;
    size_t heap_count;
};

static void sift_down(uint64_t *heap, size_t count, size_t at)
{
    uint64_t entry = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= entry)
            break;
        heap[at] = heap[child];
    }
    heap[at] = entry;
}

static void sift_up(uint64_t *heap, size_t at)
{
    uint64_t entry = heap[at];
    for (size_t parent; at > 0 && heap[parent = (at - 1) / 2] > entry; at = parent)
        heap[at] = heap[parent];
    heap[at] = entry;
}

/* Put the pair that begins at `at` at the end of the heap, if it has a rank. */
static bool append_pair(struct long_piece *work, uint32_t at)
{
    const struct bpe_symbol *left = &work->symbols[at];
    if (left->next == work->size)
        return false;
    uint32_t rank = rank_of(work->bpe, left->id, work->symbols[left->next].id);
    if (rank == BPE_NONE)
        return false;
    work->heap[work->heap_count++] = (uint64_t)rank << 32 | at;
    return true;
}

static void push_pair(struct long_piece *work, uint32_t at)
{
    if (append_pair(work, at))
        sift_up(work->heap, work->heap_count - 1);
}

static uint64_t pop(struct long_piece *work)
{
    uint64_t least = work->heap[0];
    work->heap[0] = work->heap[--work->heap_count];
    if (work->heap_count)
        sift_down(work->heap, work->heap_count, 0);
    return least;
}

/* Join the pair of a heap's entry, if it is still there. */
static void join_pair(struct long_piece *work, uint64_t entry)
{
    struct bpe_symbol *symbols = work->symbols;
    const struct bpe_merge *merge = &work->bpe->merges[entry >> 32];
    uint32_t at = (uint32_t)entry;
    struct bpe_symbol *left = &symbols[at];
    if (left->id != merge->left || left->next == work->size ||
        symbols[left->next].id != merge->right)
        return;
    struct bpe_symbol *right = &symbols[left->next];
    left->id = merge->id;
    left->next = right->next;
    right->id = BPE_NONE;
    if (left->next != work->size)
        symbols[left->next].previous = at;
    push_pair(work, at);
    if (left->previous != work->size)
        push_pair(work, left->previous);
}

static int fill_symbols(const struct long_piece *work, const char *bytes, size_t offset,
                        struct err *err)
{
    for (uint32_t i = 0; i < work->size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        work->symbols[i] = (struct bpe_symbol){
            .id = work->bpe->byte_ids[byte],
            .previous = i ? i - 1 : work->size,
            .next = i + 1,
        };
        if (work->symbols[i].id == BPE_NONE)
            return refuse_byte(byte, offset + i, err);
    }
    return 0;
}

/* The heap is empty by now: its memory takes the tokens. */
static void collect(const struct long_piece *work, struct bpe_piece *piece)
{
    piece->count = 0;
    piece->tokens = (struct bpe_token *)piece->heap;
    for (uint32_t at = 0; at < work->size;) {
        struct bpe_symbol symbol = work->symbols[at];
        piece->tokens[piece->count++] = (struct bpe_token){symbol.id, symbol.next};
        at = symbol.next;
    }
}

static int reserve(struct bpe_piece *piece, size_t size, struct err *err)
{
    if (size <= piece->room)
        return 0;
    /* The heap begins with less than an entry a byte; a merge takes one out and adds up to two. */
    struct bpe_symbol *symbols = heap_resize(piece->symbols, size, sizeof *symbols, err);
    if (!symbols)
        return -1;
    piece->symbols = symbols;
    uint64_t *heap = heap_resize(piece->heap, size, 2 * sizeof *heap, err);
    if (!heap)
        return -1;
    piece->heap = heap;
    piece->room = size;
    return 0;
}

static int encode_long(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes,
                       size_t size, size_t offset, struct err *err)
{
    if (size > PIECE_BYTES_MAX)
        return err_set(err,
                       "expected at most %d bytes without a blank or mark, found %zu at byte "
                       "%zu",
                       PIECE_BYTES_MAX, size, offset);
    if (reserve(piece, size, err))
        return -1;
    struct long_piece work = {bpe, piece->symbols, (uint32_t)size, piece->heap, 0};
    if (fill_symbols(&work, bytes, offset, err))
        return -1;
    for (uint32_t at = 0; at < work.size; at++)
        append_pair(&work, at);
    for (size_t at = work.heap_count / 2; at > 0; at--)
        sift_down(work.heap, work.heap_count, at - 1);
    while (work.heap_count)
        join_pair(&work, pop(&work));
    collect(&work, piece);
    return 0;
}

int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               size_t offset, struct err *err)
{
    return (size <= BPE_SHORT_BYTES ? encode_short : encode_long)(bpe, piece, bytes, size, offset,
                                                                  err);
}

void bpe_piece_release(struct bpe_piece *piece)
{
    heap_free(piece->symbols);
    heap_free(piece->heap);
    piece->symbols = NULL;
    piece->heap = NULL;
    piece->room = 0;
}
