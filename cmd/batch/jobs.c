#include "jobs.h"

#include <string.h>

#include "base/num.h"
#include "../session.h"

enum {
    VALUES_MAX = 10000, /* of one sweep: a range is easily written */
    JOBS_MAX = 1000000, /* of one item */
    NUMBER_BYTES = 24,
};

/* --- sweeps ----------------------------------------------------------------------------------- */

/* `3-7`: both ends are whole numbers, the first not the larger. */
static bool read_range(const char *value, size_t size, long long *first, long long *last)
{
    char text[2 * NUMBER_BYTES];
    const char *dash = memchr(value, '-', size);
    if (!dash || dash == value || size >= sizeof text)
        return false;
    memcpy(text, value, size);
    text[size] = '\0';
    text[dash - value] = '\0';
    const char *end = text + (dash - value) + 1;
    return text[0] != '+' && *end != '-' && *end != '+' &&
           num_parse_integer(text, 0, JOBS_MAX, first) &&
           num_parse_integer(end, *first, JOBS_MAX, last);
}

/* NULL: there was no memory for it. */
static int add_value(struct sweep *sweep, const char *value, struct err *err)
{
    if (!value)
        return -1;
    if (sweep->count == VALUES_MAX)
        return err_usage(err, "--sweep %s: expected at most %d values, found more", sweep->name,
                         VALUES_MAX);
    sweep->values[sweep->count++] = value;
    return 0;
}

static int add_values(struct sweep *sweep, const char *value, size_t size, struct arena *arena,
                      struct err *err)
{
    long long first = 0;
    long long last = 0;
    if (!read_range(value, size, &first, &last))
        return add_value(sweep, arena_text(arena, value, size, err), err);
    for (long long i = first; i <= last; i++)
        if (add_value(sweep, arena_format(arena, err, "%lld", i), err))
            return -1;
    return 0;
}

/* What a value means, however it is spelt: "1" of "1.0". */
static const char *read_value(const struct sweep *sweep, size_t index, struct arena *arena,
                              struct err *err)
{
    struct options scratch = OPTIONS_DEFAULT;
    struct buf meaning = {0};
    if (options_set(&scratch, sweep->commands, sweep->name, sweep->values[index], arena, err))
        return NULL;
    settings_value(&meaning, sweep->row, &scratch);
    return buf_keep(&meaning, arena, err);
}

/* The values must be some that the option takes, and each another one. */
static int check_values(const struct sweep *sweep, struct err *err)
{
    struct arena arena = {0};
    const char **meanings = arena_alloc(&arena, sweep->count, sizeof *meanings, err);
    int failed = !meanings;
    for (size_t i = 0; i < sweep->count && !failed; i++) {
        meanings[i] = read_value(sweep, i, &arena, err);
        failed = !meanings[i];
        for (size_t k = 0; k < i && !failed; k++)
            if (strcmp(meanings[i], meanings[k]) == 0)
                failed =
                    err_usage(err, "expected every value once, found '%s' twice", sweep->values[i]);
    }
    arena_release(&arena);
    return failed ? err_prefix(err, "--sweep %s", sweep->name) : 0;
}

/* Up to the next comma, but for those in brackets: an edit has places with commas between. */
static size_t value_size(const char *text)
{
    size_t size = 0;
    for (bool inside = false; text[size] && (inside || text[size] != ','); size++)
        inside = text[size] == '[' || (inside && text[size] != ']');
    return size;
}

/* head=0-3,7 */
static int read_sweep(struct sweep *sweep, const char *text, struct arena *arena, struct err *err)
{
    size_t name_size = strcspn(text, "=");
    if (!text[name_size] || !text[name_size + 1] || !name_size)
        return err_usage(err, "--sweep: expected NAME=VALUE,VALUE,…, found '%s'", text);
    sweep->name = arena_text(arena, text, name_size, err);
    if (!sweep->name || options_check_name(sweep->commands, sweep->name, err))
        return err_prefix(err, "--sweep");
    sweep->row = option_find(sweep->commands, sweep->name, name_size);
    if (!sweep->row || !settings_may_vary(sweep->row))
        return err_usage(
            err, "--sweep: expected an option of all items, found '%s', which each has for itself",
            sweep->name);
    sweep->values = arena_alloc(arena, VALUES_MAX, sizeof *sweep->values, err);
    if (!sweep->values)
        return -1;
    for (const char *at = text + name_size; *at;) {
        size_t size = value_size(++at);
        if (add_values(sweep, at, size, arena, err))
            return -1;
        at += size;
    }
    return check_values(sweep, err);
}

