/* pytorch.h: reads a file of torch.save in place: an uncompressed zip archive with a pickle and an
 * entry for each storage. A pickle is a program, but it is not run: it is read as a list of
 * tensors, and any other opcode, class or value is refused. The file's size limits time and
 * memory.
 *
 *     struct safetensors tensors = {0};
 *     if (pytorch_open(&tensors, folder, "pytorch_model.bin", err)) ...
 *     safetensors_release(&tensors);
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "format/safetensors.h"

struct stream;

/* Open a file of torch.save, as safetensors_open opens a safetensors file. Tensors may share
 * numbers. A tensor that is not contiguous, such as a transpose, is copied; copies that are larger
 * than the file in total are refused. */
int pytorch_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                 struct err *err);

/* Open a file as pytorch_open does, but let the saved dict contain dicts: the tensor 14 of the dict
 * J is named `J.14`, a number becomes an I64 tensor of one element, and other values are left
 * out. */
int pytorch_open_nested(struct safetensors *tensors, const struct folder *folder, const char *name,
                        struct err *err);

/* --- the archive: zip.c ---------------------------------------------------------------------- */

struct zip_entry {
    const char *name, *data; /* pointers into the file; the name is not 0-terminated */
    size_t name_size, size;
    uint32_t crc;
    bool checked;
};

struct zip {
    struct zip_entry *entries;
    size_t count;
    struct hash_table names;
};

/* List the entries of a file; the caller releases `names`. Refused: encrypted and compressed
 * entries, a name that occurs twice, fields that contradict each other, and entries that together
 * are larger than the file because they overlap. Messages name the `writer`, such
 * as "torch.save". */
int zip_read(struct zip *zip, const struct file *file, const char *writer, struct arena *arena,
             struct err *err);

/* Compare the data of an entry with its CRC-32, once. A CRC-32 of 0 is not compared: torch.save can
 * leave it out (torch.serialization.set_crc32_options). */
int zip_check(struct zip_entry *entry, struct err *err);
uint32_t zip_crc32(const char *bytes, size_t size);

/* Writes an archive of any size that torch.load and numpy.load can read. It is written without
 * seeking, so the output may be a pipe: no entry is compressed, and a CRC-32 and sizes in 64 bits
 * follow the data of each entry.
 *
 *     struct zip_writer zip = {.out = &stream};
 *     zip_begin(&zip, "archive/version");
 *     zip_put(&zip, "3\n", 2); // or in several calls
 *     zip_close(&zip);
 *     if (zip_end(&zip, err)) ... // before the first entry, buf_release(&zip.directory) is enough
 *
 * zip_add makes the three calls for one entry. The stream and the directory keep errors. */
struct zip_writer {
    struct stream *out;
    struct buf directory;
    const char *name; /* name of the open entry, borrowed */
    size_t at, size;  /* `at`: offset of the open entry in the archive; `size`: bytes of its data so
                       * far */
    uint32_t crc;
    size_t count;
};

void zip_begin(struct zip_writer *zip, const char *name);
void zip_put(struct zip_writer *zip, const void *bytes, size_t size);
void zip_close(struct zip_writer *zip);
void zip_add(struct zip_writer *zip, const char *name, const void *bytes, size_t size);
int zip_end(struct zip_writer *zip, struct err *err);
