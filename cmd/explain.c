/* explain.c: `attn-cli explain`: the arithmetic of one head, step by step for each query. */
#include <math.h>
#include <string.h>

#include "command.h"
#include "explain/explanation.h"
#include "items.h"
#include "measure/finding.h"
#include "model/layer.h"
#include "output.h"
#include "say.h"
#include "session.h"

VALUES(formats_of_people, "Formats (--format)", FORMATS_OF_WORKING, format_rows[index]->name,
       format_rows[index]->about)

VALUES(parts, NULL, ATTENTION_BRANCHES, attention_branches[index].name,
       attention_branches[index].words)

static const struct option_row own_options[] = {
    STRING("query", 0, "TOKEN", IN(explain.token),
           "token that looks; its text (is), its position (1, or -1 for the last), both (1:is), "
           "positions (0-2), or all; default: the query of the finding, else the last",
           .heading = "Query", .former = "token"),
    STRING("key", 0, "TOKEN", IN(explain.key),
           "token whose weight is worked out; used if the query attends to it; default: the key of "
           "the finding, else the first key"),
    STRING("part", 0, "PART", IN(explain.part),
           "self (the decoder, default), cross or encoder; attention of an encoder-decoder model",
           .values = &values_parts),
    STRING("layer", 0, "N", IN(select.layer),
           "layer to explain, -1 for the last; default: with --head, --layer or --part 0; else the "
           "layer of the finding, see 'run', if it has the query and the key"),
    STRING("head", 0, "N", IN(select.head),
           "head to explain, -1 for the last; default: as --layer"),
    STRING("file", 'f', "FILE", IN(input.file),
           "file with one text, or a table of one row; .csv, .tsv, .jsonl; - is standard input",
           .heading = "Input"),
    STRING("output", 'o', "FILE", IN(output.path),
           "file: its ending sets the format; default: standard output", .heading = "Output",
           .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", IN(output.format),
           "output format; default: by the ending of -o, else text",
           .values = &values_formats_of_people),
    STRING("lang", 0, "LANGUAGE", IN(display.language), "language: en (default) or zh (Chinese)",
           .values = &values_languages),
    INTEGER("digits", 0, "N", IN(explain.digits), 1, NUMERAL_DIGITS_MAX,
            "number of decimals (default: 4)"),
    FLAG("matrices", 0, IN(display.matrices), "also show the matrices, abbreviated if large"),
    FLAG("full", 0, IN(display.full),
         "complete vectors, all keys and the matrices; json always has them"),
    {0},
};

const struct command command_explain = {
    .name = "explain",
    .heading = "Explain",
    .about = "the arithmetic of one row, step by step",
    .operands = "[TEXT]",
    .most_used = "--query is\ttoken that looks\n"
                 "--key short\n"
                 "--layer 1\n"
                 "--head 3\n"
                 "-m smollm2.gguf\n"
                 "--digits 6\tdecimals (default: 4)\n"
                 "--full\tall keys, whole vectors, matrices\n"
                 "-o walk.html\n",
    .note = "Without options, the row is that of the head that matters: see run.",
    .examples = "attn-cli explain -m life \"Life is short eat dessert first\" --query is\n"
                "attn-cli explain -s \"Life is short\" --layer 1 --head 2 --digits 6\n"
                "attn-cli explain -m life-causal -s \"Life is short\" --query 1 --format markdown\n"
                "attn-cli explain -m life -s \"Life is short\" --query is -o walk.md\n"
                "attn-cli explain -s \"Life is short\" --query all --full -o walk.html\n"
                "attn-cli explain -m translate -s \"<s> le\" --source \"the cat\" --part cross\n",
    .run = explain_command,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, terminal_options},
    .without = "document words precision color force verbose",
    .draws = true,
};

struct explain_run {
    const struct options *options;
    const struct format *format;
    struct items items;
    struct session session;
    const struct text_with_source *pair;
    size_t branch;                /* index in attention_branches of the value of --part */
    const struct tokenized *text; /* the text of the queries */
    const char *called;           /* what messages call `text`: source or text */
    struct explain_request request;
};

/* Choose a layer, a head and self-attention or cross-attention (--part): by default self-attention
 * or, if there is none, cross-attention. */
