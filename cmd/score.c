/* score.c: `attn-cli score`: how likely texts are, token by token, or their continuations. */
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "measure/score_report.h"
#include "stimuli.h"
#include "text/label.h"
#include "text/tokenizer.h"

static const struct option_row own_options[] = {
    STRINGS("continue", 0, "TEXT", IN(score.continuations),
            "score a continuation of the text, such as ' are' (repeatable; the others are compared "
            "with the first)",
            .heading = "Scoring"),
    FLAG("total", 0, IN(score.total),
         "print only totals over all texts: tokens, log-probability, perplexity"),
    STRING("per", 0, "COLUMN", IN(score.per),
           "print totals for each value of a column of the input, such as condition, or for each "
           "combination of several: condition,region; with --words: the mean of each word"),
    FLAG("begin-word", 0, IN(score.begin_word),
         "count the probability that a word ends as part of that word, not of the next one "
         "(Pimentel and Meister, 2024)"),
    FLAG("bits", 0, IN(score.bits), "print surprisal and entropy in bits (default: nats)"),
    INTEGER("stride", 0, "N", IN(score.stride), 1, 100000000,
            "read texts longer than the context in windows that advance by N tokens"),
    INTEGER("top", 0, "N", IN(score.best), 0, 1000,
            "show the N most likely tokens at each position, in text and json (default: 3)",
            .preset = 3),
    FLAG("words", 0, IN(select.words),
         "print words (separated by white space) instead of tokens; the surprisals of a word's "
         "tokens are summed"),
    {0},
};

static const struct task score_task;

const struct command command_score = {
    .name = "score",
    .group = "Analyse",
    .about = "log-probability, surprisal and perplexity",
    .operands = "[TEXT]...",
    .examples =
        "attn-cli score \"Life is short, eat dessert first\"\n"
        "attn-cli score \"Life is short\" --bits --words --format csv\n"
        "attn-cli score \"The keys to the cabinet\" --continue \" are\" --continue \" is\"\n"
        "attn-cli score -f stimuli.csv --words --bits -o words.csv\n"
        "attn-cli score -f stimuli.csv --words --bits --per condition -o figure.svg\n"
        "attn-cli score -f pairs.csv --per phenomenon\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli score --total\n"
        "attn-cli score \"Life is short, eat dessert first\" -o surprisal.svg\n",
    .task = &score_task,
    .options = own_options,
    .shared = {{text_options, NULL},
               {model_options, NULL},
               {mechanism_options, NULL},
               {edit_options, NULL},
               {output_options, NULL},
               {terminal_options, NULL},
               {figure_options, "range"},
               {running_options, "verbose"}},
    .reads_texts = true,
};

enum {
    FABLES_PERPLEXITY = 300, /* of whole fables it is below 40, of parts of them up to 200 */
};

struct state {
    struct driver *driver;
    struct scoring scoring; /* of the open setting, as the view */
    struct score_view view;
    bool continues;         /* texts are continued, and have no total of their own */
    bool pairs;             /* items are minimal pairs */
    size_t unscored, blank; /* texts whose first token has no score; without any */
    size_t region_count;    /* of all items */

    /* Of the command, which knows all texts; a batch has the results of each alone. */
    bool by_model;            /* models are columns; otherwise they follow one another */
    bool is_last;             /* the last model is open */
    struct score_total all;   /* of the open model */
    struct score_total *rows; /* [row_count] of a table of totals: a row a model, or a text */
    size_t row_count;
    const char **per;    /* [per_count] columns of the input whose values have a row each, */
    size_t *per_columns; /* the last one is the region */
    size_t per_count;
    struct hash_index found;    /* rows by these values */
    struct word_means means;    /* --per with --words */
    double *sums;               /* [conditions, regions] of an item of a suite; NULL: it is none */
    struct score_models models; /* by_model */
};

/* The texts that are scored for an item: its own, or that with each continuation. */
struct scored_item {
    struct text_pair *pairs;       /* [count] */
    struct scored *scored;         /* [count] */
    size_t count;                  /* 0: it is blank */
    struct score_total total;      /* of its own text, or of the pair */
    const struct region **regions; /* [tokens]; NULL: it has none */
};

