/* score.c: `attn-cli score`: prints log-probabilities of the tokens of texts, or of
 * continuations. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "classes.h"
#include "command.h"
#include "driver.h"
#include "say.h"
#include "stimuli.h"
#include "text/aligned_text.h"

static const struct option_row own_options[] = {
    FLAG(
        "words", 0, IN(select.words),
        "words instead of tokens; split at white space; Chinese: tokens or characters; surprisals "
        "are summed; a word includes the punctuation at its end; as with --total, --per and pairs, "
        "but not with --continue, a beginning token is before each text (--special none omits it)",
        .heading = "Scoring"),
    FLAG("bits", 0, IN(select.bits), "bits instead of nats; for surprisal and entropy"),
    STRINGS("continue", 0, "TEXT", IN(score.continuations),
            "score this continuation; such as ' are', or @NAME, a column of a table; repeatable; "
            "the others are compared with the first; a table's column 'continue' replaces the "
            "option; no beginning token is before the text (--special bos adds it); in masked "
            "models, it replaces [MASK]"),
    STRING("query", 0, "LIST", IN(select.query),
           "print only these tokens or words; 0,3-5, -1, or @NAME, a column of the table (indices "
           "or words), a region, or a word of the text; with --words: words",
           .former = "at"),
    STRING("per", 0, "COLUMN", IN(score.per),
           "mean for each condition; sums and means per token for each value of a column or "
           "several: condition,region (| separates regions in a text, a column 'regions' names "
           "them); with --words: the mean surprisal of each word, with -o DIR/ words, totals and a "
           "figure; of minimal pairs (columns good and bad): accuracy. Other columns are left out: "
           "name the columns that are needed",
           .flags = OPTION_FIXED, .heading = "Tables"),
    FLAG("total", 0, IN(score.total),
         "one number for each text; log-probability, surprisal and perplexity; text output adds "
         "the total of all texts"),
    STRING(
        "group", 0, "COLUMN", IN(score.group),
        "difference to the first text with the same value; in this column; the total of each text "
        "or continuation (with --query: of these tokens), and its difference in log-probability; "
        "outside a batch, --total of a table with a column 'item' has it without this option",
        .flags = OPTION_FIXED),
    STRING("mean", 0, "texts", IN(select.mean), "average over texts, by position or continuation",
           .flags = OPTION_FIXED),
    STRING("unigrams", 0, "FILE", IN(score.unigrams),
           "with --total: add SLOR, by counts of words; logprob minus the log-probability of the "
           "words by themselves, "
           "per word; FILE has lines of a word, a tab and its count",
           .flags = OPTION_FIXED),
    INTEGER("next", 0, "N", IN(score.next), 1, 1000,
            "the N likeliest tokens after the text, no scores; a beginning token is before the "
            "text only with --words, regions or --special bos",
            .heading = "Next tokens and masks"),
    INTEGER("top", 0, "N", IN(score.best), 0, 1000,
            "N likeliest tokens at each position (default: 3); in text, JSON, CSV with -o DIR/; "
            "with --words, at the first token of each word; or for each [MASK]",
            .preset = 3),
    FLAG("within-word", 0, IN(score.within_word),
         "masked models: also mask later tokens of the word; (Kauf and Ivanova, 2023)"),
    FLAG("begin-word", 0, IN(score.begin_word),
         "count the end of a word as part of that word; not of the next word; its end is a token "
         "with a leading space (Pimentel and Meister, 2024)"),
    INTEGER("window", 0, "N", IN(score.window), 2, 100000000,
            "tokens of a window; default: the model's context; without --stride, windows advance "
            "by half of it",
            .heading = "Long texts"),
    INTEGER("stride", 0, "N", IN(score.stride), 1, 100000000,
            "tokens that the window advances by; for long texts; each token then has at least the "
            "context minus N tokens before it (half the context doubles the time)"),
    FLAG("classes", 0, IN(score.classes),
         "probability of each class; models with a head of classes, such as "
         "BertForSequenceClassification: also the logit of each class; token classification: each "
         "token's best class; question answering: the likeliest first and last token of the answer",
         .heading = "Classifiers"),
    {0},
};

static const struct task score_task;
static const char figure_name[] = "surprisal.svg";

static const struct task *choose_task(const struct options *options)
{
    return options->score.classes ? &classes_task : &score_task;
}

const struct command command_score = {
    .name = "score",
    .heading = "Text",
    .about = "surprisal and probability of each token or word",
    .operands = "[TEXT]...",
    .most_used = "-m smollm2.gguf\n"
                 "-f stimuli.csv\n"
                 "--words\n"
                 "--bits\n"
                 "--continue \" are\"\n"
                 "--query @verb\tprint only these tokens or words\n"
                 "--per condition\n"
                 "--total\n"
                 "-o words.csv\n",
    .note = "Text before the first word: with --words, --total and --per a beginning token is\n"
            "added, with --continue and --next none is. --special bos or none changes this.",
    .examples =
        "attn-cli score \"The keys to the cabinet are green.\" --words --bits\n"
        "attn-cli score \"The keys to the cabinet\" --continue \" are\" --continue \" is\"\n"
        "attn-cli score -f stimuli.csv --words --bits --per condition -o results/\n"
        "attn-cli score -m cloze \"The keys to the cabinet [MASK] old.\" --top 5\n"
        "attn-cli score \"Life is short, eat dessert first\"\n"
        "attn-cli score \"Life is short\" --bits --words --format csv\n"
        "attn-cli score -f stimuli.csv --words --bits -o words.csv\n"
        "attn-cli score -f stimuli.csv --words --bits --query @verb -o verbs.csv\n"
        "attn-cli score -f stimuli.csv --query @verb --group item\n"
        "attn-cli score -f candidates.csv --continue @candidate --group item\n"
        "attn-cli score -f pairs.csv --per phenomenon\n"
        "attn-cli score -m roberta-large-mnli --classes \"It rains\" --pair \"It is wet\"\n"
        "attn-cli score -m bert-base-uncased \"The capital of France is [MASK].\" --top 5\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli score --total\n"
        "attn-cli score \"Life is short, eat dessert first\" -o surprisal.svg\n",
    .task = &score_task,
    .choose = choose_task,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, output_options,
               terminal_options, figure_options},
    .without = "range verbose",
    .draws = true,
};

enum {
    /* if the perplexity of the model of fables is higher, a note is printed: whole fables have less
     * than 40, parts of fables up to 200 */
    FABLES_PERPLEXITY = 300,
};

/* Requests made by the options and the input, as bits. In messages, a result has the name of the
 * lowest bit that is set and that has a name in asked_names. */
