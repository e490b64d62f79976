/* sentencepiece.c: reads SentencePiece's own file, such as tokenizer.model: a protobuf message with
 * pieces, their scores and kinds, and settings of the trainer and the normalizer. The result is a
 * tokenizer with equivalent stages. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/num.h"
#include "format/dtype.h"
#include "text/builder.h"
#include "text/label.h"
#include "text/sentencepiece.h"

/* Maximum size in bytes of a word of BPE, since all ways to split a word in two are tried. */
enum { WORD_BYTES_MOST = 1024 };

/* --- protobuf --------------------------------------------------------------------------------- */

/* A message whose fields are being read. */
struct message {
    const unsigned char *at, *end;
};

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

struct wire_field {
    uint64_t number;
    enum wire wire;
    uint64_t value;       /* the bits of a number, or the size of `bytes` */
    struct message bytes; /* the content of a text or a message */
};

static bool read_varint(struct message *message, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        unsigned char byte = *message->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Read the next field. Returns 1; 0 at the end of the message; -1 if the bytes are not a field. */
static int next_field(struct message *message, struct wire_field *field)
{
    uint64_t key = 0;
    if (message->at == message->end)
        return 0;
    if (!read_varint(message, &key))
        return -1;
    *field = (struct wire_field){.number = key >> 3, .wire = (enum wire)(key & 7)};
    if (field->wire == WIRE_VARINT)
        return read_varint(message, &field->value) ? 1 : -1;
    if (field->wire == WIRE_FIXED64 || field->wire == WIRE_FIXED32) {
        size_t size = field->wire == WIRE_FIXED64 ? 8 : 4;
        if ((size_t)(message->end - message->at) < size)
            return -1;
        field->value = num_of_bytes((const char *)message->at, size);
        message->at += size;
        return 1;
    }
    if (field->wire != WIRE_BYTES || !read_varint(message, &field->value) ||
        field->value > (uint64_t)(message->end - message->at))
        return -1;
    field->bytes = (struct message){message->at, message->at + field->value};
    message->at += field->value;
    return 1;
}

/* --- the model -------------------------------------------------------------------------------- */

static int refuse(struct err *err)
{
    return err_set(err, "expected a SentencePiece model, found something else");
}

static int read_piece(struct sentencepiece_piece *piece, struct message message, struct err *err)
{
    struct wire_field field;
    int found = 0;
    *piece = (struct sentencepiece_piece){.word.bytes = "", .kind = PIECE_NORMAL};
    while ((found = next_field(&message, &field)) > 0) {
        if (field.number == 1 && field.wire == WIRE_BYTES)
            piece->word = (struct word){(const char *)field.bytes.at, field.value};
        if (field.number == 2 && field.wire == WIRE_FIXED32)
            piece->score = float_of_bits((uint32_t)field.value);
        if (field.number == 3 && field.wire == WIRE_VARINT)
            piece->kind = (enum sentencepiece_kind)field.value;
    }
    if (found < 0)
        return refuse(err);
    if (piece->score != piece->score || piece->score > FLT_MAX || piece->score < -FLT_MAX)
        return err_set(err, "expected a finite score, found another");
    return 0;
}

/* Read the settings of the trainer, field 2 of a model, or of the normalizer, field 3. */
static int read_settings(struct sentencepiece *model, uint64_t part, struct message message)
{
    struct sentencepiece_rules *rules = &model->rules;
    const struct {
        uint64_t part, number;
        bool *flag;
    } flags[] = {
        {2, 24, &model->suffix},   {2, 35, &model->falls_back}, {3, 3, &rules->prefixes},
        {3, 4, &rules->collapses}, {3, 5, &rules->escapes},
    };
    struct wire_field field;
    int found = 0;
    while ((found = next_field(&message, &field)) > 0) {
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
            if (part == flags[i].part && field.number == flags[i].number)
                *flags[i].flag = field.value;
        if (part == 2 && field.number == 3)
            model->kind = field.value;
        if (part == 3 && field.number == 2 && field.wire == WIRE_BYTES) {
            rules->charsmap = field.bytes.at;
            rules->charsmap_size = (size_t)field.value;
        }
    }
    return found;
}

int sentencepiece_read(struct sentencepiece *model, const struct file *file, struct arena *arena,
                       struct err *err)
{
    const unsigned char *bytes = (const unsigned char *)file->bytes;
    struct message message = {bytes, bytes + file->size}, counted = message;
    struct wire_field field;
    int found = 0;
    size_t most = 0;
    while (next_field(&counted, &field) > 0)
        most += field.number == 1 && field.wire == WIRE_BYTES;
    *model = (struct sentencepiece){
        .kind = SENTENCEPIECE_UNIGRAM,
        .rules = {.prefixes = true, .collapses = true, .escapes = true},
    };
    model->pieces = arena_alloc(arena, most + 1, sizeof *model->pieces, err);
    if (!model->pieces)
        return -1;
    while ((found = next_field(&message, &field)) > 0) {
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number == 1) {
            struct sentencepiece_piece *piece = &model->pieces[model->count];
            if (read_piece(piece, field.bytes, err))
                return err_prefix(err, "id %zu", model->count);
            model->bytes += piece->word.size;
            model->count++;
        }
        if ((field.number == 2 || field.number == 3) &&
            read_settings(model, field.number, field.bytes) < 0)
            return refuse(err);
    }
    return found < 0 || !model->count ? refuse(err) : 0;
}