/* --- options ---------------------------------------------------------------------------------- */

/* What shows totals alone; NULL: nothing. */
static const char *totals_reason(const struct state *own, const struct options *options)
{
    return options->score.per     ? "--per"
           : options->score.total ? "--total"
           : own->pairs           ? "a table of minimal pairs"
           : own->sums            ? "a suite"
                                  : NULL;
}

/* Whether items are pairs or continued, as the first one is, and how many regions they have. */
static int look_at_items(struct state *own, const struct driver *driver, struct err *err)
{
    const struct items *items = &driver->items;
    struct arena arena = {0};
    struct item item;
    for (size_t i = 0; i < items->count && items->kind != ITEMS_LINES && !err->kind; i++) {
        struct err unread = {0}; /* an item that is not sound is refused later */
        if (!items_read(items, &item, i, &arena, &unread)) {
            own->pairs |= i == 0 && item.fields[ITEM_GOOD];
            own->continues |= i == 0 && item.fields[ITEM_CONTINUE];
            own->region_count += regions_count(&item);
        }
        if (unread.out_of_memory)
            err_adopt(err, &unread);
        err_clear(&unread);
        arena_clear(&arena);
    }
    arena_release(&arena);
    return err->kind ? -1 : 0;
}

/* --per: a column, or several with commas between them. */
static int find_columns(struct state *own, const char *list, struct err *err)
{
    const struct items *items = &own->driver->items;
    struct arena *arena = &own->driver->kept;
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
        size_t count = own->per_count++;
        size_t column = 0;
        const char *name = arena_text(arena, list, strcspn(list, ","), err);
        own->per = arena_grow(arena, own->per, count, sizeof *own->per, err);
        own->per_columns = arena_grow(arena, own->per_columns, count, sizeof column, err);
        if (!name || !own->per || !own->per_columns)
            return -1;
        while (column < items->name_count && strcmp(items->names[column], name) != 0)
            column++;
        if (column == items->name_count && (!own->region_count || strcmp(name, "region") != 0))
            return err_usage(
                err, "--per: expected a column of the input, such as a condition, found '%s'",
                name);
        own->per[count] = name;
        own->per_columns[count] = column;
    }
    if (items->count + own->region_count > HASH_NUMBER_MAX)
        return err_usage(err, "--per: expected at most %d texts, found %zu", HASH_NUMBER_MAX,
                         items->count);
    return 0;
}

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    const struct format *format = driver->output.format;
    const struct options *options = driver->options;
    const struct suite *suite = driver->items.suite;
    bool is_json = format_is(format, "json") || format_is(format, "jsonl");
    size_t models = model_list_count(&driver->models);
    own->driver = driver;
    if (look_at_items(own, driver, err) ||
        (options->score.per && !driver->is_batch && find_columns(own, options->score.per, err)))
        return -1;
    if (suite && !driver->is_batch && !options->select.words && !totals_reason(own, options) &&
        !(own->sums = arena_alloc(&driver->kept, suite->conditions,
                                  suite->regions * sizeof *own->sums, err)))
        return -1;
    const char *reason = totals_reason(own, options);
    driver->begins_texts = options->select.words || reason;
    if (options->select.words && reason && !options->score.per)
        return err_usage(err, "%s reports totals; --words does not apply", reason);
    if (driver->is_batch)
        return 0;
    own->by_model =
        models > 1 && !is_json && !format_is(format, "tidy") && !options->score.per && !own->sums;
    driver->place.sentences = reason ? 1 : driver->items.count;
    driver->place.count = driver->place.sentences * (own->by_model ? 1 : models);
    return own->by_model ? score_models_init(&own->models, driver->models.names.names, models,
                                             driver->items.count, &driver->kept, err)
                         : 0;
}

