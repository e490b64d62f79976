/* attribute.c: `attn-cli attribute`: explains a logit as a sum of parts or by the saliency of
 * tokens; with --head it explains an attention score (attribute_score.c). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute_score.h"
#include "base/names.h"
#include "command.h"
#include "driver.h"
#include "measure/attribution.h"
#include "measure/saliency.h"
#include "question_job.h"
#include "say.h"

static const struct task attribute_task;

VALUES(attributions, "Parts (--by)", ATTRIBUTION_WAYS, attribution_ways[index].name,
       attribution_ways[index].about)

static const struct attribute_method {
    const char *name, *about;
} methods[SALIENCY_METHODS] = {
    [SALIENCY_INTEGRATED] = {"integrated", "integrated gradients, from --baseline (default)"},
    [SALIENCY_GRADIENT] = {"gradient", "input times gradient: one pass"},
};

VALUES(methods, "Methods of --by token (--method)", SALIENCY_METHODS, methods[index].name,
       methods[index].about)

VALUES(rules, NULL, SALIENCY_RULES, saliency_rules[index], NULL)

static const struct option_row attribute_options[] = {
    STRING("answer", 0, "A[:B]", IN(attribute.answer),
           "logit of A, or of A less B; A and B are tokens: ' Mary: John'; default: the most "
           "likely token",
           .heading = "A logit"),
    STRING("query", 0, "N", IN(attribute.position),
           "token after which the logit is read; default: -1, the last token; in masked models the "
           "last [MASK]; with --head the query: also a token, 1:is",
           .former = "position"),
    STRING("by", 0, "WHAT", IN(attribute.by),
           "split by part, source token, neuron, expert, ...; part (default), source, neuron, "
           "expert or feature of --sae; token: the saliency of each token of the text; with "
           "--head, by part, pair or source",
           .values = &values_attributions),
    STRING("layer", 0, "LIST", IN(select.layer),
           "only the parts of these layers; 0,3-5, -1 for the last, all; default: all parts"),
    STRING("mean", 0, "texts", IN(select.mean), "average over texts", .flags = OPTION_FIXED),
    STRING("head", 0, "L.H", IN(attribute.head),
           "split a score of this head; 18.6: why the query looks at --key",
           .heading = "A score of a head"),
    STRING("key", 0, "K", IN(attribute.key),
           "with --head: the key, a position or a token; 4:2 is the score of key 4 less the score "
           "of key 2; 4:mean: less the mean of all visible keys; 4:weights: less the mean of all "
           "keys by their weights"),
    STRING("part", 0, "PART", IN(attribute.part),
           "with --head: self (default), cross or encoder; the attention of an encoder-decoder"),
    STRING("corrupt", 0, "TEXT", IN(patch.corrupt),
           "with --head: a text whose pairs are subtracted; it needs as many tokens as the text"),
    INTEGER("depth", 0, "N", IN(attribute.depth), 0, 100,
            "with --head: steps of the path (default: 2); the path behind the largest part of each "
            "side",
            .preset = 2),
    STRING("method", 0, "HOW", IN(attribute.method), "--by token: integrated (default) or gradient",
           .values = &values_methods, .heading = "Saliency of tokens"),
    INTEGER("steps", 0, "N", IN(attribute.steps), 1, 100000,
            "--method integrated: points (default: 50); a pass each", .preset = 50),
    STRING("rule", 0, "RULE", IN(attribute.rule),
           "--method integrated: points and weights; gausslegendre (default), riemann_left, "
           "riemann_middle, riemann_right or riemann_trapezoid",
           .values = &values_rules),
    STRING("baseline", 0, "FROM", IN(attribute.baseline),
           "--method integrated: start of the path; zero (default), mean, which is the mean "
           "embedding of all tokens, or a token, which is its embedding"),
    {0},
};

const struct command command_attribute = {
    .name = "attribute",
    .heading = "Explain",
    .about = "split a logit, or the score of a head, into parts",
    .operands = "[TEXT]...",
    .most_used = "--answer \" are: is\"\n"
                 "--by token\tpart, source, neuron, token, ...\n"
                 "--query -1\ttoken whose logit is read\n"
                 "--head 1.3\ta score of this head instead\n"
                 "--key 4\twith --head: the key\n"
                 "-m smollm2.gguf\n"
                 "-f texts.txt\n"
                 "-o parts.svg\n",
    .examples = "attn-cli attribute \"Life is short, eat dessert\" --answer \" first: last\"\n"
                "attn-cli attribute \"Life is short, eat dessert\" --by token\n"
                "attn-cli attribute \"Life is short, eat dessert\" -o attribution.svg\n"
                "attn-cli attribute \"lemon cherry apple lemon\" --head 1.3 --key 5:mean\n"
                "attn-cli attribute \"Life is short, eat dessert\"\n"
                "attn-cli attribute \"Life is short, eat dessert\" --query 1 --by source\n"
                "attn-cli attribute \"Life is short, eat dessert\" --ablate 0.1,1.2\n"
                "attn-cli attribute \"Life is short\" --by neuron --format tidy > neurons.csv\n"
                "attn-cli attribute \"Life is short, eat dessert\" --sae demo --by feature\n",
    .task = &attribute_task,
    .options = attribute_options,
    .shared = {text_options, model_options, edit_options, output_options, terminal_options,
               figure_options},
    .without = "words precision verbose",
    .draws = true,
};

/* The options of one text, which is analysed in one of three modes. */
struct attribute_job {
    enum { SPLIT_LOGIT, SALIENCY, SPLIT_SCORE } mode;
    /* the answer and position of --answer and --query; not used for an attention score */
    struct question question;
    union {
        struct attribution_plan logit;
        struct saliency_job { /* options of --by token */
            struct saliency_plan plan;
            uint32_t baseline; /* the token of --baseline, if it names a token */
        } saliency;
        struct score_job score; /* options of --head */
    };
    /* a logit or score, and the sum of its parts; not used for saliency */
    struct attribution found;
};

