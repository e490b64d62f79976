/* init.c: `attn-cli init`: writes a model folder with the random weights that PyTorch would draw;
 * and makes models for `train` (init.h). */
#include "init.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/replacement.h"
#include "command.h"
#include "base/num.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "items.h"
#include "model/model.h"
#include "progress.h"
#include "say.h"
#include "train/weight_init.h"
#include "train/vocabulary.h"

WORDS(draws, NULL, {"rand", "torch.rand, head by head"}, {"linear", "nn.Linear"})

static const struct option_row own_options[] = {
    STRINGS("sentence", 's', "TEXT", IN(input.sentences),
            "vocabulary: the words of this text; repeatable; sorted; in scripts without spaces its "
            "characters",
            .heading = "Vocabulary"),
    STRINGS("vocab-from", 0, "FILE", IN(make.texts),
            "learn the vocabulary from a text file; repeatable; - is standard input; its words, or "
            "with --vocab-size byte-level BPE"),
    INTEGER("vocab-size", 0, "N", IN(make.size), BPE_LEARN_BYTES, BPE_LEARN_MAX,
            "learn byte-level BPE with N tokens; at least 256; writes vocab.json and merges.txt"),
    STRING(
        "vocab", 0, "FILE", IN(make.vocab),
        "existing vocabulary; a tokenizer.json, or a vocab.json (with --merges: byte-level BPE)"),
    STRING("merges", 0, "FILE", IN(make.merges), "merges.txt of byte-level BPE, with --vocab"),
    STRING("like", 0, "MODEL", IN(make.like),
           "model whose sizes are used (default: life); its vocabulary is used unless another is "
           "given",
           .heading = "Sizes", .values = &values_models),
    STRING("shape", 0, "NAME", IN(make.shape), "sizes of a well-known model; see 'help sizes'",
           .values = &values_shapes),
    STRING("config", 0, "FILE", IN(make.config), "sizes from a config.json"),
    STRINGS("set", 0, "LIST", IN(make.sets),
            "override values of the config: n_layer=2,n_head=4; see 'help sizes'",
            .values = &values_keys, .joints = ","),
    INTEGER("seed", 0, "N", IN(make.seed), 0, LLONG_MAX,
            "seed for torch.manual_seed (default: 123)", .heading = "Random weights",
            .preset = ORIGIN_SEED),
    STRING("draw", 0, "HOW", IN(make.draw),
           "rand (default) or linear; how projections are initialised: with torch.rand, head by "
           "head, or as nn.Linear does",
           .values = &values_draws),
    INTEGER("table", 0, "ROWS", IN(make.table), 1, 100000000,
            "rows of the random nn.Embedding (default: 50000); the first ones are used"),
    STRING("output", 'o', "DIR", IN(output.path), "folder to write", .heading = "Output",
           .flags = OPTION_PROCESS),
    FLAG("force", 0, IN(output.force), "overwrite existing files in a folder",
         .flags = OPTION_PROCESS),
    {0},
};

static command_verb init_command;

const struct command command_init = {
    .name = "init",
    .heading = "Models",
    .about = "a new model with random weights",
    .operands = "",
    .most_used = "-o mine\n"
                 "-s \"Life is short\"\tits vocabulary: these words\n"
                 "--vocab-from a.txt\tvocabulary learned from a file\n"
                 "--vocab-size 1024\tbyte-level BPE with N tokens\n"
                 "--shape tiny\tsizes of a well-known model\n"
                 "--set n_layer=3\tother sizes\n"
                 "--seed 7\tfor torch.manual_seed\n",
    .examples = "attn-cli init --sentence \"Life is short, eat dessert first\" -o words\n"
                "attn-cli init --shape tiny --set n_layer=3 --seed 7 -s \"Life is short\" -o mine\n"
                "attn-cli init --shape tiny --vocab-from fables.txt --vocab-size 1024 -o bpe\n"
                "attn-cli init --like life --seed 123 -o life-again\n"
                "attn-cli init --config mine/config.json --vocab mine/vocab.json -o other\n",
    .run = init_command,
    .options = own_options,
    .without = "threads verbose",
};

static bool has_texts(const struct options *options)
{
    return options->input.sentences.count || options->make.texts.count;
}

static bool words_are_given(const struct options *options)
{
    return has_texts(options) || options->make.vocab;
}

static void add_file(struct model_maker *maker, const char *name, const char *bytes, size_t size)
{
    maker->files[maker->words.file_count++] = (struct folder_file){name, bytes, size};
}