/* What --continue needs, which may also be a column. */
static int check_continued(const struct state *own, const struct options *options,
                           const struct viewer *viewer, struct err *err)
{
    size_t before = 0;
    size_t after = 0;
    const char *moot = totals_reason(own, options);
    moot = moot || !options->select.words ? moot : "--words";
    if (!options->score.continuations.count)
        return 0;
    if (moot)
        return err_usage(err, "--continue reports totals; %s does not apply", moot);
    if (options->input.ids)
        return err_usage(err, "--continue: expected a text, found --ids");
    if (viewer->tokenizer)
        tokenizer_adds(viewer->tokenizer, &before, &after);
    if (after)
        return err_usage(
            err,
            "--continue: the tokenizer adds a token after each text: use --special none or bos");
    return 0;
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
    own->view = (struct score_view){.origin.viewer = viewer,
                                    .bits = score->bits,
                                    .words = words,
                                    .for_people = for_people,
                                    .lines = driver->place.lines,
                                    .has_regions = own->region_count > 0};
    own->scoring = (struct scoring){.viewer = viewer, .stride = (size_t)score->stride};
    own->continues |= score->continuations.count > 0;
    if (score->per && driver->is_batch)
        return err_usage(err, "--per is not available in a batch: use 'attn-cli score'");
    if (check_continued(own, options, viewer, err) ||
        text_origin_attends(&own->view.origin, &driver->session.arena, err))
        return -1;
    if (has_best && !totals_reason(own, options) && !own->continues && !words && !own->by_model)
        own->scoring.best_count = (size_t)score->best;
    if (score->stride > 0 && options->input.any_length)
        return err_usage(err, "--stride and --long cannot be combined");
    viewer->reads_any_length = score->stride > 0;
    own->scoring.context = score->stride > 0 ? viewer->model.config.n_positions : 0;
    if ((words || own->region_count) && !viewer->tokenizer)
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
        return err_usage(
            err,
            "--continue '%s': expected the text's %zu tokens unchanged, found another one at %zu: "
            "begin the continuation at a token boundary, for example with a space",
            more, sentence->count, same);
    if (read->count == same)
        return err_usage(err, "--continue '%s': expected at least one token, found none", more);
    pair->source = alone->source;
    pair->prompt_count = sentence->count;
    return 0;
}

/* The text without the marks of its regions, and the region of each of its tokens. */
static int read_regions(struct scored_item *own, const struct viewer *viewer, struct work *work,
                        struct arena *arena, struct err *err)
{
    struct regions regions;
    struct tokenized source = work->pair.source;
    if (regions_find(&regions, &work->item, arena, err))
        return -1;
    if (!regions.count)
        return 0;
    if (viewer_read(viewer, &work->pair, &regions.input, NULL, arena, err) ||
        word_spans_find(&work->pair.sentence, viewer->tokenizer, arena, err))
        return -1;
    work->pair.source = source;
    own->regions = regions_of_tokens(&regions, &work->pair.sentence, arena, err);
    return own->regions ? 0 : -1;
}

/* Words of the text alone, without the special tokens around it. */
static int read_words(struct tokenized *sentence, const struct viewer *viewer, struct arena *arena,
                      struct err *err)
{
    if (word_spans_find(sentence, viewer->tokenizer, arena, err))
        return -1;
    while (sentence->word_count &&
           sentence->words->first + sentence->words->count <= sentence->added_before) {
        sentence->words++;
        sentence->word_labels++;
        sentence->word_count--;
    }
    while (sentence->word_count && sentence->words[sentence->word_count - 1].first >=
                                       sentence->count - sentence->added_after)
        sentence->word_count--;
    return 0;
}

