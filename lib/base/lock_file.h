/* lock_file.h: a file that one process at a time holds, and that says which.
 *
 * The lock is flock's and goes with its process: what a killed one leaves is a file that the next
 * one takes. Who has it removes the file before it lets go, so that another file may stand under
 * the same name meanwhile: whoever has locked one looks whether it still is the one of that name.
 * A child inherits the lock with its descriptors; exec closes them.
 *
 *     struct lock_file lock = {0};
 *     if (lock_file_take(&lock, "out/lock", "out", err)) ...
 *     lock_file_release(&lock);
 */
#ifndef ATTN_BASE_LOCK_FILE_H
#define ATTN_BASE_LOCK_FILE_H

#include "base/err.h"

struct lock_file {
    int descriptor;
    const char *path; /* borrowed; NULL: not held */
};

enum { LOCK_FILE_LOST = 1 };

/* Take the lock of a place without waiting; refused where another process has it, by its name.
 * LOCK_FILE_LOST says that the folder is gone, or that others came first again and again: make it,
 * and take it once more. */
int lock_file_take(struct lock_file *lock, const char *path, const char *place, struct err *err);

/* Remove the file and let go; nothing where it is not held. */
void lock_file_release(struct lock_file *lock);

#endif
