/* train.c: `attn-cli train`: trains a model on texts, with checkpoints. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/platform.h"
#include "base/replacement.h"
#include "base/stream.h"
#include "command.h"
#include "format/json.h"
#include "items.h"
#include "model/model.h"
#include "say.h"
#include "train/weight_init.h"
#include "session.h"
#include "init.h"
#include "pass/forward.h"
#include "train/trainer.h"

struct own_options {
    struct texts data;
    const char *resume;
    bool classes;
    struct trainer_settings settings;
};

static const struct option_row own_options[] = {
    STRINGS("data", 'd', "FILE", OWN(data),
            "training text, one or more lines per text; repeatable; for encoder-decoders, a table "
            "with the columns source and text, for classes with text, label and, if texts are "
            "pairs, pair; the last 2 % are held out",
            .heading = "Text and model"),
    FLAG("classes", 0, OWN(classes),
         "learn the labels of the texts; a model without a head of classes gets a new one"),
    STRING("shape", 0, "NAME", IN(make.shape),
           "new model with the sizes of a well-known one; needs --vocab; see 'help sizes'",
           .values = &values_shapes),
    STRING("config", 0, "FILE", IN(make.config),
           "new model with the sizes of a config.json; needs --vocab"),
    STRINGS("set", 0, "LIST", IN(make.sets),
            "override values of the config: n_layer=2,n_head=4; see 'help sizes'",
            .values = &values_keys, .joints = ","),
    STRING("vocab", 0, "FILE", IN(make.vocab), "vocab.json of a new model"),
    STRING("merges", 0, "FILE", IN(make.merges), "merges.txt of byte-level BPE, with --vocab"),
    STRING("model", 'm', "MODEL", IN(model.name), "start from the weights of this model",
           .values = &values_models),
    STRING("resume", 0, "DIR", OWN(resume),
           "continue a saved training run, bit for bit; with its settings; the result is that of "
           "an unbroken run"),
    INTEGER("steps", 0, "N", OWN(settings.steps), 1, 1000000000, "optimiser steps (default: 1000)",
            .heading = "Training", .preset = 1000),
    INTEGER("batch-size", 0, "N", OWN(settings.texts), 1, 1000000, "texts per batch (default: 32)",
            .preset = 32),
    INTEGER("context", 0, "N", OWN(settings.tokens), 1, 1000000,
            "tokens per text; default: the model's, up to 128; of a table: of its longest text"),
    INTEGER("grad-accum", 0, "N", OWN(settings.accumulate), 1, 1000000,
            "batches per step (default: 1)", .preset = 1),
    REAL("lr", 0, "R", OWN(settings.rate), 0, 1000,
         "peak learning rate of AdamW (default: 0.001); β₁ is 0.9, β₂ 0.99, ε 1e-8",
         .preset = 1e-3),
    INTEGER("warmup-steps", 0, "N", OWN(settings.warmup), 0, 1000000000,
            "steps of linear warmup; then cosine decay to a tenth of --lr; default: a twentieth of "
            "--steps"),
    REAL("weight-decay", 0, "D", OWN(settings.decay), 0, 1000,
         "weight decay of matrices (default: 0.1)", .preset = 0.1),
    REAL("grad-clip", 0, "G", OWN(settings.clip), 0, 1000000,
         "maximum gradient norm (default: 1); 0: no clipping", .preset = 1),
    REAL("dropout", 0, "P", OWN(settings.dropout), 0, 1,
         "probability of dropout (default: 0); in attention, embeddings and residual stream"),
    REAL("drills", 0, "P", OWN(settings.drills), 0, 1,
         "fraction of texts of repeated tokens (default: 0); these texts are random tokens that "
         "repeat, and train induction heads"),
    INTEGER("seed", 0, "N", OWN(settings.seed), 0, 9007199254740991,
            "seed of weights, text order and dropout; default: 0"),
    STRING("output", 'o', "DIR", IN(output.path), "folder for the model; default: that of --resume",
           .heading = "Output", .flags = OPTION_PROCESS),
    INTEGER("save-every", 0, "N", OWN(settings.save_every), 1, 1000000000,
            "save every N steps; default: at powers of two"),
    FLAG("force", 0, IN(output.force), "overwrite existing files in a folder",
         .flags = OPTION_PROCESS),
    {0},
};

static command_verb train_command;

const struct command command_train = {
    .name = "train",
    .heading = "Models",
    .about = "train a small model",
    .operands = "",
    .most_used = "-d fables.txt\ttexts, one or more lines each\n"
                 "-m start\tweights to start from\n"
                 "-o fables\tfolder for the model\n"
                 "--steps 200\n"
                 "--lr 0.0003\tlearning rate (default: 0.001)\n"
                 "--batch-size 16\n"
                 "--context 64\ttokens per text\n"
                 "--classes\tlearn the labels of the texts\n",
    .examples = "attn-cli init --shape tiny --vocab-from fables.txt -o start\n"
                "attn-cli train -d fables.txt -m start --steps 64 -o fables\n"
                "attn-cli train -d fables.txt -m fables --steps 200 --lr 0.0003 -o more\n"
                "attn-cli train -d fables.txt --resume fables/step-00000032 -o again\n"
                "attn-cli init --shape tiny --vocab-from reviews.csv -o untrained\n"
                "attn-cli train -d reviews.csv --classes -m untrained -o reviews\n",
    .run = train_command,
    .options = own_options,
    .without = "verbose",
};

enum { TEST_EVERY = 100, LOSS_BYTES = 64 };

struct train_run {
    const struct options *options;
    const char *output; /* the folder to write */
    bool replaces;      /* existing files in `output` may be replaced */
    struct train_checkpoint state;
    struct dataset texts;
    struct model_maker model;
    bool is_labelled;   /* the texts have labels */
    struct texts names; /* names of the classes */
    struct machine machine;
    struct trainer trainer;
    double step_tokens; /* number of tokens of all texts in a step */
    struct buf log;
    struct stream out;
    struct target_folder target;
    double seconds; /* seconds of training, without evaluation and saving */
    long long first_step;
    struct progress progress;
};

