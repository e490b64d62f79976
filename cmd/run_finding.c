/* run_finding.c: the findings of each text: as sentences above the usual result, as the caption of
 * a figure, or as the table of --show finding. */
#include "measure/finding.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/memory.h"
#include "classes.h"
#include "driver.h"
#include "model/layer.h"
#include "model/points.h"
#include "run.h"

static struct finding_plan plan_of(const struct driver *driver, struct viewer *viewer,
                                   const struct job *job)
{
    return (struct finding_plan){viewer, &job->pair, quick_products / (double)driver->jobs};
}

/* --- text: sentences, then the heads of a layer ----------------------------------------------- */

enum { LINES_MOST = 100 }; /* a result with all heads of a layer has at most this many lines */

bool run_finds(const struct request *request, const struct driver *driver)
{
    return !request->chosen && driver->output.to_stdout && !driver->is_batch &&
           !options_are_given(driver->session.options,
                              "key words mean stats hide-first gradient normalize bits");
}

/* Return the sites of the weights, or states, and of the context vectors in a finding's branch. */
static struct site_set sites_of(const struct finding *finding, const struct config *config)
{
    const enum site_branch branch = site_branch(finding->map);
    struct site_set sites = SITE_SET(finding->map, SITE_OF(branch, SITE_CONTEXT));
    if (branch == BRANCH_TEXT && config->sinks)
        site_set_add(&sites, SITE_SINK);
    return site_set_both(sites, model_sites(config));
}

void run_finding_add_memory(struct driver *driver, struct job *job)
{
    struct viewer *viewer = &driver->session.viewer;
    const struct config *config = &viewer->model.config;
    const struct finding_plan plan = plan_of(driver, viewer, job);
    struct selection selection = {.layers.count = 1};
    for (enum site_branch branch = 0; branch < SITE_BRANCHES; branch++)
        site_set_join(&selection.sites,
                      SITE_SET(SITE_OF(branch, SITE_WEIGHTS), SITE_OF(branch, SITE_CONTEXT)));
    selection.sites = site_set_both(selection.sites, model_sites(config));
    struct memory searched = {0}, shown = {0}, *memory = &job->memory;
    findings_add_memory(&searched, &plan);
    viewer_add_memory(&shown, viewer, &selection, &job->pair, CAPTURE_ALL);
    memory->held = fmax(memory->held, shown.held);
    memory->during = fmax(memory->during, shown.during);
    /* the search ends before the tensors are captured */
    memory->during = fmax(memory->during, searched.held + searched.during - memory->held);
}

/* Move matrix number `at`, of `cells` floats, to the front of the matrices. */
static int move_first(float *matrices, size_t at, size_t cells, struct err *err)
{
    float *first = heap_alloc(cells, sizeof *first, err);
    if (!first)
        return -1;
    memcpy(first, matrices + at * cells, cells * sizeof *first);
    memmove(matrices + cells, matrices, at * cells * sizeof *first);
    memcpy(matrices, first, cells * sizeof *first);
    heap_free(first);
    return 0;
}

/* Make `head` the first head of a captured array; an array without this head does not change. */
static int put_first(struct array *array, size_t head, struct arena *arena, struct err *err)
{
    const size_t count = array->heads.size;
    size_t at = 0;
    while (at < count && array->heads.numbers[at] != head)
        at++;
    size_t *numbers = arena_room(arena, count, sizeof *numbers, err);
    if (!numbers)
        return -1;
    if (at == count)
        return 0;
    for (size_t i = 0; i < count; i++)
        numbers[i] = array->heads.numbers[i == 0 ? at : i - (i <= at)];
    array->heads.numbers = numbers;
    return err_if(
        move_first((float *)array->data, at, array->rows.size * array->columns.size, err) ||
        (array->visible && array->visible_step &&
         move_first((float *)array->visible, at, array->visible_step, err)));
}

/* Count the lines that a report has in the output format. */
static int count_lines(size_t *count, const struct driver *driver, const struct report *report,
                       struct err *err)
{
    struct buf text = {0};
    struct stream out = {0};
    int failed = stream_to_memory(&out, &text, err) ||
                 report_write(driver->output.format, &(struct target){.stream = &out}, report,
                              &driver->layout, err);
    failed = stream_end(&out, failed, err) || buf_check(&text, err);
    *count = 0;
    for (size_t i = 0; i < text.size && !failed; i++)
        *count += text.bytes[i] == '\n';
    buf_release(&text);
    return err_if(failed);
}

/* If the result has more than LINES_MOST lines, keep only the first head of each array; with
 * --full, keep all heads. */
static int shorten(struct report *report, const struct driver *driver, struct err *err)
{
    struct array *arrays = (struct array *)report->arrays;
    size_t lines = 0;
    if (driver->options->display.full)
        return 0;
    if (count_lines(&lines, driver, report, err))
        return -1;
    for (size_t i = 0; i < report->array_count && lines > LINES_MOST; i++)
        if (arrays[i].heads.size > 1)
            arrays[i].heads.size = 1;
    return 0;
}

/* Capture the tensors of the first finding's layer or, if there is no finding, the tensors that the
 * request selects. */
