#include "text/pipeline.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/names.h"
#include "format/json.h"
#include "text/label.h"
#include "text/tokenizer_config.h"

/* --- files ------------------------------------------------------------------------------------ */

enum { DESCRIPTION_BYTES = 80 };

/* The one token that every folder of GPT-2's kind has beside its vocabulary. */
#define END_OF_TEXT "<|endoftext|>"

/* Words for labels: they can be looked for. */
static int read_labels(void *context, const struct file *file, struct err *err)
{
    struct word_table *table = &((struct pipeline *)context)->set.words;
    struct json_cursor words;
    bool plain = true;
    if (word_table_scan(table, &plain, file->bytes, file->size, err))
        return -1;
    if (plain)
        return 0;
    if (json_cursor_open(&words, NULL, file->bytes, file->size, err))
        return -1;
    return word_table_read(table, words, WORD_BYTES, file->size, err);
}

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct word_table *table = &((struct pipeline *)context)->set.words;
    struct json_cursor words;
    bool single = true;
    if (read_labels(context, file, err) ||
        (!table->index.slots && word_table_index(table, &single, err)))
        return -1;
    if (single)
        return 0;
    word_table_release(table); /* a closer look has the words of an error */
    if (json_cursor_open(&words, NULL, file->bytes, file->size, err))
        return -1;
    return word_table_read(table, words, WORD_BYTES, file->size, err);
}

static int read_merges(void *context, const struct file *file, struct err *err)
{
    struct pipeline *pipeline = context;
    return merges_read_lines(&pipeline->model.bpe, &pipeline->set.words, file->bytes, file->size,
                             pipeline->use != TOKENIZER_FOR_TEXTS, err);
}

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

static int find_added(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    struct added_token token;
    if (pipeline_read_added(pipeline, folder, err))
        return -1;
    if (pipeline->set.added.count || folder_has(folder, "added_tokens.json"))
        return 0;
    return token_set_add(&pipeline->set, &token, end_of_text(pipeline, &token), err);
}

/* --- what the two files leave unsaid ---------------------------------------------------------- */

/* Classes of transformers that read them, without the `Fast` that a name may end with, and how they
 * cut texts. Those that say nothing of it, and none, stand for GPT-2's. */
static const struct merges_class {
    const char *name;
    int pattern;
    bool composes; /* NFC comes first */
} classes[] = {
    {"", PATTERN_GPT2, false},
    {"PreTrainedTokenizer", PATTERN_GPT2, false},
    {"TokenizersBackend", PATTERN_GPT2, false},
    {"GPT2Tokenizer", PATTERN_GPT2, false},
    {"BartTokenizer", PATTERN_GPT2, false},
    {"BlenderbotTokenizer", PATTERN_GPT2, false},
    {"CodeGenTokenizer", PATTERN_GPT2, false},
    {"DebertaTokenizer", PATTERN_GPT2, false},
    {"LEDTokenizer", PATTERN_GPT2, false},
    {"LongformerTokenizer", PATTERN_GPT2, false},
    {"LukeTokenizer", PATTERN_GPT2, false},
    {"MvpTokenizer", PATTERN_GPT2, false},
    {"RobertaTokenizer", PATTERN_GPT2, false},
    {"WhisperTokenizer", PATTERN_GPT2, false},
    {"GPTNeoXTokenizer", PATTERN_GPT2, true},
    {"Qwen2Tokenizer", PATTERN_QWEN2, true},
};

enum { CLASS_SILENT = 3, CLASS_COUNT = sizeof classes / sizeof *classes };

static int refuse_class(const char *class, const struct folder *folder, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    struct buf known = {0};
    for (size_t i = CLASS_SILENT; i < CLASS_COUNT; i++)
        buf_format(&known, "%s%s", i > CLASS_SILENT ? ", " : "", classes[i].name);
    err_unsupported(
        err, "'%s/tokenizer_config.json': tokenizer_class: expected one of %s, found '%s'",
        folder->path, known.bytes ? known.bytes : "", label_excerpt(shown, class, strlen(class)));
    buf_release(&known);
    return -1;
}

static int choose_class(const struct merges_class **chosen, const char *class,
                        const struct folder *folder, struct err *err)
{
    static const char fast[] = "Fast";
    size_t size = strlen(class);
    size_t index = 0;
    if (name_ends_in(class, fast))
        size -= sizeof fast - 1;
    if (!names_find(&index, NAMES(classes, CLASS_COUNT), class, size))
        return refuse_class(class, folder, err);
    *chosen = &classes[index];
    return 0;
}

static int add_stages(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    struct arena *arena = &pipeline->arena;
    struct tokenizer_config config;
    const struct merges_class *class = classes;
    pipeline->model.row = &subword_rows[SUBWORD_BPE];
    pipeline->model.words = &pipeline->set.words;
    if (tokenizer_config_read(&config, folder, arena, err) ||
        (pipeline->use != TOKENIZER_FOR_IDS && choose_class(&class, config.class, folder, err)) ||
        (class->composes && normalizers_compose(&pipeline->normalizers, arena, err)) ||
        pre_tokenizers_byte_level(&pipeline->pre_tokenizers,
                                  splitter_patterns[class->pattern].pattern, arena, err))
        return -1;
    return decoders_byte_level(&pipeline->decoders, arena, err);
}

int pipeline_open_merges(struct pipeline *pipeline, const struct folder *folder,
                         enum tokenizer_use use, struct err *err)
{
    bool labels = use == TOKENIZER_FOR_IDS;
    *pipeline = (struct pipeline){.use = use};
    if (folder_read(folder, "vocab.json", labels ? read_labels : read_words, pipeline, err) ||
        (!labels && folder_read(folder, "merges.txt", read_merges, pipeline, err)) ||
        add_stages(pipeline, folder, err) || find_added(pipeline, folder, err)) {
        pipeline_release(pipeline);
        return -1;
    }
    return 0;
}
