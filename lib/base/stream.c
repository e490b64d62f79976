#include "base/stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/num.h"
#include "base/platform.h"
#include "base/replacement.h"
#include "base/utf8.h"

/* --- whole reads and writes ------------------------------------------------------------------- */

static _Thread_local volatile sig_atomic_t is_writing;

bool transfer_is_writing(void)
{
    return is_writing;
}

/* True if a failed call may be repeated: after a signal, or when the descriptor is ready. */
static bool again(int descriptor, short event)
{
    struct pollfd waiting = {descriptor, event, 0};
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return false;
    return poll(&waiting, 1, -1) > 0 || errno == EINTR;
}

ssize_t transfer_read(int descriptor, void *bytes, size_t size)
{
    ssize_t got;
    do
        got = read(descriptor, bytes, size);
    while (got < 0 && again(descriptor, POLLIN));
    return got;
}

int transfer_write(int descriptor, const void *bytes, size_t size)
{
    const char *from = bytes;
    bool failed = false;
    is_writing = 1;
    while (size > 0 && !failed) {
        ssize_t put = write(descriptor, from, size);
        failed = put < 0 && !again(descriptor, POLLOUT);
        from += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    is_writing = 0;
    return err_if(failed);
}

/* --- text on terminals ------------------------------------------------------------------------ */

static void escape(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    *sign = '\0';
    for (size_t i = 0; i < size; i++)
        snprintf(sign + 4 * i, 5, "\\x%02x", (unsigned char)bytes[i]);
}

static void copy(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    memcpy(sign, bytes, size);
    sign[size] = '\0';
}

size_t terminal_sign(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t length = utf8_decode(&c, bytes, size);
    bool shown = length > 0 && utf8_is_visible(c);
    length = length ? length : 1;
    (shown ? copy : escape)(sign, bytes, length);
    return length;
}

size_t terminal_colour(const char *bytes, size_t size)
{
    size_t at = 2;
    if (size < 3 || bytes[0] != '\x1b' || bytes[1] != '[')
        return 0;
    while (at < size && at < TERMINAL_SIGN_BYTES - 2 &&
           (bytes[at] == ';' || (bytes[at] >= '0' && bytes[at] <= '9')))
        at++;
    return at < size && bytes[at] == 'm' ? at + 1 : 0;
}

/* True for newline, tab and blanks from U+00A0 on, such as no-break and ideographic spaces. */
static bool is_space(uint32_t c)
{
    return c == '\n' || c == '\t' || (c >= 0xa0 && utf8_class(c) == UTF8_SPACE);
}

/* True if the held bytes may be the beginning of a character. */
static bool is_begun(const struct terminal *terminal)
{
    unsigned char first = (unsigned char)terminal->held[0];
    unsigned char last = (unsigned char)terminal->held[terminal->held_size - 1];
    size_t whole = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return terminal->held_size < whole && (terminal->held_size == 1 || (last & 0xc0) == 0x80);
}

/* Move the held bytes, escaped, to `sign`. */
static void terminal_rest(struct terminal *terminal, char sign[TERMINAL_SIGN_BYTES])
{
    escape(sign, terminal->held, terminal->held_size);
    terminal->held_size = 0;
}

/* Read one byte, or a whole colour sequence, of `size` bytes (at least 1), and write to `sign` the
 * bytes that a terminal gets for it: none while a character is incomplete. Returns the number of
 * bytes read; 0: the byte does not continue the held bytes, which are now in `sign`; pass the byte
 * again. */
static size_t terminal_take(struct terminal *terminal, char sign[TERMINAL_SIGN_BYTES],
                            const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t before = terminal->held_size;
    size_t colour = terminal->colours && !before ? terminal_colour(bytes, size) : 0;
    if (colour) {
        copy(sign, bytes, colour);
        return colour;
    }
    terminal->held[terminal->held_size++] = *bytes;
    *sign = '\0';
    size_t length = utf8_decode(&c, terminal->held, terminal->held_size);
    if (!length && is_begun(terminal))
        return 1;
    /* the byte does not continue the held character: it is examined again, alone */
    if (!length && before) {
        terminal->held_size = before;
        terminal_rest(terminal, sign);
        return 0;
    }
    if (length && is_space(c))
        copy(sign, terminal->held, length);
    else
        terminal_sign(sign, terminal->held, terminal->held_size);
    terminal->held_size = 0;
    return 1;
}

/* --- streams ---------------------------------------------------------------------------------- */

enum {
    BUFFER_BYTES = 64 * 1024,
    OPEN_FILES = 16, /* maximum number of files written at the same time */
    TRIES = 100,     /* attempts to lock a new temporary file before another process removes it as
                      * abandoned */
};

/* The parts of a temporary file's name after the target's name: .attn-cli-XXXXXX.tmp. */
#define LETTERS "XXXXXX"
#define BEFORE_LETTERS ".attn-cli-"
#define ENDING ".tmp"

/* Files that a signal handler must remove; a slot is NULL or a path that stays valid. */
static char *volatile open_temporaries[OPEN_FILES];

/* Replace path `old` by `path` in its slot; if `old` is NULL, put `path` into a free slot. -1: no
 * slot has `old`. */
static int replace_temporary(const char *old, char *path)
{
    for (int i = 0; i < OPEN_FILES; i++) {
        if (open_temporaries[i] == old) {
            open_temporaries[i] = path;
            return 0;
        }
    }
    return -1;
}

void stream_remove_temporaries(void)
{
    for (int i = 0; i < OPEN_FILES; i++) {
        const char *path = open_temporaries[i];
        if (path)
            unlink(path);
    }
}

/* The text of a buffer, to be freed with heap_free; NULL with `err` on failure. */
static char *text_of(struct buf *buf, struct err *err)
{
    if (buf_check(buf, err))
        buf_release(buf);
    return buf->bytes;
}

static char *copy_of(const char *path, struct err *err)
{
    struct buf buf = {0};
    buf_text(&buf, path);
    return text_of(&buf, err);
}

static void release(struct stream *stream)
{
    heap_free(stream->target);
    heap_free(stream->temporary);
    heap_free(stream->buffer);
    *stream = (struct stream){.descriptor = -1, .written_bytes = stream->written_bytes};
}

static struct buf *captured; /* receives standard output; NULL: nothing is captured */

struct buf *stream_capture(struct buf *memory)
{
    struct buf *before = captured;
    captured = memory;
    return before;
}

int stream_to(struct stream *stream, int descriptor, struct err *err)
{
    struct buf *memory = descriptor == STDOUT_FILENO ? captured : NULL;
    *stream = (struct stream){.descriptor = descriptor,
                              .memory = memory,
                              .terminal.shows = !memory && isatty(descriptor) == 1};
    stream->buffer = heap_resize(NULL, BUFFER_BYTES, 1, err); /* not zeroed, since few streams fill
                                                               * the buffer */
    return stream->buffer ? 0 : -1;
}

int stream_to_memory(struct stream *stream, struct buf *memory, struct err *err)
{
    int failed = stream_to(stream, -1, err);
    stream->memory = memory;
    return failed;
}

int stream_to_hex(struct stream *stream, struct stream *hex, struct err *err)
{
    int failed = stream_to(stream, -1, err);
    stream->hex = hex;
    return failed;
}

/* Find the path of a file behind symbolic links, so a link stays a link. NULL if the file is
 * written in place, because it is not regular or has no name any more, such as /proc/PID/fd/N of a
 * removed file. */
static int resolve(char **target, const char *path, const struct stat *status, struct err *err)
{
    bool is_file = status && S_ISREG(status->st_mode);
    char *real = is_file ? realpath(path, NULL) : NULL;
    const char *name = status ? real : path;
    *target = NULL;
    if (is_file && !real && errno == ENOMEM)
        return err_memory(err, PATH_MAX);
    *target = name ? copy_of(name, err) : NULL;
    int failed = name && !*target;
    free(real);
    return failed ? -1 : 0;
}

/* The descriptor, open or not, in a path such as /dev/stdout, /dev/fd/N or /proc/self/fd/N; -1:
 * another path. */
static int file_descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t size = strlen(folders[i]);
        if (strncmp(path, folders[i], size) == 0 && path[size] &&
            strspn(path + size, "0123456789") == strlen(path + size))
            return atoi(path + size);
    }
    return -1;
}