/* --- a vocabulary learnt from texts ----------------------------------------------------------- */

/* Add each text to `learner` or, if `learner` is NULL, to the list of words. */
static int add_texts(struct model_maker *maker, struct word_list *list, struct bpe_learner *learner,
                     struct err *err)
{
    const struct texts *paths = &maker->options->make.texts;
    const struct texts *sentences = &maker->options->input.sentences;
    size_t count = paths->count + sentences->count;
    maker->texts = arena_alloc(&maker->arena, count, sizeof *maker->texts, err);
    if (!maker->texts)
        return -1;
    for (size_t i = 0; i < count; i++) {
        bool is_file = i < paths->count;
        const char *text = is_file ? paths->items[i] : sentences->items[i - paths->count];
        struct file *file = &maker->texts[maker->text_count++];
        if (is_file && input_file_open(file, text, err))
            return -1;
        if (!is_file)
            *file = file_borrow(text, strlen(text));
        if (learner ? bpe_learner_add(learner, file->bytes, file->size, err)
                    : word_list_add(list, file->bytes, file->size, err))
            return is_file ? err_prefix(err, "'%s'", text) : err_prefix(err, "--sentence");
    }
    return 0;
}

static int list_words(struct model_maker *maker, struct err *err)
{
    struct word_list list = {0};
    int failed = add_texts(maker, &list, NULL, err);
    if (!failed && !list.count)
        failed = err_set(err, "the text is empty: expected at least one word");
    if (!failed && list.unspaced.size)
        print_note("'%s' has no spaces: each character becomes a word (put spaces between words to "
                   "keep them whole)",
                   label_excerpt(list.unspaced.bytes, list.unspaced.size));
    if (!failed) {
        word_list_sort(&list);
        word_list_json(&maker->json, &list);
    }
    word_list_release(&list);
    return err_if(failed);
}

/* Learn a byte-level BPE tokenizer with at most `size` tokens from the texts. */
static int learn_pairs(struct model_maker *maker, size_t size, struct err *err)
{
    struct bpe_learner learner = {0};
    struct progress progress;
    int failed = add_texts(maker, NULL, &learner, err);
    progress_begin(&progress, "tokens");
    learner.progress = &progress.sink;
    failed = failed || bpe_learner_run(&learner, size, err);
    progress_end(&progress);
    if (!failed) {
        bpe_learner_vocab(&learner, &maker->json);
        bpe_learner_merges(&learner, &maker->merges);
    }
    if (!failed && learner.token_count < size)
        print_note("no pair of tokens occurs twice: the vocabulary has %zu tokens, not %zu",
                   learner.token_count, size);
    bpe_learner_release(&learner);
    return err_if(failed);
}

/* --- the vocabulary --------------------------------------------------------------------------- */

/* Add the file `name` to the new model: a copy of the file at `path` or, if `path` is NULL, of the
 * file with this name in the model `like`. */
static int map_file(struct model_maker *maker, const char *name, const char *path, struct err *err)
{
    struct file *file = &maker->inputs[maker->words.file_count];
    if (path ? file_map(file, path, err) : folder_open(file, &maker->like, name, err))
        return -1;
    add_file(maker, name, file->bytes, file->size);
    return 0;
}

/* In an error about --vocab or --merges, replace the name of the new folder's file, which does not
 * exist yet, by the name of the file that the option gives. */
static int name_file(const struct model_maker *maker, struct err *err)
{
    const char *const files[] = {maker->options->make.vocab, maker->options->make.merges};
    char start[ERR_TEXT_BYTES];
    for (size_t i = 0; i < maker->words.file_count && files[0]; i++) {
        int size =
            snprintf(start, sizeof start, "'%s/%s': ", maker->words.path, maker->files[i].name);
        if (size < 0 || size >= ERR_TEXT_BYTES || strncmp(err->text, start, (size_t)size) != 0)
            continue;
        memmove(err->text, err->text + size, strlen(err->text + size) + 1);
        return err_prefix(err, "'%s'", files[i]);
    }
    return files[0] ? err_prefix(err, "'%s'", files[0]) : -1;
}

