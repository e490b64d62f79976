/* lens.c: `attn-cli lens`: shows what each layer would predict; with --fit-jacobian, writes the
 * matrices of a Jacobian lens. */
#include "base/names.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "measure/logit_lens.h"
#include "measure/token_scores.h"
#include "model/points.h"
#include "question_job.h"
#include "say.h"

static const struct task lens_task;

static const struct option_row lens_options[] = {
    STRING("site", 0, "SITE", IN(lens.site),
           "tensor to decode (default: resid_post); resid_post, resid_mid, resid_pre, attn_out or "
           "mlp_out",
           .heading = "Lens"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 (last), or all; default: all"),
    STRING("target", 0, "TOKEN", IN(lens.target),
           "token whose rank and probability are printed; or two tokens whose logit difference is "
           "printed: ' are: is'; default: the next token of the text; in masked models the token "
           "itself"),
    INTEGER("top", 0, "N", IN(lens.best), 1, 1000, "tokens of each cell, in JSON only (default: 3)",
            .preset = 3),
    STRING("show", 0, "LIST", IN(select.show),
           "best, id, entropy, kl, rank or target; best: the likeliest token (default); kl: to the "
           "last layer; target: default with --target; data formats have all"),
    STRING("mean", 0, "AXES", IN(select.mean),
           "average over layers, texts or both; texts: by position; with --target, at the last "
           "[MASK], else the last token",
           .flags = OPTION_FIXED),
    STRING("jacobian", 0, "FILE", IN(lens.jacobian),
           "file of the matrices of a Jacobian lens; the vectors of each layer are first "
           "multiplied by its matrix; torch (.pt) or .safetensors",
           .heading = "Jacobian lens"),
    FLAG("fit-jacobian", 0, IN(lens.fit),
         "fit the matrices of --jacobian to the texts; writes them to -o FILE.pt",
         .flags = OPTION_FIXED | OPTION_NOT_BATCH),
    INTEGER("tokens", 0, "N", IN(lens.tokens), JACOBIAN_TOKENS_MIN, 100000000,
            "with --fit-jacobian: tokens a text (default: 64); only the first N tokens of each "
            "text are read",
            .preset = 64, .flags = OPTION_FIXED | OPTION_NOT_BATCH),
    {0},
};

static command_verb lens_command;

const struct command command_lens = {
    .name = "lens",
    .heading = "Explain",
    .about = "what each layer would predict (logit lens)",
    .operands = "[TEXT]...",
    .most_used = "-m smollm2.gguf\n"
                 "-f texts.txt\n"
                 "--target \" are\"\trank and probability of a token\n"
                 "--show rank,target\tbest, id, entropy, kl, rank, ...\n"
                 "--layer 0,3-5\n"
                 "--site attn_out\ttensor (default: resid_post)\n"
                 "-o lens.svg\n",
    .examples =
        "attn-cli lens \"Life is short, eat dessert first\"\n"
        "attn-cli lens \"The keys to the cabinet\" --target \" are\" --show rank,target,kl\n"
        "attn-cli lens \"The keys to the cabinet\" --target \" are: is\" --show target\n"
        "attn-cli lens \"Life is short\" --site attn_out --layer -1 --format json\n"
        "attn-cli lens \"Life is short, eat dessert first\" -o lens.svg\n"
        "attn-cli lens --fit-jacobian -f data/experiments/sentences.txt -o lens.pt\n"
        "attn-cli lens \"Life is short, eat dessert first\" --jacobian lens.pt\n",
    .task = &lens_task,
    .run = lens_command,
    .options = lens_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, output_options,
               terminal_options, figure_options},
    .without = "words range verbose",
    .draws = true,
};

/* The options of one text. The state of the task is the lens of --jacobian. */
struct lens_job {
    struct question question; /* the one or two tokens of --target */
    struct lens_plan plan;
    unsigned numbers; /* numbers of --show: bits 1 << LENS_... */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    (void)state;
    driver->columns = "sentence layer position token best probability logprob id entropy kl rank "
                      "target target_logprob";
    return question_prepare(driver, "--target", driver->options->lens.target, err);
}

/* --- options ---------------------------------------------------------------------------------- */

static int check_model(struct viewer *viewer, struct err *err)
{
    const struct config *config = &viewer->model.config;
    const struct scoring scoring = {.viewer = viewer};
    if (config->answers == ANSWER_OF_MEAN)
        return err_unsupported(err,
                               "'%s': expected classes of a token, found those of the mean of "
                               "all tokens",
                               viewer->model.name);
    return config_classifies(config) ? logits_check(viewer, 0, err) : scoring_check(&scoring, err);
}

/* Read --layer, by default all layers. Layers that lack the site are left out: some layers have no
 * shared expert. */
