/* pytorch.h: named tensors in a file of torch.save, read in place: a zip archive whose entries are
 * stored as they are, and in it a pickle, which is a program, and an entry for every storage.
 *
 * Nothing of the pickle is run: it is read as a list of tensors, and whatever else it asks for (an
 * opcode, a class, another kind of value) is refused by name. Its size bounds work and memory.
 *
 *     struct safetensors tensors = {0};
 *     if (pytorch_open(&tensors, folder, "pytorch_model.bin", err)) ...
 *     safetensors_release(&tensors);
 */
#ifndef ATTN_FORMAT_PYTORCH_H
#define ATTN_FORMAT_PYTORCH_H

#include <stdint.h>

#include "format/safetensors.h"

/* As safetensors_open. Tensors may share numbers; those of one that does not lie row by row, such
 * as a transpose, are copied. */
int pytorch_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                 struct err *err);

/* --- the archive: zip.c ---------------------------------------------------------------------- */

struct zip_entry {
    const char *name, *data; /* in the file */
    size_t name_size, size;
    uint32_t crc;
    bool checked;
};

struct zip {
    struct zip_entry *entries;
    size_t count;
    struct map names;
};

/* List what a file holds. Refused are encrypted and compressed entries, a name that is there twice,
 * and fields that contradict each other. Release the names. */
int zip_read(struct zip *zip, const struct file *file, struct arena *arena, struct err *err);

/* Refuse an entry whose data has another CRC-32 than the directory says, the first time; 0 there:
 * it was not computed (torch.serialization.set_crc32_options). */
int zip_check(struct zip_entry *entry, struct err *err);
uint32_t zip_crc32(const char *bytes, size_t size);

#endif
