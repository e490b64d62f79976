/* rank_file.c: tiktoken's files: a line for each word of a byte-level BPE, its bytes in base64, a
 * blank, and its id, which is its rank, too. The pattern that cuts texts and the special tokens are
 * not in it: a table has those of the files that models come with.
 */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/listing.h"
#include "base/names.h"
#include "base/num.h"
#include "format/json.h"
#include "format/other_format.h"
#include "text/label.h"
#include "text/pipeline.h"

/* --- what goes with which file ---------------------------------------------------------------- */

/* Special tokens whose ids are in a row: `<|a|> <|b|>`, or `count` times `<|a_`, a number from
 * `first` on, and `|>`. */
struct special_run {
    uint32_t id;
    const char *names;
    unsigned count, first;
};

enum {
    COMPOSES = 1, /* texts are in NFC first */
    FOLLOWS = 2, /* special ids are counted from the last rank on, and texts begin with the first */
};

struct encoding {
    const char *file;  /* of this name, … */
    const char *class; /* … with this tokenizer_class; NULL: any … */
    size_t size;       /* … and so many ids; 0: any */
    int pattern;       /* of splitter_patterns */
    unsigned flags;
    const struct special_run *special; /* up to one without names */
};

#define FILL_IN "<|endoftext|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|>"

static const struct special_run r50k[] = {{50256, "<|endoftext|>"}, {0}};
static const struct special_run cl100k[] = {{100257, FILL_IN}, {100276, "<|endofprompt|>"}, {0}};
static const struct special_run o200k[] = {
    {199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}, {0}};
static const struct special_run phi3_small[] = {
    {100256, "<|dummy_id_", 1, 2},   {100257, FILL_IN " <|system|> <|user|> <|assistant|>"},
    {100264, "<|dummy_id_", 2, 0},   {100266, "<|end|>"},
    {100267, "<|dummy_id_", 9, 3},   {100276, "<|endofprompt|>"},
    {100277, "<|dummy_id_", 75, 12}, {0}};
static const struct special_run qwen[] = {
    {151643, "<|endoftext|> <|im_start|> <|im_end|>"}, {151646, "<|extra_", 205, 0}, {0}};
/* Those that all versions have in the same place. */
static const struct special_run llama3[] = {{0, "<|begin_of_text|> <|end_of_text|>"},
                                            {2, "<|reserved_special_token_", 2, 0},
                                            {6, "<|start_header_id|> <|end_header_id|>"},
                                            {9, "<|eot_id|>"},
                                            {0}};
static const struct special_run llama4[] = {
    {0,
     "<|begin_of_text|> <|end_of_text|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> "
     "<|header_start|> <|header_end|> <|eom|> <|eot|> <|step|>",
     0, 0},
    {0}};

/* The first row that fits. A tokenizer.model is cut as Llama 3's, if nothing else is known of it:
 * so has it transformers. */
static const struct encoding encodings[] = {
    {"r50k_base.tiktoken", NULL, 0, PATTERN_GPT2, 0, r50k},
    {"p50k_base.tiktoken", NULL, 0, PATTERN_GPT2, 0, r50k},
    {"cl100k_base.tiktoken", "Phi3SmallTokenizer", 0, PATTERN_LLAMA3, 0, phi3_small},
    {"cl100k_base.tiktoken", NULL, 0, PATTERN_LLAMA3, 0, cl100k},
    {"o200k_base.tiktoken", NULL, 0, PATTERN_O200K, 0, o200k},
    {"qwen.tiktoken", NULL, 0, PATTERN_QWEN2, COMPOSES, qwen},
    {"tokenizer.model", NULL, 200000, PATTERN_O200K, FOLLOWS, llama4},
    {"tokenizer.model", NULL, 0, PATTERN_LLAMA3, FOLLOWS, llama3},
};

enum { NAME_BYTES = 64, SPECIAL_MAX = 256 };

/* --- lines ------------------------------------------------------------------------------------ */

enum {
    RANK_DIGITS = 20,
    LINE_BYTES_MIN = 4, /* "AA 0" */
    LINE_BYTES = 4 * (BPE_PRODUCT_BYTES / 3 + 1) + RANK_DIGITS,
};

