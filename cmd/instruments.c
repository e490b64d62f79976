/* instruments.c: `attn-cli lens`, `attribute` and `patch`: tasks of the driver that show where
 * predictions, or a score of attention, come from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "command.h"
#include "driver.h"
#include "measure/attribution.h"
#include "measure/logit_lens.h"
#include "measure/patching.h"
#include "measure/saliency.h"
#include "measure/score_attribution.h"
#include "measure/token_scores.h"
#include "model/features.h"

struct inquiry;

/* What differs between the tasks of lens, attribute and patch. */
struct instrument {
    /* `ask` reads the options, refuses texts that do not fit them, and adds the memory of a text;
     * `find` fills the report. */
    int (*ask)(struct inquiry *inquiry, struct arena *arena, struct err *err);
    int (*find)(struct inquiry *inquiry, struct arena *arena, struct err *err);
    const char *columns; /* as in struct driver */
};

/* Defined at the end of the file. */
static const struct instrument lens_instrument, attribute_instrument, patch_instrument;
static const struct task lens_task, attribute_task, patch_task;

/* The options of a command for one text; without a text, they are only checked. */
struct inquiry {
    struct driver *driver;
    const struct options *options;
    struct viewer *viewer;    /* of the setting, or of the thread that runs the text */
    struct job *job;          /* NULL: no text yet */
    void *state;              /* of the task */
    struct question question; /* --answer or --target, and --query */
    unsigned numbers;         /* --show: 1 << LENS_... or PATCH_... */
    struct facts *facts;      /* of the report */
    const struct progress_sink *progress;
    struct lens_plan lens;
    struct attribution_plan split;
    struct attribution attribution;
    struct saliency_plan saliency; /* --by token */
    uint32_t baseline;
    struct score_plan score; /* --head */
    struct patching_plan plan;
    struct text_with_source corrupt; /* text of --corrupt, also for --head */
};

/* --- options ---------------------------------------------------------------------------------- */

/* Read --show. Default: all numbers for data, else the first one and the number of --target. */
static int parse_numbers(struct inquiry *inquiry, struct names names, struct err *err)
{
    const char *list = inquiry->options->select.show;
    const struct format *format = inquiry->driver->output.format;
    bool for_people = format->for_people || format_is_looked_at(format);
    inquiry->numbers = for_people ? 1 : (1u << names.count) - 1;
    if (!list && inquiry->options->lens.target)
        inquiry->numbers |= 1u << LENS_TARGET;
    return list ? names_choose_set(&inquiry->numbers, names, "--show", list, err) : 0;
}

/* Read --layer, of encoder-decoders the layers of the decoder; default: all. */
static int parse_layers(struct layers *layers, const struct inquiry *inquiry, struct arena *arena,
                        struct err *err)
{
    struct selection selection = {0};
    int failed = selection_layers(&selection, inquiry->options->select.layer,
                                  &inquiry->viewer->model.config, arena, err);
    *layers = selection.layers;
    return failed;
}

/* The option that names tokens, --target or --answer, and its value. */
static const char *answer_option(const char **value, const struct options *options)
{
    *value = options->lens.target ? options->lens.target : options->attribute.answer;
    return options->lens.target ? "--target" : "--answer";
}

/* Describe the answer, "logit difference ␣Mary - ␣John after ␣to", and add its facts. `soft_cap` is
 * "before" or "after" the cap, for models that cap logits. Returns NULL on failure. */
static const char *describe_answer(const struct inquiry *inquiry, const char *soft_cap,
                                   struct arena *arena, struct err *err)
{
    struct facts *facts = inquiry->facts;
    const char *words = question_describe(facts, &inquiry->question, inquiry->viewer,
                                          &inquiry->job->pair.sentence, arena, err);
    if (!words || !(inquiry->viewer->model.config.logit_cap > 0))
        return words;
    facts_text(facts, "final_soft_cap", soft_cap);
    return arena_format(arena, err, "%s (%s final soft cap)", words, soft_cap);
}

/* Read `9.6`, a layer and a head. */
static int parse_head(struct patch_head *head, const char *option, const char *text, size_t size,
                      const struct stack *stack, struct err *err)
{
    const char *dot = memchr(text, '.', size);
    size_t first = dot ? (size_t)(dot - text) : size;
    if (dot && selection_index(&head->layer, text, first, stack->layers) &&
        selection_index(&head->head, dot + 1, size - first - 1, stack->heads))
        return 0;
    return err_usage(err,
                     "%s: expected LAYER.HEAD, a layer from 0 to %zu and a head from 0 to %zu, "
                     "such as 9.6, found '%.*s'",
                     option, stack->layers - 1, stack->heads - 1, (int)size, text);
}

/* --- lens ------------------------------------------------------------------------------------- */