static int find_words(struct model_maker *maker, struct err *err)
{
    const struct make_options *make = &maker->options->make;
    struct tokenizer *tokenizer = NULL;
    size_t size = (size_t)make->size;
    if (make->vocab) { /* the file's name tells a tokenizer.json from a vocab.json */
        bool is_json = name_ends_in(make->vocab, "tokenizer.json");
        if (is_json && make->merges)
            return err_usage(
                err, "--merges: expected a vocab.json, found '%s', which has merges of its own",
                make->vocab);
        if (map_file(maker, is_json ? "tokenizer.json" : "vocab.json", make->vocab, err) ||
            (make->merges && map_file(maker, "merges.txt", make->merges, err)))
            return -1;
    } else if (has_texts(maker->options)) {
        if ((size ? learn_pairs(maker, size, err) : list_words(maker, err)) ||
            buf_check(&maker->json, err) || buf_check(&maker->merges, err))
            return -1;
        add_file(maker, "vocab.json", maker->json.bytes, maker->json.size);
        if (size)
            add_file(maker, "merges.txt", maker->merges.bytes, maker->merges.size);
    } else if (maker->like.path) {
        for (size_t i = 0; i < TOKENIZER_FILES; i++)
            if (folder_has(&maker->like, tokenizer_file_name(i)) &&
                map_file(maker, tokenizer_file_name(i), NULL, err))
                return -1;
    }
    if (tokenizer_open(&tokenizer, &maker->words, err))
        return name_file(maker, err);
    maker->word_count = tokenizer ? tokenizer_size(tokenizer) : 0;
    bool lacks_merges = tokenizer && tokenizer_lacks_merges(tokenizer);
    tokenizer_free(tokenizer);
    if (make->vocab && lacks_merges) /* a BPE vocabulary needs its merges */
        return err_usage(err,
                         "'%s': expected a list of words, found the vocabulary of a byte-level "
                         "BPE: give its merges, too (--merges merges.txt)",
                         make->vocab);
    return 0;
}

/* --- the config ------------------------------------------------------------------------------- */

static int find_config(struct model_maker *maker, struct err *err)
{
    const struct make_options *make = &maker->options->make;
    if (make->shape) {
        const struct shape_row *row = shape_find(make->shape, err);
        if (!row)
            return -1;
        shape_config(&maker->shape, row);
        maker->label = row->name;
        maker->config = file_borrow(maker->shape.bytes, maker->shape.size);
        return buf_check(&maker->shape, err);
    }
    maker->label = make->config;
    if (maker->label)
        return file_map(&maker->config, maker->label, err);
    maker->label = arena_format(&maker->arena, err, "%s/config.json", maker->like.path);
    return maker->label ? folder_open(&maker->config, &maker->like, "config.json", err) : -1;
}

static bool sets_key(const struct config_edit *edit, const char *name)
{
    for (size_t i = 0; i < edit->count; i++)
        if (strcmp(edit->changes[i].key->name, name) == 0)
            return true;
    return false;
}

/* Add a classifier for maker->classes to the config, unless there are no classes or the config
 * already has a classifier. */
static int set_classes(struct model_maker *maker, const struct json *root, struct err *err)
{
    enum { KEYS = 4 };
    static const struct config_key keys[KEYS] = {{.name = "architectures", .kinds = ~0},
                                                 {.name = "id2label", .kinds = ~0},
                                                 {.name = "label2id", .kinds = ~0},
                                                 {.name = "problem_type", .kinds = ~0}};
    static const char *const endings[] = {"LMHeadModel", "ForCausalLM", "ForMaskedLM",
                                          "ForPreTraining", "Model"};
    static const char task[] = "ForSequenceClassification";
    struct buf values[KEYS] = {0};
    struct json_writer names = {.buf = &values[1]}, ids = {.buf = &values[2]};
    const char *class = "AutoModel";
    json_get_text(json_first(json_given(root, "architectures")), &class);
    if (!maker->classes.count || name_ends_in(class, task))
        return 0;
    size_t length = strlen(class);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (name_ends_in(class, endings[i]) && length == strlen(class))
            length -= strlen(endings[i]);
    buf_format(&values[0], "[\"%.*s%s\"]", (int)length, class, task);
    json_put_open(&names, NULL, '{');
    json_put_open(&ids, NULL, '{');
    for (size_t i = 0; i < maker->classes.count; i++) {
        const char *name = maker->classes.items[i];
        char number[NUM_DOUBLE_BYTES];
        snprintf(number, sizeof number, "%zu", i);
        json_put_text(&names, number, name);
        json_put_name(&ids, name, strlen(name));
        json_put_integer(&ids, NULL, (long long)i);
    }
    json_put_close(&names, '}');
    json_put_close(&ids, '}');
    buf_text(&values[3], "\"single_label_classification\"");
    int failed = 0;
    for (size_t i = 0; i < KEYS; i++) {
        struct config_edit *edit = &maker->edit;
        const char *value = buf_keep(&values[i], &maker->arena, err);
        failed = failed || !value;
        if (failed)
            continue; /* stay in the loop: buf_keep also releases the other values */
        edit->changes =
            arena_grow(&maker->arena, edit->changes, edit->count, sizeof *edit->changes, err);
        failed = !edit->changes;
        if (!failed)
            edit->changes[edit->count++] = (struct config_change){&keys[i], value};
    }
    return err_if(failed);
}

