/* unknown_option.h: what was meant by an option that a command does not have.
 *
 * In this order: the same thing under this command's name for it ("--prompt" is "--sentence"), an
 * option of other commands, a slip of the finger.
 */
#ifndef ATTN_CMD_UNKNOWN_OPTION_H
#define ATTN_CMD_UNKNOWN_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "options.h"

/* Refuse a long name of `size` bytes, without its dashes. Returns -1. */
int unknown_name(int command, const char *name, size_t size, struct err *err);

/* True when that option may be meant: it is called so elsewhere, or nearly so. */
bool unknown_may_mean(const char *name, const char *option);

/* The option that a name is only a slip away from: another case, `_` for a dash, or in words of
 * five letters or more one letter; or NULL. */
const char *unknown_slip(int command, const char *name);

/* Refuse what stands in a group of letters. Returns -1. */
int unknown_letter(int command, const char *letter, struct err *err);

/* Refuse a word that would be taken for something else: `-layer`, whose l is no option and whose
 * dash should be two; `–layer`, with the dash of a word processor. 0 for any other. */
int unknown_dashes(int command, const char *argument, struct err *err);

#endif
