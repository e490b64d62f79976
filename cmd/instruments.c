/* instruments.c: `attn-cli lens` and `attribute`: tasks of the driver that show where predictions,
 * or a score of attention, come from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "command.h"
#include "driver.h"
#include "instruments.h"
#include "measure/token_scores.h"
#include "model/features.h"
#include "model/points.h"
#include "say.h"
/* Defined at the end of the file. */
static const struct instrument lens_instrument, attribute_instrument;
static const struct task lens_task, attribute_task;

/* --- options ---------------------------------------------------------------------------------- */

int instrument_numbers(struct inquiry *inquiry, struct names names, struct err *err)
{
    const char *list = inquiry->options->select.show;
    const struct format *format = inquiry->driver->output.format;
    bool for_people = !inquiry->driver->dose && /* --y has the names of data */
                      (format->for_people || format_is_looked_at(format));
    inquiry->numbers = for_people ? 1 : (1u << names.count) - 1;
    if (!list && inquiry->options->lens.target)
        inquiry->numbers |= 1u << LENS_TARGET;
    return list ? names_choose_set(&inquiry->numbers, names, "--show", list, err) : 0;
}

int instrument_layers(struct layers *layers, const struct inquiry *inquiry, struct arena *arena,
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

const char *instrument_answer(const struct inquiry *inquiry, const char *soft_cap,
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

static command_verb lens_command;

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
    .draws = true,
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
    if ((config_classifies(config) ? logits_check(inquiry->viewer, 0, err)
                                   : scoring_check(&scoring, err)) ||
        lens_find_site(&plan->site, options->lens.site, config, err) ||
        instrument_numbers(inquiry, NAMES_LIST(lens_numbers), err) ||
        instrument_layers(&listed, inquiry, arena, err) ||
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
    plan->of_one = of_texts && inquiry->question.answer >= 0;
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
    STRING("by", 0, "part|pair|source|neuron|expert|feature|token", IN(attribute.by),
           "split by component (default), source token, neuron, expert or feature of --sae; token: "
           "the saliency of each "
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
                "attn-cli attribute \"Life is short, eat dessert\" --sae demo --by feature\n"
                "attn-cli attribute \"lemon cherry apple lemon\" --head 1.3 --key 5:mean\n",
    .task = &attribute_task,
    .options = attribute_options,
    .shared = {text_options, model_options, edit_options, output_options, terminal_options,
               figure_options},
    .without = "words precision verbose",
    .draws = true,
};

int instrument_corrupt(struct inquiry *inquiry, struct arena *arena, struct err *err)
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

/* Read --key: a key, and after a colon what the score of the key is compared with: another key,
 * `mean` or `weights`. */
static int parse_key(struct score_plan *plan, const struct options *options, size_t keys,
                     struct err *err)
{
    const char *key = options->attribute.key, *colon = strchr(key, ':');
    const char *against = colon ? colon + 1 : NULL;
    plan->against = score_against_read(against);
    return err_if(parse_token(&plan->key, "--key", key, colon ? (size_t)(colon - key) : strlen(key),
                              keys, err) ||
                  (plan->against == AGAINST_KEY &&
                   parse_token(&plan->other, "--key", against, strlen(against), keys, err)));
}

/* Read --head and the options that go with it; those that name tokens, only if there is a text. */
static int ask_score(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    static const char *const ways[] = {
        [SCORE_BY_PART] = "part", [SCORE_BY_PAIR] = "pair", [SCORE_BY_SOURCE] = "source"};
    const struct options *options = inquiry->options;
    const struct config *c = &inquiry->viewer->model.config;
    struct score_plan *plan = &inquiry->score;
    struct layer_head head;
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
    if (selection_layer_head(&head, "--head", name, strlen(name), stack_of(c, (enum site_part)part),
                             err))
        return -1;
    if (by == SCORE_BY_SOURCE && !head.layer && part != PART_CROSS)
        return err_usage(err, "--by source: expected a head with others before it, found '%s'",
                         name);
    *plan = (struct score_plan){.viewer = inquiry->viewer,
                                .head = {(enum site_part)part, head.layer, head.head},
                                .by = (enum score_by)by,
                                .depth = (size_t)options->attribute.depth};
    const struct session *session = &inquiry->driver->session;
    if (session->dictionary_count > 1)
        return err_usage(err, "--head: expected one --sae DIR, found %zu",
                         session->dictionary_count);
    if (session->dictionary_count && options_exclude(options, "sae", "corrupt", err))
        return -1;
    plan->dictionary = session->dictionary_count ? session->dictionaries : NULL;
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
    plan->corrupt = &inquiry->corrupt;
    return instrument_corrupt(inquiry, arena, err);
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
    const char *missing = inquiry->options->attribute.key                  ? "key"
                          : inquiry->options->attribute.part               ? "part"
                          : options_are_given(inquiry->options, "corrupt") ? "corrupt"
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
    if (inquiry->split.by == BY_FEATURE) {
        const struct session *session = &inquiry->driver->session;
        if (session->dictionary_count != 1)
            return err_usage(err, "--by feature: expected one --sae DIR, found %zu",
                             session->dictionary_count);
        if (inquiry->options->select.layer)
            return err_usage(err, "--by feature and --layer cannot be combined");
        inquiry->split.dictionary = session->dictionaries;
    }
    if (given)
        return err_usage(err, "--%s: expected --by token, found %s", given, name);
    if (inquiry->options->select.layer &&
        instrument_layers(&inquiry->split.layers, inquiry, arena, err))
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
    const struct tokenized *queries = report_queries(report, plan->head.part);
    const struct tokenized *keys = report_keys(report, plan->head.part);
    const long long query = tokenized_number(queries, plan->query);
    const long long key = tokenized_number(keys, plan->key);
    facts_text(facts, "head", inquiry->options->attribute.head);
    facts_integer(facts, "query", query);
    facts_integer(facts, "key", key);
    facts_float(facts, "score", found.score);
    facts_float(facts, "bias", found.bias);
    facts_float(facts, "sum", found.sum);
    facts_float(facts, "weight", found.weight);
    struct score_against_row against = score_againsts[plan->against];
    if (plan->against == AGAINST_KEY) {
        const long long other = tokenized_number(keys, plan->other);
        against.name = arena_format(arena, err, "%lld", other);
        against.about = arena_format(arena, err, ", less that to %s (%lld)",
                                     keys->labels[plan->other].text, other);
        if (!against.about)
            return -1;
    }
    facts_text(facts, "against", against.name);
    report->about =
        arena_format(arena, err, "score of head %s from %s (%lld) to %s (%lld)%s%s: %.4f",
                     inquiry->options->attribute.head, queries->labels[plan->query].text, query,
                     keys->labels[plan->key].text, key, against.about,
                     plan->corrupt ? ", less that of the corrupt text" : "", found.score);
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
    const char *logit = instrument_answer(inquiry, "after", arena, err);
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
    const char *logit = instrument_answer(inquiry, "before", arena, err);
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
/* --- tasks ------------------------------------------------------------------------------------ */

static const struct instrument *instrument_of(const struct driver *driver)
{
    return driver->task->kind;
}

int instrument_prepare(void *state, struct driver *driver, struct err *err)
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
    bool has_place = words.text && !options->attribute.head && (!is_lens || inquiry->lens.of_one);
    return has_place ? position_read(question, &words, inquiry->viewer, arena, err) : 0;
}

int instrument_open(void *state, struct driver *driver, struct err *err)
{
    struct session *session = &driver->session;
    struct inquiry inquiry = {driver, session->options, &session->viewer, NULL, state};
    driver->style.two_sided = instrument_of(driver)->patches;
    return ask(&inquiry, &session->arena, err);
}

/* A lens has logits of every layer; patching runs a copy of the text per token and layer. */
void instrument_expect(void *state, struct driver *driver, size_t tokens)
{
    struct viewer *viewer = &driver->session.viewer;
    bool once = instrument_of(driver) == &attribute_instrument || driver->options->patch.estimate;
    size_t steps = once ? tokens : tokens * viewer->model.config.n_layer;
    const char *by = driver->options->attribute.by;
    (void)state;
    if (once && by && strcmp(by, attribution_ways[BY_TOKEN].name) == 0)
        tokens *= (size_t)driver->options->attribute.steps;
    viewer_expect(viewer, EXPECT_TOKENS,
                  instrument_of(driver)->patches && !once ? tokens * steps : tokens);
    viewer_expect(viewer, EXPECT_STEPS, steps);
}

int instrument_read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                    struct err *err)
{
    struct inquiry *inquiry = job->own = arena_alloc(arena, 1, sizeof *inquiry, err);
    if (!inquiry)
        return -1;
    *inquiry = (struct inquiry){driver, &job->item.options, &driver->session.viewer, job, state};
    return ask(inquiry, arena, err);
}

/* Run one text after another. Progress counts the patches of a text, not layers. */
int instrument_run(void *state, const struct group *group, struct err *err)
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

static const struct instrument lens_instrument = {
    ask_lens, find_lens,
    "sentence layer position token best probability logprob id entropy kl rank target "
    "target_logprob",
    false};
static const struct instrument attribute_instrument = {ask_attribution, find_attribution, NULL,
                                                       false};

static const struct task lens_task = {INSTRUMENT_TASK(1 << ITEM_TARGET, MEAN_OF_LAYERS),
                                      .kind = &lens_instrument, .pages = "attn-cli page --lens",
                                      .at_once = true, .state_bytes = sizeof(struct jacobian_lens)};
static const struct task attribute_task = {INSTRUMENT_TASK(OF_ANSWER | 1 << ITEM_CORRUPT |
                                                               1 << ITEM_HEAD | 1 << ITEM_KEY |
                                                               1 << ITEM_AGAINST,
                                                           MEAN_OF_TEXTS),
                                           .begins = true,
                                           .kind = &attribute_instrument,
                                           .parts = "points",
                                           .state_bytes = sizeof(struct remainder),
                                           .add = add_remainder,
                                           .finish = note_remainder};
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
