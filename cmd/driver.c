#include "driver.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/num.h"
#include "base/platform.h"
#include "format/json_writer.h"
#include "lens/continuation.h"

enum {
    GROUP_TOKENS = 1024, /* texts that share a pass have at most this many tokens together */
    GROUP_TEXTS = 256,
    GROUPS_OF_THREAD = 4, /* largest number of groups per thread that are read at once */
    HELD_BYTES = 1 << 30, /* maximum memory of the results of all threads, in bytes */
    TOKEN_BYTES = 400,    /* approximate memory of a token with its labels, in bytes */
    /* bytes of memory for each number with --mean texts: its sum, count and mean */
    MEAN_BYTES = 16,
    /* maximum size of a folder's name, in bytes; a longer name has the number of the setting in
     * place of the setting's option values */
    FOLDER_NAME_BYTES_MAX = 200,
};

/* A group should run for at most about this many seconds: a killed process then loses the results
 * of about two seconds. */
static const double group_seconds = 1.5;

/* --- settings --------------------------------------------------------------------------------- */

static void close_setting(struct driver *driver)
{
    session_release(&driver->session);
    struct edit_store *store = driver->sweep.settings > 1 ? &driver->store : NULL;
    driver->session = (struct session){.options = &driver->current, .store = store};
    driver->setting = SIZE_MAX;
}

/* If there are several settings (sweep.h), add the option values of the open setting to an error
 * message. Always returns -1. */
static int blame_setting(const struct driver *driver, struct err *err)
{
    struct buf words = {0};
    const struct sweep *sweep = &driver->sweep;
    if (sweep->of_models)
        return model_blame(driver->current.model.name, err);
    for (size_t i = 0; i < sweep->count; i++)
        buf_format(&words, "%s%s=%s", i ? "," : "", sweep->items[i].name, sweep->items[i].value);
    if (sweep->count && !words.out_of_memory)
        err_prefix(err, "--sweep %s", words.bytes);
    buf_release(&words);
    return -1;
}

/* Open the model of a setting (sweep.h), with its mechanism and edits, unless this setting is
 * already open. */
static int open_setting(struct driver *driver, size_t setting, struct err *err)
{
    struct session *session = &driver->session;
    if (driver->setting == setting)
        return 0;
    close_setting(driver);
    if (sweep_set(&driver->sweep, setting, &driver->current, &session->arena, err))
        return -1;
    if (display_read(&driver->style, &driver->current, err))
        return blame_setting(driver, err);
    driver->items.options = &driver->current;
    session->begins = driver->task->beginning
                          ? driver->task->beginning(driver->state, driver)
                          : session_beginning(&driver->items, driver->task->begins);
    driver->setting = setting;
    session->omits_origin = !driver->output.to_folder && !driver->output.folder.path &&
                            !driver->output.format->has_origin;
    if (session_begin(session, err) || driver->task->open(driver->state, driver, err)) {
        driver->setting = SIZE_MAX;
        return blame_setting(driver, err);
    }
    driver->group_texts = driver->task->alone || session->edits.by_text ? 1 : GROUP_TEXTS;
    return 0;
}

/* --- what identifies a result ----------------------------------------------------------------- */

/* The name of a job's folder: 0003, or 0003,head=2,repeat=1. NULL on failure. */
static const char *name_folder(const struct driver *driver, const struct job *job,
                               struct arena *arena, struct err *err)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,+";
    struct buf name = {0};
    const struct sweep *sweep = &driver->sweep;
    buf_format(&name, "%04zu", job->item.number);
    size_t size = name.size;
    for (size_t i = sweep->of_models; i < sweep->count; i++) {
        buf_format(&name, ",%s=", sweep->items[i].name);
        for (const char *value = sweep->items[i].value; *value; value++)
            buf_format(&name, strchr(safe, *value) ? "%c" : "%%%02X", (unsigned char)*value);
    }
    if (name.size > FOLDER_NAME_BYTES_MAX && !name.out_of_memory) {
        name.size = size;
        buf_format(&name, ",setting=%zu", driver->setting);
    }
    return buf_keep(&name, arena, err);
}

/* Set the index of a result, and `blank`, the number of its item minus the index: item numbers also
 * count blank and failed texts, the index does not. */
static void set_index(struct identity *identity, const struct job *job, size_t index)
{
    size_t texts = identity->texts;
    identity->index = index;
    identity->blank = job->item.number - (texts ? index % texts : index);
}

/* Remove the columns of --regions, since the text consists of their cells. Returns how many columns
 * are left. */
static size_t leave_out_cells(struct identity_column *columns, size_t count,
                              const struct items *items)
{
    const struct names parts = {items->parts.items, items->parts.count, sizeof *items->parts.items};
    size_t left = 0, index = 0;
    for (size_t i = 0; i < count; i++)
        if (!names_find(&index, parts, columns[i].name, strlen(columns[i].name)))
            columns[left++] = columns[i];
    return left;
}

/* Set the columns that identify a result: the settings, then the columns of the input, and the text
 * as the last column. A setting with the name of a column is renamed. In JSON of a batch, the item
 * is "job": 5, "item": 3, "settings": {"head": "1"}, "columns": {"region": "NP"} */
