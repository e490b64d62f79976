#include "model/model.h"

#include "base/buf.h"
#include "base/file.h"
#include "model/bundled.h"

/* "journey, life, tiny", for messages. */
static void list_bundled(struct buf *names)
{
    for (size_t i = 0; i < bundled_count; i++) {
        buf_text(names, i ? ", " : "");
        buf_text(names, bundled_models[i].path);
    }
}

int model_find(struct folder *folder, const char *name, struct err *err)
{
    const struct folder *bundled = bundled_find(name ? name : bundled_default);
    if (bundled) {
        *folder = *bundled;
        return 0;
    }
    if (file_is_directory(name)) {
        *folder = (struct folder){.path = name};
        return 0;
    }
    struct buf names = {0};
    list_bundled(&names);
    err_set(err, "'%s': expected a model directory or a bundled model (%s), found %s", name,
            names.bytes ? names.bytes : "", file_exists(name) ? "a file" : "nothing");
    buf_release(&names);
    return -1;
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