/* The largest difference between a logit or score and the sum of its parts, over all texts. A note
 * shows it. */
struct remainder {
    double most;
    size_t texts;
    const char *what;       /* name of the explained value: score, logit or logit difference */
    char logit[NOTE_BYTES]; /* description of the first text's logit */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    (void)state;
    return question_prepare(driver, "--answer", driver->options->attribute.answer, err);
}

/* --- a logit as a sum ------------------------------------------------------------------------- */

static int read_split(struct attribute_job *own, enum attribution_by by, struct driver *driver,
                      struct job *job, struct arena *arena, struct err *err)
{
    const struct options *options = question_options(driver, job);
    const struct session *session = &driver->session;
    const char *of_saliency = options_are_given(options, "method steps rule baseline");
    struct attribution_plan *plan = &own->logit;
    *plan = (struct attribution_plan){.by = by, .question = &own->question};
    if (by == BY_FEATURE) {
        if (session->dictionary_count != 1)
            return err_usage(err, "--by feature: expected one --sae DIR, found %zu",
                             session->dictionary_count);
        if (options->select.layer)
            return err_usage(err, "--by feature and --layer cannot be combined");
        plan->dictionary = session->dictionaries;
    }
    if (of_saliency)
        return err_usage(err, "--%s: expected --by token, found %s", of_saliency,
                         options->attribute.by);
    if (options->select.layer && question_layers(&plan->layers, driver, job, arena, err))
        return -1;
    if (job) {
        plan->number = job->index;
        attribution_add_memory(&job->memory, &session->viewer, by, &job->pair);
    }
    return 0;
}

static int run_split(struct job *job, const struct group *group, struct facts *facts,
                     struct err *err)
{
    struct attribute_job *own = job->own;
    struct attribution *found = &own->found;
    own->logit.viewer = group->viewer;
    if (attribution_make(found, &job->report, &own->logit, group->arena, err))
        return -1;
    const char *logit = question_title(&own->question, "before", job, group, facts, err);
    if (!logit)
        return -1;
    facts_float(facts, "logit", found->logit);
    facts_float(facts, "remainder", found->logit - found->sum);
    job->report.about = arena_format(group->arena, err, "%s: %.4f", logit, found->logit);
    return job->report.about ? 0 : -1;
}

