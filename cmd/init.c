/* init.c: `attn-cli init`: a model directory that begins with the numbers PyTorch would draw.
 *
 * A config from somewhere, with other values where --set has some; words from somewhere; weights by
 * recipe. The directory is written when all of it is there.
 */
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "init_words.h"
#include "model/bundled.h"
#include "model/config_edit.h"
#include "model/model.h"
#include "model/weight_init.h"
#include "progress.h"
#include "model/shape.h"

struct job {
    const struct options *options;
    const char *label;  /* of the config, in messages */
    struct folder like; /* the model that lends its config, and its words if there are no others */
    struct file config; /* as it was found */
    struct buf shape;   /* … or made */
    struct buf text;    /* … and changed */
    struct init_words words;
    struct config_edit edit;
    bool sets_rows; /* of the embedding */
    struct new_model new_model;
    struct arena arena;
};

/* --- options --------------------------------------------------------------------------------- */

/* Sizes come from one place. */
static int check_sizes(const struct options *options, struct err *err)
{
    const struct {
        const char *name, *value;
    } places[] = {
        {"--like", options->like}, {"--shape", options->shape}, {"--config", options->config}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].value && found)
            return err_usage(err, "%s: sizes come from one place, found %s as well", found,
                             places[i].name);
        found = places[i].value ? places[i].name : found;
    }
    if (!found && !init_words_are_given(options))
        return err_usage(err, "expected words or sizes: --sentence TEXT, --like MODEL, --shape "
                              "NAME or --config FILE");
    return 0;
}

static bool is_linear(const struct options *options)
{
    return options->draw && strcmp(options->draw, "linear") == 0;
}

static int check_options(struct job *job, struct err *err)
{
    static const char *const ways[] = {"rand", "linear"};
    const struct options *options = job->options;
    size_t way = 0;
    if (options->operands.count)
        return err_usage(
            err, "unexpected argument '%s': words are given by --sentence, a directory by --output",
            options->operands.items[0]);
    if (check_sizes(options, err) || init_words_check(options, err))
        return -1;
    if (options->draw && names_choose(&way, NAMES_LIST(ways), "--draw", options->draw, err))
        return -1;
    if (!options->output || !*options->output)
        return err_usage(err, "expected a directory to write: --output DIR");
    for (size_t i = 0; i < options->sets.count; i++)
        if (config_edit_read(&job->edit, options->sets.items[i], &job->arena, err))
            return -1;
    job->sets_rows = config_edit_has(&job->edit, "vocab_size");
    return 0;
}

/* --- the config ------------------------------------------------------------------------------ */

static int take_shape(struct job *job, struct err *err)
{
    const struct shape_row *row = shape_find(job->options->shape, err);
    if (!row)
        return -1;
    shape_config(&job->shape, row);
    if (buf_check(&job->shape, err))
        return -1;
    job->label = row->name;
    job->config = file_borrow(job->shape.bytes, job->shape.size);
    return 0;
}

/* Words alone make a model of the sizes of the simplest example. */
static int take_like(struct job *job, struct err *err)
{
    const char *name = job->options->like ? job->options->like : "life";
    struct buf label = {0};
    if (model_find(&job->like, name, err) ||
        folder_open(&job->config, &job->like, "config.json", err))
        return -1;
    buf_format(&label, "%s/config.json", name);
    job->label =
        buf_check(&label, err) ? NULL : arena_text(&job->arena, label.bytes, label.size, err);
    buf_release(&label);
    return job->label ? 0 : -1;
}

static int find_config(struct job *job, struct err *err)
{
    if (job->options->shape)
        return take_shape(job, err);
    if (!job->options->config)
        return take_like(job, err);
    job->label = job->options->config;
    return file_map(&job->config, job->label, err);
}

/* A config that was written for this model may have more rows than there are words. What is wrong
 * with it is said where it is read, but for memory: without it would seem to say nothing. */
static int find_vocab_size(bool *says, const struct job *job, struct err *err)
{
    struct json *root = NULL;
    struct err wrong = {0};
    *says = false;
    if (!job->options->config)
        return 0;
    if (json_parse(&root, job->config.bytes, job->config.size, &wrong))
        return wrong.out_of_memory ? err_adopt(err, &wrong) : 0;
    const struct json *size = json_is_object(root) ? json_member(root, "vocab_size") : NULL;
    *says = size && !json_is_null(size);
    json_free(root);
    return 0;
}

static int make_text(struct job *job, struct err *err)
{
    bool says = false;
    if (find_vocab_size(&says, job, err))
        return -1;
    bool counted = init_words_are_given(job->options) && !job->sets_rows && !says;
    if (counted && config_edit_add_words(&job->edit, job->words.count, &job->arena, err))
        return -1;
    return config_edit_apply(&job->text, &job->edit, job->config.bytes, job->config.size, err);
}

/* --- the model ------------------------------------------------------------------------------- */

