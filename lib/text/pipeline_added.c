/* pipeline_added.c: added tokens that stand in other files than the vocabulary. */
#include "text/pipeline.h"

#include <string.h>

#include "base/folder.h"
#include "format/json.h"
#include "text/label.h"

enum { DESCRIPTION_BYTES = 80 };

/* The one token that every folder of GPT-2's kind has beside its vocabulary. */
#define END_OF_TEXT "<|endoftext|>"

/* Make END_OF_TEXT the next item where the vocabulary has it; returns how many that are. */
static size_t end_of_text(const struct pipeline *pipeline, struct added_token *token)
{
    static const char text[] = END_OF_TEXT;
    *token = (struct added_token){.bytes = text, .size = sizeof text - 1, .special = true};
    return word_table_find(&pipeline->set.words, text, sizeof text - 1, WORD_BYTES, &token->id);
}

/* A member of added_tokens.json: "<|pad|>": 50257. */
static int read_pair(struct added_token *token, const struct json *member, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    char found[DESCRIPTION_BYTES];
    const char *name = json_key(member);
    bool special = strcmp(name, END_OF_TEXT) == 0;
    long long id = 0;
    if (!json_get_integer(member, 0, WORD_ID_MAX, &id))
        return err_set(err, "added token '%s': expected an id from 0 to %d, found %s",
                       label_excerpt(shown, name, strlen(name)), WORD_ID_MAX,
                       json_describe(member, found, sizeof found));
    *token = (struct added_token){
        .bytes = name,
        .size = strlen(name),
        .id = (uint32_t)id,
        .special = special,
        .normalized = !special,
    };
    return 0;
}

/* Tokens that are there and whose id none of the new items has, after these. */
static int keep_others(const struct added_tokens *known, struct added_token *items, size_t *count,
                       struct arena *arena, struct err *err)
{
    bool *replaced = arena_alloc(arena, known->count, sizeof *replaced, err);
    if (!replaced)
        return -1;
    for (size_t i = 0; i < *count; i++) {
        const struct added_token *same = added_tokens_of_id(known, items[i].id);
        if (same)
            replaced[same - known->by_id] = true;
    }
    for (size_t i = 0; i < known->count; i++)
        if (!replaced[i])
            items[(*count)++] = known->by_id[i];
    return 0;
}

/* Read a token from every member of an object, END_OF_TEXT before them if it is wanted. */
static int add_members(struct pipeline *pipeline, const struct json *object, bool end,
                       int (*read)(struct added_token *, const struct json *, struct err *),
                       struct err *err)
{
    size_t most = json_count(object) + 1 + pipeline->set.added.count;
    struct added_token *items = arena_alloc(&pipeline->set.arena, most, sizeof *items, err);
    if (!items)
        return -1;
    size_t count = end ? end_of_text(pipeline, &items[0]) : 0;
    for (const struct json *at = json_first(object); at; at = json_next(at))
        if (read(&items[count++], at, err))
            return -1;
    if (keep_others(&pipeline->set.added, items, &count, &pipeline->set.arena, err))
        return -1;
    return token_set_add(&pipeline->set, items, count, err);
}

static int read_added(void *context, const struct json *root, struct err *err)
{
    if (!json_is_object(root))
        return err_set(err, "expected an object");
    return add_members(context, root, !json_member(root, END_OF_TEXT), read_pair, err);
}

/* Its member `added_tokens_decoder`, where there is one, knows more of them. */
static int read_config(void *context, const struct json *root, struct err *err)
{
    const struct json *members = json_member(root, "added_tokens_decoder");
    if (!json_is_object(members))
        return 0;
    return add_members(context, members, false, added_token_read_member, err);
}

int pipeline_read_named(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    static const char config[] = "tokenizer_config.json";
    return folder_has(folder, config) ? json_read_file(folder, config, read_config, pipeline, err)
                                      : 0;
}

int pipeline_read_added(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    static const char added[] = "added_tokens.json";
    size_t count = pipeline->set.added.count;
    if (pipeline_read_named(pipeline, folder, err))
        return -1;
    if (pipeline->set.added.count > count || !folder_has(folder, added))
        return 0;
    return json_read_file(folder, added, read_added, pipeline, err);
}

int pipeline_read_special(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    struct added_token token;
    if (pipeline_read_added(pipeline, folder, err))
        return -1;
    if (pipeline->set.added.count || folder_has(folder, "added_tokens.json"))
        return 0;
    return token_set_add(&pipeline->set, &token, end_of_text(pipeline, &token), err);
}
