/* vocab_files.c: vocab.json with merges.txt, for which the class of tokenizer_config.json selects
 * the stages; and vocab.json alone, whose words are found in a text (words.c). */

#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "text/builder.h"
#include "text/label.h"

/* --- files ------------------------------------------------------------------------------------ */

static int read_bytes(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    struct json_cursor words;
    return json_cursor_open(&words, NULL, file->bytes, file->size, err) ||
                   word_table_read(&tokenizer->set.words, words, WORD_BYTES, file->size, err)
               ? -1
               : 0;
}

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    struct json_cursor words;
    return json_cursor_open(&words, NULL, file->bytes, file->size, err) ||
                   word_table_read(&tokenizer->set.words, words, WORD_TEXT, file->size, err) ||
                   word_trie_init(&tokenizer->model.trie, &tokenizer->set.words, err)
               ? -1
               : 0;
}

static int read_merges(void *context, const struct file *file, struct err *err)
{
    struct tokenizer *tokenizer = context;
    bpe_init(&tokenizer->model.bpe, &tokenizer->set.words);
    return merges_read_lines(&tokenizer->model.bpe, file->bytes, file->size, err);
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

enum { CLASS_COUNT = sizeof classes / sizeof *classes };

static int choose_class(const struct merges_class **chosen, const char *class,
                        const struct folder *folder, struct err *err)
{
    static const char fast[] = "Fast";
    char shown[LABEL_EXCERPT_BYTES];
    size_t size = strlen(class);
    size_t index = 0;
    if (name_ends_in(class, fast))
        size -= sizeof fast - 1;
    if (!names_find(&index, NAMES(classes, CLASS_COUNT), class, size))
        return err_unsupported(err,
                               "'%s/tokenizer_config.json': tokenizer_class: expected a class "
                               "with merges, such as GPT2Tokenizer or Qwen2Tokenizer, found '%s'",
                               folder->path, label_excerpt(shown, class, strlen(class)));
    *chosen = &classes[index];
    return 0;
}

static int add_stages(struct tokenizer *tokenizer, const struct folder *folder, struct err *err)
{
    struct arena *arena = &tokenizer->arena;
    const struct merges_class *class = classes;
    if (choose_class(&class, tokenizer->config.class, folder, err) ||
        (class->composes && normalizers_compose(&tokenizer->normalizers, arena, err)) ||
        pre_tokenizers_byte_level(&tokenizer->pre_tokenizers,
                                  splitter_patterns[class->pattern].pattern, arena, err))
        return -1;
    return decoders_byte_level(&tokenizer->decoders, arena, err);
}

int tokenizer_fill_vocab(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                         struct err *err)
{
    bool merges = folder_has(folder, "merges.txt");
    subword_init(&tokenizer->model, &subword_rows[merges ? SUBWORD_BPE : SUBWORD_WORDS],
                 &tokenizer->set.words);
    if (!merges)
        return tokenizer_config_read(tokenizer, folder, 0, err) ||
                       folder_read(folder, name, read_words, tokenizer, err)
                   ? -1
                   : 0;
    return tokenizer_config_read(tokenizer, folder, CONFIG_LISTED | CONFIG_NAMED, err) ||
                   folder_read(folder, "vocab.json", read_bytes, tokenizer, err) ||
                   folder_read(folder, "merges.txt", read_merges, tokenizer, err) ||
                   add_stages(tokenizer, folder, err) ||
                   tokenizer_add_listed(tokenizer, folder, err) ||
                   tokenizer_add_named(tokenizer, folder, err)
               ? -1
               : 0;
}
