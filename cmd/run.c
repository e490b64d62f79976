/* run.c: `attn-cli run`: writes attention weights and other tensors of each text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "classes.h"
#include "command.h"
#include "driver.h"
#include "base/num.h"
#include "math/rows.h"
#include "measure/gradients.h"
#include "model/layer.h"
#include "model/site_names.h"
#include "say.h"
#include "write/text.h"
#include "texts.h"
#include "weights_file.h"

static const struct task run_task;
static command_verb run_command;

/* In the order of enum site_dialect, from NAMES_TRANSFORMER_LENS on. */
WORDS(dialect, "Programs (--names)",
      {"transformerlens", "its cache: blocks.0.attn.hook_z [1, token, head, dim]"},
      {"huggingface", "attentions.0, hidden_states.0, and outputs of modules: [1, token, channel]"})

VALUES(pooling, NULL, POOL_MODEL, pooling_labels[index].text, NULL)

static const struct option_row own_options[] = {
    FLAG("stats", 0, IN(select.stats),
         "mean, variance, minimum and maximum of each matrix (text: below it; data: instead)"),
    STRING("pool", 0, "HOW", IN(select.pool),
           "one vector for each text: the first or last of its tokens', or their mean or max "
           "(default: of the last hidden layer); model: that of sentence-transformers, by the "
           "folder's modules.json",
           .values = &values_pooling),
    FLAG("normalize", 0, IN(select.normalize),
         "scale the vector of each text to length 1, after --mean layers and --pool; --mean texts "
         "is the mean of these vectors"),
    FLAG("cosines", 0, IN(select.cosines),
         "with --pool: instead of the vectors, the cosine of those of each two texts"),
    FLAG("stack", 0, IN(select.stack),
         "one array for all texts, [texts, ...]: -o FILE.npy or FILE.safetensors, with the tokens "
         "and columns of each text in FILE.jsonl",
         .flags = OPTION_FIXED),
    STRING(
        "names", 0, "PROGRAM", IN(select.names),
        "npz, safetensors, npy: names and axes of tensors in the caches and hooks of this program, "
        "where it has them",
        .values = &values_dialect),
    STRING("gradient", 0, "A[:B]", IN(select.gradient),
           "the gradients of the logit of token A, or of A less that of B, at the sites of --show, "
           "instead of their values (default for attention_gradient: the most likely token)"),
    STRING("position", 0, "P", IN(attribute.position),
           "with --gradient: the token after which the logit is read, -1 for the last (default; in "
           "masked models the last [MASK])"),
    FLAG("bits", 0, IN(select.bits), "--show entropy: in bits, as entropy_bits (default: nats)"),
    FLAG("align", 0, IN(select.align),
         "encoder-decoders: instead, for each token of the text those of the source, by the mean "
         "weight of the selected heads where they predict it"),
    STRING("weights", 0, "FILE", IN(input.weights),
           "attention weights of another program, without a model: npy, npz, safetensors, "
           "BertViz's JSON"),
    STRING("tokens", 0, "FILE", IN(input.tokens),
           "--weights: the tokens, a line for each, or a list in JSON"),
    {0},
};

const struct command command_run = {
    .name = "run",
    .group = "Inspect",
    .about = "print or export attention weights and other tensors",
    .operands = "[TEXT]...",
    .examples = "attn-cli run \"Life is short, eat dessert first\"\n"
                "attn-cli run -s \"Life is short, eat dessert first\" --layer all --show weights\n"
                "attn-cli run -s \"Life is short\" --layer 0 --head 1 --format csv > head.csv\n"
                "attn-cli run -m life -s \"Life is short\" --show q,k,scores,weights\n"
                "printf 'Life is short\\neat dessert\\n' | attn-cli run -o weights.jsonl\n",
    .task = &run_task,
    .run = run_command,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, select_options,
               output_options, terminal_options, figure_options},
    .draws = true,
};

