#include "text/subword/subword.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "text/encoder.h"
#include "text/label.h"

enum { BYTE_NAME_BYTES = 8 };

void subword_init(struct subword *model, const struct subword_row *row,
                  const struct word_table *words)
{
    *model =
        (struct subword){.row = row, .words = words, .unknown = BPE_NONE, .most_characters = 100};
}

void subword_release(struct subword *model)
{
    bpe_release(&model->bpe);
    word_trie_release(&model->trie);
}

int subword_find_rests(struct subword *model, const char *prefix, struct err *err)
{
    if (word_trie_init(&model->trie, model->words, err))
        return -1;
    model->has_rests = true;
    for (; *prefix && model->has_rests; prefix++) {
        model->rest = word_trie_step(&model->trie, model->rest, (unsigned char)*prefix);
        model->has_rests = model->rest;
    }
    return 0;
}

void subword_find_bytes(uint32_t ids[256], const struct word_table *words, bool falls_back)
{
    char name[BYTE_NAME_BYTES];
    for (unsigned byte = 0; byte < 256; byte++) {
        ids[byte] = BPE_NONE;
        int size = snprintf(name, sizeof name, "<0x%02X>", byte);
        if (falls_back)
            word_table_find(words, name, (size_t)size, WORD_TEXT, &ids[byte]);
    }
}

/* --- WordPiece and WordLevel: pieces that are words ------------------------------------------- */

static int add_unknown(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err)
{
    struct word unknown = {piece->text->bytes + piece->range.start,
                           piece->range.end - piece->range.start};
    size_t hint = 0;
    if (model->unknown != BPE_NONE)
        return encoder_add(encoder, piece, model->unknown, 0, unknown.size, err);
    size_t at = aligned_text_origin(piece->text, piece->range, &hint).start;
    if (model->row != &subword_rows[SUBWORD_WORD_PIECE])
        return words_refuse(model->words, unknown, at, err);
    return err_set(err, /* no suggestion: a piece is not a word that a user wrote */
                   "word '%s' at byte %zu is not in the vocabulary, which has no unknown token",
                   label_excerpt(unknown.bytes, unknown.size), at);
}

static int encode_word_level(const struct subword *model, struct encoder *encoder,
                             const struct text_piece *piece, struct err *err)
{
    uint32_t id = 0;
    size_t size = piece->range.end - piece->range.start;
    if (!word_table_find(model->words, piece->text->bytes + piece->range.start, size, WORD_TEXT,
                         &id))
        return add_unknown(model, encoder, piece, err);
    return encoder_add(encoder, piece, id, 0, size, err);
}

/* Find the longest entry at `at`. Returns its end, or 0 if there is none. */
static size_t find_longest(const struct subword *model, const char *bytes, size_t size, size_t at,
                           uint32_t *id)
{
    uint32_t node = at ? model->rest : 0;
    size_t end = 0;
    if (at && !model->has_rests)
        return 0;
    while (at < size && (node = word_trie_step(&model->trie, node, (unsigned char)bytes[at]))) {
        at++;
        if (model->trie.ids[node] == WORD_TRIE_NONE)
            continue;
        *id = model->trie.ids[node];
        end = at;
    }
    return end;
}

/* Split a piece into entries; `found` is empty if that is not possible. */
static int find_all(const struct subword *model, struct token_list *found, const char *bytes,
                    size_t size, struct err *err)
{
    uint32_t id = 0;
    size_t characters = 0;
    found->count = 0;
    for (size_t i = 0; i < size; i++)
        characters += !utf8_continues(bytes[i]);
    if (characters > (size_t)model->most_characters)
        return 0;
    for (size_t at = 0, end; at < size; at = end) {
        end = find_longest(model, bytes, size, at, &id);
        if (!end)
            found->count = 0;
        if (!end)
            return 0;
        if (token_list_add(found, (struct token){id, false, at, end}, err))
            return -1;
    }
    return 0;
}

static int encode_word_piece(const struct subword *model, struct encoder *encoder,
                             const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    struct token_list *found = &encoder->found;
    int known = encoder_add_known(encoder, piece, (struct text_range){0, size}, err);
    if (known)
        return err_if(known < 0);
    if (find_all(model, found, bytes, size, err))
        return -1;
    if (!found->count)
        return add_unknown(model, encoder, piece, err);
    for (size_t i = 0; i < found->count; i++) {
        struct token token = found->items[i];
        if (encoder_add(encoder, piece, token.id, token.start, token.end, err))
            return -1;
    }
    encoder_store(encoder);
    return 0;
}