/* Open a device, a pipe, a file without a name, or an open descriptor's file. */
static int open_in_place(struct stream *stream, const char *path, struct err *err)
{
    int open_already = file_descriptor_of(path);
    stream->target = copy_of(path, err);
    if (!stream->target)
        return -1;
    stream->descriptor = open_already < 0 ? open(path, O_WRONLY | O_CLOEXEC)
                                          : fcntl(open_already, F_DUPFD_CLOEXEC, 0);
    if (stream->descriptor < 0)
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
    stream->terminal.shows = isatty(stream->descriptor) == 1;
    return 0;
}

/* Refuse a file that may not be written or replaced, and a dangling link: a rename would replace
 * them. `status` is NULL if there is no file. */
static int check_replaceable(const char *path, const struct stat *status, enum reading_kind kind,
                             struct err *err)
{
    struct stat link;
    if (status && replacement_check(path, status, kind, err))
        return -1;
    if (status && access(path, W_OK))
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
    if (!status && lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        return err_output(err, "cannot write '%s': it is a dangling link", path);
    return 0;
}

/* Set `err` to the message for errno or, if the directory of the file is missing, to a message that
 * says so. */
static int cannot_open(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    int failure = errno;
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    snprintf(folder, sizeof folder, "%.*s", (int)size, path);
    if (failure == ENOENT && size && size < sizeof folder && !file_exists(folder))
        return err_output(err, "cannot write '%s': there is no directory '%s'", path, folder);
    return err_output(err, "cannot write '%s': %s", path, strerror(failure));
}

/* The path of a temporary file next to the target; a name that is too long is shortened. */
static char *path_beside(const char *target, struct err *err)
{
    static const char added[] = BEFORE_LETTERS LETTERS ENDING;
    const size_t most = NAME_MAX - (sizeof added - 1);
    const char *slash = strrchr(target, '/');
    size_t name = strlen(slash ? slash + 1 : target);
    size_t excess = name > most && name <= NAME_MAX ? name - most : 0;
    struct buf buf = {0};
    buf_bytes(&buf, target, strlen(target) - excess);
    buf_text(&buf, added);
    return text_of(&buf, err);
}

/* Remove temporary files of the same target that no process locks: their processes were killed.
 * Failures are ignored. */
static void remove_abandoned(const char *temporary)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(temporary, '/');
    const char *name = slash ? slash + 1 : temporary;
    const size_t size = strlen(name);
    snprintf(folder, sizeof folder, "%.*s.", (int)(name - temporary), temporary);
    DIR *directory = opendir(folder);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        const char *found = entry->d_name;
        if (strlen(found) != size || !stream_is_temporary(found) ||
            strncmp(found, name, size - (sizeof LETTERS ENDING - 1)) != 0)
            continue;
        int file = openat(dirfd(directory), found, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(directory), found, 0);
        if (file >= 0)
            close(file);
    }
    if (directory)
        closedir(directory);
}

