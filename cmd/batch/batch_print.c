/* batch_print.c: `batch --dry-run`: the jobs, how many tokens they have, what they would write.
 *
 *     3 jobs, 1 for each item; 1 broken
 *     5 tokens, at most 3 in a text
 *     320 B as float32; csv and json take about three times that
 *     model tiny
 *
 *     item         line  tokens  float32
 *     0000            1       3  288 B
 *     0001,head=1     2       2  32 B
 *     0002            3  error   word 'zebra' at byte 3 is not in the vocabulary
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/num.h"
#include "batch_work.h"
#include "write/table.h"

struct printing {
    struct batch_work *work;
    struct stream out;
    struct table table;
    size_t lines, most; /* of jobs that are printed */
};

static int write_line(void *context, const struct job *job, struct arena *arena,
                      struct err *job_err, struct err *err)
{
    struct printing *printing = context;
    struct prepared prepared;
    struct table *table = &printing->table;
    char size[NUM_SIZE_BYTES];
    bool broken = batch_prepare(printing->work, job, &prepared, arena, job_err);
    if (job_err->out_of_memory)
        return err_adopt(err, job_err);
    label_line(&table->cell, job->name, strlen(job->name));
    table_put(table);
    table_number(table, job->item.line);
    if (broken) {
        table_text(table, "error");
        label_line(&table->cell, job_err->text, strlen(job_err->text));
        table_put(table);
    } else {
        table_number(table, prepared.pair.sentence.count);
        if (!printing->work->plan.instrument)
            table_text(table, num_size(size, prepared.bytes));
    }
    table_end(table);
    printing->lines++;
    return buf_check(&table->line, err) ? -1 : printing->lines == printing->most;
}

static int write_jobs(struct printing *printing, struct err *err)
{
    const struct survey *survey = &printing->work->survey;
    size_t jobs = survey->end - survey->first;
    const struct table_column columns[] = {
        {"item", .width = 30, .left = true, .shortens = true},
        {"line", .gap = 2, .width = 6},
        {"tokens", .gap = 2, .width = 6},
        {printing->work->plan.instrument ? NULL : "float32", .gap = 2},
    };
    table_begin(&printing->table, columns, 4);
    table_titles(&printing->table);
    if (jobs_visit(&printing->work->jobs, survey->first, survey->end, write_line, printing, err))
        return -1;
    if (printing->lines < jobs)
        stream_format(&printing->out, "… %zu more: --full prints all\n", jobs - printing->lines);
    return 0;
}

/* On a terminal as many as one sees of it, below what is said of all; else all. */
static size_t lines_of_jobs(const struct batch_work *work)
{
    enum { BESIDE = 10, LEAST = 5 };
    struct winsize window;
    if (work->options->looks.full || !isatty(STDOUT_FILENO) ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) || !window.ws_row)
        return SIZE_MAX;
    return window.ws_row > BESIDE + LEAST ? window.ws_row - BESIDE : LEAST;
}

static void write_name(struct stream *out, const char *before, const char *name)
{
    stream_text(out, before);
    label_write_line(out, name, strlen(name));
}

static void write_summary(struct printing *printing)
{
    const struct batch_work *work = printing->work;
    const struct survey *survey = &work->survey;
    const struct job_shard *shard = &work->plan.shard;
    struct stream *out = &printing->out;
    char size[NUM_SIZE_BYTES];
    size_t jobs = survey->end - survey->first;
    stream_format(out, "%zu job%s", jobs, jobs == 1 ? "" : "s");
    if (shard->count)
        stream_format(out, " of %zu in all, shard %zu of %zu", survey->jobs, shard->index,
                      shard->count);
    stream_format(out, ", %zu for each item; %zu broken\n", work->jobs.of_item,
                  survey->broken_here);
    stream_format(out, "%llu tokens, at most %zu in a text\n", (unsigned long long)survey->tokens,
                  survey->longest);
    if (!work->plan.instrument)
        stream_format(out, "%s as float32; csv and json take about three times that\n",
                      num_size(size, survey->bytes));
    for (const struct open_model *model = work->models.first; model; model = model->next) {
        write_name(out, "model ", model->viewer.model.name);
        stream_char(out, '\n');
    }
    /* who has mistyped the name of an option sees it here */
    const struct condition_names *names = &work->jobs.items.names;
    for (size_t i = 0; i < names->count; i++)
        write_name(out, i ? ", " : "conditions ", names->names[i]);
    stream_text(out, names->count ? "\n" : "");
}

int batch_print(struct batch_work *work, struct err *err)
{
    const struct survey *survey = &work->survey;
    struct printing printing = {.work = work, .most = lines_of_jobs(work)};
    printing.table.out = &printing.out;
    if (stream_to(&printing.out, STDOUT_FILENO, err))
        return -1;
    write_summary(&printing);
    int failed = write_jobs(&printing, err);
    failed |= table_close(&printing.table, failed ? NULL : err);
    if (stream_end(&printing.out, failed, err))
        return -1;
    if (!survey->broken_here)
        return 0;
    err_failed(err, "%zu of %zu items would fail", survey->broken_here,
               survey->end - survey->first);
    if (!work->plan.shard.count)
        err_append(err, "%s: %s", survey->broken > 1 ? ", the first" : "", survey->complaint);
    return -1;
}
