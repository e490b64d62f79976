/* zip_made.h: an archive like those of torch.save, with uncompressed entries.
 *
 *     struct zip_made zip = {0};
 *     zip_made_add(&zip, "archive/data.pkl", 16, pickle, size);
 *     zip_made_end(&zip);
 *     use(zip.file.bytes, zip.file.size);
 *     zip_made_release(&zip);
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "format/pytorch.h"

struct zip_made {
    struct buf file, directory;
    size_t count;
    bool large;    /* sizes and offsets always in 64 bits */
    bool unsummed; /* every CRC-32 is 0 */
};

static inline void zip_made_number(struct buf *out, uint64_t number, int size)
{
    for (int i = 0; i < size; i++)
        buf_char(out, (char)(number >> 8 * i & 0xff));
}

/* CRC-32 and sizes are after the data and in the directory, as in files of torch.save. */
static inline void zip_made_add(struct zip_made *zip, const char *name, size_t name_size,
                                const char *bytes, size_t size)
{
    enum { ALIGN_BYTES = 64, LOCAL_BYTES = 30, LARGE_BYTES = 28 + 4, FLAGS = 0x808 };
    size_t at = zip->file.size;
    size_t gap = (0 - (at + LOCAL_BYTES + name_size)) % ALIGN_BYTES;
    uint32_t crc = zip->unsummed ? 0 : zip_crc32(bytes, size);
    buf_bytes(&zip->file, "PK\3\4\0", 6);
    zip_made_number(&zip->file, FLAGS, 2);
    buf_repeat(&zip->file, "", 1, 18);
    zip_made_number(&zip->file, name_size, 2);
    zip_made_number(&zip->file, gap, 2);
    buf_bytes(&zip->file, name, name_size);
    buf_repeat(&zip->file, "Z", 1, gap);
    buf_bytes(&zip->file, bytes, size);
    buf_bytes(&zip->file, "PK\7\10", 4);
    zip_made_number(&zip->file, crc, 4);
    zip_made_number(&zip->file, size, zip->large ? 8 : 4);
    zip_made_number(&zip->file, size, zip->large ? 8 : 4);

    struct buf *out = &zip->directory;
    buf_bytes(out, "PK\1\2\0\0\0", 8);
    zip_made_number(out, FLAGS, 2);
    buf_repeat(out, "", 1, 6);
    zip_made_number(out, crc, 4);
    zip_made_number(out, zip->large ? UINT32_MAX : size, 4);
    zip_made_number(out, zip->large ? UINT32_MAX : size, 4);
    zip_made_number(out, name_size, 2);
    zip_made_number(out, zip->large ? LARGE_BYTES : 0, 2);
    buf_repeat(out, "", 1, 10);
    zip_made_number(out, zip->large ? UINT32_MAX : at, 4);
    buf_bytes(out, name, name_size);
    if (zip->large) {
        zip_made_number(out, 'F', 4); /* an unknown field without bytes */
        zip_made_number(out, 1, 2);
        zip_made_number(out, 24, 2);
        zip_made_number(out, size, 8);
        zip_made_number(out, size, 8);
        zip_made_number(out, at, 8);
    }
    zip->count++;
}

static inline void zip_made_end(struct zip_made *zip)
{
    struct buf *out = &zip->file;
    size_t at = out->size;
    size_t size = zip->directory.size;
    buf_bytes(out, zip->directory.bytes, size);
    if (zip->large) {
        buf_bytes(out, "PK\6\6,", 5);
        buf_repeat(out, "", 1, 19);
        zip_made_number(out, zip->count, 8);
        zip_made_number(out, zip->count, 8);
        zip_made_number(out, size, 8);
        zip_made_number(out, at, 8);
        buf_bytes(out, "PK\6\7", 4);
        zip_made_number(out, 0, 4);
        zip_made_number(out, at + size, 8);
        zip_made_number(out, 1, 4);
    }
    buf_bytes(out, "PK\5\6", 4);
    buf_repeat(out, "", 1, 4);
    zip_made_number(out, zip->large ? UINT16_MAX : zip->count, 2);
    zip_made_number(out, zip->large ? UINT16_MAX : zip->count, 2);
    zip_made_number(out, zip->large ? UINT32_MAX : size, 4);
    zip_made_number(out, zip->large ? UINT32_MAX : at, 4);
    zip_made_number(out, 0, 2);
}

static inline void zip_made_release(struct zip_made *zip)
{
    buf_release(&zip->file);
    buf_release(&zip->directory);
}
