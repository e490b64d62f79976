/* tokenizer_config.c: the files next to a vocabulary: tokenizer_config.json, added_tokens.json and
 * special_tokens_map.json. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/num.h"
#include "format/json.h"
#include "text/builder.h"
#include "text/label.h"

enum { DESCRIPTION_BYTES = 80 };

static const char config_name[] = "tokenizer_config.json";

/* --- tokenizer_config.json -------------------------------------------------------------------- */

static const char *const named_keys[NAMED_TOKENS] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

/* The state of reading a file into `config`; texts are copied to the arena. */
struct config_reader {
    struct tokenizer_config *config;
    unsigned parts;
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

/* Read the text of a token, written as "<s>" or as {"content": "<s>", …}. */
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
    bool yes = false;
    if (!json_given(root, name))
        return 0;
    if (json_bool(root, name, &yes, err))
        return -1;
    *answer = yes ? ANSWER_YES : ANSWER_NO;
    return 0;
}

/* Read a special token, written as "<s>" or as {"content": "<s>", "lstrip": true, …}; null is the
 * empty token. */
static int read_special(struct added_token *token, const struct config_reader *reader,
                        const char *name, const struct json *value, struct err *err)
{
    *token = (struct added_token){.bytes = ""};
    if (json_is_object(value) && added_token_read_content(token, value, err))
        return err_prefix(err, "%s", name);
    if (!json_is_object(value) && !json_is_null(value) && !json_get_text(value, &token->bytes))
        return json_refuse(name, value, "a text", err);
    token->size = strlen(token->bytes);
    token->bytes = arena_text(reader->arena, token->bytes, token->size, err);
    return token->bytes ? 0 : -1;
}

static int read_named(void *context, const struct json *root, struct err *err)
{
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
    const struct config_reader *reader = context;
    struct tokenizer_config *config = reader->config;
    if (!json_is_object(root))
        return err_set(err, "expected an object");
    for (size_t i = 0; i < NAMED_TOKENS; i++) {
        const struct json *value = json_member(root, named_keys[i]);
        if (value && read_special(&config->named[i], reader, named_keys[i], value, err))
            return -1;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct json *list = json_member(root, lists[i]);
        if (!json_is_array(list) || !json_count(list))
            continue;
        config->extra_count = 0;
        config->extra = arena_alloc(reader->arena, json_count(list), sizeof *config->extra, err);
        if (!config->extra)
            return -1;
        for (const struct json *at = json_first(list); at; at = json_next(at))
            if (read_special(&config->extra[config->extra_count++], reader, lists[i], at, err))
                return -1;
    }
    return 0;
}

/* Read `added_tokens_decoder`: the key of a member is the id. */
static int read_listed(const struct config_reader *reader, const struct json *root, struct err *err)
{
    struct tokenizer_config *config = reader->config;
    const struct json *members = json_member(root, "added_tokens_decoder");
    if (!json_is_object(members))
        return 0;
    config->listed = arena_alloc(reader->arena, json_count(members), sizeof *config->listed, err);
    if (!config->listed)
        return -1;
    for (const struct json *at = json_first(members); at; at = json_next(at)) {
        struct added_token *token = &config->listed[config->listed_count++];
        const char *name = json_key(at);
        long long id = 0;
        *token = (struct added_token){0};
        if (!num_parse_integer(name, 0, WORD_ID_MAX, &id) || !json_is_object(at))
            return err_set(err, "'%s': expected an id from 0 to %d as key and an object as value",
                           label_excerpt(name, strlen(name)), WORD_ID_MAX);
        token->id = (uint32_t)id;
        if (added_token_read_content(token, at, err))
            return err_prefix(err, "'%s'", name);
        token->bytes = arena_text(reader->arena, token->bytes, token->size, err);
        if (!token->bytes)
            return -1;
    }
    return 0;
}

