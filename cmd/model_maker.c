#include "model_maker.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "format/json.h"
#include "progress.h"
#include "items.h"
#include "session.h"
#include "text/subword/bpe_learn.h"

static bool has_texts(const struct options *options)
{
    return options->input.sentences.count || options->make.texts.count;
}

bool new_words_are_given(const struct options *options)
{
    return has_texts(options) || options->make.vocab;
}

int new_words_check_merges(const struct make_options *options, struct err *err)
{
    if (options->merges && !options->vocab)
        return err_usage(err, "--merges: expected --vocab as well, found none");
    return 0;
}

static void add_file(struct new_words *words, const char *name, const char *bytes, size_t size)
{
    words->files[words->folder.file_count++] = (struct folder_file){name, bytes, size};
}

static int map_file(struct new_words *words, const char *name, const char *path, struct err *err)
{
    struct file *source = &words->sources[words->folder.file_count];
    if (file_map(source, path, err))
        return -1;
    add_file(words, name, source->bytes, source->size);
    return 0;
}

/* --- a vocabulary learnt from texts ----------------------------------------------------------- */

struct vocab_text {
    const char *label; /* in messages */
    struct file file;
};

static int read_texts(struct new_words *words, const struct options *options, struct err *err)
{
    const struct texts *paths = &options->make.texts;
    const struct texts *sentences = &options->input.sentences;
    words->texts =
        arena_alloc(&words->arena, paths->count + sentences->count, sizeof *words->texts, err);
    if (!words->texts)
        return -1;
    for (size_t i = 0; i < paths->count; i++) {
        struct vocab_text *text = &words->texts[words->text_count++];
        text->label = arena_format(&words->arena, err, "'%s'", paths->items[i]);
        if (!text->label || input_file_open(&text->file, paths->items[i], err))
            return -1;
    }
    for (size_t i = 0; i < sentences->count; i++) {
        const char *sentence = sentences->items[i];
        words->texts[words->text_count++] =
            (struct vocab_text){"--sentence", file_borrow(sentence, strlen(sentence))};
    }
    return 0;
}

/* Each text as a whole: line ends do not matter. */
static int list_words(struct new_words *words, struct err *err)
{
    struct word_list list = {0};
    char shown[LABEL_EXCERPT_BYTES];
    int failed = 0;
    for (size_t i = 0; i < words->text_count && !failed; i++) {
        const struct vocab_text *text = &words->texts[i];
        if (word_list_add(&list, text->file.bytes, text->file.size, err))
            failed = err_prefix(err, "%s", text->label);
    }
    if (!failed && !list.count)
        failed = err_set(err, "the text is empty: expected at least one word");
    if (!failed && list.unspaced.size)
        print_note("'%s' has no spaces: each character becomes a word (put spaces between words to "
                   "keep them whole)",
                   label_excerpt(shown, list.unspaced.bytes, list.unspaced.size));
    if (!failed) {
        word_list_sort(&list);
        word_list_json(&words->json, &list);
        failed = buf_check(&words->json, err);
    }
    word_list_release(&list);
    return failed ? -1 : 0;
}

/* Byte-level BPE of at most `size` tokens. */
static int learn_pairs(struct new_words *words, size_t size, struct err *err)
{
    struct bpe_learner learner = {0};
    struct progress progress;
    int failed = 0;
    for (size_t i = 0; i < words->text_count && !failed; i++) {
        const struct vocab_text *text = &words->texts[i];
        if (bpe_learner_add(&learner, text->file.bytes, text->file.size, err))
            failed = err_prefix(err, "%s", text->label);
    }
    progress_begin(&progress, "tokens");
    learner.progress = &progress.sink;
    failed = failed || bpe_learner_run(&learner, size, err);
    progress_end(&progress);
    if (!failed) {
        bpe_learner_vocab(&learner, &words->json);
        bpe_learner_merges(&learner, &words->merges);
        failed = buf_check(&words->json, err) || buf_check(&words->merges, err);
    }
    if (!failed && learner.token_count < size)
        print_note("no pair of tokens occurs twice: the vocabulary has %zu tokens, not %zu",
                   learner.token_count, size);
    bpe_learner_release(&learner);
    return failed ? -1 : 0;
}

