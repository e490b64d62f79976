/* completion.h: completion scripts, from the tables of commands, options and values: a row of the
 * table of shells and a file a shell.
 *
 *     if (completion_write(&out, "zsh", err)) ...
 *
 * A script knows of every option what may follow it: the values of a list, several of them joined,
 * files, folders, or what cannot be guessed; then it offers nothing.
 */
#ifndef ATTN_CMD_COMPLETION_H
#define ATTN_CMD_COMPLETION_H

#include "base/err.h"
#include "base/stream.h"
#include "value_lists.h"

/* The script for "bash", "zsh" or "fish". */
int completion_write(struct stream *out, const char *shell, struct err *err);

/* The shells' own, each in the file of its name. */
void completion_bash_write(struct stream *out);
void completion_zsh_write(struct stream *out);
void completion_fish_write(struct stream *out);

/* Write every list once: `write` is called for the first row that uses it. */
void completion_lists(struct stream *out,
                      void (*write)(struct stream *out, const struct value_list *list));

#endif
