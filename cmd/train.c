/* train.c: `attn-cli train`: a model learns from texts, step by step, and is saved on the way. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stream.h"
#include "base/target_folder.h"
#include "command.h"
#include "progress.h"
#include "signals.h"
#include "train_start.h"

enum { TEST_EVERY = 100, LOSS_BYTES = 64 };

static const double NOTE_SECONDS = 2; /* after which the pace is known … */
static const double NOTE_LEAST = 60;  /* … and how long it takes, said where it is longer */

struct job {
    const struct options *options;
    struct train_start start;
    struct machine machine;
    struct trainer trainer;
    struct buf log;
    struct stream out;
    struct target_folder target;
    double began;         /* the time that the first step began … */
    long long first_step; /* … and which it was */
    struct progress progress;
    bool noted;           /* how long it will take */
    long long saved_step; /* the last one that was saved; -1: none */
    char saved_path[4096];
};

/* --- interruption ---------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;
static struct sigaction usual; /* what the program does elsewhere: the same for all three */

static void note_signal(int number)
{
    interrupted = 1;
    sigaction(number, &usual, NULL); /* who cannot wait for the step to end asks again */
}

static void watch_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        if (signals_is_ignored(ending[i]))
            continue;
        sigaction(ending[i], &action, &usual);
    }
}

/* --- saving ---------------------------------------------------------------------------------- */

static long long step_of(const struct job *job)
{
    return (long long)job->trainer.adamw.steps;
}

/* Into a folder of its own, OUTPUT/step-00000064, or OUTPUT itself. */
static int save(struct job *job, bool as_result, struct err *err)
{
    int size = as_result
                   ? snprintf(job->saved_path, sizeof job->saved_path, "%s", job->start.output)
                   : snprintf(job->saved_path, sizeof job->saved_path, "%s/step-%08lld",
                              job->start.output, step_of(job));
    if (size >= (int)sizeof job->saved_path)
        return err_output(err, "cannot write '%s': the name is too long", job->start.output);
    job->saved_step = step_of(job);
    if (as_result)
        return train_checkpoint_write(&job->trainer, &job->start.model.new_model, &job->log,
                                      &job->target, err);
    struct target_folder step = {0};
    if (target_folder_open_inside(&step, job->saved_path, &job->target, err))
        return -1;
    int failed =
        train_checkpoint_write(&job->trainer, &job->start.model.new_model, &job->log, &step, err);
    target_folder_close(&step);
    return failed;
}

/* --- reports --------------------------------------------------------------------------------- */

static double tokens_of_step(const struct job *job)
{
    const struct trainer_settings *s = &job->trainer.settings;
    return (double)s->texts * (double)s->tokens * (double)s->accumulate;
}

static double pace(const struct job *job)
{
    double seconds = clock_seconds() - job->began;
    double steps = (double)(step_of(job) - job->first_step);
    return seconds > 0 ? steps * tokens_of_step(job) / seconds : 0;
}

/* A line of log.csv; a held-out loss that is NaN was not measured. */
static void write_log(struct job *job, const struct trainer_report *report, double held_out)
{
    buf_format(&job->log, "%lld,%.0f,%.6f,", step_of(job),
               (double)step_of(job) * tokens_of_step(job), report->loss);
    if (!isnan(held_out))
        buf_format(&job->log, "%.6f", held_out);
    buf_format(&job->log, ",%.6g,%.6g,%.0f\n", report->rate, report->gradient_norm, pace(job));
}

static void show_line(struct job *job, const struct trainer_report *report, double held_out)
{
    if (job->options->quiet)
        return;
    progress_wipe();
    stream_format(&job->out, "%8lld  %8.4f  %8.4f  %8.0f\n", step_of(job), report->loss, held_out,
                  pace(job));
    stream_flush(&job->out);
}

/* Once it is known: who would not wait so long can still stop. */
static void note_duration(struct job *job)
{
    char whole[PROGRESS_TIME_BYTES];
    long long steps = job->trainer.settings.steps - job->first_step;
    double seconds = clock_seconds() - job->began;
    double all = seconds / (double)(step_of(job) - job->first_step) * (double)steps;
    if (job->noted || seconds < NOTE_SECONDS)
        return;
    job->noted = true;
    if (all >= NOTE_LEAST)
        print_note(job->options, "%lld steps will take about %s; Ctrl-C saves, --resume goes on",
                   steps, progress_time(whole, all));
}

