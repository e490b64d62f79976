/* paged_model.h: a model whose weights are not read unseen: the system tells which pages of its
 * file were touched.
 *
 *     struct paged_model model;
 *     paged_model_make(&model, config, DTYPE_F32);
 *     ... open model.folder ...
 *     paged_model_forget(&model);
 *     ... run ...
 *     paged_model_need(&model, "h.0. h.1.ln_1. h.1.attn.c_attn.[0:64]");
 *     paged_model_check(&model);                            (that was read, and nothing else)
 *     paged_model_release(&model);
 *
 * All weights are 0, in memory that was never written: a page of it is there from its first reading
 * on, and takes no room, so the model may be large.
 */
#ifndef ATTN_TESTS_PAGED_MODEL_H
#define ATTN_TESTS_PAGED_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/folder.h"
#include "format/safetensors.h"
#include "model/config.h"
#include "model/parameter_table.h"

enum { PAGED_TENSORS_MAX = 96 };

struct paged_tensor {
    char name[PARAMETER_NAME_BYTES];
    size_t rank;
    size_t first_byte, row_bytes, rows; /* a vector is one row */
};

struct paged_model {
    struct folder folder; /* config.json and model.safetensors */
    struct folder_file files[2];
    struct config config;
    size_t element_bytes;
    struct paged_tensor tensors[PAGED_TENSORS_MAX];
    size_t count;
    char *data; /* [data_bytes] what follows the header */
    size_t data_bytes, pages;
    bool *needed; /* [pages] */
    size_t file_bytes;
};

/* Does the system tell, and in pages of 4 KiB? Some that imitate Linux know no untouched pages. */
bool paged_model_works(void);

/* Every tensor begins with a page: the config's sizes must fill whole ones. */
void paged_model_make(struct paged_model *model, const char *config, enum dtype dtype);
void paged_model_release(struct paged_model *model);

/* Nothing was read so far, and nothing is needed. */
void paged_model_forget(struct paged_model *model);

/* What has to be read: some rows of a tensor; and, with blanks between them, whole tensors, all
 * whose name begins so, or of each only the columns [first:end]. Those of a vector are its
 * elements. */
void paged_model_need_rows(struct paged_model *model, const char *tensor, const uint32_t *rows,
                           size_t count);
void paged_model_need(struct paged_model *model, const char *parts);

/* The pages of all that were read, and no others. Returns how many bytes they have. */
size_t paged_model_check(const struct paged_model *model);

#endif
