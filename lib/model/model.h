/* model.h: a model that is open: its config and its weights.
 *
 *     struct model model = {0};
 *     if (model_open(&model, "life", err)) ...
 *     model_release(&model);
 * */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "model/config.h"
#include "model/weights.h"

/* The models that are embedded in the binary (models/embed.sh). The first is the default model. The
 * name of a model is the `path` of its folder. */
extern const struct folder bundled_models[]; /* [bundled_count] */
extern const size_t bundled_count;
extern const char bundled_default[];

/* The dictionaries of features that are embedded in the binary (lens/dictionary.h). */
extern const struct folder bundled_dictionaries[]; /* [bundled_dictionary_count] */
extern const size_t bundled_dictionary_count;

/* Find a bundled model (bundled_find) or a bundled dictionary by its exact name; NULL: there is
 * none of this name. */
const struct folder *bundled_find(const char *name);
const struct folder *bundled_find_dictionary(const char *name);

struct model {
    /* The name that was given, or the name of the default model, or the folder's path. The model
     * borrows it. */
    const char *name;
    struct folder folder;       /* folder.opened is &opened */
    struct opened_files opened; /* the files that were read: config, weights and tokenizer */
    /* Memory of the folder's path, and of the files that are made from a GGUF file. */
    struct arena arena;
    struct config config;
    struct weights weights;
    size_t context; /* config.n_positions before --long raised it; 0: it was not raised */
};

/* Find the folder of a name: a bundled model, or else a directory or a GGUF file, or else a model
 * in a folder of ATTN_MODEL_PATH, or else one in the Hugging Face Hub's cache (hub.h). NULL means
 * the default model. The arena must outlive the folder. The error for an unknown name may suggest a
 * similar name. */
int model_find(struct folder *folder, const char *name, struct arena *arena, struct err *err);

/* Whether a bundled model, a directory or a GGUF file has this name. */
bool model_is_there(const char *name);

/* Open the config and weights of a model by its name, or of the model in a folder. The name or
 * folder must outlive the model, and `model` must not move while it is open. On failure all memory
 * is released. */
int model_open(struct model *model, const char *name, struct err *err);
int model_open_folder(struct model *model, const struct folder *folder, struct err *err);
void model_release(struct model *model);

/* Whether a model is the bundled default, which was trained only on short fables and everyday
 * sentences. */
bool model_is_of_fables(const struct model *model);

/* Whether a model is a bundled model that is attention alone. These models were not trained. */
bool model_is_untrained(const struct model *model);