enum {
    PAIRS = 1 << 0,
    PER = 1 << 1,
    GROUP = 1 << 2,
    TOTAL = 1 << 3,
    SUITE = 1 << 4,
    WORDS = 1 << 5,
    CONTINUE = 1 << 6,
    MEAN = 1 << 7,
    MODELS = 1 << 8, /* several models, compared in one table */
    QUERY = 1 << 9,
    UNIGRAMS = 1 << 10,
};

static const char *const asked_names[] = {"a table of minimal pairs",
                                          "--per",
                                          "--group",
                                          "--total",
                                          "a suite",
                                          "--words",
                                          "--continue",
                                          "--mean",
                                          "several models"};

/* A kind of result. Some kinds are one table of the totals of all texts, with a row for each text
 * or for each value of some columns. In the others, each text has a result of its own: its tokens,
 * words or continuations. */
struct kind {
    unsigned needs; /* bits that must all be set in `asked`; the first such kind is chosen */
    unsigned takes; /* which of MEAN, QUERY and UNIGRAMS the kind accepts */
    enum { EACH_ALONE, ROW_FOR_EACH, ROW_FOR_VALUES } table;
    enum totals_kind totals;
    const char *label; /* name of the column that contains what is scored: text, continuation or
                        * good */
    const char *row;   /* name of a row in a table that has a column for each model or value */
    /* columns that replace --per; or, if the input has this column, the default of --group; NULL:
     * no such columns */
    const char *column;
};

static const struct kind kinds[] = {
    {PAIRS | PER, 0, ROW_FOR_VALUES, TOTALS_OF_PAIRS, "good", NULL, NULL},
    {PAIRS | WORDS, 0, EACH_ALONE, TOTALS_OF_PAIRS, "good", NULL, NULL},
    {PAIRS, 0, ROW_FOR_EACH, TOTALS_OF_PAIRS, "good", NULL, NULL},
    {PER | WORDS, 0, ROW_FOR_VALUES, TOTALS_OF_GROUPS, "text", "word", NULL},
    {PER, 0, ROW_FOR_VALUES, TOTALS_OF_GROUPS, "text", NULL, NULL},
    {SUITE, 0, ROW_FOR_VALUES, TOTALS_OF_GROUPS, "text", NULL, "item,condition,region"},
    {GROUP | CONTINUE, 0, ROW_FOR_EACH, TOTALS_OF_CONTINUATIONS, "continuation", NULL, NULL},
    {GROUP, QUERY | UNIGRAMS, ROW_FOR_EACH, TOTALS_OF_TEXTS, "text", NULL, NULL},
    {TOTAL, UNIGRAMS, ROW_FOR_EACH, TOTALS_OF_TEXTS, "text", NULL, "item"},
    {WORDS | CONTINUE, MEAN, EACH_ALONE, TOTALS_OF_CONTINUATIONS, "continuation", "word", NULL},
    {CONTINUE, MEAN, EACH_ALONE, TOTALS_OF_CONTINUATIONS, "continuation", "continuation", NULL},
    {WORDS, MEAN | QUERY, EACH_ALONE, TOTALS_OF_TEXTS, "text", "word", NULL},
    {0, MEAN | QUERY, EACH_ALONE, TOTALS_OF_TEXTS, "text", "token", NULL},
};

struct score_state {
    struct driver *driver;
    /* kind of the open setting's results; the next three members also belong to the open setting */
    const struct kind *kind;
    unsigned asked;
    struct scoring scoring;
    struct score_view view;
    bool asks;          /* true after the first text was read, which sets `view.fills` */
    size_t unscored;    /* number of texts whose first token has no score */
    size_t blank;       /* number of blank texts */
    size_t first_blank; /* index of the first blank text */
    size_t unknown;     /* number of texts with words that are not in the vocabulary */
    size_t ties;        /* number of pairs whose two texts have the same log-probability */

    /* true if each text of a batch has its own result; of the members below, only `unigrams` is
     * then used */
    bool by_text;
    struct score_total all;    /* sum over the texts of the open model */
    struct score_totals table; /* rows of totals over all texts; with `title`, over all models */
    /* name of a row's key that is not copied from a column of the input; NULL: all are copied */
    const char *other;
    const char **keys;          /* [table.key_count] keys of the row to add */
    struct score_totals *words; /* [texts] tables with a column for each model, or one table with a
                                 * column for each row of `table`; NULL: none */
    /* title of one table of all models, "2 models"; NULL: each model has its own result */
    const char *title;
    struct unigrams unigrams; /* frequencies of words from --unigrams; empty without it */
    /* column of --group, or `item`; NULL: texts are not compared within groups */
    const char *group;
    /* a row for each value of `group`; its `logprob` belongs to the first text of the group */
    struct score_totals groups;
    bool compares;      /* some group contains several texts */
    const char *folder; /* folder for words.csv, totals.csv and the figure; NULL: a single output */
};

/* The texts to score for an item: its own text, the text with each continuation, or a minimal
 * pair. */
struct scored_item {
    /* the text; for a pair, `pairs` contains the good text, then the bad text */
    struct score_text text;
    size_t count;             /* number of texts; 0: the item is blank */
    struct score_total total; /* total of the item's own text, or of the pair */
    const char *names[2];     /* names of the columns of texts and of what is scored */
    struct score_totals rows; /* contains `total`, or a row for each continuation or region */
};

/* --- options ---------------------------------------------------------------------------------- */

/* The name in messages of the first bit that is set in `asked`; NULL: a result with a row for each
 * token of a text. */
static const char *name_of(unsigned asked)
{
    for (size_t i = 0; i < sizeof asked_names / sizeof *asked_names; i++)
        if (asked >> i & 1)
            return asked_names[i];
    return NULL;
}

/* Choose the kind of result. Refused: --mean and --words if the kind does not support them, except
 * in settings of a batch with a result for each text. */
static int choose_kind(struct score_state *own, const struct options *options, struct err *err)
{
    const struct driver *driver = own->driver;
    const struct score_options *score = &options->score;
    bool pairs = driver->items.found >> ITEM_GOOD & 1, words = options->select.words;
    bool continues = driver->items.found >> ITEM_CONTINUE & !pairs;
    bool is_suite = driver->items.formulas.count && !driver->is_batch && !words;
    own->asked = (pairs ? PAIRS : 0) | (score->per ? PER : 0) | (score->group ? GROUP : 0) |
                 (score->total ? TOTAL : 0) | (is_suite ? SUITE : 0) | (words ? WORDS : 0) |
                 (continues || score->continuations.count ? CONTINUE : 0) |
                 (driver->derivation.mean_of_texts ? MEAN : 0) | (own->title ? MODELS : 0);
    for (own->kind = kinds; own->kind->needs & ~own->asked;)
        own->kind++;
    if (!own->by_text && own->asked & MEAN & ~own->kind->takes)
        return err_usage(err,
                         "--mean does not apply to %s, which reports totals: --per COLUMN has "
                         "means per token",
                         name_of(own->asked));
    if (!own->by_text && own->asked & WORDS & ~own->kind->needs)
        return err_usage(err, "--words does not apply to %s, which reports totals",
                         name_of(own->asked));
    if (own->title && pairs && words)
        return err_usage(err, "--words of pairs and several models: expected --format csv or json");
    return 0;
}