static const struct option_row lens_options[] = {
    STRING("site", 0, "SITE", IN(lens.site),
           "tensor to decode: resid_post (default), resid_mid, resid_pre, attn_out or mlp_out",
           .heading = "Lens"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 for the last, all (default)"),
    STRING("target", 0, "TOKEN", IN(lens.target),
           "token whose rank and probability are computed, or two tokens whose logit difference is "
           "computed: ' are: is' (default: the next token of the text; in masked models the token "
           "itself)"),
    INTEGER("top", 0, "N", IN(lens.best), 1, 1000,
            "tokens stored for each cell, in json (default: 3)", .preset = 3),
    STRING(
        "jacobian", 0, "FILE", IN(lens.jacobian),
        "Jacobian lens: first multiply the vectors of each layer by its matrix in FILE, of torch "
        "(.pt) or .safetensors"),
    FLAG("fit-jacobian", 0, IN(lens.fit),
         "fit these matrices to the texts instead, and write them to -o FILE.pt",
         .flags = OPTION_FIXED | OPTION_NOT_BATCH),
    INTEGER("tokens", 0, "N", IN(lens.tokens), JACOBIAN_TOKENS_MIN, 100000000,
            "with --fit-jacobian: read only the first N tokens of each text (default: 64)",
            .preset = 64, .flags = OPTION_FIXED | OPTION_NOT_BATCH),
    STRING("show", 0, "LIST", IN(select.show),
           "values to show: best (the likeliest token, default), id, entropy, kl (to the last "
           "layer), rank, target (default with --target); data formats have all"),
    STRING(
        "mean", 0, "AXES", IN(select.mean),
        "average over layers, texts (by position; with --target, at the last [MASK], else the last "
        "token) or both",
        .flags = OPTION_FIXED),
    {0},
};

const struct command command_lens = {
    .name = "lens",
    .group = "Analyse",
    .about = "logit lens: what each layer would predict",
    .operands = "[TEXT]...",
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
};

static int ask_lens(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct options *options = inquiry->options;
    const struct config *config = &inquiry->viewer->model.config;
    const struct scoring scoring = {.viewer = inquiry->viewer};
    struct lens_plan *plan = &inquiry->lens;
    struct layers listed;
    size_t *layers = NULL;
    bool of_texts = inquiry->driver->derivation.mean_of_texts;
    bool mean = of_texts || inquiry->driver->derivation.mean_of_layers;
    if (config->answers == ANSWER_OF_MEAN)
        return err_unsupported(err,
                               "'%s': expected classes of a token, found those of the mean of "
                               "all tokens",
                               inquiry->viewer->model.name);
    if ((config->n_class ? logits_check(inquiry->viewer, 0, err) : scoring_check(&scoring, err)) ||
        lens_find_site(&plan->site, options->lens.site, config, err) ||
        parse_numbers(inquiry, NAMES_LIST(lens_numbers), err) ||
        parse_layers(&listed, inquiry, arena, err) ||
        !(layers = arena_alloc(arena, listed.count, sizeof *layers, err)))
        return -1;
    plan->layers = (struct layers){layers, 0};
    for (size_t i = 0; i < listed.count; i++) /* some layers lack a shared expert */
        if (site_is_in_layer(config, plan->site, listed.items[i]))
            layers[plan->layers.count++] = listed.items[i];
    if (mean && inquiry->numbers == 1u << LENS_ID)
        return err_usage(err, "--mean: ids have no mean: leave id out of --show");
    if (mean)
        inquiry->numbers &= ~(1u << LENS_ID);
    plan->best_count = mean ? 1 : (size_t)options->lens.best;
    plan->is_mean = of_texts;
    plan->is_last = of_texts && inquiry->question.answer >= 0;
    plan->target = inquiry->question.answer;
    plan->against = inquiry->question.against;
    plan->viewer = inquiry->viewer;
    if (options->lens.jacobian) {
        struct jacobian_lens *jacobian = inquiry->state; /* shared by all texts of a setting */
        if (plan->site != site_of_output(config))
            return err_usage(err, "--jacobian: expected --site %s, found '%s'",
                             site_name(site_of_output(config)), options->lens.site);
        if (!inquiry->job &&
            jacobian_lens_open(jacobian, options->lens.jacobian, config, &plan->layers, arena, err))
            return -1;
        plan->jacobian = jacobian;
    }
    if (inquiry->job)
        lens_add_memory(&inquiry->job->memory, plan, &inquiry->job->pair);
    return 0;
}

/* Say in the title and the facts which layers have no matrix, and so the logit lens. */
static int describe_jacobian(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct jacobian_lens *jacobian = inquiry->lens.jacobian;
    const struct layers *layers = &inquiry->lens.layers;
    struct buf list = {0};
    for (size_t i = 0; i < layers->count; i++)
        if (!weight_exists(&jacobian->weights[layers->items[i]]))
            buf_format(&list, "%s%zu", list.size ? ", " : "", layers->items[i]);
    buf_text(&list, list.size ? "" : "none");
    const char *plain = buf_keep(&list, arena, err);
    facts_text(inquiry->facts, "jacobian", inquiry->options->lens.jacobian);
    facts_integer(inquiry->facts, "jacobian_prompts",
                  jacobian->prompts ? (long long)jacobian->prompts : COLUMN_MISSING);
    facts_text(inquiry->facts, "logit_lens_layers", plain);
    inquiry->job->report.about =
        plain ? arena_format(arena, err, "Jacobian lens; layers with the logit lens: %s", plain)
              : NULL;
    return inquiry->job->report.about ? 0 : -1;
}

static int find_lens(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct logit_lens lens;
    struct job *job = inquiry->job;
    if (inquiry->lens.jacobian && describe_jacobian(inquiry, arena, err))
        return -1;
    inquiry->lens.viewer = inquiry->viewer;
    inquiry->lens.position = inquiry->question.position;
    facts_text(inquiry->facts, "site", site_name(inquiry->lens.site));
    return err_if(
        lens_capture(&lens, &inquiry->lens, &job->pair, arena, err) ||
        lens_report(&job->report, &lens, inquiry->numbers, inquiry->viewer->words, arena, err));
}

/* --- attribute -------------------------------------------------------------------------------- */

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
    STRING("answer", 0, "TOKEN", IN(attribute.answer),
           "token whose logit is split, or two tokens whose logit difference is split: ' Mary: "
           "John' (default: the most likely token)",
           .heading = "Attribution"),
    STRING("query", 0, "N", IN(attribute.position),
           "position whose logit is split (default: -1, the last token; in masked models the last "
           "[MASK]); with --head the query: also a token, 1:is",
           .former = "position"),
    STRING("head", 0, "L.H", IN(attribute.head),
           "split a score of this head instead, 18.6: why query looks at --key"),
    STRING(
        "key", 0, "K", IN(attribute.key),
        "with --head: the key, 4 or a token; its score less that of another key, 4:2, of the mean "
        "of all visible keys, 4:mean, or of all keys by their weights, 4:weights"),
    STRING("part", 0, "PART", IN(attribute.part),
           "with --head, in encoder-decoders: self (default), cross or encoder"),
    STRING("corrupt", 0, "TEXT", IN(patch.corrupt),
           "with --head: a text of as many tokens, whose pairs are subtracted"),
    INTEGER("depth", 0, "N", IN(attribute.depth), 0, 100,
            "with --head: steps of the path behind the largest part of each side (default: 2)",
            .preset = 2),
    STRING(
        "by", 0, "part|pair|source|neuron|expert|token", IN(attribute.by),
        "split by component (default), source token, neuron or expert; token: the saliency of each "
        "token of the text; with --head, by part, pair or source",
        .values = &values_attributions),
    STRING("method", 0, "HOW", IN(attribute.method),
           "with --by token: integrated (default) or gradient", .values = &values_methods),
    INTEGER("steps", 0, "N", IN(attribute.steps), 1, 100000,
            "with --method integrated: number of points, a pass each (default: 50)", .preset = 50),
    STRING("rule", 0, "RULE", IN(attribute.rule),
           "with --method integrated: points and weights: gausslegendre (default), riemann_left, "
           "riemann_middle, riemann_right or riemann_trapezoid",
           .values = &values_rules),
    STRING("baseline", 0, "FROM", IN(attribute.baseline),
           "with --method integrated: start at zero (default), at mean, the mean embedding of all "
           "tokens, or at the embedding of a token"),
    STRING("layer", 0, "LIST", IN(select.layer),
           "list only the parts of these layers: 0,3-5, -1 for the last, all (default: all parts)"),
    STRING("mean", 0, "texts", IN(select.mean), "average over texts", .flags = OPTION_FIXED),
    {0},
};

