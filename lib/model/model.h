/* model.h: a model directory, opened: its config and its weights.
 *
 *     struct model model = {0};
 *     if (model_open(&model, "life", err)) ...
 *     model_release(&model);
 */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/folder.h"
#include "model/config.h"
#include "model/site.h"
#include "model/weights.h"

struct model {
    const char *name; /* as it was given; borrowed */
    struct folder folder;
    struct config config;
    struct weights weights;
};

/* The folder that a name stands for: a bundled model, else a directory; NULL: the default model.
 * The name must outlive the folder. Errors list the bundled names. */
int model_find(struct folder *folder, const char *name, struct err *err);

/* Open config and weights; `model` must not move while it is open. On failure nothing is held. */
int model_open(struct model *model, const char *name, struct err *err);

/* The same for a folder at hand: one that model_find gave, or files held in memory (shape.h). What
 * it points to must outlive the model. */
int model_open_folder(struct model *model, const struct folder *folder, struct err *err);

void model_release(struct model *model);

enum { HUB_NAME_BYTES = 128 }; /* the Hub allows 96 characters after the owner's name */

/* The name under which the Hugging Face Hub keeps a model: owner and model, from `owner/model`,
 * from the address of its page, or from a well-known model's name alone; false for anything else,
 * and for paths into a directory that is there. And what stands after the owner's name. */
bool hub_name_read(char name[HUB_NAME_BYTES], const char *text);
const char *hub_name_model(const char *name);

#endif
