/* path_check.h: golden models on every path through the engine.
 *
 * A path is an instruction set, a number of threads, weights where they lie in the file, packed, or
 * rounded to bf16, and a way through the text. On each of them every golden tensor must hold; and
 * all that sum in one order give the same bits, also of a longer text: all of float32, and in bf16
 * those that multiply it in one way.
 */
#ifndef ATTN_TESTS_PATH_CHECK_H
#define ATTN_TESTS_PATH_CHECK_H

#include "program_check.h"

/* Print a line for each path, with the largest error of all; each counts one. */
void path_check(struct tally *tally, const struct golden *goldens, size_t count);

#endif
