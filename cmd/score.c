/* score.c: `attn-cli score`: how likely texts are, token by token, or their continuations. */
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "measure/score_report.h"
#include "text/label.h"
#include "text/tokenizer.h"

static const struct option_row own_options[] = {
    STRINGS("continue", 0, "TEXT", IN(score.continuations),
            "score a continuation such as ' are' instead of the text (repeatable; compared with "
            "the first)",
            .heading = "Scoring"),
    FLAG("total", 0, IN(score.total), "print totals only: tokens, log-probability, perplexity"),
    STRING("per", 0, "COLUMN", IN(score.per),
           "print a total for each value of a column of the input, such as a condition"),
    FLAG("begin-word", 0, IN(score.begin_word),
         "assign the probability that a word ends to that word, not to the next one"),
    FLAG("bits", 0, IN(score.bits), "surprisal and entropy in bits (default: nats)"),
    INTEGER("stride", 0, "N", IN(score.stride), 1, 100000000,
            "read texts beyond the context in windows that advance by N tokens"),
    INTEGER("top", 0, "N", IN(score.best), 0, 1000,
            "N most likely tokens at each position, in text and json (default: 3)", .preset = 3),
    FLAG("words", 0, IN(select.words), "merge subword tokens into words and sum their surprisal"),
    {0},
};