/* Every word that was named has a row. (In a model that is copied that is not for us to say.) */
static int check_rows(const struct job *job, struct err *err)
{
    size_t rows = job->new_model.config.vocab_size;
    size_t words = job->words.count;
    if (rows >= words)
        return 0;
    if (job->sets_rows)
        return err_usage(err,
                         "--set: field 'vocab_size': expected at least %zu, a row for each "
                         "word, found %zu",
                         words, rows);
    if (init_words_are_given(job->options))
        return err_set(err,
                       "'%s': field 'vocab_size': expected at least %zu, a row for each word, "
                       "found %zu",
                       job->label, words, rows);
    return 0;
}

static int check_model(const struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct config *config = &job->new_model.config;
    const char *option = options->draw ? "--draw" : options->table ? "--table" : NULL;
    if (config_edit_check(&job->edit, config, err))
        return -1;
    if (option && config->kind != MODEL_ATTENTION)
        return err_usage(err, "%s: is for models of type \"attention\", found type \"%s\"", option,
                         config_kind_name(config));
    return check_rows(job, err);
}

/* A value on the command line that no such model has: not the config is to blame. */
static int check_settings(const struct job *job, struct err *err)
{
    struct config config;
    struct err wrong = {0};
    if (!job->options->sets.count ||
        config_parse(&config, job->text.bytes, job->text.size, &wrong) == 0 ||
        config_parse(&config, job->config.bytes, job->config.size, NULL) != 0)
        return 0;
    return wrong.out_of_memory ? err_adopt(err, &wrong) : err_usage(err, "--set: %s", wrong.text);
}

static int open_draft(struct job *job, struct err *err)
{
    const struct folder *words = &job->words.folder;
    const char *path = job->options->output;
    if (make_text(job, err))
        return err_prefix(err, "'%s'", job->label);
    if (check_settings(job, err))
        return -1;
    if (new_model_open(&job->new_model, path, job->text.bytes, job->text.size, err))
        return err_prefix(err, "'%s'", job->label);
    for (size_t i = 0; i < words->file_count; i++)
        new_model_add_file(&job->new_model, words->files[i].name, words->files[i].bytes,
                           words->files[i].size);
    return check_model(job, err) || init_words_check_target(words, path, err) ? -1 : 0;
}

/* Numbers that were given by hand, as far as the new model has a place for them. */
static int keep_given(struct job *job, struct err *err)
{
    struct safetensors given = {0};
    size_t kept = 0;
    if (safetensors_open(&given, &job->like, "model.safetensors", err))
        return -1;
    for (size_t i = 0; i < job->new_model.count; i++) {
        struct new_model_tensor *to = &job->new_model.tensors[i];
        const struct safetensors_entry *from = safetensors_find(&given, to->name);
        if (!from || from->rank != to->rank ||
            memcmp(from->shape, to->shape, to->rank * sizeof *to->shape) != 0)
            continue;
        memcpy(to->data, from->data, to->count * sizeof *to->data);
        kept++;
    }
    safetensors_release(&given);
    if (kept == job->new_model.count && options_are_given(job->options, "seed"))
        print_note(job->options,
                   "the numbers of '%s' were given, not drawn: --seed changes nothing",
                   job->like.path);
    return 0;
}

/* Of a bundled model that keeps its words, what is special about its numbers. */
static const struct origin *find_origin(const struct job *job)
{
    bool bundled = job->like.files && !init_words_are_given(job->options);
    bool same = bundled && job->new_model.config.vocab_size == job->words.count;
    return same ? origin_find(job->like.path) : NULL;
}

static int fill_draft(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct origin *origin = find_origin(job);
    struct progress progress;
    const struct weight_init init = {
        .seed = (uint64_t)options->torch_seed,
        .way = is_linear(options) ? WEIGHT_INIT_LINEAR : WEIGHT_INIT_RAND,
        .table_rows = (size_t)options->table,
        .source_rows = origin ? origin->source_rows : 0,
        .progress = &progress.sink,
    };
    progress_begin(&progress, options, "layers");
    int failed = weight_init_draw(&job->new_model, &init, err);
    progress_end(&progress);
    if (failed)
        return err_prefix(err, "'%s'", job->label);
    return origin && origin->given ? keep_given(job, err) : 0;
}

static int save(const struct job *job, struct err *err)
{
    const char *path = job->options->output;
    if (save_folder(&job->new_model.folder, path, job->options, err))
        return -1;
    if (bundled_find(path))
        print_note(job->options, "--model %s is the bundled model, this one is --model ./%s", path,
                   path);
    return 0;
}

int init_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = check_options(&job, err) ||
                 target_folder_check(options->output, options->force, err) ||
                 find_config(&job, err) ||
                 init_words_find(&job.words, options, options->like ? &job.like : NULL, err) ||
                 open_draft(&job, err) || fill_draft(&job, err) || save(&job, err);
    new_model_release(&job.new_model);
    init_words_release(&job.words);
    file_release(&job.config);
    buf_release(&job.shape);
    buf_release(&job.text);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
