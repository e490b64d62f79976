/* model.h: a model, opened: its config and its weights.
 *
 *     struct model model = {0};
 *     if (model_open(&model, "life", err)) ...
 *     model_release(&model);
 */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "model/config.h"
#include "model/weights.h"

/* The models in the binary (models/embed.sh), the default first. A model's name is its `path`. */
extern const struct folder bundled_models[]; /* [bundled_count] */
extern const size_t bundled_count;
extern const char bundled_default[];

/* The dictionaries of features in the binary (lens/dictionary.h). */
extern const struct folder bundled_dictionaries[]; /* [bundled_dictionary_count] */
extern const size_t bundled_dictionary_count;

/* Find a bundled model, or dictionary, by its exact name; NULL: there is none. */
const struct folder *bundled_find(const char *name);
const struct folder *bundled_find_dictionary(const char *name);

struct model {
    const char *name;           /* as it was given, the default's, or the folder's path; borrowed */
    struct folder folder;       /* its `opened` is the next field */
    struct opened_files opened; /* names of the files that were read: config, weights, tokenizer */
    struct arena arena;         /* memory of the folder: its path, the files of a GGUF file */
    struct config config;
    struct weights weights;
    size_t context; /* n_positions before --long lifted it; 0: not lifted */
};

/* Find the folder of a name: a bundled model, else a directory or a GGUF file, else one in a folder
 * of ATTN_MODEL_PATH, else one in the Hugging Face Hub's cache (hub.h). A `name` of NULL: the
 * default model. The arena must outlive the folder. Errors may suggest a name. */
int model_find(struct folder *folder, const char *name, struct arena *arena, struct err *err);

/* True for the name of a bundled model, a directory or a GGUF file. */
bool model_is_there(const char *name);

/* Open config and weights, of a name or of a folder; both must outlive the model, and `model` must
 * not move while it is open. On failure, all memory is released. */
int model_open(struct model *model, const char *name, struct err *err);
int model_open_folder(struct model *model, const struct folder *folder, struct err *err);
void model_release(struct model *model);

/* True for the bundled default, which was trained on short fables and everyday sentences alone. */
bool model_is_of_fables(const struct model *model);

/* True for the bundled models of attention alone, which were not trained. */
bool model_is_untrained(const struct model *model);
