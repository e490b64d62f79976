/* memory_stream.h: the output of a writer as bytes.
 *
 *     struct stream out = {0};
 *     memory_stream_open(&out);
 *     npy_begin(&out, ...);
 *     struct file written = memory_stream_take(&out);
 *     ...
 *     file_release(&written);
 */
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "asserts.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/stream.h"
#include "format/safetensors.h"

static inline void memory_stream_open(struct stream *out)
{
    int descriptor = memfd_create("stream", MFD_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(stream_to(out, descriptor, NULL), 0);
}

/* Finish the stream and return its bytes. */
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

/* A complete safetensors file. */
static inline struct file memory_safetensors(const struct safetensors_tensor *tensors, size_t count,
                                             const struct safetensors_note *notes,
                                             size_t note_count)
{
    struct stream out = {0};
    struct err err = {0};
    struct buf header = {0};
    memory_stream_open(&out);
    int failed = safetensors_header(&header, tensors, count, notes, note_count, &err);
    ck_assert_msg(!failed, "%s", err.text);
    stream_bytes(&out, header.bytes, header.size);
    buf_release(&header);
    for (size_t i = 0; i < count; i++)
        stream_bytes(&out, tensors[i].data, dtype_float_bytes(tensors[i].rank, tensors[i].shape));
    return memory_stream_take(&out);
}
