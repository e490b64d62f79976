/* init.c: `attn-cli init`: a model directory that begins with the numbers PyTorch would draw; and
 * the functions that train shares to make a new model.
 *
 * A config from somewhere, with other values where --set has some; words from somewhere; weights by
 * recipe. The directory is written when all of it is there.
 */
#include "init.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "items.h"
#include "model/model.h"
#include "model/weight_init.h"
#include "progress.h"
#include "session.h"
#include "text/subword/bpe_learn.h"

WORDS(draws, NULL, {"rand", "torch.rand, head by head"}, {"linear", "nn.Linear"})

static const struct option_row own_options[] = {
    STRINGS("sentence", 's', "TEXT", IN(input.sentences),
            "its words, sorted, become the vocabulary (repeatable); in scripts without spaces its "
            "characters",
            .heading = "Vocabulary"),
    STRINGS("vocab-from", 0, "FILE", IN(make.texts),
            "learn the vocabulary from a text file (repeatable; - is standard input): its words, "
            "or with --vocab-size byte-level BPE"),
    INTEGER("vocab-size", 0, "N", IN(make.size), BPE_LEARN_BYTES, BPE_LEARN_MAX,
            "learn byte-level BPE with N tokens (at least 256); writes vocab.json and merges.txt"),
    STRING(
        "vocab", 0, "FILE", IN(make.vocab),
        "existing vocabulary: a tokenizer.json, or a vocab.json (with --merges: byte-level BPE)"),
    STRING("merges", 0, "FILE", IN(make.merges), "merges.txt of byte-level BPE, with --vocab"),
    STRING("like", 0, "MODEL", IN(make.like),
           "take sizes from a model, and its vocabulary unless another is given (default: life)",
           .heading = "Sizes", .values = &values_models),
    STRING("shape", 0, "NAME", IN(make.shape), "sizes of a well-known model (see 'help sizes')",
           .values = &values_shapes),
    STRING("config", 0, "FILE", IN(make.config), "sizes from a config.json"),
    STRINGS("set", 0, "LIST", IN(make.sets),
            "override values of the config: n_layer=2,n_head=4 (see 'help sizes')",
            .values = &values_keys, .joints = ","),
    INTEGER("seed", 0, "N", IN(make.seed), 0, LLONG_MAX,
            "seed for torch.manual_seed (default: 123)", .heading = "Random weights",
            .preset = ORIGIN_SEED),
    STRING("draw", 0, "HOW", IN(make.draw),
           "initialise projections with torch.rand, head by head (rand, default), or as nn.Linear "
           "does (linear)",
           .values = &values_draws),
    INTEGER("table", 0, "ROWS", IN(make.table), 1, 100000000,
            "size of the nn.Embedding whose first rows are the words (default: 50000)"),
    STRING("output", 'o', "DIR", IN(output.path), "folder to write", .heading = "Output",
           .flags = OPTION_PROCESS),
    FLAG("force", 0, IN(output.force), "replace existing files in a folder",
         .flags = OPTION_PROCESS),
    {0},
};

const struct command command_init = {
    .name = "init",
    .group = "Build",
    .about = "make a model with random weights",
    .operands = "",
    .examples = "attn-cli init --sentence \"Life is short, eat dessert first\" -o words\n"
                "attn-cli init --like life --seed 123 -o life-again\n"
                "attn-cli init --shape tiny --set n_layer=3 --seed 7 -s \"Life is short\" -o mine\n"
                "attn-cli init --config mine/config.json --vocab mine/vocab.json -o other\n"
                "attn-cli init --shape tiny --vocab-from fables.txt --vocab-size 1024 -o bpe\n",
    .run = init_command,
    .options = own_options,
    .shared = {{running_options, "threads verbose"}},
};

static bool has_texts(const struct options *options)
{
    return options->input.sentences.count || options->make.texts.count;
}

