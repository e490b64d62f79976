#include "model/config.h"

#include <string.h>

#include "base/buf.h"
#include "base/folder.h"
#include "format/json.h"
#include "model/family/family.h"

static int refuse_type(const char *type, struct err *err)
{
    struct buf names = {0};
    for (size_t i = 0; i < family_count; i++)
        if (!strchr(family_rows[i].name, ' '))
            buf_format(&names, "%s%s", i ? ", " : "", family_rows[i].name);
    if (!buf_check(&names, err))
        err_unsupported(err, "field 'model_type': expected one of %s, found \"%s\"", names.bytes,
                        type);
    buf_release(&names);
    return -1;
}

static int parse(void *context, const struct json *root, struct err *err)
{
    struct config *config = context;
    const char *type = NULL;
    if (!json_is_object(root))
        return err_set(err, "expected a JSON object");
    if (json_unique_keys(root, err) || json_text(root, "model_type", &type, err))
        return -1;
    if (!type)
        return err_set(err, "field 'model_type': expected a type such as \"gpt2\" or \"llama\", "
                            "found nothing");
    const struct family *family = strchr(type, ' ') ? NULL : family_find(type);
    if (!family)
        return refuse_type(type, err);
    if (family_read(config, family, root, err))
        return -1;
    family_note_unread(config, root);
    return 0;
}

int config_parse(struct config *config, const char *text, size_t size, struct err *err)
{
    struct json *root = NULL;
    int failed = json_parse(&root, text, size, err) || parse(config, root, err);
    json_free(root);
    return failed ? -1 : 0;
}

int config_open(struct config *config, const struct folder *folder, struct err *err)
{
    return json_read_file(folder, "config.json", parse, config, err);
}

size_t config_layers(const struct config *config)
{
    return config->n_layer + config->n_encoder_layer;
}

float config_scale(const struct config *config, size_t layer)
{
    return config->scale_by_layer ? config->scale / (float)(layer + 1) : config->scale;
}

bool config_rotates(const struct config *config)
{
    return config->rotary.components > 0;
}

const struct rotary *config_rotary(const struct config *config, size_t layer)
{
    unsigned flags = layer < CONFIG_FLAGS_MAX ? config->layer_flags[layer] : 0;
    if (!config_rotates(config) || flags & LAYER_UNROTATED)
        return NULL;
    return flags & LAYER_LOCAL_TURN ? &config->rotary_local : &config->rotary;
}

unsigned config_flags(const struct config *config)
{
    unsigned flags = 0;
    for (size_t i = 0; i < config->n_layer && i < CONFIG_FLAGS_MAX; i++)
        flags |= config->layer_flags[i];
    return flags;
}

size_t config_window(const struct config *config, size_t layer)
{
    bool has = layer < CONFIG_FLAGS_MAX && config->layer_flags[layer] & LAYER_WINDOW;
    return has ? config->window : 0;
}

bool config_ties(const struct config *config)
{
    return config->tied || config->lacks_head;
}

static int parse_ends(void *context, const struct json *root, struct err *err)
{
    if (!json_is_object(root))
        return err_set(err, "expected a JSON object");
    return family_read_ends(context, root, err);
}

int config_read_ends(struct config *config, const struct folder *folder, struct err *err)
{
    static const char name[] = "generation_config.json";
    return folder_has(folder, name) ? json_read_file(folder, name, parse_ends, config, err) : 0;
}

bool config_ends(const struct config *config, long long id)
{
    bool ends = id == config->eos_id;
    for (size_t i = 0; i < config->more_end_count; i++)
        ends = ends || id == config->more_ends[i];
    return ends;
}

const char *config_kind_name(const struct config *config)
{
    const struct family *family = config->family;
    while (strchr(family->name, ' ')) /* a variant follows its family */
        family--;
    return family->name;
}