static int learn_words(struct new_words *words, const struct options *options, struct err *err)
{
    size_t size = (size_t)options->make.size;
    if (read_texts(words, options, err) ||
        (size ? learn_pairs(words, size, err) : list_words(words, err)))
        return -1;
    add_file(words, "vocab.json", words->json.bytes, words->json.size);
    if (size)
        add_file(words, "merges.txt", words->merges.bytes, words->merges.size);
    return 0;
}

/* --- a vocabulary that exists ----------------------------------------------------------------- */

static int copy_files(struct new_words *words, const struct folder *like, struct err *err)
{
    for (size_t i = 0; i < TOKENIZER_FILES; i++) {
        const char *name = tokenizer_file_name(i);
        struct file *source = &words->sources[words->folder.file_count];
        if (!folder_has(like, name))
            continue;
        if (folder_open(source, like, name, err))
            return -1;
        add_file(words, name, source->bytes, source->size);
    }
    return 0;
}

static int count_words(struct new_words *words, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    if (tokenizer_open(&tokenizer, &words->folder, err))
        return -1;
    words->count = tokenizer ? tokenizer_size(tokenizer) : 0;
    words->lacks_merges = tokenizer && tokenizer_lacks_merges(tokenizer);
    tokenizer_free(tokenizer);
    return 0;
}

/* A tokenizer.json has a "model", which is an object; where words are names, values are ids. */
static int has_model(bool *found, const char *bytes, size_t size, struct err *err)
{
    struct json_cursor cursor;
    if (json_cursor_open(&cursor, NULL, bytes, size, err))
        return -1;
    *found = false;
    if (json_cursor_kind(&cursor) != '{')
        return 0;
    json_cursor_enter(&cursor);
    while (!*found && json_cursor_next(&cursor)) {
        struct json_span name = json_cursor_name(&cursor);
        *found = json_span_is(name, "model") && json_cursor_kind(&cursor) == '{';
        json_cursor_value(&cursor);
    }
    return 0;
}

/* --vocab and --merges: what is in the first tells which file it is to be. */
static int map_vocab(struct new_words *words, const struct make_options *options, struct err *err)
{
    const char *path = options->vocab;
    bool is_json = name_ends_in(path, "tokenizer.json");
    if (map_file(words, "vocab.json", path, err))
        return -1;
    struct folder_file *vocab = &words->files[0];
    const char *end = vocab->bytes + vocab->size;
    const char *at = json_blanks_end(vocab->bytes, end);
    if (at == end || !strchr("[{", *at))
        return err_set(err,
                       "'%s': expected a vocab.json or a tokenizer.json, found neither an object "
                       "nor an array",
                       path);
    if (!is_json && has_model(&is_json, vocab->bytes, vocab->size, err))
        return err_prefix(err, "'%s'", path);
    if (is_json && options->merges)
        return err_usage(
            err, "--merges: expected a vocab.json, found '%s', which has merges of its own", path);
    vocab->name = is_json ? "tokenizer.json" : vocab->name;
    return options->merges ? map_file(words, "merges.txt", options->merges, err) : 0;
}

/* A message names a file of the new folder, which is not there yet: name what it comes from. */
static int name_source(const struct new_words *words, const struct make_options *options,
                       struct err *err)
{
    const char *const sources[] = {options->vocab, options->merges};
    char place[ERR_TEXT_BYTES];
    for (size_t i = 0; i < words->folder.file_count; i++) {
        int size =
            snprintf(place, sizeof place, "'%s/%s': ", words->folder.path, words->files[i].name);
        if (size < 0 || size >= ERR_TEXT_BYTES || strncmp(err->text, place, (size_t)size) != 0)
            continue;
        memmove(err->text, err->text + size, strlen(err->text + size) + 1);
        return err_prefix(err, "'%s'", sources[i]);
    }
    return err_prefix(err, "'%s'", options->vocab);
}