/* --- the saliency of tokens ------------------------------------------------------------------- */

static int read_saliency(struct attribute_job *own, struct driver *driver, struct job *job,
                         struct arena *arena, struct err *err)
{
    const struct options *options = question_options(driver, job);
    struct viewer *viewer = &driver->session.viewer;
    const char *baseline = options->attribute.baseline;
    const char *given = options_are_given(options, "steps rule baseline");
    struct saliency_plan *plan = &own->saliency.plan;
    long long id = 0;
    size_t method = SALIENCY_INTEGRATED, rule = RULE_GAUSS_LEGENDRE;
    if (names_choose(&method, NAMES(methods, SALIENCY_METHODS), "--method",
                     options->attribute.method, err) ||
        names_choose(&rule, NAMES_LIST(saliency_rules), "--rule", options->attribute.rule, err) ||
        model_check(&viewer->model, NEEDS_LOGITS, err))
        return -1;
    if (options->select.layer)
        return err_usage(err, "--by token and --layer cannot be combined");
    if (method == SALIENCY_GRADIENT && given)
        return err_usage(err, "--%s: expected --method integrated, found gradient", given);
    *plan = (struct saliency_plan){.viewer = viewer,
                                   .question = &own->question,
                                   .method = (enum saliency_method)method,
                                   .rule = (enum saliency_rule)rule,
                                   .steps = (size_t)options->attribute.steps,
                                   .from_mean = baseline && strcmp(baseline, "mean") == 0};
    if (baseline && !plan->from_mean && strcmp(baseline, "zero") != 0) {
        if (token_option_read(&id, viewer, "--baseline", baseline, arena, err))
            return -1;
        own->saliency.baseline = (uint32_t)id;
        plan->from = &own->saliency.baseline;
    }
    if (job)
        saliency_add_memory(&job->memory, plan, &job->pair);
    return 0;
}

static int run_saliency(struct job *job, const struct group *group, struct facts *facts,
                        const struct progress_sink *progress, struct err *err)
{
    struct attribute_job *own = job->own;
    struct saliency_plan *plan = &own->saliency.plan;
    struct saliency found;
    plan->viewer = group->viewer;
    plan->progress = progress;
    if (saliency_make(&found, &job->report, plan, &job->pair, group->arena, err))
        return -1;
    const char *logit = question_title(&own->question, "after", job, group, facts, err);
    const char *baseline = job->item.options.attribute.baseline;
    facts_float(facts, "logit", found.value);
    facts_text(facts, "method", methods[plan->method].name);
    if (plan->method == SALIENCY_INTEGRATED) {
        facts_integer(facts, "steps", (long long)plan->steps);
        facts_text(facts, "rule", saliency_rules[plan->rule]);
        facts_text(facts, "baseline", baseline ? baseline : "zero");
        facts_float(facts, "baseline_logit", found.baseline);
        facts_float(facts, "missing", found.missing);
    }
    job->report.about =
        logit ? arena_format(group->arena, err, "%s: %.4f", logit, found.value) : NULL;
    return job->report.about ? 0 : -1;
}

/* --- all modes -------------------------------------------------------------------------------- */