/* --- options --------------------------------------------------------------------------------- */

/* Refuse a command line that gives a model by several options, or by none. Check the folder of the
 * output. */
static int check_options(struct train_run *run, struct err *err)
{
    const struct options *options = run->options;
    const struct make_options *make = &options->make;
    const char *resume = options_own(options)->resume;
    const char *found = resume ? "--resume" : options->model.name ? "--model" : NULL;
    const char *output = options->output.path ? options->output.path : resume;
    bool fresh = make->config || make->shape;
    if (options->input.operands.count)
        return err_usage(err, "unexpected argument '%s': use --data for texts",
                         options->input.operands.items[0]);
    if (options_exclude(options, "resume", "model shape config set", err) ||
        options_exclude(options, "model", "shape config", err))
        return -1;
    if (!found && !fresh)
        return err_usage(err, "expected a model: --config FILE or --shape NAME with --vocab FILE, "
                              "--model DIR or --resume DIR");
    if (fresh != (make->vocab != NULL))
        return err_usage(
            err,
            fresh ? "--vocab: expected the vocabulary of a new model: 'attn-cli init --vocab-from "
                    "FILE -o DIR' writes DIR/vocab.json"
                  : "--vocab applies only to new models, found %s",
            found);
    if (!options_own(options)->data.count)
        return err_usage(err, "expected texts: --data FILE");
    if (!output || !*output)
        return err_usage(err, "expected an output folder: --output DIR");
    run->output = output;
    run->replaces = options->output.force || (resume && file_is_same(resume, output));
    return target_folder_check(output, run->replaces, err);
}

/* Use the training settings of the options or, with --resume, the saved settings, from which given
 * options must not differ. */