enum { HINT_BYTES = 160 };

struct run_state {
    struct request request;
    bool walks;         /* gradients are asked for */
    bool shows_classes; /* a table of classes follows what is shown without further options */
    double row_size;    /* --stack: size of the first text's tensors; 0: not known yet */

    /* --cosines: the vectors of the texts, as reports with pooled arrays. */
    struct report *pooled; /* [texts]; NULL: no --cosines */
    size_t texts;
    struct arena *arena; /* of the setting */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    const struct select_options *select = &driver->options->select;
    struct output *output = &driver->output;
    (void)state;
    if (options_exclude(driver->options, "align", "show mean stats query key hide-first pool", err))
        return -1;
    if (select->gradient && format_is(output->format, "html"))
        return err_usage(err, "--gradient: a page shows values: choose another format");
    if (options_exclude(driver->options, "gradient", "words stack align", err))
        return -1;
    if (select->pool && format_is(output->format, "html"))
        return err_usage(err, "--pool: a page always shows all tokens: choose another format");
    if (select->cosines) {
        if (!select->pool || driver->accumulates)
            return err_usage(err, "--cosines: expected --pool, which makes a vector of each text, "
                                  "and no --mean texts");
        if (options_exclude(driver->options, "cosines", "stack stats gradient", err))
            return -1;
        driver_accumulate(driver, driver->sweep.settings);
    }
    if (!select->stack)
        return 0;
    if (!format_is(output->format, "npy safetensors") || output->to_folder)
        return err_usage(err,
                         "--stack: expected --format npy or safetensors and a file, found %s%s",
                         output->to_folder ? "a folder of " : "", output->format->name);
    if (driver->accumulates)
        return err_usage(err, "--stack and --mean texts cannot be combined");
    driver->identity.stacked = true;
    driver->identity.provenance = NULL; /* the same in all rows */
    if (!driver->is_batch)              /* a batch has a log */
        output->rows_path = output_rows_path(output->path, &driver->kept, err);
    return err_if(err->kind);
}

