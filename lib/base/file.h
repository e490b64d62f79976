/* file.h: a whole file as bytes, mapped where the system can.
 *
 * A model's files are regular ones: a link to a device or a pipe that someone put in their place
 * would be read without an end, or waited for. Texts may come from where they like, up to a size.
 * No result replaces what was read here (replacement.h).
 *
 *     struct file file = {0};
 *     if (file_map(&file, "models/life/config.json", err)) ...
 *     use(file.bytes, file.size);
 *     file_release(&file);
 */
#ifndef ATTN_BASE_FILE_H
#define ATTN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
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

/* Map a regular file; pages are read when they are first touched. What cannot be mapped (a pipe) is
 * read. The error names the path. */
int file_map(struct file *file, const char *path, struct err *err);

/* The same for a regular file; anything else is refused by its kind, and neither read nor waited
 * for. */
int file_map_regular(struct file *file, const char *path, struct err *err);

/* A descriptor to read a regular file by, -1 with `err` for anything else. */
int file_open_regular(const char *path, struct err *err);

/* What has no size to be known beforehand is read up to so many bytes: /dev/zero has no end. */
#define FILE_READ_MAX_BYTES ((size_t)1 << 30)

/* Read all of an open descriptor (a pipe, a terminal) up to its end; `name` stands in errors. */
int file_read(struct file *file, int descriptor, const char *name, struct err *err);

/* A file of bytes that the caller owns. */
struct file file_borrow(const char *bytes, size_t size);

/* Give back the memory of the bytes before `end`, as far as the system can read them again when
 * they are looked at the next time. */
void file_forget(const struct file *file, const char *end);

/* True when what is mapped was written to since: what was read is of no one version. A path that
 * leads to another file by now is no change. */
bool file_has_changed(const struct file *file, const char *path);

void file_release(struct file *file);

bool file_is_directory(const char *path);

/* The kind of what has a path, itself (S_IFREG, S_IFLNK, …); 0: nothing has it. What cannot be
 * looked at is an error: it is not taken for absent. */
int file_kind(mode_t *kind, const char *path, struct err *err);

/* True when a look at a path failed because nothing has it, by errno. */
bool file_is_absent(void);

/* True when something has this name, even a link that leads nowhere or what cannot be looked at:
 * opening it says what is wrong, where taking it for absent would go on without it. */
bool file_exists(const char *path);

/* Remove a file, if it is there. */
int file_remove(const char *path, struct err *err);

/* Make the directory unless it is there; its parent must exist. */
int file_make_directory(const char *path, struct err *err);

/* What is open already and is named by /dev/stdout, /dev/stderr or /dev/fd/N: it is written on from
 * where it is, whatever it is, as whoever opened it wants. -1: it is no such name. */
int file_descriptor_of(const char *path);

#endif