int driver_identify(struct driver *driver, const struct job *job, struct identity *identity,
                    struct arena *arena, struct err *err)
{
    const struct swept_option *swept = &driver->sweep.items[driver->sweep.of_models];
    size_t settings = driver->sweep.count - driver->sweep.of_models;
    bool in_rows = driver->rows_have_columns;
    size_t count = settings + (in_rows ? 0 : job->item.column_count);
    struct buf members = {0};
    struct json_writer json = {.buf = &members};
    const struct names columns = {(const char *const *)job->item.columns,
                                  job->item.column_count + job->item.text_count,
                                  sizeof *job->item.columns};
    size_t text_count = driver->options->output.no_text || in_rows ? 0 : job->item.text_count;
    struct identity_column *extras = arena_alloc(arena, count + text_count, sizeof *extras, err);
    if (!extras)
        return -1;
    for (size_t i = 0; i < count + text_count; i++)
        extras[i] = i < settings
                        ? (struct identity_column){.name = swept[i].name, .value = swept[i].label}
                        : job->item.columns[i - settings];
    *identity = driver->identity;
    identity->extras = extras;
    identity->extra_count = count;
    identity->text_count = text_count;
    if (driver->sweep.of_models && identity->count > identity_texts(identity))
        identity->model = driver->session.viewer.model.name; /* the result belongs to one model */
    if (job->index == SIZE_MAX)
        identity->texts = 1;
    set_index(identity, job, job->before);
    if (driver->is_batch)
        json_put_integer(&json, "job", (long long)job->number);
    if (identity->stacked)
        json_put_integer(&json, "row", (long long)job->number);
    if (driver->is_batch && !driver->accumulates)
        json_put_integer(&json, "item", (long long)job->item.number);
    columns_put(&json, "settings", extras, settings);
    columns_put(&json, "columns", extras + settings, count - settings);
    if (driver->options->output.no_text && !in_rows)
        identity->extra_count =
            settings + leave_out_cells(extras + settings, count - settings, &driver->items);
    if (members.size || members.out_of_memory)
        identity->item = buf_keep(&members, arena, err);
    for (size_t i = 0; i < settings; i++)
        extras[i].name = names_unused(extras[i].name, columns, arena, err);
    return err_if(err->kind);
}

/* --- lines of the log ------------------------------------------------------------------------- */

/* True if a batch writes each result or failure as a line of JSON. */
static bool is_lines(const struct driver *driver)
{
    return driver->is_batch && !driver->output.to_folder &&
           format_is(driver->output.format, "json jsonl");
}

/* Format a report, and write its bytes as the member `name`, a hexadecimal string. */
static int put_output(struct json_writer *json, const char *name, const struct driver *driver,
                      const struct report *report, struct err *err)
{
    struct stream out = {0};
    json_put_raw(json, name, "\"");
    int failed = stream_to_hex(&out, json->stream, err) ||
                 report_write(driver->output.format, &(struct target){.stream = &out}, report,
                              &driver->layout, err);
    failed = stream_end(&out, failed, err);
    stream_char(json->stream, '"');
    return failed;
}

/* Write the log line of a failure, or of a result in a format other than JSON: the name of its
 * folder, or its bytes. The line of the first result also contains, as "next", the bytes that this
 * result would have if it were not the first. */
