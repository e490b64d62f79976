/* draft.h: a model that is being made: every tensor its config asks for, to be filled, in memory.
 *
 * The tensors lie in the bytes of a model.safetensors from the beginning, all 0. So the draft is a
 * folder at any time: it can be opened as a model, or saved as a directory that other programs
 * read.
 *
 *     struct draft draft = {0};
 *     if (draft_open(&draft, "fresh", text, size, err)) ...
 *     for (size_t i = 0; i < draft.count; i++)
 *         fill(draft.tensors[i].data, draft.tensors[i].count);
 *     draft_add_file(&draft, "vocab.json", words, words_size);
 *     if (folder_save(&draft.folder, "fresh", err)) ...
 *     draft_release(&draft);
 */
#ifndef ATTN_MODEL_DRAFT_H
#define ATTN_MODEL_DRAFT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "model/config.h"
#include "model/parameter_table.h"

enum { DRAFT_FILES_MAX = 10 };

struct draft_tensor {
    enum parameter_id id; /* its row of the table */
    const char *name;
    size_t shape[2];
    size_t rank;
    size_t count; /* numbers: the product of the shape */
    float *data;
};

struct draft {
    struct folder folder;
    struct folder_file files[DRAFT_FILES_MAX]; /* the weights first, config.json last */
    struct config config;
    struct draft_tensor *tensors; /* embeddings, layer by layer, what stands behind them */
    size_t count;
    struct draft_tensor **rows; /* where each row of the table is, in every layer; NULL: nowhere */
    struct arena arena;
};

/* Begin a model of a config, the text of a config.json; `name` is the folder's path, borrowed. The
 * draft must not move while its folder is used. Errors name the field. On failure nothing is held.
 */
int draft_open(struct draft *draft, const char *name, const char *text, size_t size,
               struct err *err);
void draft_release(struct draft *draft);

/* The tensor of a row of the table, NULL where the model has none; `layer` is 0 outside layers. */
struct draft_tensor *draft_tensor(const struct draft *draft, enum parameter_id id, size_t layer);

/* One file more, of a tokenizer for example; name and bytes are borrowed. */
void draft_add_file(struct draft *draft, const char *name, const char *bytes, size_t size);

#endif
