#include "train_start.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/target_folder.h"
#include "inputs.h"
#include "model/model.h"
#include "model/weight_init.h"
#include "text/tokenizer.h"

/* --- options --------------------------------------------------------------------------------- */

/* A model comes from one place. */
static int check_sources(const struct options *options, struct err *err)
{
    const struct source_option sources[] = {{"--resume", options->resume_from},
                                            {"--model", options->model},
                                            {"--shape", options->shape},
                                            {"--config", options->config}};
    const char *found = NULL;
    if (model_maker_source(&found, sources, sizeof sources / sizeof *sources, "a model comes", err))
        return -1;
    if (!found)
        return err_usage(err, "expected a model: --config FILE or --shape NAME with --vocab FILE, "
                              "--model DIR or --resume DIR");
    bool fresh = options->config || options->shape;
    if (fresh != (options->vocab != NULL))
        return err_usage(err,
                         fresh ? "--vocab: expected the vocabulary of a new model"
                               : "--vocab: is for new models, found %s",
                         found);
    if (options->resume_from && options->sets.count)
        return err_usage(err, "--resume: goes on with the settings it has, found --set");
    return new_words_check_merges(options, err);
}

/* A training that goes on where it was saved replaces its own files. */
static bool goes_on_in_place(const struct options *options)
{
    struct stat from;
    struct stat to;
    if (!options->resume_from || !options->output)
        return options->resume_from != NULL;
    return stat(options->resume_from, &from) == 0 && stat(options->output, &to) == 0 &&
           from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

static int check_options(struct train_start *start, const struct options *options, struct err *err)
{
    const char *output = options->output ? options->output : options->resume_from;
    if (options->operands.count)
        return err_usage(err, "unexpected argument '%s': texts are given by --data",
                         options->operands.items[0]);
    if (check_sources(options, err))
        return -1;
    if (!options->data.count)
        return err_usage(err, "expected texts: --data FILE");
    if (!output || !*output)
        return err_usage(err, "expected a directory to write: --output DIR");
    if (model_maker_read_sets(&start->model, err))
        return -1;
    start->output = output;
    start->replaces = options->force || goes_on_in_place(options);
    return target_folder_check(output, start->replaces, err);
}

/* What the line says beside --resume is what the training was begun with, or a mistake. */
static int check_settings(const struct trainer_settings *saved, const struct options *options,
                          struct err *err)
{
    const struct {
        const char *name;
        double saved, found; /* whole numbers have less than 53 bits */
    } rows[] = {
        {"seed", (double)saved->seed, (double)options->seed},
        {"steps", (double)saved->steps, (double)options->steps},
        {"warmup", (double)saved->warmup, (double)options->warmup},
        {"batch", (double)saved->texts, (double)options->batch},
        {"context", (double)saved->tokens, (double)options->context},
        {"accumulate", (double)saved->accumulate, (double)options->accumulate},
        {"rate", saved->rate, options->rate},
        {"decay", saved->decay, options->decay},
        {"clip", saved->clip, options->clip},
        {"dropout", saved->dropout, options->dropout},
        {"drills", saved->drills, options->drills},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (options_are_given(options, rows[i].name) && rows[i].saved != rows[i].found)
            return err_usage(err,
                             "--%s: expected %.16g, which '%s' was begun with, found %.16g: leave "
                             "it out, or begin anew with --model",
                             rows[i].name, rows[i].saved, options->resume_from, rows[i].found);
    return 0;
}

static int take_settings(struct train_start *start, const struct options *options, struct err *err)
{
    struct trainer_settings *settings = &start->state.settings;
    if (options->resume_from)
        return train_checkpoint_open(&start->state, &start->source, err) ||
                       check_settings(settings, options, err)
                   ? -1
                   : 0;
    long long steps = options->steps;
    *settings = (struct trainer_settings){
        .seed = (uint64_t)(options->seed),
        .steps = steps,
        .warmup = options_are_given(options, "warmup") ? options->warmup : steps / 20,
        .texts = options->batch,
        .tokens = options->context,
        .accumulate = options->accumulate,
        .rate = options->rate,
        .decay = options->decay,
        .clip = options->clip,
        .dropout = options->dropout,
        .beta_2 = 0.99,
        .drills = options->drills,
    };
    if (settings->warmup >= steps)
        return err_usage(err, "--warmup: expected fewer steps than %lld, found %lld", steps,
                         settings->warmup);
    return 0;
}

/* --- the model ------------------------------------------------------------------------------- */

static int find_config(struct train_start *start, const struct options *options, struct err *err)
{
    struct model_maker *model = &start->model;
    model->label = start->source.path ? start->source.path : options->config;
    if (start->source.path)
        return folder_open(&model->config, &start->source, "config.json", err);
    if (options->config)
        return file_map(&model->config, options->config, err);
    return model_maker_take_shape(model, err) ||
                   config_edit_add_words(&model->edit, model->words.count, &model->arena, err)
               ? -1
               : 0;
}

static int check_draft(const struct train_start *start, struct err *err)
{
    const struct config *config = &start->model.new_model.config;
    if (config_edit_check(&start->model.edit, config, err))
        return -1;
    if (config->kind != MODEL_GPT2)
        return err_unsupported(err, "expected a model of type \"gpt2\" to train, found \"%s\"",
                               config_kind_name(config));
    if (config->vocab_size < start->model.words.count)
        return err_set(err,
                       "field 'vocab_size': expected at least %zu, a row for each word, found %zu",
                       start->model.words.count, config->vocab_size);
    return 0;
}

static int open_model(struct train_start *start, const struct options *options, struct err *err)
{
    struct model_maker *model = &start->model;
    if (find_config(start, options, err))
        return -1;
    if (config_edit_apply(&model->text, &model->edit, model->config.bytes, model->config.size, err))
        return err_prefix(err, "'%s'", model->label);
    if (model_maker_open(model, start->output, err))
        return -1;
    if (check_draft(start, err))
        return err_prefix(err, "'%s'", model->label);
    if (save_folder_check(&model->words.folder, start->output, err))
        return -1;
    const struct weight_init init = {.seed = (uint64_t)options->seed};
    return start->source.path ? train_checkpoint_weights(&model->new_model, &start->source, err)
                              : weight_init_draw(&model->new_model, &init, err);
}

/* --- texts ----------------------------------------------------------------------------------- */

static int read_texts(struct train_start *start, const struct options *options, struct err *err)
{
    struct trainer_settings *settings = &start->state.settings;
    struct tokenizer *tokenizer = NULL;
    int failed = tokenizer_open(&tokenizer, &start->model.words.folder, err);
    if (!failed && !tokenizer)
        failed = err_set(err, "'%s': expected a tokenizer, found none", start->source.path);
    for (size_t i = 0; i < options->data.count && !failed; i++) {
        const char *path = options->data.items[i];
        struct file file = {0};
        failed = inputs_read_file(&file, path, err);
        if (!failed && dataset_add(&start->texts, tokenizer, file.bytes, file.size, err))
            failed = err_prefix(err, "'%s'", path);
        file_release(&file);
    }
    tokenizer_free(tokenizer);
    if (!settings->tokens) {
        size_t positions = start->model.new_model.config.n_positions;
        settings->tokens = positions < 128 ? (long long)positions : 128;
    }
    if (!failed && dataset_finish(&start->texts, (size_t)settings->tokens, 0.02, err))
        failed = err_prefix(err, "--data");
    return failed ? -1 : 0;
}

int train_start_open(struct train_start *start, const struct options *options, struct err *err)
{
    const char *name = options->resume_from ? options->resume_from : options->model;
    start->model.options = options;
    if (check_options(start, options, err) || (name && model_find(&start->source, name, err)) ||
        take_settings(start, options, err) ||
        new_words_find(&start->model.words, options, name ? &start->source : NULL, err))
        return -1;
    return open_model(start, options, err) || read_texts(start, options, err) ? -1 : 0;
}

void train_start_release(struct train_start *start)
{
    dataset_release(&start->texts);
    model_maker_release(&start->model);
}