/* Find whether there is a walk back, and check that it has the selected sites. */
static int check_gradient(struct run_state *own, const struct options *options, struct err *err)
{
    const char *other = options_are_given(options, "words stack align");
    bool has_others = false;
    own->walks = options->select.gradient != NULL;
    for (enum site site = 0; site != SITE_END; site = site_next(site)) {
        bool effective =
            site_set_has(own->request.selection.sites, site) && site_is_effective(site);
        own->walks |= effective && site_id(site) == SITE_ATTENTION_GRADIENT;
        has_others |= effective && site_id(site) != SITE_ATTENTION_GRADIENT;
    }
    if (!own->walks && options->attribute.position)
        return err_usage(err,
                         "--position: expected --gradient, the logit that is read, found none");
    if (own->walks && has_others)
        return err_usage(err, "--gradient: expected tensors of the pass and attention_gradient in "
                              "--show, found one that is computed from a pass");
    return own->walks && other
               ? err_usage(err, "--show attention_gradient and --%s cannot be combined", other)
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

static int open(void *state, struct driver *driver, struct err *err)
{
    struct run_state *own = state;
    struct request *request = &own->request;
    if (request_make(request, driver, err) || check_gradient(own, driver->options, err) ||
        choose_names(&driver->derivation, driver, err))
        return -1;
    own->shows_classes = config_classifies(&driver->session.viewer.model.config) &&
                         !request->chosen && !own->walks && !request->derivation.mean_of_texts;
    if (own->shows_classes)
        site_set_add(&request->selection.sites, SITE_LOGITS);
    own->texts = 0;
    own->arena = &driver->session.arena;
    own->pooled = !driver->options->select.cosines
                      ? NULL
                      : arena_alloc(own->arena, driver->items.count, sizeof *own->pooled, err);
    if (driver->options->select.cosines)
        return own->pooled ? 0 : -1;
    if (request->derivation.mean_of_texts != driver->accumulates)
        return err_usage(err, "--mean: texts is for all settings: use --mean texts without --sweep "
                              "mean");
    if (request->derivation.mean_of_texts && request->derivation.stats)
        return err_usage(err, "--mean texts and --stats cannot be combined");
    if (request->derivation.mean_of_texts && request->selection.tokens)
        return err_usage(err, "--mean texts: tokens have no mean: leave them out of --show");
    return output_check_selection(&driver->output, &request->selection, err);
}

/* --- a long text, written during its passes --------------------------------------------------- */

struct streamed {
    const struct group *group;
    struct report whole; /* without values */
    struct writer writer;
};

/* Write the next attention maps; before the first, the beginning of the result. */
static int take_maps(void *context, const struct report *whole, struct report *part,
                     struct arena *arena, struct err *err)
{
    struct streamed *streamed = context;
    const struct group *group = streamed->group;
    const struct tokenizer *tokenizer = group->viewer->tokenizer;
    struct driver *driver = group->driver;
    struct output *output = &driver->output;
    if (!streamed->writer.format) {
        struct report *first = &streamed->whole;
        const struct target target = output_target(output);
        *first = *whole;
        if (derive(first, &driver->derivation, tokenizer, group->arena, err) ||
            driver_identify(driver, group->jobs[0], &first->identity, group->arena, err) ||
            output_open(output, err) ||
            writer_begin(&streamed->writer, output->format, &target, first, &driver->layout, err))
            return -1;
    }
    if (derive(part, &driver->derivation, tokenizer, arena, err))
        return -1;
    for (size_t i = 0; i < array_matrix_count(part->arrays); i++) { /* a part has one tensor */
        struct sheet sheet = array_matrix(part, part->arrays, i);
        if (writer_sheet(&streamed->writer, &sheet, err))
            return -1;
    }
    return 0;
}

/* True if attention maps are written during the pass, so that few are in memory. */
static bool is_streamed(const struct driver *driver, const struct capture_request *asked)
{
    const struct derivation *how = &driver->derivation;
    return !driver->is_batch && driver->output.format->sheet && !how->mean_of_heads &&
           !how->mean_of_layers && !how->mean_of_texts && !how->stats && !how->head_count &&
           viewer_goes_by_map(&driver->session.viewer, asked);
}

static bool has_parts(const struct tokenized *tokenized)
{
    return tokenized_first_part(tokenized) < tokenized->count;
}

/* True if sizes of the selected tensors depend on more than the number of queries. */
static bool have_keys(const struct selection *selection)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        enum site_axes axes = site_axes((enum site)site);
        if (site_set_has(selection->sites, (enum site)site) &&
            (axes == AXES_HEAD_QUERY_KEY || axes == AXES_QUERY_KEY ||
             axes == AXES_GROUP_TOKEN_DIM || site_part((enum site)site) == PART_SOURCE))
            return true;
    }
    return false;
}

/* True if all texts have the same rows and columns: those of names. */
static bool is_named(const struct request *request, const struct text_with_source *pair)
{
    const struct tokenized *text = &pair->sentence;
    return request->derivation.mean_of_regions && text->named_queries.count &&
           (text->named_keys.count || !have_keys(&request->selection)) && !pair->source.count;
}

/* --stack without --pool: refuse a text whose tensors differ in size from the first text's: in
 * bytes or, with --words, in the number of `queries` and, if tensors have keys, in words. */
static int check_size(struct run_state *own, const struct job *job, const struct report *report,
                      size_t queries, struct err *err)
{
    const struct request *request = &own->request;
    double size = job->result_bytes;
    if (request->derivation.words)
        size = 1 + (double)queries +
               (have_keys(&request->selection) ? 0x1p20 * (double)report->sentence.word_count +
                                                     0x1p36 * (double)report->source.word_count
                                               : 0);
    own->row_size = own->row_size > 0 ? own->row_size : size;
    return own->row_size == size || request->derivation.pool.by
               ? 0
               : err_usage(err,
                           "--stack: expected tensors of one size for all texts: --pool%s "
                           "makes a vector of each text",
                           have_keys(&request->selection) ? "" : " or --query -1");
}