/* Choose the keys of a row of totals: the columns of --per; or, for single texts and pairs, all
 * columns of the input, and the text; with `title`, also the model. The last key is the label of
 * the row. Also choose the column of groups whose texts are compared. */
static int prepare_table(struct score_state *own, struct err *err)
{
    const struct kind *kind = own->kind;
    const struct items *items = &own->driver->items;
    const struct options *options = own->driver->options;
    struct names columns = {items->names.items, items->names.count, sizeof *items->names.items};
    struct arena *arena = &own->driver->kept;
    bool by_values = kind->table == ROW_FOR_VALUES, single = !by_values && !own->title;
    struct texts every = {0}, chosen = {0}, *keys = by_values ? &chosen : &every;
    const char *group = options->score.group, *other = own->title ? "model" : kind->label;
    const char *per = !by_values ? NULL : kind->column ? kind->column : options->score.per;
    size_t index = 0,
           regions = items->by.count ? items->records : items->parts.count * items->count;
    size_t most = items->survey.marks + regions + items->count + own->driver->sweep.models.count;
    own->table = (struct score_totals){.kind = kind->totals,
                                       .are_single = single,
                                       .has_unigrams = own->unigrams.count > 0,
                                       .query = options->select.query,
                                       .most = single || (by_values && kind->column) ? 0 : most,
                                       .texts = items->count};
    if (group && !(single && kind->needs & GROUP))
        return err_usage(err, "--group: expected totals of texts of one model, found %s",
                         by_values    ? "--per"
                         : own->title ? own->title
                                      : "pairs");
    if (group && column_choose(&index, columns, "--group", group, strlen(group), err))
        return -1;
    const char *id = options->input.id_column;
    const char *item = kind->column && id ? id : kind->column;
    if (single && (group || (item && names_find(&index, columns, item, strlen(item)))))
        own->group = names_at(columns, index);
    for (size_t i = 0; !own->title && i < items->names.count; i++)
        texts_add(&every, items->names.items[i], arena, err);
    if (by_values)
        other =
            items_have_regions(items) && !names_find(&index, columns, "region", strlen("region"))
                ? "region"
                : NULL;
    else if (single && items->text_name && kind->needs & CONTINUE)
        texts_add(&every, items->text_name, arena, err);
    else if (single && items->text_name)
        other = items->text_name;
    if (other)
        texts_add(&every, other, arena, err);
    own->other = by_values ? NULL : other;
    columns = (struct names){every.items, every.count, sizeof *every.items};
    struct texts named = {0};
    if (per && column_names_read(&named, "--per", per, arena, err))
        return -1;
    for (size_t i = 0; i < named.count && !err->kind; i++) {
        const char *name = named.items[i];
        if (column_choose(&index, columns, "--per", name, strlen(name), err))
            return -1;
        texts_add(&chosen, names_at(columns, index), arena, err);
        own->other = names_at(columns, index) == other ? other : own->other;
    }
    own->table.names = keys->items;
    own->table.key_count = keys->count;
    own->keys = arena_alloc(arena, keys->count, sizeof *own->keys, err);
    return by_values && own->other && own->asked & WORDS
               ? err_usage(err, "--per region and --words cannot be combined: without --words, "
                                "each region has a row")
               : err_if(err->kind);
}

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct score_state *own = state;
    const struct options *options = driver->options;
    const char *path = options->score.unigrams;
    struct output *output = &driver->output;
    struct arena *kept = &driver->kept;
    size_t models = driver->sweep.settings; /* number of models; in a batch, number of settings */
    own->driver = driver;
    if (options_exclude(options, "next", "at top begin-word bits", err) ||
        options_exclude(options, "unigrams", "query", err) || choose_kind(own, options, err))
        return -1;
    const struct kind *kind = own->kind;
    bool each = kind->table == EACH_ALONE, words = own->asked & WORDS;
    bool continues = (own->asked & (CONTINUE | PAIRS)) == CONTINUE;
    driver->columns = options->score.next ? "sentence rank id text probability logprob"
                      : !each || (continues && !words)
                          ? "sentence text logprob_nats tokens perplexity bad pairs accuracy"
                      : items_have_regions(&driver->items)
                          ? "sentence position id text region logprob_nats rank subwords start end"
                          : "sentence position id text logprob_nats rank subwords start end";
    if (path) {
        struct file file = {0};
        if (!(kind->takes & UNIGRAMS) || own->asked & CONTINUE)
            return err_usage(err, "--unigrams: expected --total of texts");
        if (input_file_open(&file, path, err))
            return -1;
        const char *bytes = arena_text(kept, file.bytes, file.size, err);
        int failed = !bytes || unigrams_read(&own->unigrams, bytes, file.size, kept, err);
        file_release(&file);
        if (failed)
            return err_prefix(err, "'%s'", shown_path(path));
    }
    own->by_text = driver->is_batch && !options->score.per && !options->score.group;
    const char *to = options->output.format; /* format of the tables */
    bool to_tables = words && !each && output->to_folder && (!to || strcmp(to, "excel") == 0);
    driver->rows_have_columns = driver->items.by.count && words && (each || to_tables);
    if (own->by_text)
        return 0;
    if (to_tables && !driver->is_batch) {
        own->folder = arena_path(kept, output->path, err);
        output->path = arena_format(kept, err, "%s/words.csv", own->folder);
        output->to_folder = false;
        if (!own->folder || !output->path ||
            target_folder_open(&output->folder, own->folder, output->replaces, err))
            return -1;
    }
    if (each && driver->items.names.count && driver->identity.count > 1 &&
        output->format->single_text && !output->to_folder)
        return err_usage(err,
                         "--format %s: one file holds one result, found %zu: add %s--per COLUMN "
                         "for one figure, or use a folder (-o DIR/)",
                         output->format->name, driver->items.count, words ? "" : "--words ");
    bool is_one = own->asked & MEAN || (!each && !own->folder);
    driver->identity.texts = is_one ? 1 : driver->items.count;
    driver->identity.count = driver->identity.texts * models;
    driver->accumulates |= driver->is_batch;
    const char *long_formats =
        !each && driver->items.count > 1 ? "text csv json jsonl tidy" : "csv json jsonl tidy";
    if (models > 1 && !driver->is_batch && kind->table != ROW_FOR_VALUES && !(own->asked & MEAN) &&
        !format_is(output->format, long_formats)) {
        own->title = arena_format(kept, err, "%zu models", models);
        driver->identity.count = driver->identity.texts;
    }
    return prepare_table(own, err);
}

