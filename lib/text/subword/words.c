/* words.c: a sentence cut into the words of a vocab.json: {"word": id} or ["word", …], where the
 * place in the array is the id.
 *
 * White space separates; punctuation stands for itself; a run of letters and digits that is no
 * entry is cut by longest match, so that 我爱自然语言处理 works with 我, 爱, 自然, 语言, 处理. What
 * remains unknown: punctuation is dropped and counted, a word becomes the unknown word (`<unk>`,
 * `[UNK]` or `<|unk|>`) or, where the vocabulary has none, an error that names it. Case counts.
 *
 * To the letter, from left to right:
 *
 *  1. The longest entry that ends at a boundary, which is anywhere but inside a run, is a token. It
 *     may hold punctuation or blanks: `don't`, `...`, `<unk>`, `New York` are found when they are
 *     entries, and so is a blank itself.
 *  2. Else white space is skipped.
 *  3. Else a run is cut: from each place the longest entry after which the rest can be cut too.
 *     Only the last one may reach over the end of the run, to a boundary (the C++ of 我爱C++).
 *  4. Else a run is unknown, as a whole.
 *  5. Else a character is dropped, as readers count characters: an emoji with all its parts is one.
 *     Controls are treated like punctuation.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/utf8.h"
#include "text/encoder.h"
#include "text/label.h"
#include "text/subword/subword.h"

/* A single Ġ proves nothing: Maltese has the letter. */
bool words_are_byte_level(const struct word_table *words)
{
    enum { LETTER_BYTES = 2 }; /* at most, of one that stands for a byte */
    static const char blank[] = "Ġ";
    char byte[LETTER_BYTES];
    size_t letters = 0;
    size_t blanks = 0;
    size_t count = 0;
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

/* One text on its way through. What lies before `at` is done. */
struct cutter {
    const struct subword *model;
    struct encoder *encoder;
    const struct text_piece *piece;
    const char *text; /* of the piece */
    size_t size;
    size_t at;
    size_t character_end; /* of the character, as readers see it, in which the last token ended */

    unsigned char *cuttable; /* a bit for each place of a run, see find_cuttable */
    size_t cuttable_bytes;
};

static enum utf8_class class_at(const struct cutter *cutter, size_t at, size_t *length)
{
    uint32_t c = 0;
    *length = utf8_decode(&c, cutter->text + at, cutter->size - at);
    assert(*length > 0);
    return utf8_class(c);
}

static size_t previous(const struct cutter *cutter, size_t at)
{
    do
        at--;
    while (((unsigned char)cutter->text[at] & 0xC0) == 0x80);
    return at;
}

static bool is_in_word(enum utf8_class class)
{
    return class == UTF8_LETTER || class == UTF8_NUMBER;
}

static bool is_boundary(const struct cutter *cutter, size_t at)
{
    size_t length = 0;
    return at == 0 || at == cutter->size || !is_in_word(class_at(cutter, at, &length)) ||
           !is_in_word(class_at(cutter, previous(cutter, at), &length));
}

static size_t end_of_run(const struct cutter *cutter)
{
    size_t end = cutter->at;
    size_t length = 0;
    while (end < cutter->size && is_in_word(class_at(cutter, end, &length)))
        end += length;
    return end;
}

static size_t end_of_character(const struct cutter *cutter, size_t at)
{
    return at + utf8_grapheme(cutter->text + at, cutter->size - at);
}

static int push(struct cutter *cutter, uint32_t id, size_t end, struct err *err)
{
    if (encoder_add(cutter->encoder, cutter->piece, id, cutter->at, end, err))
        return -1;
    cutter->at = end;
    if (end > cutter->character_end)
        cutter->character_end = end_of_character(cutter, previous(cutter, end));
    return 0;
}

/* Drop a character as readers see it; by single code points what an entry left over of one, and
 * controls, some of which (U+0600) join the digit after them. */
static void drop(struct cutter *cutter, enum utf8_class class, size_t length)
{
    bool single = class == UTF8_CONTROL || cutter->at < cutter->character_end;
    size_t end = single ? cutter->at + length : end_of_character(cutter, cutter->at);
    encoder_drop(cutter->encoder, cutter->piece, (struct text_range){cutter->at, end}, 1);
    cutter->at = end;
}

/* The next longer entry at `found->start`; `node` is where the walk stands, at first 0. */
static bool find_longer(const struct cutter *cutter, struct token *found, uint32_t *node)
{
    const struct word_trie *trie = &cutter->model->trie;
    while (found->end < cutter->size) {
        *node = word_trie_step(trie, *node, (unsigned char)cutter->text[found->end]);
        if (!*node)
            return false;
        found->end++;
        found->id = trie->ids[*node];
        if (found->id != WORD_TRIE_NONE)
            return true;
    }
    return false;
}

/* The longest entry here that ends at a boundary, and not before `run_end`. What is left of a
 * character has boundaries everywhere. */
static bool find_whole(struct token *whole, const struct cutter *cutter, size_t run_end)
{
    struct token found = {.start = cutter->at, .end = cutter->at};
    bool any = false;
    for (uint32_t node = 0; find_longer(cutter, &found, &node);) {
        bool ends = found.end <= cutter->character_end || is_boundary(cutter, found.end);
        if (found.end < run_end || !ends)
            continue;
        *whole = found;
        any = true;
    }
    return any;
}

/* A run of letters and digits that is no entry as a whole: [start, end). */
struct run {
    size_t start, end;
};

static bool is_cuttable(const struct cutter *cutter, const struct run *run, size_t at)
{
    size_t place = at - run->start;
    return cutter->cuttable[place / CHAR_BIT] >> place % CHAR_BIT & 1;
}

static void set_cuttable(struct cutter *cutter, const struct run *run, size_t at, bool cuttable)
{
    size_t place = at - run->start;
    unsigned char *byte = &cutter->cuttable[place / CHAR_BIT];
    unsigned char bit = (unsigned char)(1 << place % CHAR_BIT);
    *byte = (unsigned char)(cuttable ? *byte | bit : *byte & ~bit);
}

/* The longest entry at `start` after which the run can be cut to its end. */
static bool find_cut(struct token *cut, const struct cutter *cutter, size_t start,
                     const struct run *run)
{
    struct token found = {.start = start, .end = start};
    bool any = false;
    for (uint32_t node = 0; find_longer(cutter, &found, &node);) {
        if (found.end < run->end ? !is_cuttable(cutter, run, found.end)
                                 : !is_boundary(cutter, found.end))
            continue;
        *cut = found;
        any = true;
    }
    return any;
}

/* For every place of the run, from its end on: can the rest be cut from there? Each place is looked
 * at once. A bit is all that is kept of it: a text of one word may be large. */
static int find_cuttable(struct cutter *cutter, const struct run *run, struct err *err)
{
    size_t bytes = (run->end - run->start) / CHAR_BIT + 1;
    if (bytes > cutter->cuttable_bytes) {
        unsigned char *cuttable = heap_resize(cutter->cuttable, bytes, 1, err);
        if (!cuttable)
            return -1;
        cutter->cuttable = cuttable;
        cutter->cuttable_bytes = bytes;
    }
    for (size_t start = run->end; start > run->start;) {
        struct token cut;
        start = previous(cutter, start);
        set_cuttable(cutter, run, start, find_cut(&cut, cutter, start, run));
    }
    return 0;
}

int words_refuse(const struct word_table *words, struct word word, size_t at, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    char meant[LABEL_EXCERPT_BYTES];
    struct nearest nearest;
    nearest_begin(&nearest, word.bytes, word.size);
    for (uint32_t id = 0; id < words->size; id++) {
        size_t size = 0;
        const char *known = word_table_word(words, id, &size);
        if (known && size)
            nearest_offer_bytes(&nearest, known, size);
    }
    label_excerpt(shown, word.bytes, word.size);
    if (nearest.name)
        err_set(err, "word '%s' at byte %zu is not in the vocabulary: did you mean '%s'?", shown,
                at, label_excerpt(meant, nearest.name, nearest.name_bytes));
    else
        err_set(err, "word '%s' at byte %zu is not in the vocabulary", shown, at);
    return err_about(err, ERR_ABOUT_WORD);
}

/* A word that is no entry and cannot be cut into entries. */
static int push_unknown(struct cutter *cutter, size_t run_end, struct err *err)
{
    static const char *const names[] = {"<unk>", "[UNK]", "<|unk|>"};
    uint32_t id = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (word_table_find(cutter->model->words, names[i], strlen(names[i]), WORD_TEXT, &id))
            return push(cutter, id, run_end, err);
    struct text_range run = {cutter->piece->range.start + cutter->at,
                             cutter->piece->range.start + run_end};
    return words_refuse(
        cutter->model->words, (struct word){cutter->text + cutter->at, run_end - cutter->at},
        aligned_text_place(cutter->piece->text, run, &cutter->encoder->hint).start, err);
}

static int push_run(struct cutter *cutter, size_t run_end, struct err *err)
{
    struct run run = {cutter->at, run_end};
    if (find_cuttable(cutter, &run, err))
        return -1;
    if (!is_cuttable(cutter, &run, run.start))
        return push_unknown(cutter, run_end, err);
    for (struct token cut; cutter->at < run_end && find_cut(&cut, cutter, cutter->at, &run);)
        if (push(cutter, cut.id, cut.end, err))
            return -1;
    return 0;
}

/* The five cases above. */
static int step(struct cutter *cutter, struct err *err)
{
    size_t length = 0;
    enum utf8_class class = class_at(cutter, cutter->at, &length);
    bool is_run = is_in_word(class) && cutter->at >= cutter->character_end;
    size_t run_end = is_run ? end_of_run(cutter) : cutter->at;
    struct token whole;
    if (find_whole(&whole, cutter, run_end))
        return push(cutter, whole.id, whole.end, err);
    if (is_run)
        return push_run(cutter, run_end, err);
    if (class == UTF8_SPACE)
        cutter->at += length;
    else
        drop(cutter, class, length);
    return 0;
}

int subword_encode_words(const struct subword *model, struct encoder *encoder,
                         const struct text_piece *piece, struct err *err)
{
    struct cutter cutter = {
        .model = model,
        .encoder = encoder,
        .piece = piece,
        .text = piece->text->bytes + piece->range.start,
        .size = piece->range.end - piece->range.start,
    };
    int failed = 0;
    while (!failed && cutter.at < cutter.size)
        failed = step(&cutter, err);
    heap_free(cutter.cuttable);
    return failed;
}