static bool words_are_given(const struct options *options)
{
    return has_texts(options) || options->make.vocab;
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
    struct tokenizer *tokenizer = NULL;
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
    if (tokenizer_open(&tokenizer, &words->folder, err))
        return options->make.vocab ? name_source(words, &options->make, err) : -1;
    words->count = tokenizer ? tokenizer_size(tokenizer) : 0;
    bool lacks_merges = tokenizer && tokenizer_lacks_merges(tokenizer);
    tokenizer_free(tokenizer);
    if (options->make.vocab && lacks_merges) /* its subwords are not words */
        return err_usage(err,
                         "'%s': expected a list of words, found the vocabulary of a byte-level "
                         "BPE: give its merges, too (--merges merges.txt)",
                         options->make.vocab);
    return 0;
}

/* --- the config and the folder ---------------------------------------------------------------- */

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

/* --- the command ------------------------------------------------------------------------------ */

struct job {
    const struct options *options;
    struct folder like; /* the model that lends its config, and its words if there are no others */
    bool sets_rows;     /* of the embedding */
    size_t way;         /* of --draw: rand, linear */
    struct model_maker model;
};

/* One source of sizes, and one of words. */
static int check_sources(const struct options *options, struct err *err)
{
    const struct make_options *make = &options->make;
    if (options_exclude(options, "like", "shape config", err) ||
        options_exclude(options, "shape", "config", err) ||
        options_exclude(options, "vocab", "sentence vocab-from", err))
        return -1;
    if (!make->like && !make->shape && !make->config && !words_are_given(options))
        return err_usage(err, "expected words or sizes: --sentence TEXT, --vocab-from FILE, --like "
                              "MODEL, --shape NAME or --config FILE");
    if (make->size && !has_texts(options))
        return err_usage(err, "--vocab-size: expected --vocab-from as well, found none");
    if (make->merges && !make->vocab)
        return err_usage(err, "--merges: expected --vocab as well, found none");
    return 0;
}

static int check_options(struct job *job, struct err *err)
{
    static const char *const ways[] = {"rand", "linear"};
    const struct options *options = job->options;
    if (options->input.operands.count)
        return err_usage(
            err, "unexpected argument '%s': words are given by --sentence, a directory by --output",
            options->input.operands.items[0]);
    if (check_sources(options, err))
        return -1;
    if (options->make.draw &&
        names_choose(&job->way, NAMES_LIST(ways), "--draw", options->make.draw, err))
        return -1;
    if (!options->output.path || !*options->output.path)
        return err_usage(err, "expected a directory to write: --output DIR");
    if (model_maker_read_sets(&job->model, err))
        return -1;
    job->sets_rows = config_edit_has(&job->model.edit, "vocab_size");
    return 0;
}

/* Words alone make a model of the sizes of the simplest example. */
static int find_config(struct job *job, struct err *err)
{
    const char *name = job->options->make.like ? job->options->make.like : "life";
    if (job->options->make.shape)
        return model_maker_take_shape(&job->model, err);
    job->model.label = job->options->make.config;
    if (job->model.label)
        return file_map(&job->model.config, job->model.label, err);
    if (model_find(&job->like, name, &job->model.arena, err) ||
        folder_open(&job->model.config, &job->like, "config.json", err))
        return -1;
    job->model.label = arena_format(&job->model.arena, err, "%s/config.json", name);
    return job->model.label ? 0 : -1;
}

/* A config that was written for this model may have more rows than there are words. An error in it
 * is reported where it is read, except for memory: the config would seem to lack the field. */
static int make_text(struct job *job, struct err *err)
{
    struct model_maker *model = &job->model;
    struct json *root = NULL;
    struct err wrong = {0};
    if (job->options->make.config &&
        json_parse(&root, model->config.bytes, model->config.size, &wrong) && wrong.out_of_memory)
        return err_adopt(err, &wrong);
    bool says = root && json_given(root, "vocab_size");
    json_free(root);
    if (words_are_given(job->options) && !job->sets_rows && !says &&
        config_edit_add_words(&model->edit, model->words.count, &model->arena, err))
        return -1;
    return config_edit_apply(&model->text, &model->edit, model->config.bytes, model->config.size,
                             err);
}

