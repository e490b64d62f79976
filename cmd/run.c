/* run.c: `attn-cli run`: writes attention weights and other tensors of each text. */
#include "run.h"

#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "classes.h"
#include "command.h"
#include "driver.h"
#include "model/layer.h"
#include "model/site_names.h"
#include "say.h"
#include "weights_file.h"

static const struct task run_task;

/* Choose the task: --stack and --cosines have tasks of their own, which write a single result for
 * all texts, and --show finding has one, which writes tables. */
static const struct task *choose_task(const struct options *options)
{
    return run_shows_finding(options) ? &run_finding_task
           : options->select.cosines  ? &run_cosines_task
           : options->select.stack    ? &run_stack_task
                                      : &run_task;
}

static command_verb run_command;

/* Values of --names, in the order of enum site_dialect, from NAMES_TRANSFORMER_LENS on. */
WORDS(dialect, "Programs (--names)",
      {"transformerlens", "its cache: blocks.0.attn.hook_z [1, token, head, dim]"},
      {"huggingface", "attentions.0, hidden_states.0, and outputs of modules: [1, token, channel]"})

/* Values of --caption. */
WORDS(captions, "Captions (--caption)",
      {"finding", "the head that matters, and what the model would say without it"})

VALUES(pooling, NULL, POOL_MODEL, pooling_labels[index].text, NULL)

static const struct option_row own_options[] = {
    FLAG("stats", 0, IN(select.stats),
         "mean, variance, minimum and maximum of each matrix; text: below it; data formats: "
         "instead of it",
         .heading = "Numbers"),
    FLAG("bits", 0, IN(select.bits), "--show entropy: in bits; as entropy_bits; default: nats"),
    STRING(
        "caption", 0, "finding", IN(select.caption),
        "figures: the finding as sentences; below the figure, the sentences with which text begins",
        .values = &values_captions),
    STRING("pool", 0, "HOW", IN(select.pool),
           "one vector per text: first, last, mean, max, model; of the first or last token, or the "
           "mean or max of all tokens; default: of the last hidden layer; model: the vector of "
           "sentence-transformers, by the folder's modules.json",
           .values = &values_pooling, .heading = "Vectors of texts"),
    FLAG("normalize", 0, IN(select.normalize),
         "scale the vector of each text to length 1; after --mean layers and --pool; --mean texts "
         "is the mean of these vectors"),
    FLAG("cosines", 0, IN(select.cosines),
         "with --pool: the cosine of each pair of texts; the vectors are not printed"),
    FLAG("stack", 0, IN(select.stack),
         "one array for all texts; its axes are [texts, ...]; -o FILE.npy or FILE.safetensors, "
         "with the tokens and columns of each text in FILE.jsonl",
         .flags = OPTION_FIXED),
    STRING("gradient", 0, "A[:B]", IN(select.gradient),
           "gradients of the logit of A, or of A less B; at the sites of --show, instead of their "
           "values; A and B are tokens; default for attention_gradient: the most likely token",
           .heading = "Gradients"),
    STRING("position", 0, "P", IN(attribute.position),
           "token after which that logit is read; with --gradient; default: -1, the last; in "
           "masked models the last [MASK]"),
    FLAG("align", 0, IN(select.align),
         "words of the source for each word of the text; encoder-decoders; for each token of the "
         "text, list the source tokens that predict it, by the mean weight of the selected heads",
         .heading = "Translations"),
    STRING("names", 0, "PROGRAM", IN(select.names),
           "names of tensors: transformerlens, huggingface; npz, safetensors, npy: names and axes "
           "as in the caches and hooks of this program, where it has them",
           .values = &values_dialect, .heading = "Other programs"),
    STRING("weights", 0, "FILE", IN(input.weights),
           "show these weights, without a model; attention weights of another program: npy, npz, "
           "safetensors, BertViz's JSON"),
    STRING("tokens", 0, "FILE", IN(input.tokens),
           "tokens of --weights; a line for each, or a list in JSON"),
    {0},
};

const struct command command_run = {
    .name = "run",
    .heading = "Look",
    .about = "print or export attention weights and other tensors",
    .operands = "[TEXT]...",
    .most_used = "-m smollm2.gguf\n"
                 "-f texts.csv\n"
                 "--show q,k,scores\n"
                 "--layer 0,3-5\n"
                 "--head 1.3,0.2\n"
                 "--query cabinet\n"
                 "--key keys\n"
                 "--words\n"
                 "-o heads.svg\n",
    .examples = "attn-cli run \"Life is short, eat dessert first\"\n"
                "attn-cli run \"Life is short\" --layer all --show weights -o weights.tidy.csv\n"
                "attn-cli run \"The keys to the cabinet\" --head 1.3 --query cabinet\n"
                "printf 'Life is short\\neat dessert\\n' | attn-cli run -o weights.jsonl\n"
                "attn-cli run -s \"Life is short, eat dessert first\" --layer all --show weights\n"
                "attn-cli run -s \"Life is short\" --layer 0 --head 1 --format csv > head.csv\n"
                "attn-cli run -m life -s \"Life is short\" --show q,k,scores,weights\n",
    .task = &run_task,
    .choose = choose_task,
    .run = run_command,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, select_options,
               output_options, terminal_options, figure_options},
    .draws = true,
};