static int take_settings(struct train_run *run, struct err *err)
{
    const struct options *options = run->options;
    const char *resume = options_own(options)->resume;
    struct trainer_settings line = options_own(options)->settings;
    if (!options_are_given(options, "warmup-steps"))
        line.warmup = line.steps / 20;
    if (!resume) {
        run->state.settings = line;
        return line.warmup < line.steps
                   ? 0
                   : err_usage(err, "--warmup-steps: expected fewer steps than %lld, found %lld",
                               line.steps, line.warmup);
    }
    if (train_checkpoint_open(&run->state, &run->model.like, err))
        return -1;
    for (size_t i = 0; i < trainer_setting_count; i++) {
        const struct trainer_setting *row = &trainer_setting_rows[i];
        double expected = trainer_setting_value(&run->state.settings, row);
        double found = trainer_setting_value(&line, row);
        if (options_are_given(options, row->option) && expected != found)
            return err_usage(err,
                             "--%s: expected %.16g as in '%s', found %.16g: omit the option, or "
                             "start a new training with --model",
                             row->option, expected, resume, found);
    }
    return 0;
}

/* --- classes --------------------------------------------------------------------------------- */

/* A function that is called for each item of a table of texts. `tokenizer` adds special tokens; it
 * is NULL for add_label, which needs none. */
typedef int item_visitor(struct train_run *run, const struct tokenizer *tokenizer,
                         const struct item *item, struct arena *arena, struct err *err);

static int visit_table(struct train_run *run, const struct tokenizer *tokenizer, const char *path,
                       item_visitor *visit, struct err *err)
{
    struct options options = *run->options;
    struct items items;
    struct arena arena = {0};
    int failed = 0;
    options.input = (struct input_options){.file = path};
    options.model.names = (struct texts){&run->model.like.path, run->model.like.path != NULL};
    if (items_open(&items, &options, run->is_labelled ? 1 << ITEM_LABEL : 0, ITEMS_SOME, err))
        return -1;
    if (run->is_labelled && !(items.found >> ITEM_LABEL & 1))
        failed = err_set(err,
                         "'%s': expected a table with the columns 'text' and 'label', found no "
                         "column 'label'",
                         path);
    for (size_t i = 0; i < items.count && !failed; i++) {
        struct item item;
        arena_clear(&arena);
        failed = items_read(&items, &item, i, &arena, err);
        if (!failed && run->is_labelled && !item.fields[ITEM_LABEL])
            failed = err_set(err, "column 'label': expected a label, found none");
        failed = failed || visit(run, tokenizer, &item, &arena, err);
        if (failed)
            items_blame(&items, i, err);
    }
    arena_release(&arena);
    items_release(&items);
    return err_if(failed);
}

/* Order labels for qsort: whole numbers by their value, other labels as texts. */
static int compare_labels(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    long long i = 0, j = 0;
    bool numbers = num_parse_integer(*x, LLONG_MIN, LLONG_MAX, &i) &&
                   num_parse_integer(*y, LLONG_MIN, LLONG_MAX, &j);
    return numbers && i != j ? (i > j) - (i < j) : strcmp(*x, *y);
}

static int add_label(struct train_run *run, const struct tokenizer *tokenizer,
                     const struct item *item, struct arena *arena, struct err *err)
{
    struct model_maker *model = &run->model;
    const char *label = item->fields[ITEM_LABEL];
    (void)tokenizer, (void)arena;
    for (size_t i = 0; i < model->classes.count; i++)
        if (strcmp(model->classes.items[i], label) == 0)
            return 0;
    label = arena_text(&model->arena, label, strlen(label), err);
    return err_if(!label || texts_add(&model->classes, label, &model->arena, err));
}