static int read_layers(struct lens_plan *plan, const struct driver *driver, const struct job *job,
                       struct arena *arena, struct err *err)
{
    const struct config *config = &driver->session.viewer.model.config;
    struct layers listed;
    if (question_layers(&listed, driver, job, arena, err))
        return -1;
    size_t *layers = arena_alloc(arena, listed.count, sizeof *layers, err);
    plan->layers = (struct layers){layers, 0};
    for (size_t i = 0; layers && i < listed.count; i++)
        if (site_is_in_layer(config, plan->site, listed.items[i]))
            layers[plan->layers.count++] = listed.items[i];
    return layers ? 0 : -1;
}

/* Read --show, which names the numbers to show. Without --show, the default numbers are shown and,
 * with --target, also the number LENS_TARGET. */
static int read_numbers(struct lens_job *own, const struct driver *driver, const struct job *job,
                        struct err *err)
{
    const struct options *options = question_options(driver, job);
    if (question_numbers(&own->numbers, driver, job, NAMES_LIST(lens_numbers), err))
        return -1;
    if (!options->select.show && options->lens.target)
        own->numbers |= 1u << LENS_TARGET;
    return 0;
}

static int read_options(struct lens_job *own, struct driver *driver, const struct job *job,
                        struct arena *arena, struct err *err)
{
    const struct options *options = question_options(driver, job);
    struct viewer *viewer = &driver->session.viewer;
    const struct config *config = &viewer->model.config;
    struct lens_plan *plan = &own->plan;
    bool of_texts = driver->derivation.mean_of_texts;
    bool mean = of_texts || driver->derivation.mean_of_layers;
    struct question_words words = question_words(driver, job);
    words.option = "--target";
    words.answer = options->lens.target;
    words.place_option = NULL; /* lens has no --query */
    if (answer_read(&own->question, &words, viewer, arena, err) || check_model(viewer, err) ||
        lens_find_site(&plan->site, options->lens.site, config, err) ||
        read_numbers(own, driver, job, err) || read_layers(plan, driver, job, arena, err))
        return -1;
    if (mean && own->numbers == 1u << LENS_ID)
        return err_usage(err, "--mean: ids have no mean: leave id out of --show");
    if (mean)
        own->numbers &= ~(1u << LENS_ID);
    if (options->lens.jacobian && plan->site != site_of_output(config))
        return err_usage(err, "--jacobian: expected --site %s, found '%s'",
                         site_name(site_of_output(config)), options->lens.site);
    plan->viewer = viewer;
    plan->best_count = mean ? 1 : (size_t)options->lens.best;
    plan->is_mean = of_texts;
    plan->of_one = of_texts && own->question.answer >= 0;
    plan->target = own->question.answer;
    plan->against = own->question.against;
    if (job && plan->of_one && position_read(&own->question, &words, viewer, arena, err))
        return -1;
    plan->position = own->question.position;
    return 0;
}

/* Check the options that need no text, and read the file of --jacobian. */
static int open(void *state, struct driver *driver, struct err *err)
{
    struct jacobian_lens *jacobian = state;
    struct session *session = &driver->session;
    const char *path = session->options->lens.jacobian;
    struct lens_job own = {.numbers = 0};
    if (read_options(&own, driver, NULL, &session->arena, err))
        return -1;
    return path ? jacobian_lens_open(jacobian, path, &session->viewer.model.config,
                                     &own.plan.layers, &session->arena, err)
                : 0;
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct lens_job *own = job->own = arena_alloc(arena, 1, sizeof *own, err);
    if (!own || read_options(own, driver, job, arena, err))
        return -1;
    own->plan.jacobian = job->item.options.lens.jacobian ? state : NULL;
    lens_add_memory(&job->memory, &own->plan, &job->pair);
    return 0;
}

/* Tell the viewer how many tokens the passes will process, and for how many tokens logits are
 * computed: for each token at every layer. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    struct viewer *viewer = &driver->session.viewer;
    (void)state;
    viewer_expect(viewer, EXPECT_TOKENS, tokens);
    viewer_expect(viewer, EXPECT_STEPS, tokens * viewer->model.config.n_layer);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Say in the title and the facts which layers use the logit lens, because they have no Jacobian
 * matrix. */
static int describe_jacobian(struct job *job, struct facts *facts, struct arena *arena,
                             struct err *err)
{
    const struct lens_job *own = job->own;
    const struct jacobian_lens *jacobian = own->plan.jacobian;
    const struct layers *layers = &own->plan.layers;
    struct buf list = {0};
    for (size_t i = 0; i < layers->count; i++)
        if (!weight_exists(&jacobian->weights[layers->items[i]]))
            buf_format(&list, "%s%zu", list.size ? ", " : "", layers->items[i]);
    buf_text(&list, list.size ? "" : "none");
    const char *plain = buf_keep(&list, arena, err);
    facts_text(facts, "jacobian", job->item.options.lens.jacobian);
    facts_integer(facts, "jacobian_prompts",
                  jacobian->prompts ? (long long)jacobian->prompts : COLUMN_MISSING);
    facts_text(facts, "logit_lens_layers", plain);
    job->report.about =
        plain ? arena_format(arena, err, "Jacobian lens; layers with the logit lens: %s", plain)
              : NULL;
    return job->report.about ? 0 : -1;
}