static int read_sweeps(struct jobs *jobs, struct err *err)
{
    const struct texts *texts = &jobs->options->batch.sweeps;
    jobs->of_item = jobs->repeats =
        jobs->options->batch.repeat ? (size_t)jobs->options->batch.repeat : 1;
    jobs->sweeps = arena_alloc(&jobs->arena, texts->count, sizeof *jobs->sweeps, err);
    if (!jobs->sweeps)
        return -1;
    for (size_t i = 0; i < texts->count; i++) {
        struct sweep *sweep = &jobs->sweeps[i];
        sweep->commands = item_commands(jobs->options);
        if (read_sweep(sweep, texts->items[i], &jobs->arena, err))
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(jobs->sweeps[k].name, sweep->name) == 0)
                return err_usage(err, "--sweep: expected every option once, found '%s' twice",
                                 sweep->name);
        jobs->of_item *= sweep->count;
        if (jobs->of_item > JOBS_MAX)
            return err_usage(err, "--sweep, --repeat: expected at most %d jobs an item, found more",
                             JOBS_MAX);
    }
    jobs->sweep_count = texts->count;
    return 0;
}

int jobs_open(struct jobs *jobs, const struct options *options, struct err *err)
{
    *jobs = (struct jobs){.options = options};
    if (read_sweeps(jobs, err) || items_open(&jobs->items, options, err)) {
        jobs_release(jobs);
        return -1;
    }
    return 0;
}

void jobs_release(struct jobs *jobs)
{
    items_release(&jobs->items);
    arena_release(&jobs->arena);
    *jobs = (struct jobs){0};
}

static void rewind_jobs(struct jobs *jobs)
{
    items_rewind(&jobs->items);
    jobs->turn = 0;
}

/* --- one job ---------------------------------------------------------------------------------- */

/* Which value of each sweep a turn means: the last turns fastest. */
static size_t *choose(const struct jobs *jobs, size_t turn, struct arena *arena, struct err *err)
{
    size_t *choices = arena_alloc(arena, jobs->sweep_count, sizeof *choices, err);
    size_t rest = turn / jobs->repeats;
    for (size_t i = jobs->sweep_count; choices && i-- > 0; rest /= jobs->sweeps[i].count)
        choices[i] = rest % jobs->sweeps[i].count;
    return choices;
}

static const char *make_name(const struct job *job, struct arena *arena, struct err *err)
{
    struct buf name = {0};
    buf_text(&name, job->item.id);
    for (size_t i = 0; i < job->sweep_count; i++)
        buf_format(&name, ",%s=%s", job->sweeps[i].name, job->sweeps[i].values[job->choices[i]]);
    if (job->repeats)
        buf_format(&name, ",repeat=%zu", job->repetition);
    return buf_keep(&name, arena, err);
}

/* What multiplies items wins over what they say themselves. */
static int multiply(const struct jobs *jobs, struct job *job, size_t turn, struct arena *arena,
                    struct err *err)
{
    struct options *options = &job->item.options;
    job->sweeps = jobs->sweeps;
    job->sweep_count = jobs->sweep_count;
    job->repetition = turn % jobs->repeats;
    job->repeats = jobs->repeats > 1;
    job->choices = choose(jobs, turn, arena, err);
    if (!job->choices)
        return -1;
    for (size_t i = 0; i < jobs->sweep_count && !job->item.broken; i++)
        if (options_set(options, jobs->sweeps[i].commands, job->sweeps[i].name,
                        job->sweeps[i].values[job->choices[i]], arena, err))
            return -1;
    if (!job->item.broken && inputs_check_ids(&options->input, err))
        return -1;
    options->mechanism.seed += (long long)job->repetition;
    job->name = make_name(job, arena, err);
    return job->name ? 0 : -1;
}

bool jobs_next(struct jobs *jobs, struct job *job, struct arena *arena, struct err *err)
{
    *job = (struct job){0};
    if (jobs->turn) /* so that nothing of the item must be kept */
        items_again(&jobs->items);
    if (!items_next(&jobs->items, &job->item, arena, err))
        return false;
    if (!job->item.id || multiply(jobs, job, jobs->turn, arena, err)) {
        job->item.broken = true;
        job->name = job->name ? job->name : job->item.id;
    }
    jobs->turn = (jobs->turn + 1) % jobs->of_item;
    return true;
}

int jobs_visit(struct jobs *jobs, size_t first, size_t end, job_visit *visit, void *context,
               struct err *err)
{
    struct arena arena = {0};
    struct job job;
    struct err job_err = {0};
    int over = 0;
    rewind_jobs(jobs);
    for (size_t i = 0; i < end && !over && jobs_next(jobs, &job, &arena, &job_err); i++) {
        if (i >= first)
            over = visit(context, &job, &arena, &job_err, err);
        arena_clear(&arena);
        err_clear(&job_err);
    }
    rewind_jobs(jobs);
    arena_release(&arena);
    return over < 0 ? -1 : 0;
}
