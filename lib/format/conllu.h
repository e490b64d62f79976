/* conllu.h: sentences whose words know their heads: CoNLL-U, ten fields a line with tabs between
 * them, an empty line after a sentence (universaldependencies.org/format.html).
 *
 *     struct conllu_reader reader = {bytes, bytes + size, 1};
 *     struct conllu_sentence sentence;
 *     while (!conllu_read(&reader, &sentence, &arena, err) && sentence.count)
 *         use(&sentence.words[sentence.words[0].head]);
 *
 * Words are those with a number of their own. Lines of several words (1-2) and of words that are
 * not said (8.1) are passed over, as comments are.
 */
#ifndef ATTN_FORMAT_CONLLU_H
#define ATTN_FORMAT_CONLLU_H

#include "base/arena.h"

struct conllu_word {
    const char *form;     /* borrowed, `size` bytes */
    const char *relation; /* to its head, 0-terminated, the arena's */
    size_t size;
    size_t head;      /* a word's number, from 1; 0: none, it is the root */
    bool space_after; /* before the next one */
};

struct conllu_sentence {
    const struct conllu_word *words; /* [count + 1], from 1 */
    size_t count;                    /* 0: there is no sentence left */
    size_t line;                     /* of its first word */
};

struct conllu_reader {
    const char *at;
    const char *end;
    size_t line; /* the number of the line at `at` */
};

/* Refused, with the line: a line of other than ten fields, words that are not numbered from 1 on,
 * a head that is no word, a form or relation that is missing or has a zero byte. */
int conllu_read(struct conllu_reader *reader, struct conllu_sentence *sentence, struct arena *arena,
                struct err *err);

#endif