/* Choose how texts begin: for totals, words and regions, with the beginning token; for tables of
 * tokens and continuations, as they are, with a note if they lack it. */
static enum beginning beginning(void *state, const struct driver *driver)
{
    struct score_state *own = state;
    struct err ignored = {0}; /* `open` chooses the kind again, and fails with this error */
    if (choose_kind(own, &driver->current, &ignored))
        return BEGINNING_OF_TOKENIZER;
    const bool continues = (own->asked & (CONTINUE | PAIRS)) == CONTINUE;
    const enum beginning of_texts = session_beginning(&driver->items, !continues);
    return of_texts                                      ? of_texts
           : continues || own->kind->table == EACH_ALONE ? BEGINNING_NOTED
                                                         : BEGINNING_ADDED;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct score_state *own = state;
    struct viewer *viewer = &driver->session.viewer;
    const struct options *options = driver->session.options;
    const struct score_options *score = &options->score;
    const struct format *format = driver->output.format;
    bool for_people = format->for_people;
    bool words = options->select.words;
    const char *of_words = words ? "--words" : score->begin_word ? "--begin-word" : NULL;
    if (choose_kind(own, options, err))
        return -1;
    /* The option or input that replaces the table of tokens, such as "--words" or "a suite"; NULL:
     * nothing replaces it. */
    const char *instead = name_of(own->asked);
    own->view = (struct score_view){.viewer = viewer,
                                    .bits = options->select.bits,
                                    .words = words,
                                    .for_people = for_people,
                                    .next = score->next > 0,
                                    .fills = own->view.fills, /* the first text sets `fills` */
                                    .has_regions = items_have_regions(&driver->items),
                                    .of_rows = driver->items.by.count && own->asked & WORDS,
                                    .of_pairs = driver->identity.of_pairs};
    own->scoring =
        (struct scoring){.viewer = viewer,
                         .fill_count = (size_t)(score->next ? score->next : score->best),
                         .within_word = score->within_word,
                         .next = score->next > 0,
                         .stride = (size_t)(score->stride ? score->stride : score->window / 2)};
    bool is_column = driver->items.found >> ITEM_CONTINUE & 1;
    if (own->asked & CONTINUE & ~own->kind->needs)
        return err_usage(err, "%s; %s does not apply%s",
                         is_column ? "column 'continue' reports totals"
                                   : "--continue reports totals",
                         instead, is_column ? ": rename the column to copy it" : "");
    if (score->next && instead)
        return err_usage(err, "--next and %s cannot be combined", instead);
    size_t context = viewer->model.config.n_positions, window = (size_t)score->window;
    if (own->scoring.stride && options->input.any_length)
        return err_usage(err, "--%s and --long cannot be combined", window ? "window" : "stride");
    if (context && window > context)
        return err_usage(err, "--window: expected at most the %zu tokens of the context, found %zu",
                         context, window);
    if (of_words && !viewer->tokenizer)
        return err_usage(err, "%s: expected a tokenizer, found a model that takes only ids",
                         of_words);
    if (viewer_report(&own->view.origin, viewer, &driver->session.arena, err))
        return -1;
    if (!name_of(own->asked & ~WORDS) && (!words || options_are_given(options, "top")) &&
        (for_people || format_is(format, "json jsonl") ||
         (format->has_tables && options_are_given(options, "top") &&
          (driver->output.to_folder || format_is(format, "csv")))))
        own->scoring.best_count = (size_t)score->best;
    own->view.lists =
        own->scoring.best_count && format_is(format, "csv") && !driver->output.to_folder;
    own->view.ends = own->scoring.ends = words && viewer->mask < 0 && !for_people && !score->next;
    viewer->reads_any_length = own->scoring.stride > 0;
    own->scoring.context = window ? window : own->scoring.stride ? context : 0;
    if (score->begin_word &&
        !(own->scoring.begins = word_starts(viewer->tokenizer, viewer->model.config.vocab_size,
                                            &driver->session.arena, err)))
        return err_prefix(err, "--begin-word");
    return scoring_check(&own->scoring, err);
}

/* Tell the viewer how many tokens all passes will process in total; for a masked model, which runs
 * a text once per token, this is an upper bound. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    struct viewer *viewer = &driver->session.viewer;
    (void)state;
    viewer_expect(viewer, EXPECT_TOKENS,
                  viewer->mask < 0 ? tokens : tokens * driver->survey.longest);
    viewer_expect(viewer, EXPECT_STEPS, tokens);
}

/* --- continuations: each continuation is joined to the text. In a masked model, a text may have a
 * mask token, which the continuation then replaces.
 *
 *     the keys to the cabinet [MASK] old.   are → the keys to the cabinet are old. */

/* The gap in a text where a continuation is inserted. */
struct gap {
    size_t start, end;    /* range of bytes that the continuation replaces */
    size_t before, after; /* numbers of tokens before and after the gap, which do not change */
};

/* Find the gap: the mask token, without blanks that belong to this token; or the end of the
 * text. */
static int find_gap(struct gap *gap, const struct tokenized *text, const struct viewer *viewer,
                    struct err *err)
{
    size_t masks = 0;
    *gap = (struct gap){text->size, text->size, text->count - text->added_after, 0};
    for (size_t i = 0; i < text->count; i++)
        if ((long long)text->ids[i] == viewer->mask && !tokenized_is_added(text, i) && !masks++)
            *gap = (struct gap){text->tokens[i].start, text->tokens[i].end, i, text->count - i - 1};
    while (masks && gap->start < gap->end && isspace((unsigned char)text->raw[gap->start]))
        gap->start++;
    while (masks && gap->start < gap->end && isspace((unsigned char)text->raw[gap->end - 1]))
        gap->end--;
    return masks > 1 ? err_usage(err,
                                 "--continue: expected one mask token, found %zu: a continuation "
                                 "of several tokens replaces one",
                                 masks)
                     : 0;
}

/* Refuse a joined text, `read`, if it adds no tokens, or changes tokens of `text` outside the
 * gap. */
static int check_joined(const struct tokenized *read, const struct tokenized *text,
                        const struct gap *gap, const char *more, struct err *err)
{
    size_t same = 0, end = 0;
    while (same < gap->before && same < read->count && text->ids[same] == read->ids[same])
        same++;
    while (end < gap->after && end < read->count &&
           text->ids[text->count - end - 1] == read->ids[read->count - end - 1])
        end++;
    if (same < gap->before)
        return err_usage(err,
                         "--continue '%s': expected the text's %zu tokens unchanged, found another "
                         "one at %zu: begin the continuation at a token boundary, for example with "
                         "a space",
                         more, gap->before, same);
    if (end < gap->after)
        return err_usage(err,
                         "--continue '%s': expected the text's %zu tokens after the mask token "
                         "unchanged, found others: end the continuation at a token boundary",
                         more, gap->after);
    if (read->count <= gap->before + (gap->after ? gap->after : read->added_after))
        return err_usage(err, "--continue '%s': expected at least one token, found none", more);
    return 0;
}