/* With --classes, find the labels of all tables: they become the classes of a new classifier. */
static int find_labels(struct train_run *run, struct err *err)
{
    const struct own_options *own = options_own(run->options);
    struct texts *classes = &run->model.classes;
    run->is_labelled = own->classes;
    for (size_t i = 0; i < own->data.count && own->classes; i++)
        if (visit_table(run, NULL, own->data.items[i], add_label, err))
            return -1;
    if (own->classes && classes->count < 2)
        return err_set(err, "--data: expected at least two labels, found only '%s'",
                       label_excerpt(classes->items[0], strlen(classes->items[0])));
    if (own->classes)
        qsort(classes->items, classes->count, sizeof *classes->items, compare_labels);
    return 0;
}

/* Set `*target` to the index of a label among the names of the classes; if the model has one class,
 * to the bits of the label's number as a float. */
static int read_label(uint32_t *target, const struct train_run *run, const char *label,
                      struct err *err)
{
    enum { NAMED = 8 }; /* largest number of classes that a message lists */
    const size_t count = run->names.count;
    long long index = -1;
    double number = 0;
    float value = 0;
    struct buf names = {0};
    if (count == 1 && !num_parse_double(label, -FLT_MAX, FLT_MAX, &number))
        return err_set(err,
                       "column 'label': expected a number, as the model has one class, "
                       "found '%s'",
                       label_excerpt(label, strlen(label)));
    value = (float)number;
    memcpy(target, &value, sizeof *target);
    if (count == 1)
        return 0;
    num_parse_integer(label, 0, (long long)count - 1, &index);
    for (size_t i = 0; i < count; i++)
        index = strcmp(run->names.items[i], label) == 0 ? (long long)i : index;
    *target = (uint32_t)index;
    if (index >= 0)
        return 0;
    for (size_t i = 0; i < num_min(count, NAMED); i++) {
        const char *name = run->names.items[i];
        buf_format(&names, "%s'%s'", i ? ", " : "", label_excerpt(name, strlen(name)));
    }
    if (!buf_check(&names, err))
        err_set(err, "column 'label': expected one of the %zu classes (%s%s), found '%s'", count,
                names.bytes, count > NAMED ? ", …" : "", label_excerpt(label, strlen(label)));
    buf_release(&names);
    return -1;
}

static int add_labelled(struct train_run *run, const struct tokenizer *tokenizer,
                        const struct item *item, struct arena *arena, struct err *err)
{
    const struct config *c = &run->model.new_model.config;
    const struct token_limits limits = {
        .tokenizer = tokenizer, .config = c, .vocabulary = c->vocab_size};
    struct tokenized text;
    uint32_t target = 0;
    return err_if(
        read_label(&target, run, item->fields[ITEM_LABEL], err) ||
        tokenized_make(&text, &item->input, &limits, arena, err) ||
        dataset_add_labelled(&run->texts, text.ids, text.segments, text.count, target, err));
}

/* Read the names of the classes, which are numbers by default. Refuse a config whose problem_type,
 * if given, is not one class for each text or, with a single class, regression. */
static int open_classes(struct train_run *run, struct err *err)
{
    const struct buf *text = &run->model.text;
    const size_t count = run->model.new_model.config.n_class;
    const char *wanted = count == 1 ? "regression" : "single_label_classification";
    const char *problem = "";
    struct arena *arena = &run->model.arena;
    struct json *config = NULL;
    int failed = json_parse(&config, text->bytes, text->size, err);
    const struct json *given = failed ? NULL : json_given(config, "id2label");
    for (size_t i = 0; i < count && !failed; i++) {
        const char *name = arena_format(arena, err, "%zu", i);
        json_get_text(name ? json_member(given, name) : NULL, &name);
        name = name ? arena_text(arena, name, strlen(name), err) : NULL;
        failed = !name || texts_add(&run->names, name, arena, err);
    }
    json_get_text(failed ? NULL : json_member(config, "problem_type"), &problem);
    if (*problem && strcmp(problem, wanted) != 0)
        failed = err_unsupported(
            err, "'%s': field 'problem_type': expected %s to train a head of %s, found \"%s\"",
            run->model.label, wanted, count == 1 ? "one class" : "classes", problem);
    json_free(config);
    return err_if(failed);
}