static int write_line(struct driver *driver, struct stream *out, const struct job *work,
                      const struct report *report, struct arena *arena, struct err *err)
{
    struct json_writer json = {.stream = out};
    const struct identity *identity = &report->identity;
    /* offset of the members after "job", which are written after the result */
    size_t first = strcspn(identity->item, ",");
    json_put_open(&json, NULL, '{');
    json_put_integer(&json, "job", (long long)work->number);
    if (work->fault) {
        json_put_open(&json, "error", '{');
        json_put_integer(&json, "status", work->fault);
        json_put_text(&json, "message", work->message);
        json_put_close(&json, '}');
    } else if (driver->output.to_folder) {
        const struct target_folder outer = {.replaces = true, .descriptor = -1};
        struct target_folder folder;
        struct report own = *report;
        const char *name = name_folder(driver, work, arena, err);
        const char *path = name ? arena_format(arena, err, "%s/%s", driver->log->path, name) : NULL;
        own.identity.count = 1;
        own.identity.item = NULL;
        if (!path || target_folder_open_inside(&folder, path, &outer, err) ||
            output_clear_folder(path, err) ||
            report_write(driver->output.format, &(struct target){.folder = &folder}, &own,
                         &driver->layout, err))
            return -1;
        json_put_text(&json, "folder", name);
    } else {
        struct report own = *report, next = *report;
        set_index(&own.identity, work, identity->index);
        set_index(&next.identity, work, 1);
        if (put_output(&json, "output", driver, &own, err) ||
            (identity->index == 0 && put_output(&json, "next", driver, &next, err)))
            return -1; /* the log may end with an incomplete line, which --resume removes */
    }
    if (identity->item[first])
        json_put_raw(&json, NULL, identity->item + first + sizeof ",");
    json_put_text(&json, "format",
                  work->fault ? JSON_FORMAT("batch-failure") : JSON_FORMAT("batch-item"));
    if (identity->stacked) {
        struct buf about = {0};
        json_report_metadata(&about, report);
        const char *text = buf_keep(&about, arena, err);
        if (!text)
            return -1;
        json_put_raw(&json, "about", text);
    }
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Write a result or a failure to the log or the output. */
static int write_result(struct driver *driver, struct stream *out, const struct job *work,
                        struct arena *arena, struct err *err)
{
    struct report report = work->report;
    if (driver_identify(driver, work, &report.identity, arena, err))
        return -1;
    if (work->fault || (driver->log && !is_lines(driver)))
        return write_line(driver, out, work, &report, arena, err);
    if (out == &driver->output.stream && !driver->is_batch)
        return output_write(&driver->output, &report, &driver->layout, err);
    return report_write(is_lines(driver) ? format_find("jsonl") : driver->output.format,
                        &(struct target){.stream = out}, &report, &driver->layout, err);
}

/* Format a result in memory: threads do this in parallel, before they write in turn. Do nothing for
 * a failure, for a result that becomes a page, files in a folder, rows of --stack, a mean or a
 * figure, and for a result that the task's `add` may still change. */
static int make_bytes(struct driver *driver, struct job *work, struct arena *arena, struct err *err)
{
    const struct output *output = &driver->output;
    bool is_page = output->draws_pages && format_is(output->format, "html");
    bool may_change = driver->task->add && driver->sweep.settings > 1;
    struct stream out = {0};
    if (work->fault || driver->accumulates || driver->dose || output->to_folder || is_page ||
        may_change || output->rows_path)
        return 0;
    int failed =
        stream_to_memory(&out, &work->bytes, err) || write_result(driver, &out, work, arena, err);
    return stream_end(&out, failed, err) || buf_check(&work->bytes, err);
}

/* Write the result or the failure of a job, or a result of several jobs (driver_write). */
static int write_job(struct driver *driver, struct job *work, struct arena *arena, struct err *err)
{
    struct stream *out = driver->log ? &driver->log->out : &driver->output.stream;
    if (driver->dose) {
        driver->written += !work->fault;
        return work->fault ? 0 : dose_add(driver->dose, &work->report, err);
    }
    bool is_array = is_lines(driver) && !driver->log && format_is(driver->output.format, "json");
    bool is_made = work->bytes.size && work->before == driver->written;
    /* `expected` counted this job when it was read, before it failed */
    driver->expected -= work->fault && work->before != SIZE_MAX;
    work->before = driver->written;
    if (is_array)
        stream_text(out, work->number * driver->jobs_of_result == driver->first ? "[" : ",");
    if (work->fault && !is_lines(driver))
        items_print_failure(&driver->items, work->index, work->message);
    if (is_made)
        stream_bytes(out, work->bytes.bytes, work->bytes.size);
    else if (work->fault ? is_lines(driver) || driver->log : !work->is_written)
        if (write_result(driver, out, work, arena, err))
            return -1;
    if (driver->log)
        log_end_line(driver->log);
    if (is_array && (work->number + 1) * driver->jobs_of_result == driver->end)
        stream_text(out, "]\n");
    driver->written += !work->fault;
    return 0;
}

static int count_failure(struct driver *driver, const struct job *work, struct err *err)
{
    if (!driver->failed++)
        driver->failure = arena_text(&driver->kept, work->message, strlen(work->message), err);
    return driver->failure ? 0 : -1;
}

static int write_jobs(struct driver *driver, struct job *works, size_t count, struct arena *arena,
                      struct err *err)
{
    if (!driver->log && output_open(&driver->output, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct job *work = &works[i];
        if (driver->task->add && !work->fault && driver->task->add(driver->state, work, err))
            return -1;
        if (driver->derivation.mean_of_texts
                ? text_mean_add(&driver->mean, &work->report, err)
                : !driver->accumulates && write_job(driver, work, arena, err))
            return -1;
        if (work->fault && count_failure(driver, work, err))
            return -1;
    }
    return log_flush(driver->log, err);
}

int driver_write(struct driver *driver, const struct report *report, struct err *err)
{
    struct job work = {
        .number = driver->setting, .index = SIZE_MAX, .before = SIZE_MAX, .report = *report};
    return err_if((!driver->log && output_open(&driver->output, err)) ||
                  write_job(driver, &work, &driver->session.arena, err) ||
                  log_flush(driver->log, err));
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Keep the reason why a job failed. In some cases the whole command fails: outside a batch, unless
 * one of several texts lacks tokens or a position; with --fail-fast; if one result is made of all
 * texts, or is an array (--stack); and if memory ran out, since another run may have enough. */
static int fail_job(const struct driver *driver, struct job *work, struct err *why,
                    struct arena *arena, struct err *err)
{
    bool lacks = why->about == ERR_ABOUT_POSITION || why->about == ERR_ABOUT_EMPTY;
    if (!(driver->is_batch || (lacks && driver->items.count > 1)) ||
        driver->options->batch.fail_fast || driver->accumulates || driver->identity.stacked ||
        why->out_of_memory)
        return err_adopt(err, why);
    work->fault = why->kind ? why->kind : ERR_INPUT;
    work->message = arena_text(arena, why->text, strlen(why->text), err);
    err_clear(why);
    return work->message ? 0 : -1;
}

/* Translate a source that has no text. The translation is kept, since each job is read twice. */
static int translate(struct driver *driver, struct job *job, struct arena *arena, struct err *err)
{
    struct arena *kept = &driver->kept;
    if (job->item.input.text || job->item.input.ids || driver->task->many == ITEMS_PROMPT ||
        config_classifies(&driver->session.viewer.model.config))
        return 0;
    if (!driver->translations)
        driver->translations = arena_alloc(kept, driver->jobs, sizeof *driver->translations, err);
    return err_if(!driver->translations ||
                  continuation_translate(&job->pair, &driver->session.viewer,
                                         &driver->translations[job->number], kept, arena, err));
}

/* Read a job of the open setting. On failure, put the origin of the item before the error `why`,
 * unless the cause is --source or --pair, or a task refuses the only text. */
static int read_job(struct driver *driver, size_t number, struct job *work, struct arena *arena,
                    struct err *why)
{
    const struct task *task = driver->task;
    const struct items *items = &driver->items;
    *work = (struct job){.number = number, .index = number % items->count};
    if (session_open_item(&driver->session, &work->item, items, work->index, arena, why))
        return -1;
    bool is_read = work->item.is_blank ||
                   !session_read_item(&driver->session, &work->item, &work->pair, arena, why);
    if (is_read && !translate(driver, work, arena, why) &&
        !task->read(driver->state, driver, work, arena, why))
        return 0;
    if (task->way_out && driver->session.viewer.mask < 0 &&
        (why->about == ERR_ABOUT_LENGTH || why->about == ERR_ABOUT_CONTEXT)) {
        err_append(why, ": %s", task->way_out);
        why->about = ERR_ABOUT_ANYTHING;
    }
    return is_read && items->count == 1 ? -1 : items_blame(items, work->index, why);
}

/* The number after the last job of a setting (sweep.h), within the jobs of this process. */
static size_t end_of_setting(const struct driver *driver, size_t setting)
{
    return num_min(driver->end, (setting + 1) * driver->items.count);
}

/* Tell the viewer how many tokens the passes will process: if there are many, it packs the
 * weights. */
static void expect_tokens(struct driver *driver)
{
    if (driver->task->expect)
        driver->task->expect(driver->state, driver, driver->survey.tokens);
    else
        viewer_expect(&driver->session.viewer, EXPECT_TOKENS, driver->survey.tokens);
}

/* Add a job to the totals, and its memory to the memory of its group; groups are formed as in
 * read_group. The memory includes the result that a thread formats (make_bytes), which in a log is
 * in hexadecimal digits unless it is JSON. */
static int survey_job(struct driver *driver, struct job *work, struct err *err)
{
    struct survey *survey = &driver->survey;
    struct group_size *group = &survey->group, *most = &survey->most;
    const struct output *output = &driver->output;
    size_t tokens = work->pair.text.count, source_tokens = work->pair.source.count;
    if (work->fault) {
        if (driver->options->batch.dry_run)
            items_print_failure(&driver->items, work->index, work->message);
        return count_failure(driver, work, err);
    }
    survey->tokens += tokens + source_tokens;
    survey->longest = num_max(survey->longest, tokens);
    survey->longest_source = num_max(survey->longest_source, source_tokens);
    dropped_add(&survey->dropped, &work->pair.text, work->index);
    /* count a --source, which is the same for all items, once */
    if (work->index == 0 || work->item.fields[ITEM_SOURCE])
        dropped_add(&survey->dropped, &work->pair.source, DROPPED_IN_SOURCE);
    bool is_hex = driver->is_batch && !output->to_stdout && !is_lines(driver);
    double cells =
        driver->accumulates || output->to_folder ? 0 : work->result_bytes / sizeof(float);
    double formatted = cells * output->format->cell_bytes * (is_hex ? 2 : 1);
    work->memory.held += TOKEN_BYTES * (double)(tokens + source_tokens);
    survey->bytes += work->result_bytes;
    survey->held += work->memory.held + formatted;
    if (driver->derivation.mean_of_texts)
        survey->sums = fmax(survey->sums, MEAN_BYTES / sizeof(float) * work->result_bytes);
    if (group->texts == driver->group_texts || group->tokens + tokens > GROUP_TOKENS)
        *group = (struct group_size){0};
    group->texts++;
    group->tokens += tokens;
    group->memory.held += work->memory.held;
    group->memory.during += work->memory.during;
    group->formatted += formatted;
    most->memory.held = fmax(most->memory.held, group->memory.held);
    most->memory.during = fmax(most->memory.during, group->memory.during);
    most->formatted = fmax(most->formatted, group->formatted);
    return 0;
}

/* The number of groups that are read and run together, in several threads. 1: a single group at a
 * time, whose passes use all threads. Many short jobs run in groups, as many as fit into memory. */
static size_t groups_at_once(const struct driver *driver)
{
    const struct survey *survey = &driver->survey;
    size_t jobs = driver->end - driver->first;
    size_t threads = pool_threads(driver->session.viewer.machine.pool);
    size_t most = GROUPS_OF_THREAD * threads;
    double held = survey->most.memory.held + survey->most.formatted;
    double left = (double)heap_available() - (double)survey->weights.heap - survey->sums -
                  (double)threads * survey->most.memory.during;
    /* half of the memory: a buffer doubles its size when it grows */
    double room = fmin(HELD_BYTES, left / 2);
    if (!driver->task->at_once || survey->longest > GROUP_TOKENS || jobs < 2 * threads ||
        threads < 2 || held * (double)threads > room)
        return 1;
    return held * (double)most > room ? (size_t)(room / held) : most;
}

double driver_memory(const struct driver *driver)
{
    const struct survey *survey = &driver->survey;
    const struct memory *memory = &survey->most.memory;
    size_t threads = pool_threads(driver->session.viewer.machine.pool);
    double groups = (double)groups_at_once(driver);
    double held = groups * (memory->held + survey->most.formatted);
    double bytes = (double)survey->weights.heap + survey->sums;
    return groups > 1 ? bytes + (double)threads * memory->during + fmin(held, survey->held)
                      : bytes + memory->during + memory->held;
}

/* Read all jobs once and add them to the totals. Except with --dry-run, refuse jobs that need more
 * than the available memory: otherwise the system would end the process after minutes. */
int driver_check(struct driver *driver, struct err *err)
{
    struct survey *survey = &driver->survey;
    struct arena arena = {0};
    size_t number = driver->first;
    int failed = 0;
    for (size_t i = driver->first_setting; i < driver->end_setting && !failed; i++) {
        failed = open_setting(driver, i, err);
        survey->group = (struct group_size){0};
        for (; number < end_of_setting(driver, i) && !failed; number++) {
            struct job work;
            struct err why = {0};
            failed = (read_job(driver, number, &work, &arena, &why) &&
                      fail_job(driver, &work, &why, &arena, err)) ||
                     survey_job(driver, &work, err);
            arena_clear(&arena);
        }
        if (failed && driver->sweep.of_models)
            blame_setting(driver, err);
        if (!failed) {
            expect_tokens(driver);
            struct weights_bytes weights = weights_bytes(&driver->session.viewer.model.weights);
            survey->weights.heap = num_max(survey->weights.heap, weights.heap);
            survey->weights.mapped = num_max(survey->weights.mapped, weights.mapped);
        }
    }
    arena_release(&arena);
    if (failed || dropped_note(&survey->dropped, &driver->items, err))
        return -1;
    notes_print(&driver->notes, &driver->items);
    if (driver->options->batch.dry_run)
        return 0;
    if (driver->failed && driver->failed == driver->end - driver->first && !driver->is_batch)
        return err_set(err, "%s", driver->failure);
    driver->identity.failed = driver->failed;
    driver->failed = 0; /* driver_run counts the failures again */
    driver->failure = NULL;
    if (!session_expect(&driver->session, driver_memory(driver), survey->weights, survey->longest,
                        err))
        return 0;
    if (survey->bytes > 0 && survey->weights.heap <= heap_available())
        err_append(err, ", fewer tensors (--show), layers (--layer) or heads (--head)%s",
                   driver->output.format->sheet || driver->is_batch || driver->accumulates
                       ? ""
                       : ", or --format csv or json, which hold few attention maps at a time");
    return -1;
}

/* --- groups ----------------------------------------------------------------------------------- */

int group_capture(const struct group *group, const struct selection *selection, struct err *err)
{
    struct report *reports = arena_alloc(group->arena, group->count, sizeof *reports, err);
    struct text_with_source *pairs = arena_alloc(group->arena, group->count, sizeof *pairs, err);
    const struct capture_request asked = {selection, pairs, group->count, group->jobs[0]->number,
                                          reports};
    if (!reports || !pairs)
        return -1;
    for (size_t i = 0; i < group->count; i++)
        pairs[i] = group->jobs[i]->pair;
    if (viewer_capture(group->viewer, &asked, group->arena, err))
        return -1;
    for (size_t i = 0; i < group->count; i++)
        group->jobs[i]->report = reports[i];
    return 0;
}

static void group_clear(struct group *group)
{
    for (size_t i = 0; i < group->read_count; i++)
        buf_release(&group->read[i].bytes);
    group->read_count = group->tokens = 0;
    group->is_done = false;
    arena_clear(&group->memory);
}

/* Read the next jobs of the open setting (sweep.h), as many as fit into a pass of `limit` tokens.
 * Jobs that cannot be read do not run. */
static int read_group(struct driver *driver, struct group *group, size_t limit, struct err *err)
{
    size_t left = end_of_setting(driver, driver->setting) - driver->next;
    size_t most = num_min(left, driver->group_texts);
    struct err why = {0};
    group_clear(group);
    group->driver = driver;
    group->arena = &group->memory;
    group->count = 0;
    group->read = arena_alloc(group->arena, most, sizeof *group->read, err);
    group->jobs = arena_alloc(group->arena, most, sizeof *group->jobs, err);
    if (!group->read || !group->jobs)
        return -1;
    while (group->read_count < most && group->tokens < limit) {
        struct job *job = &group->read[group->read_count];
        if (read_job(driver, driver->next, job, group->arena, &why) &&
            fail_job(driver, job, &why, group->arena, err))
            return -1;
        size_t tokens = job->pair.text.count;
        if (group->read_count && group->tokens + tokens > limit)
            return 0; /* the next group reads the text again */
        job->before = SIZE_MAX;
        if (!job->fault) {
            job->before = driver->expected++;
            group->jobs[group->count++] = job;
        }
        group->tokens += tokens;
        group->read_count++;
        driver->next++;
    }
    return 0;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Groups that are read and run together: one group, or several groups in threads, each with its own
 * viewer. */
struct turn {
    struct driver *driver;
    struct viewer *viewers; /* [threads] a viewer for each thread */
    struct group *groups;   /* [most] groups; the first `count` are in use */
    /* `most`: the largest number of groups; `tokens`: the largest number of tokens in a group */
    size_t most, tokens;
    size_t count, written; /* `count`: number of groups; `written`: how many of them were written */
    pthread_mutex_t mutex; /* a thread locks this mutex while it writes results */
    struct err err;
};

/* Write the results of all groups before the first group that still runs. */
static int write_groups(struct turn *turn)
{
    struct driver *driver = turn->driver;
    char failures[NUM_COUNT_BYTES + sizeof " failed"];
    while (turn->written < turn->count && turn->groups[turn->written].is_done) {
        struct group *group = &turn->groups[turn->written++];
        if (write_jobs(driver, group->read, group->read_count, group->arena, &turn->err))
            return -1;
        if (group->err.kind) {
            stream_flush(&driver->output.stream); /* print the results that are complete */
            return err_adopt(&turn->err, &group->err);
        }
        snprintf(failures, sizeof failures, "%zu failed", driver->failed);
        if (driver->end - driver->first > 1)
            progress_show(&driver->progress,
                          group->read[group->read_count - 1].number + 1 - driver->first,
                          driver->end - driver->first, driver->failed ? failures : NULL);
    }
    return 0;
}

/* Run a group, apply --mean and --words, and write all results that are complete. A failed pass
 * does not tell which text caused the failure: each text then runs alone. If a text ends the run,
 * the texts before it are still written: the output does not depend on the size of groups. If there
 * are several threads, each formats the results of its group in memory (make_bytes) before it waits
 * to write. */
static void run_group(void *context, size_t index, size_t thread)
{
    struct turn *turn = context;
    struct driver *driver = turn->driver;
    struct group *group = &turn->groups[index];
    struct viewer *viewer = group->viewer = &turn->viewers[thread];
    const struct edits *edits = viewer->edits;
    struct err why = {0};
    int failed = 0;
    for (size_t i = 0, together = group->count; i < group->count && !failed;) {
        struct group part = *group;
        part.jobs += i;
        part.count = together;
        if (driver->session.edits.by_text)
            viewer->edits = part.jobs[0]->pair.edits;
        bool fails = driver->task->run(driver->state, &part, &why);
        viewer->edits = edits;
        if (fails && together > 1 && !why.out_of_memory) {
            err_clear(&why);
            together = 1;
            continue;
        }
        if (fails && driver->is_batch && !why.out_of_memory)
            items_blame(&driver->items, part.jobs[0]->index, &why);
        failed = fails && fail_job(driver, part.jobs[0], &why, group->arena, &group->err);
        if (failed)
            group->read_count = (size_t)(part.jobs[0] - group->read);
        i += together;
    }
    for (size_t i = 0; i < group->read_count; i++) {
        struct job *job = &group->read[i];
        struct err err = {0};
        failed = 0;
        if (!job->fault && !job->is_written &&
            derive(&job->report, &driver->derivation, driver->session.viewer.tokenizer,
                   group->arena, &why)) {
            items_blame(&driver->items, job->index, &why);
            failed = fail_job(driver, job, &why, group->arena, &err);
        }
        if (!failed && viewer != &driver->session.viewer)
            failed = make_bytes(driver, job, group->arena, &err);
        if (failed) {
            group->read_count = i;
            group->err = err; /* error of the first text that fails */
        }
    }
    pthread_mutex_lock(&turn->mutex);
    group->is_done = true;
    if (!turn->err.kind)
        write_groups(turn);
    pthread_mutex_unlock(&turn->mutex);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Run the remaining jobs of a setting (sweep.h) in turns of several groups. The first turn is a
 * group of one text, to measure the speed. If the first turn packs weights, the threads' viewers
 * share them later. */
static int run_setting(struct driver *driver, size_t setting, struct err *err)
{
    const struct task *task = driver->task;
    struct viewer *viewer = &driver->session.viewer;
    size_t jobs = driver->end - driver->first, end = end_of_setting(driver, setting);
    bool is_quiet = progress_is_quiet();
    progress_set_quiet(is_quiet || driver->sweep.settings > 1); /* driver_check already printed the
                                                                 * notes */
    int failed = open_setting(driver, setting, err);
    progress_set_quiet(is_quiet);
    viewer->machine.progress = jobs == 1 && task->steps ? &driver->progress.sink : NULL;
    driver->expected = driver->written;
    driver->mean.longest = num_max(driver->survey.longest, driver->survey.longest_source);
    if (!failed)
        expect_tokens(driver);
    failed = failed || (task->begin && task->begin(driver->state, driver, err));

    struct arena arena = {0};
    size_t most = failed ? 1 : groups_at_once(driver);
    size_t threads = most > 1 ? pool_threads(viewer->machine.pool) : 1;
    struct viewer *viewers = arena_alloc(&arena, threads, sizeof *viewers, err);
    struct group *groups = arena_alloc(&arena, most, sizeof *groups, err);
    struct turn turn = {driver, viewer, groups, 1, 1, .mutex = PTHREAD_MUTEX_INITIALIZER};
    failed |= !viewers || !groups;
    while (!failed && driver->next < end) {
        size_t tokens = 0;
        double start = clock_seconds();
        double share = (double)(end - driver->next) / (double)jobs * (double)driver->survey.tokens /
                       /* approximate number of remaining tokens for each thread */
                       (double)threads;
        size_t limit = num_min(turn.tokens, num_max(1, (size_t)share + driver->survey.longest));
        turn.count = turn.written = 0;
        while (turn.count < turn.most && driver->next < end && !failed) {
            failed = read_group(driver, &groups[turn.count], limit, err);
            tokens += groups[turn.count++].tokens;
        }
        if (failed)
            break;
        if (turn.most == 1)
            run_group(&turn, 0, 0);
        else /* 1e12: an amount of work for which the pool uses all threads */
            pool_run(viewer->machine.pool, (struct loop){turn.count, 1e12, run_group}, &turn);
        failed = turn.err.kind ? err_adopt(err, &turn.err) : 0;
        double seconds = (clock_seconds() - start) * (double)threads;
        double rate = (double)tokens / seconds * group_seconds;
        if (tokens)
            turn.tokens = rate < GROUP_TOKENS ? num_max((size_t)rate, 1) : GROUP_TOKENS;
        /* after the first turn, the viewers of all threads share the weights that `viewer`
         * packed */
        for (size_t i = 0; turn.most < most && i < threads && !failed; i++)
            failed = viewer_share(&viewers[i], viewer, err);
        if (threads > 1)
            turn.viewers = viewers;
        turn.most = most;
    }
    for (size_t i = 0; viewers && i < threads; i++)
        viewer_release_shared(&viewers[i]);
    for (size_t i = 0; groups && i < most; i++) {
        group_clear(&groups[i]);
        arena_release(&groups[i].memory);
    }
    arena_release(&arena);

    if (!failed && driver->mean.texts) {
        const struct output *output = &driver->output;
        struct report report;
        bool holds_one = format_is(output->format, "npy") && !output->to_folder;
        bool counts = !format_is_looked_at(output->format) && !holds_one;
        failed = text_mean_report(&report, &driver->mean, viewer->tokenizer, counts,
                                  &driver->session.arena, err) ||
                 (driver->derivation.joins_heads &&
                  report_join_heads(&report, &driver->derivation, &driver->session.arena, err)) ||
                 driver_write(driver, &report, err);
        text_mean_release(&driver->mean);
    }
    failed = failed || (task->end && task->end(driver->state, driver, err));
    viewer->machine.progress = NULL;
    return failed && driver->sweep.of_models ? blame_setting(driver, err) : err_if(failed);
}

int driver_run(struct driver *driver, size_t done, struct err *err)
{
    struct progress *progress = &driver->progress;
    int failed = 0;
    bool is_one = driver->end - driver->first == 1;
    const char *things = is_one && driver->task->steps ? driver->task->steps
                         : driver->is_batch            ? "items"
                                                       : "texts";
    double start = clock_seconds();
    struct stat status;
    progress_begin(progress, things);
    if (!(is_one && driver->output.format->write) && driver->output.to_stdout &&
        (fstat(STDOUT_FILENO, &status) || !S_ISREG(status.st_mode)))
        progress->shows = false; /* the printed results already show the progress */
    done *= driver->jobs_of_result;
    progress->before = done;
    driver->next = driver->first + done;
    if (!driver->log && !driver->output.to_folder)
        failed = output_open(&driver->output, err);
    for (size_t i = driver->first_setting; i < driver->end_setting && !failed; i++)
        if (!done || end_of_setting(driver, i) > driver->next)
            failed = run_setting(driver, i, err);
    progress_end(progress);
    driver->seconds = clock_seconds() - start;
    const char *path = driver->items.path;
    if (!failed && path && file_has_changed(&driver->items.file, path))
        return err_set(err, "'%s' changed while it was being read: run the command again", path);
    struct report report = {0};
    if (!failed && driver->dose && *driver->dose->name) {
        failed = viewer_report(&report, &driver->session.viewer, &driver->kept, err) ||
                 dose_report(&report, driver->dose, &driver->kept, err);
        const struct texts *edits = &driver->options->edit.edits;
        report.identity = identity_first(1);
        /* the title shows the edit with the name of the swept value: h.0.mlp_out * {s} */
        if (driver->current.edit.are_swept)
            report.mechanism =
                edits->count ? arena_format(&driver->kept, err, "--edit '%s'", edits->items[0])
                             : NULL;
        failed = failed || output_write(&driver->output, &report, &driver->layout, err);
    }
    if (!failed && !driver->log)
        failed = (!driver->dose && driver->task->finish &&
                  driver->task->finish(driver->state, driver, err)) ||
                 output_commit(&driver->output, err);
    return err_if(failed);
}

void driver_accumulate(struct driver *driver, size_t results)
{
    driver->accumulates = true;
    driver->identity.count = results;
    driver->identity.texts = 1;
}

int driver_prepare(struct driver *driver, const struct task *task, const struct options *options,
                   struct err *err)
{
    driver->task = task;
    driver->options = options;
    driver->current = *options;
    close_setting(driver);
    driver->state = arena_alloc(&driver->kept, 1, num_max(task->state_bytes, 1), err);
    struct output_options output = options->output;
    enum items_many many = task->many;
    if (driver->is_batch && (many == ITEMS_ANY || many == ITEMS_PROMPT))
        many = ITEMS_OR_SOURCE;
    output.force |= driver->is_batch; /* in a batch, the log checks for existing results */
    if (!output.format && output_is_folder(output.path) && !driver->is_batch)
        output.format = task->folder;
    if (!driver->state || session_read_options(&driver->session, err) ||
        output_choose(&driver->output, &output, err) ||
        display_read(&driver->style, options, err) ||
        sweep_read(&driver->sweep, options, &driver->kept, err) ||
        shard_read(&driver->shard, options->batch.shard, err) ||
        items_open(&driver->items, options, task->fields, many, err))
        return -1;
    size_t settings = driver->sweep.settings;
    if (!num_multiply(&driver->jobs, driver->items.count, settings))
        return err_usage(err, "--sweep, --repeat: expected fewer than 2^64 jobs");
    driver->layout = page_layout(options, &driver->style);
    driver->identity = identity_first(driver->jobs);
    driver->identity.texts = settings > 1 ? driver->items.count : 0;
    driver->identity.of_pairs = options->input.pair || driver->items.found >> ITEM_PAIR & 1;
    struct derivation *how = &driver->derivation;
    if (options->select.mean &&
        derive_read_mean(how, options->select.mean, task->means ? task->means : MEAN_AXES, err))
        return -1;
    if (how->mean_of_texts || task->accumulates)
        driver_accumulate(driver, settings);
    if (task->pages && format_is(driver->output.format, "html"))
        return err_usage(err, "--format html: expected text, data or a figure: '%s' writes pages",
                         task->pages);
    if (task->prepare && task->prepare(driver->state, driver, err))
        return -1;
    if (driver->accumulates && driver->shard.count > 1 && settings == 1)
        return err_usage(err, "--shard: expected results to divide, found one result of all texts: "
                              "leave out --shard, or divide the settings of a --sweep");
    /* give this process at least one setting, even if it has no jobs: a task may run texts of its
     * own */
    size_t items = driver->items.count;
    size_t jobs = driver->jobs_of_result = driver->is_batch && driver->accumulates ? items : 1;
    shard_range(&driver->shard, driver->jobs / jobs, &driver->first, &driver->end);
    driver->first *= jobs;
    driver->end *= jobs;
    driver->first_setting = items ? num_min(driver->first / items, settings - 1) : 0;
    driver->end_setting =
        items ? num_max((driver->end + items - 1) / items, driver->first_setting + 1) : settings;
    size_t results = driver->identity.stacked ? 1 : driver->identity.count;
    if (driver->is_batch && driver->output.format->is_picture && !driver->output.to_folder &&
        settings > 1) {
        driver->dose = arena_alloc(&driver->kept, 1, sizeof *driver->dose, err);
        results = 1;
        if (!driver->dose ||
            dose_begin(driver->dose, &driver->sweep, options->batch.y, &driver->kept, err))
            return -1;
    } else if (options->batch.y)
        return err_usage(err, "--y: expected a figure as --output and a --sweep of numbers");
    if (output_check_count(&driver->output, results, err))
        return -1;
    display_note(&options->display, &driver->output);
    columns_note(
        &driver->output, driver->columns, driver->identity.of_pairs,
        (struct names){driver->items.names.items, driver->items.names.count, sizeof(char *)});
    return 0;
}

void driver_release(struct driver *driver)
{
    output_discard(&driver->output);
    text_mean_release(&driver->mean);
    close_setting(driver);
    edit_store_release(&driver->store);
    items_release(&driver->items);
    arena_release(&driver->kept);
}

int driver_do(const struct task *task, const struct options *options, struct err *err)
{
    struct driver driver = {.is_batch = false};
    int failed =
        driver_prepare(&driver, task, options, err) || driver_check(&driver, err) ||
        driver_run(&driver, 0, err) ||
        items_check_failed(driver.failed, driver.end - driver.first, "failed", driver.failure, err);
    driver_release(&driver);
    return err_if(failed);
}