/* The id of a token: `id` or, if the model has a `vocabulary`, the id of the token's text in the
 * vocabulary, else the unknown id. */
static inline uint32_t vocabulary_id(const struct subword *model, const char *bytes, size_t size,
                                     uint32_t id)
{
    if (!model->vocabulary || word_table_find(model->vocabulary, bytes, size, WORD_TEXT, &id))
        return id;
    return model->unknown;
}

/* --- BPE: splitting long pieces --------------------------------------------------------------- */

/* The index in `joins` of the character at the start of some bytes: of ASCII, or of ▁, the sign of
 * a space before a word; -1: another character. */
static inline int front_of(const char *bytes, size_t size)
{
    static const char sign[] = "▁";
    if ((unsigned char)*bytes < SUBWORD_SIGN)
        return *bytes;
    return size >= sizeof sign - 1 && memcmp(bytes, sign, sizeof sign - 1) == 0 ? SUBWORD_SIGN : -1;
}

/* The next position after `start` where a piece can be split, or the end. */
static size_t next_front(const struct subword *model, const char *bytes, size_t size, size_t start)
{
    for (size_t at = start + 1; at < size; at++) {
        int front = front_of(bytes + at, size - at);
        if (front >= 0 && !model->joins[(unsigned char)bytes[at - 1]][front])
            return at;
    }
    return size;
}

/* Without a pre-tokenizer, a text of any size is one piece. If no merge joins a word that ends in
 * some byte with a word that begins with some character, no pair across this byte and this
 * character is ever joined: the text can be split between them. The character must have an entry:
 * it ends a row of unknown characters. This does not hold if a character may be dropped, since
 * tokens around it then become neighbours, or replaced by a token of a merge. */
int subword_find_fronts(struct subword *model, struct err *err)
{
    struct bpe *bpe = &model->bpe;
    uint32_t first = BPE_NONE, last = 0, id = 0; /* first, last: the range of the ids of byte
                                                  * tokens */
    if (!bpe->by_characters || bpe->takes_whole || bpe_drops(bpe) || bpe->prefix.size ||
        bpe->suffix.size)
        return 0;
    bool(*joins)[SUBWORD_FRONTS] = arena_alloc(&bpe->arena, 256, sizeof *joins, err);
    if (!joins)
        return -1;
    for (int byte = 0; byte < 256; byte++) {
        uint32_t fallback = bpe->fallback_ids[byte];
        first = fallback < first ? fallback : first;
        last = fallback != BPE_NONE && fallback > last ? fallback : last;
        for (int front = 0; front < SUBWORD_SIGN; front++)
            joins[byte][front] = bpe->byte_ids[front] == BPE_NONE;
        joins[byte][SUBWORD_SIGN] = !word_table_find(bpe->words, "▁", 3, WORD_TEXT, &id);
    }
    for (size_t i = 0; i < bpe->count; i++) {
        const uint32_t parts[] = {bpe->merges[i].left, bpe->merges[i].right};
        size_t sizes[2];
        const char *left = word_table_word(bpe->words, parts[0], &sizes[0]);
        const char *right = word_table_word(bpe->words, parts[1], &sizes[1]);
        for (int part = 0; part < 2; part++)
            if ((parts[part] >= first && parts[part] <= last) || parts[part] == bpe->unknown)
                return 0;
        int front = front_of(right, sizes[1]);
        if (front >= 0)
            joins[(unsigned char)left[sizes[0] - 1]][front] = true;
    }
    model->joins = joins;
    return 0;
}

/* --- BPE: pieces ------------------------------------------------------------------------------ */

/* A part of a piece: maps offsets of decoded bytes to offsets in the piece. */
struct word_part {
    const char *text; /* the text in GPT-2's alphabet; NULL: offsets are the same */
    size_t start;
    size_t text_at, byte_at; /* the last position found: in the text, and in decoded bytes */
};

/* The position in the piece of a byte of the part. Fast if calls ask for ascending bytes, as most
 * do. */
static inline size_t position_of(struct word_part *part, size_t byte)
{
    if (!part->text)
        return part->start + byte;
    if (byte < part->byte_at)
        part->byte_at = part->text_at = 0;
    for (; part->byte_at < byte; part->byte_at++)
        part->text_at += (unsigned char)part->text[part->text_at] < 0x80 ? 1 : 2;
    return part->start + part->text_at;
}

