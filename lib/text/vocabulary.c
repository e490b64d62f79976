#include "text/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/folder.h"

/* Every word once, in no order yet. */
static int list_entries(struct vocabulary *vocabulary, struct err *err)
{
    const struct word_table *table = &vocabulary->set.words;
    for (uint32_t id = 0; id < table->size; id++)
        vocabulary->count += table->places[id].form != WORD_ABSENT;
    vocabulary->entries =
        arena_alloc(&vocabulary->set.arena, vocabulary->count, sizeof *vocabulary->entries, err);
    if (!vocabulary->entries)
        return -1;
    struct vocabulary_entry *entry = vocabulary->entries;
    for (uint32_t id = 0; id < table->size; id++) {
        struct word word = {0};
        word.bytes = word_table_word(table, id, &word.size);
        if (word.bytes)
            *entry++ = (struct vocabulary_entry){.word = word, .id = id};
    }
    return 0;
}

static bool begins_with(const struct word *word, const struct word *start)
{
    return word->size >= start->size && memcmp(word->bytes, start->bytes, start->size) == 0;
}

/* In sorted order the words that begin an entry are among those that begin its neighbour before it,
 * the neighbour included. */
static void sort_entries(struct vocabulary *vocabulary)
{
    struct vocabulary_entry *entries = vocabulary->entries;
    qsort(entries, vocabulary->count, sizeof *entries,
          word_compare); /* its first member is the word */
    ;
    for (uint32_t i = 1; i < vocabulary->count; i++) {
        uint32_t shorter = i;
        while (shorter && !begins_with(&entries[i].word, &entries[shorter - 1].word))
            shorter = entries[shorter - 1].shorter;
        entries[i].shorter = shorter;
    }
}

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct vocabulary *vocabulary = context;
    struct json_cursor words;
    if (json_cursor_open(&words, file->bytes, file->size, err) ||
        word_table_read(&vocabulary->set.words, words, WORD_TEXT, file->size, err) ||
        list_entries(vocabulary, err))
        return -1;
    sort_entries(vocabulary);
    return 0;
}

int vocabulary_open(struct vocabulary *vocabulary, const struct folder *folder, const char *name,
                    struct err *err)
{
    *vocabulary = (struct vocabulary){0};
    int failed = folder_read(folder, name, read_words, vocabulary, err);
    if (failed)
        vocabulary_release(vocabulary);
    return failed;
}

void vocabulary_release(struct vocabulary *vocabulary)
{
    token_set_release(&vocabulary->set);
    *vocabulary = (struct vocabulary){0};
}

bool vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t size,
                     uint32_t *id)
{
    uint32_t found = 0;
    if (!vocabulary->count ||
        !word_table_find(&vocabulary->set.words, text, size, WORD_TEXT, &found))
        return false;
    if (id)
        *id = found;
    return true;
}

static bool is_letter_of_bytes(const struct word *word)
{
    enum { LETTER_BYTES = 2 }; /* at most */
    char byte[LETTER_BYTES];
    size_t decoded = 0;
    return word->size <= LETTER_BYTES &&
           byte_alphabet_decode(byte, &decoded, word->bytes, word->size) == word->size &&
           decoded == 1;
}

/* A single Ġ proves nothing: Maltese has the letter. */
bool vocabulary_is_byte_level(const struct vocabulary *vocabulary)
{
    static const struct word blank = {"\xc4\xa0", 2}; /* Ġ */
    size_t letters = 0;
    size_t blanks = 0;
    for (size_t i = 0; i < vocabulary->count; i++) {
        const struct word *word = &vocabulary->entries[i].word;
        letters += is_letter_of_bytes(word);
        blanks += begins_with(word, &blank);
    }
    return letters == 256 || (blanks && 2 * blanks > vocabulary->count);
}

const struct vocabulary_entry *vocabulary_shorter(const struct vocabulary *vocabulary,
                                                  const struct vocabulary_entry *entry)
{
    return entry->shorter ? &vocabulary->entries[entry->shorter - 1] : NULL;
}

static size_t common_bytes(const struct word *a, const struct word *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    size_t common = 0;
    while (common < size && a->bytes[common] == b->bytes[common])
        common++;
    return common;
}

/* The words that begin a text begin its left neighbour in the order too: whatever stands between a
 * word and a text that begins with it begins with that word. */
const struct vocabulary_entry *vocabulary_longest(const struct vocabulary *vocabulary,
                                                  const char *text, size_t size)
{
    const struct word wanted = {.bytes = text, .size = size};
    size_t low = 0; /* entries before it are not greater than the text */
    size_t high = vocabulary->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (word_compare(&vocabulary->entries[middle].word, &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct vocabulary_entry *entry = low ? &vocabulary->entries[low - 1] : NULL;
    size_t common = entry ? common_bytes(&entry->word, &wanted) : 0;
    while (entry && entry->word.size > common)
        entry = common ? vocabulary_shorter(vocabulary, entry) : NULL;
    return entry;
}
