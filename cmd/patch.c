/* patch.c: `attn-cli patch`: activation patching, path patching and maps of ablations. */
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "command.h"
#include "driver.h"
#include "measure/patching.h"
#include "model/head_name.h"
#include "model/points.h"
#include "question_job.h"
#include "say.h"

static const struct task patch_task;

WORDS(patch_groups, "What is swapped (--over; help over lists all)",
      {"each head", "heads (default), q, k, v, weights, heads_by_token"},
      {"each layer and token", "resid_pre, resid_mid, attn_out, mlp_out"},
      {"neurons, paths", "mlp_act, paths, edges, parts"},
      {"cross-attention, state", "cross_heads, cross_out, mix_heads, mix_out, mix_q, ..."})
VALUES_(, patches, "Values to patch (--over)", PATCH_OVERS, patch_overs[index].name,
        patch_overs[index].about)

VALUES(withs, NULL, PATCH_WITHS, patch_withs[index], NULL)

VALUES(metrics, "Metrics (--metric)", PATCH_METRICS, patch_metrics[index].name,
       patch_metrics[index].about)

VALUES(numbers, NULL, PATCH_NUMBERS, patch_numbers[index].name, patch_numbers[index].about)

static const struct option_row patch_options[] = {
    STRING("clean", 0, "TEXT", IN(patch.clean),
           "text with the information; with --with also the operand", .flags = OPTION_NOT_BATCH,
           .heading = "Texts and measures"),
    STRING("corrupt", 0, "TEXT", IN(patch.corrupt), "text without it, as many tokens",
           .flags = OPTION_FIXED),
    STRING("corrupt-source", 0, "TEXT", IN(patch.corrupt_source),
           "encoder-decoders: the corrupt text of the encoder; of any length; default: --source",
           .flags = OPTION_FIXED),
    STRING("file", 'f', "FILE", IN(input.file),
           "pairs: columns clean and corrupt; CSV or JSONL, optionally with the columns answer, "
           "position, source and corrupt_source",
           .flags = OPTION_FIXED),
    FLAG("ids", 0, IN(tokens.only_ids), "--clean and --corrupt are token ids: 0,4,5",
         .flags = OPTION_NOT_BATCH),
    STRING("answer", 0, "A[:B]", IN(attribute.answer),
           "logit of A, or of A less B; A and B are tokens: ' Mary: John'; default: the most "
           "likely token after the clean text"),
    STRING("metric", 0, "METRIC", IN(patch.metric),
           "logit, probability, logprob, kl, js or cosine; the number that is measured; default: "
           "logit; cosine:@FILE.npy names the file of a vector",
           .values = &values_metrics),
    STRING("query", 0, "N", IN(attribute.position),
           "position whose logits are read; default: -1, the last token; in masked models the last "
           "[MASK]",
           .former = "position"),
    STRING("show", 0, "NUMBER", IN(select.show),
           "fraction, logit or effect; fraction (default): part of the answer restored; effect: "
           "the logit less the logit of the run without the patch; data formats have the first two",
           .values = &values_numbers),
    STRING("mean", 0, "texts", IN(select.mean), "average over the pairs of --file",
           .flags = OPTION_FIXED),
    STRING("over", 0, "WHAT", IN(patch.over), "what is swapped (default: heads)",
           .values = &values_patches, .heading = "Which runs"),
    STRING("with", 0, "HOW", IN(patch.with),
           "replace by text, zero, mean, resample or edits; text (default): the value in the other "
           "text; without --corrupt, in the clean run by zero, its mean over the tokens or, with "
           "--reference FILE, over these texts, or its value in one of these texts, drawn by "
           "--seed: each head and MLP is off in turn, and the fraction is logit / clean logit; "
           "edits: all of --edit, --ablate and --knockout at once, one number, as for batches",
           .values = &values_withs),
    FLAG("noise", 0, IN(patch.noise),
         "put corrupt values into the clean run; default: clean values into the corrupt run"),
    STRING("layer", 0, "LIST", IN(select.layer),
           "only these layers; 0,3-5, -1 for the last, all (default)"),
    STRING("joint", 0, "HEADS", IN(patch.joint),
           "only these heads: each alone, then all at once; 26.0,27.8 (without --layer); with "
           "--over paths, or --path without FROM, they are the senders"),
    STRING("path", 0, "FROM:TO", IN(patch.path),
           "only the direct path from a head; to q, k or v of later heads, 9.6:10.0.q or "
           "9.6:10.0,10.7.q, or to the logits, 9.6:logits. Without FROM: from every head; from "
           "several, 9.6,9.9:10.0.q: each alone, then all at once. All receivers get their inputs "
           "together; all other heads before them are frozen; MLPs, and everything after them, are "
           "recomputed"),
    FLAG("estimate", 0, IN(patch.estimate),
         "first-order estimates, from one backward pass; of all patches (attribution patching): "
         "the sum of (new value - value) times gradient, in the run that is patched"),
    INTEGER("verify", 0, "N", IN(patch.verify), 1, 1000,
            "--estimate: also exact numbers for the N largest; and the correlation"),
    INTEGER("steps", 0, "N", IN(patch.steps), 1, 1000,
            "--over edges: mean of N gradients (default: 1); at token embeddings between those of "
            "the patched text and of the other text (EAP-IG)",
            .preset = 1),
    {0},
};