/* --- the model ------------------------------------------------------------------------------- */

static int open_model(struct train_run *run, struct err *err)
{
    struct model_maker *model = &run->model;
    const struct config *config = &model->new_model.config;
    const struct weight_init init = {.seed = (uint64_t)options_own(run->options)->settings.seed};
    if (model_maker_open(model, run->output, err))
        return -1;
    run->output = model->words.path;
    if (train_step_check(config, err))
        return err_prefix(err, "'%s'", model->label);
    run->is_labelled = config_classifies(config);
    if (config_classifies(config) && open_classes(run, err))
        return -1;
    if (config_classifies(config) && model->like.path)
        weight_init_classes(&model->new_model, init.seed);
    return model->like.path ? train_checkpoint_weights(&model->new_model, &model->like, err)
                            : weight_init_draw(&model->new_model, &init, err);
}

/* Encode the target text of an encoder-decoder model, from the start token of the model to its end
 * token. */
static int encode_text(struct tokens *tokens, const struct tokenizer *tokenizer,
                       const struct input *input, const struct config *c, struct arena *arena,
                       struct err *err)
{
    struct tokens own = {0};
    if (tokenizer_encode(tokenizer, &own, input->text, input->size, arena, err))
        return -1;
    *tokens = (struct tokens){arena_alloc(arena, own.count + 2, sizeof *own.items, err)};
    if (!tokens->items)
        return -1;
    if (config_has_start(c) && (!own.count || own.items->id != (uint32_t)c->bos_id))
        tokens->items[tokens->count++].id = (uint32_t)c->bos_id;
    for (size_t i = 0; i < own.count; i++)
        tokens->items[tokens->count++] = own.items[i];
    if (c->eos_id >= 0 && own.count && own.items[own.count - 1].id != (uint32_t)c->eos_id)
        tokens->items[tokens->count++].id = (uint32_t)c->eos_id;
    return 0;
}

static int add_pair(struct train_run *run, const struct tokenizer *tokenizer,
                    const struct item *item, struct arena *arena, struct err *err)
{
    const char *source = item->options.input.source;
    const struct config *c = &run->model.new_model.config;
    struct tokens text, of_source = {0};
    if (!source || !item->input.text)
        return err_set(err, "expected a table with the columns 'source' and 'text', as the model "
                            "has an encoder");
    return err_if(tokenizer_encode(tokenizer_of_source(tokenizer), &of_source, source,
                                   strlen(source), arena, err) ||
                  encode_text(&text, tokenizer, &item->input, c, arena, err) ||
                  batch_check_length(c, of_source.count, err) ||
                  dataset_add_pair(&run->texts, &of_source, &text, err));
}

static int add_lines(struct train_run *run, const struct tokenizer *tokenizer, const char *path,
                     struct err *err)
{
    struct file file = {0};
    int failed = input_file_open(&file, path, err);
    if (!failed && dataset_add(&run->texts, tokenizer, file.bytes, file.size, err))
        failed = err_prefix(err, "'%s'", path);
    file_release(&file);
    return failed;
}

/* Check the options and the tokenizer for the training objective of the model: --drills needs a
 * model that learns the next token; a masked model needs a mask token. */
static int check_objective(struct train_run *run, const struct tokenizer *tokenizer,
                           struct err *err)
{
    const enum train_objective objective = train_objective_of(&run->model.new_model.config);
    const char *label = run->model.label;
    if (objective != TRAIN_NEXT && run->state.settings.drills > 0)
        return err_usage(err, "--drills: expected a model that predicts the next token, found %s",
                         objective == TRAIN_PAIRS     ? "one with an encoder"
                         : objective == TRAIN_CLASSES ? "a classifier"
                                                      : "a masked one");
    if (objective != TRAIN_MASKED)
        return 0;
    if (tokenizer_find_mask(&run->texts.mask, tokenizer, err))
        return -1;
    return run->texts.mask >= 0 ? 0
                                : err_set(err,
                                          "'%s': expected a tokenizer with a mask token, [MASK] or "
                                          "<mask>, which a masked model learns with, found none",
                                          label);
}