/* Make a file with random letters, locked until it has its final name. If another process removes
 * it as abandoned before it is locked, make another. */
static int make_locked(char *temporary)
{
    char *letters = temporary + strlen(temporary) - (sizeof LETTERS ENDING - 1);
    for (int i = 0;; i++) {
        memcpy(letters, LETTERS, sizeof LETTERS - 1);
        int file = mkostemps(temporary, sizeof ENDING - 1, O_CLOEXEC);
        if (file < 0 || flock(file, LOCK_EX) || file_exists(temporary) || i == TRIES)
            return file;
        close(file);
    }
}

static int open_temporary(struct stream *stream, const char *path, struct err *err)
{
    if (!stream->target)
        return -1;
    stream->temporary = path_beside(stream->target, err);
    if (!stream->temporary)
        return -1;
    /* record the name before the file exists: a signal may arrive in between */
    if (replace_temporary(NULL, stream->temporary)) {
        err_output(err, "cannot write '%s': expected at most %d open files", path, OPEN_FILES);
        goto failed;
    }
    stream->descriptor = make_locked(stream->temporary);
    if (stream->descriptor < 0) {
        cannot_open(path, err);
        goto failed;
    }
    /* the file is private so far; on failure stream_discard removes it */
    return replacement_keep(stream->descriptor, stream->target, err);
failed: /* a file of that name is not ours: do not remove it */
    replace_temporary(stream->temporary, NULL);
    heap_free(stream->temporary);
    stream->temporary = NULL;
    return -1;
}