/* Read chat_template: a text, or the template named "default" in a list of templates. */
static int read_chat_template(const struct config_reader *reader, const struct json *root,
                              struct err *err)
{
    const struct json *member = json_member(root, "chat_template");
    const char *text = NULL, *name;
    json_get_text(member, &text);
    for (const struct json *at = json_is_array(member) ? json_first(member) : NULL; at;
         at = json_next(at))
        if (json_get_text(json_member(at, "name"), &name) && strcmp(name, "default") == 0)
            json_get_text(json_member(at, "template"), &text);
    if (text)
        reader->config->chat_template = arena_text(reader->arena, text, strlen(text), err);
    return text && !reader->config->chat_template ? -1 : 0;
}

static int read_config(void *context, const struct json *root, struct err *err)
{
    struct config_reader *reader = context;
    struct tokenizer_config *config = reader->config;
    if (!json_is_object(root))
        return err_set(err, "expected an object");
    if (read_token(&config->tokens[ROLE_BOS], root, "bos_token", reader->arena, err) ||
        read_token(&config->tokens[ROLE_EOS], root, "eos_token", reader->arena, err) ||
        read_token(&config->tokens[ROLE_MASK], root, "mask_token", reader->arena, err) ||
        read_answer(&config->adds[ROLE_BOS], root, "add_bos_token", err) ||
        read_answer(&config->adds[ROLE_EOS], root, "add_eos_token", err) ||
        read_answer(&config->prefixes, root, "add_prefix_space", err) ||
        read_answer(&config->legacy, root, "legacy", err) ||
        read_answer(&config->lowers, root, "do_lower_case", err) ||
        read_answer(&config->spaces, root, "tokenize_chinese_chars", err) ||
        read_answer(&config->strips, root, "strip_accents", err) ||
        read_answer(&config->splits_special, root, "split_special_tokens", err) ||
        read_answer(&config->separate, root, "separate_vocabs", err) ||
        read_answer(&config->keeps_accents, root, "keep_accents", err) ||
        read_answer(&config->language_ends, root, "legacy_behaviour", err) ||
        json_integer(root, "extra_ids", 0, EXTRA_IDS_MOST, &config->extra_ids, err) ||
        keep_text(&config->class, root, "tokenizer_class", reader->arena, err) ||
        keep_text(&config->languages[0], root, "src_lang", reader->arena, err) ||
        keep_text(&config->languages[1], root, "tgt_lang", reader->arena, err) ||
        keep_text(&config->language_codes, root, "language_codes", reader->arena, err) ||
        read_chat_template(reader, root, err) ||
        (reader->parts & CONFIG_LISTED && read_listed(reader, root, err)))
        return -1;
    return reader->parts & CONFIG_NAMED ? read_named(reader, root, err) : 0;
}

int tokenizer_config_read(struct tokenizer *tokenizer, const struct folder *folder, unsigned parts,
                          struct err *err)
{
    struct config_reader reader = {&tokenizer->config, parts, &tokenizer->arena};
    tokenizer->config = (struct tokenizer_config){.class = "", .extra_ids = 100};
    return folder_has(folder, config_name)
               ? json_read_file(folder, config_name, read_config, &reader, err)
               : 0;
}

static int read_model_type(void *type, const struct json *root, struct err *err)
{
    const char *text = "";
    (void)err;
    if (json_get_text(json_member(root, "model_type"), &text) && strlen(text) < MODEL_TYPE_BYTES)
        strcpy(type, text);
    return 0;
}

int tokenizer_model_type(char type[MODEL_TYPE_BYTES], const struct folder *folder, struct err *err)
{
    static const char model[] = "config.json";
    *type = '\0';
    return folder_has(folder, model) ? json_read_file(folder, model, read_model_type, type, err)
                                     : 0;
}

bool tokenizer_config_begins(const struct tokenizer_config *config)
{
    static const char *const classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) /* a suffix such as Fast may
                                                                   * follow */
        if (strncmp(config->class, classes[i], strlen(classes[i])) == 0)
            return true;
    return false;
}

/* --- added tokens ----------------------------------------------------------------------------- */

/* GPT-2's special token, which is special even if the files do not say so. */
#define END_OF_TEXT "<|endoftext|>"

