/* odd.h: numbers and texts that are legal, and that few have thought of.
 *
 *     cJSON_CreateRaw(odd_number(made));
 *     size_t size;
 *     const char *name = odd_text(&size, made);
 */
#ifndef ATTN_TESTS_ODD_H
#define ATTN_TESTS_ODD_H

#include <stdint.h>

#include "made.h"

/* As JSON writes it; and as an integer alone. */
const char *odd_number(struct made *made);
const char *odd_integer(struct made *made);

/* Valid UTF-8 without a byte of 0, alive as long as the input: empty, long, a path, a control
 * character, an option, a name of a file that batch writes. No path leads further up than one
 * folder: the tests' own. */
const char *odd_text(struct made *made);

/* The bits of a float32; odd_half and odd_bf16: of the short ones. One in `not_finite` is infinite
 * or not a number. */
uint32_t odd_float(struct made *made);
uint16_t odd_half(struct made *made);
uint16_t odd_bf16(struct made *made);

#endif