/* Apply --set to the config, and add a classifier (set_classes). The size of a vocabulary that was
 * given or learnt sets vocab_size, unless --set or --config has one. */
static int change_config(struct model_maker *maker, struct err *err)
{
    struct json *root = NULL;
    struct err wrong = {0};
    struct config config;
    if (json_parse(&root, maker->config.bytes, maker->config.size, &wrong) && wrong.out_of_memory)
        return err_adopt(err, &wrong);
    bool is_given = maker->options->make.config && root && json_given(root, "vocab_size");
    bool is_set = is_given || sets_key(&maker->edit, "vocab_size");
    int failed = root && set_classes(maker, root, err);
    json_free(root);
    if (failed)
        return -1;
    if (words_are_given(maker->options) && !is_set) {
        const char *change = arena_format(&maker->arena, err, "vocab_size=%zu", maker->word_count);
        if (!change || config_edit_read(&maker->edit, change, &maker->arena, err))
            return -1;
    }
    if (config_edit_apply(&maker->text, &maker->edit, maker->config.bytes, maker->config.size, err))
        return err_prefix(err, "'%s'", maker->label);
    /* if the config was valid before --set, the error is in the command line */
    if (maker->options->make.sets.count &&
        config_parse(&config, maker->text.bytes, maker->text.size, &wrong) &&
        config_parse(&config, maker->config.bytes, maker->config.size, NULL) == 0)
        return wrong.out_of_memory ? err_adopt(err, &wrong)
                                   : err_usage(err, "--set: %s", wrong.text);
    return 0;
}

/* --- the folder ------------------------------------------------------------------------------- */

int model_maker_open(struct model_maker *maker, const char *path, struct err *err)
{
    const struct make_options *make = &maker->options->make;
    const struct texts *sets = &make->sets;
    struct new_model *new_model = &maker->new_model;
    const struct config *config = &new_model->config;
    if (options_exclude(maker->options, "shape", "config", err))
        return -1;
    if (make->merges && !make->vocab)
        return err_usage(err, "--merges: expected --vocab as well, found none");
    maker->words = (struct folder){arena_path(&maker->arena, path, err), maker->files, 0};
    for (size_t i = 0; i < sets->count; i++)
        if (config_edit_read(&maker->edit, sets->items[i], &maker->arena, err))
            return -1;
    if (!maker->words.path || find_config(maker, err) || find_words(maker, err) ||
        change_config(maker, err))
        return -1;
    if (new_model_open(new_model, maker->words.path, maker->text.bytes, maker->text.size, err))
        return err_prefix(err, "'%s'", maker->label);
    /* insert the files before the last one, the weights */
    for (size_t i = 0; i < maker->words.file_count; i++) {
        struct folder_file *last = &new_model->files[new_model->folder.file_count - 1];
        assert(new_model->folder.file_count < NEW_MODEL_FILES_MAX);
        last[1] = *last;
        *last = maker->files[i];
        new_model->folder.file_count++;
    }
    if (config_edit_check(&maker->edit, config, err))
        return -1;
    if (config->vocab_size < maker->word_count) {
        bool is_set = sets_key(&maker->edit, "vocab_size");
        (is_set ? err_usage : err_set)(
            err, "field 'vocab_size': expected at least %zu, a row for each word, found %zu",
            maker->word_count, config->vocab_size);
        return is_set ? err_prefix(err, "--set") : err_prefix(err, "'%s'", maker->label);
    }
    const struct folder target = {.path = maker->words.path};
    for (size_t i = 0; i < TOKENIZER_FILES; i++) {
        const char *name = tokenizer_file_name(i);
        if (folder_has(&target, name) && !folder_has(&maker->words, name))
            return err_output(err,
                              "cannot write '%s': its '%s' would be read with the new files: move "
                              "it, or choose another folder",
                              target.path, name);
    }
    /* a config without projections does not scale scores; most models with projections do */
    if (sets_key(&maker->edit, "projections") && !sets_key(&maker->edit, "scale") &&
        config->projections && config->scale == 1)
        print_note("scores are not scaled, as in '%s': add scale=sqrt to --set for 1/√d_k",
                   maker->label);
    return 0;
}