/* Every word that was named has a row. (In a model that is copied that is not for us to say.) */
static int check_rows(const struct job *job, struct err *err)
{
    size_t rows = job->model.new_model.config.vocab_size;
    size_t words = job->model.words.count;
    if (rows >= words)
        return 0;
    if (job->sets_rows)
        return err_usage(
            err, "--set: field 'vocab_size': expected at least %zu, a row for each word, found %zu",
            words, rows);
    if (words_are_given(job->options))
        return err_set(
            err, "'%s': field 'vocab_size': expected at least %zu, a row for each word, found %zu",
            job->model.label, words, rows);
    return 0;
}

static int check_model(const struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct config *config = &job->model.new_model.config;
    const char *option = options->make.draw ? "--draw" : options->make.table ? "--table" : NULL;
    if (config_edit_check(&job->model.edit, config, err))
        return -1;
    if (option && config->kind != MODEL_ATTENTION)
        return err_usage(err, "%s: is for models of type \"attention\", found type \"%s\"", option,
                         config_kind_name(config));
    return check_rows(job, err);
}

static int open_draft(struct job *job, struct err *err)
{
    const struct buf *text = &job->model.text;
    const struct file *before = &job->model.config;
    const char *path = job->options->output.path;
    struct config config;
    struct err wrong = {0};
    if (make_text(job, err))
        return err_prefix(err, "'%s'", job->model.label);
    /* a config that was right before --set: the error is that of the command line */
    if (job->options->make.sets.count && config_parse(&config, text->bytes, text->size, &wrong) &&
        config_parse(&config, before->bytes, before->size, NULL) == 0)
        return wrong.out_of_memory ? err_adopt(err, &wrong)
                                   : err_usage(err, "--set: %s", wrong.text);
    return model_maker_open(&job->model, path, err) || check_model(job, err) ||
                   save_folder_check(&job->model.words.folder, path, err)
               ? -1
               : 0;
}

/* Numbers that were given by hand, as far as the new model has a place for them. */
static int keep_given(struct job *job, struct err *err)
{
    struct safetensors given = {0};
    size_t kept = 0;
    if (safetensors_open(&given, &job->like, "model.safetensors", err))
        return -1;
    for (size_t i = 0; i < job->model.new_model.count; i++) {
        struct new_model_tensor *to = &job->model.new_model.tensors[i];
        const struct safetensors_entry *from = safetensors_find(&given, to->name);
        if (!from || from->rank != to->rank ||
            memcmp(from->shape, to->shape, to->rank * sizeof *to->shape) != 0)
            continue;
        memcpy(to->data, from->data, to->count * sizeof *to->data);
        kept++;
    }
    safetensors_release(&given);
    if (kept == job->model.new_model.count && options_are_given(job->options, "seed"))
        print_note("the weights of '%s' are not random: --seed has no effect", job->like.path);
    return 0;
}

static int fill_draft(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    bool bundled = job->like.files && !words_are_given(options);
    bool same = bundled && job->model.new_model.config.vocab_size == job->model.words.count;
    const struct origin *origin = same ? origin_find(job->like.path) : NULL; /* it has its words */
    struct progress progress;
    const struct weight_init init = {
        .seed = (uint64_t)options->make.seed,
        .way = job->way ? WEIGHT_INIT_LINEAR : WEIGHT_INIT_RAND,
        .table_rows = (size_t)options->make.table,
        .source_rows = origin ? origin->source_rows : 0,
        .progress = &progress.sink,
    };
    progress_begin(&progress, "layers");
    int failed = weight_init_draw(&job->model.new_model, &init, err);
    progress_end(&progress);
    if (failed)
        return err_prefix(err, "'%s'", job->model.label);
    return origin && origin->given ? keep_given(job, err) : 0;
}

int init_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .model.options = options};
    int failed =
        check_options(&job, err) ||
        target_folder_check(options->output.path, options->output.force, err) ||
        find_config(&job, err) ||
        new_words_find(&job.model.words, options, options->make.like ? &job.like : NULL, err) ||
        open_draft(&job, err) || fill_draft(&job, err) ||
        save_folder(&job.model.new_model.folder, options->output.path, options->output.force, err);
    if (!failed && bundled_find(options->output.path))
        print_note("--model %s is the bundled model, this one is --model ./%s",
                   options->output.path, options->output.path);
    model_maker_release(&job.model);
    return failed ? -1 : 0;
}
