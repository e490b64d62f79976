/* vocab_files.c: vocab.json with merges.txt, for which the class of tokenizer_config.json selects
 * the stages; vocab.json alone, whose words are found in a text; vocab.txt of BERT and ESM. */

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "base/utf8.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "text/builder.h"
#include "text/label.h"

/* --- files ------------------------------------------------------------------------------------ */

int tokenizer_read_words(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    struct subword *model = &tokenizer->model;
    bool is_bpe = model->row == &subword_rows[SUBWORD_BPE];
    struct json_cursor words;
    return err_if(json_cursor_open(&words, NULL, file->bytes, file->size, err) ||
                  word_table_read(&tokenizer->set.words, words, is_bpe ? WORD_BYTES : WORD_TEXT,
                                  file->size, err) ||
                  (model->row == &subword_rows[SUBWORD_WORDS] &&
                   word_trie_init(&model->trie, &tokenizer->set.words, err)));
}

static int read_merges(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    bpe_init(&tokenizer->model.bpe, &tokenizer->set.words);
    return merges_read_lines(&tokenizer->model.bpe, file->bytes, file->size, err);
}

/* Find the class that tokenizer_config.json names, with or without `Fast`, in `classes`; refuse any
 * other class. */
static int find_class(size_t *index, const struct tokenizer *tokenizer, struct names classes,
                      const char *expected, const struct folder *folder, struct err *err)
{
    static const char fast[] = "Fast";
    const char *class = tokenizer->config.class;
    size_t size = strlen(class);
    size -= name_ends_in(class, fast) ? sizeof fast - 1 : 0;
    if (names_find(index, classes, class, size))
        return 0;
    return err_unsupported(err,
                           "'%s/tokenizer_config.json': tokenizer_class: expected a class with %s, "
                           "found '%s'",
                           folder->path, expected, label_excerpt(class, strlen(class)));
}

/* --- vocab.json and merges.txt ---------------------------------------------------------------- */

/* The special tokens of RoBERTa, and of DeBERTa. */
static const char *const roberta_tokens[NAMED_TOKENS] = {"<s>",   "</s>", "<unk>", "</s>",
                                                         "<pad>", "<s>",  "<mask>"};
static const char *const deberta_tokens[NAMED_TOKENS] = {"[CLS]", "[SEP]", "[UNK]", "[SEP]",
                                                         "[PAD]", "[CLS]", "[MASK]"};

/* Classes of transformers that read merges.txt, named without `Fast`, and how they split texts. If
 * the folder names no class, its model_type selects the row, else the row "" is used. */
static const struct merges_class {
    const char *name;
    int pattern;
    bool composes;     /* texts are changed to NFC first */
    const char *model; /* the model_type that selects this row if the folder names no tokenizer
                        * class; NULL: no model_type selects it */
    const char *const *usual; /* the usual special tokens; CLS and SEP are put around texts, as
                               * RoBERTa does; NULL: nothing is put around texts */
} classes[] = {
    {"", PATTERN_GPT2, false, NULL, NULL},
    {"PreTrainedTokenizer", PATTERN_GPT2, false, NULL, NULL},
    {"TokenizersBackend", PATTERN_GPT2, false, NULL, NULL},
    {"GPT2Tokenizer", PATTERN_GPT2, false, NULL, NULL},
    {"BartTokenizer", PATTERN_GPT2, false, "bart", roberta_tokens},
    {"CodeGenTokenizer", PATTERN_GPT2, false, NULL, NULL},
    {"DebertaTokenizer", PATTERN_GPT2, false, "deberta", deberta_tokens},
    {"LEDTokenizer", PATTERN_GPT2, false, "led", roberta_tokens},
    {"LongformerTokenizer", PATTERN_GPT2, false, "longformer", roberta_tokens},
    {"LukeTokenizer", PATTERN_GPT2, false, "luke", roberta_tokens},
    {"MvpTokenizer", PATTERN_GPT2, false, "mvp", roberta_tokens},
    {"RobertaTokenizer", PATTERN_GPT2, false, "roberta", roberta_tokens},
    {"GPTNeoXTokenizer", PATTERN_GPT2, true, NULL, NULL},
    {"Qwen2Tokenizer", PATTERN_QWEN2, true, NULL, NULL},
};