bool rank_file_is(const char *bytes, size_t size)
{
    char byte[2];
    size_t decoded = 0;
    const char pair[] = {size ? bytes[0] : ' ', 'A'};
    return base64_decode(byte, &decoded, pair, sizeof pair);
}

/* "IHRoZQ== 262" */
static int read_line(struct word_table *words, struct word line, size_t most_id, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    char bytes[LINE_BYTES];
    char digits[RANK_DIGITS + 1] = "";
    struct word word = {.bytes = bytes};
    long long rank = 0;
    const char *blank = memchr(line.bytes, ' ', line.size);
    size_t text_size = blank ? (size_t)(blank - line.bytes) : line.size;
    size_t digit_count = line.size - text_size - (blank != NULL);
    if (digit_count <= RANK_DIGITS)
        memcpy(digits, line.bytes + line.size - digit_count, digit_count);
    if (line.size > LINE_BYTES || !base64_decode(bytes, &word.size, line.bytes, text_size) ||
        strlen(digits) != digit_count || !num_parse_integer(digits, 0, (long long)most_id, &rank))
        return err_set(err, "expected a word in base64, a blank and a rank up to %zu, found '%s'",
                       most_id, label_excerpt(shown, line.bytes, line.size));
    return word_table_add(words, word, (size_t)rank, err);
}

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct word_table *words = context;
    const char *end = file->bytes + file->size;
    size_t limit = WORD_IDS_FREE + file->size * WORD_IDS_PER_BYTE;
    size_t number = 0;
    size_t lines = merges_count_lines(file->bytes, file->size);
    size_t most = file->size / LINE_BYTES_MIN + 1; /* empty lines are many for their bytes */
    words->form = WORD_BYTES;
    if (other_format_refuse(file->bytes, file->size, "words and their ranks", err) ||
        word_table_begin(words, lines < most ? lines : most, file->size, err))
        return -1;
    for (const char *at = file->bytes; at < end;) {
        struct word line = merges_take_line(&at, end);
        number++;
        if (line.size && read_line(words, line, limit < WORD_ID_MAX ? limit : WORD_ID_MAX, err))
            return err_prefix(err, "line %zu", number);
    }
    for (unsigned i = 0; i < 256; i++) {
        uint32_t id = 0;
        char byte = (char)i;
        if (!word_table_find(words, &byte, 1, WORD_BYTES, &id))
            return err_set(err, "expected a rank for each byte, found none for 0x%02x", i);
    }
    return 0;
}

/* --- what the file does not say --------------------------------------------------------------- */

struct choice {
    const char *file;
    size_t size;
    const struct encoding *row;
};

/* `root`, of tokenizer_config.json, may be NULL. */
static int choose(void *context, const struct json *root, struct err *err)
{
    struct choice *choice = context;
    const char *class = "";
    const struct encoding *row = encodings;
    if (json_text(root, "tokenizer_class", &class, err))
        return -1;
    while (strcmp(row->file, choice->file) != 0 || (row->size && row->size != choice->size) ||
           (row->class && strcmp(row->class, class) != 0))
        row++; /* the last one of a name takes all */
    choice->row = row;
    return 0;
}

static int add_model(struct pipeline *pipeline, struct err *err)
{
    struct subword *model = &pipeline->model;
    const struct word_table *words = &pipeline->set.words;
    uint32_t *ranks = arena_alloc(&pipeline->arena, words->size, sizeof *ranks, err);
    if (!ranks)
        return -1;
    for (uint32_t id = 0; id < words->size; id++)
        ranks[id] = id;
    *model = (struct subword){.row = &subword_rows[SUBWORD_BPE], .words = words};
    if (bpe_init_ranks(&model->bpe, words, ranks, words->size, err))
        return -1;
    model->bpe.takes_whole = true;
    return 0;
}

static int add_stages(struct pipeline *pipeline, const struct encoding *row, struct err *err)
{
    struct arena *arena = &pipeline->arena;
    if (((row->flags & COMPOSES) && normalizers_compose(&pipeline->normalizers, arena, err)) ||
        pre_tokenizers_byte_level(&pipeline->pre_tokenizers,
                                  splitter_patterns[row->pattern].pattern, arena, err))
        return -1;
    return decoders_byte_level(&pipeline->decoders, arena, err);
}

