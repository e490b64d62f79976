#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "model/features.h"
#include "model/gguf/gguf_model.h"
#include "model/hub.h"
#include "model/parameter_table.h"

static const struct folder *find_folder(const struct folder *folders, size_t count,
                                        const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(folders[i].path, name) == 0)
            return &folders[i];
    return NULL;
}

const struct folder *bundled_find(const char *name)
{
    return find_folder(bundled_models, bundled_count, name);
}

const struct folder *bundled_find_dictionary(const char *name)
{
    return find_folder(bundled_dictionaries, bundled_dictionary_count, name);
}

bool model_is_there(const char *name)
{
    return bundled_find(name) || file_is_directory(name) ||
           (gguf_is_named(name) && file_exists(name));
}

/* Whether a name can only be a path: it cannot be the name of a bundled model or of a model of the
 * Hub. */
static bool is_path(const char *name)
{
    return strchr("./~", *name) || gguf_is_named(name);
}

/* If a name is a file in the folder of a model, append a suggestion of this folder to the message
 * in `err`. */
static void suggest_folder(const char *name, struct err *err)
{
    const char *slash = strrchr(name, '/');
    size_t size = slash && slash > name ? (size_t)(slash - name) : 1;
    struct buf path = {0};
    buf_format(&path, "%.*s", (int)size, slash ? name : ".");
    struct folder folder = {.path = path.bytes};
    if (path.bytes && (folder_has(&folder, "config.json") || checkpoint_is_there(&folder)))
        err_append(err, ": did you mean its folder '%s'?", folder.path);
    buf_release(&path);
}

/* Append a suggestion for an unknown name to the message in `err`: a spelling without ~, a model of
 * the Hub, the nearest name, or where the bundled models are listed. */
static void suggest_model(const char *name, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct arena arena = {0};
    struct listing beside = {0};
    struct err ignored = {0};
    struct nearest nearest;
    struct hub_name hub;
    const char *owned = NULL;
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *folder = slash ? arena_text(&arena, name, (size_t)(base - name), &ignored) : "./";
    nearest_begin(&nearest, base, strlen(base));
    for (size_t i = 0; !slash && i < bundled_count; i++)
        nearest_offer(&nearest, bundled_models[i].path);
    if (folder)
        listing_read(&beside, folder, &arena, &ignored);
    for (size_t i = 0; i < beside.count; i++) {
        const char *path = arena_format(&arena, &ignored, "%s%s", folder, beside.names[i]);
        if (path && (file_is_directory(path) || gguf_is_named(path)))
            nearest_offer(&nearest, beside.names[i]);
    }
    hub_find_owned(&owned, name, &arena, &ignored);
    if (*name == '~')
        err_append(err, ": a shell expands ~ only outside of quotes: \"$HOME%s\"",
                   strchr(name, '/') ? strchr(name, '/') : "");
    else if (owned)
        err_append(err, "%s", names_guess(guess, owned));
    else if (hub_guess(&hub, name))
        err_append(err,
                   ": 'hf download %s%s%s --include \"*.json\" \"*.txt\" \"*.model\" "
                   "\"*.safetensors\"' downloads it for --model %s%s%s",
                   hub.model, *hub.revision ? " --revision " : "", hub.revision, hub.model,
                   *hub.revision ? "@" : "", hub.revision);
    else if (nearest.name)
        err_append(
            err, "%s",
            names_guess(guess, slash ? arena_format(&arena, &ignored, "%s%s", folder, nearest.name)
                                     : nearest.name));
    else if (!is_path(name))
        err_append(err,
                   ": 'attn-cli help models' lists the bundled models; without -m, '%s' is "
                   "used",
                   bundled_default);
    arena_release(&arena);
}

static int unknown_model(const char *name, struct err *err)
{
    bool is_file = file_exists(name);
    err_set(err, "'%s': expected a model folder%s a GGUF file%s, found %s", name,
            is_path(name) ? " or" : ",",
            is_path(name) ? "" : ", a bundled model or a name in the cache of the Hugging Face Hub",
            is_file         ? "another file"
            : is_path(name) ? "no such file"
                            : "nothing");
    (is_file ? suggest_folder : suggest_model)(name, err);
    return -1;
}

/* Search the folders of ATTN_MODEL_PATH, which are separated by colons, for a directory or a GGUF
 * file with this name, or for NAME.gguf. Set *path to its path; if no folder has it *path remains
 * NULL. */