/* Read --gradient and --position, for `job->own`. */
static int ask_gradient(struct driver *driver, struct job *job, const struct selection *selection,
                        struct arena *arena, struct err *err)
{
    const struct options *options = &job->item.options;
    struct viewer *viewer = &driver->session.viewer;
    const struct question_words words = {
        "--gradient",   options->select.gradient, "--position", options->attribute.position,
        &driver->notes, &job->pair.sentence,      job->index};
    struct gradient_plan *plan = job->own = arena_alloc(arena, 1, sizeof *plan, err);
    if (!plan || model_check(&viewer->model, NEEDS_LOGITS, err) ||
        answer_read(&plan->question, &words, viewer, arena, err) ||
        position_read(&plan->question, &words, viewer, arena, err))
        return -1;
    plan->viewer = viewer;
    plan->selection = selection;
    plan->number = job->number;
    gradients_add_memory(&job->memory, plan, &job->pair);
    return 0;
}

/* --pool model: refuse a text that sentence-transformers would cut. */
static int check_modules(struct driver *driver, const struct job *job,
                         const struct pooling_modules *modules, struct err *err)
{
    if (modules->prompt)
        notes_add(&driver->notes, job->index,
                  "sentence-transformers puts the default prompt '%s' before each text: begin "
                  "texts with it for the same vectors",
                  modules->prompt);
    return job->pair.sentence.count <= modules->most_tokens
               ? 0
               : err_usage(err,
                           "--pool model: expected at most %zu tokens, where sentence-transformers "
                           "cuts a text, found %zu: shorten it, or choose --pool mean",
                           modules->most_tokens, job->pair.sentence.count);
}

/* Estimate memory. Refused: a text without the selected queries, without a second token if the
 * first is hidden, or with --stack of another size (check_size). */
static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct run_state *own = state;
    const struct request *request = &own->request;
    const struct capture_request asked = {
        .selection = &request->selection, .pairs = &job->pair, .count = 1};
    bool is_labelled =
        !site_set_is_empty(request->selection.sites) && driver->output.format->display;
    if (is_labelled && !request->derivation.words &&
        (has_parts(&job->pair.sentence) || has_parts(&job->pair.source)))
        notes_add(&driver->notes, job->index,
                  "a character of several tokens is shown as its parts, as in 爱₂: --words joins "
                  "them");
    job->result_bytes = request_add_memory(&job->memory, request, &driver->session.viewer,
                                           &job->pair, is_streamed(driver, &asked));
    if (own->pooled) {
        double texts = (double)driver->items.count;
        double cosines = (double)num_max(request->selection.layers.count, 1) * sizeof(float);
        driver->survey.sums =
            fmax(driver->survey.sums, texts * (job->result_bytes + texts * cosines));
    }
    if ((own->walks && ask_gradient(driver, job, &request->selection, arena, err)) ||
        (request->derivation.pool.by == POOL_MODEL &&
         check_modules(driver, job, &request->derivation.pool.modules, err)))
        return -1;
    struct report report = {.sentence = job->pair.sentence, .source = job->pair.source};
    const size_t *queries = NULL;
    size_t count = 0;
    bool stacked = driver->identity.stacked, by_word = stacked && request->derivation.words;
    if ((by_word || request->derivation.hide_first) &&
        derive(&report, &request->derivation, driver->session.viewer.tokenizer, arena, err))
        return -1;
    const struct tokenized *sentence = &job->pair.sentence;
    const struct index_range range = {"--query", "text", by_word ? "word" : "token",
                                      by_word ? report.sentence.word_count : sentence->count};
    return err_if(
        selection_indices(&queries, &count,
                          by_word ? sentence->queries
                                  : selection_queries(&request->selection, sentence),
                          &range, arena, err) ||
        (stacked && !is_named(request, &job->pair) && check_size(own, job, &report, count, err)));
}