enum { CLASS_COUNT = sizeof classes / sizeof *classes };

/* Add the special tokens and the stages of the tokenizer's class. */
static int add_stages(struct tokenizer *tokenizer, const struct folder *folder, struct err *err)
{
    char type[MODEL_TYPE_BYTES];
    struct buf text = {0};
    uint32_t first = 0, last = 0;
    size_t found = 0;
    if (find_class(&found, tokenizer, NAMES(classes, CLASS_COUNT),
                   "merges, such as GPT2Tokenizer or Qwen2Tokenizer", folder, err) ||
        tokenizer_model_type(type, folder, err))
        return -1;
    for (size_t i = 0; i < CLASS_COUNT && !*tokenizer->config.class; i++)
        if (classes[i].model && strcmp(classes[i].model, type) == 0)
            found = i; /* a folder without a class has the class of its model_type */
    const struct merges_class *class = &classes[found];

    if (class->usual)
        tokenizer_name_usual(tokenizer, class->usual);
    if (tokenizer_add_listed(tokenizer, folder, err) ||
        tokenizer_add_named(tokenizer, folder, err) ||
        (class->usual &&
         (tokenizer_find_named(&first, tokenizer, NAMED_CLS, folder, "vocab.json", err) ||
          tokenizer_find_named(&last, tokenizer, NAMED_SEP, folder, "vocab.json", err))))
        return -1;
    const char *pattern = splitter_patterns[class->pattern].pattern;
    buf_text(&text, "{");
    if (class->usual)
        buf_format(&text,
                   "\"post_processor\": {\"type\": \"RobertaProcessing\", "
                   "\"cls\": [\"\", %u], \"sep\": [\"\", %u]}, ",
                   first, last);
    buf_format(&text,
               "\"normalizer\": %s, \"pre_tokenizer\": {\"type\": \"Sequence\", "
               "\"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"Regex\": ",
               class->composes ? "{\"type\": \"NFC\"}" : "null");
    json_append_text(&text, pattern, strlen(pattern));
    buf_text(&text, "}}, {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": "
                    "false}]}, \"decoder\": {\"type\": \"ByteLevel\"}}");
    return tokenizer_parse_stages(tokenizer, &text, err);
}

int tokenizer_fill_vocab(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                         struct err *err)
{
    bool merges = folder_has(folder, "merges.txt");
    subword_init(&tokenizer->model, &subword_rows[merges ? SUBWORD_BPE : SUBWORD_WORDS],
                 &tokenizer->set.words);
    return err_if(
        tokenizer_config_read(tokenizer, folder, merges ? CONFIG_LISTED | CONFIG_NAMED : 0, err) ||
        folder_read(folder, merges ? "vocab.json" : name, tokenizer_read_words, tokenizer, err) ||
        (merges && (folder_read(folder, "merges.txt", read_merges, tokenizer, err) ||
                    add_stages(tokenizer, folder, err))));
}

/* --- vocab.txt -------------------------------------------------------------------------------- */

/* The special tokens of the classes that read vocab.txt; ESM splits texts at each of its words. */
enum lines_kind { LINES_BERT, LINES_MPNET, LINES_ESM };