static int read(void *state, struct driver *driver, struct work *work, struct arena *arena,
                struct err *err)
{
    const struct state *task = state;
    const struct viewer *viewer = &driver->session.viewer;
    const struct texts *continuations = &work->item.options.score.continuations;
    const char *bad = work->item.fields[ITEM_BAD];
    size_t count = work->item.is_blank ? 0 : task->pairs ? 2 : num_max(continuations->count, 1);
    struct scored_item *own = arena_alloc(arena, 1, sizeof *own, err);
    if (!own || check_continued(task, &work->item.options, viewer, err))
        return -1;
    work->own = own;
    if (!count)
        return 0;
    if (continuations->count && !work->pair.sentence.text)
        return err_usage(err, "--continue: expected a text, found ids");
    if (task->continues != (continuations->count > 0))
        return err_set(err, "expected %s continuation as in the first item, found %s",
                       task->continues ? "a" : "no", task->continues ? "none" : "one");
    if (task->pairs != (bad != NULL))
        return err_set(err, "expected %s as in the first item, found %s",
                       task->pairs ? "a pair" : "one text", task->pairs ? "one text" : "a pair");
    if (task->region_count && read_regions(own, viewer, work, arena, err))
        return -1;
    if (task->view.words && read_words(&work->pair.sentence, viewer, arena, err))
        return -1;
    own->pairs = arena_alloc(arena, count, sizeof *own->pairs, err);
    own->scored = arena_alloc(arena, count, sizeof *own->scored, err);
    own->count = count;
    if (!own->pairs || !own->scored)
        return -1;
    *own->pairs = work->pair;
    if (bad && viewer_read(viewer, &own->pairs[1],
                           &(struct input){.text = bad, .size = strlen(bad)}, NULL, arena, err))
        return err_prefix(err, "column 'bad'");
    if (bad)
        own->pairs[1].source = work->pair.source;
    for (size_t i = 0; i < continuations->count; i++)
        if (read_continued(&own->pairs[i], &work->pair, continuations->items[i], viewer, arena,
                           err))
            return -1;
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static int report_continued(struct work *work, const struct score_view *view, struct arena *arena,
                            struct err *err)
{
    const struct tokenized *sentence = &work->pair.sentence;
    const struct texts *continuations = &work->item.options.score.continuations;
    const struct scored *scored = ((const struct scored_item *)work->own)->scored;
    size_t count = ((const struct scored_item *)work->own)->count;
    struct score_total *items = arena_alloc(arena, count, sizeof *items, err);
    struct score_totals totals = {"continuation", TOTALS_OF_CONTINUATIONS, items, count,
                                  .sentence = sentence};
    for (size_t i = 0; items && i < count; i++) {
        const char *text = continuations->items[i];
        items[i] = score_total_of(&scored[i], sentence->count, scored[i].count - sentence->count);
        if (label_of_text(&items[i].label, i, text, strlen(text), arena, err))
            return -1;
    }
    return items ? score_totals_report(&work->report, view, &totals, arena, err) : -1;
}

static int label_text(struct label *label, const struct tokenized *text, struct arena *arena,
                      struct err *err)
{
    struct buf visible = {0};
    buf_text(&visible, "");
    if (text->count)
        tokenized_visible(&visible, text);
    const char *kept = buf_keep(&visible, arena, err);
    *label = (struct label){kept, kept, kept};
    return kept ? 0 : -1;
}

/* Their labels are the texts. */
static int report_total(struct work *work, const struct score_view *view, bool pairs,
                        struct arena *arena, struct err *err)
{
    struct scored_item *own = work->own;
    struct score_totals totals = {pairs ? "good" : "text",
                                  pairs ? TOTALS_OF_PAIRS : TOTALS_OF_TEXTS, &own->total, 1,
                                  .sentence = &work->pair.sentence};
    return label_text(&own->total.label, &work->pair.sentence, arena, err) ||
                   (own->total.count &&
                    label_text(&own->total.bad, &own->pairs[1].sentence, arena, err)) ||
                   score_totals_report(&work->report, view, &totals, arena, err)
               ? -1
               : 0;
}

static int report_item(const struct state *task, struct work *work, struct arena *arena,
                       struct err *err)
{
    struct scored_item *own = work->own;
    const struct options *options = &work->item.options;
    struct score_view view = task->view;
    view.origin.source = &work->pair.source;
    view.regions = own->regions;
    if (options->score.continuations.count)
        return report_continued(work, &view, arena, err);
    own->total.sentence = COLUMN_MISSING;
    if (own->count)
        own->total = score_total_of(own->scored, 0, own->scored->count);
    if (own->count && task->pairs) {
        const struct scored *bad = &own->scored[1];
        own->total.count = 1;
        own->total.bad_logprob = score_total_of(bad, 0, bad->count).logprob;
        own->total.correct = own->total.logprob > own->total.bad_logprob;
    }
    return totals_reason(task, options) && !options->select.words
               ? report_total(work, &view, task->pairs, arena, err)
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
        if (item->count)
            memcpy(&pairs[at], item->pairs, item->count * sizeof *pairs);
        item->scored = &scored[at];
        at += item->count;
    }
    look.pairs = pairs;
    scoring.viewer = group->viewer;
    if (look.count && scoring_run(scored, &scoring, &look, group->arena, err))
        return -1;
    for (size_t i = 0; i < group->count; i++)
        if (report_item(own, group->works[i], group->arena, err))
            return -1;
    return 0;
}