/* Find the gradients of a text, after ask_gradient. */
static int find_gradients(struct job *job, struct viewer *viewer, struct arena *arena,
                          struct err *err)
{
    struct gradient_plan *plan = job->own;
    struct facts *facts = facts_new(arena, err);
    plan->viewer = viewer;
    if (!facts || gradients_make(&job->report, plan, &job->pair, arena, err))
        return -1;
    const char *logit =
        question_describe(facts, &plan->question, viewer, &job->pair.sentence, arena, err);
    facts_float(facts, "logit", plan->value);
    job->report.facts = &facts->table;
    job->report.about = logit ? arena_format(arena, err, "%s: %.4f", logit, plan->value) : NULL;
    return job->report.about ? 0 : -1;
}

static int run(void *state, const struct group *group, struct err *err)
{
    const struct run_state *own = state;
    const struct selection *selection = &own->request.selection;
    struct job *job = group->jobs[0];
    for (size_t i = 0; own->walks && i < group->count; i++)
        if (find_gradients(group->jobs[i], group->viewer, group->arena, err))
            return -1;
    if (own->walks)
        return 0;
    struct streamed streamed = {.group = group};
    const struct capture_request asked = {selection,   &job->pair,   1,
                                          job->number, &job->report, NULL};
    bool writes = group->viewer == &group->driver->session.viewer; /* no other thread writes */
    if (own->shows_classes || !writes || group->count > 1 || !is_streamed(group->driver, &asked)) {
        int failed = group_capture(group, selection, err);
        for (size_t i = 0; own->shows_classes && i < group->count && !failed; i++) {
            struct report *report = &group->jobs[i]->report;
            failed = classes_show(report, group->viewer, group->arena, err);
            report->shows_arrays = true;
        }
        return failed;
    }
    int failed =
        viewer_capture_by_map(group->viewer, &asked, take_maps, &streamed, group->arena, err) ||
        writer_end(&streamed.writer, err);
    writer_release(&streamed.writer);
    job->is_written = true;
    return err_if(failed);
}

/* --- cosines ---------------------------------------------------------------------------------- */

/* Keep the vectors of a text, and the text. */
static int add(void *state, struct job *job, struct err *err)
{
    struct run_state *own = state;
    if (!own->pooled)
        return 0;
    struct report *kept = &own->pooled[own->texts++];
    const char *text = job->report.sentence.text;
    *kept = job->report;
    kept->sentence.text = arena_text(own->arena, text, job->report.sentence.size, err);
    struct array *arrays = arena_alloc(own->arena, kept->array_count, sizeof *arrays, err);
    kept->arrays = arrays;
    for (size_t i = 0; i < kept->array_count && !err->kind; i++) {
        const struct array *array = &job->report.arrays[i];
        float *data = arena_alloc(own->arena, array_cells(array), sizeof *data, err);
        arrays[i] = *array;
        arrays[i].data = data;
        if (data)
            memcpy(data, array->data, array_cells(array) * sizeof *data);
    }
    return err_if(err->kind);
}

/* The cosine of two vectors; NaN if one is zero. */
static float cosine(const float *a, const float *b, size_t count)
{
    return (float)(dot_rows(a, b, count) / sqrt(dot_rows(a, a, count) * dot_rows(b, b, count)));
}

