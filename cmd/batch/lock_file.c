/* lock_file.c: the lock of a folder. Who has it removes the file before it lets go, so that another
 * file may stand under the same name meanwhile: whoever has locked one looks whether it still is
 * the one of that name. A child inherits the lock with its descriptors; exec closes them.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work_folder.h"

enum {
    HOST_BYTES = 256,
    HOLDER_BYTES = HOST_BYTES + 64,
    TRIES = 100, /* each time another process had it and let go */
};

/* "process 4711 on 'node7'\n": for messages alone. On a full disk others are not told. */
static void write_holder(int descriptor)
{
    char host[HOST_BYTES] = "";
    char text[HOLDER_BYTES];
    if (gethostname(host, sizeof host - 1))
        strcpy(host, "?");
    int size = snprintf(text, sizeof text, "process %ld on '%s'\n", (long)getpid(), host);
    if (ftruncate(descriptor, 0) || pwrite(descriptor, text, (size_t)size, 0) < 0)
        errno = 0;
}

/* What another process has written, if it is one line of plain letters. */
static const char *read_holder(char text[HOLDER_BYTES], int descriptor)
{
    ssize_t size = pread(descriptor, text, HOLDER_BYTES - 1, 0);
    if (size <= 1 || strncmp(text, "process ", 8) != 0 || text[size - 1] != '\n')
        return "another process";
    text[size - 1] = '\0';
    for (const char *c = text; *c; c++)
        if (!isprint((unsigned char)*c))
            return "another process";
    return text;
}

static int refuse(const char *place, int descriptor, struct err *err)
{
    char holder[HOLDER_BYTES];
    return err_output(err, "'%s': %s is at work there: wait until it has ended", place,
                      read_holder(holder, descriptor));
}

static bool is_named(int descriptor, const char *path)
{
    struct stat held;
    struct stat named;
    return fstat(descriptor, &held) == 0 && lstat(path, &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

static int open_file(int *descriptor, const char *path, struct err *err)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    struct stat status;
    *descriptor = open(path, flags | O_CREAT | O_EXCL, 0666);
    if (*descriptor >= 0)
        return 0;
    if (errno == EEXIST)
        *descriptor = open(path, flags);
    if (*descriptor < 0 && errno == ENOENT)
        return LOCK_FILE_LOST;
    if (*descriptor < 0)
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
    int failure = fstat(*descriptor, &status) ? errno : 0;
    if (!failure && S_ISREG(status.st_mode))
        return 0;
    close(*descriptor);
    return failure ? err_output(err, "cannot look at '%s': %s", path, strerror(failure))
                   : err_output(err, "'%s': expected a file, found something else", path);
}

int lock_file_take(struct lock_file *lock, const char *path, const char *place, struct err *err)
{
    *lock = (struct lock_file){.descriptor = -1};
    for (int i = 0; i < TRIES; i++) {
        int descriptor = -1;
        int failed = open_file(&descriptor, path, err);
        if (failed)
            return failed;
        /* a file system without locks has to do without */
        bool taken = flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
        bool named = is_named(descriptor, path);
        if (!taken && named) {
            write_holder(descriptor);
            *lock = (struct lock_file){descriptor, path};
            return 0;
        }
        if (taken && named)
            failed = refuse(place, descriptor, err);
        close(descriptor);
        if (failed)
            return -1;
    }
    return LOCK_FILE_LOST;
}

void lock_file_release(struct lock_file *lock)
{
    if (!lock->path)
        return;
    unlink(lock->path);
    close(lock->descriptor);
    *lock = (struct lock_file){.descriptor = -1};
}
