/* bpe.h: byte-pair encoding: of all neighbours that have a merge, those of the lowest rank are
 * joined first, from left to right, until none has one.
 *
 *     struct bpe_splitter splitter = bpe_splitter(text, size);
 *     struct bpe_piece piece = {0};
 *     size_t end = bpe_split(&splitter, at);
 *     if (bpe_encode(&bpe, &piece, text + at, end - at, at, err)) ...
 *     bpe_piece_release(&piece);
 */
#ifndef ATTN_TEXT_BPE_H
#define ATTN_TEXT_BPE_H

#include "base/utf8.h"
#include "text/word_table.h"

#define BPE_NONE UINT32_MAX /* no token, no rank */

enum { BPE_SHORT_BYTES = 64 };

/* --- a text into pieces: GPT-2's pattern, to the letter
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * The first of these that fits is a piece. \p{L}, \p{N} and \s are those of utf8.h: marks are no
 * letters, \p{N} is more than digits, \s is White_Space. */
struct bpe_splitter {
    const char *text; /* valid UTF-8 */
    size_t size;
    struct unicode_run run; /* where the last character was found: its neighbours often follow */
};

struct bpe_splitter bpe_splitter(const char *text, size_t size);

/* The end of the piece that begins at `at`, which is before the end. */
size_t bpe_split(struct bpe_splitter *splitter, size_t at);

/* --- the merges --- */
struct bpe_merge {
    uint32_t left;
    uint32_t right;
    uint32_t id; /* what they become */
};

struct bpe {
    uint32_t byte_ids[256];   /* BPE_NONE: the vocabulary lacks the byte */
    struct bpe_merge *merges; /* [count] by rank */
    size_t count;
    size_t room;
    struct hash_index pairs;
    struct arena arena;
};

/* No bytes yet, and room for so many merges. On failure nothing is held. */
int bpe_init(struct bpe *bpe, size_t merge_count, struct err *err);
void bpe_release(struct bpe *bpe);

/* The next merge, of the next rank. Of a pair that comes twice the last rank counts. */
void bpe_add(struct bpe *bpe, const struct bpe_merge *merge);

/* Make `bpe` of the vocabulary's bytes and the merges of a file by rank, all of which must be
 * words. merges.txt has a line each, `Ġ t` (word_table.h), and lines `#version` that are passed;
 * errors name the line. tokenizer.json has `count` times "Ġ t" or ["Ġ", "t"]; errors name the
 * place. */
int merges_read_lines(struct bpe *bpe, const struct word_table *words, const char *bytes,
                      size_t size, struct err *err);
int merges_read_json(struct bpe *bpe, const struct word_table *words, struct json_cursor merges,
                     size_t count, struct err *err);

/* --- a piece into tokens --- */
struct bpe_token {
    uint32_t id;
    uint32_t end; /* in the piece, which is the next one's start */
};

/* What became of a piece. Use one for many pieces: its memory grows with the longest. */
struct bpe_piece {
    struct bpe_token *tokens;
    size_t count;
    struct bpe_token short_tokens[BPE_SHORT_BYTES];
    struct bpe_symbol *symbols; /* [room] of a long piece */
    uint64_t *heap;             /* [2 * room] */
    size_t room;
};

/* Encode a piece of at least one byte; `offset` is its place in the text, for messages. A short one
 * is searched anew after every merge; a long one keeps its pairs in a heap: n log n. */
int bpe_encode(const struct bpe *bpe, struct bpe_piece *piece, const char *bytes, size_t size,
               size_t offset, struct err *err);
void bpe_piece_release(struct bpe_piece *piece);

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
};

void piece_cache_init(struct piece_cache *cache, size_t text_size);
void piece_cache_release(struct piece_cache *cache);

/* The entry on which a piece falls, or NULL when it is too long to be kept; whether the piece is
 * there; and to keep its tokens, unless they are too many. */
struct piece_entry *piece_cache_at(const struct piece_cache *cache, const char *bytes, size_t size);
bool piece_entry_is(const struct piece_entry *entry, const char *bytes, size_t size);
void piece_entry_set(struct piece_entry *entry, const char *bytes, size_t size,
                     const struct bpe_token *tokens, size_t count);

#endif
