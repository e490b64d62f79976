#include "text/tokenizer_config.h"

#include <string.h>

#include "base/file.h"
#include "format/json.h"
#include "text/pipeline.h"

/* Where what is read goes. */
struct reading {
    struct tokenizer_config *config;
    struct arena *arena;
};

static int keep_text(const char **out, const struct json *object, const char *name,
                     struct arena *arena, struct err *err)
{
    const char *text = NULL;
    if (json_text(object, name, &text, err))
        return -1;
    if (text)
        *out = arena_text(arena, text, strlen(text), err);
    return text && !*out ? -1 : 0;
}

/* "<s>", or {"content": "<s>", …} */
static int read_token(const char **out, const struct json *root, const char *name,
                      struct arena *arena, struct err *err)
{
    const struct json *member = json_member(root, name);
    if (!json_is_object(member))
        return keep_text(out, root, name, arena, err);
    return keep_text(out, member, "content", arena, err) ? err_prefix(err, "%s", name) : 0;
}

static int read_answer(enum answer *answer, const struct json *root, const char *name,
                       struct err *err)
{
    bool yes = *answer == ANSWER_YES;
    const struct json *member = json_member(root, name);
    if (!member || json_is_null(member))
        return 0;
    if (json_bool(root, name, &yes, err))
        return -1;
    *answer = yes ? ANSWER_YES : ANSWER_NO;
    return 0;
}

static int read_members(void *context, const struct json *root, struct err *err)
{
    const struct reading *reading = context;
    struct tokenizer_config *config = reading->config;
    if (!json_is_object(root))
        return err_set(err, "expected an object");
    if (read_token(&config->tokens[ROLE_BOS], root, "bos_token", reading->arena, err) ||
        read_token(&config->tokens[ROLE_EOS], root, "eos_token", reading->arena, err) ||
        read_answer(&config->adds[ROLE_BOS], root, "add_bos_token", err) ||
        read_answer(&config->adds[ROLE_EOS], root, "add_eos_token", err) ||
        read_answer(&config->prefixes, root, "add_prefix_space", err) ||
        read_answer(&config->legacy, root, "legacy", err) ||
        read_answer(&config->splits_special, root, "split_special_tokens", err))
        return -1;
    return keep_text(&config->class, root, "tokenizer_class", reading->arena, err);
}

int tokenizer_config_read(struct tokenizer_config *config, const struct folder *folder,
                          struct arena *arena, struct err *err)
{
    static const char name[] = "tokenizer_config.json";
    struct reading reading = {config, arena};
    *config = (struct tokenizer_config){.class = ""};
    return folder_has(folder, name) ? json_read_file(folder, name, read_members, &reading, err) : 0;
}

int tokenizer_config_apply(const struct tokenizer_config *config, struct pipeline *pipeline,
                           struct err *err)
{
    bool removed = config->prefixes == ANSWER_NO;
    if (normalizers_limit_prefix(&pipeline->normalizers, removed, config->legacy == ANSWER_NO) &&
        removed)
        decoders_keep_front(pipeline->decoders);
    if (config->prefixes == ANSWER_NONE)
        return 0;
    return pre_tokenizers_set_prefix(&pipeline->pre_tokenizers, !removed, &pipeline->arena, err);
}

bool tokenizer_config_begins(const struct tokenizer_config *config)
{
    static const char *const classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) /* and its Fast */
        if (strncmp(config->class, classes[i], strlen(classes[i])) == 0)
            return true;
    return false;
}

static int read_begin(void *id, const struct json *root, struct err *err)
{
    (void)err;
    json_get_integer(json_member(root, "bos_token_id"), 0, UINT32_MAX, id);
    return 0;
}

int tokenizer_config_model_begin(uint32_t *id, bool *found, const struct token_set *set,
                                 const struct folder *folder, struct err *err)
{
    static const char name[] = "config.json";
    long long named = -1;
    size_t size = 0;
    if (folder_has(folder, name) && json_read_file(folder, name, read_begin, &named, err))
        return -1;
    *found = named >= 0 && token_set_word(set, (uint32_t)named, &size);
    *id = *found ? (uint32_t)named : *id;
    return 0;
}