static const char *const lines_tokens[][NAMED_TOKENS] = {
    [LINES_BERT] = {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
    [LINES_MPNET] = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
    [LINES_ESM] = {"", "<eos>", "<unk>", "<eos>", "<pad>", "<cls>", "<mask>"},
};

/* Classes of transformers that read vocab.txt, without `Fast`. */
static const struct lines_class {
    const char *name;
    enum lines_kind kind;
} lines_classes[] = {
    {"", LINES_BERT},
    {"BertTokenizer", LINES_BERT},
    {"PreTrainedTokenizer", LINES_BERT},
    {"TokenizersBackend", LINES_BERT},
    {"ConvBertTokenizer", LINES_BERT},
    {"DistilBertTokenizer", LINES_BERT},
    {"ElectraTokenizer", LINES_BERT},
    {"MobileBertTokenizer", LINES_BERT},
    {"MPNetTokenizer", LINES_MPNET},
    {"EsmTokenizer", LINES_ESM},
};

/* Read the word of each line, which may be empty: its id then has no word. */
static int read_lines(void *context, const struct file *file, struct err *err)
{
    struct word_table *words = &((struct tokenizer *)context)->set.words;
    const char *at = file->bytes, *end = at + file->size;
    size_t most = 1;
    for (const char *byte = at; byte < end; byte++)
        most += *byte == '\n';
    words->form = WORD_TEXT;
    if (word_table_begin(words, most, file->size, err))
        return -1;
    for (size_t line = 1; at < end; line++) {
        struct word word = word_take_line(&at, end);
        if (word.size && utf8_invalid_at(word.bytes, word.size) < word.size)
            return err_set(err, "line %zu: expected a word in UTF-8", line);
        if (word.size && word_table_add(words, word, line - 1, err))
            return err_prefix(err, "line %zu", line);
    }
    return 0;
}

/* Make each word an added token, so texts are split at words. */
static int split_at_words(struct token_set *set, struct err *err)
{
    size_t count = 0;
    struct added_token *items = arena_alloc(&set->arena, set->words.size, sizeof *items, err);
    for (uint32_t id = 0; items && id < set->words.size; id++) {
        struct added_token token = {.id = id};
        token.bytes = word_table_word(&set->words, id, &token.size);
        if (token.bytes)
            items[count++] = token;
    }
    return err_if(!items || token_set_add(set, items, count, err));
}

static int add_lines_stages(struct tokenizer *tokenizer, enum lines_kind kind,
                            const struct folder *folder, const char *name, struct err *err)
{
    static const char *const words[] = {
        [ANSWER_NONE] = "null", [ANSWER_NO] = "false", [ANSWER_YES] = "true"};
    const struct tokenizer_config *config = &tokenizer->config;
    struct buf text = {0};
    uint32_t first = 0, last = 0;
    if (tokenizer_find_named(&tokenizer->model.unknown, tokenizer, NAMED_UNK, folder, name, err) ||
        tokenizer_find_named(&first, tokenizer, NAMED_CLS, folder, name, err) ||
        tokenizer_find_named(&last, tokenizer, NAMED_SEP, folder, name, err))
        return -1;
    if (kind == LINES_ESM)
        buf_text(&text,
                 "{\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}");
    else
        buf_format(&text,
                   "{\"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": %s, "
                   "\"handle_chinese_chars\": %s, \"strip_accents\": %s}, \"pre_tokenizer\": "
                   "{\"type\": \"BertPreTokenizer\"}",
                   words[config->lowers], words[config->spaces], words[config->strips]);
    buf_format(&text,
               ", \"post_processor\": {\"type\": \"%s\", \"cls\": [\"\", %u], \"sep\": [\"\", "
               "%u]}, \"decoder\": {\"type\": \"WordPiece\", \"cleanup\": %s}}",
               kind == LINES_MPNET ? "RobertaProcessing" : "BertProcessing", first, last,
               kind == LINES_ESM ? "false" : "true");
    return err_if(tokenizer_parse_stages(tokenizer, &text, err) ||
                  subword_find_rests(&tokenizer->model, "##", err));
}

int tokenizer_fill_lines(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                         struct err *err)
{
    struct tokenizer_config *config = &tokenizer->config;
    size_t index = 0;
    subword_init(&tokenizer->model, &subword_rows[SUBWORD_WORD_PIECE], &tokenizer->set.words);
    if (tokenizer_config_read(tokenizer, folder, CONFIG_LISTED | CONFIG_NAMED, err) ||
        find_class(&index, tokenizer,
                   NAMES(lines_classes, sizeof lines_classes / sizeof *lines_classes),
                   "vocab.txt, such as BertTokenizer or MPNetTokenizer", folder, err))
        return -1;
    enum lines_kind kind = lines_classes[index].kind;
    struct added_token *mask = &config->named[NAMED_MASK];
    bool strips = kind == LINES_MPNET && !mask->bytes;
    tokenizer_name_usual(tokenizer, lines_tokens[kind]);
    mask->left_strip = mask->left_strip || strips;
    return err_if(folder_read(folder, name, read_lines, tokenizer, err) ||
                  (kind == LINES_ESM && split_at_words(&tokenizer->set, err)) ||
                  tokenizer_add_listed(tokenizer, folder, err) ||
                  tokenizer_add_named(tokenizer, folder, err) ||
                  add_lines_stages(tokenizer, kind, folder, name, err));
}
