/* lens.c: `attn-cli lens`: what a model would predict at each of its layers. */
#include <string.h>

#include "command.h"
#include "driver.h"
#include "instrument.h"

static const struct option_row own_options[] = {
    STRING("site", 0, "SITE", IN(lens.site),
           "tensor to read: resid_post (default), resid_mid, resid_pre, attn_out or mlp_out",
           .heading = "Lens"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 for the last, all (default)"),
    STRING(
        "target", 0, "TOKEN", IN(lens.target),
        "token whose rank and probability to show, such as ' are', or two whose logit difference "
        "to show: ' are: is' (default: the next token of the text)"),
    INTEGER("top", 0, "N", IN(lens.best), 1, 1000,
            "N most likely tokens of each cell, in json (default: 3)", .preset = 3),
    STRING("show", 0, "LIST", IN(select.show),
           "best (the most likely token, default), id, entropy, kl (divergence from the last "
           "layer), rank, target; data formats have all"),
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
        "attn-cli lens \"Life is short, eat dessert first\" -o lens.svg\n",
    .run = lens_command,
    .options = own_options,
    .shared = {{text_options, "words"},
               {model_options, NULL},
               {mechanism_options, NULL},
               {edit_options, NULL},
               {table_options, NULL},
               {terminal_options, NULL},
               {figure_options, "range"},
               {running_options, "verbose"}},
    .reads_texts = true,
    .in_batch = true,
};

/* Text and pictures show the best tokens, data every number. */
static int read_numbers(struct question *question, const struct format *format, struct arena *arena,
                        struct err *err)
{
    const char *list = question->options->select.show;
    question->numbers = instrument_is_of_data(format) ? (1u << LENS_NUMBERS) - 1 : 1u << LENS_BEST;
    if (!list)
        return 0;
    for (question->numbers = 0;; list++) {
        size_t index = 0;
        size_t size = strcspn(list, ",");
        char *name = arena_text(arena, list, size, err);
        if (!name || names_choose(&index, NAMES(lens_numbers, LENS_NUMBERS), "--show", name, err))
            return -1;
        question->numbers |= 1u << index;
        list += size;
        if (!*list)
            return 0;
    }
}

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const struct options *options = question->options;
    struct lens_plan *plan = &question->plan;
    const struct config *config = &question->viewer->model.config;
    const struct scoring scoring = {.viewer = question->viewer};
    struct answer target;
    question->origin.viewer = question->viewer;
    if (answer_read(&target, "--target", options->lens.target, question->viewer, arena, err))
        return -1;
    *plan = (struct lens_plan){.viewer = question->viewer,
                               .best_count = (size_t)options->lens.best,
                               .target = target.id,
                               .against = target.against};
    if (text_origin_attends(&question->origin, arena, err) || scoring_check(&scoring, err) ||
        lens_find_site(&plan->site, options->lens.site, config, err) ||
        read_numbers(question, format, arena, err))
        return -1;
    question->selection.sites = site_bit(plan->site);
    if (selection_layers(&question->selection, options->select.layer, config, arena, err))
        return -1;
    plan->layers = question->selection.layers;
    return 0;
}

static int find(struct finding *finding, struct arena *arena, struct err *err)
{
    const struct question *question = finding->question;
    const struct text_pair *pair = finding->pair;
    struct text_origin origin = question->origin;
    struct logit_lens lens;
    origin.source = &pair->source;
    return lens_look(&lens, &question->plan, pair, arena, err) ||
                   lens_report(&finding->report, &lens, question->numbers, &origin, &pair->sentence,
                               arena, err)
               ? -1
               : 0;
}

static void expect(struct viewer *viewer, const struct question *question, size_t tokens)
{
    viewer_expect(viewer, tokens);
    viewer_expect_steps(viewer, tokens * question->plan.layers.count);
}

const struct instrument lens_instrument = {
    .command = &command_lens,
    .ask = ask,
    .find = find,
    .expect = expect,
};

int lens_command(const struct options *options, struct err *err)
{
    return driver_do(&lens_task, options, err);
}
