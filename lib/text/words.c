#include "text/words.h"

#include <assert.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "text/label.h"

enum { FIRST_CAPACITY = 64 };

/* One text on its way through. What lies before `at` is done. */
struct cutter {
    const struct vocabulary *vocabulary;
    const char *text;
    size_t size;
    size_t at;
    size_t character_end; /* of the character, as readers see it, in which the last token ended */

    struct token *items; /* on the heap: nobody knows yet how many there will be */
    size_t count;
    size_t capacity;
    struct token dropped_first;
    size_t dropped_count;

    const struct vocabulary_entry **cuts; /* where a run is cut, see find_cuts */
    size_t cut_capacity;
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
    if (cutter->count == cutter->capacity) {
        size_t capacity = cutter->capacity ? cutter->capacity * 2 : FIRST_CAPACITY;
        struct token *items = heap_resize(cutter->items, capacity, sizeof *items, err);
        if (!items)
            return -1;
        cutter->items = items;
        cutter->capacity = capacity;
    }
    struct token token = {.id = id, .start = cutter->at, .end = end};
    cutter->items[cutter->count++] = token;
    cutter->at = end;
    if (end > cutter->character_end)
        cutter->character_end = end_of_character(cutter, previous(cutter, end));
    return 0;
}

static int push_entry(struct cutter *cutter, const struct vocabulary_entry *entry, struct err *err)
{
    return push(cutter, entry->id, cutter->at + entry->word.size, err);
}

/* Drop a character as readers see it; by single code points what an entry left over of one, and
 * controls, some of which (U+0600) join the digit behind them. */
static void drop(struct cutter *cutter, enum utf8_class class, size_t length)
{
    bool single = class == UTF8_CONTROL || cutter->at < cutter->character_end;
    size_t end = single ? cutter->at + length : end_of_character(cutter, cutter->at);
    if (cutter->dropped_count++ == 0)
        cutter->dropped_first = (struct token){.start = cutter->at, .end = end};
    cutter->at = end;
}

/* The longest entry here that ends at a boundary, and not before `run_end`. What is left of a
 * character has boundaries everywhere. */
static const struct vocabulary_entry *find_whole(const struct cutter *cutter, size_t run_end)
{
    const struct vocabulary_entry *entry = vocabulary_longest(
        cutter->vocabulary, cutter->text + cutter->at, cutter->size - cutter->at);
    for (; entry; entry = vocabulary_shorter(cutter->vocabulary, entry)) {
        size_t end = cutter->at + entry->word.size;
        if (end < run_end)
            return NULL;
        if (end <= cutter->character_end || is_boundary(cutter, end))
            return entry;
    }
    return NULL;
}

/* The longest entry at `start` behind which the run can be cut to its end. */
static const struct vocabulary_entry *find_cut(const struct cutter *cutter, size_t start,
                                               size_t run_end)
{
    const struct vocabulary_entry *entry =
        vocabulary_longest(cutter->vocabulary, cutter->text + start, cutter->size - start);
    for (; entry; entry = vocabulary_shorter(cutter->vocabulary, entry)) {
        size_t end = start + entry->word.size;
        if (end < run_end ? cutter->cuts[end - cutter->at] != NULL : is_boundary(cutter, end))
            return entry;
    }
    return NULL;
}

/* For every place of the run [at, run_end), from its end on: the entry to take there, or NULL where
 * the rest of the run cannot be cut. Each place is looked at once. */
static int find_cuts(struct cutter *cutter, size_t run_end, struct err *err)
{
    size_t length = run_end - cutter->at;
    if (length > cutter->cut_capacity) {
        const struct vocabulary_entry **cuts = heap_resize(cutter->cuts, length, sizeof *cuts, err);
        if (!cuts)
            return -1;
        cutter->cuts = cuts;
        cutter->cut_capacity = length;
    }
    for (size_t start = run_end; start > cutter->at;) {
        start = previous(cutter, start);
        cutter->cuts[start - cutter->at] = find_cut(cutter, start, run_end);
    }
    return 0;
}

static int push_cuts(struct cutter *cutter, size_t run_end, struct err *err)
{
    size_t run_start = cutter->at;
    while (cutter->at < run_end)
        if (push_entry(cutter, cutter->cuts[cutter->at - run_start], err))
            return -1;
    return 0;
}

/* A word that is no entry and cannot be cut into entries. */
static int push_unknown(struct cutter *cutter, size_t run_end, struct err *err)
{
    static const char *const names[] = {"<unk>", "[UNK]", "<|unk|>"};
    char shown[LABEL_EXCERPT_BYTES];
    uint32_t id = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (vocabulary_find(cutter->vocabulary, names[i], strlen(names[i]), &id))
            return push(cutter, id, run_end, err);
    return err_set(err, "word '%s' at byte %zu is not in the vocabulary",
                   label_excerpt(shown, cutter->text + cutter->at, run_end - cutter->at),
                   cutter->at);
}

static int push_run(struct cutter *cutter, size_t run_end, struct err *err)
{
    if (find_cuts(cutter, run_end, err))
        return -1;
    return cutter->cuts[0] ? push_cuts(cutter, run_end, err) : push_unknown(cutter, run_end, err);
}

/* The five cases of words.h. */
static int step(struct cutter *cutter, struct err *err)
{
    size_t length = 0;
    enum utf8_class class = class_at(cutter, cutter->at, &length);
    bool is_run = is_in_word(class) && cutter->at >= cutter->character_end;
    size_t run_end = is_run ? end_of_run(cutter) : cutter->at;
    const struct vocabulary_entry *whole = find_whole(cutter, run_end);
    if (whole)
        return push_entry(cutter, whole, err);
    if (is_run)
        return push_run(cutter, run_end, err);
    if (class == UTF8_SPACE)
        cutter->at += length;
    else
        drop(cutter, class, length);
    return 0;
}

/* Hand the tokens over, in memory of their number. */
static int keep(const struct cutter *cutter, struct tokens *tokens, struct arena *arena,
                struct err *err)
{
    struct tokens kept = {.count = cutter->count, .dropped_count = cutter->dropped_count};
    kept.items = arena_alloc(arena, cutter->count, sizeof *kept.items, err);
    if (!kept.items)
        return -1;
    if (cutter->count)
        memcpy(kept.items, cutter->items, cutter->count * sizeof *kept.items);
    if (cutter->dropped_count) {
        kept.dropped_first = arena_alloc(arena, 1, sizeof *kept.dropped_first, err);
        if (!kept.dropped_first)
            return -1;
        *kept.dropped_first = cutter->dropped_first;
    }
    *tokens = kept;
    return 0;
}

int words_encode(const struct vocabulary *vocabulary, struct tokens *tokens, const char *text,
                 size_t size, struct arena *arena, struct err *err)
{
    struct cutter cutter = {.vocabulary = vocabulary, .text = text, .size = size};
    int failed = 0;
    while (!failed && cutter.at < size)
        failed = step(&cutter, err);
    if (!failed)
        failed = keep(&cutter, tokens, arena, err);
    heap_free(cutter.items);
    heap_free(cutter.cuts);
    return failed;
}