/* The name of a token of the run; its size, 0 when there are no more. */
static size_t write_name(char name[NAME_BYTES], const struct special_run *run, unsigned index)
{
    const char *at = run->names;
    if (run->count)
        return index == run->count
                   ? 0
                   : (size_t)snprintf(name, NAME_BYTES, "%s%u|>", run->names, run->first + index);
    for (unsigned i = 0; i < index; i++) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return (size_t)snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(at, " "), at);
}

static int add_run(struct added_token *items, size_t *count, const struct special_run *run,
                   struct arena *arena, struct err *err)
{
    char name[NAME_BYTES];
    size_t size = 0;
    for (unsigned i = 0; (size = write_name(name, run, i)) != 0; i++) {
        const char *bytes = arena_text(arena, name, size, err);
        if (!bytes)
            return -1;
        items[(*count)++] =
            (struct added_token){.bytes = bytes, .size = size, .id = run->id + i, .special = true};
    }
    return 0;
}

static int add_special(struct pipeline *pipeline, const struct encoding *row, struct err *err)
{
    struct added_token *items = arena_alloc(&pipeline->arena, SPECIAL_MAX, sizeof *items, err);
    size_t count = 0;
    if (!items)
        return -1;
    for (const struct special_run *run = row->special; run->names; run++)
        if (add_run(items, &count, run, &pipeline->arena, err))
            return -1;
    for (size_t i = 0; i < count; i++) {
        items[i].id += row->flags & FOLLOWS ? (uint32_t)pipeline->set.words.size : 0;
        items[i].normalized = row->flags & COMPOSES; /* looked for after that */
    }
    if (row->flags & FOLLOWS)
        special_ids_set_first(&pipeline->special, items[0].id, true);
    return token_set_add(&pipeline->set, items, count, err);
}

static int open_ranks(struct pipeline *pipeline, const struct folder *folder, const char *name,
                      struct err *err)
{
    static const char config[] = "tokenizer_config.json";
    if (folder_read(folder, name, read_words, &pipeline->set.words, err))
        return -1;
    struct choice choice = {.file = name, .size = pipeline->set.words.size};
    if (folder_has(folder, config) ? json_read_file(folder, config, choose, &choice, err)
                                   : choose(&choice, NULL, err))
        return -1;
    return add_model(pipeline, err) || add_stages(pipeline, choice.row, err) ||
                   pipeline_read_named(pipeline, folder, err) ||
                   (!pipeline->set.added.count && add_special(pipeline, choice.row, err))
               ? -1
               : 0;
}

int pipeline_open_ranks(struct pipeline *pipeline, const struct folder *folder, const char *name,
                        struct err *err)
{
    *pipeline = (struct pipeline){0};
    int failed = open_ranks(pipeline, folder, name, err);
    if (failed)
        pipeline_release(pipeline);
    return failed;
}

/* Files that a tokenizer could be made of, but not this program's: by how their names end. */
static int refuse_name(const char *path, const char *name, struct err *err)
{
    static const struct {
        const char *end, *why;
    } others[] = {
        {".tiktoken", "a rank file of this name is not supported: how texts are cut is known for "
                      "qwen.tiktoken, o200k_base.tiktoken, cl100k_base.tiktoken, "
                      "p50k_base.tiktoken and r50k_base.tiktoken"},
        {"spiece.model", "its ids are not those of the model without the program that goes with "
                         "it: let transformers save a tokenizer.json"},
        {"sentencepiece.bpe.model", "its ids are not those of the model without the program that "
                                    "goes with it: let transformers save a tokenizer.json"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool alone = strcmp(name, others[i].end) == 0;
        if (i ? alone : !alone && name_ends_in(name, others[i].end))
            return err_unsupported(err, "'%s/%s': %s", path, name, others[i].why);
    }
    return 0;
}

int rank_file_refuse_others(const struct folder *folder, struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    if (folder->files)
        return 0;
    struct err why = {0};
    int failed = 0;
    if (listing_read(&listing, folder->path, &arena, &why) && why.out_of_memory)
        failed = err_adopt(err, &why); /* a folder that shows no names may be used all the same */
    for (size_t i = 0; i < listing.count && !failed; i++)
        failed = refuse_name(folder->path, listing.names[i], err);
    arena_release(&arena);
    return failed;
}
