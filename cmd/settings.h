/* settings.h: options as things that can be compared and named: what makes one item of a batch
 * different from another.
 *
 * A setting is an option that changes what is computed: the model, a mechanism. What is looked at
 * (a source) and what is shown of a result (--layer, --format) are none; the table of options says
 * which is which.
 */
#ifndef ATTN_CMD_SETTINGS_H
#define ATTN_CMD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "options.h"

/* True for options that an item may set over what `batch` says for all. */
bool settings_may_vary(const struct option_row *row);

/* True for those among them that change what is computed. */
bool settings_compute(const struct option_row *row);

/* True when the option has the same value in both. */
bool settings_same(const struct option_row *row, const struct options *a, const struct options *b);

/* Append the option's value as a command line has it: nothing where it was not given. */
void settings_value(struct buf *out, const struct option_row *row, const struct options *options);

/* True when two items can share a pass: every setting is the same and, unless only what is computed
 * counts, what is shown, too. Their texts and sources may differ. */
bool settings_agree(const struct options *a, const struct options *b, bool only_computed);

#endif
