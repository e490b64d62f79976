/* dump.h: reads tensors of a forward pass that another program saved: a safetensors file, an
 * archive of np.savez, a file of torch.save, an npy file or a folder of npy files, or a log of
 * llama.cpp's llama-eval-callback, which prints the corners and the sum of each tensor.
 *
 *     struct dump dump;
 *     if (dump_open(&dump, "theirs.safetensors", err)) ...
 *     dump_floats(numbers, &dump.items[0], err);
 *     dump_release(&dump);
 */
#pragma once

#include "format/safetensors.h"

/* A tensor of a dump. In a log, the data of `entry` are the tensor's printed lines. */
struct dumped {
    struct safetensors_entry entry;
    bool is_fortran;   /* the numbers of the tensor are in Fortran order */
    bool is_printed;   /* true in a log: numbers have four decimals, and some are missing */
    const char *op;    /* in a log, the operation that made the tensor, such as "ROPE"; else NULL */
    const char *after; /* in a log, the end of the tensor's lines; else NULL */
    double sum;        /* in a log, the printed sum: of all numbers or, in older logs, of the
                        * printed ones; NaN: no sum was printed */
};

struct dump {
    struct dumped *items; /* [count] in the order of the file; in a log, a name may occur more than
                           * once */
    size_t count;
    bool is_log;
    struct safetensors tensors;
    struct file *files; /* [file_count] the NumPy files or the log that contain the data of
                         * `items` */
    size_t file_count;
    struct arena arena;
};

/* Open a file or a folder by its path. Errors name the path. Tensors without a float type are left
 * out; in NumPy files they are errors, but texts in an npz file are left out. */
int dump_open(struct dump *dump, const char *path, struct err *err);
void dump_release(struct dump *dump);

/* Read the borrowed bytes of a log or of a NumPy file. Unlike dump_open, this accepts a file
 * without tensors. */
int dump_read(struct dump *dump, const struct file *file, const char *name, struct err *err);

/* Fill `numbers` [entry.count] in C order. Numbers that a log does not print become NaN. */
int dump_floats(float *numbers, const struct dumped *item, struct err *err);
