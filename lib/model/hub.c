#include "model/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/names.h"

/* --- names ------------------------------------------------------------------------------------ */

/* Models whose old name has no owner, grouped by their owner today. */
static const struct owner_row {
    const char *owner, *models; /* names of models, with spaces between them */
} owners[] = {
    {"openai-community", "gpt2 gpt2-medium gpt2-large gpt2-xl openai-gpt"
                         " roberta-base-openai-detector roberta-large-openai-detector"},
    {"google-bert",
     "bert-base-uncased bert-base-cased bert-large-uncased bert-large-cased"
     " bert-base-multilingual-uncased bert-base-multilingual-cased bert-base-chinese"
     " bert-base-german-cased bert-base-german-dbmdz-cased bert-base-german-dbmdz-uncased"
     " bert-large-uncased-whole-word-masking bert-large-cased-whole-word-masking"
     " bert-large-uncased-whole-word-masking-finetuned-squad"
     " bert-large-cased-whole-word-masking-finetuned-squad bert-base-cased-finetuned-mrpc"},
    {"distilbert", "distilgpt2 distilroberta-base distilbert-base-uncased distilbert-base-cased"
                   " distilbert-base-multilingual-cased distilbert-base-german-cased"
                   " distilbert-base-uncased-distilled-squad distilbert-base-cased-distilled-squad"
                   " distilbert-base-uncased-finetuned-sst-2-english"},
    {"FacebookAI",
     "roberta-base roberta-large roberta-large-mnli xlm-roberta-base xlm-roberta-large"
     " xlm-roberta-large-finetuned-conll02-dutch xlm-roberta-large-finetuned-conll02-spanish"
     " xlm-roberta-large-finetuned-conll03-english xlm-roberta-large-finetuned-conll03-german"},
    {"albert", "albert-base-v1 albert-large-v1 albert-xlarge-v1 albert-xxlarge-v1"
               " albert-base-v2 albert-large-v2 albert-xlarge-v2 albert-xxlarge-v2"},
    {"google-t5", "t5-small t5-base t5-large t5-3b t5-11b"},
    {"almanach", "camembert-base"},
};

static const char *const addresses[] = {"https://", "http://", "www.", "huggingface.co/", "hf.co/"};

static const char part_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789._-";

/* The owner today of a model with an old name; NULL: the table `owners` does not have this name. */
static const char *find_owner(const char *model)
{
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (name_is_among(owners[i].models, model))
            return owners[i].owner;
    return NULL;
}

/* Put the owner and a slash before an old name from the table `owners`. All results fit into
 * name->model. */
static void add_owner(struct hub_name *name, const char *owner)
{
    size_t size = strlen(owner);
    memmove(name->model + size + 1, name->model, strlen(name->model) + 1);
    memcpy(name->model, owner, size);
    name->model[size] = '/';
}

/* The number of bytes of `model` or `owner/model` at the beginning of a text; 0: the text does not
 * begin with such a name. */
static size_t size_of_model(const char *text)
{
    size_t size = *text == '.' ? 0 : strspn(text, part_characters);
    size_t rest = size && text[size] == '/' ? strspn(text + size + 1, part_characters) : 0;
    return rest ? size + 1 + rest : size;
}

/* Whether a text can be the name of a revision. It may have several parts, such as refs/pr/1, but
 * not `..`. */
static bool is_revision(const char *text)
{
    const char *end = text;
    while (*end && (strchr(part_characters, *end) || *end == '/'))
        end++;
    return *text && !*end && *text != '/' && !strstr(text, "..") && end - text < HUB_REVISION_BYTES;
}

/* Read `owner/model` or `model`, optionally followed by @revision; false: the text has another
 * form. */
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

/* Read a model's name from the path in the address of a page. The path may go on after the name, as
 * with /tree/main. False: there is no name. */
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
    /* `./NAME`: since there is no such folder, the model NAME may be meant */
    if (strncmp(path, "./", 2) == 0 && !strchr(path + 2, '/'))
        path += 2;
    if (!(is_address ? parse_address : parse_name)(name, path))
        return false;
    const char *known = find_owner(name->model);
    if (known)
        add_owner(name, known);
    snprintf(owner, sizeof owner, "%.*s", (int)strcspn(name->model, "/"), name->model);
    bool is_local =
        !is_address && file_is_directory(owner); /* then the name is a path in the current
                                                  * directory, not a name of the Hub */
    return known || (strchr(name->model, '/') && !is_local);
}

/* --- the cache -------------------------------------------------------------------------------- */

/* Environment variables that say where the cache is: the first one that is set is used. The cache
 * is the variable's value followed by `folder`. */
static const struct cache_row {
    const char *variable, *folder;
} caches[] = {
    {"HF_HUB_CACHE", ""},
    {"HUGGINGFACE_HUB_CACHE", ""},
    {"HF_HOME", "/hub"},
    {"XDG_CACHE_HOME", "/huggingface/hub"},
    {"HOME", "/.cache/huggingface/hub"},
};

/* The name of a model's folder in the cache begins like this; the whole name is
 * models--OWNER--NAME. */
#define FOLDER "models--"

enum {
    COMMIT_BYTES = 128
}; /* maximum size in bytes of the id of a commit, with its NUL; ids in Git have 40 characters */

/* Set *path to the folder of the cache; *path does not change if none of the variables is set. */
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

/* Set `commit` to the commit of a revision. If refs/ has a file with the revision's name, a branch
 * or tag, the file contains its commit; otherwise the revision is the commit itself. */
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
    const char *known = find_owner(name.model);
    for (int owned = 0; cache && owned <= (known != NULL); owned++) {
        if (owned)
            add_owner(&name, known);
        size_t owner = strcspn(name.model, "/");
        bool has_owner = name.model[owner];
        const char *folder =
            arena_format(arena, err, "%s/" FOLDER "%.*s%s%s", cache, (int)owner, name.model,
                         has_owner ? "--" : "", has_owner ? name.model + owner + 1 : "");
        if (!folder)
            return -1;
        if (file_is_directory(folder))
            return find_snapshot(path, folder, &name, arena, err);
    }
    return 0;
}

int hub_find_owned(const char **name, const char *text, struct arena *arena, struct err *err)
{
    struct hub_name asked;
    struct listing list = {0};
    const char *cache = NULL;
    if (!parse_name(&asked, text) || strchr(asked.model, '/'))
        return 0;
    if (find_cache(&cache, arena, err))
        return -1;
    if (cache && file_is_directory(cache) && listing_read(&list, cache, arena, err))
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const char *owner = list.names[i] + strlen(FOLDER);
        const char *end =
            strncmp(list.names[i], FOLDER, strlen(FOLDER)) == 0 ? strstr(owner, "--") : NULL;
        if (end && strcmp(end + 2, asked.model) == 0) {
            *name = arena_format(arena, err, "%.*s/%s%s", (int)(end - owner), owner, end + 2,
                                 text + strlen(asked.model));
            return *name ? 0 : -1;
        }
    }
    return 0;
}
