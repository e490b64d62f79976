#include "train/vocabulary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "format/json_writer.h"
#include "text/matcher.h"
#include "text/word_table.h"

/* --- byte-level BPE --------------------------------------------------------------------------- */

enum { FIRST_PAIRS = 256 };

struct learn_piece {
    const char *bytes;
    size_t size;   /* number of symbols of the piece; before any merge, the number of its bytes */
    size_t first;  /* index of the piece's first symbol in `symbols` */
    int64_t count; /* occurrences of the piece in all texts */
};

struct learn_pair {
    uint32_t left, right;
    int64_t count; /* occurrences of the pair; 0: the slot is free, or its pair no longer occurs */
    bool used;
};

struct learn_token {
    uint32_t left, right;
};

/* --- pieces ---------------------------------------------------------------------------------- */

static int count_piece(struct bpe_learner *l, const char *bytes, size_t size, struct err *err)
{
    uint32_t number = 0;
    if (hash_table_get(&l->numbers, bytes, size, &number)) {
        l->pieces[number].count++;
        return 0;
    }
    struct learn_piece *pieces =
        arena_grow(&l->arena, l->pieces, l->piece_count, sizeof *pieces, err);
    if (!pieces)
        return -1;
    l->pieces = pieces;
    l->pieces[l->piece_count] = (struct learn_piece){bytes, size, 0, 1};
    return hash_table_put(&l->numbers, bytes, size, (uint32_t)l->piece_count++, err);
}

static int check_utf8(const char *text, size_t size, struct err *err)
{
    size_t at = utf8_invalid_at(text, size);
    return at == size ? 0
                      : err_set(err, "expected a text in UTF-8, found the byte 0x%02x at byte %zu",
                                (unsigned char)text[at], at);
}

int bpe_learner_add(struct bpe_learner *learner, const char *text, size_t size, struct err *err)
{
    static const struct matcher gpt2 = {.splitter = SPLITTER_GPT2};
    if (check_utf8(text, size, err))
        return -1;
    struct matcher_walk walk = matcher_walk(&gpt2, text, size, NULL);
    struct text_range match;
    int found = 1;
    while (found > 0) { /* pieces follow each other without gaps */
        found = matcher_next(&walk, &match, err);
        if (found > 0 && count_piece(learner, text + match.start, match.end - match.start, err))
            found = -1;
    }
    matcher_walk_release(&walk);
    return found;
}

/* --- pairs ----------------------------------------------------------------------------------- */

static struct learn_pair *find_pair(const struct bpe_learner *l, uint32_t left, uint32_t right)
{
    size_t slot = (size_t)(hash_mix(left, right) >> 24) & (l->pair_slots - 1);
    while (l->pairs[slot].used && (l->pairs[slot].left != left || l->pairs[slot].right != right))
        slot = (slot + 1) & (l->pair_slots - 1);
    return &l->pairs[slot];
}

static int grow_pairs(struct bpe_learner *l, struct err *err)
{
    struct bpe_learner grown = *l;
    grown.pair_slots = l->pair_slots ? 2 * l->pair_slots : FIRST_PAIRS;
    grown.pairs = heap_alloc(grown.pair_slots, sizeof *grown.pairs, err);
    if (!grown.pairs)
        return -1;
    grown.pair_count = 0;
    for (size_t i = 0; i < l->pair_slots; i++) {
        if (l->pairs[i].count == 0)
            continue;
        *find_pair(&grown, l->pairs[i].left, l->pairs[i].right) = l->pairs[i];
        grown.pair_count++;
    }
    heap_free(l->pairs);
    *l = grown;
    return 0;
}

/* Add the pairs of a piece to the counts if `sign` is 1, or subtract them if it is -1. */
static int count_pairs(struct bpe_learner *l, const struct learn_piece *piece, int64_t sign,
                       struct err *err)
{
    const uint32_t *symbols = l->symbols + piece->first;
    for (size_t i = 0; i + 1 < piece->size; i++) {
        if (2 * l->pair_count >= l->pair_slots && grow_pairs(l, err))
            return -1;
        struct learn_pair *pair = find_pair(l, symbols[i], symbols[i + 1]);
        l->pair_count += !pair->used;
        *pair = (struct learn_pair){symbols[i], symbols[i + 1], pair->count + sign * piece->count,
                                    true};
    }
    return 0;
}

/* --- merging --------------------------------------------------------------------------------- */

static bool has_pair(const struct bpe_learner *l, const struct learn_piece *piece,
                     const struct learn_token *pair)
{
    const uint32_t *symbols = l->symbols + piece->first;
    for (size_t i = 0; i + 1 < piece->size; i++)
        if (symbols[i] == pair->left && symbols[i + 1] == pair->right)
            return true;
    return false;
}