static command_verb patch_command;

const struct command command_patch = {
    .name = "patch",
    .heading = "Explain",
    .about = "swap activations between two texts, or ablate each head",
    .operands = "[TEXT]",
    .most_used = "--clean \"The keys\"\n"
                 "--corrupt \"The key\"\n"
                 "-f pairs.csv\tpairs: columns clean and corrupt\n"
                 "--answer \" are: is\"\n"
                 "--over resid_pre\n"
                 "--with zero\tablate instead; no second text\n"
                 "-m smollm2.gguf\n"
                 "-o patch.svg\n",
    .examples =
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --answer \" are: is\"\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --over q -o p.svg\n"
        "attn-cli patch \"The keys to the cabinet\" --answer \" are: is\" --with zero\n"
        "attn-cli patch -f data/experiments/pairs.csv --mean texts\n"
        "attn-cli patch --clean \"The keys to the cabinet\" --corrupt \"The key to the cabinet\"\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --answer \" are: is\" --noise\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --over resid_pre -o patch.svg\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --path :1.3.v\n"
        "attn-cli patch \"The keys to the cabinet\" --answer \" are: is\" --with zero -o map.svg\n",
    .task = &patch_task,
    .run = patch_command,
    .options = patch_options,
    .value_groups = &values_patch_groups,
    .shared = {text_options, model_options, mechanism_options, edit_options, output_options,
               terminal_options, figure_options},
    .without = "sentence document ids words from",
    .draws = true,
};

/* Values that are read once and shared by all texts of a setting (sweep.h). */
struct patch_state {
    struct edit_list references; /* edits whose values come from --reference, at the patched
                                  * sites */
    struct npy direction;        /* the direction of --metric cosine:@FILE */
};

/* The options of one text, and its corrupt text. */
struct patch_job {
    struct question question; /* the answer of --answer and the position of --query */
    struct patching_plan plan;
    struct text_with_source corrupt; /* the text of --corrupt */
    unsigned numbers;                /* numbers of --show: bits 1 << PATCH_... */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    (void)state;
    return question_prepare(driver, "--answer", driver->options->attribute.answer, err);
}

/* --- options ---------------------------------------------------------------------------------- */