/* Add the `count` tokens in `new` to the added tokens; each replaces the token with the same id. */
static int add_to_present(struct token_set *set, const struct added_token *new, size_t count,
                          struct err *err)
{
    const struct added_tokens *present = &set->added;
    size_t most = count + present->count;
    struct added_token *items = arena_alloc(&set->arena, most, sizeof *items, err);
    bool *replaced = arena_alloc(&set->arena, present->count, sizeof *replaced, err);
    if (!items || !replaced)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct added_token *same = added_tokens_of_id(present, new[i].id);
        if (same)
            replaced[same - present->by_id] = true;
        items[i] = new[i];
    }
    for (size_t i = 0; i < present->count; i++)
        if (!replaced[i])
            items[count++] = present->by_id[i];
    return token_set_add(set, items, count, err);
}

/* Read added_tokens.json: {"<|pad|>": 50257, …}. */
static int read_added(void *context, const struct json *root, struct err *err)
{
    struct token_set *set = context;
    char found[DESCRIPTION_BYTES];
    size_t count = 0;
    if (!json_is_object(root))
        return err_set(err, "expected an object");
    struct added_token *items = arena_alloc(&set->arena, json_count(root), sizeof *items, err);
    if (!items)
        return -1;
    for (const struct json *at = json_first(root); at; at = json_next(at)) {
        const char *name = json_key(at);
        bool special = strcmp(name, END_OF_TEXT) == 0;
        long long id = 0;
        if (!json_get_integer(at, 0, WORD_ID_MAX, &id))
            return err_set(err, "added token '%s': expected an id from 0 to %d, found %s",
                           label_excerpt(name, strlen(name)), WORD_ID_MAX,
                           json_describe(at, found, sizeof found));
        items[count++] = (struct added_token){
            .bytes = name,
            .size = strlen(name),
            .id = (uint32_t)id,
            .special = special,
            .normalized = !special,
        };
    }
    return add_to_present(set, items, count, err);
}

int tokenizer_add_listed(struct tokenizer *tokenizer, const struct folder *folder, struct err *err)
{
    static const char added[] = "added_tokens.json";
    const struct tokenizer_config *config = &tokenizer->config;
    struct token_set *set = &tokenizer->set;
    size_t count = set->added.count;
    if (config->listed_count && add_to_present(set, config->listed, config->listed_count, err))
        return err_prefix(err, "'%s/%s'", folder->path, config_name);
    if (set->added.count > count || !folder_has(folder, added))
        return 0;
    return json_read_file(folder, added, read_added, set, err);
}

/* --- next to a tokenizer.json ----------------------------------------------------------------- */

/* Add the tokens of added_tokens_decoder: each gets the id of the added token with the same text,
 * else of the word with this text, else the next free id. */
static int merge_listed(struct tokenizer *tokenizer, struct err *err)
{
    struct tokenizer_config *config = &tokenizer->config;
    struct token_set *set = &tokenizer->set;
    size_t count = set->added.count;
    uint32_t next_id = (uint32_t)token_set_size(set);
    struct hash_table present = {0}; /* indices in `items` of the tokens added before, by text */
    struct added_token *items =
        arena_alloc(&set->arena, count + config->listed_count, sizeof *items, err);
    int failed = !items || hash_table_reserve(&present, count, err);
    for (uint32_t i = 0; i < set->added.count && !failed; i++) {
        items[i] = set->added.by_id[i];
        failed = hash_table_put(&present, items[i].bytes, items[i].size, i, err);
    }
    qsort(config->listed, config->listed_count, sizeof *config->listed, added_token_compare_ids);
    for (size_t i = 0; i < config->listed_count && !failed; i++) {
        struct added_token token = config->listed[i];
        uint32_t at = (uint32_t)count;
        if (!token.size)
            continue;
        if (hash_table_get(&present, token.bytes, token.size, &at)) {
            token.id = set->added.by_id[at].id;
            token.special |= set->added.by_id[at].special;
        } else {
            bool found = false;
            failed = token_set_find_word(set, token.bytes, token.size, &token.id, &found, err);
            token.id = found ? token.id : next_id++;
        }
        items[at] = token;
        count += at == count;
        failed = failed || tokenizer_normalize_token(tokenizer, &items[at], err);
    }
    hash_table_release(&present);
    return failed || token_set_add(set, items, count, err) ? -1 : 0;
}

