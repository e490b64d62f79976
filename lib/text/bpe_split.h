/* bpe_split.h: GPT-2's way to cut a text into pieces before any bytes are merged. To the letter:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * The first of these that fits is a piece, and there is always one. \p{L}, \p{N} and \s are those
 * of unicode.h: marks are no letters, \p{N} is more than digits, \s is White_Space.
 *
 *     struct bpe_splitter splitter = bpe_splitter(text, size);
 *     for (size_t at = 0, end; at < size; at = end) {
 *         end = bpe_split(&splitter, at);
 *         use(text + at, end - at);
 *     }
 */
#ifndef ATTN_TEXT_BPE_SPLIT_H
#define ATTN_TEXT_BPE_SPLIT_H

#include <stddef.h>

#include "base/unicode.h"

struct bpe_splitter {
    const char *text; /* valid UTF-8 */
    size_t size;
    struct unicode_run run; /* where the last character was found: its neighbours often follow */
};

struct bpe_splitter bpe_splitter(const char *text, size_t size);

/* The end of the piece that begins at `at`, which is before the end. */
size_t bpe_split(struct bpe_splitter *splitter, size_t at);

#endif
