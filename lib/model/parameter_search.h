/* parameter_search.h: the tensors of a checkpoint, held against the table of parameters.
 *
 * A file that is not the model that its config describes is refused here, before anything runs.
 *
 *     struct parameter_search search = {config, &checkpoint, folder};
 *     if (parameter_search_layers(&search, err)) ...
 *     for (size_t i = 0; i < parameter_count(config); i++)
 *         if (parameter_search_find(&found[i], &search, i, err)) ...
 */
#ifndef ATTN_MODEL_PARAMETER_SEARCH_H
#define ATTN_MODEL_PARAMETER_SEARCH_H

#include <stddef.h>

#include "base/err.h"
#include "base/folder.h"
#include "model/checkpoint.h"
#include "model/config.h"

struct parameter_search {
    const struct config *config;
    const struct checkpoint *checkpoint;
    const struct folder *folder;
};

/* Refuse layers beyond those of the config. */
int parameter_search_layers(const struct parameter_search *search, struct err *err);

/* Find parameter `index`: there, of a supported type, of the config's shape. What the model has not
 * or may do without is not found, which is no error. */
int parameter_search_find(struct found_tensor *found, const struct parameter_search *search,
                          size_t index, struct err *err);

/* Put before a message which tensor of which file it is about; returns -1. */
int parameter_blame(const struct folder *folder, const char *file, const char *tensor,
                    struct err *err);

#endif