static int parse_over(struct patching_plan *plan, const struct options *options, struct err *err)
{
    const char *name = options->patch.over;
    size_t index = PATCH_HEADS;
    enum site site;
    if (selection_translate_one(&name, "--over", &plan->viewer->model.config, err))
        return -1;
    for (size_t i = 0; i < PATCH_OVERS && name != options->patch.over; i++)
        if (patch_overs[i].name && name == site_name(patch_overs[i].site)) {
            name = patch_overs[i].name;
            break;
        }
    if (name && site_find(name, strlen(name), &site) && site_branch(site) == BRANCH_MIXER) {
        const struct edit edit = {.site = site, .words = "--over"};
        if (edits_check(&(struct edits){&edit, 1}, &plan->viewer->model.config, err))
            return -1;
    }
    if (names_choose(&index, NAMES(patch_overs, PATCH_OVERS), "--over", name, err))
        return -1;
    plan->over = (enum patch_over)index;
    plan->noise = options->patch.noise;
    index = PATCH_WITH_TEXT;
    if (names_choose(&index, NAMES_LIST(patch_withs), "--with", options->patch.with, err) ||
        (index && options_exclude(options, "with", "corrupt corrupt-source noise", err)))
        return -1;
    plan->with = (enum patch_with)index;
    if (plan->with == PATCH_WITH_EDITS) {
        plan->over = PATCH_RESID_PRE;
        return err_if(options_exclude(options, "with", "over layer joint path estimate verify",
                                      err)) ||
               (edit_options_are_given(&options->edit)
                    ? 0
                    : err_usage(
                          err,
                          "--with edits: expected --edit, --ablate or --knockout, found none"));
    }
    if (plan->with && !name && !options->patch.joint && !options->patch.path)
        plan->over = PATCH_PARTS;
    if (plan->over == PATCH_PARTS && !plan->with)
        return err_usage(err, "--over parts: expected --with zero, mean or resample, found none");
    if (options->patch.path && name && plan->over != PATCH_PATHS)
        return err_usage(err, "--path: expected --over paths, found '%s'", name);
    if (options->patch.path)
        plan->over = PATCH_PATHS;
    const char *paths = options->patch.path ? "--path" : "--over paths";
    if (plan->over == PATCH_PATHS && options->select.layer)
        return err_usage(err, "--layer and %s cannot be combined: --path names layers", paths);
    if (plan->over == PATCH_PATHS && edit_options_are_given(&options->edit))
        return err_usage(err,
                         "%s cannot be combined with --edit, --ablate or --knockout: heads before "
                         "the receiver keep their values; use --over heads",
                         paths);
    return 0;
}

/* Read --estimate, --verify and --steps. */
static int parse_estimate(struct patching_plan *plan, const struct options *options,
                          struct err *err)
{
    const bool of_edges = plan->over == PATCH_EDGES;
    plan->verify = (size_t)options->patch.verify;
    plan->steps = (size_t)options->patch.steps;
    plan->estimate = options->patch.estimate || plan->verify;
    if (plan->estimate && plan->over == PATCH_PATHS)
        return err_usage(err, "--estimate: expected --over of values or edges, found 'paths': use "
                              "--over edges");
    if (of_edges && !plan->estimate)
        return err_usage(err, "--over edges: expected --estimate, found exact patches: use --over "
                              "paths or --path");
    if (plan->steps > 1 && !of_edges)
        return err_usage(err, "--steps: expected --over edges, found '%s'",
                         patch_overs[plan->over].name);
    if (of_edges && plan->verify)
        return err_usage(err,
                         "--verify: expected --over of values, found 'edges': --path 0.1:1.2.q "
                         "patches a path, through all MLPs between");
    const char *other = of_edges ? options_are_given(options, "layer joint") : NULL;
    if (other)
        return err_usage(
            err, "--%s and --over edges cannot be combined: select edges in the result", other);
    return err_if((plan->verify && options_exclude(options, "verify", "joint mean", err)) ||
                  (plan->steps > 1 && options_exclude(options, "steps", "with", err)));
}

/* Read a list of heads to patch, such as `L26H0,L27H8`. */
static int parse_heads(struct patching_plan *plan, const char *option, const char *list,
                       size_t size, struct arena *arena, struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    struct stack text = *stack_of(config, BRANCH_TEXT);
    text.heads = site_heads(config, patch_overs[plan->over].site, 0);
    struct layer_head *heads = NULL;
    char name[HEAD_NAME_BYTES];
    if (selection_layer_heads(&heads, &plan->head_count, option, list, size, &text, arena, err))
        return -1;
    for (const struct layer_head *one = heads; one < heads + plan->head_count; one++)
        for (const struct layer_head *other = heads; other < one; other++)
            if (one->layer == other->layer && one->head == other->head)
                return err_usage(err, "%s: expected different heads, found %s twice", option,
                                 head_name(name, one->layer, one->head));
    plan->heads = heads;
    return 0;
}

