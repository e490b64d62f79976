/* init.c: `attn-cli init`: a model directory that begins with the numbers PyTorch would draw.
 *
 * A config from somewhere, with other values where --set has some; words from somewhere; weights by
 * recipe. The directory is written when all of it is there.
 */
#include <limits.h>
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "model/model.h"
#include "model/weight_init.h"
#include "model_maker.h"
#include "progress.h"
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
    const struct texts *texts =
        options->make.texts.count ? &options->make.texts : &options->input.sentences;
    const char *text = texts->count ? *texts->items : NULL;
    const struct source_option sizes[] = {{"--like", options->make.like},
                                          {"--shape", options->make.shape},
                                          {"--config", options->make.config}};
    const struct source_option words[] = {
        {"--vocab", options->make.vocab},
        {options->make.texts.count ? "--vocab-from" : "--sentence", text}};
    const char *found = NULL;
    if (model_maker_source(&found, sizes, sizeof sizes / sizeof *sizes, err))
        return -1;
    if (!found && !new_words_are_given(options))
        return err_usage(err, "expected words or sizes: --sentence TEXT, --vocab-from FILE, --like "
                              "MODEL, --shape NAME or --config FILE");
    if (model_maker_source(&found, words, sizeof words / sizeof *words, err))
        return -1;
    if (options->make.size && !text)
        return err_usage(err, "--vocab-size: expected --vocab-from as well, found none");
    return new_words_check_merges(&options->make, err);
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

/* A config that was written for this model may have more rows than there are words. What is wrong
 * with it is said where it is read, but for memory: without it would seem to say nothing. */
static int find_vocab_size(bool *says, const struct job *job, struct err *err)
{
    struct json *root = NULL;
    struct err wrong = {0};
    *says = false;
    if (!job->options->make.config)
        return 0;
    if (json_parse(&root, job->model.config.bytes, job->model.config.size, &wrong))
        return wrong.out_of_memory ? err_adopt(err, &wrong) : 0;
    *says = json_given(root, "vocab_size") != NULL;
    json_free(root);
    return 0;
}

static int make_text(struct job *job, struct err *err)
{
    bool says = false;
    if (find_vocab_size(&says, job, err))
        return -1;
    bool counted = new_words_are_given(job->options) && !job->sets_rows && !says;
    if (counted &&
        config_edit_add_words(&job->model.edit, job->model.words.count, &job->model.arena, err))
        return -1;
    return config_edit_apply(&job->model.text, &job->model.edit, job->model.config.bytes,
                             job->model.config.size, err);
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
    if (new_words_are_given(job->options))
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

/* A value on the command line that no such model has: not the config is to blame. */
static int check_settings(const struct job *job, struct err *err)
{
    struct config config;
    struct err wrong = {0};
    if (!job->options->make.sets.count ||
        config_parse(&config, job->model.text.bytes, job->model.text.size, &wrong) == 0 ||
        config_parse(&config, job->model.config.bytes, job->model.config.size, NULL) != 0)
        return 0;
    return wrong.out_of_memory ? err_adopt(err, &wrong) : err_usage(err, "--set: %s", wrong.text);
}

static int open_draft(struct job *job, struct err *err)
{
    const char *path = job->options->output.path;
    if (make_text(job, err))
        return err_prefix(err, "'%s'", job->model.label);
    return check_settings(job, err) || model_maker_open(&job->model, path, err) ||
                   check_model(job, err) || save_folder_check(&job->model.words.folder, path, err)
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
    bool bundled = job->like.files && !new_words_are_given(options);
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