const struct command command_attribute = {
    .name = "attribute",
    .group = "Analyse",
    .about = "split a logit into the contribution of each component",
    .operands = "[TEXT]...",
    .examples = "attn-cli attribute \"Life is short, eat dessert\"\n"
                "attn-cli attribute \"Life is short, eat dessert\" --answer \" first: last\"\n"
                "attn-cli attribute \"Life is short, eat dessert\" --query 1 --by source\n"
                "attn-cli attribute \"Life is short, eat dessert\" --ablate 0.1,1.2\n"
                "attn-cli attribute \"Life is short, eat dessert\" -o attribution.svg\n"
                "attn-cli attribute \"Life is short\" --by neuron --format tidy > neurons.csv\n"
                "attn-cli attribute \"Life is short, eat dessert\" --by token\n"
                "attn-cli attribute \"lemon cherry apple lemon\" --head 1.3 --key 5:mean\n",
    .task = &attribute_task,
    .options = attribute_options,
    .shared = {text_options, model_options, edit_options, output_options, terminal_options,
               figure_options},
    .without = "words precision verbose",
};

static int tokenize_corrupt(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct options *options = inquiry->options;
    const char *text = options->patch.corrupt;
    struct input input =
        options->input.ids ? (struct input){.ids = text} : input_of(text, options->input.pair);
    const char *source = options->patch.corrupt_source;
    const struct input of_source =
        inquiry->viewer->tokenizer ? input_of(source, NULL) : (struct input){.ids = source};
    struct text_with_source *pair = &inquiry->job->pair, *corrupt = &inquiry->corrupt;
    if (!text)
        return err_usage(err,
                         "expected --corrupt TEXT or a text in the column 'corrupt', found none%s",
                         options->attribute.head ? "" : "; or --with zero");
    if (source && !pair->source.count)
        return err_usage(err, "--corrupt-source: expected a model with an encoder, found '%s'",
                         inquiry->viewer->model.name);
    if (input_wrap(&input, inquiry->viewer->chat, arena, err) ||
        viewer_read(inquiry->viewer, corrupt, &input, source ? &of_source : NULL, arena, err))
        return err_prefix(err, "--corrupt");
    if (!source)
        corrupt->source = pair->source;
    return patching_check_texts(&pair->sentence, &corrupt->sentence, err);
}

/* Read the position of a token; a word in its place was replaced before (positions.c). */
static int parse_token(size_t *index, const char *option, const char *text, size_t size,
                       size_t count, struct err *err)
{
    return selection_index(index, text, size, count)
               ? 0
               : err_usage(err, "%s: expected a word, or an index from 0 to %zu, found '%.*s'",
                           option, count - 1, (int)size, text);
}

/* Read --key: a key, and after a colon, or in the column `against`, what the score of the key is
 * compared with: another key, `mean` or `weights`. */
static int parse_key(struct score_plan *plan, const struct options *options, size_t keys,
                     struct err *err)
{
    const char *key = options->attribute.key, *colon = strchr(key, ':');
    const char *against = colon ? colon + 1 : options->attribute.against;
    plan->against = score_against_read(against);
    if (parse_token(&plan->key, "--key", key, colon ? (size_t)(colon - key) : strlen(key), keys,
                    err) ||
        (plan->against == AGAINST_KEY &&
         parse_token(&plan->other, "--key", against, strlen(against), keys, err)))
        return -1;
    return plan->by == SCORE_BY_SOURCE && plan->against != AGAINST_NOTHING
               ? err_usage(err, "--by source: expected --key without a contrast, found '%s'", key)
               : 0;
}