static int parse_joint(struct patching_plan *plan, const struct options *options,
                       struct arena *arena, struct err *err)
{
    const char *list = options->patch.joint;
    enum site site = patch_overs[plan->over].site;
    if (!list)
        return 0;
    if (plan->over == PATCH_HEADS_BY_TOKEN || !site_has_heads(site) ||
        site_axes(site) == AXES_KV_HEAD_TOKEN_DIM)
        return err_usage(err,
                         "--joint: expected --over heads, q, weights, cross_heads, mix_heads or "
                         "paths, found '%s'",
                         patch_overs[plan->over].name);
    if (options->select.layer)
        return err_usage(err, "--layer and --joint cannot be combined: --joint names layers");
    plan->joint = true;
    return parse_heads(plan, "--joint", list, strlen(list), arena, err);
}

/* Read a list of receiving heads, such as `L10H0,L10H7.q`. A head without a letter (q, k or v) gets
 * the letter of the next head that has one. Keys and values are received by the key/value head: a
 * note names the other heads that use it. */
static int parse_receivers(struct patching_plan *plan, const char *list, bool notes,
                           struct arena *arena, struct err *err)
{
    static const char *const parts[] = {"q", "k", "v"};
    const struct config *config = &plan->viewer->model.config;
    struct patch_receiver *receivers = arena_alloc(arena, strlen(list), sizeof *receivers, err);
    size_t named = 0;
    char heads[SHEET_NAME_BYTES], name[HEAD_NAME_BYTES], kv_name[HEAD_NAME_BYTES];
    for (const char *at = list; receivers && at; at = list_next(at)) {
        struct patch_receiver *receiver = &receivers[plan->receiver_count++];
        size_t size = strcspn(at, ","), part = 0;
        const char *dot = platform_last_byte(at, '.', size);
        bool has_part =
            dot && names_find(&part, NAMES_LIST(parts), dot + 1, (size_t)(at + size - dot) - 1);
        if (selection_layer_head(&receiver->at, "--path", at, has_part ? (size_t)(dot - at) : size,
                                 stack_of(config, BRANCH_TEXT), err))
            return -1;
        for (; has_part && named < plan->receiver_count; named++)
            receivers[named].site = (enum site)(SITE_Q + part);
    }
    plan->receivers = receivers;
    for (size_t i = 0; receivers && i < plan->receiver_count; i++) {
        struct layer_head *at = &receivers[i].at;
        const struct head_rule *rule = stack_head(config, BRANCH_TEXT, at->layer);
        size_t head = at->head, shared_by = kv_head_shared_by(rule);
        if (receivers[i].site == SITE_Q || shared_by == 1)
            continue;
        at->head = kv_head_of(rule, head);
        if (notes)
            print_note("--path: %s of %s is %s, shared by %s: all of them receive",
                       site_name(receivers[i].site), head_name(name, at->layer, head),
                       kv_head_name(kv_name, at->layer, at->head),
                       heads_sharing(heads, (int)at->layer, at->head, shared_by));
    }
    return receivers ? 0 : -1;
}

/* Read the senders and receivers of --path: `L9H6:L10H0.q` or `L9H6,L9H9:logits`. Without senders,
 * as in `:L10H0,L10H7.q`, the senders are the heads of --joint or, by default, all heads. */
static int parse_path(struct patching_plan *plan, const struct options *options, bool notes,
                      struct arena *arena, struct err *err)
{
    static const char *const endings[] = {".q", ".k", ".v"};
    const char *from = options->patch.path;
    if (!from)
        return 0;
    size_t size = strcspn(from, ":"), latest = 0, last = 0;
    const char *to = from[size] ? from + size + 1 : from;
    bool to_logits = !*to || strcmp(to, "logits") == 0, ends = false;
    for (size_t i = 0; i < 3; i++)
        ends |= name_ends_in(to, endings[i]);
    if (!from[size] || (!to_logits && !ends))
        return err_usage(err,
                         "--path: expected FROM:TO, where TO is logits or ends with .q, .k or .v, "
                         "such as L9H6:logits or L9H6:L10H0.q, found '%s'",
                         from);
    if (size && plan->joint)
        return err_usage(err, "--joint and --path FROM:TO cannot be combined: both name senders; "
                              "use --path :TO");
    if ((!to_logits && parse_receivers(plan, to, notes, arena, err)) ||
        (size && parse_heads(plan, "--path", from, size, arena, err)))
        return -1;
    plan->joint |= plan->head_count > 1;
    for (size_t i = 0; i < plan->receiver_count; i++)
        last = num_max(last, plan->receivers[i].at.layer);
    for (size_t i = 0; i < plan->head_count; i++)
        latest = num_max(latest, plan->heads[i].layer);
    return to_logits || latest < last
               ? 0
               : err_usage(err,
                           "--path: expected a receiver in a layer after the sender's, %zu, found "
                           "%zu",
                           latest, last);
}

