/* Sentences of CoNLL-U. */
#include "fuzz.h"

#include "format/conllu.h"

static struct arena arena; /* its memory stays for the next input */

void fuzz_one(const char *bytes, size_t size)
{
    struct conllu_reader reader = {bytes, bytes + size, 1};
    struct conllu_sentence sentence = {.count = 1};
    size_t words = 0;
    arena_clear(&arena);
    while (sentence.count) {
        if (conllu_read(&reader, &sentence, &arena, &fuzz_err)) {
            fuzz_refused();
            return;
        }
        for (size_t i = 1; i <= sentence.count; i++) {
            const struct conllu_word *word = &sentence.words[i];
            fuzz_check(word->head <= sentence.count && word->head != i, "a head is another word");
            fuzz_check(word->size && word->form >= bytes && word->form + word->size <= bytes + size,
                       "a form is in the file");
            fuzz_check(*word->relation, "a word has a relation");
        }
        words += sentence.count;
    }
    fuzz_check(words * 10 <= size + 10, "a word has a line of its own");
}
