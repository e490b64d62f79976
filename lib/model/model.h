/* model.h: a model directory, opened: config, weights and tokenizer in one hand.
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

/* Does a model of this config have the site? (Bare attention has no norms, for example.) */
bool model_has_site(const struct config *config, enum site site);

#endif
