#include "model/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* --- names ------------------------------------------------------------------------------------ */

/* Models named before names had owners. */
static const struct owner_row {
    const char *model, *owner;
} owners[] = {
    {"gpt2", "openai-community"},       {"gpt2-medium", "openai-community"},
    {"gpt2-large", "openai-community"}, {"gpt2-xl", "openai-community"},
    {"distilgpt2", "distilbert"},
};

static const char *const addresses[] = {"https://", "http://", "www.", "huggingface.co/", "hf.co/"};

static const char part_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789._-";

static const struct owner_row *find_owner(const char *model)
{
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (strcmp(owners[i].model, model) == 0)
            return &owners[i];
    return NULL;
}

/* The size of `model` or `owner/model` at the beginning of a text; 0: there is none. */
static size_t size_of_model(const char *text)
{
    size_t size = *text == '.' ? 0 : strspn(text, part_characters);
    size_t rest = size && text[size] == '/' ? strspn(text + size + 1, part_characters) : 0;
    return rest ? size + 1 + rest : size;
}

/* A revision may have several parts, such as refs/pr/1, but no `..`. */
static bool is_revision(const char *text)
{
    const char *end = text;
    while (*end && (strchr(part_characters, *end) || *end == '/'))
        end++;
    return *text && !*end && *text != '/' && !strstr(text, "..") && end - text < HUB_REVISION_BYTES;
}

/* False: the text is not a name. */
static bool parse_name(struct hub_name *name, const char *text)
{
    size_t size = size_of_model(text);
    const char *revision = text[size] == '@' ? text + size + 1 : "";
    if (!size || size >= HUB_NAME_BYTES ||
        (text[size] == '@' ? !is_revision(revision) : text[size]))
        return false;
    snprintf(name->model, sizeof name->model, "%.*s", (int)size, text);
    snprintf(name->revision, sizeof name->revision, "%s", revision);
    return true;
}

/* An address may continue, for example with /tree/main. */
static bool parse_address(struct hub_name *name, const char *path)
{
    size_t size = size_of_model(path);
    size_t first = strcspn(path, "/");
    *name = (struct hub_name){0};
    snprintf(name->model, sizeof name->model, "%.*s", (int)first, path);
    if (find_owner(name->model))
        return true;
    snprintf(name->model, sizeof name->model, "%.*s", (int)size, path);
    return size > first && size < HUB_NAME_BYTES;
}

bool hub_guess(struct hub_name *name, const char *text)
{
    const char *path = text;
    char owner[HUB_NAME_BYTES];
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        if (strncmp(path, addresses[i], strlen(addresses[i])) == 0)
            path += strlen(addresses[i]);
    bool is_address = path != text;
    if (strncmp(path, "./", 2) == 0 && !strchr(path + 2, '/')) /* a folder that is yet to be made */
        path += 2;
    if (!(is_address ? parse_address : parse_name)(name, path))
        return false;
    const struct owner_row *row = find_owner(name->model);
    if (row)
        snprintf(name->model, sizeof name->model, "%s/%s", row->owner, row->model);
    snprintf(owner, sizeof owner, "%.*s", (int)strcspn(name->model, "/"), name->model);
    bool is_local =
        !is_address && file_is_directory(owner); /* then it is a path, not a name of the Hub */
    return row || (strchr(name->model, '/') && !is_local);
}

/* --- the cache -------------------------------------------------------------------------------- */

/* Environment variables with the cache's location; the first that is set counts. */
static const struct cache_row {
    const char *variable, *folder;
} caches[] = {
    {"HF_HUB_CACHE", ""},
    {"HUGGINGFACE_HUB_CACHE", ""},
    {"HF_HOME", "/hub"},
    {"XDG_CACHE_HOME", "/huggingface/hub"},
    {"HOME", "/.cache/huggingface/hub"},
};

enum { COMMIT_BYTES = 128 }; /* limit; a commit has 40 */

/* *path is unchanged if no variable is set. */
static int find_cache(const char **path, struct arena *arena, struct err *err)
{
    const char *home = getenv("HOME");
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        const char *value = getenv(caches[i].variable);
        if (!value || !*value)
            continue;
        bool at_home = home && value[0] == '~' && value[1] == '/';
        *path = arena_format(arena, err, "%s%s%s", at_home ? home : "", value + at_home,
                             caches[i].folder);
        return *path ? 0 : -1;
    }
    return 0;
}

/* A branch or a tag is a file that names a commit; other revisions are commits. */
static int read_commit(char commit[COMMIT_BYTES], const char *folder, const char *revision,
                       struct arena *arena, struct err *err)
{
    struct file file = {0};
    const char *path = arena_format(arena, err, "%s/refs/%s", folder, revision);
    snprintf(commit, COMMIT_BYTES, "%s", revision);
    if (!path)
        return -1;
    if (!file_exists(path) || file_is_directory(path))
        return 0;
    if (file_map_regular(&file, path, err))
        return -1;
    size_t size = file.size < COMMIT_BYTES ? file.size : 0;
    while (size && strchr("\r\n ", file.bytes[size - 1]))
        size--;
    snprintf(commit, COMMIT_BYTES, "%.*s", (int)size, size ? file.bytes : "");
    file_release(&file);
    if (is_revision(commit) && !strchr(commit, '/'))
        return 0;
    return err_set(err, "'%s': expected the name of a commit, found '%s'", path, commit);
}

static int find_snapshot(const char **path, const char *folder, const struct hub_name *name,
                         struct arena *arena, struct err *err)
{
    const char *revision = *name->revision ? name->revision : "main";
    char commit[COMMIT_BYTES];
    if (read_commit(commit, folder, revision, arena, err))
        return -1;
    const char *snapshot = arena_format(arena, err, "%s/snapshots/%s", folder, commit);
    if (!snapshot)
        return -1;
    if (!file_is_directory(snapshot))
        return err_set(err,
                       "'%s': expected revision '%s' in '%s', found nothing: 'hf download %s "
                       "--revision %s' gets it",
                       folder, revision, snapshot, name->model, revision);
    *path = snapshot;
    return 0;
}

int hub_find(const char **path, const char *text, struct arena *arena, struct err *err)
{
    struct hub_name name;
    const char *cache = NULL;
    if (!parse_name(&name, text))
        return 0;
    if (find_cache(&cache, arena, err))
        return -1;
    const struct owner_row *row = find_owner(name.model);
    for (int owned = 0; cache && owned <= (row != NULL); owned++) {
        if (owned)
            snprintf(name.model, sizeof name.model, "%s/%s", row->owner, row->model);
        size_t owner = strcspn(name.model, "/");
        bool has_owner = name.model[owner];
        const char *folder =
            arena_format(arena, err, "%s/models--%.*s%s%s", cache, (int)owner, name.model,
                         has_owner ? "--" : "", has_owner ? name.model + owner + 1 : "");
        if (!folder)
            return -1;
        if (file_is_directory(folder))
            return find_snapshot(path, folder, &name, arena, err);
    }
    return 0;
}
