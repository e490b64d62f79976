/* words.c: splits a text into the words of a vocab.json: {"word": id} or ["word", …], where the id
 * is the index in the array.
 *
 * White space separates words; a run of letters and digits that is not an entry is split by longest
 * match, so 我爱自然语言处理 works with 我, 爱, 自然, 语言, 处理. Unknown punctuation is dropped and counted; an
 * unknown word becomes the word `<unk>`, `[UNK]` or `<|unk|>` or, if the vocabulary has none of
 * them, an error that names it. Case matters.
 *
 * The rules, applied from left to right; a boundary is any position that is not inside a run:
 *
 *  1. The longest entry that ends at a boundary is a token. It may contain punctuation or spaces:
 *     `don't`, `...`, `<unk>`, `New York` and a single space are found if they are entries.
 *  2. Otherwise, white space is skipped.
 *  3. Otherwise, a run is split: at each position, the longest entry after which the rest can also
 *     be split. Only the last entry may extend past the end of the run, to a boundary (the C++ of
 *     我爱C++).
 *  4. Otherwise, a run is unknown as a whole.
 *  5. Otherwise, a grapheme is dropped: an emoji with all its parts is one. Controls are treated
 *     like punctuation.
 */
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/utf8.h"
#include "text/encoder.h"
#include "text/label.h"
#include "text/subword/subword.h"

