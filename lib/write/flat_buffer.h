/* flat_buffer.h: FlatBuffers written from first to last: what a field points to stands after it.
 *
 *     uint16 size of the list, uint16 size of the table, uint16 place of each field (0: absent)
 *     int32 offset back to that list, fields, each at a multiple of its size
 *
 *     struct flat_field fields[] = {{8, rows}, {4}};
 *     buf_number(&buf, 0, 4);                    the offset to the first table
 *     flat_table(&buf, 0, fields, 2);
 *     flat_string(&buf, fields[1].at, "Life");
 */
#ifndef ATTN_WRITE_FLAT_BUFFER_H
#define ATTN_WRITE_FLAT_BUFFER_H

#include <stdint.h>

#include "base/buf.h"

enum { FLAT_ALIGNMENT = 8, FLAT_FIELDS_MAX = 8 };

struct flat_field {
    size_t size; /* 1, 2, 4 or 8; 0: absent */
    uint64_t value;
    size_t at; /* where it stands: for the offset to what comes later */
};

/* Bytes of 0 up to a multiple. */
void flat_align(struct buf *buf, size_t to);

/* A table of these fields; a text; the beginning of a vector, whose items follow, of structs at
 * multiples of eight bytes. The offset that stands at `from` leads to it. */
void flat_table(struct buf *buf, size_t from, struct flat_field *fields, size_t count);
void flat_string(struct buf *buf, size_t from, const char *text);
void flat_vector(struct buf *buf, size_t from, size_t count);

#endif