/* --- options ---------------------------------------------------------------------------------- */

int run_prepare(void *state, struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    (void)state;
    if (options_exclude(options, "align", "show mean stats query key hide-first pool", err) ||
        run_gradient_prepare(driver, err))
        return -1;
    const struct names captions = {captions_words[0], 1, sizeof *captions_words};
    size_t caption = 0; /* there is only one */
    if (names_choose(&caption, captions, "--caption", options->select.caption, err) ||
        run_caption_prepare(driver, err))
        return -1;
    return options->select.pool && format_is(driver->output.format, "html")
               ? err_usage(err, "--pool: a page always shows all tokens: choose another format")
               : 0;
}

/* Read --names. */
static int choose_names(struct derivation *how, struct driver *driver, struct err *err)
{
    const struct names names = {dialect_words[0], 2, sizeof *dialect_words};
    size_t index = 0;
    if (!driver->options->select.names)
        return 0;
    if (names_choose(&index, names, "--names", driver->options->select.names, err) ||
        options_exclude(driver->options, "names", "mean pool stats align gradient", err))
        return -1;
    if (!format_is(driver->output.format, "npz safetensors npy"))
        return err_usage(err, "--names: expected --format npz, safetensors or npy, found %s",
                         driver->output.format->name);
    if (how->head_count)
        return err_usage(err, "--names: expected numbers in --head, found heads with layers");
    const enum site_dialect dialect = NAMES_TRANSFORMER_LENS + (int)index;
    how->merges_heads = dialect == NAMES_HUGGING_FACE;
    return site_names_list(&how->names, dialect, &driver->session.viewer.model.config,
                           &driver->session.arena, err);
}

int run_select(struct run_state *own, struct driver *driver, struct err *err)
{
    struct request *request = &own->request;
    if (request_make(request, driver, err) ||
        run_gradient_open(&own->walks, &request->selection, driver, err) ||
        choose_names(&driver->derivation, driver, err))
        return -1;
    own->shows_classes = config_classifies(&driver->session.viewer.model.config) &&
                         !request->chosen && !own->walks && !request->derivation.mean_of_texts;
    own->finds = run_finds(request, driver);
    if (own->finds) {
        request->selection.tokens = false;
        driver->layout.show_tokens = false;
    }
    if (own->shows_classes)
        site_set_add(&request->selection.sites, SITE_LOGITS);
    return 0;
}

int run_open(void *state, struct driver *driver, struct err *err)
{
    struct run_state *own = state;
    const struct request *request = &own->request;
    if (run_select(own, driver, err))
        return -1;
    if (request->derivation.mean_of_texts != driver->accumulates)
        return err_usage(err, "--mean: texts is for all settings: use --mean texts without --sweep "
                              "mean");
    if (request->derivation.mean_of_texts && request->derivation.stats)
        return err_usage(err, "--mean texts and --stats cannot be combined");
    if (request->derivation.mean_of_texts && request->selection.tokens)
        return err_usage(err, "--mean texts: tokens have no mean: leave them out of --show");
    return output_check_selection(&driver->output, &request->selection, err);
}

/* --- texts ------------------------------------------------------------------------------------ */

static bool has_parts(const struct tokenized *tokenized)
{
    return tokenized_first_part(tokenized) < tokenized->count;
}

/* For --pool model, refuse a text that sentence-transformers would cut, and add a note if it would
 * put a prompt before the text. */
static int check_modules(struct driver *driver, const struct job *job,
                         const struct pooling_modules *modules, struct err *err)
{
    if (modules->prompt)
        notes_add(&driver->notes, job->index,
                  "sentence-transformers puts the default prompt '%s' before each text: begin "
                  "texts with it for the same vectors",
                  modules->prompt);
    return job->pair.text.count <= modules->most_tokens
               ? 0
               : err_usage(err,
                           "--pool model: expected at most %zu tokens, where sentence-transformers "
                           "cuts a text, found %zu: shorten it, or choose --pool mean",
                           modules->most_tokens, job->pair.text.count);
}

int run_estimate(const struct run_state *own, struct driver *driver, struct job *job,
                 struct arena *arena, struct err *err)
{
    const struct request *request = &own->request;
    const struct selection *selection = &request->selection;
    bool is_labelled = !site_set_is_empty(selection->sites) && driver->output.format->display;
    if (is_labelled && !request->derivation.words &&
        (has_parts(&job->pair.text) || has_parts(&job->pair.source)))
        notes_add(&driver->notes, job->index,
                  "a character of several tokens is shown as its parts, as in 爱₂: --words joins "
                  "them");
    job->result_bytes = request_add_memory(&job->memory, request, &driver->session.viewer,
                                           &job->pair, run_streams(driver, selection, &job->pair));
    if (own->finds)
        run_finding_add_memory(driver, job);
    else if (driver->options->select.caption)
        run_caption_add_memory(driver, job);
    return err_if((own->walks && run_gradient_read(driver, job, selection, arena, err)) ||
                  (request->derivation.pool.by == POOL_MODEL &&
                   check_modules(driver, job, &request->derivation.pool.modules, err)));
}