/* Read --head and the options that go with it; those that name tokens, only if there is a text. */
static int ask_score(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    static const char *const ways[] = {
        [SCORE_BY_PART] = "part", [SCORE_BY_PAIR] = "pair", [SCORE_BY_SOURCE] = "source"};
    const struct options *options = inquiry->options;
    const struct config *c = &inquiry->viewer->model.config;
    struct score_plan *plan = &inquiry->score;
    struct patch_head head;
    size_t part = PART_SENTENCE, by = SCORE_BY_PART;
    const char *name = options->attribute.head;
    if (names_choose(&by, NAMES_LIST(ways), "--by", options->attribute.by, err) ||
        options_exclude(options, "head", "answer layer mean method steps rule baseline", err) ||
        names_choose(&part, NAMES(attention_parts, ATTENTION_PARTS), "--part",
                     options->attribute.part, err))
        return -1;
    if (part != PART_SENTENCE && !has_encoder(c))
        return err_usage(err, "--part: expected an encoder-decoder, found '%s'",
                         inquiry->viewer->model.name);
    if (features_expect(FOR_SCORES, c, inquiry->viewer->model.name, err) ||
        features_expect(TO_ATTRIBUTE, c, inquiry->viewer->model.name, err))
        return -1;
    if (!options->attribute.key)
        return err_usage(err, "--head: expected --key, the key whose score is split, found none");
    if (parse_head(&head, "--head", name, strlen(name), stack_of(c, (enum site_part)part), err))
        return -1;
    if (by == SCORE_BY_SOURCE && !head.layer && part != PART_CROSS)
        return err_usage(err, "--by source: expected a head with others before it, found '%s'",
                         name);
    *plan = (struct score_plan){.viewer = inquiry->viewer,
                                .head = {(enum site_part)part, head.layer, head.head},
                                .by = (enum score_by)by,
                                .depth = (size_t)options->attribute.depth};
    if (!inquiry->job)
        return 0;
    const struct text_with_source *pair = &inquiry->job->pair;
    size_t queries = resid_text(c, pair, plan->head, RESID_QUERY)->count;
    size_t keys = resid_text(c, pair, plan->head, RESID_KEY)->count;
    const char *query = options->attribute.position ? options->attribute.position : "-1";
    plan->number = inquiry->job->index;
    if (parse_token(&plan->query, "--query", query, strlen(query), queries, err) ||
        parse_key(plan, options, keys, err))
        return -1;
    score_attribution_add_memory(&inquiry->job->memory, plan, pair);
    if (!options->patch.corrupt)
        return 0;
    if (by == SCORE_BY_SOURCE)
        return err_usage(err, "--by source: expected no --corrupt, found '%s'",
                         options->patch.corrupt);
    plan->corrupt = &inquiry->corrupt;
    return tokenize_corrupt(inquiry, arena, err);
}

static int ask_saliency(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct options *options = inquiry->options;
    const char *baseline = options->attribute.baseline;
    const char *given = options_are_given(options, "steps rule baseline");
    struct saliency_plan *plan = &inquiry->saliency;
    long long id = 0;
    size_t method = SALIENCY_INTEGRATED, rule = RULE_GAUSS_LEGENDRE;
    if (names_choose(&method, NAMES(methods, SALIENCY_METHODS), "--method",
                     options->attribute.method, err) ||
        names_choose(&rule, NAMES_LIST(saliency_rules), "--rule", options->attribute.rule, err) ||
        model_check(&inquiry->viewer->model, NEEDS_LOGITS, err))
        return -1;
    if (options->select.layer)
        return err_usage(err, "--by token and --layer cannot be combined");
    if (method == SALIENCY_GRADIENT && given)
        return err_usage(err, "--%s: expected --method integrated, found gradient", given);
    *plan = (struct saliency_plan){.viewer = inquiry->viewer,
                                   .question = &inquiry->question,
                                   .method = (enum saliency_method)method,
                                   .rule = (enum saliency_rule)rule,
                                   .steps = (size_t)options->attribute.steps,
                                   .from_mean = baseline && strcmp(baseline, "mean") == 0};
    if (baseline && !plan->from_mean && strcmp(baseline, "zero") != 0) {
        if (token_option_read(&id, inquiry->viewer, "--baseline", baseline, arena, err))
            return -1;
        inquiry->baseline = (uint32_t)id;
        plan->from = &inquiry->baseline;
    }
    if (inquiry->job)
        saliency_add_memory(&inquiry->job->memory, plan, &inquiry->job->pair);
    return 0;
}

static int ask_attribution(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    if (inquiry->options->attribute.head)
        return ask_score(inquiry, arena, err);
    const char *missing = inquiry->options->attribute.key    ? "key"
                          : inquiry->options->attribute.part ? "part"
                          : inquiry->options->patch.corrupt  ? "corrupt"
                                                             : NULL;
    if (missing)
        return err_usage(err, "--%s: expected --head, the head whose score is split, found none",
                         missing);
    const char *name = inquiry->options->attribute.by;
    size_t index = BY_PART;
    const char *given = options_are_given(inquiry->options, "method steps rule baseline");
    if (names_choose(&index, NAMES(attribution_ways, ATTRIBUTION_WAYS), "--by", name, err))
        return -1;
    inquiry->split.by = given && !name ? BY_TOKEN : (enum attribution_by)index;
    if (inquiry->split.by == BY_TOKEN)
        return ask_saliency(inquiry, arena, err);
    if (given)
        return err_usage(err, "--%s: expected --by token, found %s", given, name);
    if (inquiry->options->select.layer && parse_layers(&inquiry->split.layers, inquiry, arena, err))
        return -1;
    if (inquiry->job)
        attribution_add_memory(&inquiry->job->memory, inquiry->viewer, inquiry->split.by,
                               &inquiry->job->pair);
    return 0;
}