/* --- over all texts --------------------------------------------------------------------------- */

/* Results are collected for totals, and where models are columns until the last of them. */
static int begin(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    struct arena *arena = own->by_model ? &driver->kept : &driver->session.arena;
    bool totals = totals_reason(own, driver->options);
    own->blank = own->unscored = 0;
    if (driver->is_batch)
        return 0;
    own->is_last = driver->setting + 1 == driver->sweep.settings;
    own->all = (struct score_total){.sentence = COLUMN_MISSING};
    own->means = (struct word_means){0};
    driver->accumulates = totals || (own->by_model && !own->is_last);
    if (own->by_model && driver->setting)
        return 0;
    size_t items = driver->items.count;
    size_t count = own->by_model ? own->models.count
                   : own->sums   ? (items + 1) * driver->items.suite->formula_count
                   : totals      ? items + own->region_count + 1
                                 : 0;
    own->row_count = 0;
    own->rows = arena_alloc(arena, count, sizeof *own->rows, err);
    return !own->rows || (own->per && hash_index_init(&own->found, count, arena, err)) ? -1 : 0;
}

static int copy_label(struct label *label, struct arena *arena, struct err *err)
{
    const char *text = label->text ? arena_text(arena, label->text, strlen(label->text), err) : "";
    *label = (struct label){text, text, text};
    return text ? 0 : -1;
}

/* --total: a row of its own, with its number and what is copied from the input. */
static int add_text(struct state *own, const struct work *work, struct err *err)
{
    struct arena *arena = &own->driver->session.arena;
    const struct item *item = &work->item;
    struct score_total *row = &own->rows[own->row_count++];
    *row = ((const struct scored_item *)work->own)->total;
    const char **columns = arena_alloc(arena, item->column_count, sizeof *columns, err);
    row->sentence = (long long)item->number;
    row->columns = columns;
    for (size_t i = 0; columns && i < item->column_count; i++) {
        const char *value = item->columns[i].value;
        if (value && !(columns[i] = arena_text(arena, value, strlen(value), err)))
            return -1;
    }
    return !columns || copy_label(&row->label, arena, err) || copy_label(&row->bad, arena, err) ? -1
                                                                                                : 0;
}

/* --per: the row of an item's values, which are "" where it has none, and of a region. */
static struct score_total *find_row(struct state *own, const struct item *item,
                                    const struct region *region, struct err *err)
{
    struct arena *arena = &own->driver->session.arena;
    size_t count = own->per_count;
    struct buf key = {0};
    for (size_t i = 0; i < count; i++) {
        size_t column = own->per_columns[i];
        const char *value = column < item->column_count ? item->columns[column].value
                            : region                    ? region->name
                                                        : NULL;
        buf_bytes(&key, value ? value : "", value ? strlen(value) + 1 : 1);
    }
    const char **values = NULL;
    struct hash_probe probe = hash_probe(&own->found, hash_bytes(key.bytes, key.size));
    for (uint32_t number; !key.out_of_memory && hash_next(&probe, &number);) {
        struct score_total *row = &own->rows[number];
        size_t same = 0;
        for (const char *at = key.bytes; same < count && !strcmp(row->columns[same], at); same++)
            at += strlen(at) + 1;
        if (same == count) {
            buf_release(&key);
            return row;
        }
    }
    const char *kept = buf_keep(&key, arena, err);
    if (!kept || !(values = arena_alloc(arena, count, sizeof *values, err)))
        return NULL;
    for (size_t i = 0; i < count; i++, kept += strlen(kept) + 1)
        values[i] = kept;
    struct buf visible = {0};
    label_line(&visible, values[count - 1], strlen(values[count - 1]));
    const char *text = buf_keep(&visible, arena, err);
    hash_put(&probe, (uint32_t)own->row_count);
    struct score_total *row = &own->rows[own->row_count++];
    *row = (struct score_total){.label = {text, values[count - 1], values[count - 1]},
                                .sentence = COLUMN_MISSING,
                                .columns = values};
    return text ? row : NULL;
}