/* Write the cosines of each array, a matrix of texts by texts for each head. */
static int end(void *state, struct driver *driver, struct err *err)
{
    const struct run_state *own = state;
    struct arena *arena = own->arena;
    size_t n = own->texts;
    struct report report;
    struct label *labels = arena_alloc(arena, n, sizeof *labels, err);
    if (!own->pooled || !n)
        return 0;
    if (!labels || viewer_report(&report, &driver->session.viewer, arena, err))
        return -1;
    for (size_t i = 0; i < n && !err->kind; i++)
        labels[i] = label_borrowed(own->pooled[i].sentence.text, false, arena, err);
    for (size_t k = 0; k < own->pooled[0].array_count && !err->kind; k++) {
        struct array array = own->pooled[0].arrays[k];
        size_t width = array.columns.size, heads = array_matrix_count(&array);
        float *data = arena_alloc(arena, heads * n * n, sizeof *data, err);
        for (size_t i = 0; data && i < heads * n * n; i++)
            data[i] = cosine(own->pooled[i / n % n].arrays[k].data + i / (n * n) * width,
                             own->pooled[i % n].arrays[k].data + i / (n * n) * width, width);
        array.name = arena_format(arena, err, "%s.cosines", site_name(array.site));
        array.rows = array.columns = (struct axis){"text", n, labels, 0, NULL, 0};
        array.data = data;
        if (!err->kind)
            report_add_array(&report, &array, arena, err);
    }
    return err_if(err->kind || driver_write(driver, &report, err));
}

/* --- result ----------------------------------------------------------------------------------- */

/* Print how to see the rest below a partial result. Files contain only results. */
static void write_hint(struct driver *driver, const struct layers *layers)
{
    const struct config *config = &driver->session.viewer.model.config;
    struct stream *out = &driver->output.stream;
    size_t columns = driver->layout.columns;
    bool more = config->n_layer > 1 || stack_of(config, PART_SOURCE)->layers > 1;
    char line[HINT_BYTES];
    const size_t last = layers->count ? layers->items[layers->count - 1] : config->n_layer - 1;
    if (last + 1 == config->n_layer)
        snprintf(line, sizeof line, "This is layer %zu, the last of %zu.", last, config->n_layer);
    else
        snprintf(line, sizeof line, "This is layer %zu of %zu, the last that has these tensors.",
                 last, config->n_layer);
    if (has_encoder(config))
        snprintf(line, sizeof line,
                 "These are the last layers of %zu in the encoder, %zu in the decoder.",
                 stack_of(config, PART_SOURCE)->layers, config->n_layer);
    stream_char(out, '\n');
    if (more)
        text_wrap(out, line, 0, 0, columns);
    snprintf(line, sizeof line, "More: %s%s--show all, --format csv; 'attn-cli help tensors'.",
             more ? "--layer all, " : "", config->n_head > 1 ? "--head 0, " : "");
    text_wrap(out, line, 0, 0, columns);
}

static int finish(void *state, struct driver *driver, struct err *err)
{
    const struct viewer *viewer = &driver->session.viewer;
    size_t texts = driver->jobs, threads = pool_threads(viewer->machine.pool);
    (void)err; /* errors of writing stay in the stream */
    const struct request *request = &((struct run_state *)state)->request;
    if (!request->chosen && driver->output.to_stdout)
        write_hint(driver, &request->selection.layers);
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
    .parts = "layers",
    .state_bytes = sizeof(struct run_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .at_once = true,
    .run = run,
    .add = add,
    .end = end,
    .finish = finish,
};

/* --- the command ------------------------------------------------------------------------------ */

/* HTML is written by `page` if it shows whole texts one by one; otherwise it is a page without the
 * extras of `page`. */
static int run_command(const struct options *options, struct err *err)
{
    struct output output = {.path = NULL};
    if (weights_file_is_asked(options))
        return weights_file_show(options, false, err);
    if (output_choose(&output, &options->output, err))
        return -1;
    const struct select_options *select = &options->select;
    bool is_page = format_is(output.format, "html") && !output.to_folder && !select->query &&
                   !select->gradient && !(select->mean && strstr(select->mean, "texts")) &&
                   !select->pool && !select->align;
    return is_page ? page_command(options, err) : driver_do(&run_task, options, err);
}