/* Tokenize the text with each continuation inserted, into pairs [continuations->count]. Returns
 * where the tokens of each continuation are; NULL with `err`. Refused: a text with several mask
 * tokens; a continuation without tokens, with a mask token, or that changes tokens of the text. */
static const struct score_region *tokenize_continuations(struct text_with_source *pairs,
                                                         const struct text_with_source *pair,
                                                         const struct texts *continuations,
                                                         const struct viewer *viewer,
                                                         struct arena *arena, struct err *err)
{
    const struct tokenized *text = &pair->text;
    struct score_region *parts = arena_alloc(arena, continuations->count, sizeof *parts, err);
    struct gap gap;
    if (!parts || find_gap(&gap, text, viewer, err))
        return NULL;
    for (size_t i = 0; i < continuations->count; i++) {
        struct tokenized *read = &pairs[i].text;
        const char *more = continuations->items[i];
        struct buf joined = {0};
        const char *rest = more;
        bool is_apart = !gap.start || isspace((unsigned char)text->raw[gap.start - 1]);
        /* a continuation that replaces a mask loses its leading spaces if the mask follows white
         * space or begins the text */
        while (gap.end < text->size && is_apart && *rest == ' ')
            rest++;
        buf_bytes(&joined, text->raw, gap.start);
        buf_text(&joined, rest);
        buf_bytes(&joined, text->raw + gap.end, text->size - gap.end);
        struct input whole = {.size = joined.size};
        whole.text = buf_keep(&joined, arena, err);
        if (!whole.text || viewer_read(viewer, &pairs[i], &whole, NULL, arena, err) ||
            check_joined(read, text, &gap, more, err))
            return NULL;
        if (text_has_mask(read, viewer)) {
            err_usage(err, "--continue '%s': expected no mask token, found one", more);
            return NULL;
        }
        size_t count = read->count - gap.before - gap.after;
        if (gap.after)
            pairs[i].scored = (struct word_span){gap.before, count};
        pairs[i].source = pair->source;
        pairs[i].prompt_count = gap.after ? 0 : gap.before;
        parts[i] = (struct score_region){
            .name = more, .number = COLUMN_MISSING, .first = gap.before, .count = count};
    }
    return parts;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Find the words of a text; special tokens before and after the text are not words. */
static int find_words(struct tokenized *text, const struct viewer *viewer, struct arena *arena,
                      struct err *err)
{
    if (word_spans_find(text, viewer->tokenizer, arena, err))
        return -1;
    size_t first = text->words_before, end = text->word_count;
    const struct word_span *words = text->words;
    while (!text->given_count && end > first &&
           words[end - 1].first >= text->count - text->added_after)
        end--;
    end -= text->given_count ? text->added_after : 0;
    text->words += first;
    text->word_labels += first;
    text->word_count = end - first;
    text->words_before = 0;
    return 0;
}

/* Check the mask tokens of a text. A text with masks has no scores: its rows are likely tokens, and
 * --query must select a mask token. In one table, either all texts have masks or none has. */
static int check_masks(struct score_state *own, const struct tokenized *sentence,
                       const struct score_text *text, struct err *err)
{
    const struct viewer *viewer = own->scoring.viewer;
    bool fills = own->view.next || (!text->continues && text_has_mask(sentence, viewer));
    const char *other = name_of(own->asked);
    bool shows = !fills || other || !text->at;
    for (size_t i = 0; i < text->at_count && !shows; i++)
        shows = sentence->ids[text->at[i]] == viewer->mask;
    if (!shows)
        return err_usage(err,
                         "--query: expected a mask token, found others: only these have rows in "
                         "a text with mask tokens");
    own->view.fills = own->asks ? own->view.fills : fills;
    own->asks = true;
    if (fills && other)
        return err_usage(err,
                         "expected a text to score with %s, found a mask token, which only "
                         "'score TEXT --top N' fills in",
                         other);
    return fills == own->view.fills
               ? 0
               : err_set(err, "expected a text %s like the first, found one %s",
                         fills ? "without a mask token" : "with a mask token",
                         fills ? "with one" : "without");
}

/* Add a note about a region whose tokens all belong to words that begin before it: a word belongs
 * to the region of its first token. */
static void note_regions(struct driver *driver, const struct job *job,
                         const struct score_text *text)
{
    const struct tokenized *sentence = &text->pairs[0].text;
    for (const struct score_region *r = text->parts; r < text->parts + text->part_count; r++) {
        bool has_word = r->count == 0;
        for (size_t i = 0; i < sentence->word_count && !has_word; i++)
            has_word = sentence->words[i].first - r->first < r->count;
        if (!has_word)
            notes_add(&driver->notes, job->index,
                      "region '%s' has no row: its word begins in the region before it (without "
                      "--words, it has)",
                      r->name);
    }
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct score_state *task = state;
    const struct viewer *viewer = &driver->session.viewer;
    const struct item *item = &job->item;
    const struct texts *continuations = &item->options.score.continuations;
    const char *bad = item->fields[ITEM_BAD];
    struct tokenized *sentence = &job->pair.text;
    const struct kind *kind = task->kind;
    const char *label = bad ? "good" : continuations->count ? "continuation" : "text";
    struct scored_item *own = job->own = arena_alloc(arena, 1, sizeof *own, err);
    if (!own)
        return -1;
    struct score_text *text = &own->text;
    own->count = item->is_blank ? 0 : bad ? 2 : num_max(continuations->count, 1);
    text->continues = kind->needs & CONTINUE;
    text->pairs = arena_alloc(arena, own->count + 1, sizeof *text->pairs, err);
    if (!text->pairs || item->is_blank)
        return text->pairs ? 0 : -1;
    if (continuations->count && !sentence->raw)
        return err_usage(err, "--continue: expected a text, found ids");
    if (continuations->count && sentence->pair.bytes)
        return err_usage(err, "--continue: expected one text, found a pair");
    if (continuations->count && sentence->added_after && viewer->mask < 0)
        return err_usage(err, "--continue: expected no token after a text, found one that the "
                              "tokenizer adds: --special none or bos leaves it out");
    if (strcmp(label, kind->label) != 0)
        return err_set(err, "expected an item with '%s' like others, found one with '%s'",
                       kind->label, label);
    if (options_are_given(&item->options, "query") && !(kind->takes & QUERY))
        return err_usage(err,
                         "--query selects rows of tokens or words; %s does not apply: leave one of "
                         "them out (--per region has a row for each region)",
                         name_of(task->asked & ~WORDS));
    if ((task->view.words || task->unigrams.count) && viewer->tokenizer &&
        find_words(sentence, viewer, arena, err))
        return -1;
    const struct index_range rows = {"--query", "text", task->view.words ? "word" : "token",
                                     task->view.words ? sentence->word_count : sentence->count};
    if (selection_indices(&text->at, &text->at_count, sentence->queries, &rows, arena, err) ||
        check_masks(task, sentence, text, err))
        return -1;
    text->pairs[0] = job->pair;
    text->part_count = text->continues ? continuations->count : item->region_count;
    text->parts = text->continues ? tokenize_continuations(text->pairs, &job->pair, continuations,
                                                           viewer, arena, err)
                                  : regions_find(sentence, item, arena, err);
    if (task->view.words && !text->continues && text->parts)
        note_regions(driver, job, text);
    for (size_t i = 0; i < own->count && text->continues && !err->kind; i++) {
        const char *more = continuations->items[i];
        /* the continuation follows the text and does not replace a mask */
        if (text->pairs[i].prompt_count && lacks_space(sentence, more, viewer->tokenizer, arena))
            notes_add(&driver->notes, job->index, LACKS_SPACE_NOTE, "--continue", more, more);
        if (task->view.words)
            find_words(&text->pairs[i].text, viewer, arena, err);
    }
    if (bad &&
        !err->kind) { /* also read the bad text; options that name a position are resolved in it */
        struct item other = *item;
        other.regions = item->other_regions;
        other.input = input_of(bad, item->options.input.pair);
        if (session_read_item(&driver->session, &other, &text->pairs[1], arena, err))
            return err_prefix(err, "column 'bad'");
        text->bad_parts = regions_find(&text->pairs[1].text, &other, arena, err);
        if (task->view.words)
            find_words(&text->pairs[1].text, viewer, arena, err);
    }
    for (size_t i = 0; i < own->count && !err->kind; i++)
        scoring_add_memory(&job->memory, &task->scoring, &text->pairs[i]);
    return err_if(err->kind);
}

/* --- results ---------------------------------------------------------------------------------- */

/* The full text that a row shows: the text, `text │ pair`, or its ids. */
static const char *whole_text(const struct tokenized *text, struct arena *arena, struct err *err)
{
    struct buf whole = {0};
    if (!text->raw)
        tokenized_visible(&whole, text);
    else
        buf_bytes(&whole, text->raw, text->size);
    if (text->pair.bytes) {
        buf_text(&whole, " │ ");
        buf_bytes(&whole, text->pair.bytes, text->pair.size);
    }
    return buf_keep(&whole, arena, err);
}

/* Compare the log-probability of a good text, or of a region in it, with `bad`, the log-probability
 * of the bad text or region. */
static void compare_pair(struct score_total *total, double bad)
{
    bool ties = !(total->logprob < bad || total->logprob > bad);
    total->count = 1;
    total->bad_logprob = bad;
    total->correct = ties ? 0.5 : total->logprob > bad;
}

/* Make the report of an item. `total` is the sum over its text, or over the tokens or words of
 * --query. With --unigrams, it also has the log-probability of the words by their frequencies; for
 * a pair, it also has the log-probability of the bad text. `rows` contains this total, or a row for
 * each continuation or region; a region without tokens has a row only in a suite. */
static int report_item(const struct score_state *task, struct job *job, struct arena *arena,
                       struct err *err)
{
    struct scored_item *own = job->own;
    const struct score_text *text = &own->text;
    const struct kind *kind = task->kind;
    const struct tokenized *sentence = &text->pairs->text;
    struct score_total *total = &own->total;
    bool by_values = kind->table == ROW_FOR_VALUES, is_pair = job->item.fields[ITEM_BAD];
    bool by_row = by_values && job->item.region_count && job->item.regions->columns;
    bool by_part = text->continues || (by_values && task->other && text->parts) || by_row;
    bool has_column = job->item.text_count && format_is(task->driver->output.format, "csv");
    bool names_text = text->continues && !has_column && !task->driver->derivation.mean_of_texts;
    *total = score_total_of_rows(text, task->view.words);
    bool by_word = task->unigrams.count && sentence->raw;
    for (size_t i = 0; by_word && i < sentence->word_count; i++) {
        struct text_range range = word_range(sentence, i);
        const struct word_span *word = &sentence->words[i];
        if (!word->count || !text->scored->tokens[word->first].rank)
            continue;
        total->unigrams += unigrams_logprob(&task->unigrams, sentence->raw + range.start,
                                            range.end - range.start, &total->unknown);
        total->words++;
    }
    total->number = task->table.are_single ? (long long)job->item.number : COLUMN_MISSING;
    if (own->count && is_pair) {
        compare_pair(total, score_total_of(&text->scored[1], 0, text->scored[1].count).logprob);
        total->bad = whole_text(&text->pairs[1].text, arena, err);
    }