void model_maker_release(struct model_maker *maker)
{
    new_model_release(&maker->new_model);
    for (size_t i = 0; i < TOKENIZER_FILES; i++)
        file_release(&maker->inputs[i]);
    for (size_t i = 0; i < maker->text_count; i++)
        file_release(&maker->texts[i]);
    file_release(&maker->config);
    buf_release(&maker->json);
    buf_release(&maker->merges);
    buf_release(&maker->shape);
    buf_release(&maker->text);
    arena_release(&maker->arena);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Refuse a command line that gives sizes or words by several options, or by none. Check the folder
 * of the output. */
static int check_options(const struct options *options, struct err *err)
{
    const struct make_options *make = &options->make;
    if (options->input.operands.count)
        return err_usage(
            err, "unexpected argument '%s': use --sentence for words and --output for the folder",
            options->input.operands.items[0]);
    if (options_exclude(options, "like", "shape config", err) ||
        options_exclude(options, "vocab", "sentence vocab-from", err))
        return -1;
    if (!make->like && !make->shape && !make->config && !words_are_given(options))
        return err_usage(err, "expected words or sizes: --sentence TEXT, --vocab-from FILE, --like "
                              "MODEL, --shape NAME or --config FILE");
    if (make->size && !has_texts(options))
        return err_usage(err, "--vocab-size: expected --vocab-from as well, found none");
    if (!options->output.path || !*options->output.path)
        return err_usage(err, "expected an output folder: --output DIR");
    return target_folder_check(options->output.path, options->output.force, err);
}

static int draw_weights(struct model_maker *maker, size_t way, struct err *err)
{
    const struct options *options = maker->options;
    const struct config *config = &maker->new_model.config;
    const char *option = options->make.draw ? "--draw" : options->make.table ? "--table" : NULL;
    struct progress progress;
    const struct weight_init init = {
        .seed = (uint64_t)options->make.seed,
        .way = way ? WEIGHT_INIT_LINEAR : WEIGHT_INIT_RAND,
        .table_rows = (size_t)options->make.table,
        .progress = &progress.sink,
    };
    if (option && config->kind != MODEL_ATTENTION)
        return err_usage(err, "%s: is for models of type \"attention\", found type \"%s\"", option,
                         config_kind_name(config));
    progress_begin(&progress, "layers");
    int failed = weight_init_draw(&maker->new_model, &init, err);
    progress_end(&progress);
    return failed ? err_prefix(err, "'%s'", maker->label) : 0;
}

static int save(const struct model_maker *maker, struct err *err)
{
    const char *path = maker->words.path;
    struct target_folder target = {0};
    struct progress progress;
    if (target_folder_open(&target, path, maker->options->output.force, err))
        return -1;
    progress_begin(&progress, NULL);
    int failed = folder_save(&maker->new_model.folder, &target, &progress.sink, err);
    progress_end(&progress);
    target_folder_close(&target);
    if (!failed && bundled_find(path))
        print_note("'--model %s' is the bundled model: use '--model ./%s' for this one", path,
                   path);
    return failed;
}

static int init_command(const struct options *options, struct err *err)
{
    static const char *const ways[] = {"rand", "linear"};
    const struct make_options *make = &options->make;
    struct model_maker maker = {.options = options};
    size_t way = 0;
    int failed = names_choose(&way, NAMES_LIST(ways), "--draw", make->draw, err) ||
                 check_options(options, err);
    /* read the sizes from --like, or from the model `life` */
    if (!failed && !make->shape && !make->config)
        failed = model_find(&maker.like, make->like ? make->like : "life", &maker.arena, err);
    if (!failed && maker.like.path && !maker.like.files &&
        file_is_same(maker.like.path, options->output.path))
        failed = err_output(err, "cannot write '%s': --like reads it: choose another folder",
                            options->output.path);
    failed = failed || model_maker_open(&maker, options->output.path, err) ||
             draw_weights(&maker, way, err) || save(&maker, err);
    model_maker_release(&maker);
    return err_if(failed);
}
