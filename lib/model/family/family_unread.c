/* family_unread.c: what a config.json says that nothing here listens to. */
#include <stdio.h>
#include <string.h>

#include "model/family/family.h"

/* Keys without an effect on what a pass computes: of training, of generating, of files. First whole
 * ones, then what is a part of some. */
static const char idle_keys[] =
    " architectures auto_map cache_implementation do_sample dtype early_stopping id2label init_std "
    "initializer_range is_decoder label2id layerdrop max_length min_length pretraining_tp "
    "return_dict task_specific_params temperature tokenizer_class top_k top_p torch_dtype "
    "transformers_version transformers.js_config use_cache ";
static const char *const idle_parts[] = {"dropout", "_pdrop", "_token_id", "summary_",
                                         "attn_implementation"};

static bool is_idle(const char *key)
{
    char word[64];
    bool idle = *key == '_';
    snprintf(word, sizeof word, " %s ", key);
    for (size_t i = 0; i < sizeof idle_parts / sizeof *idle_parts; i++)
        idle = idle || strstr(key, idle_parts[i]);
    return idle || strstr(idle_keys, word);
}

/* What makes no difference if it is honoured or not: false, null, 0, 1, and what is empty. */
static bool says_something(const struct json *value)
{
    bool flag = true;
    double number = 2;
    if (json_get_bool(value, &flag))
        return flag;
    if (json_get_number(value, &number))
        return number != 0 && number != 1;
    return !json_is_null(value) &&
           !((json_is_object(value) || json_is_array(value)) && !json_first(value));
}

static void list(struct config *config, const struct json *object, size_t *left_out)
{
    char *text = config->unread;
    for (const struct json *member = json_first(object); member; member = json_next(member)) {
        size_t used = strlen(text);
        size_t room = CONFIG_UNREAD_BYTES - used;
        if (json_was_asked_for(member) && json_is_object(member))
            list(config, member, left_out); /* rope_scaling and the like */
        if (json_was_asked_for(member) || !says_something(member) || is_idle(json_key(member)))
            continue;
        enum { REST_BYTES = 32 }; /* "and 262144 others" */
        if (strlen(json_key(member)) + 4 + REST_BYTES > room)
            ++*left_out;
        else
            snprintf(text + used, room, "%s'%s'", used ? ", " : "", json_key(member));
    }
}

void family_note_unread(struct config *config, const struct json *root)
{
    size_t left_out = 0;
    list(config, root, &left_out);
    size_t used = strlen(config->unread);
    if (left_out)
        snprintf(config->unread + used, CONFIG_UNREAD_BYTES - used, " and %zu others", left_out);
}
