/* bpe_long.c: a long piece: a list through its tokens, and a queue of its pairs.
 *
 * The next pair is the leftmost of the lowest rank. Pairs of a rank come up from left to right, but
 * for few: each rank has a list of them, a heap holds the ranks that have one, and what comes out
 * of order stands in a heap of its own. A pair that is gone stays, and is passed over. */
#include <string.h>

#include "base/heap.h"
#include "text/subword/bpe.h"

enum { FIRST_ROOM = 256 };

struct bpe_link {
    uint32_t previous, next; /* tokens; the piece's count: there is none */
};

/* A pair, by its left token. */
struct pair {
    uint32_t at;
    uint32_t next; /* in its rank's list: 1 + its number; 0: the last */
};

struct pair_list {
    uint32_t first, last; /* 1 + a pair's number; 0: the list is empty */
};

struct bpe_queue {
    struct pair_list *lists; /* [merges] by rank */
    uint32_t *ranks;         /* [merges] a heap of those that have a list */
    size_t rank_count;
    struct pair *pairs;
    size_t pair_count, pair_room;
    uint32_t free;    /* 1 + the number of a pair that is done; it names the next such */
    uint64_t *strays; /* a heap of ranks and tokens, in one number */
    size_t stray_count, stray_room;
};

/* --- heaps of numbers, the least in front ----------------------------------------------------- */

#define DEFINE_HEAP(TYPE)                                               \
    static void put_##TYPE(TYPE *heap, size_t count, TYPE entry)        \
    {                                                                   \
        size_t at = count;                                              \
        for (; at > 0 && heap[(at - 1) / 2] > entry; at = (at - 1) / 2) \
            heap[at] = heap[(at - 1) / 2];                              \
        heap[at] = entry;                                               \
    }                                                                   \
                                                                        \
    /* Take the first of `count` out. */                                \
    static void drop_##TYPE(TYPE *heap, size_t count)                   \
    {                                                                   \
        size_t at = 0;                                                  \
        size_t left = count - 1;                                        \
        TYPE entry = heap[left];                                        \
        for (size_t child; (child = 2 * at + 1) < left; at = child) {   \
            child += child + 1 < left && heap[child + 1] < heap[child]; \
            if (heap[child] >= entry)                                   \
                break;                                                  \
            heap[at] = heap[child];                                     \
        }                                                               \
        heap[at] = entry;                                               \
    }

DEFINE_HEAP(uint32_t)
DEFINE_HEAP(uint64_t)

/* --- the queue -------------------------------------------------------------------------------- */

static struct bpe_queue *queue_new(size_t merges, struct err *err)
{
    struct bpe_queue *queue = heap_alloc(1, sizeof *queue, err);
    if (!queue)
        return NULL;
    queue->lists = heap_alloc(merges + 1, sizeof *queue->lists, err);
    queue->ranks = heap_alloc(merges + 1, sizeof *queue->ranks, err);
    if (queue->lists && queue->ranks)
        return queue;
    bpe_queue_free(queue);
    return NULL;
}

void bpe_queue_free(struct bpe_queue *queue)
{
    if (!queue)
        return;
    heap_free(queue->lists);
    heap_free(queue->ranks);
    heap_free(queue->pairs);
    heap_free(queue->strays);
    heap_free(queue);
}

static int put_stray(struct bpe_queue *queue, uint32_t rank, uint32_t at, struct err *err)
{
    if (queue->stray_count == queue->stray_room) {
        size_t room = queue->stray_room ? 2 * queue->stray_room : FIRST_ROOM;
        uint64_t *strays = heap_resize(queue->strays, room, sizeof *strays, err);
        if (!strays)
            return -1;
        queue->strays = strays;
        queue->stray_room = room;
    }
    put_uint64_t(queue->strays, queue->stray_count++, (uint64_t)rank << 32 | at);
    return 0;
}

/* A pair that is free; 0 when there is no memory for one. */
static uint32_t take_pair(struct bpe_queue *queue, struct err *err)
{
    uint32_t number = queue->free;
    if (number) {
        queue->free = queue->pairs[number - 1].next;
        return number;
    }
    if (queue->pair_count == queue->pair_room) {
        size_t room = queue->pair_room ? queue->pair_room + queue->pair_room / 2 : FIRST_ROOM;
        struct pair *pairs = heap_resize(queue->pairs, room, sizeof *pairs, err);
        if (!pairs)
            return 0;
        queue->pairs = pairs;
        queue->pair_room = room;
    }
    return (uint32_t)++queue->pair_count;
}

