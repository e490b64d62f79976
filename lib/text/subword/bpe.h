/* bpe.h: byte-pair encoding: of all neighbours that have a merge, those of the lowest rank are
 * joined first, from left to right, until none has one.
 *
 *     struct bpe_piece piece = {0};
 *     if (bpe_encode(&bpe, &piece, bytes, size, err)) ...
 *     bpe_piece_release(&piece);
 *
 * A piece begins as its bytes (GPT-2, Llama 3) or as its characters (Llama 2, Gemma). What has no
 * entry becomes the bytes' own tokens, <0xE2>, or the unknown token, or nothing.
 */
#ifndef ATTN_TEXT_SUBWORD_BPE_H
#define ATTN_TEXT_SUBWORD_BPE_H

#include "base/buf.h"
#include "text/word_table.h"

#define BPE_NONE UINT32_MAX        /* no token, no rank */
#define BPE_FIXED (UINT32_MAX - 1) /* the rank of a word that is never joined with another */

enum { BPE_SHORT_TOKENS = 64, BPE_PRODUCT_BYTES = 1024 /* of a word that ranks make */ };

/* --- the merges --- */
struct bpe_merge {
    uint32_t left;
    uint32_t right;
    uint32_t id; /* what they become */
};

struct bpe {
    bool by_characters;             /* else by bytes */
    bool fuses_unknown;             /* unknown characters in a row are one unknown token */
    bool takes_whole;               /* a piece that is an entry is one token, whatever merges say */
    const struct word_table *words; /* of characters and whole pieces */
    uint32_t byte_ids[256];         /* of bytes, or of ASCII characters; BPE_NONE: no entry */
    uint32_t fallback_ids[256];     /* <0x00> to <0xFF>, by characters; BPE_NONE: there are none */
    uint32_t unknown;               /* BPE_NONE: what has no entry is dropped */
    struct word prefix, suffix;     /* of what goes a piece on, and of the last one */
    struct bpe_merge *merges;       /* [count] by rank; … */
    const uint32_t *ranks;          /* … or, by id, of all neighbours that make that word; … */
    uint8_t *splits;                /* … or, by rank, the size of a merge's left part, … */
    uint32_t first_made;            /* … where this word is the first that they make, in order */
    size_t count;                   /* of merges, or of ranks */
    size_t room;
    struct hash_index pairs;
    struct arena arena;
};

/* No bytes yet, and room for so many merges. On failure nothing is held. */
int bpe_init(struct bpe *bpe, size_t merge_count, struct err *err);
void bpe_release(struct bpe *bpe);

/* The next merge, of the next rank; and, after the last one, what finds them all. Of a pair that
 * comes twice the last rank counts. */
void bpe_add(struct bpe *bpe, const struct bpe_merge *merge);
void bpe_index(struct bpe *bpe);

/* Of vocabularies without merges (SentencePiece's, tiktoken's): two neighbours are joined when both
 * in a row are a word, at that word's rank; BPE_FIXED: never, nor is it joined itself. The ranks
 * live as long as `bpe`. */
int bpe_init_ranks(struct bpe *bpe, const struct word_table *words, const uint32_t *ranks,
                   size_t count, struct err *err);

/* The word that two neighbours make, when ranks are those of words; BPE_NONE: they make none. */
uint32_t bpe_word_of(const struct bpe *bpe, uint32_t left, uint32_t right);

/* The rank of a merge by the word that it makes. */
static inline uint32_t bpe_split_rank(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    uint32_t rank = bpe_word_of(bpe, left, right) - bpe->first_made;
    bool is_split = rank < bpe->count && bpe->splits[rank] == bpe->words->places[left].size;
    return is_split ? rank : BPE_NONE;
}

/* The rank of a merge; the probe stands after it. */
static inline uint32_t bpe_find(const struct bpe *bpe, uint32_t left, uint32_t right,
                                struct hash_probe *probe)
{
    uint32_t rank = 0;
    *probe = hash_probe(&bpe->pairs, hash_mix(left, right));
    while (hash_next(probe, &rank))
        if (bpe->merges[rank].left == left && bpe->merges[rank].right == right)
            return rank;
    return BPE_NONE;
}

/* The rank at which two neighbours are joined, and what they become when it is the one given;
 * BPE_NONE: they are not. */
static inline uint32_t bpe_rank(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    struct hash_probe probe;
    if (!bpe->ranks)
        return bpe->splits ? bpe_split_rank(bpe, left, right) : bpe_find(bpe, left, right, &probe);
    uint32_t id = bpe_word_of(bpe, left, right);
    return id == BPE_NONE ? BPE_NONE : bpe->ranks[id];
}

static inline uint32_t bpe_product(const struct bpe *bpe, uint32_t rank, uint32_t left,
                                   uint32_t right)
{
    if (bpe->splits)
        return bpe_split_rank(bpe, left, right) == rank ? bpe->first_made + rank : BPE_NONE;
    uint32_t id = bpe->ranks ? bpe_word_of(bpe, left, right) : bpe->merges[rank].id;
    bool joined = bpe->ranks ? id != BPE_NONE && bpe->ranks[id] == rank
                             : bpe->merges[rank].left == left && bpe->merges[rank].right == right;
    return joined ? id : BPE_NONE;
}

