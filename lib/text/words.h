/* words.h: a sentence cut into the words of a vocab.json: {"word": id} or ["word", …], where the
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
#ifndef ATTN_TEXT_WORDS_H
#define ATTN_TEXT_WORDS_H

#include "base/names.h"
#include "text/token_set.h"
#include "text/word_trie.h"

struct folder;

struct vocabulary {
    struct token_set set; /* nothing is added to its words */
    struct word_trie trie;
};

/* Read and check: ids whole, not negative, not repeated, words not repeated and not empty. Words
 * are copied. On failure nothing is held. */
int vocabulary_open(struct vocabulary *vocabulary, const struct folder *folder, const char *name,
                    struct err *err);
void vocabulary_release(struct vocabulary *vocabulary);

/* The id of a word, where `id` is not NULL; false when there is none. */
bool vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t size,
                     uint32_t *id);

/* True when the words are written in word_table.h's alphabet: each of its 256 letters is a word, or
 * more than half of all begin with Ġ. */
bool vocabulary_is_byte_level(const struct vocabulary *vocabulary);

/* Add the tokens of a text in UTF-8 to the list. */
int words_encode(const struct vocabulary *vocabulary, struct token_list *list, const char *text,
                 size_t size, struct err *err);

/* Refuse a word, which stands at a byte of its text, of ERR_ABOUT_WORD; the nearest of the words
 * may be meant. */
int words_refuse(const struct word_table *words, struct word word, size_t at, struct err *err);

#endif
