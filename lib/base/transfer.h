/* transfer.h: read and write as they are meant: a signal does not end them, and a pipe or terminal
 * that somebody else made not to wait is waited for all the same.
 *
 *     if (transfer_write(STDOUT_FILENO, "done\n", 5))
 *         return err_output(err, "cannot write: %s", strerror(errno));
 */
#ifndef ATTN_BASE_TRANSFER_H
#define ATTN_BASE_TRANSFER_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

/* As read: how much came, 0 at the end, -1 with errno. */
ssize_t transfer_read(int descriptor, void *bytes, size_t size);

/* All of it: 0, or -1 with errno; a part may be written then. */
int transfer_write(int descriptor, const void *bytes, size_t size);

/* Whether this thread writes what somebody asked for, for a handler of SIGPIPE: it ends a program
 * whose reader has left, but a remark that no one reads is no reason to. */
extern _Thread_local volatile sig_atomic_t transfer_is_writing;

#endif