static int find_score(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct score_plan *plan = &inquiry->score;
    struct report *report = &inquiry->job->report;
    struct facts *facts = inquiry->facts;
    struct score_attribution found;
    inquiry->score.viewer = inquiry->viewer;
    if (score_attribution_make(&found, report, plan, &inquiry->job->pair, arena, err))
        return -1;
    inquiry->attribution = (struct attribution){found.score, found.sum};
    const struct label *query = &report_queries(report, plan->head.part)->labels[plan->query];
    const struct label *keys = report_keys(report, plan->head.part)->labels;
    facts_text(facts, "head", inquiry->options->attribute.head);
    facts_integer(facts, "query", (long long)plan->query);
    facts_integer(facts, "key", (long long)plan->key);
    facts_float(facts, "score", found.score);
    facts_float(facts, "bias", found.bias);
    facts_float(facts, "sum", found.sum);
    facts_float(facts, "weight", found.weight);
    struct score_against_row against = score_againsts[plan->against];
    if (plan->against == AGAINST_KEY) {
        against.name = arena_format(arena, err, "%zu", plan->other);
        against.about = arena_format(arena, err, ", less that to %s (%zu)", keys[plan->other].text,
                                     plan->other);
        if (!against.about)
            return -1;
    }
    facts_text(facts, "against", against.name);
    report->about = arena_format(
        arena, err, "score of head %s from %s (%zu) to %s (%zu)%s%s: %.4f",
        inquiry->options->attribute.head, query->text, plan->query, keys[plan->key].text, plan->key,
        against.about, plan->corrupt ? ", less that of the corrupt text" : "", found.score);
    return report->about ? 0 : -1;
}

static int find_saliency(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct saliency found;
    struct saliency_plan *plan = &inquiry->saliency;
    struct report *report = &inquiry->job->report;
    struct facts *facts = inquiry->facts;
    const bool integrates = plan->method == SALIENCY_INTEGRATED;
    plan->viewer = inquiry->viewer;
    plan->progress = inquiry->progress;
    if (saliency_make(&found, report, plan, &inquiry->job->pair, arena, err))
        return -1;
    const char *logit = describe_answer(inquiry, "after", arena, err);
    const char *baseline = inquiry->options->attribute.baseline;
    facts_float(facts, "logit", found.value);
    facts_text(facts, "method", methods[plan->method].name);
    if (integrates) {
        facts_integer(facts, "steps", (long long)plan->steps);
        facts_text(facts, "rule", saliency_rules[plan->rule]);
        facts_text(facts, "baseline", baseline ? baseline : "zero");
        facts_float(facts, "baseline_logit", found.baseline);
        facts_float(facts, "missing", found.missing);
    }
    report->about = logit ? arena_format(arena, err, "%s: %.4f", logit, found.value) : NULL;
    return report->about ? 0 : -1;
}

static int find_attribution(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    if (inquiry->options->attribute.head)
        return find_score(inquiry, arena, err);
    if (inquiry->split.by == BY_TOKEN)
        return find_saliency(inquiry, arena, err);
    struct attribution *found = &inquiry->attribution;
    struct report *report = &inquiry->job->report;
    inquiry->split.viewer = inquiry->viewer;
    inquiry->split.question = &inquiry->question;
    inquiry->split.number = inquiry->job->index;
    if (attribution_make(found, report, &inquiry->split, arena, err))
        return -1;
    const char *logit = describe_answer(inquiry, "before", arena, err);
    if (!logit)
        return -1;
    facts_float(inquiry->facts, "logit", found->logit);
    facts_float(inquiry->facts, "remainder", found->logit - found->sum);
    report->about = arena_format(arena, err, "%s: %.4f", logit, found->logit);
    return report->about ? 0 : -1;
}

/* The largest remainder of all texts, for a note. */
struct remainder {
    double most;
    size_t texts;
    const char *what;       /* score, logit or logit difference */
    char logit[NOTE_BYTES]; /* of the first text */
};

static int add_remainder(void *state, struct job *job, struct err *err)
{
    struct remainder *remainder = state;
    const struct inquiry *inquiry = job->own;
    (void)err;
    if (inquiry->split.by == BY_TOKEN) /* the table's note says it */
        return 0;
    remainder->most =
        fmax(remainder->most, fabs(inquiry->attribution.logit - inquiry->attribution.sum));
    remainder->what = inquiry->options->attribute.head ? "score"
                      : inquiry->question.against >= 0 ? "logit difference"
                                                       : "logit";
    if (!remainder->texts++)
        snprintf(remainder->logit, sizeof remainder->logit, "%s; ", job->report.about);
    return 0;
}

static int note_remainder(void *state, struct driver *driver, struct err *err)
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

/* --- patch ------------------------------------------------------------------------------------ */

VALUES(patches, "Values to patch (--over)", PATCH_OVERS, patch_overs[index].name,
       patch_overs[index].about)

VALUES(withs, NULL, PATCH_WITHS, patch_withs[index], NULL)

VALUES(numbers, NULL, PATCH_NUMBERS, patch_numbers[index].name, patch_numbers[index].about)