/* A single word that begins with Ġ is not enough: Maltese has the letter. */
bool words_are_byte_level(const struct word_table *words)
{
    enum { LETTER_BYTES = 2 }; /* the longest character of the byte alphabet */
    static const char blank[] = "Ġ";
    char byte[LETTER_BYTES];
    size_t letters = 0, blanks = 0, count = 0;
    for (uint32_t id = 0; id < words->size; id++) {
        struct word word = {0};
        word.bytes = word_table_word(words, id, &word.size);
        if (!word.bytes)
            continue;
        size_t decoded = 0;
        letters += word.size <= LETTER_BYTES &&
                   byte_alphabet_decode(byte, &decoded, word.bytes, word.size) == word.size &&
                   decoded == 1;
        blanks += word.size >= sizeof blank - 1 && memcmp(word.bytes, blank, sizeof blank - 1) == 0;
        count++;
    }
    return letters == 256 || (blanks && 2 * blanks > count);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* A text that is being split. The part before `at` is done. */
struct word_scan {
    const struct subword *model;
    struct encoder *encoder;
    const struct text_piece *piece;
    const char *text; /* the bytes of the piece */
    size_t size;
    size_t at;
    size_t character_end; /* the end of the grapheme in which the last token ended */

    unsigned char *splittable; /* a bit for each position of a run, see find_splittable */
    size_t splittable_bytes;
};

static enum utf8_class class_at(const struct word_scan *scan, size_t at, size_t *length)
{
    uint32_t c = 0;
    *length = utf8_step(&c, scan->text + at, scan->size - at);
    return utf8_class(c);
}

static bool is_in_word(enum utf8_class class)
{
    return class == UTF8_LETTER || class == UTF8_NUMBER;
}

static bool is_boundary(const struct word_scan *scan, size_t at)
{
    size_t length = 0;
    return at == 0 || at == scan->size || !is_in_word(class_at(scan, at, &length)) ||
           !is_in_word(class_at(scan, utf8_before(scan->text, at), &length));
}

static size_t end_of_character(const struct word_scan *scan, size_t at)
{
    return at + utf8_grapheme(scan->text + at, scan->size - at);
}

static int push(struct word_scan *scan, uint32_t id, size_t end, struct err *err)
{
    if (encoder_add(scan->encoder, scan->piece, id, scan->at, end, err))
        return -1;
    scan->at = end;
    if (end > scan->character_end)
        scan->character_end = end_of_character(scan, utf8_before(scan->text, end));
    return 0;
}

/* Find the next longer entry at `found->start`; `node` is the node of the trie, 0 at first. */
static bool find_longer(const struct word_scan *scan, struct token *found, uint32_t *node)
{
    const struct word_trie *trie = &scan->model->trie;
    while (found->end < scan->size) {
        *node = word_trie_step(trie, *node, (unsigned char)scan->text[found->end]);
        if (!*node)
            return false;
        found->end++;
        found->id = trie->ids[*node];
        if (found->id != WORD_TRIE_NONE)
            return true;
    }
    return false;
}

/* True if the rest of a run, from `at` on, can be split into entries. A run is made of letters and
 * digits, and is not itself an entry. */
static bool is_splittable(const struct word_scan *scan, const struct text_range *run, size_t at)
{
    size_t index = at - run->start;
    return scan->splittable[index / CHAR_BIT] >> index % CHAR_BIT & 1;
}

/* Find the longest entry at `start` that ends at a boundary, but not before the end of the run. If
 * `parts`, find the longest entry after which the rest of the run can be split. If a token ended
 * inside a grapheme, entries may also end anywhere in the rest of the grapheme, unless `parts`. */
static bool find_longest(struct token *longest, const struct word_scan *scan, size_t start,
                         const struct text_range *run, bool parts)
{
    struct token found = {.start = start, .end = start};
    bool any = false;
    for (uint32_t node = 0; find_longer(scan, &found, &node);) {
        bool ends = found.end < run->end ? parts && is_splittable(scan, run, found.end)
                                         : (!parts && found.end <= scan->character_end) ||
                                               is_boundary(scan, found.end);
        any = any || ends;
        if (ends)
            *longest = found;
    }
    return any;
}

/* Compute for each position of the run, from the last to the first, whether the rest can be split.
 * The results are single bits because a text of one word may be large. */
static int find_splittable(struct word_scan *scan, const struct text_range *run, struct err *err)
{
    size_t bytes = (run->end - run->start) / CHAR_BIT + 1;
    if (bytes > scan->splittable_bytes) {
        unsigned char *splittable = heap_resize(scan->splittable, bytes, 1, err);
        if (!splittable)
            return -1;
        scan->splittable = splittable;
        scan->splittable_bytes = bytes;
    }
    for (size_t start = run->end; start > run->start;) {
        struct token part;
        start = utf8_before(scan->text, start);
        size_t index = start - run->start;
        unsigned char *byte = &scan->splittable[index / CHAR_BIT];
        unsigned char bit = (unsigned char)(1 << index % CHAR_BIT);
        bool splittable = find_longest(&part, scan, start, run, true);
        *byte = (unsigned char)(splittable ? *byte | bit : *byte & ~bit);
    }
    return 0;
}

int words_refuse(const struct word_table *words, struct word word, size_t at, struct err *err)
{
    struct nearest nearest;
    nearest_begin(&nearest, word.bytes, word.size);
    for (uint32_t id = 0; id < words->size; id++) {
        size_t size = 0;
        const char *known = word_table_word(words, id, &size);
        if (known && size)
            nearest_offer_bytes(&nearest, known, size);
    }
    const char *shown = label_excerpt(word.bytes, word.size);
    if (nearest.name)
        err_set(err, "word '%s' at byte %zu is not in the vocabulary: did you mean '%s'?", shown,
                at, label_excerpt(nearest.name, nearest.name_bytes));
    else
        err_set(err, "word '%s' at byte %zu is not in the vocabulary", shown, at);
    return err_about(err, ERR_ABOUT_WORD);
}

/* Add the unknown word for a run that cannot be split into entries. */
static int push_unknown(struct word_scan *scan, size_t run_end, struct err *err)
{
    static const char *const names[] = {"<unk>", "[UNK]", "<|unk|>"};
    uint32_t id = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (word_table_find(scan->model->words, names[i], strlen(names[i]), WORD_TEXT, &id))
            return push(scan, id, run_end, err);
    struct text_range run = {scan->piece->range.start + scan->at,
                             scan->piece->range.start + run_end};
    return words_refuse(
        scan->model->words, (struct word){scan->text + scan->at, run_end - scan->at},
        aligned_text_origin(scan->piece->text, run, &scan->encoder->hint).start, err);
}

/* Apply the first of the five rules above that fits at the current position. */
static int step(struct word_scan *scan, struct err *err)
{
    size_t length = 0;
    enum utf8_class class = class_at(scan, scan->at, &length);
    bool is_run = is_in_word(class) && scan->at >= scan->character_end;
    struct text_range run = {scan->at, scan->at};
    size_t more = 0;
    struct token whole;
    while (is_run && run.end < scan->size && is_in_word(class_at(scan, run.end, &more)))
        run.end += more;
    if (find_longest(&whole, scan, run.start, &run, false))
        return push(scan, whole.id, whole.end, err);
    if (is_run && find_splittable(scan, &run, err))
        return -1;
    if (is_run && !is_splittable(scan, &run, run.start))
        return push_unknown(scan, run.end, err);
    if (is_run) {
        for (struct token part;
             scan->at < run.end && find_longest(&part, scan, scan->at, &run, true);)
            if (push(scan, part.id, part.end, err))
                return -1;
        return 0;
    }

    /* Drop a grapheme. The rest of a grapheme after an entry, and controls, some of which (U+0600)
     * form a grapheme with the digit after them, are dropped by single code points. */
    bool single = class == UTF8_SPACE || class == UTF8_CONTROL || scan->at < scan->character_end;
    size_t end = single ? scan->at + length : end_of_character(scan, scan->at);
    if (class != UTF8_SPACE)
        encoder_drop(scan->encoder, scan->piece, (struct text_range){scan->at, end}, 1);
    scan->at = end;
    return 0;
}

int subword_encode_words(const struct subword *model, struct encoder *encoder,
                         const struct text_piece *piece, struct err *err)
{
    struct word_scan scan = {
        .model = model,
        .encoder = encoder,
        .piece = piece,
        .text = piece->text->bytes + piece->range.start,
        .size = piece->range.end - piece->range.start,
    };
    int failed = 0;
    while (!failed && scan.at < scan.size)
        failed = step(&scan, err);
    heap_free(scan.splittable);
    return failed;
}