static int tokenize_texts(struct train_run *run, struct err *err)
{
    const struct texts *paths = &options_own(run->options)->data;
    const struct config *c = &run->model.new_model.config;
    const bool of_pairs = run->is_labelled || train_objective_of(c) == TRAIN_PAIRS;
    struct trainer_settings *settings = &run->state.settings;
    struct tokenizer *tokenizer = NULL;
    int failed = tokenizer_open(&tokenizer, &run->model.words, err);
    if (!failed && !tokenizer)
        failed = err_set(err, "'%s': expected a tokenizer, found none", run->model.like.path);
    failed = failed || check_objective(run, tokenizer, err) ||
             (of_pairs && tokenizer_add_special(tokenizer, err));
    for (size_t i = 0; i < paths->count && !failed; i++)
        failed = of_pairs ? visit_table(run, tokenizer, paths->items[i],
                                        run->is_labelled ? add_labelled : add_pair, err)
                          : add_lines(run, tokenizer, paths->items[i], err);
    tokenizer_free(tokenizer);
    if (!settings->tokens && of_pairs)
        settings->tokens = (long long)run->texts.longest;
    if (!settings->tokens)
        settings->tokens = c->n_positions && c->n_positions < 128 ? (long long)c->n_positions : 128;
    if (!failed && dataset_finish(&run->texts, (size_t)settings->tokens, 0.02, err))
        failed = err_prefix(err, "--data");
    return err_if(failed);
}

/* --- saving ---------------------------------------------------------------------------------- */

static long long step_of(const struct train_run *run)
{
    return (long long)run->trainer.adamw.steps;
}

static int save(const struct train_run *run, const struct target_folder *target, struct err *err)
{
    return train_checkpoint_write(&run->trainer, &run->model.new_model, &run->log, target, err);
}

/* Write a line of log.csv and, if the held-out loss was measured (not NaN), a line of output. */
static void write_line(struct train_run *run, const struct trainer_report *report, double held_out)
{
    double steps = (double)(step_of(run) - run->first_step);
    double speed = run->seconds > 0 ? steps * run->step_tokens / run->seconds : 0;
    buf_format(&run->log, "%lld,%.0f,%.6f,", step_of(run), (double)step_of(run) * run->step_tokens,
               report->loss);
    if (!isnan(held_out))
        buf_format(&run->log, "%.6f", held_out);
    buf_format(&run->log, ",%.6g,%.6g,%.0f\n", report->rate, report->gradient_norm, speed);
    if (isnan(held_out) || run->options->quiet)
        return;
    progress_say("", 0); /* remove the progress line */
    stream_format(&run->out, "%8lld  %8.4f  %8.4f  %8.0f\n", step_of(run), report->loss, held_out,
                  speed);
    stream_flush(&run->out);
}

/* --- steps ----------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;
/* the action for SIGINT, SIGTERM and SIGHUP that signals.c had set */
static struct sigaction usual;

static void note_signal(int number)
{
    interrupted = 1;
    sigaction(number, &usual, NULL); /* a second signal ends the program at once */
}