static const struct option_row patch_options[] = {
    STRING("clean", 0, "TEXT", IN(patch.clean), "prompt with the information of interest",
           .heading = "Patching", .flags = OPTION_NOT_BATCH),
    STRING("corrupt", 0, "TEXT", IN(patch.corrupt),
           "prompt without it, with the same number of tokens", .flags = OPTION_FIXED),
    STRING("corrupt-source", 0, "TEXT", IN(patch.corrupt_source),
           "encoder-decoders: the corrupt prompt's text for the encoder, of any length (default: "
           "--source)",
           .flags = OPTION_FIXED),
    STRING(
        "file", 'f', "FILE", IN(input.file),
        "pairs: CSV or JSONL with the columns clean and corrupt, and optionally answer, position, "
        "source and corrupt_source",
        .flags = OPTION_FIXED),
    FLAG("ids", 0, IN(tokens.only_ids), "--clean and --corrupt are token ids: 0,4,5",
         .flags = OPTION_NOT_BATCH),
    STRING("answer", 0, "TOKEN", IN(attribute.answer),
           "token whose logit is measured, or two tokens whose logit difference is measured: ' "
           "Mary: John' (default: the most likely token after the clean prompt)"),
    STRING("query", 0, "N", IN(attribute.position),
           "position whose logits are read (default: -1, the last token; in masked models the last "
           "[MASK])",
           .former = "position"),
    STRING("over", 0, "WHAT", IN(patch.over), "values to patch (default: heads; listed below)",
           .values = &values_patches),
    STRING("layer", 0, "LIST", IN(select.layer),
           "patch only these layers: 0,3-5, -1 for the last, all (default)"),
    STRING("path", 0, "FROM:TO", IN(patch.path),
           "patch the direct paths from a head to q, k or v of later heads, 9.6:10.0.q or "
           "9.6:10.0,10.7.q, or to the logits, 9.6:logits. Without FROM: from every head; from "
           "several, 9.6,9.9:10.0.q: each alone, then all at once. All receivers get their inputs "
           "together; all other heads before them are frozen; MLPs, and everything after them, are "
           "recomputed"),
    STRING(
        "joint", 0, "HEADS", IN(patch.joint),
        "patch only these heads, 26.0,27.8 (without --layer): each alone, then all at once; with "
        "--over paths, or --path without FROM, they are the senders"),
    FLAG("noise", 0, IN(patch.noise),
         "patch values of the corrupt run into the clean run (default: the other way round)"),
    STRING("with", 0, "text|zero|mean", IN(patch.with),
           "replace a value by that of the other text (default); or, without --corrupt, by zero or "
           "its mean over the tokens, in the clean run: the fraction is then logit / clean logit",
           .values = &values_withs),
    FLAG("estimate", 0, IN(patch.estimate),
         "first-order estimates of all patches, from one walk back (attribution patching): the sum "
         "of (new value - value) times gradient, in the run that is patched"),
    INTEGER("verify", 0, "N", IN(patch.verify), 1, 1000,
            "--estimate, with the exact patches of the N largest estimates and the correlation"),
    INTEGER("steps", 0, "N", IN(patch.steps), 1, 1000,
            "with --over edges: mean of N gradients, at token embeddings between those of the "
            "patched text and of the other text (EAP-IG; default: 1)",
            .preset = 1),
    STRING("show", 0, "NUMBER", IN(select.show),
           "number to show: fraction (part of the answer restored, default), logit or effect (the "
           "logit less that of the run without the patch); data formats have the first two",
           .values = &values_numbers),
    STRING("mean", 0, "texts", IN(select.mean), "average over the pairs of --file",
           .flags = OPTION_FIXED),
    {0},
};

const struct command command_patch = {
    .name = "patch",
    .group = "Analyse",
    .about = "activation patching between two prompts",
    .operands = "",
    .examples =
        "attn-cli patch --clean \"The keys to the cabinet\" --corrupt \"The key to the cabinet\"\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --answer \" are: is\" --noise\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --over resid_pre -o patch.svg\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --path :1.3.v\n"
        "attn-cli patch -f data/experiments/pairs.csv --mean texts\n",
    .task = &patch_task,
    .run = patch_command,
    .options = patch_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, output_options,
               terminal_options, figure_options},
    .without = "sentence document ids words from",
};