int stream_open(struct stream *stream, const char *path, struct err *err)
{
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (!exists && !file_is_absent() && errno != ELOOP)
        return cannot_open(path, err);
    if (exists && S_ISDIR(status.st_mode))
        return err_output(err, "cannot write '%s': it is a directory", path);
    const struct stat *found = exists ? &status : NULL;
    bool open_already = file_descriptor_of(path) >= 0;
    if ((!open_already && check_replaceable(path, found, READ_AS_MODEL, err)) ||
        stream_to(stream, -1, err))
        return -1;
    if ((!open_already && resolve(&stream->target, path, found, err)) ||
        (stream->target ? open_temporary : open_in_place)(stream, path, err)) {
        stream_discard(stream);
        return -1;
    }
    if (stream->temporary)
        remove_abandoned(stream->temporary);
    return 0;
}

int stream_open_inside(struct stream *stream, const char *path, bool replaces, struct err *err)
{
    struct stat status;
    bool exists = lstat(path, &status) == 0;
    if (!exists && !file_is_absent())
        return cannot_open(path, err);
    if (exists && S_ISDIR(status.st_mode))
        return err_output(err, "cannot write '%s': it is a directory", path);
    if (exists && !replaces)
        return err_output(err, "cannot write '%s': it exists", path);
    if (exists && S_ISREG(status.st_mode) && check_replaceable(path, &status, READ_AS_INPUT, err))
        return -1;
    if (stream_to(stream, -1, err))
        return -1;
    stream->is_new = !replaces;
    stream->target = copy_of(path, err);
    if (open_temporary(stream, path, err)) {
        stream_discard(stream);
        return -1;
    }
    return 0;
}

void stream_flush(struct stream *stream)
{
    static const char digits[] = "0123456789abcdef";
    if (stream->hex) {
        for (size_t i = 0; i < stream->used; i++) {
            unsigned char byte = (unsigned char)stream->buffer[i];
            stream_bytes(stream->hex, (const char[]){digits[byte >> 4], digits[byte & 15]}, 2);
        }
    } else if (stream->memory) {
        buf_bytes(stream->memory, stream->buffer, stream->used);
    } else if (!stream->failure &&
               transfer_write(stream->descriptor, stream->buffer, stream->used)) {
        stream->failure = errno;
    }
    stream->used = 0;
}

static void put(struct stream *stream, const char *from, size_t size)
{
    while (size > 0 && !stream->failure) {
        size_t left = BUFFER_BYTES - stream->used;
        size_t part = size < left ? size : left;
        memcpy(stream->buffer + stream->used, from, part);
        stream->used += part;
        from += part;
        size -= part;
        if (stream->used == BUFFER_BYTES)
            stream_flush(stream);
    }
}

void stream_binary(struct stream *stream)
{
    stream->terminal.shows = false;
}

void stream_bytes(struct stream *stream, const void *bytes, size_t size)
{
    char sign[TERMINAL_SIGN_BYTES];
    stream->written_bytes += size;
    if (stream->sum)
        *stream->sum = hash_fnv(*stream->sum, bytes, size);
    if (!stream->terminal.shows) {
        put(stream, bytes, size);
        return;
    }
    for (size_t at = 0; at < size;) {
        at += terminal_take(&stream->terminal, sign, (const char *)bytes + at, size - at);
        put(stream, sign, strlen(sign));
    }
}

