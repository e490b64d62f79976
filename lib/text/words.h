/* words.h: a sentence cut into words by a list of words.
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
 *  3. Else a run is cut: from each place the longest entry behind which the rest can be cut too.
 * Only the last one may reach over the end of the run, to a boundary (the C++ of 我爱C++).
 *  4. Else a run is unknown, as a whole.
 *  5. Else a character is dropped, as readers count characters: an emoji with all its parts is one.
 *     Controls are treated like punctuation.
 */
#ifndef ATTN_TEXT_WORDS_H
#define ATTN_TEXT_WORDS_H

#include <stddef.h>

#include "base/err.h"
#include "base/nearest.h"
#include "text/token_list.h"
#include "text/vocabulary.h"

/* `text` is valid UTF-8; an empty one gives no tokens, which go to the list. */
int words_encode(const struct vocabulary *vocabulary, struct token_list *list, const char *text,
                 size_t size, struct err *err);

/* Refuse the word of a text from `start` to `end`; `nearest` was offered all words that there are.
 * The error is about ERR_ABOUT_WORD. Returns -1. */
int words_refuse(const struct nearest *nearest, const char *text, size_t start, size_t end,
                 struct err *err);

#endif
