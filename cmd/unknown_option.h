/* unknown_option.h: what was meant by an option that a command does not have.
 *
 * In this order: the same thing under this command's name for it ("--prompt" is "--sentence"), an
 * option of other commands, a slip of the finger.
 */
#ifndef ATTN_CMD_UNKNOWN_OPTION_H
#define ATTN_CMD_UNKNOWN_OPTION_H

#include <stddef.h>

#include "base/err.h"
#include "options.h"

/* Refuse a long name of `size` bytes, without its dashes. Returns -1. */
int unknown_name(int command, const char *name, size_t size, struct err *err);

/* Refuse what stands in a group of letters. Returns -1. */
int unknown_letter(int command, const char *letter, struct err *err);

/* Refuse a word that would be taken for something else: `-layer`, whose l is no option and whose
 * dash should be two; `–layer`, with the dash of a word processor. 0 for any other. */
int unknown_dashes(int command, const char *argument, struct err *err);

#endif
