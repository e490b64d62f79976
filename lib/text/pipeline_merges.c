#include "text/pipeline.h"

#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "text/label.h"
#include "text/tokenizer_config.h"

/* --- files ------------------------------------------------------------------------------------ */

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct pipeline *pipeline = context;
    struct json_cursor words;
    return json_cursor_open(&words, NULL, file->bytes, file->size, err) ||
                   word_table_read(&pipeline->set.words, words, WORD_BYTES, file->size, err)
               ? -1
               : 0;
}

static int read_merges(void *context, const struct file *file, struct err *err)
{
    struct pipeline *pipeline = context;
    bpe_init(&pipeline->model.bpe, &pipeline->set.words);
    return merges_read_lines(&pipeline->model.bpe, file->bytes, file->size, err);
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

static int add_stages(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    struct arena *arena = &pipeline->arena;
    struct tokenizer_config config;
    const struct merges_class *class = classes;
    pipeline->model.row = &subword_rows[SUBWORD_BPE];
    pipeline->model.words = &pipeline->set.words;
    if (tokenizer_config_read(&config, folder, arena, err) ||
        choose_class(&class, config.class, folder, err) ||
        (class->composes && normalizers_compose(&pipeline->normalizers, arena, err)) ||
        pre_tokenizers_byte_level(&pipeline->pre_tokenizers,
                                  splitter_patterns[class->pattern].pattern, arena, err))
        return -1;
    return decoders_byte_level(&pipeline->decoders, arena, err);
}

int pipeline_open_merges(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    *pipeline = (struct pipeline){0};
    if (folder_read(folder, "vocab.json", read_words, pipeline, err) ||
        folder_read(folder, "merges.txt", read_merges, pipeline, err) ||
        add_stages(pipeline, folder, err) || pipeline_read_special(pipeline, folder, err)) {
        pipeline_release(pipeline);
        return -1;
    }
    return 0;
}
