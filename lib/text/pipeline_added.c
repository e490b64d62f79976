/* pipeline_added.c: added tokens that stand in other files than the vocabulary. */
#include "text/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/json.h"
#include "text/label.h"

enum { DESCRIPTION_BYTES = 80 };

/* The one token that every folder of GPT-2's kind has beside its vocabulary. */
#define END_OF_TEXT "<|endoftext|>"

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

/* Read a token from every member of an object. */
static int add_members(struct pipeline *pipeline, const struct json *object,
                       int (*read)(struct added_token *, const struct json *, struct err *),
                       struct err *err)
{
    size_t most = json_count(object) + pipeline->set.added.count;
    struct added_token *items = arena_alloc(&pipeline->set.arena, most, sizeof *items, err);
    size_t count = 0;
    if (!items)
        return -1;
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
    return add_members(context, root, read_pair, err);
}

/* Its member `added_tokens_decoder`, where there is one, knows more of them. */
static int read_config(void *context, const struct json *root, struct err *err)
{
    const struct json *members = json_member(root, "added_tokens_decoder");
    if (!json_is_object(members))
        return 0;
    return add_members(context, members, added_token_read_member, err);
}

int pipeline_read_added(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    static const char config[] = "tokenizer_config.json";
    static const char added[] = "added_tokens.json";
    size_t count = pipeline->set.added.count;
    if (folder_has(folder, config) && json_read_file(folder, config, read_config, pipeline, err))
        return -1;
    if (pipeline->set.added.count > count || !folder_has(folder, added))
        return 0;
    return json_read_file(folder, added, read_added, pipeline, err);
}

/* --- beside a tokenizer.json ------------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
    const struct added_token *one = a;
    const struct added_token *other = b;
    return (one->id > other->id) - (one->id < other->id);
}

static int by_text(const void *a, const void *b)
{
    const struct added_token *one = a;
    const struct added_token *other = b;
    struct word words[] = {{one->bytes, one->size}, {other->bytes, other->size}};
    return word_compare(&words[0], &words[1]);
}

struct added_listing {
    struct pipeline *pipeline;
    struct added_token *known; /* by text */
    struct added_token *items; /* [count] those that are known, by id, and then others */
    size_t count;
    uint32_t next; /* the first id that is free */
};

/* Give a listed token its id, and its place among the items. */
static int place_listed(struct added_listing *listing, struct added_token token, struct err *err)
{
    const struct token_set *set = &listing->pipeline->set;
    const struct added_tokens *added = &set->added;
    bool found = false;
    struct added_token *place = &listing->items[listing->count];
    const struct added_token *same = NULL;
    if (added->count)
        same = bsearch(&token, listing->known, added->count, sizeof token, by_text);
    if (same) {
        place = listing->items + (added_tokens_of_id(added, same->id) - added->by_id);
        token.id = same->id;
        token.special |= same->special;
    } else {
        listing->count++;
        if (token_set_find_word(set, token.bytes, token.size, &token.id, &found, err))
            return -1;
        token.id = found ? token.id : listing->next++;
    }
    *place = token;
    return pipeline_normalize_token(listing->pipeline, place, err);
}

static int read_listed(void *context, const struct json *root, struct err *err)
{
    struct pipeline *pipeline = context;
    const struct added_tokens *added = &pipeline->set.added;
    struct arena *arena = &pipeline->set.arena;
    const struct json *members = json_member(root, "added_tokens_decoder");
    size_t most = json_is_object(members) ? json_count(members) : 0;
    size_t count = 0;
    if (!most)
        return 0;
    struct added_token *listed = arena_alloc(arena, most, sizeof *listed, err);
    struct added_listing listing = {
        .pipeline = pipeline,
        .known = arena_alloc(arena, added->count, sizeof *listing.known, err),
        .items = arena_alloc(arena, added->count + most, sizeof *listing.items, err),
        .count = added->count,
        .next = (uint32_t)token_set_size(&pipeline->set),
    };
    if (!listed || !listing.known || !listing.items)
        return -1;
    for (size_t i = 0; i < added->count; i++)
        listing.known[i] = listing.items[i] = added->by_id[i];
    qsort(listing.known, added->count, sizeof *listing.known, by_text);
    for (const struct json *at = json_first(members); at; at = json_next(at))
        if (added_token_read_member(&listed[count++], at, err))
            return -1;
    qsort(listed, count, sizeof *listed, by_id);
    for (size_t i = 0; i < count; i++)
        if (listed[i].size && place_listed(&listing, listed[i], err))
            return -1;
    return token_set_add(&pipeline->set, listing.items, listing.count, err);
}