int tokenizer_merge_listed(struct tokenizer *tokenizer, const struct folder *folder,
                           struct err *err)
{
    if (!tokenizer->config.listed_count || !merge_listed(tokenizer, err))
        return 0;
    return err_prefix(err, "'%s/%s'", folder->path, config_name);
}

/* --- tokens that are named by their use ------------------------------------------------------- */

/* Find the id of a special token by its text; copy the added token that has this id, if any. */
static int find_special(struct added_token *token, bool *found, const struct token_set *set,
                        struct err *err)
{
    *found = false;
    if (token->size && token_set_find(set, token->bytes, token->size, &token->id, found, err))
        return -1;
    const struct added_token *present = *found ? added_tokens_of_id(&set->added, token->id) : NULL;
    if (present)
        *token = *present;
    token->special = true;
    return 0;
}

/* Add the named tokens that are words; named tokens that are already added tokens become
 * special. */
static int add_named(struct token_set *set, const struct added_token named[NAMED_TOKENS],
                     struct err *err)
{
    enum { GPT2_TOKENS = 3 }; /* BOS, EOS and UNK, whose default is END_OF_TEXT */
    static const struct added_token gpt2 = {.bytes = END_OF_TEXT, .size = sizeof END_OF_TEXT - 1};
    struct added_token items[NAMED_TOKENS];
    size_t count = 0;
    for (size_t i = 0; i < NAMED_TOKENS; i++) {
        bool found = false;
        size_t same = 0;
        items[count] = !named[i].bytes && i < GPT2_TOKENS ? gpt2 : named[i];
        if (find_special(&items[count], &found, set, err))
            return -1;
        while (items[same].id != items[count].id)
            same++;
        count += found && same == count;
    }
    return add_to_present(set, items, count, err);
}

/* Add the additional special tokens that are words or added tokens. */
static int add_extra(struct token_set *set, const struct tokenizer_config *config, struct err *err)
{
    struct added_token *items = arena_alloc(&set->arena, config->extra_count, sizeof *items, err);
    size_t count = 0, unique = 0;
    if (!items)
        return -1;
    for (size_t i = 0; i < config->extra_count; i++) {
        bool found = false;
        items[count] = config->extra[i];
        if (find_special(&items[count], &found, set, err))
            return -1;
        items[count].in_model = false;
        count += found;
    }
    qsort(items, count, sizeof *items, added_token_compare_ids);
    for (size_t i = 0; i < count; i++)
        if (!unique || items[unique - 1].id != items[i].id)
            items[unique++] = items[i];
    return add_to_present(set, items, unique, err);
}

int tokenizer_add_named(struct tokenizer *tokenizer, const struct folder *folder, struct err *err)
{
    static const char map[] = "special_tokens_map.json";
    struct config_reader reader = {.config = &tokenizer->config, .arena = &tokenizer->arena};
    if (folder_has(folder, map) && json_read_file(folder, map, read_named, &reader, err))
        return -1;
    return err_if(add_named(&tokenizer->set, tokenizer->config.named, err) ||
                  add_extra(&tokenizer->set, &tokenizer->config, err));
}

void tokenizer_name_usual(struct tokenizer *tokenizer, const char *const usual[NAMED_TOKENS])
{
    struct added_token *named = tokenizer->config.named;
    for (enum named_token i = 0; i < NAMED_TOKENS; i++)
        if (!named[i].bytes)
            named[i] = (struct added_token){.bytes = usual[i], .size = strlen(usual[i])};
}

int tokenizer_find_named(uint32_t *id, const struct tokenizer *tokenizer, enum named_token token,
                         const struct folder *folder, const char *file, struct err *err)
{
    const struct added_token *named = &tokenizer->config.named[token];
    bool found = false;
    if (token_set_find(&tokenizer->set, named->bytes, named->size, id, &found, err))
        return -1;
    return found ? 0
                 : err_set(err, "'%s/%s': expected the special token '%s', found none",
                           folder->path, file, label_excerpt(named->bytes, named->size));
}
