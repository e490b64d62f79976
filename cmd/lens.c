/* lens.c: `attn-cli lens`: what a model would predict at each of its layers. */
#include "command.h"
#include "instrument.h"
#include "measure/token_scores.h"

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
    .task = &lens_task,
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
};

static int ask(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct options *options = inquiry->options;
    const struct config *config = &inquiry->viewer->model.config;
    const struct scoring scoring = {.viewer = inquiry->viewer};
    struct lens_plan *plan = &inquiry->lens;
    if (scoring_check(&scoring, err) ||
        lens_find_site(&plan->site, options->lens.site, config, err) ||
        inquiry_numbers(inquiry, NAMES_LIST(lens_numbers), err))
        return -1;
    inquiry->selection.sites = site_bit(plan->site);
    if (selection_layers(&inquiry->selection, options->select.layer, config, arena, err))
        return -1;
    plan->layers = inquiry->selection.layers;
    plan->best_count = (size_t)options->lens.best;
    plan->target = inquiry->answer;
    plan->against = inquiry->against;
    return 0;
}

static int find(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct logit_lens lens;
    inquiry->lens.viewer = inquiry->viewer;
    inquiry->origin.source = &inquiry->pair->source;
    return lens_look(&lens, &inquiry->lens, inquiry->pair, arena, err) ||
                   lens_report(&inquiry->report, &lens, inquiry->numbers, &inquiry->origin,
                               &inquiry->pair->sentence, arena, err)
               ? -1
               : 0;
}

const struct instrument lens_instrument = {
    .task = &lens_task, .answer = "--target", .ask = ask, .find = find};
