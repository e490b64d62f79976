#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "model/parameter_table.h"

const struct folder *bundled_find(const char *name)
{
    for (size_t i = 0; i < bundled_count; i++)
        if (strcmp(bundled_models[i].path, name) == 0)
            return &bundled_models[i];
    return NULL;
}

/* Those that had their names before names had owners. */
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

/* Past the Hub's own name; `text` itself where it is no address. */
static const char *skip_address(const char *text)
{
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        if (strncmp(text, addresses[i], strlen(addresses[i])) == 0)
            text += strlen(addresses[i]);
    return text;
}

static const struct owner_row *find_owner(const char *model, size_t size)
{
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (strlen(owners[i].model) == size && memcmp(owners[i].model, model, size) == 0)
            return &owners[i];
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
    const struct owner_row *row = is_address || !path[first] ? find_owner(path, first) : NULL;
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

static int found_file(const char *known, const char *name, struct err *err)
{
    const char *slash = strrchr(name, '/');
    size_t size = slash && slash > name ? (size_t)(slash - name) : 1;
    return err_set(err,
                   "'%s': expected a model directory or a bundled model (%s), found a file: did "
                   "you mean '%.*s', which it is in?",
                   name, known, (int)size, slash ? name : ".");
}

static int found_nothing(const char *known, const char *name, struct names names, struct err *err)
{
    char hub[HUB_NAME_BYTES];
    char guess[NAMES_GUESS_BYTES];
    if (hub_name_read(hub, name))
        return err_set(
            err,
            "'%s': expected a model directory or a bundled model (%s), found nothing: "
            "'hf download %s --include \"*.json\" \"*.txt\" \"*.safetensors\" --local-dir %s' "
            "gets one from the Hugging Face Hub",
            name, known, hub, hub_name_model(hub));
    return err_set(err, "'%s': expected a model directory or a bundled model (%s), found nothing%s",
                   name, known, names_guess(guess, names_nearest(names, name, strlen(name))));
}

static int unknown_model(const char *name, struct err *err)
{
    struct names names = {&bundled_models->path, bundled_count, sizeof *bundled_models, NULL};
    struct buf list = {0};
    for (size_t i = 0; i < bundled_count; i++)
        buf_format(&list, "%s%s", i ? ", " : "", bundled_models[i].path);
    const char *known = list.bytes ? list.bytes : "";
    if (file_exists(name))
        found_file(known, name, err);
    else
        found_nothing(known, name, names, err);
    buf_release(&list);
    return -1;
}

int model_find(struct folder *folder, const char *name, struct err *err)
{
    const struct folder *bundled = bundled_find(name ? name : bundled_default);
    if (bundled) {
        *folder = *bundled;
        return 0;
    }
    errno = 0;
    if (!file_is_directory(name))
        return errno && !file_is_absent()
                   ? err_set(err, "cannot look at '%s': %s", name, strerror(errno))
                   : unknown_model(name, err);
    *folder = (struct folder){.path = name};
    return 0;
}

static int open_files(struct model *model, struct err *err)
{
    if (config_open(&model->config, &model->folder, err) ||
        weights_open(&model->weights, &model->config, &model->folder, err)) {
        model_release(model);
        return -1;
    }
    return 0;
}

int model_open(struct model *model, const char *name, struct err *err)
{
    *model = (struct model){.name = name ? name : bundled_default};
    return model_find(&model->folder, name, err) ? -1 : open_files(model, err);
}

int model_open_folder(struct model *model, const struct folder *folder, struct err *err)
{
    *model = (struct model){.name = folder->path, .folder = *folder};
    return open_files(model, err);
}

void model_release(struct model *model)
{
    weights_release(&model->weights);
    *model = (struct model){0};
}

int model_lift_context(struct model *model, struct err *err)
{
    struct config *c = &model->config;
    if (parameter_is_used(PARAMETER_WPE, 0, c))
        return err_usage(err,
                         "--beyond-context: expected a model whose positions are computed, found "
                         "one with a learned embedding for each of %zu ('%s')",
                         c->n_positions, model->name);
    model->context = c->n_positions;
    c->n_positions = 0;
    return 0;
}

bool model_lacks_head(const struct model *model, struct parameter_info *head)
{
    *head = weights_parameter(&model->weights, parameter_index(PARAMETER_LM_HEAD, 0));
    return !head->entry && parameter_is_used(PARAMETER_LM_HEAD, 0, &model->config);
}