int pipeline_read_listed(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    static const char config[] = "tokenizer_config.json";
    return folder_has(folder, config) ? json_read_file(folder, config, read_listed, pipeline, err)
                                      : 0;
}

/* --- tokens that are named by what they are for ----------------------------------------------- */

static const char *const roles[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};

enum { ROLES = sizeof roles / sizeof *roles, GPT2_ROLES = 3 /* which are END_OF_TEXT */ };

struct named_tokens {
    struct added_token tokens[ROLES]; /* NULL bytes: not named; "": there is none */
    struct arena *arena;
};

/* "<s>", or {"content": "<s>", "lstrip": true, …} */
static int read_role(struct added_token *token, const struct json *root, const char *role,
                     struct arena *arena, struct err *err)
{
    const struct json *value = json_member(root, role);
    struct added_token read = {.bytes = ""};
    if (!value)
        return 0;
    if (json_is_object(value) && added_token_read_content(&read, value, err))
        return err_prefix(err, "%s", role);
    if (!json_is_object(value) && json_text(root, role, &read.bytes, err))
        return -1;
    *token = read;
    token->size = strlen(read.bytes);
    token->bytes = arena_text(arena, read.bytes, token->size, err);
    return token->bytes ? 0 : -1;
}

static int read_roles(void *context, const struct json *root, struct err *err)
{
    struct named_tokens *named = context;
    if (!json_is_object(root))
        return err_set(err, "expected an object");
    for (size_t i = 0; i < ROLES; i++)
        if (read_role(&named->tokens[i], root, roles[i], named->arena, err))
            return -1;
    return 0;
}

/* Those that are words, or were added; the latter as they were, but special. */
static int add_named(struct token_set *set, const struct named_tokens *named, struct err *err)
{
    static const struct added_token gpt2 = {.bytes = END_OF_TEXT, .size = sizeof END_OF_TEXT - 1};
    struct added_token *items =
        arena_alloc(&set->arena, ROLES + set->added.count, sizeof *items, err);
    size_t count = 0;
    if (!items)
        return -1;
    for (size_t i = 0; i < ROLES; i++) {
        struct added_token token = named->tokens[i];
        bool found = false;
        size_t same = 0;
        if (!token.bytes && i < GPT2_ROLES)
            token = gpt2;
        if (token.size && token_set_find(set, token.bytes, token.size, &token.id, &found, err))
            return -1;
        const struct added_token *known = found ? added_tokens_of_id(&set->added, token.id) : NULL;
        items[count] = known ? *known : token;
        items[count].special = true;
        while (items[same].id != token.id)
            same++;
        count += found && same == count;
    }
    if (keep_others(&set->added, items, &count, &set->arena, err))
        return -1;
    return token_set_add(set, items, count, err);
}

int pipeline_read_special(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    static const char *const files[] = {"tokenizer_config.json", "special_tokens_map.json"};
    struct named_tokens named = {.arena = &pipeline->set.arena};
    if (pipeline_read_added(pipeline, folder, err))
        return -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (folder_has(folder, files[i]) &&
            json_read_file(folder, files[i], read_roles, &named, err))
            return -1;
    return add_named(&pipeline->set, &named, err);
}