/* Add a text, or each of its regions if the rows are of regions. */
static int add_to_rows(struct state *own, const struct work *work, struct err *err)
{
    const struct scored_item *item = work->own;
    bool of_regions = false;
    struct score_view view = own->view;
    struct score_total *row = NULL;
    view.regions = item->regions;
    for (size_t i = 0; i < own->per_count; i++)
        of_regions |= own->per_columns[i] == own->driver->items.name_count;
    for (size_t first = 0, end; of_regions && item->regions && first < item->scored->count;
         first = end) {
        const struct region *region = item->regions[first];
        for (end = first + 1; end < item->scored->count && item->regions[end] == region;)
            end++;
        struct score_total part = score_total_of(item->scored, first, end - first);
        if (region && !(row = find_row(own, &work->item, region, err)))
            return -1;
        if (region)
            score_total_add(row, &part);
    }
    if (of_regions && item->regions)
        return 0;
    if (!(row = find_row(own, &work->item, NULL, err)))
        return -1;
    score_total_add(row, &item->total);
    return view.words && item->count
               ? word_means_add(&own->means, (size_t)(row - own->rows), &view, &work->pair.sentence,
                                item->scored, &own->driver->session.arena, err)
               : 0;
}

/* Of an item of a suite, or of all. */
static int add_prediction(struct state *own, size_t formula, const char *item, size_t count,
                          size_t correct, struct err *err)
{
    struct arena *arena = &own->driver->session.arena;
    const char **columns = arena_alloc(arena, 1, sizeof *columns, err);
    const char *text = own->driver->items.suite->formulas[formula];
    if (!columns || (item && !(*columns = arena_text(arena, item, strlen(item), err))))
        return -1;
    own->rows[own->row_count++] = (struct score_total){.label = {text, text, text},
                                                       .sentence = COLUMN_MISSING,
                                                       .count = count,
                                                       .correct = correct,
                                                       .columns = columns};
    return 0;
}

/* A condition of a suite; after the last one of an item its predictions are evaluated, and after
 * the last item all of them are counted. */
static int add_condition(struct state *own, const struct work *work, struct err *err)
{
    const struct scored_item *item = work->own;
    const struct suite *suite = own->driver->items.suite;
    size_t condition = work->index % suite->conditions;
    double *sums = own->sums + condition * suite->regions;
    memset(sums, 0, suite->regions * sizeof *sums);
    for (size_t i = 0; item->count && i < item->scored->count; i++)
        if (item->regions[i] && item->scored->tokens[i].rank)
            sums[item->regions[i]->number] -= (double)item->scored->tokens[i].logprob;
    for (size_t i = 0; condition + 1 == suite->conditions && i < suite->formula_count; i++) {
        bool holds = false;
        if (suite_predict(&holds, suite, i, own->sums, err) ||
            add_prediction(own, i, work->item.columns[0].value, 1, holds, err))
            return -1;
    }
    size_t count = own->row_count;
    for (size_t i = 0; work->index + 1 == own->driver->items.count && i < suite->formula_count;
         i++) {
        size_t correct = 0;
        for (size_t row = i; row < count; row += suite->formula_count)
            correct += own->rows[row].correct;
        if (add_prediction(own, i, NULL, count / suite->formula_count, correct, err))
            return -1;
    }
    return 0;
}

