/* hub.h: finds models of the Hugging Face Hub by name in the Hub's cache on this machine. It only
 * reads the cache and never uses the network.
 *
 *     const char *path = NULL;
 *     if (hub_find(&path, "EleutherAI/pythia-70m@step3000", &arena, err)) ...
 *     if (path) ... a directory with the model's files
 * */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/memory.h"

enum {
    HUB_NAME_BYTES = 128, /* the Hub allows 96 characters after the owner's name */
    HUB_REVISION_BYTES = 128,
};

/* `owner/model` or `model`, with an optional @revision: a branch, a tag or a commit. */
struct hub_name {
    char model[HUB_NAME_BYTES];
    char revision[HUB_REVISION_BYTES]; /* empty: the branch main */
};

/* Guess which model of the Hub an unknown name means. The name may be `owner/model`, an old name
 * such as `gpt2` or `bert-base-uncased`, or the address of a model's page. Returns false for other
 * names, and for paths into existing directories. */
bool hub_guess(struct hub_name *name, const char *text);

/* Find the directory of a model in the cache. As in huggingface_hub, the cache is $HF_HUB_CACHE or
 * $HUGGINGFACE_HUB_CACHE, or else below $HF_HOME, $XDG_CACHE_HOME/huggingface or
 * ~/.cache/huggingface. Old names such as `gpt2` are found with or without their owner. *path is
 * allocated in the arena, and unchanged if the cache lacks the model. A model without the requested
 * revision is an error. */
int hub_find(const char **path, const char *text, struct arena *arena, struct err *err);

/* Find a model in the cache by its name without the owner, and set *name to the name with the
 * owner: EleutherAI/pythia-70m for `pythia-70m`. *name is unchanged if the cache has no such
 * model. */
int hub_find_owned(const char **name, const char *text, struct arena *arena, struct err *err);