static int choose_head(struct explain_run *run, struct err *err)
{
    const struct options *options = run->options;
    const struct model *model = &run->session.viewer.model;
    const struct config *config = &model->config;
    bool translates = has_encoder(config);
    enum site_branch first = config_is_cross(config) ? BRANCH_CROSS : BRANCH_TEXT;
    enum site_branch branch = options->explain.part ? (enum site_branch)run->branch : first;
    if (!translates && branch != first)
        return err_usage(err, "--part: expected %s, the only attention of '%s', found '%s'",
                         attention_branches[first].name, model->name,
                         attention_branches[branch].name);
    run->request.branch = translates ? branch : BRANCH_TEXT;
    run->text = branch == BRANCH_SOURCE ? &run->pair->source : &run->pair->text;
    run->called = branch == BRANCH_SOURCE ? "source" : "text";
    enum site site = SITE_OF(run->request.branch, SITE_WEIGHTS);
    struct selection chosen = {.sites = SITE_SET(site)};
    const char *layer = options->select.layer, *head = options->select.head;
    struct arena *arena = &run->session.arena;
    if (selection_split_heads(&layer, &head, stack_of(config, run->request.branch), arena, err) ||
        selection_layers(&chosen, layer ? layer : "0", config, arena, err) ||
        selection_heads(&chosen, head ? head : "0", config, arena, err))
        return -1;
    struct layers layers = selection_layers_of(&chosen, site);
    if (layers.count != 1)
        return err_usage(err, "--layer: expected one layer to explain, found %zu", layers.count);
    if (chosen.head_count != 1)
        return err_usage(err, "--head: expected one head to explain, found %zu", chosen.head_count);
    /* `items` is NULL if all layers are chosen: the model then has only layer 0 */
    run->request.layer = layers.items ? layers.items[0] : 0;
    run->request.head = chosen.heads ? chosen.heads[0] : 0;
    return 0;
}

/* Choose the queries of --query: one token, by default the last (of equal tokens, the first); a
 * range of positions; or all. */
static int choose_query(struct explain_run *run, struct err *err)
{
    const struct tokenized *tokenized = run->text;
    const char *name = run->session.token;
    struct token_match match = {.index = tokenized->count - 1};
    struct nearest nearest;
    char guess[NAMES_GUESS_BYTES];
    struct explain_request *request = &run->request;
    ptrdiff_t first = 0, last = (ptrdiff_t)tokenized->count - 1;
    bool is_found = !name || tokenized_find_token(&match, tokenized, name);
    request->query_count = 1;
    if (name &&
        (strcmp(name, "all") == 0 ||
         (!is_found && selection_range(&first, &last, name, strlen(name), tokenized->count)))) {
        request->is_list = true;
        request->query = (size_t)first;
        request->query_count = (size_t)(last - first) + 1;
        return 0;
    }
    if (!is_found) {
        nearest_begin(&nearest, name, strlen(name));
        for (size_t i = 0; i < tokenized->count; i++)
            nearest_offer(&nearest, label_name(&tokenized->labels[i]));
        return err_usage(
            err,
            "--query: expected a token of the %s, an index from 0 to %zu, a range, or all, "
            "found '%s'%s",
            run->called, tokenized->count - 1, name, names_guess(guess, nearest.name));
    }
    request->query = match.index;
    if (match.alike)
        print_note("'%s' occurs %zu times in the %s: this is the first; --query %s is the next",
                   name, match.alike + 1, run->called, tokenized->labels[match.next].exact);
    return 0;
}

/* Choose the key of --key: a token of the text that the head attends to, by default the first. */
static int choose_key(struct explain_run *run, struct err *err)
{
    const char *name = run->session.key;
    const struct tokenized *keys =
        run->request.branch == BRANCH_TEXT || run->request.branch == BRANCH_SOURCE
            ? run->text
            : &run->pair->source;
    struct token_match match = {0};
    if (name && !tokenized_find_token(&match, keys, name))
        return err_usage(err,
                         "--key: expected a token of the keys, or an index from 0 to %zu, "
                         "found '%s'",
                         keys->count - 1, name);
    run->request.key = match.index;
    return 0;
}

/* True if no option chooses a layer, a head or a part: then a finding may choose the head. */
static bool asks_finding(const struct explain_run *run)
{
    const struct options *options = run->options;
    return !options->select.layer && !options->select.head && !options->explain.part;
}

static struct finding_plan plan_of(struct explain_run *run)
{
    return (struct finding_plan){&run->session.viewer, run->pair, quick_products};
}

/* True if a finding is in attention and, if options name the query or the key, has this query or
 * key. */