static int run_step(struct train_run *run, struct err *err)
{
    struct trainer_report report;
    char loss[LOSS_BYTES];
    double held_out = (double)NAN;
    double began = clock_seconds();
    if (trainer_step(&run->trainer, &report, err))
        return -1;
    run->seconds += clock_seconds() - began;
    long long step = step_of(run);
    long long steps = run->trainer.settings.steps;
    long long every = run->trainer.settings.save_every;
    bool saves = every ? step % every == 0 : (step & (step - 1)) == 0;
    if ((saves || step == steps || interrupted || step % TEST_EVERY == 0) &&
        trainer_evaluate(&run->trainer, &held_out, err))
        return -1;
    write_line(run, &report, held_out);
    snprintf(loss, sizeof loss, "loss %.4f", report.loss);
    progress_show(&run->progress, (size_t)step, (size_t)steps, loss);
    if (!saves)
        return 0;
    struct target_folder folder = {0};
    const char *path = arena_format(&run->model.arena, err, "%s/step-%08lld", run->output, step);
    if (!path || target_folder_open_inside(&folder, path, &run->target, err))
        return -1;
    int failed = save(run, &folder, err);
    target_folder_close(&folder);
    return failed;
}

static int run_steps(struct train_run *run, struct err *err)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    struct sigaction now; /* signals that a parent process, such as nohup, ignores stay ignored */
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &now) || now.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, &usual);
    run->first_step = step_of(run);
    progress_begin(&run->progress, "steps");
    run->progress.before = (size_t)run->first_step;
    while (step_of(run) < run->trainer.settings.steps && !interrupted)
        if (run_step(run, err))
            return -1;
    progress_end(&run->progress);
    if (save(run, &run->target, err))
        return -1;
    if (step_of(run) < run->trainer.settings.steps)
        return err_interrupted(err, "interrupted after step %lld: --resume '%s' continues",
                               step_of(run), run->output);
    return 0;
}

static int open_trainer(struct train_run *run, struct err *err)
{
    const struct trainer_settings *settings = &run->trainer.settings;
    if (machine_open(&run->machine, (size_t)run->options->model.threads, err) ||
        trainer_open(&run->trainer, &run->state.settings, &run->machine, &run->model.new_model,
                     &run->texts, err))
        return -1;
    if (!options_own(run->options)->resume)
        buf_text(&run->log, "step,tokens,loss,held_out,rate,gradient_norm,tokens_per_second\n");
    else if (train_checkpoint_resume(&run->trainer, &run->state, &run->log, &run->model.like, err))
        return -1;
    if (stream_to(&run->out, STDOUT_FILENO, err) ||
        target_folder_open(&run->target, run->output, run->replaces, err))
        return -1;
    run->step_tokens =
        (double)settings->texts * (double)settings->tokens * (double)settings->accumulate;
    if (run->options->quiet)
        return 0;
    stream_format(&run->out,
                  "%zu parameters, %zu tokens in %zu %s, %.0f tokens per step\n"
                  "    step      loss  held out  tokens/s\n",
                  run->trainer.step.weights.count,
                  run->texts.count - (run->is_labelled ? run->texts.pair_count : 0),
                  run->texts.pair_count ? run->texts.pair_count : run->texts.start_count,
                  run->is_labelled        ? "texts"
                  : run->texts.pair_count ? "pairs"
                                          : "lines",
                  run->step_tokens);
    stream_flush(&run->out);
    return 0;
}

static int train_command(const struct options *options, struct err *err)
{
    static struct train_run run;
    const char *name =
        options_own(options)->resume ? options_own(options)->resume : options->model.name;
    run = (struct train_run){.options = options, .model.options = options};
    int failed = check_options(&run, err) ||
                 (name && model_find(&run.model.like, name, &run.model.arena, err)) ||
                 take_settings(&run, err);
    failed = failed || find_labels(&run, err) || open_model(&run, err) ||
             tokenize_texts(&run, err) || open_trainer(&run, err) || run_steps(&run, err);
    if (run.out.buffer && stream_commit(&run.out, failed ? NULL : err))
        failed = -1;
    target_folder_close(&run.target);
    trainer_release(&run.trainer);
    machine_release(&run.machine);
    dataset_release(&run.texts);
    model_maker_release(&run.model);
    buf_release(&run.log);
    return err_if(failed);
}