const struct command command_score = {
    .name = "score",
    .group = "Analyse",
    .about = "log-probability, surprisal and perplexity",
    .operands = "[TEXT]...",
    .examples =
        "attn-cli score \"Life is short, eat dessert first\"\n"
        "attn-cli score \"Life is short\" --bits --words --format csv\n"
        "attn-cli score \"The keys to the cabinet\" --continue \" are\" --continue \" is\"\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli score --total\n"
        "attn-cli score \"Life is short, eat dessert first\" -o surprisal.svg\n",
    .run = score_command,
    .options = own_options,
    .shared = {{text_options, NULL},
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

enum {
    FABLES_PERPLEXITY = 300, /* of whole fables it is below 40, of parts of them up to 200 */
};

struct state {
    struct driver *driver;
    struct scoring scoring; /* of the open setting, as the view */
    struct score_view view;
    bool continues; /* texts are continued, and have no total of their own */

    /* Of the command, which knows all texts; a batch has the results of each alone. */
    bool by_model;            /* models are columns; otherwise they follow one another */
    bool is_last;             /* the last model is open */
    struct score_total all;   /* of the open model */
    struct score_total *rows; /* [row_count] of a table of totals: a row a model, or a text */
    size_t row_count;
    size_t per;                 /* the column of the input whose values have a row each, */
    struct hash_index found;    /* by that value */
    struct score_models models; /* by_model */
};

/* The texts that are scored for an item: its own, or that with each continuation. */
struct scored_item {
    struct text_pair *pairs; /* [count] */
    struct scored *scored;   /* [count] */
    size_t count;
    struct score_total total; /* of its own text */
};

/* --- options ---------------------------------------------------------------------------------- */

/* The option by which totals alone are shown; NULL: none. */
static const char *totals_option(const struct options *options)
{
    return options->score.per ? "per" : options->score.total ? "total" : NULL;
}

static int find_column(struct state *own, const char *name, struct err *err)
{
    const struct items *items = &own->driver->items;
    if (items->count > HASH_NUMBER_MAX)
        return err_usage(err, "--per: expected at most %d texts, found %zu", HASH_NUMBER_MAX,
                         items->count);
    while (own->per < items->name_count && strcmp(items->names[own->per], name) != 0)
        own->per++;
    if (own->per < items->name_count)
        return 0;
    return err_usage(err, "--per: expected a column of the input, such as a condition, found '%s'",
                     name);
}

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    const struct format *format = driver->output.format;
    bool is_json = format_is(format, "json") || format_is(format, "jsonl");
    size_t models = model_list_count(&driver->models);
    const char *per = driver->options->score.per;
    own->driver = driver;
    if (driver->is_batch)
        return 0;
    if (per && find_column(own, per, err))
        return -1;
    own->by_model = models > 1 && !is_json && !format_is(format, "tidy") && !per;
    driver->place.sentences = totals_option(driver->options) ? 1 : driver->items.count;
    driver->place.count = driver->place.sentences * (own->by_model ? 1 : models);
    return own->by_model ? score_models_init(&own->models, driver->models.names.names, models,
                                             driver->items.count, &driver->kept, err)
                         : 0;
}

/* What --continue needs, which may also be a column. */
static int check_continued(const struct options *options, const struct viewer *viewer,
                           struct err *err)
{
    size_t before = 0;
    size_t after = 0;
    const char *moot = totals_option(options);
    moot = moot || !options->select.words ? moot : "words";
    if (!options->score.continuations.count)
        return 0;
    if (moot)
        return err_usage(err, "--continue reports totals; --%s does not apply", moot);
    if (options->input.ids)
        return err_usage(err, "--continue: expected a text, found --ids");
    if (viewer->tokenizer)
        tokenizer_adds(viewer->tokenizer, &before, &after);
    if (after)
        return err_usage(err, "--continue: expected no token after a text, found one that the "
                              "tokenizer adds: --special none or bos leaves it out");
    return 0;
}

/* Tables have the columns of their first text: all texts are continued, or none is. */
static bool first_continues(const struct driver *driver)
{
    struct arena arena = {0};
    struct item item;
    struct err unread = {0};
    bool continues = !items_read(&driver->items, &item, 0, &arena, &unread) &&
                     item.options.score.continuations.count;
    arena_release(&arena);
    err_clear(&unread);
    return continues;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    struct viewer *viewer = &driver->session.viewer;
    const struct options *options = driver->session.options;
    const struct score_options *score = &options->score;
    const struct format *format = driver->output.format;
    bool for_people = format_is(format, "text");
    bool has_best = for_people || format_is(format, "json") || format_is(format, "jsonl");
    bool words = options->select.words;
    const char *totals = totals_option(options);
    own->view = (struct score_view){
        .origin.viewer = viewer, .bits = score->bits, .words = words, .for_people = for_people};
    own->scoring = (struct scoring){.viewer = viewer, .stride = (size_t)score->stride};
    own->continues = first_continues(driver);
    if (score->per && driver->is_batch)
        return err_usage(err, "--per: expected 'attn-cli score', found a batch, whose results are "
                              "of single texts");
    if (words && totals)
        return err_usage(err, "--%s reports totals; --words does not apply", totals);
    if (check_continued(options, viewer, err) ||
        text_origin_attends(&own->view.origin, &driver->session.arena, err))
        return -1;
    if (has_best && !totals && !own->continues && !words && !own->by_model)
        own->scoring.best_count = (size_t)score->best;
    if (score->stride > 0 && options->input.any_length)
        return err_usage(err, "--stride and --long cannot be combined");
    viewer->reads_any_length = score->stride > 0;
    own->scoring.context = score->stride > 0 ? viewer->model.config.n_positions : 0;
    if (words && !viewer->tokenizer)
        return err_usage(err, "--words: expected a tokenizer, found a model that takes only ids");
    if (score->begin_word && !viewer->tokenizer)
        return err_usage(err, "--begin-word: expected a tokenizer, found a model that takes only "
                              "ids");
    if (score->begin_word &&
        !(own->scoring.begins = word_starts(viewer->tokenizer, viewer->model.config.vocab_size,
                                            &driver->session.arena, err)))
        return err_prefix(err, "--begin-word");
    return scoring_check(&own->scoring, err);
}

/* Logits are computed in steps. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    (void)state;
    viewer_expect(&driver->session.viewer, tokens);
    viewer_expect_steps(&driver->session.viewer, tokens);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Read a text joined with a continuation, which must not change the tokens of the text. */
static int read_continued(struct text_pair *pair, const struct text_pair *alone, const char *more,
                          const struct viewer *viewer, struct arena *arena, struct err *err)
{
    const struct tokenized *sentence = &alone->sentence;
    const struct tokenized *read = &pair->sentence;
    size_t size = strlen(more);
    size_t same = 0;
    char *text = arena_room(arena, sentence->size + size + 1, 1, err);
    struct input whole = {.text = text, .size = sentence->size + size};
    if (!text)
        return -1;
    memcpy(text, sentence->text, sentence->size);
    memcpy(text + sentence->size, more, size + 1);
    if (viewer_read(viewer, pair, &whole, NULL, arena, err))
        return -1;
    while (same < sentence->count && same < read->count && sentence->ids[same] == read->ids[same])
        same++;
    if (same < sentence->count)
        return err_usage(err,
                         "--continue '%s': expected the text's %zu tokens unchanged, found "
                         "another one at %zu: begin it where a token begins, as with a space",
                         more, sentence->count, same);
    if (read->count == same)
        return err_usage(err, "--continue '%s': expected at least one token, found none", more);
    pair->source = alone->source;
    pair->prompt_count = sentence->count;
    return 0;
}

static int read(void *state, struct driver *driver, struct work *work, struct arena *arena,
                struct err *err)
{
    const struct state *task = state;
    const struct viewer *viewer = &driver->session.viewer;
    const struct texts *continuations = &work->item.options.score.continuations;
    size_t count = num_max(continuations->count, 1);
    struct scored_item *own = arena_alloc(arena, 1, sizeof *own, err);
    if (!own || check_continued(&work->item.options, viewer, err))
        return -1;
    if (continuations->count && !work->pair.sentence.text)
        return err_usage(err, "--continue: expected a text, found ids");
    if (task->continues != (continuations->count > 0))
        return err_set(err, "expected %s continuation as in the first item, found %s",
                       task->continues ? "a" : "no", task->continues ? "none" : "one");
    if (task->view.words && word_spans_find(&work->pair.sentence, viewer->tokenizer, arena, err))
        return -1;
    *own = (struct scored_item){.pairs = arena_alloc(arena, count, sizeof *own->pairs, err),
                                .scored = arena_alloc(arena, count, sizeof *own->scored, err),
                                .count = count};
    if (!own->pairs || !own->scored)
        return -1;
    *own->pairs = work->pair;
    for (size_t i = 0; i < continuations->count; i++)
        if (read_continued(&own->pairs[i], &work->pair, continuations->items[i], viewer, arena,
                           err))
            return -1;
    work->own = own;
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static int report_continued(struct work *work, const struct score_view *view, struct arena *arena,
                            struct err *err)
{
    const struct tokenized *sentence = &work->pair.sentence;
    const struct texts *continuations = &work->item.options.score.continuations;
    const struct scored *scored = ((const struct scored_item *)work->own)->scored;
    size_t count = continuations->count;
    struct score_total *items = arena_alloc(arena, count, sizeof *items, err);
    struct score_totals totals = {"continuation", items, count, .compares = true,
                                  .sentence = sentence};
    for (size_t i = 0; items && i < count; i++) {
        const char *text = continuations->items[i];
        struct token_bytes bytes = {text, strlen(text)};
        struct thing thing = {i, &bytes, 1, 0};
        items[i] = score_total_of(&scored[i], sentence->count, scored[i].count - sentence->count);
        if (label_make(&items[i].label, &thing, arena, err))
            return -1;
    }
    return items ? score_totals_report(&work->report, view, &totals, arena, err) : -1;
}

/* Its label is the text. */
static int report_total(struct work *work, const struct score_view *view, struct arena *arena,
                        struct err *err)
{
    struct score_total *total = &((struct scored_item *)work->own)->total;
    struct score_totals totals = {"text", total, 1, .is_numbered = true,
                                  .sentence = &work->pair.sentence};
    struct buf words = {0};
    tokenized_visible(&words, &work->pair.sentence);
    const char *text = buf_keep(&words, arena, err);
    total->label = (struct label){text, text, text};
    return text ? score_totals_report(&work->report, view, &totals, arena, err) : -1;
}

static int report_item(struct work *work, struct score_view view, struct arena *arena,
                       struct err *err)
{
    struct scored_item *own = work->own;
    const struct options *options = &work->item.options;
    view.origin.source = &work->pair.source;
    if (options->score.continuations.count)
        return report_continued(work, &view, arena, err);
    own->total = score_total_of(own->scored, 0, own->scored->count);
    return totals_option(options)
               ? report_total(work, &view, arena, err)
               : score_report(&work->report, &view, &work->pair.sentence, own->scored, arena, err);
}

/* Score the texts of all items together. */
static int run(void *state, const struct group *group, struct err *err)
{
    const struct state *own = state;
    struct scoring scoring = own->scoring;
    struct look look = {.first = group->works[0]->job};
    for (size_t i = 0; i < group->count; i++)
        look.count += ((const struct scored_item *)group->works[i]->own)->count;
    struct text_pair *pairs = arena_alloc(group->arena, look.count, sizeof *pairs, err);
    struct scored *scored = arena_alloc(group->arena, look.count, sizeof *scored, err);
    if (!pairs || !scored)
        return -1;
    for (size_t i = 0, at = 0; i < group->count; i++) {
        struct scored_item *item = group->works[i]->own;
        memcpy(&pairs[at], item->pairs, item->count * sizeof *pairs);
        item->scored = &scored[at];
        at += item->count;
    }
    look.pairs = pairs;
    scoring.viewer = group->viewer;
    if (scoring_run(scored, &scoring, &look, group->arena, err))
        return -1;
    for (size_t i = 0; i < group->count; i++)
        if (report_item(group->works[i], own->view, group->arena, err))
            return -1;
    return 0;
}

/* --- over all texts --------------------------------------------------------------------------- */

/* Results are collected for totals, and where models are columns until the last of them. */
static int begin(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    struct arena *arena = own->by_model ? &driver->kept : &driver->session.arena;
    bool totals = totals_option(driver->options);
    if (driver->is_batch)
        return 0;
    own->is_last = driver->setting + 1 == driver->sweep.settings;
    own->all = (struct score_total){.sentence = COLUMN_MISSING};
    driver->accumulates = totals || (own->by_model && !own->is_last);
    if (own->by_model && driver->setting)
        return 0;
    size_t count = own->by_model ? own->models.count : totals ? driver->items.count + 1 : 0;
    own->row_count = 0;
    own->rows = arena_alloc(arena, count, sizeof *own->rows, err);
    bool has_index = driver->options->score.per;
    return !own->rows || (has_index && hash_index_init(&own->found, count, arena, err)) ? -1 : 0;
}

/* --total: a row of its own, with its number and what is copied from the input. */
static int add_text(struct state *own, const struct work *work, struct err *err)
{
    struct arena *arena = &own->driver->session.arena;
    const struct item *item = &work->item;
    struct score_total *row = &own->rows[own->row_count++];
    *row = ((const struct scored_item *)work->own)->total;
    const char *text = arena_text(arena, row->label.text, strlen(row->label.text), err);
    const char **columns = arena_alloc(arena, item->column_count, sizeof *columns, err);
    row->label = (struct label){text, text, text};
    row->sentence = (long long)item->number;
    row->columns = columns;
    for (size_t i = 0; columns && i < item->column_count; i++) {
        const char *value = item->columns[i].value;
        if (value && !(columns[i] = arena_text(arena, value, strlen(value), err)))
            return -1;
    }
    return text && columns ? 0 : -1;
}

/* --per: the row of its value, which is "" where it has none. */
static int add_to_value(struct state *own, const struct work *work, struct err *err)
{
    struct arena *arena = &own->driver->session.arena;
    const struct score_total *total = &((const struct scored_item *)work->own)->total;
    const char *value = work->item.column_count ? work->item.columns[own->per].value : NULL;
    size_t size = strlen(value = value ? value : "");
    struct hash_probe probe = hash_probe(&own->found, hash_bytes(value, size));
    struct score_total *row = NULL;
    for (uint32_t number; !row && hash_next(&probe, &number);)
        if (strcmp(own->rows[number].label.plain, value) == 0)
            row = &own->rows[number];
    if (!row) {
        struct buf visible = {0};
        label_line(&visible, value, size);
        const char *text = buf_keep(&visible, arena, err);
        const char *plain = arena_text(arena, value, size, err);
        if (!text || !plain)
            return -1;
        hash_put(&probe, (uint32_t)own->row_count);
        row = &own->rows[own->row_count++];
        *row = (struct score_total){{text, plain, plain}, .sentence = COLUMN_MISSING};
    }
    score_total_add(row, total);
    return 0;
}

static int add(void *state, struct work *work, struct err *err)
{
    struct state *own = state;
    struct driver *driver = own->driver;
    bool totals = totals_option(driver->options);
    if (driver->is_batch)
        return 0;
    score_total_add(&own->all, &((const struct scored_item *)work->own)->total);
    if (own->by_model && !totals)
        return score_models_add(&own->models, driver->setting, work->index, &work->report,
                                &driver->session.arena, err)
                   ? model_blame(driver->current.model.name, err)
                   : 0;
    if (own->by_model || !totals)
        return 0;
    return (driver->options->score.per ? add_to_value : add_text)(own, work, err);
}

static void note_fables(const struct driver *driver, const struct score_total *all)
{
    double perplexity = score_perplexity(all);
    if (perplexity > FABLES_PERPLEXITY && model_is_of_fables(&driver->session.viewer.model))
        print_note("'%s' knows only the short fables it was trained on, and these texts are unlike "
                   "them (perplexity %.0f): its scores mean little",
                   bundled_default, perplexity);
}

static int write_totals(const struct state *own, struct err *err)
{
    struct driver *driver = own->driver;
    struct report report;
    const char *per = driver->options->score.per;
    bool of_texts = !own->by_model && !per;
    const struct score_totals totals = {
        .rows = per             ? per
                : own->by_model ? "model"
                                : "text",
        .items = own->rows,
        .count = own->row_count,
        .is_numbered = of_texts,
        .texts = driver->items.count,
        .names = driver->items.names,
        .name_count = of_texts ? driver->items.name_count : 0,
    };
    if (score_totals_report(&report, &own->view, &totals, &driver->session.arena, err))
        return -1;
    if (own->by_model)
        report.model = own->models.title;
    return driver_write(driver, &report, err);
}

/* After the last text of a model. */
static int end(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    size_t count = driver->items.count;
    bool totals = totals_option(driver->options);
    bool on_page =
        format_is(driver->output.format, "text") && !driver->output.to_folder && !own->continues;
    if (driver->is_batch)
        return 0;
    note_fables(driver, &own->all);
    own->all.label = (struct label){"all", "all", "all"};
    if (own->by_model)
        own->all.label = own->models.labels[driver->setting];
    if (own->by_model || (totals && count > 1))
        own->rows[own->row_count++] = own->all;
    if (own->by_model ? own->is_last && (totals || on_page) : totals)
        return write_totals(own, err);
    if (own->by_model || !on_page || count == 1)
        return 0;
    const char *summary = score_summary(&own->view, &own->all, &driver->session.arena, err);
    if (summary)
        stream_format(&driver->output.stream, "\nall %zu texts · %s\n", count, summary);
    return summary ? 0 : -1;
}

const struct task score_task = {
    .name = "score",
    .command = &command_score,
    .fields = 1 << ITEM_CONTINUE,
    .many = ITEMS_SOME,
    .takes_source = true,
    .pages = "attn-cli page",
    .way_out = "--stride N reads it in windows",
    .state_bytes = sizeof(struct state),
    .prepare = prepare,
    .open = open,
    .expect = expect,
    .read = read,
    .begin = begin,
    .end = end,
    .at_once = true,
    .run = run,
    .add = add,
};

int score_command(const struct options *options, struct err *err)
{
    return driver_do(&score_task, options, err);
}