bool stream_is_temporary(const char *name)
{
    const size_t size = strlen(name);
    const size_t added = sizeof BEFORE_LETTERS LETTERS ENDING - 1;
    if (size <= added)
        return false;
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const char *at = name + size - added;
    const char *letters = at + sizeof BEFORE_LETTERS - 1;
    const char *ending = letters + sizeof LETTERS - 1;
    return strncmp(at, BEFORE_LETTERS, sizeof BEFORE_LETTERS - 1) == 0 &&
           strspn(letters, alphabet) == sizeof LETTERS - 1 && strcmp(ending, ENDING) == 0;
}

static bool sync_later;

void stream_sync_later(bool later)
{
    sync_later = later;
}

int stream_sync(const char *path, struct err *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    int failed = descriptor < 0 || platform_sync(descriptor);
    if (failed)
        err_output(err, "cannot write '%s': %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return failed ? -1 : 0;
}

/* Rename a file unless the name is taken. If the system cannot do that in one step, the file gets a
 * second name by a link; if the file system has no links, check and rename. */
static int rename_new(const char *from, const char *to)
{
    struct stat status;
    if (platform_rename_new(from, to) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(from, to) == 0)
        return unlink(from);
    if (errno == EEXIST)
        return -1;
    errno = EEXIST;
    return lstat(to, &status) == 0 ? -1 : rename(from, to);
}

static int commit_file(struct stream *stream)
{
    bool regular = stream->temporary != NULL;
    /* a duplicate of the descriptor keeps the lock until the rename */
    int lock = regular ? fcntl(stream->descriptor, F_DUPFD_CLOEXEC, 0) : -1;
    if (close(stream->descriptor) && !stream->failure)
        stream->failure = errno;
    stream->descriptor = -1;
    if (!stream->failure && regular &&
        (stream->is_new ? rename_new : rename)(stream->temporary, stream->target))
        stream->failure = errno;
    if (lock >= 0)
        close(lock);
    return stream->failure;
}

/* Discard a stream that failed. Returns -1. */
static int refuse_commit(struct stream *stream, struct err *err)
{
    err_output(err, "cannot write '%s': %s", stream->target ? stream->target : "standard output",
               strerror(stream->failure));
    stream_discard(stream);
    return -1;
}

int stream_finish(struct stream *stream, struct err *err)
{
    char sign[TERMINAL_SIGN_BYTES];
    terminal_rest(&stream->terminal, sign);
    put(stream, sign, strlen(sign));
    stream_flush(stream);
    if (!stream->failure && stream->temporary && !sync_later && fsync(stream->descriptor))
        stream->failure = errno;
    return stream->failure ? refuse_commit(stream, err) : 0;
}

int stream_commit(struct stream *stream, struct err *err)
{
    if (stream_finish(stream, err))
        return -1;
    if (stream->target && commit_file(stream))
        return refuse_commit(stream, err);
    if (stream->temporary)
        replace_temporary(stream->temporary, NULL);
    release(stream);
    return 0;
}

void stream_discard(struct stream *stream)
{
    if (!stream->buffer)
        return;
    if (stream->target && stream->descriptor >= 0)
        close(stream->descriptor);
    if (stream->temporary) {
        unlink(stream->temporary);
        replace_temporary(stream->temporary, NULL);
    }
    release(stream);
}

int stream_end(struct stream *stream, int failed, struct err *err)
{
    failed = failed || stream_commit(stream, err);
    stream_discard(stream);
    return failed ? -1 : 0;
}

void stream_text(struct stream *stream, const char *text)
{
    stream_bytes(stream, text, strlen(text));
}

void stream_char(struct stream *stream, char c)
{
    stream_bytes(stream, &c, 1);
}

void stream_format(struct stream *stream, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof small) {
        stream_bytes(stream, small, (size_t)size);
        return;
    }
    char *large = size < 0 ? NULL : heap_alloc((size_t)size + 1, 1, NULL);
    if (!large) {
        stream->failure = stream->failure ? stream->failure : ENOMEM;
        return;
    }
    va_start(args, format);
    vsnprintf(large, (size_t)size + 1, format, args);
    va_end(args);
    stream_bytes(stream, large, (size_t)size);
    heap_free(large);
}

void stream_float(struct stream *stream, float value)
{
    char text[NUM_FLOAT_BYTES];
    stream_bytes(stream, text, num_float(text, value));
}
