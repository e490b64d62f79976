/* stream.h: bytes on their way out, all or nothing.
 *
 * A file is written as TARGET.attn-cli-XXXXXX.tmp; only stream_commit, after the last byte is
 * checked and on disk, renames it. Else the target stays as it was. Writes never fail one by one:
 * the first failure sticks and stream_commit returns it. A temporary file is locked (flock) while
 * its process lives; stream_open removes those of the same target that are not.
 *
 * A path that the user wrote (-o) may lead through links; a link that leads nowhere, a directory
 * and what may not be replaced (replacement.h) are refused; devices and pipes are written in place.
 * A terminal gets what terminal.h lets through.
 *
 *     if (stream_open(&out, "weights.csv", err)) ...
 *     stream_text(&out, "query\\key");
 *     stream_float(&out, 0.25f);
 *     if (stream_commit(&out, err)) ...
 *     stream_discard(&out);             (does nothing after a commit)
 */
#ifndef ATTN_BASE_STREAM_H
#define ATTN_BASE_STREAM_H

#include <stdint.h>

#include "base/err.h"
#include "base/terminal.h"

struct buf;

struct stream {
    int descriptor;
    struct buf *memory; /* in place of the descriptor; NULL: there is one */
    struct stream *hex; /* in place of it, gets two digits for each byte; NULL: there is one */
    int failure;        /* errno of the first write that failed; 0: none */
    char *target;       /* NULL: a descriptor that was handed in */
    char *temporary;    /* what is renamed to `target` */
    bool is_new;        /* nothing that has the target's name is replaced */
    char *buffer;       /* NULL: closed */
    size_t used;
    size_t written_bytes; /* all that was put in, for reports */
    uint64_t *sum;        /* the caller's checksum (hash_fnv) of these bytes; NULL: none */
    struct terminal terminal;
};

/* Begin a file that the user named; or one of a folder of results, where no link is followed, and
 * what has its name is replaced or, unless `replaces`, refused; or write to a descriptor that stays
 * open (standard output). */
int stream_open(struct stream *stream, const char *path, struct err *err);
int stream_open_inside(struct stream *stream, const char *path, bool replaces, struct err *err);
int stream_to(struct stream *stream, int descriptor, struct err *err);

/* Or to the end of a buffer, which says itself whether there was memory. */
int stream_to_memory(struct stream *stream, struct buf *memory, struct err *err);

/* Or to another stream, as hexadecimal digits. */
int stream_to_hex(struct stream *stream, struct stream *hex, struct err *err);

/* What is written is no text: a terminal that asked for it by name gets every byte, too. */
void stream_binary(struct stream *stream);

void stream_bytes(struct stream *stream, const void *bytes, size_t size);
void stream_text(struct stream *stream, const char *text);
void stream_char(struct stream *stream, char c);
void stream_format(struct stream *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void stream_float(struct stream *stream, float value); /* num_float's text */

/* Send what is buffered on its way now: a reader at the other end of the pipe is waiting. */
void stream_flush(struct stream *stream);

/* Finish: flush, check, and give the file its name, on failure nothing is left; or give up: the
 * temporary file goes, the target stays as it was. */
int stream_commit(struct stream *stream, struct err *err);
void stream_discard(struct stream *stream);

/* Finish what was written; where that failed, give up. -1 in either failure. */
int stream_end(struct stream *stream, int failed, struct err *err);

/* Whether a file's name, without a path, is one that only our temporary files have. */
bool stream_is_temporary(const char *name);

/* Let commits not wait for the disk, milliseconds a file: for who writes thousands and waits once,
 * until all on the file system of a path is on disk. */
void stream_sync_later(bool later);
int stream_sync(const char *path, struct err *err);

/* For signal handlers: remove every temporary file. Only async-signal-safe calls. */
void stream_remove_temporaries(void);

#endif