/* --- stages ----------------------------------------------------------------------------------- */

static int add_words(struct word_table *words, const struct sentencepiece *model, struct err *err)
{
    words->form = WORD_TEXT;
    if (word_table_begin(words, model->count, model->bytes, err))
        return -1;
    for (size_t id = 0; id < model->count; id++) {
        struct word word = model->pieces[id].word;
        if (utf8_invalid_at(word.bytes, word.size) < word.size)
            return err_set(err, "id %zu: expected a word in UTF-8", id);
        if (word_table_add(words, word, id, err))
            return -1;
    }
    return 0;
}

struct ranked {
    float score;
    uint32_t id;
};

static int by_score(const void *a, const void *b)
{
    const struct ranked *one = a;
    const struct ranked *other = b;
    if (one->score != other->score)
        return one->score > other->score ? -1 : 1;
    return one->id < other->id ? -1 : 1;
}

/* Add a merge for each pair of normal pieces that form this word, as SentencePiece joins them. */
static int add_merges(struct bpe *bpe, const uint32_t *ranks, uint32_t id, struct err *err)
{
    size_t size = 0;
    const char *bytes = word_table_word(bpe->words, id, &size);
    struct bpe_merge merge = {.id = id, .rank = ranks[id]};
    for (size_t at = 1; at < size; at++) {
        word_table_prefetch(bpe->words, word_hash((struct word){bytes, at}, WORD_TEXT));
        struct word rest = {bytes + at, size - at};
        word_table_prefetch(bpe->words, word_hash(rest, WORD_TEXT));
    }
    for (size_t at = 1; at < size; at++)
        if (!utf8_continues(bytes[at]) &&
            word_table_find(bpe->words, bytes, at, WORD_TEXT, &merge.left) &&
            word_table_find(bpe->words, bytes + at, size - at, WORD_TEXT, &merge.right) &&
            ranks[merge.left] != BPE_NONE && ranks[merge.right] != BPE_NONE &&
            bpe_add(bpe, &merge, err))
            return -1;
    return 0;
}

int sentencepiece_add_merges(struct tokenizer *tokenizer, const struct sentencepiece *model,
                             struct err *err)
{
    struct subword *subword = &tokenizer->model;
    uint32_t *ranks = arena_alloc(&tokenizer->arena, model->count, sizeof *ranks, err);
    struct ranked *order = arena_alloc(&tokenizer->arena, model->count, sizeof *order, err);
    size_t count = 0;
    uint32_t rank = 0;
    if (!ranks || !order)
        return -1;
    for (uint32_t id = 0; id < model->count; id++) {
        const struct sentencepiece_piece *piece = &model->pieces[id];
        ranks[id] = BPE_NONE;
        if (piece->word.size > WORD_BYTES_MOST)
            return err_set(err, "id %u: expected a word of at most %d bytes, found '%s'", id,
                           WORD_BYTES_MOST, label_excerpt(piece->word.bytes, piece->word.size));
        if (piece->kind == PIECE_UNUSED)
            return err_unsupported(err, "id %u: pieces of the type UNUSED are not supported", id);
        if (piece->kind == PIECE_NORMAL)
            order[count++] = (struct ranked){piece->score, id};
    }
    qsort(order, count, sizeof *order, by_score);
    for (size_t i = 0; i < count; i++) {
        rank += i && order[i].score != order[i - 1].score;
        ranks[order[i].id] = rank;
    }
    bpe_init(&subword->bpe, subword->words);
    for (uint32_t id = 0; id < model->count; id++)
        if (ranks[id] != BPE_NONE && add_merges(&subword->bpe, ranks, id, err))
            return -1;
    if (bpe_index(&subword->bpe, err))
        return -1;
    subword->bpe.fuses_unknown = true;
    subword->bpe.unknown = subword->unknown;
    subword_find_bytes(subword->bpe.fallback_ids, subword->words, model->falls_back);
    return subword_find_fronts(subword, err);
}

