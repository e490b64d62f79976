#include "text/words.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct vocabulary *vocabulary = context;
    struct json_cursor words;
    if (json_cursor_open(&words, NULL, file->bytes, file->size, err) ||
        word_table_read(&vocabulary->set.words, words, WORD_TEXT, file->size, err))
        return -1;
    return word_trie_init(&vocabulary->trie, &vocabulary->set.words, err);
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
    word_trie_release(&vocabulary->trie);
    token_set_release(&vocabulary->set);
    *vocabulary = (struct vocabulary){0};
}

bool vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t size,
                     uint32_t *id)
{
    uint32_t found = 0;
    if (!vocabulary->set.words.size ||
        !word_table_find(&vocabulary->set.words, text, size, WORD_TEXT, &found))
        return false;
    if (id)
        *id = found;
    return true;
}

/* A single Ġ proves nothing: Maltese has the letter. */
bool vocabulary_is_byte_level(const struct vocabulary *vocabulary)
{
    enum { LETTER_BYTES = 2 }; /* at most, of one that stands for a byte */
    static const char blank[] = "Ġ";
    char byte[LETTER_BYTES];
    size_t letters = 0;
    size_t blanks = 0;
    size_t count = 0;
    for (uint32_t id = 0; id < vocabulary->set.words.size; id++) {
        struct word word = {0};
        word.bytes = word_table_word(&vocabulary->set.words, id, &word.size);
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