static int parse_over(struct patching_plan *plan, const struct options *options, struct err *err)
{
    const char *name = options->patch.over;
    size_t index = PATCH_HEADS;
    enum site site;
    if (name && site_find(name, strlen(name), &site) && site_part(site) == PART_MIXER) {
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

/* Read `26.0,27.8`, the heads that are patched. */
static int parse_heads(struct patching_plan *plan, const char *option, const char *list,
                       size_t size, struct arena *arena, struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    struct stack text = *stack_of(config, PART_SENTENCE);
    text.heads = site_heads(config, patch_overs[plan->over].site, 0);
    struct patch_head *heads = arena_alloc(arena, size + 1, sizeof *heads, err);
    for (const char *at = list, *end = list + size; heads && at <= end; at++) {
        struct patch_head *head = &heads[plan->head_count++];
        size_t item = num_min(strcspn(at, ","), (size_t)(end - at));
        if (parse_head(head, option, at, item, &text, err))
            return -1;
        for (const struct patch_head *one = heads; one < head; one++)
            if (one->layer == head->layer && one->head == head->head)
                return err_usage(err, "%s: expected different heads, found '%.*s' twice", option,
                                 (int)item, at);
        at += item;
    }
    plan->heads = heads;
    return heads ? 0 : -1;
}

static int parse_joint(struct patching_plan *plan, const struct options *options,
                       struct arena *arena, struct err *err)
{
    const char *list = options->patch.joint;
    enum site site = patch_overs[plan->over].site;
    if (!list)
        return 0;
    if (plan->over == PATCH_HEADS_BY_TOKEN || !site_has_heads(site) ||
        site_axes(site) == AXES_GROUP_TOKEN_DIM)
        return err_usage(err,
                         "--joint: expected --over heads, q, weights, cross_heads, mix_heads or "
                         "paths, found '%s'",
                         patch_overs[plan->over].name);
    if (options->select.layer)
        return err_usage(err, "--layer and --joint cannot be combined: --joint names layers");
    plan->joint = true;
    return parse_heads(plan, "--joint", list, strlen(list), arena, err);
}

/* Read `10.0,10.7.q`: a head without a part has the next part in the list. Keys and values are
 * received by the key/value head; note which other heads use it. */
static int parse_receivers(struct patching_plan *plan, const char *list, bool notes,
                           struct arena *arena, struct err *err)
{
    static const char *const parts[] = {"q", "k", "v"};
    const struct config *config = &plan->viewer->model.config;
    struct patch_receiver *receivers = arena_alloc(arena, strlen(list), sizeof *receivers, err);
    size_t named = 0;
    char heads[SHEET_NAME_BYTES];
    for (const char *at = list; receivers && at; at = list_next(at)) {
        struct patch_receiver *receiver = &receivers[plan->receiver_count++];
        size_t size = strcspn(at, ","), part = 0;
        const char *dot = platform_last_byte(at, '.', size);
        bool has_part =
            dot && names_find(&part, NAMES_LIST(parts), dot + 1, (size_t)(at + size - dot) - 1);
        if (parse_head(&receiver->at, "--path", at, has_part ? (size_t)(dot - at) : size,
                       stack_of(config, PART_SENTENCE), err))
            return -1;
        for (; has_part && named < plan->receiver_count; named++)
            receivers[named].site = (enum site)(SITE_Q + part);
    }
    plan->receivers = receivers;
    for (size_t i = 0; receivers && i < plan->receiver_count; i++) {
        struct patch_head *at = &receivers[i].at;
        const struct head_rule *rule = stack_head(config, PART_SENTENCE, at->layer);
        size_t head = at->head, shared_by = kv_head_shared_by(rule);
        if (receivers[i].site == SITE_Q || shared_by == 1)
            continue;
        at->head = kv_head_of(rule, head);
        if (notes)
            print_note(
                "--path: %s of head %zu.%zu is kv_head %zu, shared by %s: all of them receive",
                site_name(receivers[i].site), at->layer, head, at->head,
                heads_sharing(heads, (int)at->layer, at->head, shared_by));
    }
    return receivers ? 0 : -1;
}

/* Read `9.6:10.0.q`, `9.6,9.9:logits` or `:10.0,10.7.q`; --joint may have named the senders. */
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
                         "such as 9.6:logits or 9.6:10.0.q, found '%s'",
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

static int ask_patch(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct patching_plan *plan = &inquiry->plan;
    plan->viewer = inquiry->viewer;
    if (parse_layers(&plan->layers, inquiry, arena, err) ||
        parse_over(plan, inquiry->options, err) || parse_estimate(plan, inquiry->options, err) ||
        parse_joint(plan, inquiry->options, arena, err) ||
        parse_numbers(inquiry, NAMES(patch_numbers, PATCH_NUMBERS), err) ||
        parse_path(plan, inquiry->options, !inquiry->job, arena, err) ||
        (inquiry->job && !plan->with && tokenize_corrupt(inquiry, arena, err)))
        return -1;
    if (!inquiry->options->select.show && !plan->with && !plan->estimate)
        inquiry->numbers &= ~(1u << PATCH_EFFECT);
    if (inquiry->job)
        patching_add_memory(&inquiry->job->memory, plan, &inquiry->job->pair);
    return 0;
}

/* Report "logit difference ␣Mary - ␣John after ␣to: clean 3.5512, corrupt -1.2003". */
static int find_patch(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct patching_plan *plan = &inquiry->plan;
    struct facts *facts = inquiry->facts;
    struct job *job = inquiry->job;
    struct patching found;
    plan->viewer = inquiry->viewer;
    plan->clean = &job->pair;
    plan->corrupt = &inquiry->corrupt;
    if (inquiry->options->patch.corrupt_source)
        job->report.corrupt_source = &inquiry->corrupt.source;
    plan->question = &inquiry->question;
    plan->progress = inquiry->progress;
    if (patching_make(&found, plan, arena, err) ||
        patching_report(&job->report, &found, inquiry->numbers, arena, err))
        return -1;
    facts_text(facts, "over", patch_overs[plan->over].name);
    facts_text(facts, "patched", plan->noise || plan->with ? "clean" : "corrupt");
    if (plan->with)
        facts_text(facts, "with", patch_withs[plan->with]);
    if (plan->estimate)
        facts_text(facts, "method", "first-order estimate");
    if (plan->steps > 1)
        facts_integer(facts, "steps", (long long)plan->steps);
    const char *logit = describe_answer(inquiry, "after", arena, err);
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

/* Offer exact patches in place of estimates. */
static int note_estimates(void *state, struct driver *driver, struct err *err)
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

/* --- tasks ------------------------------------------------------------------------------------ */

static const struct instrument *instrument_of(const struct driver *driver)
{
    return driver->task->kind;
}

static int prepare(void *state, struct driver *driver, struct err *err)
{
    const struct texts *operands = &driver->options->input.operands;
    const char *last = operands->count ? operands->items[operands->count - 1] : "";
    const char *answer = NULL;
    const char *option = answer_option(&answer, driver->options);
    (void)state;
    if (format_is(driver->output.format, "html") && driver->output.to_folder)
        return err_usage(err, "--format html: expected a file, found the folder '%s'",
                         driver->output.path);
    driver->output.draws_pages = true;
    driver->columns = instrument_of(driver)->columns;
    if (answer && !strchr(answer, ':') && *last == ' ') /* --answer ' are' ' is' */
        print_note("'%s' is read as a text: %s '%s:%s' asks for the difference of two tokens", last,
                   option, answer, last);
    return 0;
}

static int ask(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct instrument *instrument = instrument_of(inquiry->driver);
    const struct options *options = inquiry->options;
    const bool is_lens = instrument == &lens_instrument;
    struct question *question = &inquiry->question;
    struct question_words words = {.place_option = is_lens ? NULL : "--query",
                                   .place = options->attribute.position,
                                   .notes = &inquiry->driver->notes};
    words.option = answer_option(&words.answer, options);
    if (inquiry->job) {
        words.text = &inquiry->job->pair.sentence;
        words.index = inquiry->job->index;
    }
    if (answer_read(question, &words, inquiry->viewer, arena, err) ||
        instrument->ask(inquiry, arena, err))
        return -1;
    bool has_place = words.text && !options->attribute.head && (!is_lens || inquiry->lens.is_last);
    return has_place ? position_read(question, &words, inquiry->viewer, arena, err) : 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct session *session = &driver->session;
    struct inquiry inquiry = {driver, session->options, &session->viewer, NULL, state};
    driver->style.two_sided = instrument_of(driver) == &patch_instrument;
    return ask(&inquiry, &session->arena, err);
}

/* A lens has logits of every layer; patching runs a copy of the text per token and layer. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    struct viewer *viewer = &driver->session.viewer;
    bool once = instrument_of(driver) == &attribute_instrument || driver->options->patch.estimate;
    size_t steps = once ? tokens : tokens * viewer->model.config.n_layer;
    const char *by = driver->options->attribute.by;
    (void)state;
    if (once && by && strcmp(by, attribution_ways[BY_TOKEN].name) == 0)
        tokens *= (size_t)driver->options->attribute.steps;
    viewer_expect(viewer,
                  instrument_of(driver) == &patch_instrument && !once ? tokens * steps : tokens);
    viewer_expect_steps(viewer, steps);
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct inquiry *inquiry = job->own = arena_alloc(arena, 1, sizeof *inquiry, err);
    if (!inquiry)
        return -1;
    *inquiry = (struct inquiry){driver, &job->item.options, &driver->session.viewer, job, state};
    return ask(inquiry, arena, err);
}

/* Run one text after another. Progress counts the patches of a text, not layers. */
static int run(void *state, const struct group *group, struct err *err)
{
    const struct progress_sink **progress = &group->viewer->machine.progress;
    const struct progress_sink *sink = *progress;
    struct report report;
    int failed = viewer_report(&report, group->viewer, group->arena, err);
    (void)state;
    *progress = NULL;
    for (size_t i = 0; i < group->count && !failed; i++) {
        struct job *job = group->jobs[i];
        struct inquiry *inquiry = job->own;
        inquiry->viewer = group->viewer;
        inquiry->progress = sink;
        inquiry->facts = facts_new(group->arena, err);
        if (!inquiry->facts)
            break;
        job->report = report;
        job->report.sentence = job->pair.sentence;
        job->report.source = job->pair.source;
        job->report.facts = &inquiry->facts->table;
        failed = instrument_of(group->driver)->find(inquiry, group->arena, err);
    }
    *progress = sink;
    return err_if(failed || err->kind);
}

/* --- the commands ----------------------------------------------------------------------------- */

#define TASK(columns, axes)                                                                    \
    .fields = columns, .many = ITEMS_SOME, .prepare = prepare, .open = open, .expect = expect, \
    .read = read, .run = run, .means = axes

enum { OF_ANSWER = 1 << ITEM_ANSWER | 1 << ITEM_POSITION };

static const struct instrument lens_instrument = {
    ask_lens, find_lens,
    "sentence layer position token best probability logprob id entropy kl rank target "
    "target_logprob"};
static const struct instrument attribute_instrument = {ask_attribution, find_attribution, NULL};
static const struct instrument patch_instrument = {ask_patch, find_patch, NULL};

static const struct task lens_task = {TASK(1 << ITEM_TARGET, MEAN_OF_LAYERS),
                                      .kind = &lens_instrument, .pages = "attn-cli page --lens",
                                      .at_once = true, .state_bytes = sizeof(struct jacobian_lens)};
static const struct task attribute_task = {
    TASK(OF_ANSWER | 1 << ITEM_CORRUPT | 1 << ITEM_HEAD | 1 << ITEM_KEY | 1 << ITEM_AGAINST,
         MEAN_OF_TEXTS),
    .kind = &attribute_instrument,
    .parts = "points",
    .state_bytes = sizeof(struct remainder),
    .add = add_remainder,
    .finish = note_remainder};
static const struct task patch_task = {
    TASK(OF_ANSWER | 1 << ITEM_CLEAN | 1 << ITEM_CORRUPT | 1 << ITEM_CORRUPT_SOURCE, MEAN_OF_TEXTS),
    .kind = &patch_instrument, .parts = "patches", .finish = note_estimates};

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
        size_t *count = &pairs[i].sentence.count;
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

int lens_command(const struct options *options, struct err *err)
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
    int failed = items_open(&items, options, 0, ITEMS_SOME, err) || session_begin(&session, err) ||
                 output_to(&out, path, err) || fit_texts(&fit, &session, &items, err) ||
                 jacobian_fit_write(&fit, &out, err);
    failed = stream_end(&out, failed, err);
    items_release(&items);
    session_release(&session);
    return failed;
}

/* The clean text is the command's only text, or the text of each item of a file. */
int patch_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    const char *clean = options->patch.clean;
    if (options->input.operands.count)
        return err_usage(err, "expected --clean TEXT and --corrupt TEXT, found the operand '%s'",
                         options->input.operands.items[0]);
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