static int capture(struct job *job, const struct run_state *own, const struct group *group,
                   const struct findings *found, struct err *err)
{
    const struct config *config = &group->viewer->model.config;
    const struct finding *first = found->count ? found->items : NULL;
    struct group alone = *group;
    struct selection selection = own->request.selection;
    alone.jobs = &job;
    alone.count = 1;
    if (first) {
        selection.sites = sites_of(first, config);
        selection.layers = (struct layers){&first->layer, 1};
    }
    if (own->shows_classes)
        site_set_add(&selection.sites, SITE_LOGITS);
    return group_capture(&alone, &selection, err);
}

static int find_one(struct job *job, const struct run_state *own, const struct group *group,
                    struct err *err)
{
    const struct driver *driver = group->driver;
    const struct finding_plan plan = plan_of(driver, group->viewer, job);
    const char *language = driver->layout.style ? driver->layout.style->language : NULL;
    struct arena *arena = group->arena;
    struct report *report = &job->report;
    struct findings *found = arena_alloc(arena, 1, sizeof *found, err);
    struct layer_head *named = arena_alloc(arena, 1, sizeof *named, err);
    const char *words;
    if (!found || !named || findings_make(found, &plan, arena, err) ||
        !(words = findings_words(found, group->viewer, &job->pair, language, arena, err)) ||
        capture(job, own, group, found, err) ||
        (own->shows_classes && classes_show(report, group->viewer, arena, err)))
        return -1;
    report->shows_arrays = true;
    report->about = arena_format(arena, err, "\n%s", words);
    if (found->count) {
        *named = (struct layer_head){found->items->layer, found->items->head};
        report->named = named;
    }
    struct array *arrays = (struct array *)report->arrays;
    for (size_t i = 0; i < report->array_count && found->count; i++)
        if (arrays[i].heads.name && put_first(&arrays[i], named->head, arena, err))
            return -1;
    return report->about ? shorten(report, driver, err) : -1;
}

int run_finding(const struct run_state *own, const struct group *group, struct err *err)
{
    for (size_t i = 0; i < group->count; i++)
        if (find_one(group->jobs[i], own, group, err))
            return -1;
    return 0;
}

/* --- --caption finding: sentences below a figure ---------------------------------------------- */

int run_caption_prepare(const struct driver *driver, struct err *err)
{
    if (options_exclude(driver->options, "caption", "gradient stack cosines pool mean align stats",
                        err))
        return -1;
    return !driver->options->select.caption || driver->output.format->is_picture
               ? 0
               : err_usage(err, "--caption: expected a figure, such as -o x.svg, found --format %s",
                           driver->output.format->name);
}

/* The search ends after the tensors of the figure are captured. */
void run_caption_add_memory(struct driver *driver, struct job *job)
{
    const struct finding_plan plan = plan_of(driver, &driver->session.viewer, job);
    findings_add_memory(&job->memory, &plan);
}

int run_caption(const struct group *group, struct err *err)
{
    const struct driver *driver = group->driver;
    const char *language = driver->layout.style ? driver->layout.style->language : NULL;
    for (size_t i = 0; i < group->count; i++) {
        struct job *job = group->jobs[i];
        const struct finding_plan plan = plan_of(driver, group->viewer, job);
        struct findings found;
        if (findings_make(&found, &plan, group->arena, err) ||
            !(job->report.caption =
                  findings_words(&found, group->viewer, &job->pair, language, group->arena, err)))
            return -1;
    }
    return 0;
}

/* --- --show finding: a table ------------------------------------------------------------------ */

bool run_shows_finding(const struct options *options)
{
    return options->select.show && strcmp(options->select.show, "finding") == 0;
}

static int prepare(void *state, struct driver *driver, struct err *err)
{
    const char *other = options_are_given(
        driver->options,
        "layer head query key mean pool gradient names words bits hide-first stats "
        "normalize cosines stack align position caption");
    (void)state;
    driver->columns =
        "layer head query key weight S D prediction probability without without_probability";
    return other ? err_usage(err,
                             "--show finding and --%s cannot be combined: a finding chooses "
                             "its head, query and key",
                             other)
                 : 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    (void)state, (void)driver, (void)err;
    return 0;
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    const struct finding_plan plan = plan_of(driver, &driver->session.viewer, job);
    (void)state, (void)arena, (void)err;
    findings_add_memory(&job->memory, &plan);
    return 0;
}

static int run_table(void *state, const struct group *group, struct err *err)
{
    static const struct selection nothing = {0};
    struct arena *arena = group->arena;
    (void)state;
    int failed = group_capture(group, &nothing, err);
    for (size_t i = 0; i < group->count && !failed; i++) {
        struct job *job = group->jobs[i];
        const struct finding_plan plan = plan_of(group->driver, group->viewer, job);
        struct table *table = arena_alloc(arena, 1, sizeof *table, err);
        struct findings found;
        failed = !table || findings_make(&found, &plan, arena, err) ||
                 findings_table(table, &found, &job->pair, arena, err);
        job->report.tables = table;
        job->report.table_count = 1;
    }
    return err_if(failed);
}

const struct task run_finding_task = {
    .many = ITEMS_OR_SOURCE,
    .begins = true,
    .pages = "attn-cli page",
    .folder = "csv",
    .at_once = true,
    .steps = "layers",
    .prepare = prepare,
    .open = open,
    .read = read,
    .run = run_table,
};
