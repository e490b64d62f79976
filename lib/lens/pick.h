/* pick.h: one token of a text, by what somebody calls it:
 *
 *     is      the first token that reads so; the blank that GPT-2's tokens begin with need not be
 *             said, and a label (␣is) will do
 *     3, -1   the token at that place, counted from 0, or from the end
 *     3:is    the token at that place, which must read so: the label of data files
 *
 * A token that reads `3` wins over the place 3.
 *
 *     struct pick pick;
 *     if (!pick_token(&pick, &reading, "is"))
 *         ... there is none ...
 */
#ifndef ATTN_LENS_PICK_H
#define ATTN_LENS_PICK_H

#include <stdbool.h>
#include <stddef.h>

#include "lens/report.h"

struct pick {
    size_t index;
    size_t alike; /* tokens after it that go by the same name … */
    size_t next;  /* … and the first of them */
    size_t place; /* the token whose place the name is, should it be a number, too; else index */
};

bool pick_token(struct pick *pick, const struct reading *reading, const char *name);

/* What a token is called for short: its text, or what is seen of it, without the blanks before it.
 */
const char *pick_name(const struct label *label);

#endif
