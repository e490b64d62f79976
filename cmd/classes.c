/* `attn-cli score --classes`: prints the probabilities of classes, for models that have a
 * classifier instead of an output for tokens; `run` also shows them. */
#include "classes.h"

#include <math.h>

#include "driver.h"
#include "model/config.h"
#include "model/layer.h"

static int prepare(void *state, struct driver *driver, struct err *err)
{
    (void)state;
    driver->columns = "sentence position text class logit probability";
    return options_exclude(driver->options, "classes",
                           "continue total group unigrams per mean begin-word within-word query "
                           "bits stride window top next words",
                           err);
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct selection *logits = state;
    const struct model *model = &driver->session.viewer.model;
    *logits = (struct selection){.sites = SITE_SET(SITE_LOGITS)};
    return config_classifies(&model->config)
               ? 0
               : err_unsupported(err,
                                 "'%s': --classes: expected a model with a head of classes "
                                 "(…ForSequenceClassification), found one of type \"%s\" "
                                 "without one",
                                 model->name, config_kind_name(&model->config));
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    (void)arena, (void)err;
    viewer_add_memory(&job->memory, &driver->session.viewer, state, &job->pair, CAPTURE_ALL);
    return 0;
}

/* The probability of element `item` of `x`: by default the softmax over `count` elements with
 * stride `step`; with `logistic`, 1 / (1 + e^-x), independent of the other elements. */
static double probability(const float *x, size_t item, size_t count, size_t step, bool logistic)
{
    double sum = 0, at = (double)x[item * step];
    for (size_t i = 0; i < count; i++)
        sum += exp((double)x[i * step] - at);
    return logistic ? 1 / (1 + exp(-at)) : 1 / sum;
}

static size_t best_of(const float *x, size_t count, size_t step)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = x[i * step] > x[best * step] ? i : best;
    return best;
}

int classes_show(struct report *report, const struct viewer *viewer, struct arena *arena,
                 struct err *err)
{
    const struct config *c = &viewer->model.config;
    const size_t tokens = report->text.count, classes = config_logits(c);
    const float *logits = report->arrays[--report->array_count].data;
    const bool of_each = c->answers == ANSWER_OF_EACH, spans = of_each && viewer->spans;
    const bool of_tokens = of_each && !spans;
    const char *name_of_table = spans ? "spans" : of_tokens ? "tokens" : "classes";
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {.most = of_tokens ? tokens : classes, .arena = arena, .err = err};
    for (size_t i = 0; i < rows.most && !err->kind; i++, rows_next(&rows)) {
        size_t token = of_tokens                       ? i
                       : spans                         ? best_of(logits + i, tokens, classes)
                       : c->answers == ANSWER_OF_FIRST ? 0
                                                       : tokens - 1;
        const float *row = logits + token * classes;
        size_t class = of_tokens ? best_of(row, classes, 1) : i;
        struct label name = label_of_word(viewer->words, (uint32_t) class, arena, err);
        double share = spans ? probability(logits + i, token, tokens, classes, false)
                             : probability(row, class, classes, 1, viewer->logistic);
        if (!of_tokens)
            rows_label(&rows, "class", COLUMN_KEY, name);
        if (of_tokens || spans) {
            rows_integer(&rows, "position", COLUMN_KEY, (long long)token);
            rows_label(&rows, "text", COLUMN_KEY, report->text.labels[token]);
        }
        if (of_tokens)
            rows_label(&rows, "class", COLUMN_KEY, name);
        rows_float(&rows, (struct column){"logit", .digits = 4}, (double)row[class]);
        rows_float(&rows, (struct column){"probability", .digits = 4},
                   viewer->regresses ? (double)NAN : share);
    }
    report->tables = table;
    report->table_count = 1;
    return table ? rows_finish(table, &rows, name_of_table, of_tokens ? "token" : "class") : -1;
}

static int run(void *state, const struct group *group, struct err *err)
{
    int failed = group_capture(group, state, err);
    for (size_t i = 0; i < group->count && !failed; i++)
        failed = classes_show(&group->jobs[i]->report, group->viewer, group->arena, err);
    return failed;
}

const struct task classes_task = {
    .many = ITEMS_SOME,
    .pages = "attn-cli page",
    .folder = "csv",
    .state_bytes = sizeof(struct selection),
    .prepare = prepare,
    .open = open,
    .read = read,
    .at_once = true,
    .run = run,
};
