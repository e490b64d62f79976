/* unknown_word.h: a word that a vocabulary lacks: where it stands, and which one it was meant to
 * be.
 *
 *     struct nearest nearest;
 *     nearest_begin(&nearest, text + start, end - start);
 *     ... nearest_offer_bytes(&nearest, word, size) for every word there is ...
 *     return unknown_word(&nearest, text, start, end, err);
 */
#ifndef ATTN_TEXT_UNKNOWN_WORD_H
#define ATTN_TEXT_UNKNOWN_WORD_H

#include <stddef.h>

#include "base/err.h"
#include "base/nearest.h"

/* The error is about ERR_ABOUT_WORD. Returns -1. */
int unknown_word(const struct nearest *nearest, const char *text, size_t start, size_t end,
                 struct err *err);

#endif