/* --- steps ----------------------------------------------------------------------------------- */

static int report_step(struct job *job, const struct trainer_report *report, struct err *err)
{
    long long step = step_of(job);
    bool last = step == job->trainer.settings.steps || interrupted;
    long long every = job->options->save_every;
    bool saves = every ? step % every == 0 : (step & (step - 1)) == 0;
    double held_out = (double)NAN;
    char loss[LOSS_BYTES];
    double paused = clock_seconds(); /* what is not training does not count */
    if ((saves || last || step % TEST_EVERY == 0) &&
        trainer_evaluate(&job->trainer, &held_out, err))
        return -1;
    job->began += clock_seconds() - paused;
    write_log(job, report, held_out);
    if (!isnan(held_out))
        show_line(job, report, held_out);
    snprintf(loss, sizeof loss, "loss %.4f", report->loss);
    progress_show(&job->progress, (size_t)step, (size_t)job->trainer.settings.steps, loss);
    note_duration(job);
    paused = clock_seconds();
    int failed = saves ? save(job, false, err) : 0;
    job->began += clock_seconds() - paused;
    return failed;
}

/* Say what is safe, where a step came to nothing. */
static int fail_step(const struct job *job, struct err *err)
{
    struct err cause = *err;
    if (job->saved_step < 0 || cause.kind != ERR_INPUT)
        return -1;
    err_clear(err);
    return err_set(err, "%s; '%s' holds step %lld", cause.text, job->saved_path, job->saved_step);
}

static int run_steps(struct job *job, struct err *err)
{
    struct trainer_report report = {0};
    watch_signals();
    job->began = clock_seconds();
    job->first_step = step_of(job);
    progress_begin(&job->progress, job->options, "steps");
    job->progress.before = (size_t)job->first_step;
    while (step_of(job) < job->trainer.settings.steps && !interrupted)
        if (trainer_step(&job->trainer, &report, err) || report_step(job, &report, err))
            return fail_step(job, err);
    progress_end(&job->progress);
    if (save(job, true, err))
        return -1;
    if (step_of(job) < job->trainer.settings.steps)
        return err_interrupted(err, "interrupted after step %lld: --resume '%s' goes on",
                               step_of(job), job->start.output);
    return 0;
}

static int open_course(struct job *job, struct err *err)
{
    struct train_start *start = &job->start;
    job->saved_step = -1;
    if (machine_open(&job->machine, (size_t)job->options->threads, err) ||
        trainer_open(&job->trainer, &start->state.settings, &job->machine, &start->model.new_model,
                     &start->texts, err))
        return -1;
    if (job->options->resume_from &&
        train_checkpoint_resume(&job->trainer, &start->state, &job->log, &start->source, err))
        return -1;
    if (!job->options->resume_from)
        buf_text(&job->log, "step,tokens,loss,held_out,rate,gradient_norm,tokens_per_second\n");
    return stream_to(&job->out, STDOUT_FILENO, err);
}

static void show_head(struct job *job)
{
    if (job->options->quiet)
        return;
    stream_format(&job->out,
                  "%zu parameters, %zu tokens in %zu lines, %.0f tokens a step\n"
                  "    step      loss  held out  tokens/s\n",
                  job->trainer.step.weights.count, job->start.texts.count,
                  job->start.texts.start_count, tokens_of_step(job));
    stream_flush(&job->out);
}

int train_command(const struct options *options, struct err *err)
{
    static struct job job;
    job = (struct job){.options = options};
    int failed = train_start_open(&job.start, options, err) || open_course(&job, err);
    failed = failed || target_folder_open(&job.target, job.start.output, job.start.replaces, err);
    if (!failed) {
        show_head(&job);
        failed = run_steps(&job, err);
    }
    if (job.out.buffer && stream_commit(&job.out, failed ? NULL : err))
        failed = -1;
    target_folder_close(&job.target);
    trainer_release(&job.trainer);
    machine_release(&job.machine);
    train_start_release(&job.start);
    buf_release(&job.log);
    return failed ? -1 : 0;
}