static int merge_all(struct bpe_learner *l, const struct learn_token *pair, uint32_t id,
                     struct err *err)
{
    for (size_t i = 0; i < l->piece_count; i++) {
        struct learn_piece *piece = &l->pieces[i];
        uint32_t *symbols = l->symbols + piece->first;
        size_t kept = 0;
        if (!has_pair(l, piece, pair))
            continue;
        if (count_pairs(l, piece, -1, err))
            return -1;
        for (size_t k = 0; k < piece->size; k++) {
            bool joins =
                k + 1 < piece->size && symbols[k] == pair->left && symbols[k + 1] == pair->right;
            symbols[kept++] = joins ? id : symbols[k];
            k += joins;
        }
        piece->size = kept;
        if (count_pairs(l, piece, 1, err))
            return -1;
    }
    return 0;
}

static int spell_pieces(struct bpe_learner *l, struct err *err)
{
    uint32_t ids[BPE_LEARN_BYTES] = {0}; /* id of each byte: bytes are numbered in the order of
                                          * their characters */
    size_t total = 0;
    for (size_t i = 0; i < l->piece_count; i++) {
        l->pieces[i].first = total;
        total += l->pieces[i].size;
    }
    l->symbols = arena_alloc(&l->arena, total, sizeof *l->symbols, err);
    if (!l->symbols)
        return -1;
    for (unsigned byte = 0; byte < BPE_LEARN_BYTES; byte++) {
        uint32_t sign = byte_alphabet_sign((unsigned char)byte);
        for (unsigned other = 0; other < BPE_LEARN_BYTES; other++)
            ids[byte] += byte_alphabet_sign((unsigned char)other) < sign;
        l->signs[ids[byte]] = sign;
    }
    for (size_t i = 0; i < l->piece_count; i++) {
        const struct learn_piece *piece = &l->pieces[i];
        for (size_t k = 0; k < piece->size; k++)
            l->symbols[piece->first + k] = ids[(unsigned char)piece->bytes[k]];
        if (count_pairs(l, piece, 1, err))
            return -1;
    }
    return 0;
}

