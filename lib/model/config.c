#include "model/config.h"

#include <string.h>

#include "model/config_read.h"

static const struct kind_row {
    const char *name;
    int (*parse)(struct config *config, const struct json *root, struct err *err);
} kind_rows[] = {
    [MODEL_GPT2] = {"gpt2", config_gpt2},
    [MODEL_ATTENTION] = {"attention", config_attention},
    [MODEL_TRANSFORMER] = {"transformer", config_transformer},
};

static int parse(struct config *config, const struct json *root, struct err *err)
{
    static const char expected[] = "\"gpt2\", \"attention\" or \"transformer\"";
    const char *type = NULL;
    if (!json_is_object(root))
        return err_set(err, "expected a JSON object");
    if (json_unique_keys(root, err) || json_text(root, "model_type", &type, err))
        return -1;
    if (!type)
        return err_set(err, "field 'model_type': expected %s, found nothing", expected);
    for (size_t i = 0; i < sizeof kind_rows / sizeof *kind_rows; i++)
        if (strcmp(type, kind_rows[i].name) == 0)
            return kind_rows[i].parse(config, root, err);
    return err_unsupported(err, "field 'model_type': expected %s, found \"%s\"", expected, type);
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
    struct file file = {0};
    if (folder_open(&file, folder, "config.json", err))
        return -1;
    int failed = config_parse(config, file.bytes, file.size, err);
    if (failed)
        err_prefix(err, "'%s/config.json'", folder->path);
    file_release(&file);
    return failed ? -1 : 0;
}

size_t config_layers(const struct config *config)
{
    return config->n_layer + config->n_encoder_layer;
}

float config_scale(const struct config *config, size_t layer)
{
    return config->scale_by_layer ? config->scale / (float)(layer + 1) : config->scale;
}

const char *config_kind_name(const struct config *config)
{
    return kind_rows[config->kind].name;
}
