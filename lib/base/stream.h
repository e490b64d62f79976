/* stream.h: output; a file is written completely or not at all.
 *
 * A file is written as TARGET.attn-cli-XXXXXX.tmp; stream_commit renames it after the last byte is
 * checked and on disk. Until then the target is unchanged. Single writes report no error:
 * stream_commit reports the first failure. A temporary file is locked (flock) until it is renamed;
 * stream_open removes unlocked ones of the same target, which killed processes have left.
 *
 * A path that the user wrote (-o) may lead through links. A dangling link, a directory and files
 * that may not be replaced (replacement.h) are refused; devices and pipes are written in place.
 *
 *     if (stream_open(&out, "weights.csv", err)) ...
 *     stream_text(&out, "query\\key");
 *     stream_float(&out, 0.25f);
 *     if (stream_commit(&out, err)) ...
 *     stream_discard(&out);             (does nothing after a commit)
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct buf;

struct stream {
    int descriptor;
    struct buf *memory; /* buffer that gets the output; NULL: the descriptor gets it */
    struct stream *hex; /* stream that gets two digits for each byte; NULL: none */
    int failure;        /* errno of the first failure; 0: none */
    char *target;       /* path of the file; NULL: the caller's descriptor, buffer or stream is
                         * written */
    char *temporary;    /* path of the temporary file, to be renamed to `target`; NULL: the file is
                         * written in place */
    bool is_new;        /* stream_commit refuses to replace an existing file */
    char *buffer;       /* bytes that are not written yet; NULL: the stream is closed */
    size_t used;
    size_t written_bytes; /* number of bytes written to the stream, for reports */
    uint64_t *sum;        /* the caller's checksum (hash_fnv) of all bytes written to the stream;
                           * NULL: none */
    struct terminal {
        bool shows;   /* the output is a terminal: escape controls, invisible characters and invalid
                       * UTF-8 */
        bool colours; /* pass sequences that set colours; the caller has escaped such sequences in
                       * texts */
        char held[4]; /* the first bytes of an incomplete character */
        size_t held_size;
    } terminal;
};

/* stream_open opens a file that the user named, to write it. stream_open_inside opens a file in a
 * folder of results: links are not followed, and an existing file is replaced or, unless
 * `replaces`, refused. */
int stream_open(struct stream *stream, const char *path, struct err *err);
int stream_open_inside(struct stream *stream, const char *path, bool replaces, struct err *err);

/* stream_to writes to a descriptor that stays open (standard output); stream_to_memory to the end
 * of a buffer, for which buf_check reports missing memory; stream_to_hex to another stream, as
 * hexadecimal digits. */
int stream_to(struct stream *stream, int descriptor, struct err *err);
int stream_to_memory(struct stream *stream, struct buf *memory, struct err *err);
int stream_to_hex(struct stream *stream, struct stream *hex, struct err *err);

/* From now on, stream_to opens streams to `memory` in place of standard output; NULL: standard
 * output is used again. Returns the previous `memory`. */
struct buf *stream_capture(struct buf *memory);

/* Mark the output as binary: even a terminal gets every byte unchanged. */
void stream_binary(struct stream *stream);

void stream_bytes(struct stream *stream, const void *bytes, size_t size);
void stream_text(struct stream *stream, const char *text);
void stream_char(struct stream *stream, char c);
void stream_format(struct stream *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void stream_float(struct stream *stream, float value); /* writes digits as num_float does */

/* Write out the buffer now, for a reader that waits for it. */
void stream_flush(struct stream *stream);

/* Write the buffered bytes and, unless stream_sync_later, wait until the file is on disk: files
 * that belong together are all finished before the first is committed. On failure the stream is
 * discarded. */
int stream_finish(struct stream *stream, struct err *err);

/* stream_commit finishes a stream, gives the file its name, and closes it. stream_discard closes it
 * and removes the temporary file. */
int stream_commit(struct stream *stream, struct err *err);
void stream_discard(struct stream *stream);

/* Commit the stream or, if `failed`, discard it. Returns -1 if `failed`, or if the commit fails. */
int stream_end(struct stream *stream, int failed, struct err *err);

/* True if a file's name, without its folder, is the name of a temporary file. */
bool stream_is_temporary(const char *name);

/* If `later`, do not wait for the disk after each of many files: each wait takes milliseconds. At
 * the end, stream_sync waits for all files on the file system of a path. */
void stream_sync_later(bool later);
int stream_sync(const char *path, struct err *err);

/* Remove all temporary files of this process. Safe in a signal handler. */
void stream_remove_temporaries(void);

/* --- terminals --------------------------------------------------------------------------------
 *
 * For safety, streams to a terminal write some bytes as \xNN: controls except newline and tab,
 * characters that are invisible (except blanks and joiners) or change the direction of the text,
 * and invalid UTF-8. */
enum { TERMINAL_SIGN_BYTES = 40 }; /* room for the longest colour sequence, or \xNN four times */

/* The length of a colour sequence, `ESC [ numbers m`, at the beginning of `bytes`; 0: there is
 * none, or it is too long. */
size_t terminal_colour(const char *bytes, size_t size);

/* Write the first character of a label, or \xNN for each of its bytes if utf8_is_visible is false;
 * a byte that is not UTF-8 counts as a character. Returns the number of bytes of the character. */
size_t terminal_sign(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size);

/* --- read and write despite signals, and on descriptors that do not block --------------------- */

/* Like read(2): returns the number of bytes; 0: the end of the input; -1: failure, with errno. */
ssize_t transfer_read(int descriptor, void *bytes, size_t size);

/* Write all bytes. Returns 0; -1 with errno on failure, when some bytes may have been written. */
int transfer_write(int descriptor, const void *bytes, size_t size);

/* True while transfer_write runs in this thread. Only then does a handler of SIGPIPE end the
 * program: nobody reads the result. Notes on standard error do not need a reader. */
bool transfer_is_writing(void);