static int add(void *state, struct work *work, struct err *err)
{
    struct state *own = state;
    struct driver *driver = own->driver;
    const struct scored_item *item = work->own;
    bool totals = totals_reason(own, driver->options);
    own->blank += !item->count;
    own->unscored += item->count && !work->pair.sentence.added_before;
    if (driver->is_batch)
        return 0;
    score_total_add(&own->all, &item->total);
    if (own->by_model && !totals)
        return score_models_add(&own->models, driver->setting, work->index, &work->report,
                                &driver->session.arena, err)
                   ? model_blame(driver->current.model.name, err)
                   : 0;
    if (own->by_model || !totals)
        return 0;
    return own->sums  ? add_condition(own, work, err)
           : own->per ? add_to_rows(own, work, err)
                      : add_text(own, work, err);
}

static void note_fables(const struct driver *driver, const struct score_total *all)
{
    double perplexity = score_perplexity(all);
    if (perplexity > FABLES_PERPLEXITY && model_is_of_fables(&driver->session.viewer.model))
        print_note("'%s' was trained only on short fables, which these texts do not resemble "
                   "(perplexity %.0f): the scores mean little",
                   bundled_default, perplexity);
}

/* Rows without numbers never come without a note. */
static void note_missing(const struct state *own)
{
    const struct driver *driver = own->driver;
    const struct input_options *input = &driver->options->input;
    const char *model = driver->session.viewer.model.name;
    const char *first = own->view.words ? "word" : "token";
    size_t count = own->unscored;
    if (own->blank && driver->setting == 0)
        print_note("%zu blank text%s no score", own->blank, own->blank == 1 ? " has" : "s have");
    if (!count || !driver->begins_texts || driver->options->score.total)
        return;
    if (input->special || input->ids)
        print_note("the first %s of %zu text%s is not scored: no token precedes it", first, count,
                   num_plural(count));
    else
        print_note("the first %s of %zu text%s is not scored: '%s' has no beginning-of-text token",
                   first, count, num_plural(count), model);
}

static int write_totals(struct state *own, struct err *err)
{
    struct driver *driver = own->driver;
    struct arena *arena = &driver->session.arena;
    static const char *const item[] = {"item"};
    struct report report;
    struct score_totals totals = {.items = own->rows,
                                  .count = own->row_count,
                                  .kind = own->pairs ? TOTALS_OF_PAIRS : TOTALS_OF_TEXTS,
                                  .texts = driver->items.count,
                                  .shows_columns = true};
    if (own->sums) {
        totals.kind = TOTALS_OF_PREDICTIONS;
        totals.rows = "prediction";
        totals.names = item;
        totals.name_count = 1;
    } else if (own->per) {
        totals.rows = own->per[own->per_count - 1];
        totals.names = own->per;
        totals.name_count = own->per_count - 1;
    } else if (own->by_model) {
        totals.rows = "model";
    } else {
        totals.rows = own->pairs ? "good" : "text";
        totals.is_numbered = true;
        totals.shows_columns = false;
        totals.names = driver->items.names;
        totals.name_count = driver->items.name_count;
    }
    if (own->view.words ? word_means_report(&report, &own->means, &own->view, &totals, arena, err)
                        : score_totals_report(&report, &own->view, &totals, arena, err))
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
    bool totals = totals_reason(own, driver->options);
    bool on_page =
        format_is(driver->output.format, "text") && !driver->output.to_folder && !own->continues;
    note_missing(own);
    if (driver->is_batch)
        return 0;
    note_fables(driver, &own->all);
    own->all.label = (struct label){"all", "all", "all"};
    own->all.bad = (struct label){"", "", ""};
    if (own->by_model)
        own->all.label = own->models.labels[driver->setting];
    if (!own->sums && !(own->view.words && own->per) && (own->by_model || (totals && count > 1)))
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

static const struct task score_task = {
    .fields = 1 << ITEM_CONTINUE | 1 << ITEM_GOOD | 1 << ITEM_BAD | ITEMS_KEEP_BLANK,
    .many = ITEMS_SOME,
    .takes_source = true,
    .pages = "attn-cli page",
    .parts = "tokens",
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
