/* memory_stream.h: what a writer writes, as bytes.
 *
 *     struct stream out = {0};
 *     memory_stream_open(&out);
 *     npy_write(&out, ...);
 *     struct file written = memory_stream_take(&out);
 *     ...
 *     file_release(&written);
 */
#ifndef ATTN_TESTS_MEMORY_STREAM_H
#define ATTN_TESTS_MEMORY_STREAM_H

#include <check.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stream.h"

static inline void memory_stream_open(struct stream *out)
{
    int descriptor = memfd_create("stream", MFD_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(stream_to(out, descriptor, NULL), 0);
}

/* Finish the stream and read back what went into it. */
static inline struct file memory_stream_take(struct stream *out)
{
    struct file written = {0};
    int descriptor = out->descriptor;
    ck_assert_int_eq(stream_commit(out, NULL), 0);
    ck_assert_int_eq(lseek(descriptor, 0, SEEK_SET), 0);
    ck_assert_int_eq(file_read(&written, descriptor, "memory", NULL), 0);
    close(descriptor);
    return written;
}

#endif
