/* file.h: files as bytes, directories, and folders of models on disk or in memory.
 *
 *     struct file file = {0};
 *     if (file_map(&file, "models/life/config.json", err)) ...
 *     use(file.bytes, file.size);
 *     file_release(&file);
 */
#pragma once

#include <sys/stat.h>

#include "base/err.h"

struct arena;
struct target_folder;
struct progress_sink;

/* --- files ------------------------------------------------------------------------------------ */

struct file {
    const char *bytes; /* read-only; valid until file_release or, if they are borrowed, until the
                        * owner frees them */
    size_t size;
    enum file_origin { FILE_BORROWED, FILE_MAPPED, FILE_READ } origin;
    struct file_version {
        dev_t device;
        ino_t inode;
        struct timespec modified;
    } version; /* version of a mapped file; zeros for other files */
};

/* Map a file; a pipe, a device or a file of size 0 (in /proc) is read, up to FILE_READ_MAX_BYTES.
 * file_map_regular is for files of models, file_map_named for a name that comes from another file
 * or a folder, not from the user: both refuse pipes and devices, which could make the program wait.
 * From then on, results replace the file only if replacement.h allows it. */
int file_map(struct file *file, const char *path, struct err *err);
int file_map_regular(struct file *file, const char *path, struct err *err);
int file_map_named(struct file *file, const char *path, struct err *err);

/* Maximum size in bytes of what is read from a pipe or a device: some, such as /dev/zero, have no
 * end. */
#define FILE_READ_MAX_BYTES ((size_t)1 << 30)

/* Read an open descriptor, such as a pipe or a terminal, to its end. An input of more than
 * FILE_READ_MAX_BYTES is an error. */
int file_read(struct file *file, int descriptor, const char *name, struct err *err);

/* Make a file of bytes that the caller owns; file_release does not free them. */
struct file file_borrow(const char *bytes, size_t size);

/* Free the memory of a mapped file's pages before `end`; the system reads them again if needed. */
void file_forget(const struct file *file, const char *end);

/* If `soon`, tell the system to read a range of a mapped file now; else tell it not to read ahead
 * there. */
void file_advise(const char *bytes, size_t size, bool soon);

/* True if the file at `path` is the mapped `file` and was written to after it was mapped. */
bool file_has_changed(const struct file *file, const char *path);

void file_release(struct file *file);

/* Refuse the bytes of a format that people download or rename by mistake, with a message such as
 * "expected JSON, found an HTML page"; return 0 for all other bytes. */
int file_refuse_format(const char *bytes, size_t size, const char *expected, struct err *err);

/* --- pages of mapped files that cannot be read ------------------------------------------------
 *
 * If someone makes a file shorter, reading the missing pages raises the signal SIGBUS. */

/* For a handler that ends the program: the path of the file mapped at an address; NULL: no file is
 * mapped there. */
const char *mapping_list_path(const void *address);

/* For a handler that continues with zeros (lib/attn_host.c): replace the file mapped at this
 * address by zeros, from the page of the address on. False: no file that has an owner is mapped
 * there, or the system refuses. */
bool mapping_list_fill(const void *address);

/* Set the owner of the files that this thread maps from now on. Returns the previous owner. */
const void *mapping_list_own(const void *owner);

/* Fail, with a message that replaces any other, if a file of this owner was filled with zeros.
 * Calls fail until the file is released; one more fails if this owner was set at the release. */
int mapping_list_check(const void *owner, struct err *err);

/* --- names of files --------------------------------------------------------------------------- */

bool file_is_directory(const char *path);

/* Get the kind of the file with this name (S_IFREG, S_IFLNK, …; a link is not followed); 0: no such
 * file. Returns -1 with `err` if the kind cannot be found out. */
int file_kind(mode_t *kind, const char *path, struct err *err);

/* True if errno says that a file does not exist. */
bool file_is_absent(void);

/* True if a file has this name, even a dangling link or an inaccessible file, which fails when it
 * is opened. */
bool file_exists(const char *path);

/* True if both paths lead to the same file or directory. */
bool file_is_same(const char *path, const char *other);

/* file_remove removes a file, if there is one. file_make_directory makes a directory, if there is
 * none; its parents must exist. */
int file_remove(const char *path, struct err *err);
int file_make_directory(const char *path, struct err *err);

struct listing {
    const char **names; /* array of `count` names */
    size_t count;
};

/* List a directory without "." and "..", sorted by bytes. The names belong to the arena. */
int listing_read(struct listing *listing, const char *path, struct arena *arena, struct err *err);

/* --- folders of models, on disk or in memory -------------------------------------------------- */

struct folder_file {
    const char *name;
    const char *bytes; /* valid as long as the folder; not used if `path` is set */
    size_t size;
    const char *path; /* file on disk that has the contents; NULL: `bytes` has them */
};

struct folder {
    const char *path;                /* the directory, or the name of a model in memory */
    const struct folder_file *files; /* `file_count` files in memory; NULL: the folder has the files
                                      * of the directory on disk */
    size_t file_count;
    struct opened_files *opened; /* list to which folder_open adds the names of files; NULL: no
                                  * list */
};

struct opened_files {
    struct listing list; /* each name once, in the order of opening */
    struct arena *arena;
};

/* True if the folder has the file, or an inaccessible one: folder_open reports the error. */
bool folder_has(const struct folder *folder, const char *name);

/* Open a file of the folder; release it with file_release. */
int folder_open(struct file *file, const struct folder *folder, const char *name, struct err *err);

/* Open a file, call `read`, and release the file. Errors of `read` get path and file as prefix. */
int folder_read(const struct folder *folder, const char *name,
                int (*read)(void *context, const struct file *file, struct err *err), void *context,
                struct err *err);

/* Write the files of a folder in memory, in which no file has a `path`, to an open target
 * (replacement.h). The files get their names, in order, after all are written: if the disk is full,
 * nothing changes. `progress`, which may be NULL, counts bytes. */
int folder_save(const struct folder *folder, const struct target_folder *target,
                const struct progress_sink *progress, struct err *err);
