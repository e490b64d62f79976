#include "format/npy.h"

#include <assert.h>
#include <stdio.h>

enum {
    RANK_MAX = 32, /* numpy's own */
    ALIGN_BYTES = 64,
    HEADER_BYTES = 1024, /* room for 32 dimensions of 20 digits */
    PREFIX_BYTES = 10,   /* magic, version, length */
};

/* A Python dictionary, filled with blanks so that the data stands on a boundary. Its shape is a
 * tuple: `()`, `(3,)`, `(3, 4)`. */
static size_t write_header(char header[HEADER_BYTES], size_t rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(header, HEADER_BYTES,
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (size_t i = 0; i < rank; i++)
        used += (size_t)snprintf(header + used, HEADER_BYTES - used, i ? ", %zu" : "%zu", shape[i]);
    used += (size_t)snprintf(header + used, HEADER_BYTES - used, rank == 1 ? ",), }" : "), }");
    while ((PREFIX_BYTES + used + 1) % ALIGN_BYTES)
        header[used++] = ' ';
    header[used++] = '\n';
    return used;
}

void npy_begin(struct stream *out, size_t rank, const size_t *shape)
{
    char header[HEADER_BYTES];
    assert(rank <= RANK_MAX);
    size_t size = write_header(header, rank, shape);
    stream_binary(out);
    stream_bytes(out, "\x93NUMPY\x01\x00", 8);
    stream_char(out, (char)(size & 0xff));
    stream_char(out, (char)(size >> 8));
    stream_bytes(out, header, size);
}
