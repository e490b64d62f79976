/* page.c: `attn-cli page`: texts as one page to look around in, with all that such a page
 * can tell besides its tensors. */
#include <string.h>

#include "measure/next_tokens.h"
#include "command.h"
#include "page_parts.h"
#include "session.h"

static const struct option_row own_options[] = {
    STRING("explain", 0, "LIST", IN(page.explain),
           "heads whose cells the page explains: 0.1,1.3, all or none (default: all, if that takes "
           "at most 1 MB)",
           .heading = "Page"),
    INTEGER("top", 0, "N", IN(page.top), 0, 1000,
            "store the N most likely next tokens at each position (default: 50; 0: none)"),
    FLAG("lens", 0, IN(page.lens), "add the logit lens"),
    STRING("scores", 0, "FILE", IN(page.scores),
           "add head scores, from 'attn-cli heads --format csv'"),
    FLAG("unedited", 0, IN(page.unedited), "show each text before and after edits"),
    FLAG("live", 0, IN(page.live), "include the model, to run other texts in the browser"),
    STRING("output", 'o', "FILE", IN(output.path), "page to write (default: standard output)",
           .heading = "Output", .flags = OPTION_PROCESS),
    {0},
};

const struct command command_page = {
    .name = "page",
    .group = "Inspect",
    .about = "write an interactive HTML page",
    .operands = "[TEXT]...",
    .examples = "attn-cli page \"Life is short, eat dessert first\" -o page.html\n"
                "attn-cli page -m tiny -m life-causal -s \"Life is short\" --show all -o two.html\n"
                "attn-cli page -s \"Life is short\" --layer 1 --view lines > lines.html\n",
    .run = page_command,
    .options = own_options,
    .shared = {{text_options, NULL},
               {model_options, NULL},
               {mechanism_options, NULL},
               {edit_options, NULL},
               {select_options, NULL},
               {figure_options,
                "figure-width font font-size dpi cells mark token-range panel-labels mask"},
               {running_options, "verbose"}},
    .reads_texts = true,
};

struct job {
    const struct options *options;
    struct session session;
    struct model_list models;
    struct request request;
    struct style style;
    struct output output;
    struct place place;
    struct page_source source;
    const struct page_lesson *lesson; /* NULL: it is none */
    struct arena kept;                /* what is not a model's own */
    struct arena one;                 /* one text's: memory does not grow with their number */
};

/* A name that says something else would be believed. */
static int check_ending(const char *path, struct err *err)
{
    const struct format_table table = FORMAT_TABLE(format_rows, format_count);
    size_t index = 0;
    if (output_is_standard(path) || !format_find_ending(&index, &table, path) ||
        strcmp(format_rows[index].name, "html") == 0)
        return 0;
    return err_usage(
        err, "--output: expected a page, as page.html, found '%s': 'attn-cli run' writes %s", path,
        format_rows[index].name);
}

/* A live page has fields for what it can change, and would not keep the rest. */
static int check_live(const struct job *job, struct err *err)
{
    const struct select_options *select = &job->options->select;
    if (!job->options->page.live)
        return 0;
    if (job->place.count != 1)
        return err_usage(err, "--live: expected one text and one model, found %zu pages",
                         job->place.count);
    if (select->words || select->mean || select->hide_first || select->layer || select->head)
        return err_usage(err, "--live: expected all layers, heads and tokens, as they are");
    return page_live_check(err);
}

/* What is asked for, before there is a model. */
static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct output_options output = options->output;
    output.format = "html";
    if (check_ending(output.path, err) || session_read_options(&job->session, err) ||
        output_choose(&job->output, &output, err) || looks_read(&job->style, options, err) ||
        model_list_read(&job->models, options, &job->kept, err) ||
        inputs_open(&job->session.inputs, &options->input, INPUTS_SOME, err))
        return -1;
    if (job->output.to_folder)
        return err_usage(err, "--output: expected a file, found the folder '%s'", job->output.path);
    size_t texts = job->session.inputs.count;
    if (options->page.unedited && !edit_options_are_given(&options->edit))
        return err_usage(err, "--unedited: expected --edit, --ablate or --knockout, found none");
    job->place = page_place(&options->looks, &job->style);
    job->place.count = texts * (options->page.unedited ? 2 : 1) * model_list_count(&job->models);
    job->place.sentences = texts;
    job->source = (struct page_source){
        .options = options, .viewer = &job->session.viewer, .texts = job->place.count};
    return check_live(job, err);
}