static bool is_meant(const struct explain_run *run, const struct finding *finding)
{
    const struct explain_request *request = &run->request;
    const bool has_source = has_encoder(&run->session.viewer.model.config);
    const enum site_branch branch = has_source ? site_branch(finding->map) : BRANCH_TEXT;
    const size_t end = request->query + request->query_count;
    return site_branch(finding->map) != BRANCH_MIXER &&
           (!run->session.token || (finding->query >= request->query && finding->query < end)) &&
           (!run->options->explain.key ||
            (branch == request->branch && finding->key == request->key));
}

/* Choose the head of the first finding that has the query and the key of the options. Without these
 * options, explain the query and the key of the finding. If no finding fits, change nothing. */
static int ask_finding(struct explain_run *run, struct err *err)
{
    const struct finding_plan plan = plan_of(run);
    struct explain_request *request = &run->request;
    struct findings found;
    if (findings_make(&found, &plan, &run->session.arena, err))
        return -1;
    for (size_t i = 0; i < found.count; i++) {
        const struct finding *finding = &found.items[i];
        if (!is_meant(run, finding))
            continue;
        if (has_encoder(&run->session.viewer.model.config))
            request->branch = site_branch(finding->map);
        request->layer = finding->layer;
        request->head = finding->head;
        request->query = run->session.token ? request->query : finding->query;
        request->key = finding->key;
        break;
    }
    return 0;
}

/* Refuse a request that needs more memory than there is. `searched`: memory of the search
 * for findings before it. */
static int expect_memory(struct explain_run *run, struct memory searched, struct err *err)
{
    struct memory memory = {0};
    const struct viewer *viewer = &run->session.viewer;
    struct weights_bytes weights = weights_bytes(&viewer->model.weights);
    if (explanation_add_memory(&memory, viewer, run->pair, &run->request, &run->session.arena, err))
        return -1;
    const double most = fmax(memory.held + memory.during, searched.held + searched.during);
    return session_expect(&run->session, most + (double)weights.heap, weights, run->text->count,
                          err);
}

/* Check the memory and, if the options do not choose the head, let a finding choose it. */
static int expect_and_ask(struct explain_run *run, struct err *err)
{
    const struct finding_plan plan = plan_of(run);
    const size_t layer = run->request.layer;
    struct memory searched = {0}, none = {0};
    if (!asks_finding(run))
        return expect_memory(run, none, err);
    findings_add_memory(&searched, &plan);
    return err_if(expect_memory(run, searched, err) || ask_finding(run, err) ||
                  (run->request.layer != layer && expect_memory(run, none, err)));
}

static int explain(struct explain_run *run, struct err *err)
{
    struct progress progress;
    struct stream out = {0};
    struct report report;
    struct style style = style_default;
    const struct layout layout = page_layout(run->options, &style);
    if (language_read(&run->request.language, run->options, err))
        return -1;
    style.language = run->request.language;
    run->request.digits =
        run->options->explain.digits ? (int)run->options->explain.digits : NUMERAL_DIGITS;
    run->request.keys = layout.lines;
    if (expect_and_ask(run, err))
        return -1;
    progress_begin(&progress, "layers");
    run->session.viewer.machine.progress = &progress.sink;
    int failed = explanation_make(&report, &run->session.viewer, run->pair, &run->request,
                                  &run->session.arena, err);
    run->session.viewer.machine.progress = NULL;
    progress_end(&progress);
    const struct target target = {.stream = &out};
    if (!failed && format_is(run->format, "html"))
        report.identity = identity_first(1);
    failed = failed || output_to(&out, run->options->output.path, err) ||
             report_write(run->format, &target, &report, &layout, err);
    return stream_end(&out, failed, err);
}

int explain_command(const struct options *options, struct err *err)
{
    struct explain_run run = {.options = options, .session.options = options};
    run.format = format_choose(FORMATS_OF_WORKING, &options->output, err);
    int failed = !run.format ||
                 names_choose(&run.branch, NAMES(attention_branches, ATTENTION_BRANCHES), "--part",
                              options->explain.part, err) ||
                 items_open(&run.items, options, 0, ITEMS_ONE, err);
    if (!failed)
        run.session.begins = session_beginning(&run.items, false);
    failed = failed || session_begin(&run.session, err) ||
             !(run.pair = session_read_items(&run.session, &run.items, err)) ||
             choose_head(&run, err) || choose_query(&run, err) || choose_key(&run, err) ||
             explain(&run, err);
    session_release(&run.session);
    items_release(&run.items);
    return err_if(failed);
}
