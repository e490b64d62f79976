/* model.h: a model directory, opened: its config and its weights.
 *
 *     struct model model = {0};
 *     if (model_open(&model, "life", err)) ...
 *     model_release(&model);
 */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "base/file.h"
#include "base/memory.h"
#include "model/config.h"
#include "model/weights.h"

/* The models in the binary, put there by models/embed.sh: the default first; a model's name is its
 * `path`. */
extern const struct folder bundled_models[]; /* [bundled_count] */
extern const size_t bundled_count;
extern const char bundled_default[];

/* The model of that exact name, alive as long as the program; NULL when there is none. */
const struct folder *bundled_find(const char *name);

struct model {
    const char *name; /* as it was given; borrowed */
    struct folder folder;
    struct arena arena; /* has the folder's path, where it was searched for */
    struct config config;
    struct weights weights;
    size_t context; /* its context, where that was lifted; 0: it was not */
};

/* The folder that a name stands for: a bundled model, else a directory or a GGUF file, else one of
 * that name in a folder of ATTN_MODEL_PATH, else what the Hugging Face Hub's cache has of it
 * (hub.h); NULL: the default model. Name and arena must outlive the folder. Errors list the bundled
 * names. */
int model_find(struct folder *folder, const char *name, struct arena *arena, struct err *err);

/* True for a bundled model, a directory and a GGUF file: no text is called that. */
bool model_is_there(const char *name);

/* Open config and weights, of a name or of a folder, which must outlive the model; `model` must not
 * move while it is open. On failure nothing is held. */
int model_open(struct model *model, const char *name, struct err *err);
int model_open_folder(struct model *model, const struct folder *folder, struct err *err);
void model_release(struct model *model);

/* True for the bundled default, which was trained on short fables and knows no other text. */
bool model_is_of_fables(const struct model *model);

/* Take texts of any length. Refused as wrong usage, where positions are learned: there are no more
 * of them. */
int model_lift_context(struct model *model, struct err *err);

#endif