/* Encode a part of a piece, which is written in GPT-2's alphabet if `encoded`. */
static int encode_part(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct text_range range, bool encoded,
                       struct err *err)
{
    struct bpe_piece *found = &encoder->piece;
    const char *bytes = piece->text->bytes + piece->range.start + range.start;
    size_t size = range.end - range.start;
    struct word_part part = {.text = encoded ? bytes : NULL, .start = range.start};
    struct buf *decoded = &encoder->scratch;
    int known = encoder_add_known(encoder, piece, range, err);
    if (known)
        return err_if(known < 0);
    if (encoded) {
        buf_clear(decoded);
        buf_bytes(decoded, bytes, size);
        if (buf_check(decoded, err))
            return -1;
        bytes = decoded->bytes;
        byte_alphabet_decode(decoded->bytes, &size, bytes, size);
    }
    if (bpe_encode(&model->bpe, found, bytes, size, err))
        return -1;
    for (size_t i = 0; i < found->count; i++) {
        struct bpe_token token = found->tokens[i];
        size_t start = encoder->list->only_ids ? 0 : position_of(&part, token.start);
        size_t end = encoder->list->only_ids ? 0 : position_of(&part, token.end);
        uint32_t id = vocabulary_id(model, bytes + token.start, token.end - token.start, token.id);
        if (encoder_add(encoder, piece, id, start, end, err))
            return -1;
    }
    if (!found->dropped) {
        encoder_store(encoder);
        return 0;
    }
    size_t start = position_of(&part, found->dropped_first.start);
    struct text_range dropped = {start, position_of(&part, found->dropped_first.end)};
    encoder_drop(encoder, piece, dropped, found->dropped);
    return 0;
}

static int encode_bpe(const struct subword *model, struct encoder *encoder,
                      const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    bool encoded = encoder->tokenizer->encoded_pieces;
    for (size_t at = 0, end; at < size; at = end) {
        end = model->joins && !encoded ? next_front(model, bytes, size, at) : size;
        if (encode_part(model, encoder, piece, (struct text_range){at, end}, encoded, err))
            return -1;
    }
    return 0;
}

/* --- Unigram: the entries whose scores have the largest sum, by the Viterbi algorithm --------- */

enum {
    LEAST_WINDOW = 8,       /* minimum size of the ring of sums: more than the bytes of a
                             * character */
    PORTION_BYTES = 1 << 12 /* bytes after which tokens are added as soon as all paths meet */
};

/* Round a sum to float32 if the model does so, as SentencePiece does. */
static inline double rounded(const struct subword *model, double sum)
{
    return model->is_single ? (double)(float)sum : sum;
}

/* Record a step to the position `end` if its score, compared before it is rounded, is the best so
 * far. */
static inline void offer(const struct subword *model, struct best_ways *ways, double score,
                         size_t end, uint32_t id)
{
    double *best = &ways->sums[end & ways->mask];
    uint32_t *step = &ways->steps[end - ways->base];
    bool is_worse = score <= *best; /* `*best` is NaN before the first step */
    *best = is_worse ? *best : rounded(model, score);
    *step = is_worse ? *step : id;
}

/* Offer the steps from position `at`: every entry that begins there and, if no entry is exactly the
 * character there, this character as unknown. Returns the position of the next character. */
static size_t take_steps(const struct subword *model, struct best_ways *ways, const char *bytes,
                         size_t size, size_t at)
{
    double score = ways->sums[at & ways->mask];
    uint32_t node = 0, c = 0;
    size_t next = at + utf8_step(&c, bytes + at, size - at);
    size_t reach = next;
    bool is_known = false;
    ways->sums[at & ways->mask] = NAN;
    for (size_t end = at; end < size;) {
        node = word_trie_step(&model->trie, node, (unsigned char)bytes[end++]);
        if (!node)
            break;
        uint32_t id = model->trie.ids[node];
        if (id == WORD_TRIE_NONE || model->scores[id] == SUBWORD_ABSENT)
            continue;
        offer(model, ways, score + model->scores[id], end, id);
        reach = end > reach ? end : reach;
        is_known = is_known || end == next;
    }
    if (!is_known) /* SentencePiece adds this score in float32 */
        offer(model, ways, rounded(model, score + model->unknown_score), next, BPE_NONE);
    ways->reach = reach > ways->reach ? reach : ways->reach;
    return next;
}

