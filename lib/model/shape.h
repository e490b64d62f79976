/* shape.h: models of a well-known shape with random weights, made in memory: to measure with,
 * without a download.
 *
 * What is made is a folder like any other, with the files that a checkpoint of that shape has, but
 * for the tokenizer: it is run on ids. Same shape, same weights, on every machine.
 *
 *     struct shaped shaped = {0};
 *     if (shape_make(&shaped, "gpt2", err) || model_open_folder(&model, &shaped.folder, err)) ...
 *     shape_release(&shaped);
 */
#ifndef ATTN_MODEL_SHAPE_H
#define ATTN_MODEL_SHAPE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"

struct shape_row {
    const char *name;
    size_t n_layer, n_head, n_embd, n_positions, vocab_size;
};

extern const struct shape_row shape_rows[];
extern const size_t shape_count;

enum { SHAPE_FILES = 2 };

struct shaped {
    struct folder folder; /* its path is the shape's name */
    struct folder_file files[SHAPE_FILES];
    struct arena arena;
};

/* Make the model of a named shape; `shaped` must not move while its folder is used. An unknown name
 * is a usage error that lists the known ones. On failure nothing is held. */
int shape_make(struct shaped *shaped, const char *name, struct err *err);
void shape_release(struct shaped *shaped);

#endif
