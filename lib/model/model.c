#include "model/model.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "model/bundled.h"
#include "model/hub_name.h"

/* A file is in the directory that was meant. */
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

bool model_has_site(const struct config *config, enum site site)
{
    const struct mechanism *mechanism = &config->mechanism;
    bool of_mlp = site == site_of(site_rows[site].part, SITE_LN_2) ||
                  site == site_of(site_rows[site].part, SITE_MLP_ACT) ||
                  site == site_of(site_rows[site].part, SITE_MLP_OUT);
    if (site == SITE_SOFTMAX)
        return mechanism->renormalise;
    if (of_mlp && mechanism_lacks(mechanism, PART_MLP))
        return false;
    if (site == SITE_EMBEDDING)
        return true;
    if (site == SITE_SOURCE_EMBEDDING)
        return config->cross;
    if (config->kind == MODEL_ATTENTION)
        return site >= SITE_Q && site <= SITE_ATTN_OUT;
    if (site == SITE_LN_F || site == SITE_ENC_LN_F)
        return config->final_norm && (site == SITE_LN_F || config->n_encoder_layer);
    return site_rows[site].part == PART_SENTENCE || config->n_encoder_layer;
}
