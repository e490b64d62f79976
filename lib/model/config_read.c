/* config_read.c: reads config.json: finds the family of its model_type, which then reads all other
 * keys. Also reads generation_config.json. */
#include <string.h>

#include "base/file.h"
#include "format/json.h"
#include "model/config.h"
#include "model/family/family.h"

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
        return err_unsupported(err,
                               "field 'model_type': expected gpt2, llama, qwen3 or another type "
                               "that \"Models\" in README.md lists, found \"%s\"",
                               type);
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

int config_read_generation(struct config *config, const struct folder *folder, struct err *err)
{
    static const char own[] = "generation_config.json";
    const char *name = folder_has(folder, own)   ? own
                       : config->n_encoder_layer ? "config.json"
                                                 : NULL;
    return name ? json_read_file(folder, name, family_read_generation, config, err) : 0;
}