/* Choose the mode, which may differ for each text of a table, and read the options of the mode. */
static int read_options(struct attribute_job *own, struct driver *driver, struct job *job,
                        struct arena *arena, struct err *err)
{
    const struct options *options = question_options(driver, job);
    const struct question_words words = question_words(driver, job);
    const struct viewer *viewer = &driver->session.viewer;
    const char *of_saliency = options_are_given(options, "method steps rule baseline");
    size_t by = BY_PART;
    if (answer_read(&own->question, &words, viewer, arena, err))
        return -1;
    if (options->attribute.head) {
        own->mode = SPLIT_SCORE;
        return score_job_read(&own->score, driver, job, arena, err);
    }
    const char *of_score = options->attribute.key                  ? "key"
                           : options->attribute.part               ? "part"
                           : options_are_given(options, "corrupt") ? "corrupt"
                                                                   : NULL;
    if (of_score)
        return err_usage(err, "--%s: expected --head, the head whose score is split, found none",
                         of_score);
    if (names_choose(&by, NAMES(attribution_ways, ATTRIBUTION_WAYS), "--by", options->attribute.by,
                     err))
        return -1;
    own->mode = by == BY_TOKEN || (of_saliency && !options->attribute.by) ? SALIENCY : SPLIT_LOGIT;
    if (own->mode == SALIENCY ? read_saliency(own, driver, job, arena, err)
                              : read_split(own, (enum attribution_by)by, driver, job, arena, err))
        return -1;
    return job ? position_read(&own->question, &words, viewer, arena, err) : 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct attribute_job own = {.mode = SPLIT_LOGIT};
    (void)state;
    return read_options(&own, driver, NULL, &driver->session.arena, err);
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct attribute_job *own = job->own = arena_alloc(arena, 1, sizeof *own, err);
    (void)state;
    return own ? read_options(own, driver, job, arena, err) : -1;
}

/* Tell the viewer how many tokens the passes will process: saliency runs a text once for each
 * interpolation point. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    struct viewer *viewer = &driver->session.viewer;
    const char *by = driver->options->attribute.by;
    bool of_tokens = by && strcmp(by, attribution_ways[BY_TOKEN].name) == 0;
    size_t passes = of_tokens ? (size_t)driver->options->attribute.steps : 1;
    (void)state;
    viewer_expect(viewer, EXPECT_TOKENS, tokens * passes);
    viewer_expect(viewer, EXPECT_STEPS, tokens);
}

static int run_text(struct job *job, const struct group *group,
                    const struct progress_sink *progress, struct err *err)
{
    struct attribute_job *own = job->own;
    struct facts *facts = question_report(job, group, err);
    if (!facts)
        return -1;
    switch (own->mode) {
    case SALIENCY:
        return run_saliency(job, group, facts, progress, err);
    case SPLIT_SCORE:
        return score_job_run(&own->score, &own->found, job, group, facts, err);
    default:
        return run_split(job, group, facts, err);
    }
}

/* Run the texts of a group one after the other. */
static int run(void *state, const struct group *group, struct err *err)
{
    (void)state;
    return question_run(group, run_text, err);
}

static int add(void *state, struct job *job, struct err *err)
{
    struct remainder *remainder = state;
    const struct attribute_job *own = job->own;
    (void)err;
    if (own->mode == SALIENCY) /* saliency does not split a logit into a sum */
        return 0;
    remainder->most = fmax(remainder->most, fabs(own->found.logit - own->found.sum));
    remainder->what = own->mode == SPLIT_SCORE     ? "score"
                      : own->question.against >= 0 ? "logit difference"
                                                   : "logit";
    if (!remainder->texts++)
        snprintf(remainder->logit, sizeof remainder->logit, "%s; ", job->report.about);
    return 0;
}

static int finish(void *state, struct driver *driver, struct err *err)
{
    const struct remainder *remainder = state;
    bool several = remainder->texts > 1;
    bool is_named = !several && !format_is(driver->output.format, "text");
    (void)err;
    if (remainder->texts && !driver->is_batch && !driver->accumulates)
        print_note("%sthe parts%s sum to %s%s%s within %.1e", is_named ? remainder->logit : "",
                   driver->options->select.layer ? " of all layers" : "", is_named ? "it" : "the ",
                   is_named ? "" : remainder->what, several ? " of each text" : "",
                   remainder->most);
    return 0;
}

static const struct task attribute_task = {
    .fields = OF_ANSWER | 1 << ITEM_CORRUPT | 1 << ITEM_HEAD | 1 << ITEM_KEY | 1 << ITEM_AGAINST,
    .many = ITEMS_SOME,
    .begins = true,
    .means = MEAN_OF_TEXTS,
    .steps = "points",
    .state_bytes = sizeof(struct remainder),
    .prepare = prepare,
    .open = open,
    .expect = expect,
    .read = read,
    .run = run,
    .add = add,
    .finish = finish,
};