int new_words_find(struct new_words *words, const struct options *options,
                   const struct folder *like, struct err *err)
{
    int failed = 0;
    words->folder = (struct folder){options->output.path, words->files, 0};
    if (options->make.vocab)
        failed = map_vocab(words, &options->make, err);
    else if (has_texts(options))
        failed = learn_words(words, options, err);
    else if (like)
        failed = copy_files(words, like, err);
    if (failed)
        return -1;
    if (count_words(words, err))
        return options->make.vocab ? name_source(words, &options->make, err) : -1;
    if (options->make.vocab && words->lacks_merges) /* its pieces are no words */
        return err_usage(err,
                         "'%s': expected a list of words, found the vocabulary of a byte-level "
                         "BPE: give its merges, too (--merges merges.txt)",
                         options->make.vocab);
    return 0;
}

int model_maker_source(const char **found, const struct source_option *options, size_t count,
                       struct err *err)
{
    *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (options[i].value && *found)
            return err_usage(err, "%s and %s cannot be combined", *found, options[i].name);
        *found = options[i].value ? options[i].name : *found;
    }
    return 0;
}

int model_maker_read_sets(struct model_maker *model, struct err *err)
{
    const struct texts *sets = &model->options->make.sets;
    for (size_t i = 0; i < sets->count; i++)
        if (config_edit_read(&model->edit, sets->items[i], &model->arena, err))
            return -1;
    return 0;
}

int model_maker_take_shape(struct model_maker *model, struct err *err)
{
    const struct shape_row *row = shape_find(model->options->make.shape, err);
    if (!row)
        return -1;
    shape_config(&model->shape, row);
    if (buf_check(&model->shape, err))
        return -1;
    model->label = row->name;
    model->config = file_borrow(model->shape.bytes, model->shape.size);
    return 0;
}

int model_maker_open(struct model_maker *model, const char *path, struct err *err)
{
    const struct folder *words = &model->words.folder;
    if (new_model_open(&model->new_model, path, model->text.bytes, model->text.size, err))
        return err_prefix(err, "'%s'", model->label);
    for (size_t i = 0; i < words->file_count; i++)
        new_model_add_file(&model->new_model, words->files[i].name, words->files[i].bytes,
                           words->files[i].size);
    return 0;
}

void model_maker_release(struct model_maker *model)
{
    struct new_words *words = &model->words;
    new_model_release(&model->new_model);
    for (size_t i = 0; i < TOKENIZER_FILES; i++)
        file_release(&words->sources[i]);
    for (size_t i = 0; i < words->text_count; i++)
        file_release(&words->texts[i].file);
    buf_release(&words->json);
    buf_release(&words->merges);
    arena_release(&words->arena);
    file_release(&model->config);
    buf_release(&model->shape);
    buf_release(&model->text);
    arena_release(&model->arena);
}

int save_folder_check(const struct folder *folder, const char *path, struct err *err)
{
    const struct folder target = {.path = path};
    for (size_t i = 0; i < TOKENIZER_FILES; i++) {
        const char *name = tokenizer_file_name(i);
        if (folder_has(&target, name) && !folder_has(folder, name))
            return err_output(err,
                              "cannot write '%s': its '%s' would be read with the new files: move "
                              "it, or choose another folder",
                              path, name);
    }
    return 0;
}

int save_folder(const struct folder *folder, const char *path, bool replaces, struct err *err)
{
    struct target_folder target = {0};
    struct progress progress;
    if (save_folder_check(folder, path, err) || target_folder_open(&target, path, replaces, err))
        return -1;
    progress_begin(&progress, NULL);
    int failed = folder_save(folder, &target, &progress.sink, err);
    progress_end(&progress);
    target_folder_close(&target);
    return failed ? -1 : 0;
}
