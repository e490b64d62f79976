#include "format/npy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

enum {
    RANK_MAX = 32, /* numpy's own */
    ALIGN_BYTES = 64,
    HEADER_BYTES = 2048, /* room for 32 dimensions of 20 digits, twice over */
    PREFIX_BYTES = 10,   /* magic, version, length */
};

/* A Python tuple: `()`, `(3,)`, `(3, 4)`. */
static void write_shape(char *text, size_t room, size_t rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(text, room, "(");
    for (size_t i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, room - used, i ? ", %zu" : "%zu", shape[i]);
    snprintf(text + used, room - used, rank == 1 ? ",)" : ")");
}

/* A Python dictionary, filled with blanks so that the data stands on a boundary. */
static size_t write_header(char header[HEADER_BYTES], size_t rank, const size_t *shape)
{
    char tuple[HEADER_BYTES / 2];
    write_shape(tuple, sizeof tuple, rank, shape);
    size_t used = (size_t)snprintf(
        header, HEADER_BYTES, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", tuple);
    while ((PREFIX_BYTES + used + 1) % ALIGN_BYTES)
        header[used++] = ' ';
    header[used++] = '\n';
    return used;
}

static size_t size_bytes(size_t rank, const size_t *shape)
{
    size_t size = sizeof(float);
    for (size_t i = 0; i < rank; i++) {
        bool fits = num_multiply(&size, size, shape[i]);
        assert(fits); /* the data is there, so its size is a size_t */
        (void)fits;
    }
    return size;
}

void npy_write(struct stream *out, size_t rank, const size_t *shape, const float *data)
{
    char header[HEADER_BYTES];
    assert(rank <= RANK_MAX);
    size_t size = write_header(header, rank, shape);
    stream_binary(out);
    stream_bytes(out, "\x93NUMPY\x01\x00", 8);
    stream_char(out, (char)(size & 0xff));
    stream_char(out, (char)(size >> 8));
    stream_bytes(out, header, size);
    stream_bytes(out, data, size_bytes(rank, shape));
}