/* Read --metric. `*path` is the FILE of cosine:@FILE, else NULL. */
static int parse_metric(struct patching_plan *plan, const char **path,
                        const struct options *options, struct err *err)
{
    static const char cosine[] = "cosine:@";
    const char *name = options->patch.metric;
    size_t metric = METRIC_LOGIT;
    const bool has_file = name && strncmp(name, cosine, sizeof cosine - 1) == 0;
    *path = has_file ? name + sizeof cosine - 1 : NULL;
    if (names_choose(&metric, NAMES(patch_metrics, PATCH_METRICS), "--metric",
                     has_file ? patch_metrics[METRIC_COSINE].name : name, err))
        return -1;
    if (metric == METRIC_COSINE && !has_file)
        return err_usage(err, "--metric: expected cosine:@FILE.npy, found '%s'", name);
    if (metric && plan->estimate)
        return err_usage(err, "--metric: expected logit with --estimate, found '%s'", name);
    plan->metric = (enum patch_metric)metric;
    return 0;
}

/* Read the vector of --metric cosine:@FILE, once for all texts of a setting (sweep.h). */
static int read_direction(struct npy *direction, const char *path, size_t width,
                          struct arena *arena, struct err *err)
{
    size_t count = 1;
    if (npy_read(direction, path, arena, err))
        return -1;
    for (size_t i = 0; i < direction->rank; i++)
        count *= direction->shape[i];
    return count == width ? 0
                          : err_set(err, "'%s': expected a vector of %zu numbers, found %zu", path,
                                    width, count);
}

/* Read --show, whose values may include the name of the metric. */
static int parse_numbers(struct patch_job *own, const struct driver *driver, const struct job *job,
                         struct err *err)
{
    const struct options *options = question_options(driver, job);
    const struct patch_metric_row *metric = &patch_metrics[own->plan.metric];
    struct patch_number_row names[PATCH_NUMBERS];
    memcpy(names, patch_numbers, sizeof names);
    names[PATCH_LOGIT].name = metric->name;
    if (question_numbers(&own->numbers, driver, job, NAMES(names, PATCH_NUMBERS), err))
        return -1;
    if (!own->plan.with || metric->is_scale)
        return 0;
    if (options->select.show && own->numbers >> PATCH_FRACTION & 1)
        return err_usage(err,
                         "--show fraction: expected --metric logit, probability or cosine "
                         "with --with, found '%s'",
                         options->patch.metric);
    own->numbers &= ~(1u << PATCH_FRACTION);
    own->numbers |= own->numbers ? 0 : 1u << PATCH_LOGIT;
    return 0;
}

/* Read the values of --reference at the patched sites, once for all texts of a setting
 * (sweep.h). */
static int read_references(struct edit_list *list, const struct patching_plan *plan,
                           struct session *session, struct err *err)
{
    const struct options *options = session->options;
    const struct config *config = &session->viewer.model.config;
    const char *reference = options->edit.reference;
    const bool resamples = plan->with == PATCH_WITH_RESAMPLE;
    const enum site sites[] = {patch_overs[plan->over].site, SITE_MLP_OUT};
    const bool has_mlp = plan->over == PATCH_PARTS && site_exists(config, SITE_MLP_OUT);
    if ((!reference && !resamples) || plan->with == PATCH_WITH_EDITS)
        return 0;
    if (!reference)
        return err_usage(err, "--with resample: expected --reference FILE, whose texts supply "
                              "values, found none");
    if (plan->over == PATCH_EDGES)
        return err_usage(err, "--reference and --over edges cannot be combined");
    *list = (struct edit_list){.config = config,
                               .arena = &session->arena,
                               .store = session->store,
                               .key = session->edits.key};
    for (size_t i = 0; i < 1 + (size_t)has_mlp; i++) {
        const char *edit =
            arena_format(list->arena, err, resamples ? "%s = resample:%lld" : "%s = mean",
                         site_name(sites[i]), options->mechanism.seed);
        if (!edit || edit_list_add(list, EDIT_WORDS, edit, err))
            return -1;
    }
    return session_fill_edits(session, list, err);
}