static int open_model(struct job *job, struct err *err)
{
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    struct request *request = &job->request;
    if (session_open(session, err) ||
        request_make(request, job->options, job->output.format, viewer, &session->arena, err) ||
        viewer_set_mechanism(viewer, &request->mechanism, err) || session_edit(session, err) ||
        inputs_check_source(&job->options->input, &viewer->model, err) ||
        output_check_selection(&job->output, &request->selection, err))
        return -1;
    return page_explained_read(&job->source, &session->arena, err);
}

/* All texts must be sound before the first is looked at: no page stops half-way. */
static int read_texts(void *context, struct err *err)
{
    struct job *job = context;
    size_t tokens = 0;
    if (open_model(job, err))
        return -1;
    for (size_t i = 0; i < job->session.inputs.count; i++) {
        struct text_pair pair;
        arena_clear(&job->one);
        if (session_read(&job->session, &pair, i, &job->one, err))
            return -1;
        session_count_dropped(&job->session, &pair, i);
        tokens += pair.sentence.count;
    }
    viewer_expect(&job->session.viewer, tokens);
    session_note_dropped(&job->session);
    return 0;
}

/* --- what is told of a text besides its tensors ----------------------------------------------- */

/* Those of the model, of texts and of what is shown are the page's to add. */
static const char *const told[] = {
    "attention", "mask-after", "scale",    "attention-temperature", "dropout", "without", "seed",
    "source",    "precision",  "special",  "literal-special",       "long",    "edit",    "ablate",
    "knockout",  "from",       "reference"};

enum { TOLD = sizeof told / sizeof *told, EDITS = 5 /* the last of them */ };

static int add_value(struct texts *words, const struct option_row *row,
                     const struct options *options, struct arena *arena, struct err *err)
{
    struct buf value = {0};
    settings_value(&value, row, options);
    int failed = buf_check(&value, err);
    const char *text =
        failed ? NULL : arena_text(arena, value.bytes ? value.bytes : "", value.size, err);
    buf_release(&value);
    return !text || texts_add(words, text, arena, err) ? -1 : 0;
}

static int add_option(struct texts *words, const struct option_row *row,
                      const struct options *options, struct arena *arena, struct err *err)
{
    const struct texts *list = (const void *)((const char *)options + row->offset);
    const char *name = arena_format(arena, err, "--%s", row->name);
    if (!name)
        return -1;
    if (row->kind != OPTION_TEXTS)
        return texts_add(words, name, arena, err) ||
                       (row->kind != OPTION_FLAG && add_value(words, row, options, arena, err))
                   ? -1
                   : 0;
    for (size_t i = 0; i < list->count; i++)
        if (texts_add(words, name, arena, err) || texts_add(words, list->items[i], arena, err))
            return -1;
    return 0;
}

/* The words of a command line that attends as this one does. */
static int find_words(struct page_facts *facts, const struct options *options, struct arena *arena,
                      struct err *err)
{
    struct texts words = {0};
    for (size_t i = 0; i < TOLD; i++) {
        if (i == TOLD - EDITS)
            facts->unedited_count = words.count;
        const struct option_row *row = option_find(options->set, told[i], strlen(told[i]));
        if (row && options_are_given(options, told[i]) &&
            add_option(&words, row, options, arena, err))
            return -1;
    }
    facts->command = words.items;
    facts->command_count = words.count;
    return 0;
}

/* What comes next after every token, at the end of the model and, with --lens, at its layers. */
static int find_next(struct page_facts *facts, const struct page_source *source,
                     const struct text_pair *pair, struct arena *arena, struct err *err)
{
    struct err none = {0};
    struct logit_lens lens;
    struct lens_plan plan = {.viewer = source->viewer, .best_count = PAGE_NEXT_BEST};
    if (options_are_given(source->options, "top"))
        plan.best_count = (size_t)source->options->page.top;
    if (!plan.best_count || text_origin_check(source->viewer, &none))
        return 0; /* it is no decoder: nothing comes next */
    return next_tokens_plan(&plan, source->options->page.lens, arena, err) ||
                   lens_look(&lens, &plan, pair, arena, err) ||
                   next_tokens_of_lens(&facts->next, &lens, source->viewer, arena, err)
               ? -1
               : 0;
}