    own->names[0] = "text";
    own->names[1] = kind->label;
    const char *keys[2] = {whole_text(&job->pair.text, arena, err)};
    own->rows = (struct score_totals){.kind = kind->totals,
                                      .are_single = true,
                                      .names = &own->names[!names_text],
                                      .key_count = 1 + names_text,
                                      .hides_text = has_column && !text->continues && !is_pair,
                                      .has_unigrams = task->unigrams.count > 0,
                                      .pair = &job->pair};
    for (size_t i = 0; i < (by_part ? text->part_count : 1) && !err->kind; i++) {
        const struct score_region *part = by_part ? &text->parts[i] : NULL;
        struct score_total row = *total;
        if (part) {
            row = score_total_of(&text->scored[text->continues ? i : 0], part->first, part->count);
            row.number = text->continues ? total->number : part->number;
            const struct score_region *bad = is_pair ? &text->bad_parts[i] : NULL;
            if (bad)
                compare_pair(&row,
                             score_total_of(&text->scored[1], bad->first, bad->count).logprob);
        }
        keys[1] = part ? part->name : keys[0];
        row.keys = &keys[!names_text];
        row.part = i;
        if (!part || part->count || (by_values && kind->column))
            score_totals_add(&own->rows, &row, own->rows.count, arena, err);
    }
    if (err->kind)
        return -1;
    if (task->view.words && is_pair && own->count)
        return score_pair_report(&job->report, &task->view, text, arena, err);
    return !task->view.words && (text->continues || kind->table != EACH_ALONE)
               ? score_totals_report(&job->report, &task->view, &own->rows, arena, err)
               : score_report(&job->report, &task->view, &job->pair, text, arena, err);
}

/* Score the texts of all items in one pass or, if their edits have different positions, each text
 * alone. */
static int run(void *state, const struct group *group, struct err *err)
{
    const struct score_state *own = state;
    struct scoring scoring = own->scoring;
    struct capture_request asked = {.first = group->jobs[0]->number};
    for (size_t i = 0; i < group->count; i++)
        asked.count += ((const struct scored_item *)group->jobs[i]->own)->count;
    struct text_with_source *pairs = arena_alloc(group->arena, asked.count, sizeof *pairs, err);
    struct scored *scored = arena_alloc(group->arena, asked.count + 1, sizeof *scored, err);
    if (!pairs || !scored)
        return -1;
    for (size_t i = 0, at = 0; i < group->count; i++) {
        struct scored_item *item = group->jobs[i]->own;
        memcpy(&pairs[at], item->text.pairs, item->count * sizeof *pairs);
        item->text.scored = &scored[item->count ? at : asked.count];
        at += item->count;
    }
    asked.pairs = pairs;
    scoring.viewer = group->viewer;
    bool apart = own->driver->session.edits.by_text && !(own->kind->needs & CONTINUE);
    const size_t step = apart ? 1 : asked.count, end = asked.count;
    for (asked.count = step; asked.pairs < pairs + end; asked.pairs += step, asked.first += step) {
        if (apart) /* each text has its own edits */
            group->viewer->edits = asked.pairs->edits;
        if (scoring_run(&scored[asked.pairs - pairs], &scoring, &asked, group->arena, err))
            return -1;
    }
    for (size_t i = 0; i < group->count; i++)
        if (report_item(own, group->jobs[i], group->arena, err))
            return -1;
    return 0;
}

/* --- rows of totals --------------------------------------------------------------------------- */

/* Add the rows of an item to the table, each compared with the first text of its group. Add the
 * item's words to the column of their model or row. */
static int add_item(struct score_state *own, struct job *job, struct err *err)
{
    const struct scored_item *item = job->own;
    struct driver *driver = own->driver;
    struct score_totals *table = &own->table;
    bool single = table->are_single;
    size_t row = 0;
    for (size_t i = 0; i < item->rows.count; i++) {
        struct score_total total = item->rows.rows[i];
        struct item of_row = job->item;
        if (!single && of_row.region_count && of_row.regions->columns)
            of_row.columns = (struct identity_column *)of_row.regions[total.part].columns;
        const char *value = own->group ? item_column(&job->item, own->group) : NULL;
        const char *other = own->title ? driver->sweep.models.items[driver->setting]
                            : single || job->item.region_count
                                ? total.keys[item->rows.key_count - 1]
                                : NULL;
        for (size_t k = 0; k < table->key_count; k++) {
            const char *name = table->names[k];
            const char *key = name == own->other ? other : item_column(&of_row, name);
            own->keys[k] = key || single ? key : "";
        }
        total.keys = own->keys;
        if (own->group)
            total.bad_logprob = (double)NAN;
        if (value && *value) { /* an item without a value is in no group */
            const struct score_total group = {.keys = &value};
            size_t known = own->groups.count;
            size_t at = score_totals_add(&own->groups, &group, known, &driver->kept, err);
            if (!at)
                return -1;
            if (own->groups.count > known)
                own->groups.rows[at - 1].logprob = total.tokens ? total.logprob : (double)NAN;
            else
                own->compares = true;
            total.bad_logprob = own->groups.rows[at - 1].logprob;
        }
        row = score_totals_add(table, &total, table->count, &driver->kept, err);
        if (!row)
            return -1;
    }
    if (!own->words || (!own->title && !item->count))
        return 0;
    struct score_totals *words = &own->words[own->title ? job->index : 0];
    size_t line = own->title ? driver->setting : row - 1;
    return score_totals_add_words(words, line, &job->report, &driver->kept, err);
}

/* --- over all texts --------------------------------------------------------------------------- */

/* Begin a setting (sweep.h). Totals are written after all texts; with a column for each model,
 * results are written with the last model. */
static int begin(void *state, struct driver *driver, struct err *err)
{
    struct score_state *own = state;
    bool each = own->kind->table == EACH_ALONE;
    size_t count = own->title ? driver->items.count : 1;
    own->blank = own->unscored = own->unknown = own->ties = 0;
    if (own->by_text)
        return 0;
    own->all = (struct score_total){.number = COLUMN_MISSING};
    driver->accumulates = driver->derivation.mean_of_texts || (!each && !own->folder) ||
                          (own->title && driver->setting + 1 < driver->sweep.settings);
    if (own->title && driver->setting)
        return 0;
    own->table.count = own->table.first = 0;
    own->groups = (struct score_totals){.key_count = 1, .most = driver->items.count};
    own->compares = false;
    if (own->title ? !each : each || !own->view.words)
        return 0;
    own->words = arena_alloc(&driver->kept, count, sizeof *own->words, err);
    for (size_t i = 0; own->words && i < count; i++)
        own->words[i] = (struct score_totals){
            .kind = own->title ? TOTALS_OF_MODELS : TOTALS_OF_WORDS,
            .are_single = true,
            .names = &own->kind->row,
            .key_count = 1,
            .lines = {driver->sweep.models.items, driver->sweep.models.count, sizeof(char *)},
            .most = own->title ? 0 : driver->survey.tokens};
    return err_if(err->kind);
}

static int add(void *state, struct job *job, struct err *err)
{
    struct score_state *own = state;
    struct driver *driver = own->driver;
    struct report *report = &job->report;
    const struct scored_item *item = job->own;
    const struct tokenizer *tokenizer = driver->session.viewer.tokenizer;
    uint32_t unknown = 0;
    bool has_unknown = false;
    if (!item->count && !own->blank++)
        own->first_blank = job->index;
    own->unscored += item->count && !job->pair.text.added_before && driver->session.viewer.mask < 0;
    for (size_t i = 0; i < item->count && tokenizer && tokenizer_unknown(tokenizer, &unknown);
         i++) {
        const struct tokenized *text = &item->text.pairs[i].text;
        for (size_t k = text->added_before; k < text->count - text->added_after; k++)
            has_unknown |= text->ids[k] == unknown;
    }
    own->unknown += has_unknown;
    own->ties += item->total.count && item->total.correct > 0 && item->total.correct < 1;
    if (driver->derivation.mean_of_texts)
        /* the perplexity of all texts is not the mean of single perplexities */
        report->facts = NULL;
    if (own->by_text)
        return 0;
    score_total_add(&own->all, &item->total);
    if ((own->title || own->kind->table != EACH_ALONE) && add_item(own, job, err))
        return -1;
    if (!own->title || driver->accumulates)
        return 0;
    struct score_totals *words = &own->words[job->index];
    words->pair = &job->pair;
    if (score_totals_report(report, &own->view, words, &driver->session.arena, err))
        return -1;
    report->model = own->title;
    return 0;
}

/* The path of a file in the output folder; if there are several models, with the number of the
 * model. */
static const char *path_of(const struct score_state *own, const char *name, struct err *err)
{
    const struct driver *driver = own->driver;
    struct arena *arena = &own->driver->session.arena;
    return driver->sweep.settings > 1
               ? arena_format(arena, err, "%s/%zu-%s", own->folder, driver->setting, name)
               : arena_format(arena, err, "%s/%s", own->folder, name);
}

/* Write the manifest of the output folder. */
static int write_manifest(struct score_state *own, const struct report *report, struct err *err)
{
    const char *totals = path_of(own, "totals.csv", err), *figure = path_of(own, figure_name, err);
    const char *path = path_of(own, "manifest.json", err);
    if (err->kind)
        return -1;
    const size_t folder = strlen(own->folder) + 1;
    const struct table_file files[] = {
        {"words.csv", "scores"}, {totals + folder, "totals"}, {figure + folder, "words"}};
    struct stream stream = {0};
    int failed = stream_open_inside(&stream, path, own->driver->output.replaces, err) ||
                 manifest_write(&stream, report, files, sizeof files / sizeof *files, err);
    return stream_end(&stream, failed, err);
}

/* Write the means of words, or the totals; into a folder, write both. Text output also gets the
 * total of all texts. */
static int write_totals(struct score_state *own, struct err *err)
{
    const char *const names[] = {figure_name, "totals.csv"};
    struct driver *driver = own->driver;
    struct score_totals table = own->table, *words = own->title ? NULL : own->words;
    struct score_totals *tables[] = {words, !words || own->folder ? &table : NULL};
    struct arena *arena = &driver->session.arena;
    if (words) {
        words->lines = (struct names){&table.rows->name, table.count, sizeof *table.rows};
        words->factors = table.key_count > 1 ? driver->options->score.per : NULL;
    }
    table.grouped = own->group && (driver->options->score.group || own->compares);
    memset(own->keys, 0, table.key_count * sizeof *own->keys);
    own->keys[table.key_count - 1] = "all";
    own->all.keys = own->keys;
    own->all.bad_logprob = own->group ? (double)NAN : own->all.bad_logprob;
    /* 0: score_totals_add adds each total as a new row, without a search for a row with its keys */
    table.most = 0;
    table.sums = &own->all;
    table.sum_count = own->kind->table != EACH_ALONE && !own->title && driver->items.count > 1 &&
                      !(own->kind->needs & CONTINUE);
    if (own->kind->needs & SUITE)
        suite_predict_all(&table, &driver->items.formulas, arena, err);
    for (size_t i = 0; i < table.sum_count && own->view.for_people; i++)
        score_totals_add(&table, &table.sums[i], table.count, arena, err);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !err->kind; i++) {
        struct report report;
        struct output output = {0};
        if (!tables[i] || score_totals_report(&report, &own->view, tables[i], arena, err))
            continue;
        report.model = own->title ? own->title : report.model;
        if (!own->folder) {
            driver_write(driver, &report, err);
            continue;
        }
        const char *path = path_of(own, names[i], err);
        /* the ending of the path gives the figure's format */
        struct output_options to = {.path = path};
        to.format = tables[i] == &table ? driver->options->output.format : NULL;
        to.locale = to.format ? driver->options->output.locale : NULL;
        if (path && !output_choose(&output, &to, err))
            output_write_table(&output, &report, driver->options, &driver->style, err);
        output_discard(&output);
        report.identity = identity_first(1);
        if (tables[i] == &table && !err->kind)
            write_manifest(own, &report, err);
    }
    return err_if(err->kind);
}

