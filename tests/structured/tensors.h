/* tensors.h: the tensors of a safetensors file, taken apart, changed, and put together again so
 * that their offsets tile the data.
 *
 *     struct tensors tensors;
 *     if (!tensors_read(&tensors, file, made) && tensors.count)
 *         tensors_change(&tensors, made);
 *     tensors_write(&text, &tensors);
 */
#ifndef ATTN_TESTS_TENSORS_H
#define ATTN_TESTS_TENSORS_H

#include "format/safetensors.h"
#include "made.h"

enum { TENSORS_MAX = 128 };

struct tensor_made {
    const char *name; /* UTF-8; its control characters are escaped */
    enum dtype dtype;
    size_t rank;
    size_t shape[2 * SAFETENSORS_RANK_MAX];
    size_t size; /* bytes */
    char *data;
};

struct tensors {
    struct tensor_made items[TENSORS_MAX];
    size_t count;
    const char *note; /* a text of __metadata__; NULL: there is none */
    size_t padding;   /* blanks behind the header */
};

/* -1 where the file is none, or has more tensors than there is room for. */
int tensors_read(struct tensors *tensors, const struct folder_file *file, struct made *made);
void tensors_write(struct buf *out, const struct tensors *tensors);

/* Append the tensors from `first` to before `end` as a file. */
void tensors_write_some(struct buf *out, const struct tensors *tensors, size_t first, size_t end);

/* One change: numbers, rows, types, shapes, names, order, or one more tensor. */
void tensors_change(struct tensors *tensors, struct made *made);

/* The tensor whose name ends like that, or NULL. */
struct tensor_made *tensors_find(struct tensors *tensors, const char *ending);

/* Every row twice. */
void tensors_double_rows(struct tensor_made *tensor, struct made *made);

#endif