/* What only the model and its text tell of a live page. */
static int find_live(const struct job *job, struct page_facts *facts, struct err *err)
{
    if (!job->options->page.live)
        return 0;
    if (facts->command_count)
        return err_usage(err, "--live: expected no %s: the page begins with the model as it is",
                         facts->command[0]);
    if (!facts->sentence->text || facts->source->count)
        return err_usage(err, "--live: expected a model that reads one text, found %s",
                         facts->source->count ? "a source" : "ids");
    if (facts->scores)
        return err_usage(err, "--live: expected no --scores: typed texts have no scores");
    facts->live = &job->session.viewer.model.folder;
    return 0;
}

static int find_facts(struct job *job, struct page_facts *facts, const struct text_pair *pair,
                      struct err *err)
{
    *facts = (struct page_facts){.config = &job->session.viewer.model.config,
                                 .lesson = job->lesson,
                                 .sentence = &pair->sentence,
                                 .source = &pair->source};
    if (find_words(facts, job->options, &job->one, err) ||
        page_scores_find(facts, &job->source, &job->one, err) ||
        page_explained_find(facts, &job->source, pair, &job->one, err) ||
        find_next(facts, &job->source, pair, &job->one, err))
        return -1;
    return find_live(job, facts, err);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* One run of a text: `name` says which, of an edited and an unedited one. */
static int look_once(struct job *job, const struct text_pair *pair, size_t index, const char *name,
                     struct err *err)
{
    struct viewer *viewer = &job->session.viewer;
    struct report report;
    struct page_facts facts;
    const struct look look = {&job->request.selection, pair, 1, index, &report};
    if (viewer_look(viewer, &look, &job->one, err) || find_facts(job, &facts, pair, err))
        return -1;
    facts.run = name;
    if (!viewer->edits)
        facts.command_count = facts.unedited_count;
    job->place.page = &facts;
    if (derive(&report, &job->request.derivation, viewer->tokenizer, &job->one, err))
        return inputs_blame(&job->session.inputs, index, err);
    if (output_open(&job->output, err) || output_write(&job->output, &report, &job->place, err))
        return -1;
    job->place.index++;
    return 0;
}

static int look_at(void *context, size_t *done, struct err *err)
{
    struct job *job = context;
    struct viewer *viewer = &job->session.viewer;
    const struct edits *edits = viewer->edits;
    size_t index = (*done)++;
    struct text_pair pair;
    arena_clear(&job->one);
    if (session_read(&job->session, &pair, index, &job->one, err))
        return -1;
    if (!job->options->page.unedited)
        return look_once(job, &pair, index, NULL, err);
    viewer->edits = NULL;
    int failed = look_once(job, &pair, index, "unedited", err);
    viewer->edits = edits;
    return failed || look_once(job, &pair, index, "edited", err) ? -1 : 0;
}

int page_add_lesson(struct output *output, struct place *place, const struct options *options,
                    const struct page_lesson *lesson, struct err *err)
{
    struct job job = {.options = options,
                      .session.options = options,
                      .output = *output,
                      .place = *place,
                      .lesson = lesson};
    struct session *session = &job.session;
    struct text_pair pair;
    job.source =
        (struct page_source){.options = options, .viewer = &session->viewer, .texts = place->count};
    int failed = session_read_options(session, err) ||
                 inputs_open(&session->inputs, &options->input, INPUTS_ONE, err) ||
                 open_model(&job, err) || session_read(session, &pair, 0, &job.one, err) ||
                 look_once(&job, &pair, 0, NULL, err);
    *output = job.output;
    place->index = job.place.index;
    session_release(session);
    arena_release(&job.one);
    return failed ? -1 : 0;
}

int page_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    const struct model_turn turn = {&job.session, read_texts, NULL, &job, look_at};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err) ||
                 output_commit(&job.output, err);
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.kept);
    arena_release(&job.one);
    return failed ? -1 : 0;
}