/* Read the options of a job. If `job` is NULL, check the options, and read the files that they
 * name. */
static int read_options(struct patch_job *own, struct patch_state *state, struct driver *driver,
                        struct job *job, struct arena *arena, struct err *err)
{
    const struct options *options = question_options(driver, job);
    const struct question_words words = question_words(driver, job);
    struct patching_plan *plan = &own->plan;
    struct viewer *viewer = plan->viewer = &driver->session.viewer;
    const size_t width = viewer->model.config.n_embd;
    const char *path = NULL; /* path of the file of the direction */
    if (answer_read(&own->question, &words, viewer, arena, err) ||
        question_layers(&plan->layers, driver, job, arena, err) || parse_over(plan, options, err) ||
        parse_estimate(plan, options, err) || parse_joint(plan, options, arena, err) ||
        parse_metric(plan, &path, options, err) ||
        (path && !job && read_direction(&state->direction, path, width, arena, err)) ||
        parse_numbers(own, driver, job, err) ||
        (!job && read_references(&state->references, plan, &driver->session, err)) ||
        parse_path(plan, options, !job, arena, err))
        return -1;
    if (!options->select.show && !plan->with && !plan->estimate)
        own->numbers &= ~(1u << PATCH_EFFECT);
    if (!job)
        return 0;
    for (size_t i = 0; i < state->references.edits.count; i++)
        plan->donors[i] = state->references.items[i].donor;
    plan->direction = state->direction.data;
    plan->number = job->index;
    plan->question = &own->question;
    plan->clean = &job->pair;
    plan->corrupt = &own->corrupt;
    return err_if((!plan->with && question_corrupt(&own->corrupt, driver, job, arena, err)) ||
                  position_read(&own->question, &words, viewer, arena, err));
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct patch_job own = {.numbers = 0};
    struct patch_state *of_setting = state;
    *of_setting = (struct patch_state){.references = {.config = NULL}};
    driver->style.two_sided = true;
    return read_options(&own, of_setting, driver, NULL, &driver->session.arena, err);
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct patch_job *own = job->own = arena_alloc(arena, 1, sizeof *own, err);
    if (!own || read_options(own, state, driver, job, arena, err))
        return -1;
    patching_add_memory(&job->memory, &own->plan, &job->pair);
    return 0;
}

/* Tell the viewer how many tokens the passes will process: a copy of the text for each token and
 * layer; estimates need only one pass. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    struct viewer *viewer = &driver->session.viewer;
    bool once = driver->options->patch.estimate;
    size_t steps = once ? tokens : tokens * viewer->model.config.n_layer;
    (void)state;
    viewer_expect(viewer, EXPECT_TOKENS, once ? tokens : tokens * steps);
    viewer_expect(viewer, EXPECT_STEPS, steps);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Run a text and make its report, with a title such as "logit difference ␣Mary - ␣John after ␣to:
 * clean 3.5512, corrupt -1.2003". */