static int find_in_folders(const char **path, const char *name, struct arena *arena,
                           struct err *err)
{
    const char *folder = getenv("ATTN_MODEL_PATH");
    bool is_path = name[0] == '/' || name[0] == '.' || !*name;
    while (folder && *folder && !is_path) {
        size_t size = strcspn(folder, ":");
        const char *inside = arena_format(arena, err, "%.*s/%s", (int)size, folder, name);
        const char *file = inside ? arena_format(arena, err, "%s.gguf", inside) : NULL;
        if (!file)
            return -1;
        if (size && (file_is_directory(inside) || (gguf_is_named(inside) && file_exists(inside))))
            *path = inside;
        else if (size && file_exists(file) && !file_is_directory(file))
            *path = file;
        if (*path)
            return 0;
        folder += size + (folder[size] == ':');
    }
    return 0;
}

/* If a directory has GGUF files but no config.json, as many models in the Hub do, set *path to its
 * only GGUF file. Several GGUF files, or a LoRA adapter alone, are an error. */
static int choose_gguf(const char **path, struct arena *arena, struct err *err)
{
    struct folder folder = {.path = *path};
    struct listing listing = {0};
    struct buf several = {0};
    size_t count = 0;
    const char *found = NULL;
    if (folder_has(&folder, "config.json"))
        return 0;
    if (listing_read(&listing, *path, arena, err))
        return -1;
    for (size_t i = 0; i < listing.count; i++)
        if (gguf_is_named(listing.names[i])) {
            buf_format(&several, "%s%s", count++ ? ", " : "", listing.names[i]);
            found = listing.names[i];
        }
    if (count > 1)
        err_set(err, "'%s': expected one model, found GGUF files %s: choose one, such as '%s/%s'",
                *path, several.bytes ? several.bytes : "", *path, found);
    buf_release(&several);
    if (!count && folder_has(&folder, "adapter_config.json"))
        return err_set(err,
                       "'%s': expected a whole model, found a LoRA adapter: merge it into its base "
                       "model with PEFT's merge_and_unload() and save_pretrained()",
                       *path);
    if (count == 1)
        *path = arena_format(arena, err, "%s/%s", *path, found);
    return err_if(count > 1 || !*path);
}

/* Set *is_directory to whether a path is a directory. Returns -1 with `err` if the path cannot be
 * accessed, except if it does not exist. */
static int check_directory(bool *is_directory, const char *path, struct err *err)
{
    errno = 0;
    *is_directory = file_is_directory(path);
    return *is_directory || !errno || file_is_absent()
               ? 0
               : err_set(err, "cannot access '%s': %s", path, strerror(errno));
}

int model_find(struct folder *folder, const char *name, struct arena *arena, struct err *err)
{
    const struct folder *bundled = bundled_find(name ? name : bundled_default);
    const char *path = NULL;
    bool is_directory = false;
    if (bundled) {
        *folder = *bundled;
        return 0;
    }
    if (check_directory(&is_directory, name, err))
        return -1;
    if (is_directory || (gguf_is_named(name) && file_exists(name)))
        path = name;
    if (!path &&
        (find_in_folders(&path, name, arena, err) || (!path && hub_find(&path, name, arena, err))))
        return -1;
    if (!path)
        return unknown_model(name, err);
    const char *found = path = arena_path(arena, path, err); /* compared with `path` below:
                                                              * choose_gguf may change it to a file
                                                              * in the directory */
    if (!path || check_directory(&is_directory, path, err) ||
        (is_directory && choose_gguf(&path, arena, err)))
        return -1;
    *folder = (struct folder){.path = path};
    return is_directory && path == found ? 0 : gguf_folder(folder, path, arena, err);
}

static int open_files(struct model *model, struct err *err)
{
    model->opened.arena = &model->arena;
    model->folder.opened = &model->opened;
    if (config_open(&model->config, &model->folder, err) || config_describe(&model->config, err) ||
        features_expect(TO_RUN, &model->config, NULL, err) ||
        weights_open(&model->weights, &model->config, &model->folder, err)) {
        model_release(model);
        return -1;
    }
    struct slot head = slot_of_text(SLOT_UNEMBED);
    model->config.lacks_unembed =
        slot_exists(head, &model->config) && !weights_parameter_of(&model->weights, head).entry;
    return 0;
}

int model_open(struct model *model, const char *name, struct err *err)
{
    *model = (struct model){.name = name ? name : bundled_default};
    if (model_find(&model->folder, name, &model->arena, err)) {
        model_release(model);
        return -1;
    }
    return open_files(model, err);
}

int model_open_folder(struct model *model, const struct folder *folder, struct err *err)
{
    *model = (struct model){.name = folder->path, .folder = *folder};
    return open_files(model, err);
}

bool model_is_of_fables(const struct model *model)
{
    return model->folder.files && strcmp(model->folder.path, bundled_default) == 0;
}

bool model_is_untrained(const struct model *model)
{
    const struct folder *bundled = bundled_find(model->folder.path);
    return bundled && bundled->files == model->folder.files && model->config.style == STYLE_BARE;
}

void model_release(struct model *model)
{
    weights_release(&model->weights);
    config_release(&model->config);
    arena_release(&model->arena);
    *model = (struct model){0};
}
