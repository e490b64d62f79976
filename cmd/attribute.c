/* attribute.c: `attn-cli attribute`: what every part of a model adds to the logit of an answer. */
#include <math.h>

#include "command.h"
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
    .task = &attribute_task,
    .options = own_options,
    .shared = {{text_options, "source words"},
               {model_options, "precision"},
               {edit_options, NULL},
               {output_options, NULL},
               {terminal_options, NULL},
               {figure_options, NULL},
               {running_options, "verbose"}},
    .reads_texts = true,
};

static int ask(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const char *name = inquiry->options->attribute.by;
    size_t index = BY_PART;
    (void)arena;
    if (name && names_choose(&index, NAMES(attribution_ways, ATTRIBUTION_WAYS), "--by", name, err))
        return -1;
    inquiry->by = (enum attribution_by)index;
    return 0;
}

static int find(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct attribution *found = &inquiry->attribution;
    struct facts *facts = facts_new(arena, err);
    const struct attribution_question question = {inquiry->by, inquiry->position, inquiry->answer,
                                                  inquiry->against, inquiry->number};
    if (!facts || attribution_make(found, inquiry->viewer, inquiry->pair, &question, arena, err))
        return -1;
    inquiry->answer = found->answer;
    inquiry->report = found->report;
    const char *logit = inquiry_describe(inquiry, &attribute_instrument, facts, arena, err);
    if (!logit)
        return -1;
    facts_float(facts, "logit", found->logit);
    facts_float(facts, "remainder", found->logit - found->sum);
    inquiry->report.facts = &facts->frame;
    inquiry->report.about = arena_format(arena, err, "%s: %.4f", logit, found->logit);
    return inquiry->report.about ? 0 : -1;
}

static void note(const struct inquiry *inquiry)
{
    print_note("%s; the parts sum to it within %.1e", inquiry->report.about,
               fabs(inquiry->attribution.logit - inquiry->attribution.sum));
}

const struct instrument attribute_instrument = {
    .task = &attribute_task,
    .answer = "--answer",
    .soft_cap = "before",
    .ask = ask,
    .find = find,
    .note = note,
};
