/* results.c: what the driver writes: results of jobs in their order, to the output or as lines of
 * the log, and where a result is among all. */
#include <string.h>

#include "command.h"
#include "driver.h"
#include "format/json_writer.h"

enum { FOLDER_NAME_BYTES_MAX = 200 /* a longer one has the number of its setting */ };

/* --- where a result is ------------------------------------------------------------------------ */

/* The name of a job's folder: 0003, or 0003,head=2,repeat=1. NULL with `err`. */
static const char *name_folder(const struct driver *driver, const struct work *work,
                               struct arena *arena, struct err *err)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,+";
    struct buf name = {0};
    const struct sweep *sweep = &driver->sweep;
    buf_format(&name, "%04zu", work->item.number);
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

/* A member of JSON, "columns": {"region": "NP"}, unless no column has a value. */
static void put_columns(struct json_writer *json, const char *name,
                        const struct place_column *extras, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!extras[i].value)
            continue;
        if (!any)
            json_put_open(json, name, '{');
        any = true;
        json_put_name(json, extras[i].name, strlen(extras[i].name));
        if (extras[i].literal)
            json_put_raw(json, NULL, extras[i].value);
        else
            json_put_text(json, NULL, extras[i].value);
    }
    if (any)
        json_put_close(json, '}');
}

/* `index` results precede it; with `blank` added, the number of a text is that of its item. */
static void set_index(struct place *place, const struct work *work, size_t index)
{
    place->index = index;
    place->blank = work->item.number - (place->sentences ? index % place->sentences : index);
}

/* Columns tell a result from others: settings, then those copied from the input. Its item, of a
 * batch: "job": 5, "item": 3, "settings": {"head": "1"}, "columns": {"region": "NP"} */
int driver_place(struct driver *driver, const struct work *work, struct place *place,
                 struct arena *arena, struct err *err)
{
    const struct swept_option *swept = &driver->sweep.items[driver->sweep.of_models];
    size_t settings = driver->sweep.count - driver->sweep.of_models;
    size_t count = settings + work->item.column_count;
    struct buf identity = {0};
    struct json_writer json = {.buf = &identity};
    struct place_column *extras = arena_alloc(arena, count, sizeof *extras, err);
    if (!extras)
        return -1;
    for (size_t i = 0; i < count; i++)
        extras[i] = i < settings
                        ? (struct place_column){.name = swept[i].name, .value = swept[i].value}
                        : work->item.columns[i - settings];
    *place = driver->place;
    place->extras = extras;
    place->extra_count = count;
    if (driver->sweep.of_models && place->count > place_sentences(place))
        place->model = driver->session.viewer.model.name; /* the result is not about all of them */
    if (work->index == SIZE_MAX)
        place->sentences = 1;
    set_index(place, work, work->before);
    if (driver->is_batch)
        json_put_integer(&json, "job", (long long)work->job);
    if (driver->is_batch && !driver->accumulates)
        json_put_integer(&json, "item", (long long)work->item.number);
    put_columns(&json, "settings", extras, settings);
    put_columns(&json, "columns", extras + settings, count - settings);
    if (identity.size || identity.out_of_memory)
        place->item = buf_keep(&identity, arena, err);
    return err_if(err->kind);
}

/* --- lines of the log ------------------------------------------------------------------------- */

/* Whether each result, or failure, is a line of JSON. */
static bool is_lines(const struct driver *driver)
{
    return driver->is_batch && !driver->output.to_folder &&
           format_is(driver->output.format, "json jsonl");
}

/* The files of a job, in a folder of their own. */
static int write_folder(struct driver *driver, const struct work *work, struct place place,
                        const char *name, struct arena *arena, struct err *err)
{
    const struct target_folder outer = {.replaces = true, .descriptor = -1};
    struct target_folder folder;
    const char *path = arena_format(arena, err, "%s/%s", driver->log->path, name);
    place.count = 1;
    place.item = NULL;
    return err_if(!path || target_folder_open_inside(&folder, path, &outer, err) ||
                  output_clear_folder(path, err) ||
                  report_write(driver->output.format, &(struct target){.folder = &folder},
                               &work->report, &place, err));
}

/* The bytes of a result, as the next after `index` others. */
static int put_output(struct json_writer *json, const char *name, const struct driver *driver,
                      const struct work *work, struct place place, size_t index, struct err *err)
{
    struct buf bytes = {0};
    struct stream out = {0};
    set_index(&place, work, index);
    int failed = stream_to_memory(&out, &bytes, err) ||
                 format_write(driver->output.format, &out, &work->report, &place, err);
    failed = stream_end(&out, failed, err) || buf_check(&bytes, err);
    if (!failed)
        json_put_hex(json, name, bytes.bytes, bytes.size);
    buf_release(&bytes);
    return err_if(failed);
}

/* A line for a failure, or for a result of any format but JSON: its bytes (of the first result also
 * as they would be after others), or its folder. */
