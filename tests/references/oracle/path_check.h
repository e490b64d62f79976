/* path_check.h: golden models on every path through the engine.
 *
 * A path is a combination of an instruction set, a number of threads, a storage of the weights (in
 * the file, packed, or rounded to bf16) and a way to pass the text (whole, in pieces, in a batch).
 * On each path, all golden tensors must agree. Paths with the same order of sums (all of float32;
 * in bf16 those that multiply pairs in the same way) must give the same bits, also for a longer
 * text.
 */
#pragma once

#include "program_check.h"

/* Print a line for each path with its largest error; each path counts as one check. */
void path_check(struct tally *tally, const struct golden *goldens, size_t count);
