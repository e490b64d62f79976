#include "format/safetensors.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "format/json_writer.h"

enum { LENGTH_BYTES = 8, ALIGN_BYTES = 8 };

static void append_text(struct buf *header, const char *text)
{
    json_append_text(header, text, strlen(text));
}

/* "__metadata__":{"key":"text",...} */
static void append_notes(struct buf *header, const struct safetensors_note *notes, size_t count)
{
    append_text(header, "__metadata__");
    buf_char(header, ':');
    for (size_t i = 0; i < count; i++) {
        buf_char(header, i ? ',' : '{');
        append_text(header, notes[i].key);
        buf_char(header, ':');
        append_text(header, notes[i].text);
    }
    buf_char(header, '}');
}

static size_t size_bytes(const struct safetensors_tensor *tensor)
{
    size_t size = sizeof(float);
    for (size_t i = 0; i < tensor->rank; i++) {
        bool fits = num_multiply(&size, size, tensor->shape[i]);
        assert(fits); /* the data is there or will be, so its size is a size_t */
        (void)fits;
    }
    return size;
}

/* "name":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]} */
static void append_tensor(struct buf *header, const struct safetensors_tensor *tensor, size_t begin)
{
    append_text(header, tensor->name);
    buf_text(header, ":{\"dtype\":\"F32\",\"shape\":[");
    for (size_t i = 0; i < tensor->rank; i++)
        buf_format(header, i ? ",%zu" : "%zu", tensor->shape[i]);
    buf_format(header, "],\"data_offsets\":[%zu,%zu]}", begin, begin + size_bytes(tensor));
}

static int check_length(const struct buf *header, struct err *err)
{
    if (buf_check(header, err))
        return -1;
    size_t length = header->size - LENGTH_BYTES;
    if (length > SAFETENSORS_HEADER_MAX)
        return err_output(err, "safetensors header: expected at most %d bytes, found %zu",
                          SAFETENSORS_HEADER_MAX, length);
    return 0;
}

/* The length of what stands behind it, in the first eight bytes. */
static void set_length(struct buf *header)
{
    size_t length = header->size - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++)
        header->bytes[i] = (char)(length >> 8 * i & 0xff);
}

int safetensors_header(struct buf *header, const struct safetensors_tensor *tensors, size_t count,
                       const struct safetensors_note *notes, size_t note_count, struct err *err)
{
    size_t begin = 0;
    buf_bytes(header, (const char[LENGTH_BYTES]){0}, LENGTH_BYTES);
    buf_char(header, '{');
    if (note_count > 0)
        append_notes(header, notes, note_count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || note_count > 0)
            buf_char(header, ',');
        append_tensor(header, &tensors[i], begin);
        begin += size_bytes(&tensors[i]);
    }
    buf_char(header, '}');
    while (header->size % ALIGN_BYTES && !header->out_of_memory)
        buf_char(header, ' ');
    if (check_length(header, err))
        return -1;
    set_length(header);
    return 0;
}

int safetensors_write(struct stream *out, const struct safetensors_tensor *tensors, size_t count,
                      const struct safetensors_note *notes, size_t note_count, struct err *err)
{
    struct buf header = {0};
    int failed = safetensors_header(&header, tensors, count, notes, note_count, err);
    if (!failed) {
        stream_binary(out);
        stream_bytes(out, header.bytes, header.size);
        for (size_t i = 0; i < count; i++)
            stream_bytes(out, tensors[i].data, size_bytes(&tensors[i]));
    }
    buf_release(&header);
    return failed;
}
