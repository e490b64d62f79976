/* merges.h: the merges of byte-pair encoding, from merges.txt or from tokenizer.json, in the order
 * of their ranks.
 *
 * merges.txt has one a line, two tokens in the alphabet of byte_alphabet.h with a blank between
 * them: `Ġ t`. Lines that begin with `#version` are passed over, lines may end in CR LF, the last
 * one need not end at all. tokenizer.json has an array of "Ġ t" or of ["Ġ", "t"].
 */
#ifndef ATTN_TEXT_MERGES_H
#define ATTN_TEXT_MERGES_H

#include <stddef.h>

#include "base/err.h"
#include "format/json_cursor.h"
#include "text/bpe.h"
#include "text/word_table.h"

/* Make `bpe` of the vocabulary's bytes and these merges. Both parts and what they become must be
 * words; errors name the line (from 1 on) or the number of the merge (from 0 on). `count`: of the
 * array's items. */
int merges_read_lines(struct bpe *bpe, const struct word_table *words, const char *bytes,
                      size_t size, struct err *err);
int merges_read_json(struct bpe *bpe, const struct word_table *words, struct json_cursor merges,
                     size_t count, struct err *err);

#endif
