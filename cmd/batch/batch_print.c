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
#include "base/stream.h"
#include "batch_work.h"
#include "model/site.h"
#include "write/table.h"
#include "text/label.h"

/* What was counted so far. */
struct printing {
    struct batch_work *work;
    struct stream out;
    struct table table;
    uint64_t bytes;
    size_t broken;
    size_t lines, most; /* of jobs that are printed */
    bool counts;        /* nothing is printed yet */
};

/* What the tensors of a job take; more than can be counted is the most that can. */
static size_t job_bytes(const struct prepared *prepared)
{
    const struct config *config = &prepared->model->viewer.model.config;
    const struct selection *selection = &prepared->request.selection;
    size_t tokens = prepared->pair.sentence.count;
    size_t source = prepared->pair.source.count;
    size_t total = 0;
    for (int site = 0; site < SITE_COUNT; site++) {
        size_t count = 0;
        if (!(selection->sites >> site & 1))
            continue;
        size_t layers = selection_layers_of(selection, (enum site)site).count;
        if (!site_size(&count, config, (enum site)site, selection->head_count, tokens, source) ||
            !num_multiply(&count, count, layers * sizeof(float)) || !num_add(&total, total, count))
            return SIZE_MAX;
    }
    return total;
}

static int write_line(struct printing *printing, const struct job *job, struct arena *arena,
                      struct err *job_err, struct err *err)
{
    struct prepared prepared;
    struct table *table = &printing->table;
    char size[NUM_SIZE_BYTES];
    bool reduced = store_is_tallied(&printing->work->plan);
    bool broken = batch_prepare(printing->work, job, &prepared, arena, job_err);
    if (job_err->out_of_memory)
        return err_adopt(err, job_err);
    size_t bytes = broken || reduced ? 0 : job_bytes(&prepared);
    if (printing->counts) {
        printing->bytes += bytes;
        printing->broken += broken;
        return 0;
    }
    label_line(&table->cell, job->name, strlen(job->name));
    table_put(table);
    table_number(table, job->item.line);
    if (broken) {
        table_text(table, "error");
        label_line(&table->cell, job_err->text, strlen(job_err->text));
        table_put(table);
    } else {
        table_number(table, prepared.pair.sentence.count);
        table_text(table, reduced ? "" : num_size(size, bytes));
    }
    table_end(table);
    printing->lines++;
    return buf_check(&table->line, err);
}

/* All jobs of this shard once: counted, or printed as far as there is room for them. */
static int visit_jobs(struct printing *printing, struct err *err)
{
    const struct survey *survey = &printing->work->survey;
    struct arena arena = {0};
    struct job job;
    struct err job_err = {0};
    int failed = 0;
    jobs_rewind(&printing->work->jobs);
    for (size_t number = 0; number < survey->end && !failed; number++) {
        if ((!printing->counts && printing->lines == printing->most) ||
            !jobs_next(&printing->work->jobs, &job, &arena, &job_err))
            break;
        if (number >= survey->first)
            failed = write_line(printing, &job, &arena, &job_err, err);
        arena_clear(&arena);
        err_clear(&job_err);
    }
    arena_release(&arena);
    return failed;
}

static int write_jobs(struct printing *printing, struct err *err)
{
    const struct survey *survey = &printing->work->survey;
    size_t jobs = survey->end - survey->first;
    stream_char(&printing->out, '\n');
    table_titles(&printing->table);
    if (visit_jobs(printing, err))
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

static void write_model(struct stream *out, const char *name)
{
    stream_text(out, "model ");
    label_write_line(out, name, strlen(name));
    stream_char(out, '\n');
}

/* Who has mistyped the name of an option sees it here. */
static void write_conditions(struct stream *out, const struct condition_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        stream_text(out, i ? ", " : "conditions ");
        label_write_line(out, names->names[i], strlen(names->names[i]));
    }
    stream_text(out, names->count ? "\n" : "");
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
    stream_format(out, ", %zu for each item; %zu broken\n", work->jobs.of_item, printing->broken);
    stream_format(out, "%llu tokens, at most %zu in a text\n", (unsigned long long)survey->tokens,
                  survey->longest);
    if (!store_is_tallied(&work->plan))
        stream_format(out, "%s as float32; csv and json take about three times that\n",
                      num_size(size, printing->bytes));
    for (const struct tally_group *group = work->tallies.first; group; group = group->next) {
        size_t bytes = 0;
        if (work->plan.kind == STORE_SUMS &&
            tally_bytes(&bytes, work->tallies.measures, &group->size))
            stream_format(out, "tallies of up to %s\n", num_size(size, bytes));
    }
    for (const struct open_model *model = work->models.first; model; model = model->next)
        write_model(out, model->viewer.model.name);
    write_conditions(out, &work->jobs.items.names);
}

int batch_print(struct batch_work *work, struct err *err)
{
    bool reduced = store_is_tallied(&work->plan);
    const struct table_column columns[] = {
        {"item", .width = 30, .left = true, .shortens = true},
        {"line", .gap = 2, .width = 6},
        {"tokens", .gap = 2, .width = 6},
        {reduced ? NULL : "float32", .gap = 2},
    };
    struct printing printing = {.work = work, .most = lines_of_jobs(work), .counts = true};
    printing.table = (struct table){
        .out = &printing.out, .columns = columns, .count = sizeof columns / sizeof *columns};
    if (stream_to(&printing.out, STDOUT_FILENO, err))
        return -1;
    int failed = visit_jobs(&printing, err);
    printing.counts = false;
    if (!failed) {
        write_summary(&printing);
        failed = write_jobs(&printing, err);
    }
    failed = table_close(&printing.table, failed ? NULL : err) || failed ||
             stream_commit(&printing.out, err);
    stream_discard(&printing.out);
    return failed ? -1 : 0;
}
