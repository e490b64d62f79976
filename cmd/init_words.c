#include "init_words.h"

#include <string.h>

#include "command.h"
#include "inputs.h"
#include "progress.h"
#include "text/label.h"
#include "text/tokenizer.h"

/* What tokenizers are made of, here and in other programs. */
static const char *const file_names[INIT_WORDS_FILES] = {
    "tokenizer.json",        "vocab.json",        "merges.txt",
    "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json",
};

static bool has_texts(const struct options *options)
{
    return options->sentences.count || options->file;
}

bool init_words_are_given(const struct options *options)
{
    return has_texts(options) || options->vocab;
}

int init_words_check(const struct options *options, struct err *err)
{
    if (options->vocab && has_texts(options))
        return err_usage(err, "--vocab: words come from one place, found %s as well",
                         options->file ? "--file" : "--sentence");
    if (options->merges && !options->vocab)
        return err_usage(err, "--merges: goes with --vocab, found no --vocab");
    return 0;
}

static void add_file(struct init_words *words, const char *name, const char *bytes, size_t size)
{
    words->files[words->folder.file_count++] = (struct folder_file){name, bytes, size};
}

static int map_file(struct init_words *words, const char *name, const char *path, struct err *err)
{
    struct file *source = &words->sources[words->folder.file_count];
    if (file_map(source, path, err))
        return -1;
    add_file(words, name, source->bytes, source->size);
    return 0;
}

static int take_vocabulary(struct init_words *words, const struct options *options, struct err *err)
{
    if (map_file(words, "vocab.json", options->vocab, err))
        return -1;
    return options->merges ? map_file(words, "merges.txt", options->merges, err) : 0;
}

/* The file as one text: where its lines end does not matter. */
static int list_file(struct word_list *list, struct init_words *words,
                     const struct options *options, struct err *err)
{
    if (!options->file)
        return 0;
    if (inputs_read_file(&words->text, options->file, err))
        return -1;
    return word_list_add(list, words->text.bytes, words->text.size, err) ? err_prefix(err, "--file")
                                                                         : 0;
}

void init_words_note(const struct options *options, const struct word_list *list)
{
    const struct word *run = &list->unspaced;
    char shown[LABEL_EXCERPT_BYTES];
    if (run->size)
        print_note(options,
                   "'%s' has no blanks between its words: each character is one (with blanks "
                   "between them, words are what they separate)",
                   label_excerpt(shown, run->bytes, run->size));
}

static int list_words(struct word_list *list, struct init_words *words,
                      const struct options *options, struct err *err)
{
    const struct texts *sentences = &options->sentences;
    if (list_file(list, words, options, err))
        return -1;
    for (size_t i = 0; i < sentences->count; i++)
        if (word_list_add(list, sentences->items[i], strlen(sentences->items[i]), err))
            return err_prefix(err, "--sentence");
    return list->count ? 0 : err_set(err, "the text is empty: expected at least one word");
}

static int take_texts(struct init_words *words, const struct options *options, struct err *err)
{
    struct word_list list = {0};
    int failed = list_words(&list, words, options, err);
    if (!failed) {
        init_words_note(options, &list);
        word_list_sort(&list);
        word_list_json(&words->json, &list);
        failed = buf_check(&words->json, err);
    }
    word_list_release(&list);
    if (!failed)
        add_file(words, "vocab.json", words->json.bytes, words->json.size);
    return failed;
}

static int copy_files(struct init_words *words, const struct folder *like, struct err *err)
{
    for (size_t i = 0; i < INIT_WORDS_FILES; i++) {
        struct file *source = &words->sources[words->folder.file_count];
        if (!folder_has(like, file_names[i]))
            continue;
        if (folder_open(source, like, file_names[i], err))
            return -1;
        add_file(words, file_names[i], source->bytes, source->size);
    }
    return 0;
}

static int count_words(struct init_words *words, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    if (tokenizer_open(&tokenizer, &words->folder, err))
        return -1;
    words->count = tokenizer ? tokenizer_size(tokenizer) : 0;
    words->lacks_merges = tokenizer && tokenizer_lacks_merges(tokenizer);
    tokenizer_free(tokenizer);
    return 0;
}

/* The pieces of a byte-level BPE are no words. */
static int check_merges(const struct init_words *words, const char *path, struct err *err)
{
    if (!words->lacks_merges)
        return 0;
    return err_usage(err,
                     "'%s': expected a list of words, found the vocabulary of a byte-level BPE: "
                     "give its merges, too (--merges merges.txt)",
                     path);
}

int init_words_find(struct init_words *words, const struct options *options,
                    const struct folder *like, struct err *err)
{
    int failed = 0;
    words->folder = (struct folder){options->output, words->files, 0};
    if (options->vocab)
        failed = take_vocabulary(words, options, err);
    else if (has_texts(options))
        failed = take_texts(words, options, err);
    else if (like)
        failed = copy_files(words, like, err);
    if (failed)
        return -1;
    if (count_words(words, err)) /* the message names a file that is not there yet */
        return options->vocab ? err_prefix(err, "'%s'", options->vocab) : -1;
    return options->vocab ? check_merges(words, options->vocab, err) : 0;
}

void init_words_release(struct init_words *words)
{
    for (size_t i = 0; i < INIT_WORDS_FILES; i++)
        file_release(&words->sources[i]);
    file_release(&words->text);
    buf_release(&words->json);
    *words = (struct init_words){0};
}

int init_words_check_target(const struct folder *folder, const char *path, struct err *err)
{
    const struct folder target = {.path = path};
    for (size_t i = 0; i < INIT_WORDS_FILES; i++)
        if (folder_has(&target, file_names[i]) && !folder_has(folder, file_names[i]))
            return err_output(err,
                              "cannot write '%s': the '%s' that is there would be read with the "
                              "new files: move it, or give another place",
                              path, file_names[i]);
    return 0;
}

int save_folder(const struct folder *folder, const char *path, const struct options *options,
                struct err *err)
{
    struct target_folder target = {0};
    struct progress progress;
    if (init_words_check_target(folder, path, err) ||
        target_folder_open(&target, path, options->force, err))
        return -1;
    progress_begin(&progress, options, NULL);
    int failed = folder_save(folder, &target, &progress.sink, err);
    progress_end(&progress);
    target_folder_close(&target);
    return failed ? -1 : 0;
}
