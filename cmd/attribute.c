/* attribute.c: `attn-cli attribute`: what every part of a model adds to the logit of an answer. */
#include <math.h>

#include "command.h"
#include "driver.h"
#include "instrument.h"

VALUES(attributions, "Parts", ATTRIBUTION_WAYS, attribution_ways[index].name,
       attribution_ways[index].about)

static const struct option_row own_options[] = {
    STRING("answer", 0, "TOKEN", IN(attribute.answer),
           "explain this token's logit, or the difference of two: ' Mary: John' (default: the most "
           "likely token)",
           .heading = "Attribution"),
    STRING("position", 0, "N", IN(attribute.position),
           "index of the token before the answer; -1 is the last (default)"),
    STRING("by", 0, "part|source|neuron", IN(attribute.by),
           "split by component (default), source token or neuron (see Parts below)",
           .values = &values_attributions),
    {0},
};

const struct command command_attribute = {
    .name = "attribute",
    .group = "Analyse",
    .about = "split a logit into the contribution of each component",
    .operands = "[TEXT]...",
    .examples = "attn-cli attribute \"Life is short, eat dessert\"\n"
                "attn-cli attribute \"Life is short, eat dessert\" --answer \" first: last\"\n"
                "attn-cli attribute \"Life is short, eat dessert\" --position 1 --by source\n"
                "attn-cli attribute \"Life is short, eat dessert\" --ablate 0.1,1.2\n"
                "attn-cli attribute \"Life is short, eat dessert\" -o attribution.svg\n"
                "attn-cli attribute \"Life is short\" --by neuron --format tidy > neurons.csv\n",
    .run = attribute_command,
    .options = own_options,
    .shared = {{text_options, "source words"},
               {model_options, "precision"},
               {edit_options, NULL},
               {output_options, NULL},
               {terminal_options, NULL},
               {figure_options, "top"},
               {running_options, "verbose"}},
    .reads_texts = true,
    .in_batch = true,
};

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const char *name = question->options->attribute.by;
    size_t index = BY_PART;
    struct answer answer;
    (void)format; /* all have the same numbers */
    if (name && names_choose(&index, NAMES(attribution_ways, ATTRIBUTION_WAYS), "--by", name, err))
        return -1;
    question->attribution.by = (enum attribution_by)index;
    if (answer_read(&answer, "--answer", question->options->attribute.answer, question->viewer,
                    arena, err))
        return -1;
    question->attribution.answer = answer.id;
    question->attribution.against = answer.against;
    return 0;
}

static int check(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err)
{
    size_t position = 0;
    (void)arena;
    return answer_position(&position, question->options, &pair->sentence, err);
}

/* logit difference ␣Mary - ␣John after ␣to: 3.5512 */
static int describe(struct finding *finding, const struct answer *answer, struct arena *arena,
                    struct err *err)
{
    const struct attribution *attribution = &finding->attribution;
    struct report *report = &finding->report;
    struct facts *facts = facts_new(arena, err);
    const struct label *after = &report->sentence.labels[finding->position];
    const char *logit = answer_describe(answer, finding->question->viewer, after, arena, err);
    if (!facts || !logit)
        return -1;
    answer_facts(facts, answer, finding->position);
    facts_float(facts, "logit", attribution->logit);
    facts_float(facts, "remainder", attribution->logit - attribution->sum);
    report->facts = &facts->frame;
    report->about = arena_format(arena, err, "%s: %.4f", logit, attribution->logit);
    return report->about ? 0 : -1;
}

static int find(struct finding *finding, struct arena *arena, struct err *err)
{
    const struct question *question = finding->question;
    struct attribution_question own = question->attribution;
    own.number = finding->number;
    bool capped = question->viewer->model.config.logit_cap > 0;
    if (answer_position(&own.position, question->options, &finding->pair->sentence, err) ||
        attribution_make(&finding->attribution, question->viewer, finding->pair, &own, arena, err))
        return -1;
    const struct answer answer = {finding->attribution.answer, own.against,
                                  capped ? "before" : NULL};
    finding->position = own.position;
    finding->report = finding->attribution.report;
    return describe(finding, &answer, arena, err);
}

static void note(const struct finding *finding)
{
    const struct attribution *attribution = &finding->attribution;
    print_note("%s; the parts sum to it within %.1e", finding->report.about,
               fabs(attribution->logit - attribution->sum));
}

const struct instrument attribute_instrument = {
    .command = &command_attribute,
    .ask = ask,
    .check = check,
    .find = find,
    .note = note,
};

int attribute_command(const struct options *options, struct err *err)
{
    return driver_do(&attribute_task, options, err);
}
