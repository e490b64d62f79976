/* hub.h: models of the Hugging Face Hub by their names: those that its cache on this machine holds.
 * The cache is only read, and no network is used.
 *
 *     const char *path = NULL;
 *     if (hub_find(&path, "EleutherAI/pythia-70m@step3000", &arena, err)) ...
 *     if (path) ... a directory, with config.json and what else is there
 */
#ifndef ATTN_MODEL_HUB_H
#define ATTN_MODEL_HUB_H

#include <stdbool.h>

#include "base/err.h"
#include "base/memory.h"

enum {
    HUB_NAME_BYTES = 128, /* the Hub allows 96 characters after the owner's name */
    HUB_REVISION_BYTES = 128,
};

/* `owner/model` or `model`, and what may follow it as @revision: a branch, a tag or a commit. */
struct hub_name {
    char model[HUB_NAME_BYTES];
    char revision[HUB_REVISION_BYTES]; /* "": main */
};

/* Which model of the Hub somebody most likely means where there is nothing of the name that was
 * given: `owner/model`, a well-known model or the address of a model's page. False for anything
 * else, and for paths into a directory that is there. */
bool hub_guess(struct hub_name *name, const char *text);

/* The directory of a model in the cache, found as huggingface_hub finds it: the cache is where
 * $HF_HUB_CACHE says, else below $HF_HOME, $XDG_CACHE_HOME/huggingface or ~/.cache/huggingface; a
 * well-known model may have its owner's name there or not. *path stays as it is where the cache has
 * nothing of the model; that it lacks the revision is an error. The path is the arena's. */
int hub_find(const char **path, const char *text, struct arena *arena, struct err *err);

#endif
