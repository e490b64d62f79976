/* file.h: a whole file as bytes, mapped where the system can.
 *
 * A model's files are regular ones: a device or a pipe in their place would be read without an end.
 * Texts may come from anywhere, up to a size. No result replaces what was read (replacement.h).
 *
 *     struct file file = {0};
 *     if (file_map(&file, "models/life/config.json", err)) ...
 *     use(file.bytes, file.size);
 *     file_release(&file);
 */
#ifndef ATTN_BASE_FILE_H
#define ATTN_BASE_FILE_H

#include <sys/stat.h>

#include "base/err.h"

struct file {
    const char *bytes; /* read-only; valid until file_release */
    size_t size;
    enum file_origin { FILE_BORROWED, FILE_MAPPED, FILE_READ } origin;
    struct file_version {
        dev_t device;
        ino_t inode;
        struct timespec modified;
    } version; /* of what is mapped */
};

/* Map a file, or read what cannot be mapped (a pipe); the second refuses what is not a regular
 * file, neither reading nor waiting for it. */
int file_map(struct file *file, const char *path, struct err *err);
int file_map_regular(struct file *file, const char *path, struct err *err);

/* What has no size to be known beforehand is read up to so many bytes: /dev/zero has no end. */
#define FILE_READ_MAX_BYTES ((size_t)1 << 30)

/* Read all of an open descriptor (a pipe, a terminal) up to its end; `name` is for errors. */
int file_read(struct file *file, int descriptor, const char *name, struct err *err);

/* A file of bytes that the caller owns. */
struct file file_borrow(const char *bytes, size_t size);

/* Give back the memory of the bytes before `end` that the system can read again when needed. */
void file_forget(const struct file *file, const char *end);

/* True when what is mapped was written to since. (A path that leads elsewhere is no change.) */
bool file_has_changed(const struct file *file, const char *path);

void file_release(struct file *file);

bool file_is_directory(const char *path);

/* The kind of what has a path, itself (S_IFREG, S_IFLNK, …); 0: nothing has it. What cannot be
 * looked at is an error, not absent. The second tells by errno whether a look failed for absence.
 */
int file_kind(mode_t *kind, const char *path, struct err *err);
bool file_is_absent(void);

/* True when something has this name, even a dead link or what cannot be looked at: opening it says
 * what is wrong. */
bool file_exists(const char *path);

/* Remove a file if it is there; make a directory unless it is there, in a parent that exists. */
int file_remove(const char *path, struct err *err);
int file_make_directory(const char *path, struct err *err);

/* The open descriptor that /dev/stdout, /dev/stderr or /dev/fd/N names; -1: no such name. */
int file_descriptor_of(const char *path);

#endif
