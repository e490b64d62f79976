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

#include "text/word_table.h"

/* True if the words are written in word_table.h's alphabet: each of its 256 letters is a word, or
 * more than half of all begin with Ġ. */
bool words_are_byte_level(const struct word_table *words);

/* Refuse a word, which begins at byte `at` of its text, as ERR_ABOUT_WORD; suggests the nearest
 * word. */
int words_refuse(const struct word_table *words, struct word word, size_t at, struct err *err);

#endif