/* Begin a piece. Sums are kept in a ring that is larger than the longest step. */
static int begin_ways(const struct subword *model, struct best_ways *ways, size_t size,
                      struct err *err)
{
    size_t window = LEAST_WINDOW;
    while (window <= model->trie.longest)
        window *= 2;
    if (!ways->sums && !(ways->sums = heap_alloc(window, sizeof *ways->sums, err)))
        return -1;
    if (size >= ways->capacity) {
        uint32_t *steps = heap_resize(ways->steps, size + 1, sizeof *steps, err);
        if (!steps)
            return -1;
        ways->steps = steps;
        ways->capacity = size + 1;
    }
    ways->mask = window - 1;
    ways->base = ways->reach = 0;
    for (size_t i = 1; i < window && i <= size; i++)
        ways->sums[i] = NAN;
    ways->sums[0] = 0;
    return 0;
}

/* Add tokens for a range without an entry: its bytes if all have tokens, else the unknown token. */
static int add_unknown_range(const struct subword *model, struct encoder *encoder,
                             const struct text_piece *piece, struct text_range range,
                             struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    bool all = true; /* true if every byte has a token */
    for (size_t i = range.start; i < range.end; i++)
        all = all && model->byte_ids[(unsigned char)bytes[i]] != BPE_NONE;
    for (size_t i = range.start; all && i < range.end; i++)
        if (encoder_add(encoder, piece, model->byte_ids[(unsigned char)bytes[i]], i, i + 1, err))
            return -1;
    if (all)
        return 0;
    if (model->unknown == BPE_NONE) {
        struct text_range whole = {piece->range.start + range.start,
                                   piece->range.start + range.end};
        return err_set(err, "'%s' at byte %zu is not in the vocabulary, which has no unknown token",
                       label_excerpt(bytes + range.start, range.end - range.start),
                       aligned_text_origin(piece->text, whole, &encoder->hint).start);
    }
    return encoder_add(encoder, piece, model->unknown, range.start, range.end, err);
}

static size_t end_of(const struct subword *model, const char *bytes, size_t size, size_t at,
                     uint32_t id)
{
    uint32_t c = 0;
    return at +
           (id == BPE_NONE ? utf8_step(&c, bytes + at, size - at) : model->words->stored[id].size);
}

/* Add the tokens of the best path from the base to `to`, which becomes the base. */
static int add_steps(const struct subword *model, struct encoder *encoder,
                     const struct text_piece *piece, size_t to, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    const struct best_ways *ways = &encoder->ways;
    uint32_t *step = ways->steps + (to - ways->base + 1);

    for (size_t at = to; at > ways->base;) { /* write the path's steps to the end of `steps` */
        uint32_t id = ways->steps[at - ways->base];
        at = id == BPE_NONE ? utf8_before(bytes, at) : at - model->words->stored[id].size;
        *--step = id;
    }

    for (size_t at = ways->base, end; at < to; at = end) {
        uint32_t id = *step++;
        end = end_of(model, bytes, to, at, id);
        while (id == BPE_NONE && model->fuses_unknown && end < to && *step == BPE_NONE)
            end = end_of(model, bytes, to, end, *step++);
        struct text_range range = {at, end};
        id = vocabulary_id(model, bytes + at, end - at, id);
        if (id == BPE_NONE ? add_unknown_range(model, encoder, piece, range, err)
                           : encoder_add(encoder, piece, id, at, end, err))
            return -1;
    }
    encoder->ways.base = to;
    return 0;
}

static int encode_unigram(const struct subword *model, struct encoder *encoder,
                          const struct text_piece *piece, struct err *err)
{
    struct best_ways *ways = &encoder->ways;
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    int known = encoder_add_known(encoder, piece, (struct text_range){0, size}, err);
    if (known)
        return err_if(known < 0);
    if (begin_ways(model, ways, size, err))
        return -1;
    for (size_t at = 0; at < size;) {
        at = take_steps(model, ways, bytes, size, at);
        /* all paths lead through here, and the last step is not part of an unknown token */
        if (at - ways->base >= PORTION_BYTES && ways->reach == at &&
            ways->steps[at - ways->base] != BPE_NONE && add_steps(model, encoder, piece, at, err))
            return -1;
    }
    if (ways->base < size && add_steps(model, encoder, piece, size, err))
        return -1;
    encoder_store(encoder);
    return 0;
}

/* --- all models ------------------------------------------------------------------------------- */

const struct subword_row subword_rows[SUBWORD_COUNT] = {
    [SUBWORD_BPE] = {"BPE", encode_bpe},
    [SUBWORD_UNIGRAM] = {"Unigram", encode_unigram},
    [SUBWORD_WORD_PIECE] = {"WordPiece", encode_word_piece},
    [SUBWORD_WORD_LEVEL] = {"WordLevel", encode_word_level},
    [SUBWORD_WORDS] = {"words", subword_encode_words},
};