int bpe_learner_run(struct bpe_learner *learner, size_t size, struct err *err)
{
    learner->tokens = arena_alloc(&learner->arena, size, sizeof *learner->tokens, err);
    if (!learner->tokens || spell_pieces(learner, err))
        return -1;
    learner->token_count = BPE_LEARN_BYTES;
    while (learner->token_count < size) {
        const struct learn_pair none = {.count = 1}, *best = &none;
        const struct learn_pair *end = learner->pairs + learner->pair_slots;
        for (const struct learn_pair *pair = learner->pairs; pair < end; pair++)
            if (pair->count != best->count ? pair->count > best->count
                : pair->left != best->left ? pair->left < best->left
                                           : pair->right < best->right)
                best = pair;
        if (best == &none)
            break;
        struct learn_token token = {best->left, best->right};
        learner->tokens[learner->token_count] = token;
        if (merge_all(learner, &token, (uint32_t)learner->token_count++, err))
            return -1;
        progress_tell(learner->progress, learner->token_count, size);
    }
    return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Append the text of a token, in characters of the byte alphabet. */
static void append_token(const struct bpe_learner *l, struct buf *out, uint32_t id)
{
    char sign[4];
    if (id < BPE_LEARN_BYTES) {
        buf_bytes(out, sign, utf8_encode(sign, l->signs[id]));
        return;
    }
    append_token(l, out, l->tokens[id].left);
    append_token(l, out, l->tokens[id].right);
}

void bpe_learner_vocab(const struct bpe_learner *learner, struct buf *out)
{
    struct json_writer json = {.buf = out};
    struct buf token = {0};
    json_put_open(&json, NULL, '{');
    for (size_t id = 0; id < learner->token_count; id++) {
        buf_clear(&token);
        append_token(learner, &token, (uint32_t)id);
        json_put_gap(&json, "\n");
        json_put_name(&json, token.bytes ? token.bytes : "", token.size);
        json_put_integer(&json, NULL, id);
        out->out_of_memory |= token.out_of_memory;
    }
    buf_text(out, "\n}\n");
    buf_release(&token);
}

void bpe_learner_merges(const struct bpe_learner *learner, struct buf *lines)
{
    buf_text(lines, "#version: 0.2\n");
    for (size_t id = BPE_LEARN_BYTES; id < learner->token_count; id++) {
        append_token(learner, lines, learner->tokens[id].left);
        buf_char(lines, ' ');
        append_token(learner, lines, learner->tokens[id].right);
        buf_char(lines, '\n');
    }
}

void bpe_learner_release(struct bpe_learner *learner)
{
    hash_table_release(&learner->numbers);
    heap_free(learner->pairs);
    arena_release(&learner->arena);
    *learner = (struct bpe_learner){0};
}

/* --- words ------------------------------------------------------------------------------------ */

/* The role of a character when a line is split into words. */
enum glyph { GLYPH_WORD, GLYPH_UNSPACED, GLYPH_JOINT, GLYPH_BLANK, GLYPH_OTHER };

/* A line of a text. With `cuts`, each character of a script without spaces is a word. */
struct line {
    const char *text;
    size_t size;
    bool cuts;
};

static enum glyph part_at(const struct line *line, size_t at, size_t *length)
{
    enum { APOSTROPHE = 0x2019 };
    uint32_t c = 0;
    *length = utf8_step(&c, line->text + at, line->size - at);
    enum utf8_class class = utf8_class(c);
    if (class == UTF8_LETTER && line->cuts && unicode_is_unspaced(c))
        return GLYPH_UNSPACED;
    if (class == UTF8_LETTER || class == UTF8_NUMBER)
        return GLYPH_WORD;
    if (class == UTF8_SPACE)
        return GLYPH_BLANK;
    return c == '\'' || c == '-' || c == APOSTROPHE ? GLYPH_JOINT : GLYPH_OTHER;
}

/* True if somewhere in the line, spaces separate two characters of scripts that are written without
 * spaces, such as Han. */
static bool is_spaced(const struct line *line)
{
    bool after = false; /* the last character that is not a space was of a script without spaces */
    bool blank = false;
    size_t length = 0;
    for (size_t at = 0; at < line->size; at += length) {
        enum glyph part = part_at(line, at, &length);
        if (part == GLYPH_UNSPACED && after && blank)
            return true;
        blank = part == GLYPH_BLANK;
        after = part == GLYPH_UNSPACED || (blank && after);
    }
    return false;
}

/* Return the end of the word that begins at `at`. An apostrophe or hyphen belongs to the word only
 * between letters or digits. If a character of a script without spaces follows directly, as in
 * don't爱, the word ends before its first apostrophe or hyphen, as in the tokenizer (words.c). */
static size_t end_of_word(const struct line *line, size_t at)
{
    size_t end = at;
    size_t joint = 0; /* offset of the first apostrophe or hyphen; 0: none */
    size_t length = 0;
    enum glyph last = GLYPH_OTHER;
    enum glyph part = GLYPH_OTHER;
    for (; at < line->size; at += length, last = part) {
        part = part_at(line, at, &length);
        if (part != GLYPH_WORD && (part != GLYPH_JOINT || last != GLYPH_WORD))
            break;
        if (part == GLYPH_JOINT && !joint)
            joint = at;
        if (part == GLYPH_WORD)
            end = at + length;
    }
    return joint && at == end && part == GLYPH_UNSPACED ? joint : end;
}

static int push(struct word_list *list, const char *bytes, size_t size, struct err *err)
{
    struct word *words = arena_grow(&list->arena, list->words, list->count, sizeof *words, err);
    if (!words)
        return -1;
    list->words = words;
    list->words[list->count++] = (struct word){bytes, size};
    return 0;
}

/* Add each character of a run as a word. The run is in a script without spaces and begins at *at,
 * which becomes the end of the run. */
static int push_characters(struct word_list *list, const struct line *line, size_t *at,
                           struct err *err)
{
    size_t start = *at;
    size_t count = 0, length = 0;
    for (; *at < line->size && part_at(line, *at, &length) == GLYPH_UNSPACED; count++) {
        length = utf8_grapheme(line->text + *at, line->size - *at);
        if (push(list, line->text + *at, length, err))
            return -1;
        *at += length;
    }
    if (count > 1 && !list->unspaced.size)
        list->unspaced = (struct word){line->text + start, *at - start};
    return 0;
}

static int add_line(struct word_list *list, const struct line *line, struct err *err)
{
    for (size_t at = 0; at < line->size;) {
        size_t length = 0;
        enum glyph part = part_at(line, at, &length);
        if (part == GLYPH_UNSPACED) {
            if (push_characters(list, line, &at, err))
                return -1;
            continue;
        }
        size_t end = part == GLYPH_WORD ? end_of_word(line, at) : at + length;
        if (part == GLYPH_WORD && push(list, line->text + at, end - at, err))
            return -1;
        at = end;
    }
    return 0;
}

int word_list_add(struct word_list *list, const char *text, size_t size, struct err *err)
{
    if (check_utf8(text, size, err))
        return -1;
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t end = newline ? (size_t)(newline - text) : size;
        struct line line = {text + at, end - at, true};
        line.cuts = !is_spaced(&line);
        if (add_line(list, &line, err))
            return -1;
        at = end + 1;
    }
    return 0;
}

static int compare_words(const void *a, const void *b)
{
    const struct word *one = a;
    const struct word *other = b;
    int order = memcmp(one->bytes, other->bytes, one->size < other->size ? one->size : other->size);
    return order ? order : (one->size > other->size) - (one->size < other->size);
}

void word_list_sort(struct word_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->words, list->count, sizeof *list->words, compare_words);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || compare_words(&list->words[i], &list->words[kept - 1]) != 0)
            list->words[kept++] = list->words[i];
    list->count = kept;
}

void word_list_json(struct buf *out, const struct word_list *list)
{
    struct json_writer json = {.buf = out};
    json_put_open(&json, NULL, '{');
    for (size_t i = 0; i < list->count; i++) {
        json_put_name(&json, list->words[i].bytes, list->words[i].size);
        json_put_integer(&json, NULL, i);
    }
    json_put_close(&json, '}');
    buf_char(out, '\n');
}

void word_list_release(struct word_list *list)
{
    arena_release(&list->arena);
    *list = (struct word_list){0};
}