/* After the last text of a model: print notes on rows without numbers and on numbers that mean
 * little, and write the totals. */
static int end(void *state, struct driver *driver, struct err *err)
{
    struct score_state *own = state;
    size_t count = driver->items.count;
    const char *model = driver->session.viewer.model.name;
    const char *other = name_of(own->asked & ~WORDS);
    double perplexity = score_perplexity(&own->all);
    bool on_page = format_is(driver->output.format, "text") && !driver->output.to_folder &&
                   !(own->kind->needs & CONTINUE);

    struct buf origin = {0};
    items_origin(&origin, &driver->items, own->first_blank);
    const char *first = buf_keep(&origin, &driver->kept, err);
    if (!first)
        return -1;
    if (own->blank && driver->setting == 0)
        print_note("%zu blank text%s no score: %s%s", own->blank,
                   own->blank == 1 ? " has" : "s have", first, own->blank == 1 ? "" : " and later");
    if (options_are_given(driver->options, "top") && driver->options->score.best &&
        !own->scoring.best_count && !own->view.fills && driver->setting == 0)
        print_note("--top does not apply to %s",
                   other ? other : "this output: text, JSON and -o DIR/ have the likeliest tokens");
    if (own->all.unknown)
        print_note("--unigrams: %zu of %zu words are not in '%s' and count as 1", own->all.unknown,
                   own->all.words, driver->options->score.unigrams);
    if (own->unscored && driver->session.begins == BEGINNING_ADDED &&
        !driver->options->score.total && !(own->kind->needs & CONTINUE))
        print_note("'%s': the first %s of %zu text%s has no score without a beginning token", model,
                   own->view.words ? "word" : "token", own->unscored, num_plural(own->unscored));
    if (own->unknown)
        print_note("'%s': %zu text%s with words that are not in the vocabulary, which the model "
                   "cannot tell apart",
                   model, own->unknown, num_plural(own->unknown));
    if (own->ties)
        print_note("%zu pair%s with two texts of the same log-probability: each counts as half",
                   own->ties, num_plural(own->ties));

    if (own->by_text)
        return 0;
    if (perplexity > FABLES_PERPLEXITY && model_is_of_fables(&driver->session.viewer.model))
        print_note("'%s' was trained only on short fables, which these texts do not resemble "
                   "(perplexity %.0f): the scores mean little",
                   bundled_default, perplexity);
    if (own->title && driver->setting + 1 < driver->sweep.settings)
        return 0;
    if (own->kind->table != EACH_ALONE || (own->title && on_page))
        return write_totals(own, err);
    if (own->title || !on_page || count == 1 || own->asked & PAIRS)
        return 0;
    const char *summary = score_summary(&own->view, &own->all, &driver->session.arena, err);
    if (summary)
        stream_format(&driver->output.stream, "\nall %zu texts · %s\n", count, summary);
    return summary ? 0 : -1;
}

static const struct task score_task = {
    .fields = 1 << ITEM_CONTINUE | 1 << ITEM_GOOD | 1 << ITEM_BAD | ITEMS_KEEP_BLANK,
    .many = ITEMS_SOME,
    .means = MEAN_OF_TEXTS,
    .pages = "attn-cli page",
    .folder = "csv",
    .steps = "tokens",
    .way_out = "--stride N reads it in windows",
    .state_bytes = sizeof(struct score_state),
    .prepare = prepare,
    .beginning = beginning,
    .open = open,
    .expect = expect,
    .read = read,
    .begin = begin,
    .end = end,
    .at_once = true,
    .run = run,
    .add = add,
};
