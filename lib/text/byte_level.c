#include "text/tokenizer_json.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/heap.h"
#include "format/json.h"
#include "text/bpe.h"
#include "text/label.h"

/* --- files ------------------------------------------------------------------------------------ */

enum { DESCRIPTION_BYTES = 80 };

/* The one token that every folder of GPT-2's kind has beside its vocabulary. */
#define END_OF_TEXT "<|endoftext|>"

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct byte_level *level = context;
    struct json_cursor words;
    if (json_cursor_open(&words, file->bytes, file->size, err))
        return -1;
    return word_table_read(&level->set.words, words, WORD_BYTES, file->size, err);
}

static int read_merges(void *context, const struct file *file, struct err *err)
{
    struct byte_level *level = context;
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

/* The added tokens, from the first file that has any. */
static int find_added(struct byte_level *level, const struct folder *folder, struct err *err)
{
    static const char config[] = "tokenizer_config.json";
    static const char added[] = "added_tokens.json";
    struct added_token token;
    if (folder_has(folder, config) && json_read_file(folder, config, read_config, level, err))
        return -1;
    if (level->set.added.count)
        return 0;
    if (folder_has(folder, added))
        return json_read_file(folder, added, read_added, level, err);
    return token_set_add(&level->set, &token, end_of_text(level, &token), err);
}

void byte_level_release(struct byte_level *level)
{
    token_set_release(&level->set);
    bpe_release(&level->bpe);
    *level = (struct byte_level){0};
}

int byte_level_open(struct byte_level *level, const struct folder *folder, struct err *err)
{
    *level = (struct byte_level){0};
    if (folder_read(folder, "vocab.json", read_words, level, err) ||
        folder_read(folder, "merges.txt", read_merges, level, err) ||
        find_added(level, folder, err)) {
        byte_level_release(level);
        return -1;
    }
    return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* One text on its way through. */
struct coder {
    const struct byte_level *level;
    struct token_list *list;
    const char *text;
    struct bpe_piece piece;
    struct piece_cache cache;
    struct err *err;
};

/* A stretch of the text without added tokens. */
struct stretch {
    const char *bytes;
    size_t size;
    size_t start;  /* where it stands in the text */
    size_t blanks; /* bytes at its front that do not: 0, or 1 for the blank that was put there */
};

/* Where a byte of the stretch stands in the text. */
static size_t place_of(const struct stretch *stretch, size_t at)
{
    return stretch->start + (at > stretch->blanks ? at - stretch->blanks : 0);
}

static int add(struct coder *coder, const struct stretch *stretch, uint32_t id, size_t start,
               size_t end)
{
    struct token token = {id, place_of(stretch, start), place_of(stretch, end)};
    return token_list_add(coder->list, token, coder->err);
}

static int add_known(struct coder *coder, const struct stretch *stretch, size_t at,
                     const struct piece_entry *entry)
{
    size_t start = at;
    for (size_t i = 0; i < entry->count; i++) {
        size_t end = at + entry->ends[i];
        if (add(coder, stretch, entry->ids[i], start, end))
            return -1;
        start = end;
    }
    return 0;
}

static int encode_piece(struct coder *coder, const struct stretch *stretch, size_t at, size_t size)
{
    const struct bpe_piece *piece = &coder->piece;
    const char *bytes = stretch->bytes + at;
    struct piece_entry *entry = piece_cache_at(&coder->cache, bytes, size);
    if (entry && piece_entry_is(entry, bytes, size))
        return add_known(coder, stretch, at, entry);
    if (bpe_encode(&coder->level->bpe, &coder->piece, bytes, size, place_of(stretch, at),
                   coder->err))
        return -1;
    if (entry)
        piece_entry_set(entry, bytes, size, piece->tokens, piece->count);
    size_t start = at;
    for (size_t i = 0; i < piece->count; i++) {
        size_t end = at + piece->tokens[i].end;
        if (add(coder, stretch, piece->tokens[i].id, start, end))
            return -1;
        start = end;
    }
    return 0;
}

static int encode_pieces(struct coder *coder, const struct stretch *stretch)
{
    struct bpe_splitter splitter = bpe_splitter(stretch->bytes, stretch->size);
    for (size_t at = 0, end; at < stretch->size; at = end) {
        end = bpe_split(&splitter, at);
        if (encode_piece(coder, stretch, at, end - at))
            return -1;
    }
    return 0;
}

/* The stretch with a blank before it. */
static int encode_prefixed(struct coder *coder, const struct stretch *stretch)
{
    char *copy = heap_alloc(stretch->size + 1, 1, coder->err);
    if (!copy)
        return -1;
    struct stretch prefixed = {copy, stretch->size + 1, stretch->start, 1};
    copy[0] = ' ';
    memcpy(copy + 1, stretch->bytes, stretch->size);
    int failed = encode_pieces(coder, &prefixed);
    heap_free(copy);
    return failed;
}

/* What lies between added tokens. */
static int encode_stretch(void *context, size_t start, size_t end, struct err *err)
{
    struct coder *coder = context;
    struct stretch stretch = {coder->text + start, end - start, start, 0};
    coder->err = err;
    if (coder->level->prefix_space && coder->text[start] != ' ')
        return encode_prefixed(coder, &stretch);
    return encode_pieces(coder, &stretch);
}

int byte_level_encode(const struct byte_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err)
{
    struct coder coder = {.level = level, .list = list, .text = text->bytes, .err = err};
    struct added_walk walk = {
        .text = text,
        .list = list,
        .between = encode_stretch,
        .context = &coder,
    };
    piece_cache_init(&coder.cache, text->size);
    int failed = added_tokens_walk(&level->set.added, &walk, err);
    piece_cache_release(&coder.cache);
    bpe_piece_release(&coder.piece);
    return failed;
}