/* Read a text. Refused: a text without the selected queries, and, if the first token is hidden, a
 * text of one token. */
int run_read(void *state, struct driver *driver, struct job *job, struct arena *arena,
             struct err *err)
{
    const struct run_state *own = state;
    const struct request *request = &own->request;
    const struct tokenized *text = &job->pair.text;
    const struct index_range range = {"--query", "text", "token", text->count};
    struct report report = {.text = *text, .source = job->pair.source};
    const size_t *queries = NULL;
    size_t count = 0;
    if (run_estimate(own, driver, job, arena, err) ||
        (request->derivation.hide_first &&
         derive(&report, &request->derivation, driver->session.viewer.tokenizer, arena, err)))
        return -1;
    return selection_indices(&queries, &count, selection_queries(&request->selection, text), &range,
                             arena, err);
}

int run_texts(void *state, const struct group *group, struct err *err)
{
    const struct run_state *own = state;
    const struct selection *selection = &own->request.selection;
    const struct driver *driver = group->driver;
    bool is_alone = group->count == 1 && group->viewer == &driver->session.viewer;
    if (own->finds)
        return run_finding(own, group, err);
    if (own->walks)
        return run_gradient_run(group, err);
    if (!own->shows_classes && is_alone && run_streams(driver, selection, &group->jobs[0]->pair))
        return run_stream(group, selection, err);
    int failed = group_capture(group, selection, err);
    if (!failed && driver->options->select.caption)
        failed = run_caption(group, err);
    for (size_t i = 0; own->shows_classes && i < group->count && !failed; i++) {
        struct report *report = &group->jobs[i]->report;
        failed = classes_show(report, group->viewer, group->arena, err);
        report->shows_arrays = true;
    }
    return failed;
}

/* --- result ----------------------------------------------------------------------------------- */

/* If standard error is a terminal, print a note on options that show more than the default
 * output. */
static void note_rest(struct driver *driver)
{
    const struct config *config = &driver->session.viewer.model.config;
    const bool more = config->n_layer > 1 || stack_of(config, BRANCH_SOURCE)->layers > 1;
    if (!isatty(STDERR_FILENO))
        return;
    stream_flush(&driver->output.stream);
    print_note("more: %s%s--show tokens, -o x.csv, -o x.html; 'attn-cli help tensors'",
               more ? "--layer all, " : "", config->n_head > 1 ? "--head 0.0, " : "");
}

int run_finish(void *state, struct driver *driver, struct err *err)
{
    const struct run_state *own = state;
    const struct viewer *viewer = &driver->session.viewer;
    size_t texts = driver->jobs, threads = pool_threads(viewer->machine.pool);
    (void)err; /* errors of writing are kept in the stream */
    if (!own->request.chosen && driver->output.to_stdout)
        note_rest(driver);
    if (driver->options->verbose)
        print_note("%zu text%s through '%s' on %zu thread%s, %s kernels, %s: %.1f ms", texts,
                   num_plural(texts), viewer->model.name, threads, num_plural(threads),
                   kernels_target(viewer->machine.kernels), viewer_precision(viewer).text,
                   1e3 * driver->seconds);
    return 0;
}

static const struct task run_task = {
    .many = ITEMS_OR_SOURCE,
    .begins = true,
    .means = MEAN_OF_REGIONS,
    .at_once = true,
    .steps = "layers",
    .state_bytes = sizeof(struct run_state),
    .prepare = run_prepare,
    .open = run_open,
    .read = run_read,
    .run = run_texts,
    .finish = run_finish,
};

/* --- the command ------------------------------------------------------------------------------ */

/* Run the command `run`. The maps of --weights are written without a model. An HTML page is written
 * by the command `page`; but with --query, --gradient, --mean texts, --pool or --align, or in a
 * folder, it is a page without the extras of `page`. */
static int run_command(const struct options *options, struct err *err)
{
    struct output output = {.path = NULL};
    if (weights_file_is_asked(options))
        return weights_file_show(options, false, err);
    if (output_choose(&output, &options->output, err))
        return -1;
    const struct select_options *select = &options->select;
    bool is_page = format_is(output.format, "html") && !output.to_folder && !select->query &&
                   !run_shows_finding(options) && !select->gradient &&
                   !(select->mean && strstr(select->mean, "texts")) && !select->pool &&
                   !select->align;
    return is_page ? page_command(options, err) : driver_do(choose_task(options), options, err);
}
