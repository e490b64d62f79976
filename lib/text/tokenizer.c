#include "text/tokenizer.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/utf8.h"
#include "format/json.h"
#include "text/encoder.h"
#include "text/label.h"
#include "text/subword/subword.h"

/* --- display tokens --------------------------------------------------------------------------- */

static int display_tokens_init(struct tokenizer *tokenizer, struct err *err)
{
    const struct word_table *words = &tokenizer->set.words;
    struct display_tokens *display = &tokenizer->display;
    bool joins_bytes = decoders_join_bytes(tokenizer->decoders);
    const struct matcher *sign = decoders_sign(tokenizer->decoders);
    struct buf all = {0};
    if (!sign && !joins_bytes)
        return 0;
    struct stored_word *stored = arena_alloc(&tokenizer->arena, words->size, sizeof *stored, err);
    if (!stored)
        return -1;
    for (uint32_t id = 0; id < words->size; id++) {
        size_t size = 0, start = all.size;
        const char *bytes = word_table_word(words, id, &size);
        if (!bytes)
            continue;
        int byte = joins_bytes ? decoder_byte_of(bytes, size) : -1;
        if (byte >= 0) {
            buf_char(&all, (char)byte);
        } else if (!sign || !matcher_replace(sign, &all, bytes, size, " ", 1)) {
            all.size = start; /* the word is displayed unchanged */
            continue;
        }
        stored[id] = (struct stored_word){.start = (uint32_t)start,
                                          .size = (uint32_t)(all.size - start) & 0x3FFFFFFF,
                                          .form = WORD_TEXT};
    }
    display->bytes = buf_keep(&all, &tokenizer->arena, err);
    display->stored = stored;
    display->count = words->size;
    return display->bytes ? 0 : -1;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The files that can make a tokenizer: the first file that exists and has a function is used. */
static const struct {
    const char *name;
    tokenizer_filler *fill;
} files[TOKENIZER_FILES] = {
    {"tokenizer.json", tokenizer_fill_json},
    {"tokenizer_config.json", NULL},
    {"tokenizer.model", tokenizer_fill_sentencepiece},
    {"tokenizer.spm", tokenizer_fill_sentencepiece},
    {"target.spm", tokenizer_fill_marian},
    {"source.spm", NULL},
    {"target_vocab.json", NULL},
    {"sentencepiece.bpe.model", tokenizer_fill_m2m},
    {"spm.model", tokenizer_fill_deberta},
    {"spiece.model", tokenizer_fill_class},
    {"vocab.json", tokenizer_fill_vocab},
    {"merges.txt", tokenizer_fill_vocab},
    {"vocab.txt", tokenizer_fill_lines},
    {"added_tokens.json", NULL},
    {"special_tokens_map.json", NULL},
};

const char *tokenizer_file_name(size_t index)
{
    return files[index].name;
}

static bool is_words(const struct tokenizer *tokenizer)
{
    return tokenizer->model.row == &subword_rows[SUBWORD_WORDS];
}

/* Refuse a folder with a file whose name tells that its vocabulary has an unsupported form. A
 * folder that cannot be listed is accepted, unless memory ran out. */
static int refuse_others(const struct folder *folder, struct err *err)
{
    static const char *const endings[] = {".tiktoken", ".model", ".spm", ".codes", ".bpe"};
    struct arena arena = {0};
    struct listing listing;
    struct err why = {0};
    if (folder->files)
        return 0;
    int failed = 0;
    if (listing_read(&listing, folder->path, &arena, &why) && why.out_of_memory)
        failed = err_adopt(err, &why);
    for (size_t i = 0; i < listing.count && !failed; i++) {
        const char *name = listing.names[i];
        for (size_t end = 0; end < sizeof endings / sizeof *endings && !failed; end++)
            if (name_ends_in(name, endings[end]))
                failed = err_unsupported(err, "'%s/%s': %s", folder->path, name,
                                         end ? OTHER_FILE_WHY : RANK_FILE_WHY);
    }
    arena_release(&arena);
    return failed;
}

/* Set the fields that depend on the stages, the model and tokenizer_config.json. */
static int prepare(struct tokenizer *tokenizer, struct err *err)
{
    const struct tokenizer_config *config = &tokenizer->config;
    const struct subword *model = &tokenizer->model;
    struct tokenizer_facts *facts = &tokenizer->facts;
    const struct text_template *pair = &tokenizer->templates.pair;
    struct text_template *used = &tokenizer->used.pair;
    bool whole = model->row == &subword_rows[SUBWORD_WORD_LEVEL];
    if ((tokenizer->source && prepare(tokenizer->source, err)) ||
        (config->prefixes != ANSWER_NONE &&
         pre_tokenizers_set_prefix(&tokenizer->pre_tokenizers, config->prefixes == ANSWER_YES,
                                   &tokenizer->arena, err)) ||
        display_tokens_init(tokenizer, err))
        return -1;
    facts->kind = whole ? "whole words" : model->row->name;
    if (model->row == &subword_rows[SUBWORD_BPE])
        facts->kind = model->bpe.by_characters ? "BPE" : "byte-level BPE";
    facts->gap = whole || is_words(tokenizer) ? " " : "";
    facts->prefix = decoders_prefix(tokenizer->decoders);
    facts->added = &tokenizer->set.added;
    tokenizer->literal_special = config->splits_special == ANSWER_YES;
    tokenizer->used = (struct text_templates){.single = text_templates_plain.single};
    /* only the texts of the pair remain, with their segments */
    for (size_t i = 0; i < pair->count; i++)
        if (pair->parts[i].kind != TEMPLATE_SPECIAL)
            used->parts[used->count++] = pair->parts[i];
    return 0;
}

int tokenizer_fill(struct tokenizer *tokenizer, const struct folder *folder, struct err *err)
{
    size_t i = 0;
    *tokenizer = (struct tokenizer){.templates = text_templates_plain};
    while (i < TOKENIZER_FILES && (!files[i].fill || !folder_has(folder, files[i].name)))
        i++;
    if (i == TOKENIZER_FILES)
        return refuse_others(folder, err);
    tokenizer->facts.file = files[i].name;
    if (files[i].fill(tokenizer, folder, files[i].name, err) ||
        (is_words(tokenizer) && refuse_others(folder, err)) || prepare(tokenizer, err)) {
        tokenizer_release(tokenizer);
        return -1;
    }
    return 0;
}

void tokenizer_release(struct tokenizer *tokenizer)
{
    tokenizer_free(tokenizer->source);
    word_table_release(&tokenizer->pieces);
    stages_release(tokenizer->normalizers);
    stages_release(tokenizer->pre_tokenizers);
    stages_release(tokenizer->decoders);
    subword_release(&tokenizer->model);
    token_set_release(&tokenizer->set);
    arena_release(&tokenizer->arena);
    *tokenizer = (struct tokenizer){0};
}

int tokenizer_open(struct tokenizer **tokenizer, const struct folder *folder, struct err *err)
{
    *tokenizer = NULL;
    struct tokenizer *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    int failed = tokenizer_fill(opened, folder, err);
    if (failed || !opened->facts.file)
        heap_free(opened);
    else
        *tokenizer = opened;
    return failed;
}

void tokenizer_free(struct tokenizer *tokenizer)
{
    if (tokenizer)
        tokenizer_release(tokenizer);
    heap_free(tokenizer);
}

int tokenizer_open_if_known(struct tokenizer **tokenizer, const struct folder *folder,
                            char why[TOKENIZER_WHY_BYTES], struct err *err)
{
    struct err found = {0};
    why[0] = '\0';
    if (!tokenizer_open(tokenizer, folder, &found))
        return 0;
    if (found.kind != ERR_UNSUPPORTED)
        return err_adopt(err, &found);
    strcpy(why, found.text);
    return 0;
}

int tokenizer_check_ids(const struct tokenizer *tokenizer, const struct folder *folder,
                        size_t vocab_size, struct err *err)
{
    size_t size = 0;
    if (!tokenizer || tokenizer->set.words.size <= vocab_size)
        return 0;
    const struct word_table *words = &tokenizer->set.words;
    uint32_t id = (uint32_t)words->size - 1;
    const char *bytes = word_table_word(words, id, &size);
    return err_set(err,
                   "'%s/%s': word '%s': expected an id below vocab_size = %zu of config.json, "
                   "found %u",
                   folder->path, tokenizer->facts.file,
                   label_excerpt(bytes ? bytes : "", bytes ? size : 0), vocab_size, id);
}

bool tokenizer_lacks_merges(const struct tokenizer *tokenizer)
{
    return is_words(tokenizer) && words_are_byte_level(&tokenizer->set.words);
}

void tokenizer_literal_special(struct tokenizer *tokenizer)
{
    for (; tokenizer; tokenizer = tokenizer->source)
        tokenizer->literal_special = true;
}

const struct tokenizer *tokenizer_of_source(const struct tokenizer *tokenizer)
{
    return tokenizer && tokenizer->source ? tokenizer->source : tokenizer;
}

/* --- the token before texts ------------------------------------------------------------------- */

int tokenizer_role(const struct tokenizer *tokenizer, enum token_role role, uint32_t *id,
                   bool *found, struct err *err)
{
    const char *text = tokenizer->config.tokens[role];
    *found = false;
    return text ? token_set_find(&tokenizer->set, text, strlen(text), id, found, err) : 0;
}

bool tokenizer_unknown(const struct tokenizer *tokenizer, uint32_t *id)
{
    const struct subword *model = &tokenizer->model;
    *id = model->row == &subword_rows[SUBWORD_BPE] ? model->bpe.unknown : model->unknown;
    return *id != BPE_NONE;
}

static int read_model_begin(void *id, const struct json *root, struct err *err)
{
    (void)err;
    json_get_integer(json_member(root, "bos_token_id"), 0, UINT32_MAX, id);
    return 0;
}

int tokenizer_find_begin(uint32_t *begin, bool *found, const struct tokenizer *tokenizer,
                         const struct folder *folder, struct err *err)
{
    static const char *const names[] = {"<|endoftext|>", "<|begin_of_text|>", "<s>", "<bos>",
                                        "[BOS]"};
    static const char model[] = "config.json";
    const char *named = tokenizer->config.tokens[ROLE_BOS];
    long long id = -1;
    size_t size = 0;
    *found = false;
    if (tokenizer_role(tokenizer, ROLE_BOS, begin, found, err))
        return -1;
    if (named && !*found)
        return err_set(err, "'%s/%s': bos_token: '%s' is not in the vocabulary", folder->path,
                       "tokenizer_config.json", label_excerpt(named, strlen(named)));
    if (!*found && folder_has(folder, model) &&
        json_read_file(folder, model, read_model_begin, &id, err))
        return -1;
    if (id >= 0 && token_set_word(&tokenizer->set, (uint32_t)id, &size)) {
        *found = true;
        *begin = (uint32_t)id;
    }
    for (size_t i = 0; !*found && i < sizeof names / sizeof *names; i++)
        if (token_set_find(&tokenizer->set, names[i], strlen(names[i]), begin, found, err))
            return -1;
    return 0;
}

int tokenizer_begin_texts(struct tokenizer *tokenizer, const struct folder *folder, struct err *err)
{
    uint32_t begin = 0;
    bool found = false;
    if (tokenizer_find_begin(&begin, &found, tokenizer, folder, err))
        return -1;
    if (!found)
        return err_set(err,
                       "'%s': expected a beginning-of-text token (<|endoftext|>, <s>, …) in the "
                       "vocabulary, found none",
                       folder->path);
    text_templates_set(&tokenizer->used, begin, true, false);
    return 0;
}

/* --- special tokens around texts -------------------------------------------------------------- */

int tokenizer_special(struct text_templates *templates, const struct tokenizer *tokenizer,
                      struct err *err)
{
    *templates = tokenizer->templates;
    for (enum token_role role = 0; role < TOKEN_ROLES; role++) {
        enum answer adds = tokenizer->config.adds[role];
        bool found = false;
        uint32_t id = 0;
        if (adds == ANSWER_NONE && role == ROLE_BOS &&
            tokenizer_config_begins(&tokenizer->config) &&
            strcmp(tokenizer->facts.file, "tokenizer.model") == 0)
            adds = ANSWER_YES;
        if (tokenizer_role(tokenizer, role, &id, &found, err))
            return -1;
        if (found && adds != ANSWER_NONE)
            text_templates_set(templates, id, adds == ANSWER_YES, role == ROLE_EOS);
    }
    return 0;
}

static int check_special(const struct tokenizer *tokenizer, uint32_t id, struct err *err)
{
    size_t size;
    if (id == TEMPLATE_UNLISTED)
        return err_set(err, "post_processor: pair: a token is not in special_tokens: --special "
                            "none adds no token");
    return tokenizer_token(tokenizer, id, &size)
               ? 0
               : err_set(err,
                         "post_processor: id %u is not in the vocabulary: --special none adds no "
                         "token",
                         id);
}

int tokenizer_add_special(struct tokenizer *tokenizer, struct err *err)
{
    static const char *const names[TOKEN_ROLES] = {"bos_token", "eos_token", "mask_token"};
    struct text_templates templates;
    for (enum token_role role = 0; role < TOKEN_ROLES; role++) {
        const char *text = tokenizer->config.tokens[role];
        bool found = false;
        uint32_t id = 0;
        if (tokenizer_role(tokenizer, role, &id, &found, err))
            return -1;
        if (text && !found && tokenizer->config.adds[role] == ANSWER_YES)
            return err_set(err,
                           "tokenizer_config.json: %s: '%s' is not in the vocabulary: "
                           "--special none adds no token",
                           names[role], label_excerpt(text, strlen(text)));
    }
    if (tokenizer_special(&templates, tokenizer, err))
        return -1;
    for (size_t i = 0; i < templates.single.count; i++)
        if (templates.single.parts[i].kind == TEMPLATE_SPECIAL &&
            check_special(tokenizer, templates.single.parts[i].id, err))
            return -1;
    tokenizer->used = templates;
    return tokenizer->source ? tokenizer_add_special(tokenizer->source, err) : 0;
}

/* --- texts and ids ---------------------------------------------------------------------------- */

void tokenizer_adds(const struct tokenizer *tokenizer, size_t *before, size_t *after)
{
    *before = text_template_before(&tokenizer->used.single);
    *after = tokenizer->used.single.count - *before - 1;
}

/* Add the tokens of a text without special tokens around it. */
static int encode_text(const struct tokenizer *tokenizer, struct token_list *list,
                       const struct token_text *text, struct err *err)
{
    size_t valid = utf8_invalid_at(text->bytes, text->size);
    struct encoder encoder = {.tokenizer = tokenizer, .list = list};
    if (valid < text->size)
        return err_set(err,
                       "expected a text in UTF-8, found the byte 0x%02x at byte %zu: "
                       "save it as UTF-8",
                       (unsigned char)text->bytes[valid], valid);
    int failed = encoder_run(&encoder, text, err);
    encoder_release(&encoder);
    return failed;
}

/* Add the tokens of the texts that a template joins, and its special tokens, which are empty ranges
 * at the end of the text before them, or at 0. `ends` gets the number of tokens after each part. */
static int encode(const struct tokenizer *tokenizer, struct token_list *list,
                  const struct text_template *template, const struct token_bytes *texts,
                  size_t ends[TEMPLATE_PARTS_MAX], struct err *err)
{
    size_t at = 0;
    for (size_t i = 0; i < template->count; i++) {
        const struct template_part *part = &template->parts[i];
        if (part->kind == TEMPLATE_SPECIAL) {
            if (check_special(tokenizer, part->id, err) ||
                token_list_add(list, (struct token){part->id, false, at, at}, err))
                return -1;
        } else {
            struct token_text text = {texts[part->kind].bytes, texts[part->kind].size,
                                      tokenizer->literal_special};
            bool dropped = list->dropped_count;
            if (encode_text(tokenizer, list, &text, err))
                return part->kind == TEMPLATE_SECOND ? err_prefix(err, "the second text") : -1;
            if (!dropped)
                list->dropped_first.id = part->kind;
            at = text.size;
        }
        ends[i] = list->count;
    }
    return 0;
}

int tokenizer_encode(const struct tokenizer *tokenizer, struct tokens *tokens, const char *text,
                     size_t size, struct arena *arena, struct err *err)
{
    struct token_list list = {0};
    size_t ends[TEMPLATE_PARTS_MAX];
    int failed = encode(tokenizer, &list, &tokenizer->used.single,
                        &(struct token_bytes){text, size}, ends, err) ||
                 token_list_keep(&list, tokens, arena, err);
    if (!failed)
        tokenizer_adds(tokenizer, &tokens->added[0], &tokens->added[2]);
    token_list_release(&list);
    return failed ? -1 : 0;
}

bool tokenizer_joins(const struct tokenizer *tokenizer)
{
    const struct text_template *pairs[] = {&tokenizer->templates.pair, &tokenizer->used.pair};
    for (size_t i = 0; i < 2; i++)
        for (size_t part = 0; part < pairs[i]->count; part++)
            if (pairs[i]->parts[part].kind == TEMPLATE_SPECIAL)
                return true;
    return is_words(tokenizer);
}

int tokenizer_encode_pair(const struct tokenizer *tokenizer, struct tokens *tokens,
                          const struct token_bytes *texts, struct arena *arena, struct err *err)
{
    const struct text_template *pair = &tokenizer->used.pair;
    struct token_list list = {0};
    size_t ends[TEMPLATE_PARTS_MAX];
    size_t start = 0, texts_before = 0;
    if (!tokenizer_joins(tokenizer))
        return err_usage(err,
                         "--pair: the tokenizer has no template for two texts: write both into "
                         "one text, or use --special bos");
    int failed = encode(tokenizer, &list, pair, texts, ends, err) ||
                 token_list_keep(&list, tokens, arena, err);
    token_list_release(&list);
    tokens->segments =
        failed ? NULL : arena_alloc(arena, tokens->count, sizeof *tokens->segments, err);
    for (size_t i = 0; tokens->segments && i < pair->count; start = ends[i++]) {
        const struct template_part *part = &pair->parts[i];
        memset(tokens->segments + start, part->segment, ends[i] - start);
        tokens->second = part->kind == TEMPLATE_SECOND ? start : tokens->second;
        tokens->added[texts_before] += part->kind == TEMPLATE_SPECIAL;
        texts_before += part->kind != TEMPLATE_SPECIAL && texts_before < 2;
    }
    return tokens->segments ? 0 : -1;
}

int tokenizer_encode_alone(const struct tokenizer *tokenizer, struct tokens *tokens,
                           const char *text, size_t size, struct arena *arena, struct err *err)
{
    struct tokenizer bare = *tokenizer;
    bare.used = text_templates_plain;
    return tokenizer_encode(&bare, tokens, text, size, arena, err);
}

int tokenizer_stream(const struct tokenizer *tokenizer, struct token_list *list, const char *text,
                     size_t size, struct err *err)
{
    size_t ends[TEMPLATE_PARTS_MAX];
    return err_if(encode(tokenizer, list, &tokenizer->used.single,
                         &(struct token_bytes){text, size}, ends, err) ||
                  token_list_flush(list, err));
}

const char *tokenizer_token(const struct tokenizer *tokenizer, uint32_t id, size_t *size)
{
    const struct display_tokens *display = &tokenizer->display;
    if (id >= display->count || display->stored[id].form == WORD_ABSENT)
        return token_set_word(&tokenizer->set, id, size);
    *size = display->stored[id].size;
    return display->bytes + display->stored[id].start;
}

void tokenizer_decode_begin(const struct tokenizer *tokenizer, struct token_decoder *decoder,
                            struct buf *out)
{
    *decoder = (struct token_decoder){.steps = tokenizer->decoders, .out = out};
}

bool tokenizer_decode(const struct tokenizer *tokenizer, struct token_decoder *decoder, uint32_t id)
{
    size_t size = 0;
    const char *bytes = token_set_word(&tokenizer->set, id, &size);
    if (bytes)
        token_decoder_put(decoder, bytes, size);
    return bytes;
}

int tokenizer_find_mask(long long *mask, const struct tokenizer *tokenizer, struct err *err)
{
    static const char *const names[] = {"[MASK]", "<mask>"};
    bool found = false;
    uint32_t id = 0;
    int failed = tokenizer_role(tokenizer, ROLE_MASK, &id, &found, err);
    for (size_t i = 0; !failed && !found && i < sizeof names / sizeof *names; i++)
        failed = token_set_find(&tokenizer->set, names[i], strlen(names[i]), &id, &found, err);
    *mask = found ? (long long)id : -1;
    return failed;
}

/* --- facts ------------------------------------------------------------------------------------ */

size_t tokenizer_size(const struct tokenizer *tokenizer)
{
    return token_set_size(&tokenizer->set);
}

const struct tokenizer_facts *tokenizer_facts(const struct tokenizer *tokenizer)
{
    return &tokenizer->facts;
}

void tokenizer_stages(const struct tokenizer *tokenizer, struct buf *out)
{
    for (const struct stage *step = tokenizer->normalizers; step; step = step->next)
        buf_format(out, "%s, ", step->name);
    for (const struct stage *step = tokenizer->pre_tokenizers; step; step = step->next) {
        const char *pattern = step->matcher.pattern;
        if (step->name)
            buf_format(out, pattern ? "%s (%s), " : "%s, ", step->name, pattern);
    }
    if (!is_words(tokenizer))
        buf_text(out, tokenizer->model.row->name);
}
