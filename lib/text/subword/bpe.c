#include "text/subword/bpe.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/label.h"

enum { PIECE_BYTES_MAX = INT32_MAX / 2, FIRST_TOKENS = 64, INDEX_BYTES = 16, WORD_BITS = 64 };

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

/* Make room for more merges. Most vocabularies have a word for each merge, so the first allocation
 * is for as many merges as words, and for their index. */
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

/* Find the index of the merge of a pair, whose hash is `hash`: the probe is then ready for
 * hash_replace. BPE_NONE: there is none, and the probe is ready for hash_put. */
static inline uint32_t find_merge(const struct bpe *bpe, uint32_t left, uint32_t right,
                                  uint64_t hash, struct hash_probe *probe)
{
    uint32_t number = 0;
    *probe = hash_probe(&bpe->pairs, hash);
    while (hash_next(probe, &number))
        if (bpe->merges[number].left == left && bpe->merges[number].right == right)
            return number;
    return BPE_NONE;
}

int bpe_index(struct bpe *bpe, struct err *err)
{
    enum { AHEAD = 16, BITS_PER_MERGE = 4 };
    size_t words = 1;
    while (words * WORD_BITS < bpe->count * BITS_PER_MERGE)
        words *= 2;
    bpe->known = arena_alloc(&bpe->arena, words, sizeof *bpe->known, err);
    bpe->known_mask = words - 1;
    if (!bpe->known || hash_index_init(&bpe->pairs, bpe->count, &bpe->arena, err))
        return -1;
    for (size_t number = 0; number < bpe->count; number++) {
        struct hash_probe probe;
        const struct bpe_merge *merge = &bpe->merges[number];
        uint64_t hash = hash_mix(merge->left, merge->right);
        if (number + AHEAD < bpe->count)
            hash_prefetch(&bpe->pairs, hash_mix(merge[AHEAD].left, merge[AHEAD].right));
        bpe->known[hash / WORD_BITS & bpe->known_mask] |= (uint64_t)1 << hash % WORD_BITS;
        if (find_merge(bpe, merge->left, merge->right, hash, &probe) == BPE_NONE)
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

/* --- the first tokens of a piece -------------------------------------------------------------- */

/* A piece whose first tokens are being made: one for each character or byte. */
struct beginning {
    const struct bpe *bpe;
    struct bpe_piece *piece;
    const char *bytes;
    size_t size;
    struct bpe_token unknown; /* an unknown token that is not yet added and may grow */
    bool has_unknown;
};

static void put(struct bpe_piece *piece, uint32_t id, size_t start, size_t end)
{
    piece->tokens[piece->count++] =
        (struct bpe_token){.id = id, .start = (uint32_t)start, .end = (uint32_t)end};
}

/* Count a dropped character, and remember the first one. */
static void drop(struct bpe_piece *piece, size_t start, size_t end)
{
    if (!piece->dropped++)
        piece->dropped_first =
            (struct bpe_token){.id = BPE_NONE, .start = (uint32_t)start, .end = (uint32_t)end};
}

/* Add the pending unknown token. Tokens may have been added after it was found, so its range is
 * moved behind them: positions must ascend. */
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

/* Find the entry of a character or byte, with the prefix and suffix that apply to it. */
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

/* Add the byte tokens of a character; false, and nothing is added, if a byte has none. */
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

/* Make the first tokens. As in Hugging Face's library, an unknown token waits for a character that
 * is known, or unknown and not fused with it, or for the end; byte tokens of other characters come
 * before it. */
static void begin_tokens(struct beginning *begin)
{
    const struct bpe *bpe = begin->bpe;
    size_t counted = 0; /* the end of the last character that was dropped */
    uint32_t id = 0, character = 0;
    for (size_t at = 0, end; at < begin->size; at = end) {
        end = at + 1;
        if (bpe->by_characters)
            end = at + utf8_step(&character, begin->bytes + at, begin->size - at);
        if (find_character(begin, at, end, &id)) {
            flush_unknown(begin);
            put(begin->piece, id, at, end);
        } else if (fall_back(begin, at, end)) {
            continue;
        } else if (bpe->unknown != BPE_NONE) {
            if (!bpe->fuses_unknown)
                flush_unknown(begin);
            if (!begin->has_unknown)
                begin->unknown = (struct bpe_token){.id = bpe->unknown, .start = (uint32_t)at};
            begin->unknown.end = (uint32_t)end;
            begin->has_unknown = true;
        } else if (at >= counted) { /* drop the character that contains the byte */
            size_t start = at;
            while (start > counted && utf8_continues(begin->bytes[start]))
                start--;
            for (counted = at + 1; counted < begin->size && utf8_continues(begin->bytes[counted]);)
                counted++;
            drop(begin->piece, start, counted);
        }
    }
    flush_unknown(begin);
}

/* --- joining ---------------------------------------------------------------------------------- */

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

/* Find the merge of a token and the next token. */
static inline void find_pair(const struct bpe *bpe, struct bpe_piece *piece, uint32_t at)
{
    struct bpe_token *token = &piece->tokens[at];
    struct hash_probe probe;
    token->merge = BPE_NONE;
    if (token->next == piece->count)
        return;
    uint32_t right = piece->tokens[token->next].id;
    uint64_t hash = hash_mix(token->id, right);
    if (bpe->known[hash / WORD_BITS & bpe->known_mask] >> hash % WORD_BITS & 1)
        token->merge = find_merge(bpe, token->id, right, hash, &probe);
}

static inline void queue_pair(const struct bpe *bpe, struct bpe_piece *piece, uint32_t at)
{
    uint32_t merge = piece->tokens[at].merge;
    uint64_t *queue = piece->queue;
    if (merge == BPE_NONE)
        return;
    uint64_t entry = (uint64_t)bpe->merges[merge].rank << 32 | at;
    size_t i = piece->queued++;
    for (; i > 0 && queue[(i - 1) / 2] > entry; i = (i - 1) / 2)
        queue[i] = queue[(i - 1) / 2];
    queue[i] = entry;
}

/* Join a token with the next token, and queue the new pairs with its neighbours. */
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
        find_pair(bpe, piece, token->previous);
    find_pair(bpe, piece, at);
    if (token->previous != BPE_NONE)
        queue_pair(bpe, piece, token->previous);
    queue_pair(bpe, piece, at);
}

/* Join all pairs by rank. A pair that no longer exists or has a new rank stays in the queue and is
 * skipped. Each join removes one pair and adds at most two, so the queue never has more than twice
 * as many pairs as there were tokens. */
static void join_all(const struct bpe *bpe, struct bpe_piece *piece)
{
    struct bpe_token *tokens = piece->tokens;
    uint32_t count = (uint32_t)piece->count;
    piece->queued = 0;
    for (uint32_t at = 0; at < count; at++) {
        tokens[at].previous = at ? at - 1 : BPE_NONE;
        tokens[at].next = at + 1;
        find_pair(bpe, piece, at);
    }
    for (uint32_t at = 0; at < count; at++)
        queue_pair(bpe, piece, at);
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

/* --- encoding a piece ------------------------------------------------------------------------- */

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

/* --- files of merges -------------------------------------------------------------------------- */

enum { FIRST_BYTES = 256 };

struct merge_reader {
    struct bpe *bpe;
    const char *unit; /* what `number` counts, for messages: "line" or "merge" */
    size_t number;
    size_t prefix; /* number of bytes that the right part of a merge loses when it is joined */
    char *text;    /* the text of a merge, without escapes */
    char *joined;  /* the two parts of the merge, joined */
    char *decoded; /* the bytes of a word */
    size_t capacity;
    struct err *err;
};

/* Make room for a merge of `size` bytes. */
static int reserve_merge(struct merge_reader *reader, size_t size)
{
    if (size < reader->capacity)
        return 0;
    size_t capacity = 2 * size + FIRST_BYTES;
    char *bytes = heap_resize(reader->text, capacity, 3, reader->err);
    if (!bytes)
        return -1;
    reader->text = bytes;
    reader->joined = bytes + capacity;
    reader->decoded = bytes + 2 * capacity;
    reader->capacity = capacity;
    return 0;
}

static int find_word(const struct merge_reader *reader, struct word word, uint32_t *id)
{
    if (word_table_find_written(reader->bpe->words, word.bytes, word.size, reader->decoded, id))
        return 0;
    size_t valid = utf8_invalid_at(word.bytes, word.size);
    if (valid < word.size)
        return err_set(reader->err, "%s %zu: expected UTF-8, found the byte 0x%02x", reader->unit,
                       reader->number, (unsigned char)word.bytes[valid]);
    return err_set(reader->err, "%s %zu: '%s' is not in the vocabulary", reader->unit,
                   reader->number, label_excerpt(word.bytes, word.size));
}

/* Find the id of a word if it is the id of the last merge or the id after it, as in most files. */
static bool find_near(const struct bpe *bpe, struct word word, uint32_t *id)
{
    const struct word_table *words = bpe->words;
    *id = bpe->count ? bpe->merges[bpe->count - 1].id : 0;
    for (uint32_t end = *id + 2; *id < end && *id < words->size; ++*id)
        if (word_table_is(words, *id, word, words->form))
            return true;
    return false;
}

static int add_parts(struct merge_reader *reader, struct word left, struct word right)
{
    struct bpe_merge merge = {.rank = (uint32_t)reader->bpe->count};
    size_t prefix = reader->prefix < right.size ? reader->prefix : 0;
    struct word joined = {reader->joined, left.size + right.size - prefix};
    memcpy(reader->joined, left.bytes, left.size);
    memcpy(reader->joined + left.size, right.bytes + prefix, right.size - prefix);
    if (find_word(reader, left, &merge.left) || find_word(reader, right, &merge.right) ||
        find_word(reader, joined, &merge.id))
        return -1;
    return bpe_add(reader->bpe, &merge, reader->err);
}

/* Read a merge in its usual form, `Ġ t` or `Ġ", "t` followed by `stop`, with characters of the
 * alphabet only: both parts are decoded directly into `joined`. False for all other merges. */
static bool find_signs(const struct merge_reader *reader, struct json_cursor *at, bool quoted,
                       char stop, struct bpe_merge *merge)
{
    const struct word_table *words = reader->bpe->words;
    struct word parts[2];
    char *end = reader->joined;
    for (int i = 0; i < 2; i++) {
        if (i && quoted && (!json_cursor_next(at) || *at->at++ != '"'))
            return false;
        parts[i].bytes = end;
        at->at = word_signs_read(&end, reader->joined + reader->capacity - HASH_NEAR, at->at,
                                 at->end, words->form);
        parts[i].size = (size_t)(end - parts[i].bytes);
        if (*at->at++ != (i ? stop : quoted ? '"' : ' ') || !parts[i].size || reader->prefix)
            return false;
    }
    struct word joined = {reader->joined, parts[0].size + parts[1].size};
    *merge = (struct bpe_merge){.rank = (uint32_t)reader->bpe->count};
    return word_table_find_near(words, parts[0], words->form, &merge->left) &&
           word_table_find_near(words, parts[1], words->form, &merge->right) &&
           (find_near(reader->bpe, joined, &merge->id) ||
            word_table_find_near(words, joined, words->form, &merge->id));
}

/* Add a merge of the form "Ġ t". If `end` is beyond the text, the byte that follows the text ends
 * the merge. */
static int add_text(struct merge_reader *reader, const char *text, size_t size, const char *end)
{
    struct bpe_merge merge;
    struct json_cursor at = {.at = text, .end = end};
    if (text + size < end && find_signs(reader, &at, false, text[size], &merge) &&
        at.at == text + size + 1)
        return bpe_add(reader->bpe, &merge, reader->err);
    end = text + size;
    const char *blank = memchr(text, ' ', size);
    const char *right = blank ? blank + 1 : end;
    if (!blank || blank == text || right == end || memchr(right, ' ', (size_t)(end - right)))
        return err_set(reader->err, "%s %zu: expected two tokens separated by a space, found '%s'",
                       reader->unit, reader->number, label_excerpt(text, size));
    return add_parts(reader, (struct word){text, (size_t)(blank - text)},
                     (struct word){right, (size_t)(end - right)});
}

static int finish(struct merge_reader *reader, int failed)
{
    heap_free(reader->text);
    return failed || bpe_index(reader->bpe, reader->err) ? -1 : 0;
}

/* --- merges.txt ------------------------------------------------------------------------------- */

int merges_read_lines(struct bpe *bpe, const char *bytes, size_t size, struct err *err)
{
    static const char version[] = "#version";
    struct merge_reader reader = {.bpe = bpe, .unit = "line", .err = err};
    const char *end = bytes + size;
    int failed = 0;
    for (const char *at = bytes; at < end && !failed;) {
        struct word line = word_take_line(&at, end);
        bool is_last = !line.size && at == end;
        bool is_version =
            line.size >= strlen(version) && memcmp(line.bytes, version, strlen(version)) == 0;
        reader.number++;
        if (!is_last && !is_version)
            failed =
                reserve_merge(&reader, line.size) || add_text(&reader, line.bytes, line.size, end);
    }
    return finish(&reader, failed);
}

/* --- tokenizer.json --------------------------------------------------------------------------- */

static int refuse_item(const struct merge_reader *reader, struct json_cursor item)
{
    struct json_span span = json_cursor_value(&item);
    return err_set(reader->err, "%s %zu: expected \"a b\" or [\"a\", \"b\"], found %s",
                   reader->unit, reader->number, label_excerpt(span.bytes, span.size));
}

/* Add a merge of the form ["Ġ", "t"]. */
static int add_pair(struct merge_reader *reader, struct json_cursor *merges)
{
    struct json_cursor item = *merges;
    struct json_span spans[2] = {0};
    size_t count = 0;
    json_cursor_enter(merges);
    for (; json_cursor_next(merges); count++) {
        if (count == 2 || json_cursor_kind(merges) != '"')
            return refuse_item(reader, item);
        spans[count] = json_cursor_text(merges);
    }
    if (count != 2 || !spans[0].size || !spans[1].size)
        return refuse_item(reader, item);
    if (reserve_merge(reader, spans[0].size + spans[1].size))
        return -1;
    struct word left = {reader->text, json_unescape(reader->text, spans[0])};
    char *after = reader->text + left.size;
    return add_parts(reader, left, (struct word){after, json_unescape(after, spans[1])});
}

static int add_item(struct merge_reader *reader, struct json_cursor *merges)
{
    struct bpe_merge merge;
    const char *start = merges->at;
    char kind = *start;
    if (kind == '[')
        json_cursor_enter(merges);
    if (*merges->at++ == '"' && find_signs(reader, merges, kind == '[', '"', &merge) &&
        (kind != '[' || !json_cursor_next(merges)))
        return bpe_add(reader->bpe, &merge, reader->err);
    merges->at = start;
    if (kind == '[')
        return add_pair(reader, merges);
    if (kind != '"')
        return refuse_item(reader, *merges);
    struct json_span text = json_cursor_text(merges);
    if (reserve_merge(reader, text.size))
        return -1;
    size_t size = json_unescape(reader->text, text);
    reader->text[size] = '\n';
    return add_text(reader, reader->text, size, reader->text + size + 1);
}

int merges_read_json(struct bpe *bpe, struct json_cursor merges, size_t prefix, struct err *err)
{
    struct merge_reader reader = {.bpe = bpe, .unit = "merge", .prefix = prefix, .err = err};
    int failed = reserve_merge(&reader, 0);
    json_cursor_enter(&merges);
    for (; !failed && json_cursor_next(&merges); reader.number++)
        failed = add_item(&reader, &merges);
    return finish(&reader, failed);
}
