#include "text/byte_level.h"

#include <string.h>

#include "format/json.h"
#include "text/label.h"
#include "text/merges.h"

enum { DESCRIPTION_BYTES = 80 };

/* The one token that every folder of GPT-2's kind has beside its vocabulary. */
#define END_OF_TEXT "<|endoftext|>"

static int read_words(struct byte_level *level, const struct file *file, struct err *err)
{
    struct json_cursor words;
    if (json_cursor_open(&words, file->bytes, file->size, err))
        return -1;
    return word_table_read(&level->set.words, words, WORD_BYTES, file->size, err);
}

static int read_merges(struct byte_level *level, const struct file *file, struct err *err)
{
    return merges_read_lines(&level->bpe, &level->set.words, file->bytes, file->size, err);
}

/* Make END_OF_TEXT the next item where the vocabulary has it; returns how many that are. */
static size_t end_of_text(const struct byte_level *level, struct added_token *token)
{
    static const char text[] = END_OF_TEXT;
    *token = (struct added_token){.bytes = text, .size = sizeof text - 1, .special = true};
    return word_table_find(&level->set.words, text, sizeof text - 1, WORD_BYTES, &token->id);
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

/* Read a token from every member of an object, END_OF_TEXT before them if it is wanted. */
static int add_members(struct byte_level *level, const struct json *object, bool end,
                       int (*read)(struct added_token *, const struct json *, struct err *),
                       struct err *err)
{
    size_t most = json_count(object) + 1;
    struct added_token *items = arena_alloc(&level->set.arena, most, sizeof *items, err);
    if (!items)
        return -1;
    size_t count = end ? end_of_text(level, &items[0]) : 0;
    for (const struct json *at = json_first(object); at; at = json_next(at))
        if (read(&items[count++], at, err))
            return -1;
    return token_set_add(&level->set, items, count, err);
}

static int read_added(struct byte_level *level, const struct file *file, struct err *err)
{
    struct json *root = NULL;
    int failed = json_parse(&root, file->bytes, file->size, err);
    if (!failed && !json_is_object(root))
        failed = err_set(err, "expected an object");
    if (!failed)
        failed = add_members(level, root, !json_member(root, END_OF_TEXT), read_pair, err);
    json_free(root);
    return failed;
}

/* Its member `added_tokens_decoder`, where there is one, knows more of them. */
static int read_config(struct byte_level *level, const struct file *file, struct err *err)
{
    struct json *root = NULL;
    const struct json *members = NULL;
    int failed = json_parse(&root, file->bytes, file->size, err);
    if (!failed && json_is_object(root))
        members = json_member(root, "added_tokens_decoder");
    if (members && json_is_object(members))
        failed = add_members(level, members, false, added_token_read_member, err);
    json_free(root);
    return failed;
}

static int read_file(struct byte_level *level, const struct folder *folder, const char *name,
                     int (*read)(struct byte_level *, const struct file *, struct err *),
                     struct err *err)
{
    struct file file = {0};
    if (folder_open(&file, folder, name, err))
        return -1;
    int failed = read(level, &file, err);
    if (failed)
        err_prefix(err, "'%s/%s'", folder->path, name);
    file_release(&file);
    return failed;
}

/* The added tokens, from the first file that has any. */
static int find_added(struct byte_level *level, const struct folder *folder, struct err *err)
{
    static const char config[] = "tokenizer_config.json";
    static const char added[] = "added_tokens.json";
    struct added_token token;
    if (folder_has(folder, config) && read_file(level, folder, config, read_config, err))
        return -1;
    if (level->set.added.count)
        return 0;
    if (folder_has(folder, added))
        return read_file(level, folder, added, read_added, err);
    return token_set_add(&level->set, &token, end_of_text(level, &token), err);
}

int byte_level_open(struct byte_level *level, const struct folder *folder, struct err *err)
{
    *level = (struct byte_level){0};
    if (read_file(level, folder, "vocab.json", read_words, err) ||
        read_file(level, folder, "merges.txt", read_merges, err) ||
        find_added(level, folder, err)) {
        byte_level_release(level);
        return -1;
    }
    return 0;
}