/* Make `bpe` of the vocabulary's bytes and the merges of a file by rank, all of which must be
 * words. merges.txt has a line each, `Ġ t` (word_table.h), and lines `#version` that are passed;
 * errors name the line. tokenizer.json has `count` times "Ġ t" or ["Ġ", "t"]; errors name the
 * place. `prefix` bytes at the front of a right part are not of what is made. `brief`: read faster
 * and found more slowly, for short texts; where merges make words in order, as most do, a part of
 * several bytes that is no word, and so never met in a text, is not noticed. */
int merges_read_lines(struct bpe *bpe, const struct word_table *words, const char *bytes,
                      size_t size, bool brief, struct err *err);
int merges_read_json(struct bpe *bpe, const struct word_table *words, struct json_cursor merges,
                     size_t count, size_t prefix, bool brief, struct err *err);

/* The line at `*at`, without its end; `*at` moves to the next one. And at least how many there are.
 */
struct word merges_take_line(const char **at, const char *end);
size_t merges_count_lines(const char *bytes, size_t size);

/* --- a piece into tokens --- */
struct bpe_token {
    uint32_t id;
    uint32_t start; /* in the piece */
    uint32_t end;
};

/* Equal tokens in a row, or the bytes of one character again and again; and a few runs in a row. */
enum { BPE_RUNS_MAX = 64, BPE_UNIT_TOKENS = 4 };

struct bpe_unit_token {
    uint32_t id;
    uint32_t size; /* bytes */
};

struct bpe_run {
    struct bpe_unit_token unit[BPE_UNIT_TOKENS]; /* [width] that come `count` times */
    size_t width;
    size_t count;
};

struct bpe_runs {
    struct bpe_run items[BPE_RUNS_MAX];
    size_t count;
    size_t at; /* those before it became tokens */
};

/* What became of a piece. Use one for many pieces: its memory grows with the longest. */
struct bpe_piece {
    struct bpe_token *tokens; /* [count] all, or of runs a portion */
    size_t count;
    struct bpe_runs runs;
    size_t dropped; /* characters that had no entry, or of which a byte had none, … */
    struct bpe_token dropped_first; /* … and where the first of them stands in the piece */
    struct bpe_token short_tokens[BPE_SHORT_TOKENS];
    struct bpe_token *long_tokens; /* [room] */
    struct bpe_link *links;        /* [room] of a long piece */
    size_t room;
    struct bpe_queue *queue; /* of a long piece's pairs */
    struct buf scratch;
};

/* True where a character of a piece may become no token. */
bool bpe_drops(const struct bpe *bpe);

/* Encode a piece of at least one byte. A short one is searched anew after every merge; a long one
 * keeps its pairs in a queue: n log n, and n where they come in order. The second puts the tokens
 * that come next in the place of those that were looked at; false: those were the last. */
int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               struct err *err);
bool bpe_go_on(struct bpe_piece *piece);
void bpe_piece_release(struct bpe_piece *piece);

/* Make room for so many tokens. */
int bpe_piece_reserve(struct bpe_piece *piece, size_t count, struct err *err);

/* Add a run, which may go on with the last one; false where it cannot be one of them. Join them;
 * false where that takes a look at each token: bpe_run.c. */
bool bpe_runs_add(struct bpe_runs *runs, const struct bpe_run *run);
bool bpe_join_runs(const struct bpe *bpe, struct bpe_runs *runs);

/* Join the piece's tokens, more than BPE_SHORT_TOKENS: bpe_long.c. */
int bpe_join_long(const struct bpe *bpe, struct bpe_piece *piece, struct err *err);
void bpe_queue_free(struct bpe_queue *queue);

/* --- what became of the pieces that a text repeats: a cache for each text, in proportion to it ---
 */
enum {
    PIECE_ENTRY_BYTES = 22,
    PIECE_ENTRY_TOKENS = 8,
    PIECE_CACHE_ENTRIES_MAX = 8192, /* half a megabyte */
};

struct piece_entry { /* 64 bytes, a cache line */
    uint32_t ids[PIECE_ENTRY_TOKENS];
    uint8_t ends[PIECE_ENTRY_TOKENS];
    uint8_t count;
    uint8_t size; /* 0: free */
    char bytes[PIECE_ENTRY_BYTES];
};

struct piece_cache {
    struct piece_entry *entries; /* NULL: no memory for a cache, or no use for one */
    size_t mask;
    struct piece_entry *last; /* that was asked for; NULL: none */
};

void piece_cache_init(struct piece_cache *cache, size_t text_size);
void piece_cache_release(struct piece_cache *cache);

/* The entry on which a piece falls, or NULL when it is too long to be kept; whether the piece is
 * there; and to keep its tokens, unless they are too many. */
struct piece_entry *piece_cache_at(struct piece_cache *cache, const char *bytes, size_t size);
bool piece_entry_is(const struct piece_entry *entry, const char *bytes, size_t size);
void piece_entry_set(struct piece_entry *entry, const char *bytes, size_t size,
                     const struct bpe_token *tokens, size_t count);

#endif