static int put_pair(struct bpe_queue *queue, uint32_t rank, uint32_t at, struct err *err)
{
    struct pair_list *list = &queue->lists[rank];
    if (list->last && queue->pairs[list->last - 1].at >= at)
        return put_stray(queue, rank, at, err);
    uint32_t number = take_pair(queue, err);
    if (!number)
        return -1;
    queue->pairs[number - 1] = (struct pair){.at = at};
    if (list->last)
        queue->pairs[list->last - 1].next = number;
    else
        list->first = number;
    if (!list->last)
        put_uint32_t(queue->ranks, queue->rank_count++, rank);
    list->last = number;
    return 0;
}

/* Take the next pair out; false when there is none. */
static bool take_next(struct bpe_queue *queue, uint32_t *rank, uint32_t *at)
{
    uint64_t stray = queue->stray_count ? queue->strays[0] : UINT64_MAX;
    uint64_t first = UINT64_MAX;
    struct pair_list *list = NULL;
    if (queue->rank_count) {
        list = &queue->lists[queue->ranks[0]];
        first = (uint64_t)queue->ranks[0] << 32 | queue->pairs[list->first - 1].at;
    }
    if (stray == UINT64_MAX && first == UINT64_MAX)
        return false;
    *rank = (uint32_t)((stray < first ? stray : first) >> 32);
    *at = (uint32_t)(stray < first ? stray : first);
    if (stray < first) {
        drop_uint64_t(queue->strays, queue->stray_count--);
        return true;
    }
    uint32_t number = list->first;
    list->first = queue->pairs[number - 1].next;
    queue->pairs[number - 1].next = queue->free;
    queue->free = number;
    if (!list->first) {
        list->last = 0;
        drop_uint32_t(queue->ranks, queue->rank_count--);
    }
    return true;
}

/* --- the piece -------------------------------------------------------------------------------- */

/* Enter the pair that begins at a token, if it has a rank. */
static int enter(const struct bpe *bpe, struct bpe_piece *piece, uint32_t at, uint32_t end,
                 struct err *err)
{
    uint32_t next = piece->links[at].next;
    if (next == end)
        return 0;
    uint32_t rank = bpe_rank(bpe, piece->tokens[at].id, piece->tokens[next].id);
    return rank == BPE_NONE ? 0 : put_pair(piece->queue, rank, at, err);
}

/* Join a pair, if it is still there. */
static int join(const struct bpe *bpe, struct bpe_piece *piece, uint32_t rank, uint32_t at,
                struct err *err)
{
    struct bpe_token *tokens = piece->tokens;
    struct bpe_link *link = &piece->links[at];
    uint32_t end = (uint32_t)piece->count;
    if (tokens[at].id == BPE_NONE || link->next == end)
        return 0;
    struct bpe_token *right = &tokens[link->next];
    uint32_t joined = bpe_product(bpe, rank, tokens[at].id, right->id);
    if (joined == BPE_NONE)
        return 0;
    tokens[at].id = joined;
    tokens[at].end = right->end;
    right->id = BPE_NONE;
    link->next = piece->links[link->next].next;
    if (link->next != end)
        piece->links[link->next].previous = at;
    if (link->previous != end && enter(bpe, piece, link->previous, end, err))
        return -1;
    return enter(bpe, piece, at, end, err);
}

static void collect(struct bpe_piece *piece)
{
    size_t kept = 0;
    for (size_t i = 0; i < piece->count; i++)
        if (piece->tokens[i].id != BPE_NONE)
            piece->tokens[kept++] = piece->tokens[i];
    piece->count = kept;
}

static int begin(const struct bpe *bpe, struct bpe_piece *piece, struct err *err)
{
    struct bpe_link *links = heap_resize(piece->links, piece->room, sizeof *links, err);
    if (!links)
        return -1;
    piece->links = links;
    if (!piece->queue && !(piece->queue = queue_new(bpe->count, err)))
        return -1;
    uint32_t count = (uint32_t)piece->count;
    for (uint32_t at = 0; at < count; at++) {
        links[at] = (struct bpe_link){at ? at - 1 : count, at + 1};
        if (enter(bpe, piece, at, count, err))
            return -1;
    }
    return 0;
}

static int join_all(const struct bpe *bpe, struct bpe_piece *piece, struct err *err)
{
    uint32_t rank = 0;
    uint32_t at = 0;
    if (begin(bpe, piece, err))
        return -1;
    while (take_next(piece->queue, &rank, &at))
        if (join(bpe, piece, rank, at, err))
            return -1;
    collect(piece);
    return 0;
}

int bpe_join_long(const struct bpe *bpe, struct bpe_piece *piece, struct err *err)
{
    if (!join_all(bpe, piece, err))
        return 0;
    bpe_queue_free(piece->queue); /* it still holds pairs */
    piece->queue = NULL;
    return -1;
}