static int write_line(struct driver *driver, struct stream *out, const struct work *work,
                      const struct place *place, struct arena *arena, struct err *err)
{
    struct json_writer json = {.stream = out};
    size_t job = strcspn(place->item, ","); /* what follows the job comes after the result */
    json_put_open(&json, NULL, '{');
    json_put_integer(&json, "job", (long long)work->job);
    if (work->fault) {
        json_put_open(&json, "error", '{');
        json_put_integer(&json, "status", work->fault);
        json_put_text(&json, "message", work->message);
        json_put_close(&json, '}');
    } else if (driver->output.to_folder) {
        const char *name = name_folder(driver, work, arena, err);
        if (!name || write_folder(driver, work, *place, name, arena, err))
            return -1;
        json_put_text(&json, "folder", name);
    } else if (put_output(&json, "output", driver, work, *place, place->index, err) ||
               (place->index == 0 && put_output(&json, "next", driver, work, *place, 1, err))) {
        return -1; /* the log ends with half a line, which a resumed run cuts off */
    }
    if (place->item[job])
        json_put_raw(&json, NULL, place->item + job + sizeof ",");
    json_put_text(&json, "format",
                  work->fault ? JSON_FORMAT("batch-failure") : JSON_FORMAT("batch-item"));
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

/* A result or a failure, to the log or the output. */
static int write_result(struct driver *driver, struct stream *out, const struct work *work,
                        struct arena *arena, struct err *err)
{
    struct place place;
    if (driver_place(driver, work, &place, arena, err))
        return -1;
    if (work->fault || (driver->log && !is_lines(driver)))
        return write_line(driver, out, work, &place, arena, err);
    if (out == &driver->output.stream && !driver->is_batch)
        return output_write(&driver->output, &work->report, &place, err);
    return format_write(is_lines(driver) ? format_find("jsonl") : driver->output.format, out,
                        &work->report, &place, err);
}

/* Write a result to memory, in a thread that does not write to the output. */
int driver_make_bytes(struct driver *driver, struct work *work, struct arena *arena,
                      struct err *err)
{
    const struct output *output = &driver->output;
    bool is_page = output->draws_pages && format_is(output->format, "html");
    bool may_change = driver->task->add && driver->sweep.settings > 1;
    struct stream out = {0};
    if (work->fault || driver->accumulates || output->to_folder || is_page || may_change)
        return 0;
    int failed =
        stream_to_memory(&out, &work->bytes, err) || write_result(driver, &out, work, arena, err);
    return stream_end(&out, failed, err) || buf_check(&work->bytes, err);
}

/* A result, a failure, or the mean of a setting, which has the setting's number. */
static int write_work(struct driver *driver, struct work *work, struct arena *arena,
                      struct err *err)
{
    struct stream *out = driver->log ? &driver->log->out : &driver->output.stream;
    bool is_array = is_lines(driver) && !driver->log && format_is(driver->output.format, "json");
    bool is_made = work->bytes.size && work->before == driver->written;
    driver->expected -= work->fault && work->before != SIZE_MAX; /* it failed since it was read */
    work->before = driver->written;
    if (is_array)
        stream_text(out, work->job * driver->jobs_of_result == driver->first ? "[" : ",");
    if (work->fault && !is_lines(driver))
        print_failure(work->message);
    if (is_made)
        stream_bytes(out, work->bytes.bytes, work->bytes.size);
    else if (work->fault ? is_lines(driver) || driver->log : !work->is_written)
        if (write_result(driver, out, work, arena, err))
            return -1;
    if (is_array && (work->job + 1) * driver->jobs_of_result == driver->end)
        stream_text(out, "]\n");
    driver->written += !work->fault;
    if (driver->task->note && !driver->is_batch && !driver->accumulates)
        driver->task->note(driver->state, work);
    return 0;
}

int driver_count_failure(struct driver *driver, const struct work *work, struct err *err)
{
    if (!driver->failed++)
        driver->failure = arena_text(&driver->kept, work->message, strlen(work->message), err);
    return driver->failure ? 0 : -1;
}

int driver_write_works(struct driver *driver, struct work *works, size_t count, struct arena *arena,
                       struct err *err)
{
    if (!driver->log && output_open(&driver->output, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct work *work = &works[i];
        if (driver->task->add && !work->fault && driver->task->add(driver->state, work, err))
            return -1;
        if (driver->derivation.mean_of_texts
                ? text_mean_add(&driver->mean, &work->report, err)
                : !driver->accumulates && write_work(driver, work, arena, err))
            return -1;
        if (work->fault && driver_count_failure(driver, work, err))
            return -1;
    }
    return log_flush(driver->log, err);
}

int driver_write(struct driver *driver, const struct report *report, struct err *err)
{
    struct work work = {
        .job = driver->setting, .index = SIZE_MAX, .before = SIZE_MAX, .report = *report};
    return err_if((!driver->log && output_open(&driver->output, err)) ||
                  write_work(driver, &work, &driver->session.arena, err) ||
                  log_flush(driver->log, err));
}

int driver_write_mean(struct driver *driver, struct err *err)
{
    struct report report;
    const struct output *output = &driver->output;
    bool holds_one = format_is(output->format, "npy") && !output->to_folder;
    bool counts = !format_is_looked_at(output->format) && !holds_one;
    struct arena *arena = &driver->session.arena;
    int failed = text_mean_report(&report, &driver->mean, driver->session.viewer.tokenizer, counts,
                                  arena, err) ||
                 driver_write(driver, &report, err);
    text_mean_release(&driver->mean);
    return err_if(failed);
}
