#include "model/hub_name.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

/* Those that had their names before names had owners. */
static const struct known {
    const char *model, *owner;
} known[] = {
    {"gpt2", "openai-community"},       {"gpt2-medium", "openai-community"},
    {"gpt2-large", "openai-community"}, {"gpt2-xl", "openai-community"},
    {"distilgpt2", "distilbert"},
};

static const char *const addresses[] = {"https://", "http://", "www.", "huggingface.co/", "hf.co/"};

static const char part_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789._-";

/* Past the Hub's own name; `text` itself where it is no address. */
static const char *skip_address(const char *text)
{
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        if (strncmp(text, addresses[i], strlen(addresses[i])) == 0)
            text += strlen(addresses[i]);
    return text;
}

static const struct known *find_known(const char *model, size_t size)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].model) == size && memcmp(known[i].model, model, size) == 0)
            return &known[i];
    return NULL;
}

/* The bytes of `owner/model` with which a path begins; 0: it does not. */
static size_t size_of_name(const char *path)
{
    size_t owner = path[0] == '.' ? 0 : strspn(path, part_characters);
    size_t model = owner && path[owner] == '/' ? strspn(path + owner + 1, part_characters) : 0;
    size_t size = owner + 1 + model;
    return model && size < HUB_NAME_BYTES ? size : 0;
}

/* A path into a directory that is there is none of the Hub's. */
static bool is_local(const char *name)
{
    char owner[HUB_NAME_BYTES];
    snprintf(owner, sizeof owner, "%.*s", (int)strcspn(name, "/"), name);
    return file_is_directory(owner);
}

bool hub_name_read(char name[HUB_NAME_BYTES], const char *text)
{
    const char *path = skip_address(text);
    bool is_address = path != text;
    if (strncmp(path, "./", 2) == 0 && !strchr(path + 2, '/')) /* the folder that is to come */
        path += 2;
    size_t first = strcspn(path, "/");
    const struct known *row = is_address || !path[first] ? find_known(path, first) : NULL;
    if (row) {
        snprintf(name, HUB_NAME_BYTES, "%s/%s", row->owner, row->model);
        return true;
    }
    size_t size = size_of_name(path);
    snprintf(name, HUB_NAME_BYTES, "%.*s", (int)size, path);
    if (is_address)
        return size > 0; /* it may go on, with /tree/main */
    return size && !path[size] && !is_local(name);
}

const char *hub_name_model(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? slash + 1 : name;
}