static int run_text(struct job *job, const struct group *group, struct err *err)
{
    struct lens_job *own = job->own;
    struct logit_lens lens;
    struct arena *arena = group->arena;
    struct facts *facts = question_report(job, group, err);
    if (!facts || (own->plan.jacobian && describe_jacobian(job, facts, arena, err)))
        return -1;
    own->plan.viewer = group->viewer;
    facts_text(facts, "site", site_name(own->plan.site));
    return err_if(lens_capture(&lens, &own->plan, &job->pair, arena, err) ||
                  lens_report(&job->report, &lens, own->numbers, group->viewer->words, arena, err));
}

static int run(void *state, const struct group *group, struct err *err)
{
    (void)state;
    for (size_t i = 0; i < group->count; i++)
        if (run_text(group->jobs[i], group, err))
            return -1;
    return 0;
}

static const struct task lens_task = {
    .fields = 1 << ITEM_TARGET,
    .many = ITEMS_SOME,
    .means = MEAN_OF_LAYERS,
    .at_once = true,
    .pages = "attn-cli page --lens",
    .state_bytes = sizeof(struct jacobian_lens),
    .prepare = prepare,
    .open = open,
    .expect = expect,
    .read = read,
    .run = run,
};

/* --- --fit-jacobian --------------------------------------------------------------------------- */

static int fit_texts(struct jacobian_fit *fit, struct session *session, const struct items *items,
                     struct err *err)
{
    const struct options *options = session->options;
    const struct config *config = &fit->viewer->model.config;
    const struct scoring scoring = {.viewer = fit->viewer};
    struct selection selection = {.sites = SITE_SET(SITE_CONTEXT)};
    struct progress progress;
    session->viewer.reads_any_length = true;
    if (scoring_check(&scoring, err) ||
        selection_layers(&selection, options->select.layer, config, &session->arena, err))
        return -1;
    fit->layers = selection.layers;
    if (fit->layers.items[fit->layers.count - 1] + 1 == config->n_layer && --fit->layers.count == 0)
        return err_usage(err, "--fit-jacobian: expected a layer before the last one, found none");
    struct text_with_source *pairs = session_read_items(session, items, err);
    int failed = !pairs || jacobian_fit_begin(fit, &session->arena, err);
    progress_begin(&progress, "channels");
    fit->progress = &progress.sink;
    fit->texts = items->count;
    for (size_t i = 0; i < items->count && !failed; i++) {
        size_t *count = &pairs[i].text.count;
        *count = num_min(*count, (size_t)options->lens.tokens);
        failed = jacobian_fit_add(fit, &pairs[i], err);
    }
    progress_end(&progress);
    if (!failed && !fit->prompts)
        return err_usage(err, "--fit-jacobian: expected a text of at least %d tokens, found none",
                         JACOBIAN_TOKENS_MIN);
    if (!failed && fit->prompts < fit->texts)
        print_note("%zu of %zu texts have fewer than %d tokens: they are left out",
                   fit->texts - fit->prompts, fit->texts, JACOBIAN_TOKENS_MIN);
    return failed;
}

static int lens_command(const struct options *options, struct err *err)
{
    const char *path = options->output.path;
    struct session session = {.options = options};
    struct jacobian_fit fit = {.viewer = &session.viewer};
    struct items items = {0};
    struct stream out = {0};
    if (!options->lens.fit)
        return options_are_given(options, "tokens")
                   ? err_usage(err, "--tokens: expected --fit-jacobian, found none")
                   : driver_do(&lens_task, options, err);
    if (options_exclude(options, "fit-jacobian",
                        "jacobian site target show mean format edit ablate knockout", err))
        return -1;
    if (!path || !name_ends_in(path, ".pt"))
        return err_usage(err, "--output: expected a file .pt, found %s", path ? path : "none");
    int failed = items_open(&items, options, 0, ITEMS_SOME, err);
    if (!failed)
        session.begins = session_beginning(&items, false);
    failed = failed || session_begin(&session, err) || output_to(&out, path, err) ||
             fit_texts(&fit, &session, &items, err) || jacobian_fit_write(&fit, &out, err);
    failed = stream_end(&out, failed, err);
    items_release(&items);
    session_release(&session);
    return failed;
}