static int add_unigram(struct tokenizer *tokenizer, const struct sentencepiece *model,
                       struct err *err)
{
    struct subword *subword = &tokenizer->model;
    double *scores = arena_alloc(&tokenizer->arena, model->count, sizeof *scores, err);
    float least = FLT_MAX;
    float most = FLT_MIN; /* the largest score; FLT_MIN if all are negative, as in SentencePiece */
    if (!scores)
        return -1;
    for (size_t id = 0; id < model->count; id++) {
        const struct sentencepiece_piece *piece = &model->pieces[id];
        scores[id] = piece->kind == PIECE_NORMAL ? piece->score : SUBWORD_ABSENT;
        if (piece->kind != PIECE_NORMAL)
            continue;
        least = piece->score < least ? piece->score : least;
        most = piece->score > most ? piece->score : most;
    }
    /* user-defined pieces get the best scores, as in SentencePiece */
    for (size_t id = 0; id < model->count; id++)
        if (model->pieces[id].kind == PIECE_USER_DEFINED)
            scores[id] = (float)model->pieces[id].word.size * most - 0.1;
    subword_find_bytes(subword->byte_ids, subword->words, model->falls_back);
    subword->scores = scores;
    subword->unknown_score = least - 10.0F;
    subword->fuses_unknown = true;
    subword->is_single = true;
    return word_trie_init(&subword->trie, subword->words, err);
}

