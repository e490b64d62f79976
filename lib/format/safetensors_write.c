#include "format/safetensors.h"

#include <string.h>

#include "format/json_writer.h"

enum { LENGTH_BYTES = 8, ALIGN_BYTES = 8 };

/* "name":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}; returns where the next one begins. */
static size_t put_tensor(struct json_writer *json, const struct safetensors_tensor *tensor,
                         size_t begin)
{
    size_t end = begin + dtype_float_bytes(tensor->rank, tensor->shape);
    json_put_name(json, tensor->name, strlen(tensor->name));
    json_put_open(json, NULL, '{');
    json_put_text(json, "dtype", "F32");
    json_put_integers(json, "shape", tensor->shape, tensor->rank);
    json_put_integers(json, "data_offsets", (const size_t[]){begin, end}, 2);
    json_put_close(json, '}');
    return end;
}

int safetensors_header(struct buf *header, const struct safetensors_tensor *tensors, size_t count,
                       const struct safetensors_note *notes, size_t note_count, struct err *err)
{
    struct json_writer json = {.buf = header, .compact = true};
    size_t begin = 0;
    buf_bytes(header, (const char[LENGTH_BYTES]){0}, LENGTH_BYTES);
    json_put_open(&json, NULL, '{');
    if (note_count > 0) {
        json_put_open(&json, "__metadata__", '{');
        for (size_t i = 0; i < note_count; i++)
            json_put_text(&json, notes[i].key, notes[i].text);
        json_put_close(&json, '}');
    }
    for (size_t i = 0; i < count; i++)
        begin = put_tensor(&json, &tensors[i], begin);
    json_put_close(&json, '}');
    while (header->size % ALIGN_BYTES && !header->out_of_memory)
        buf_char(header, ' ');
    if (buf_check(header, err))
        return -1;
    size_t length = header->size - LENGTH_BYTES;
    if (length > SAFETENSORS_HEADER_MAX)
        return err_output(err, "safetensors header: expected at most %d bytes, found %zu",
                          SAFETENSORS_HEADER_MAX, length);
    for (int i = 0; i < LENGTH_BYTES; i++)
        header->bytes[i] = (char)(length >> 8 * i & 0xff);
    return 0;
}