static int run_text(struct job *job, const struct group *group,
                    const struct progress_sink *progress, struct err *err)
{
    struct patch_job *own = job->own;
    struct patching_plan *plan = &own->plan;
    struct arena *arena = group->arena;
    struct facts *facts = question_report(job, group, err);
    struct patching found;
    if (!facts)
        return -1;
    plan->viewer = group->viewer;
    plan->progress = progress;
    if (job->item.options.patch.corrupt_source)
        job->report.corrupt_source = &own->corrupt.source;
    if (patching_make(&found, plan, arena, err) ||
        patching_report(&job->report, &found, own->numbers, arena, err))
        return -1;
    if (plan->with != PATCH_WITH_EDITS)
        facts_text(facts, "over", patch_overs[plan->over].name);
    facts_text(facts, "patched", plan->noise || plan->with ? "clean" : "corrupt");
    if (plan->with)
        facts_text(facts, "with", patch_withs[plan->with]);
    if (plan->estimate)
        facts_text(facts, "method", "first-order estimate");
    if (plan->steps > 1)
        facts_integer(facts, "steps", (long long)plan->steps);
    const char *logit = question_title(&own->question, "after", job, group, facts, err);
    const char *metric = patch_metrics[plan->metric].name;
    if (plan->metric) {
        facts_text(facts, "metric", metric);
        logit = !logit ? NULL
                : plan->metric < METRIC_KL
                    ? arena_format(arena, err, "%s%s", metric, logit + strlen("logit"))
                    : arena_format(arena, err, "%s at %s", metric,
                                   job->pair.text.labels[found.plan->question->position].text);
    }
    if (!logit)
        return -1;
    facts_float(facts, "clean", found.clean);
    if (!plan->with)
        facts_float(facts, "corrupt", found.corrupt);
    if (plan->verify)
        facts_float(facts, "correlation", found.correlation);
    const char *other = plan->with ? "" : arena_format(arena, err, ", corrupt %.4f", found.corrupt);
    job->report.about =
        arena_format(arena, err, "%s%s%s: clean %.4f%s",
                     plan->with    ? patch_withs[plan->with]
                     : plan->noise ? "corrupt"
                                   : "",
                     plan->with || plan->noise ? " into clean · " : "", logit, found.clean, other);
    return other && job->report.about ? 0 : -1;
}

/* Run the texts of a group. Progress counts patches, not layers. */
static int run(void *state, const struct group *group, struct err *err)
{
    (void)state;
    return question_run(group, run_text, err);
}

/* Print a note that offers exact patches in place of estimates. */
static int finish(void *state, struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    (void)state;
    (void)err;
    if (!options->patch.estimate || options->patch.verify || driver->is_batch ||
        driver->accumulates || !driver->output.format->for_people)
        return 0;
    if (options->patch.over && strcmp(options->patch.over, patch_overs[PATCH_EDGES].name) == 0)
        print_note("first-order estimates: --path 0.1:1.2.q patches a path from head to head, "
                   "through all MLPs between");
    else if (options->patch.joint)
        print_note("first-order estimates: without --estimate, these patches are exact");
    else
        print_note("first-order estimates; the largest with their exact patches: attn-cli patch%s "
                   "--verify 10",
                   options->line);
    return 0;
}

static const struct task patch_task = {
    .fields = OF_ANSWER | 1 << ITEM_CLEAN | 1 << ITEM_CORRUPT | 1 << ITEM_CORRUPT_SOURCE,
    .many = ITEMS_SOME,
    .means = MEAN_OF_TEXTS,
    .steps = "patches",
    .state_bytes = sizeof(struct patch_state),
    .prepare = prepare,
    .open = open,
    .expect = expect,
    .read = read,
    .run = run,
    .finish = finish,
};

/* --- the command ------------------------------------------------------------------------------ */

/* Run `patch`. The clean text is the command's only text, or the text of each item of a file. */
static int patch_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    const struct texts *operands = &options->input.operands;
    const char *clean = options->patch.clean;
    if (operands->count == 1 && !clean && !options->input.file && options->patch.with) {
        clean = own.patch.clean = operands->items[0];
        own.input.operands.count = 0;
    } else if (operands->count)
        return err_usage(err, "expected --clean TEXT and --corrupt TEXT, found the operand '%s'",
                         operands->items[0]);
    if (options_exclude(options, "file", "clean corrupt ids", err))
        return -1;
    if (!options->input.file && !clean)
        return err_usage(err, "expected --clean TEXT, found none");
    if (options->tokens.only_ids)
        own.input.ids = clean;
    else if (clean)
        own.input.sentences = (struct texts){&own.patch.clean, 1};
    return driver_do(&patch_task, &own, err);
}