/* GPT-SW3 leaves out characters that are not printed, and writes some blanks as spaces. */
static const char sw3_normalizer[] =
    "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Replace\", "
    "\"pattern\": {\"Regex\": "
    "\"[\\\\x{0}-\\\\x{8}\\\\x{B}-\\\\x{1F}\\\\x{7F}-\\\\x{A0}\\\\x{AD}\\\\x{200B}]\"}, "
    "\"content\": \"\"}, {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"[\\\\x{2002}\\\\x{2003}"
    "\\\\x{2005}\\\\x{2008}-\\\\x{200A}\\\\x{202F}\\\\x{3000}\\\\x{FFFC}]\"}, \"content\": \" \"}, "
    "{\"type\": \"NFC\"}]}, ";

static int add_stages(struct tokenizer *tokenizer, const struct word_table *words,
                      const struct sentencepiece *model, struct err *err)
{
    struct subword *subword = &tokenizer->model;
    const struct tokenizer_config *config = &tokenizer->config;
    bool bpe = model->kind == SENTENCEPIECE_BPE;
    if (model->kind != SENTENCEPIECE_BPE && model->kind != SENTENCEPIECE_UNIGRAM)
        return err_unsupported(err, "expected a model of type BPE or Unigram, found type %llu",
                               (unsigned long long)model->kind);
    if (model->suffix)
        return err_unsupported(err,
                               "spaces after words (treat_whitespace_as_suffix) are not supported");
    subword_init(subword, &subword_rows[bpe ? SUBWORD_BPE : SUBWORD_UNIGRAM], words);
    for (uint32_t id = 0; id < model->count; id++)
        if (model->pieces[id].kind == PIECE_UNKNOWN)
            subword->unknown = id;
    struct sentencepiece_rules rules = model->rules;
    rules.kept = &tokenizer->set.added;
    rules.prefixes = rules.prefixes && config->prefixes != ANSWER_NO;
    rules.first = config->legacy == ANSWER_NO;
    struct buf text = {0};
    buf_format(
        &text,
        "{%s\"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", "
        "\"pattern\": {\"String\": \"▁\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, "
        "{\"type\": \"Fuse\"}%s]}}",
        strncmp(config->class, "GPTSw3Tokenizer", 15) == 0 ? sw3_normalizer : "",
        rules.prefixes ? ", {\"type\": \"Strip\", \"content\": \" \", \"start\": 1}" : "");
    return err_if(
        tokenizer_parse_stages(tokenizer, &text, err) ||
        (bpe ? sentencepiece_add_merges : add_unigram)(tokenizer, model, err) ||
        normalizers_sentencepiece(&tokenizer->normalizers, &rules, &tokenizer->arena, err));
}

/* Add control symbols as special tokens, and user-defined pieces as tokens: BPE splits a text at
 * them, Unigram finds them as words. */
static int add_tokens(struct tokenizer *tokenizer, const struct sentencepiece *model,
                      struct err *err)
{
    struct added_token *items = arena_alloc(&tokenizer->arena, model->count, sizeof *items, err);
    size_t count = 0;
    if (!items)
        return -1;
    for (uint32_t id = 0; id < model->count; id++) {
        const struct sentencepiece_piece *piece = &model->pieces[id];
        if (piece->kind == PIECE_CONTROL || piece->kind == PIECE_USER_DEFINED)
            items[count++] = (struct added_token){
                .bytes = piece->word.bytes,
                .size = piece->word.size,
                .id = id,
                .special = piece->kind == PIECE_CONTROL,
                .normalized = piece->kind == PIECE_USER_DEFINED,
                .in_model =
                    piece->kind == PIECE_USER_DEFINED && model->kind == SENTENCEPIECE_UNIGRAM,
            };
    }
    return token_set_add(&tokenizer->set, items, count, err);
}

/* Read the pieces into `words`, and make the tokenizer's stages. */
static int read_model(struct sentencepiece *model, struct tokenizer *tokenizer,
                      struct word_table *words, const struct file *file, struct err *err)
{
    char word[64]; /* a file of ranks begins with base64 and a blank, such as "IQ== 0" */
    size_t size = num_min(file->size, sizeof word);
    if (file_refuse_format(file->bytes, file->size, "a SentencePiece model", err))
        return -1;
    const char *blank = memchr(file->bytes, ' ', size);
    if (blank && blank > file->bytes &&
        base64_decode(word, &size, file->bytes, (size_t)(blank - file->bytes)))
        return err_unsupported(err, RANK_FILE_WHY);
    return err_if(sentencepiece_read(model, file, &tokenizer->arena, err) ||
                  add_words(words, model, err) || add_stages(tokenizer, words, model, err));
}

static int read_file(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    struct sentencepiece model;
    return err_if(read_model(&model, tokenizer, &tokenizer->set.words, file, err) ||
                  add_tokens(tokenizer, &model, err));
}

int tokenizer_fill_sentencepiece(struct tokenizer *tokenizer, const struct folder *folder,
                                 const char *name, struct err *err)
{
    return err_if(tokenizer_config_read(tokenizer, folder, CONFIG_LISTED, err) ||
                  folder_read(folder, name, read_file, tokenizer, err) ||
                  tokenizer_add_listed(tokenizer, folder, err));
}

/* --- models whose ids are in a vocab.json ----------------------------------------------------- */

/* Read the pieces of a model whose ids are in a vocab.json, which has already been read. */
static int read_pieces(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    struct sentencepiece model;
    if (read_model(&model, tokenizer, &tokenizer->pieces, file, err))
        return -1;
    if (model.falls_back)
        return err_unsupported(err, "expected a model without byte_fallback");
    for (size_t id = 0; id < model.count; id++)
        if (model.pieces[id].kind == PIECE_USER_DEFINED)
            return err_unsupported(err, "id %zu: user-defined pieces are not supported", id);
    tokenizer->model.vocabulary = &tokenizer->set.words;
    return 0;
}

/* Read the words of file `vocab` and the pieces of file `name`. tokenizer_config.json was read
 * before. */
static int read_both(struct tokenizer *tokenizer, const struct folder *folder, const char *vocab,
                     const char *name, const char *begin, struct err *err)
{
    const char *const usual[NAMED_TOKENS] = {begin, "</s>", "<unk>", "", "<pad>", "", ""};
    tokenizer_name_usual(tokenizer, usual);
    tokenizer->facts.file = name;
    return err_if(folder_read(folder, vocab, tokenizer_read_words, tokenizer, err) ||
                  folder_read(folder, name, read_pieces, tokenizer, err));
}

/* Add the tokens that other files list and name. Set `*end` to the id of the token after texts, and
 * find the unknown token. */
static int add_others(uint32_t *end, struct tokenizer *tokenizer, const struct folder *folder,
                      const char *vocab, struct err *err)
{
    return err_if(
        tokenizer_add_listed(tokenizer, folder, err) ||
        tokenizer_add_named(tokenizer, folder, err) ||
        tokenizer_find_named(end, tokenizer, NAMED_EOS, folder, vocab, err) ||
        tokenizer_find_named(&tokenizer->model.unknown, tokenizer, NAMED_UNK, folder, vocab, err));
}

/* Fill the tokenizer of Marian's target texts (target.spm) or source texts (source.spm). */
static int fill_side(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                     struct err *err)
{
    struct tokenizer_config *config = &tokenizer->config;
    const char *vocab = "vocab.json";
    uint32_t end = 0;
    if (tokenizer_config_read(tokenizer, folder, CONFIG_LISTED | CONFIG_NAMED, err))
        return -1;
    if (config->separate == ANSWER_YES && strcmp(name, "target.spm") == 0) {
        vocab = "target_vocab.json";
        config->listed_count = 0; /* listed tokens have ids in the vocabulary of source texts */
    }
    if (read_both(tokenizer, folder, vocab, name, "", err) ||
        add_others(&end, tokenizer, folder, vocab, err))
        return -1;
    tokenizer->model.has_codes = true;
    tokenizer->templates = (struct text_templates){
        .single = {{{TEMPLATE_FIRST, 0, 0}, {TEMPLATE_SPECIAL, end, 0}}, 2},
        .pair = {{{TEMPLATE_FIRST, 0, 0}, {TEMPLATE_SECOND, 0, 1}, {TEMPLATE_SPECIAL, end, 1}}, 3}};
    return 0;
}

int tokenizer_fill_marian(struct tokenizer *tokenizer, const struct folder *folder,
                          const char *name, struct err *err)
{
    struct tokenizer *source = tokenizer->source = heap_alloc(1, sizeof *source, err);
    if (!source)
        return -1;
    return err_if(fill_side(source, folder, "source.spm", err) ||
                  fill_side(tokenizer, folder, name, err));
}

/* --- M2M-100 ---------------------------------------------------------------------------------- */

/* The languages for each value of `language_codes`. The id of a language's token, `__en__`, is the
 * index of the language plus the number of words. */
static const struct {
    const char *name, *codes;
} languages[] = {
    {"m2m100",
     "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga "
     "gd gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv "
     "mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su "
     "sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"},
    {"wmt21", "en ha is ja cs ru zh de"},
};

enum { LANGUAGES_MAX = 128, LANGUAGE_BYTES = 16 };

/* Add the tokens of languages. Names of languages in a text are treated as text unless the files
 * list them. */
static int add_languages(struct tokenizer *tokenizer, const char *codes, struct err *err)
{
    const struct word_table *words = &tokenizer->set.words;
    struct added_token items[LANGUAGES_MAX];
    char names[LANGUAGES_MAX][LANGUAGE_BYTES];
    uint32_t id = 0; /* id of the first language's token */
    size_t count = 0;
    for (size_t i = 0; i < words->size; i++)
        id += words->stored[i].form != WORD_ABSENT;
    for (size_t size; *codes; codes += size + (codes[size] == ' '), count++, id++) {
        size = strcspn(codes, " ");
        int bytes = snprintf(names[count], LANGUAGE_BYTES, "__%.*s__", (int)size, codes);
        items[count] = (struct added_token){.bytes = names[count],
                                            .size = (size_t)bytes,
                                            .id = id,
                                            .special = true,
                                            .in_model = true};
    }
    return token_set_add(&tokenizer->set, items, count, err);
}

/* Find the token of a language that tokenizer_config.json names. */
static int find_language(uint32_t *id, const struct tokenizer *tokenizer, const char *language,
                         struct err *err)
{
    char name[LANGUAGE_BYTES];
    bool found = false;
    snprintf(name, sizeof name, "__%s__", language);
    if (token_set_find(&tokenizer->set, name, strlen(name), id, &found, err))
        return -1;
    return found && added_tokens_of_id(&tokenizer->set.added, *id)
               ? 0
               : err_unsupported(err, "expected a language of the model, found '%s'",
                                 label_excerpt(language, strlen(language)));
}

/* Refuse additional special tokens that are neither words nor languages in the order of their ids:
 * transformers would give them the next free ids. If a file lists tokens with their ids, accept
 * all. */
static int check_extra(const struct tokenizer *tokenizer, const struct folder *folder,
                       struct err *err)
{
    const struct tokenizer_config *config = &tokenizer->config;
    uint32_t next = tokenizer->set.added.by_id[0].id;
    if (config->listed_count || folder_has(folder, "added_tokens.json"))
        return 0;
    for (size_t i = 0; i < config->extra_count; i++) {
        const struct added_token *extra = &config->extra[i];
        uint32_t id = 0;
        bool found = false;
        if (token_set_find(&tokenizer->set, extra->bytes, extra->size, &id, &found, err))
            return -1;
        if (!found || (added_tokens_of_id(&tokenizer->set.added, id) && id != next++))
            return err_unsupported(
                err,
                "'%s/tokenizer_config.json': additional_special_tokens: expected "
                "words and all languages in the order of their ids, found '%s'",
                folder->path, label_excerpt(extra->bytes, extra->size));
    }
    return 0;
}

/* Fill the tokenizer of target texts, which begin with the token of tgt_lang if the files name one,
 * or of source texts, which begin with the token of src_lang, else of English. */
static int fill_language(struct tokenizer *tokenizer, bool is_source, const struct folder *folder,
                         const char *name, struct err *err)
{
    static const char vocab[] = "vocab.json";
    const struct tokenizer_config *config = &tokenizer->config;
    char type[MODEL_TYPE_BYTES];
    uint32_t end = 0, before = 0;
    size_t set = 0;
    if (tokenizer_config_read(tokenizer, folder, CONFIG_LISTED | CONFIG_NAMED, err) ||
        tokenizer_model_type(type, folder, err))
        return -1;
    if (*config->class ? strcmp(config->class, "M2M100Tokenizer") != 0
                       : strcmp(type, "m2m_100") != 0) /* without a class, model_type decides */
        return err_unsupported(
            err,
            "'%s/%s': expected the tokenizer_class M2M100Tokenizer, found '%s': " OTHER_FILE_WHY,
            folder->path, name, label_excerpt(config->class, strlen(config->class)));
    const char *codes = config->language_codes ? config->language_codes : languages[0].name;
    const char *wanted = config->languages[!is_source];
    wanted = !wanted && is_source ? "en" : wanted;
    if (!names_find(&set, NAMES(languages, sizeof languages / sizeof *languages), codes,
                    strlen(codes)))
        return err_unsupported(err,
                               "'%s/tokenizer_config.json': language_codes: expected 'm2m100' or "
                               "'wmt21', found '%s'",
                               folder->path, label_excerpt(codes, strlen(codes)));
    if (read_both(tokenizer, folder, vocab, name, "<s>", err))
        return -1;
    if (add_languages(tokenizer, languages[set].codes, err))
        return err_prefix(err, "'%s/%s'", folder->path, vocab);
    if (wanted && find_language(&before, tokenizer, wanted, err))
        return err_prefix(err, "'%s/tokenizer_config.json': %s", folder->path,
                          is_source ? "src_lang" : "tgt_lang");
    if (check_extra(tokenizer, folder, err) || add_others(&end, tokenizer, folder, vocab, err))
        return -1;
    const struct template_part first = {TEMPLATE_SPECIAL, before, 0};
    const struct template_part last = {TEMPLATE_SPECIAL, end, 0};
    tokenizer->templates =
        wanted ? (struct text_templates){
            .single = {{first, {TEMPLATE_FIRST, 0, 0}, last}, 3},
            .pair = {{first, {TEMPLATE_FIRST, 0, 0}, {TEMPLATE_SECOND, 0, 0}, last}, 4},
        } : (struct text_templates){
            .single = {{{TEMPLATE_FIRST, 0, 0}, last}, 2},
            .pair = {{{TEMPLATE_FIRST, 0, 0}, {TEMPLATE_SECOND, 0, 0}, last}, 3},
        };
    return 0;
}

int tokenizer_fill_m2m(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                       struct err *err)
{
    struct file pieces = {0};
    if (folder_open(&pieces, folder, name, err)) /* report an inaccessible file first */
        return -1;
    file_release(&pieces);
    if (!folder_has(folder, "vocab.json"))
        return tokenizer_fill_class(tokenizer, folder, name, err);
    struct tokenizer *source = tokenizer->source = heap_alloc(1, sizeof *source, err);
    if (!source)
        return -1;
    return err_if(fill_language(source, true, folder, name, err) ||
                  fill_language(tokenizer, false, folder, name, err));
}

/* --- DeBERTa ---------------------------------------------------------------------------------- */

/* Fill the tokenizer of DeBERTa-v2 and v3: ids of the pieces, then [MASK], unless it is a piece;
 * texts are between [CLS] and [SEP]. */
int tokenizer_fill_deberta(struct tokenizer *tokenizer, const struct folder *folder,
                           const char *name, struct err *err)
{
    static const char *const usual[NAMED_TOKENS] = {"[CLS]", "[SEP]", "[UNK]", "[SEP]",
                                                    "[PAD]", "[CLS]", "[MASK]"};
    const struct tokenizer_config *config = &tokenizer->config;
    struct token_set *set = &tokenizer->set;
    char type[MODEL_TYPE_BYTES];
    uint32_t ids[] = {0, 0, 0};
    bool found = false;
    if (tokenizer_config_read(tokenizer, folder, CONFIG_LISTED | CONFIG_NAMED, err) ||
        tokenizer_model_type(type, folder, err))
        return -1;
    tokenizer_name_usual(tokenizer, usual);
    if (folder_read(folder, name, read_file, tokenizer, err))
        return -1;
    if (*config->class ? strncmp(config->class, "DebertaV2Tokenizer", 18) != 0
                       : strcmp(type, "deberta-v2") != 0)
        return err_unsupported(
            err,
            "'%s/%s': expected the tokenizer_class DebertaV2Tokenizer, found '%s': " OTHER_FILE_WHY,
            folder->path, name, label_excerpt(config->class, strlen(config->class)));
    if (config->lowers == ANSWER_YES)
        return err_unsupported(
            err, "'%s/tokenizer_config.json': do_lower_case: expected false: " OTHER_FILE_WHY,
            folder->path);
    const struct added_token *mask = &config->named[NAMED_MASK];
    if (tokenizer_add_listed(tokenizer, folder, err) ||
        token_set_find(set, mask->bytes, mask->size, &ids[2], &found, err))
        return -1;
    struct added_token *items = arena_alloc(&set->arena, set->added.count + 1, sizeof *items, err);
    if (!items)
        return -1;
    memcpy(items, set->added.by_id, set->added.count * sizeof *items);
    items[set->added.count] = *mask;
    items[set->added.count].id = (uint32_t)token_set_size(set);
    items[set->added.count].special = true;
    if ((!found && token_set_add(set, items, set->added.count + 1, err)) ||
        tokenizer_find_named(&ids[0], tokenizer, NAMED_CLS, folder, name, err) ||
        tokenizer_find_named(&ids[1], tokenizer, NAMED_SEP, folder, name, err))
        return -1;
    const struct template_part first = {TEMPLATE_SPECIAL, ids[0], 0},
                               last = {TEMPLATE_SPECIAL, ids[1], 0},
                               end = {TEMPLATE_SPECIAL, ids[1], 1};
    tokenizer->templates = (struct text_templates){
        .single = {{first, {TEMPLATE_FIRST, 0, 0}, last}, 3},
        .pair = {{first, {TEMPLATE_FIRST, 0, 0}, last, {TEMPLATE_SECOND, 0, 1}, end}, 5}};
    return 0;
}
