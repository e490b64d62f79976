/* batch_command.c: `attn-cli batch`: another command over many texts and settings, resumable.
 *
 * The loop is the driver's; here are the header of the log, --dry-run, --join and the exit status.
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/names.h"
#include "base/num.h"
#include "base/sha256.h"
#include "command.h"
#include "driver.h"
#include "model/model.h"
#include "write/table.h"

static bool done_at(struct value *value, size_t index)
{
    for (size_t i = 0; i < command_count; i++)
        if (commands[i]->task && !index--) {
            value->name = commands[i]->name;
            value->about = commands[i]->about;
            return true;
        }
    return false;
}
static const struct value_list values_done = {"done", NULL, done_at, NULL};

WORDS(shards, NULL, {"auto", "from Slurm, Open MPI or PMI variables"})

static const struct option_row own_options[] = {
    STRING("do", 0, "COMMAND", IN(batch.instrument),
           "run this command on each text: run (default), heads, score, lens, attribute, patch or "
           "generate",
           .heading = "Batch", .values = &values_done, .flags = OPTION_FIXED),
    STRINGS("sweep", 0, "NAME=LIST", IN(batch.sweeps),
            "run each item with each value of an option (repeatable): head=0-3, model=life,journey",
            .values = &values_settings, .flags = OPTION_FIXED),
    INTEGER("repeat", 0, "N", IN(batch.repeat), 1, 1000000,
            "run each item N times with different seeds", .flags = OPTION_FIXED),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX / 2,
            "first seed (default: 0); repetition I uses N + I"),
    STRING("shard", 0, "I/N|auto", IN(batch.shard),
           "process part I of N; auto: from Slurm, Open MPI or PMI variables",
           .values = &values_shards, .flags = OPTION_PROCESS),
    FLAG("join", 0, IN(batch.join),
         "join the logs of all shards: --join out.jsonl.*.part -o out.jsonl",
         .flags = OPTION_PROCESS),
    FLAG("resume", 0, IN(batch.resume),
         "continue an interrupted batch; a finished batch repeats its exit status",
         .flags = OPTION_PROCESS),
    FLAG("force", 0, IN(output.force), "replace existing results", .flags = OPTION_PROCESS),
    FLAG("fail-fast", 0, IN(batch.fail_fast), "stop at the first item that fails",
         .flags = OPTION_PROCESS),
    FLAG("dry-run", 0, IN(batch.dry_run), "show counts, sizes and items, and compute nothing",
         .flags = OPTION_PROCESS),
    STRING("file", 'f', "FILE", IN(input.file),
           "texts: one per line, or CSV / JSONL with a column \"text\" (also as an operand)",
           .heading = "Input", .flags = OPTION_FIXED),
    STRING("output", 'o', "PATH", IN(output.path),
           "file, or folder/ for one file per item (default: standard output)", .heading = "Output",
           .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", IN(output.format),
           "output format (default: jsonl; see 'help formats')", .values = &values_formats,
           .flags = OPTION_FIXED),
    FLAG("verbose", 'v', IN(verbose), "print the model, the settings and the time taken",
         .heading = "Running", .flags = OPTION_PROCESS),
    {0},
};

const struct command command_batch = {
    .name = "batch",
    .group = "Scale",
    .about = "run a command over many texts and settings, resumable",
    .operands = "[FILE|TEXT...|LOG...]",
    .examples =
        "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --head 0\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --sweep model=tiny,life\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --format csv -o matrices/\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --do score --words\n"
        "printf 'Life is short\\neat dessert\\n' > two.txt\n"
        "for i in 1 2; do attn-cli batch two.txt --head 0 -o two.jsonl --shard $i/2; done\n"
        "attn-cli batch --join two.jsonl.*.part -o two.jsonl\n",
    .run = batch_command,
    .options = own_options,
    .done = &command_run,
    .reads_texts = true,
};

/* --- the header of a log ---------------------------------------------------------------------- */

/* Append a name and the digest of what was hashed. */
static void add_digest(struct buf *text, const char *name, struct sha256 *hash)
{
    char digits[SHA256_DIGITS + 1];
    sha256_end(hash, digits);
    buf_format(text, "%s%s sha256:%s", text->size ? ", " : "", name, digits);
}

static int add_file(struct buf *text, const char *path, struct err *err)
{
    struct file file = {0};
    struct sha256 hash;
    if (file_map(&file, path, err))
        return -1;
    sha256_begin(&hash);
    sha256_add(&hash, file.bytes, file.size);
    add_digest(text, path, &hash);
    file_release(&file);
    return 0;
}

/* The file whose values an edit takes, at its end: 'v + steer.npy'. */
static int add_file_of_edit(struct buf *text, const char *edit, struct err *err)
{
    const char *name = strrchr(edit, '+');
    name = name ? name : strrchr(edit, '=');
    if (!name || !name_ends_in(edit, ".npy"))
        return 0;
    return add_file(text, name + 1 + strspn(name + 1, " "), err);
}

/* Every file that results depend on, but for the models. */
static const char *make_input(const struct driver *driver, struct arena *arena, struct err *err)
{
    const struct items *items = &driver->items;
    const struct options *options = driver->options;
    const struct sweep *sweep = &driver->sweep;
    const char *reference = options->edit.reference;
    const char *const files[] = {reference && strcmp(reference, "-") == 0 ? NULL : reference,
                                 options->heads.pairs, options->heads.needles};
    struct buf text = {0};
    struct sha256 hash;
    int failed = 0;
    if (items->path) {
        sha256_begin(&hash);
        sha256_add(&hash, items->file.bytes, items->file.size);
        add_digest(&text, shown_path(items->path), &hash);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = files[i] && add_file(&text, files[i], err);
    for (size_t i = 0; i < options->edit.edits.count && !failed; i++)
        failed = add_file_of_edit(&text, options->edit.edits.items[i], err);
    for (size_t i = 0; i < sweep->count; i++)
        for (size_t k = 0; k < sweep->items[i].count && !failed; k++)
            failed = strcmp(sweep->items[i].name, "edit") == 0 &&
                     add_file_of_edit(&text, sweep->items[i].values[k], err);
    const char *kept = failed ? NULL : buf_keep(&text, arena, err);
    buf_release(&text);
    return kept;
}

/* A model by a sample of its weights, which are large, and the files that describe them. */
static int add_model(struct buf *text, const char *name, struct err *err)
{
    struct model model = {0};
    char digits[WEIGHTS_SAMPLE_DIGITS + 1];
    struct sha256 hash;
    if (model_open(&model, name, err))
        return -1;
    weights_sample_hash(&model.weights, digits);
    sha256_begin(&hash);
    sha256_add(&hash, digits, sizeof digits);
    int failed = 0;
    for (size_t i = 0; i <= TOKENIZER_FILES && !failed; i++) {
        const char *part = i == 0 ? "config.json" : tokenizer_file_name(i - 1);
        struct file file = {0};
        if (!folder_has(&model.folder, part))
            continue;
        failed = folder_open(&file, &model.folder, part, err);
        if (!failed) {
            sha256_add(&hash, part, strlen(part) + 1);
            sha256_add(&hash, file.bytes, file.size);
        }
        file_release(&file);
    }
    if (!failed)
        add_digest(text, model.name, &hash);
    model_release(&model);
    return failed ? -1 : 0;
}

/* Each model once; and the instructions for bf16, on which its bits depend. */
static const char *make_models(const struct driver *driver, struct arena *arena, struct err *err)
{
    const struct sweep *sweep = &driver->sweep;
    bool uses_bf16 = driver->session.precision == PRECISION_BF16;
    bool swept = false;
    struct buf text = {0};
    int failed = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct swept_option *option = &sweep->items[i];
        uses_bf16 |= strcmp(option->name, "precision") == 0;
        if (strcmp(option->name, "model") != 0)
            continue;
        swept = true;
        for (size_t k = 0; k < option->count && !failed; k++)
            failed = add_model(&text, option->values[k], err);
    }
    failed = failed || (!swept && add_model(&text, chosen_model(driver->options->model.name), err));
    if (uses_bf16)
        buf_format(&text, ", bf16 by %s",
                   pair_way_name(kernels_pair_way(driver->session.viewer.machine.kernels)));
    const char *kept = failed ? NULL : buf_keep(&text, arena, err);
    buf_release(&text);
    return kept;
}

/* --- a batch with a log ----------------------------------------------------------------------- */

/* What has a name and can be written only in place gets no log: a device, a pipe. */
static bool is_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int open_log(struct log *log, struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    const struct output *output = &driver->output;
    struct arena *arena = &driver->kept;
    const char *format = arena_format(arena, err, "%s%s", output->to_folder ? "folder of " : "",
                                      output->format->name);
    struct log_plan plan = {
        .path = output->path,
        .is_folder = output->to_folder,
        .shard = driver->shard,
        .jobs = driver->jobs,
        .facts = {[LOG_COMMAND] = arena_format(arena, err, "batch%s", options->line),
                  [LOG_INPUT] = make_input(driver, arena, err),
                  [LOG_MODELS] = make_models(driver, arena, err),
                  [LOG_RESULTS] = format},
        .resumes = options->batch.resume,
        .forces = options->output.force,
    };
    if (!format || !plan.facts[LOG_COMMAND] || !plan.facts[LOG_INPUT] || !plan.facts[LOG_MODELS] ||
        log_open(log, &plan, err) || (plan.is_folder && file_make_directory(plan.path, err)))
        return -1;
    driver->log = log;
    driver->written = log->done - log->failed;
    driver->survey.failed = log->failed;
    return 0;
}

/* The batch went on without the failed items; where the output has no place for errors, each was
 * printed. */
static int fail(size_t failed, size_t jobs, const char *first, struct err *err)
{
    err_failed(err, "%zu of %zu items failed", failed, jobs);
    if (first && *first)
        err_append(err, "%s: %s", failed > 1 ? ", the first" : "", first);
    return -1;
}

static int run_logged(struct driver *driver, struct err *err)
{
    struct log log = {.lock = -1, .descriptor = -1};
    struct buf hint = {0};
    int failed = open_log(&log, driver, err);
    if (!failed) {
        buf_text(&hint, "attn-cli: interrupted: '");
        label_visible(&hint, log.part, strlen(log.part));
        buf_text(&hint, "' has what is done: the same command with --resume continues\n");
        failed = buf_check(&hint, err);
    }
    signals_hint(failed || driver->options->quiet ? NULL : hint.bytes);
    stream_sync_later(driver->output.to_folder);
    failed =
        failed || (!log.finished && driver_run(driver, log.done, err)) || log_finish(&log, err);
    stream_sync_later(false);
    signals_hint(NULL);
    if (!failed && log.failed)
        failed = fail(log.failed, log.done, log.failure.bytes, err);
    log_close(&log);
    buf_release(&hint);
    return failed ? -1 : 0;
}

static int run_batch(struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    bool has_log = !driver->output.to_stdout && !is_device(options->output.path);
    if (options->batch.resume && !has_log)
        return err_usage(err, "--resume: expected results in a place of their own: give -o");
    if (has_log)
        return run_logged(driver, err);
    if (driver_run(driver, 0, err))
        return -1;
    return driver->survey.failed ? fail(driver->survey.failed, driver->end - driver->first,
                                        driver->survey.complaint, err)
                                 : 0;
}

/* --- --dry-run -------------------------------------------------------------------------------- */

/*     3 jobs, 1 for each item; 1 broken
 *     5 tokens, at most 3 in a text
 *     320 B as float32; csv and json take about three times that
 *     copied to the output: region
 *
 *     item         tokens  float32
 *     0000              3  288 B
 *     0001,head=1       2  32 B
 *     0002          error  'texts' line 3: word 'zebra' at byte 3 is not in the vocabulary
 */
static int preview_work(void *context, struct driver *driver, struct work *work, struct err *err)
{
    struct table *table = context;
    struct arena arena = {0};
    char size[NUM_SIZE_BYTES];
    const char *name = driver_name(driver, work, &arena, err);
    label_line(&table->cell, name ? name : "", name ? strlen(name) : 0);
    table_put(table);
    if (work->fault) {
        table_text(table, "error");
        label_line(&table->cell, work->message, strlen(work->message));
        table_put(table);
    } else {
        table_number(table, work->pair.sentence.count);
        if (driver->task->result_bytes)
            table_text(table,
                       num_size(size, driver->task->result_bytes(driver->state, driver, work)));
    }
    table_end(table);
    arena_release(&arena);
    return !name || buf_check(&table->line, err) ? -1 : 0;
}

static void write_summary(struct stream *out, const struct driver *driver)
{
    const struct survey *survey = &driver->survey;
    char size[NUM_SIZE_BYTES];
    size_t jobs = driver->end - driver->first;
    stream_format(out, "%zu job%s", jobs, num_plural(jobs));
    if (driver->shard.count)
        stream_format(out, " of %zu in all, shard %zu of %zu", driver->jobs, driver->shard.index,
                      driver->shard.count);
    stream_format(out, ", %zu for each item; %zu broken\n", driver->sweep.settings, survey->broken);
    stream_format(out, "%zu tokens, at most %zu in a text\n", survey->tokens, survey->longest);
    if (driver->task->result_bytes)
        stream_format(out, "%s as float32; csv and json take about three times that\n",
                      num_size(size, survey->bytes));
    for (size_t i = 0; i < driver->items.name_count; i++) {
        stream_text(out, i ? ", " : "copied to the output: ");
        label_write_line(out, driver->items.names[i], strlen(driver->items.names[i]));
    }
    stream_text(out, driver->items.name_count ? "\n" : "");
}

static int preview_batch(struct driver *driver, struct err *err)
{
    const struct survey *survey = &driver->survey;
    const struct table_column columns[] = {
        {"item", .width = 30, .left = true, .shortens = true},
        {"tokens", .gap = 2, .width = 6},
        {driver->task->result_bytes ? "float32" : NULL, .gap = 2},
    };
    struct stream out = {0};
    struct table table = {.out = &out};
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    write_summary(&out, driver);
    table_begin(&table, columns, 3);
    table_titles(&table);
    int failed = driver_each(driver, preview_work, &table, err);
    failed |= table_close(&table, failed ? NULL : err);
    if (stream_end(&out, failed, err))
        return -1;
    if (!survey->broken)
        return 0;
    return err_failed(err, "%zu of %zu items would fail%s: %s", survey->broken,
                      driver->end - driver->first, survey->broken > 1 ? ", the first" : "",
                      survey->complaint);
}

/* --- --join ----------------------------------------------------------------------------------- */

/* The format of the result: that of the shards, of which json and jsonl hold the same lines. */
static int check_joined(bool *is_array, const struct log *joined, const struct options *options,
                        struct err *err)
{
    const struct format_table table = FORMAT_TABLE(format_rows, format_count);
    const char *path = options->output.path;
    const char *results = joined->facts[LOG_RESULTS];
    bool is_standard = output_is_standard(path);
    bool to_folder =
        !is_standard && *path && (path[strlen(path) - 1] == '/' || file_is_directory(path));
    bool is_lines = strcmp(results, "json") == 0 || strcmp(results, "jsonl") == 0;
    size_t index = 0;
    *is_array = strcmp(results, "json") == 0;
    if (to_folder != joined->plan.is_folder)
        return err_usage(err, "--join: expected %s as --output, found '%s'",
                         to_folder ? "a file" : "the folder of the shards", path ? path : "none");
    if (to_folder ||
        (!options->output.format && (is_standard || !format_find_ending(&index, &table, path))))
        return 0;
    const struct format *format = format_choose(&table, &options->output, err);
    if (!format)
        return -1;
    *is_array = format_is(format, "json");
    if (format_is(format, results) || (is_lines && (*is_array || format_is(format, "jsonl"))))
        return 0;
    return err_usage(err,
                     "--join: expected --format %s, in which the shards are, found %s: run the "
                     "shards with --format %s",
                     results, format->name, format->name);
}

static int join_logs(const struct options *options, struct err *err)
{
    const struct texts *logs = &options->input.operands;
    struct log joined;
    bool is_array = false;
    const char *path = output_is_standard(options->output.path) ? NULL : options->output.path;
    if (!logs->count)
        return err_usage(err, "--join: expected the logs of all shards, as out.jsonl.*.part");
    int failed = log_join(&joined, logs->items, logs->count, err) ||
                 check_joined(&is_array, &joined, options, err) ||
                 (joined.plan.is_folder && output_clear_folder(path, err)) ||
                 log_write_results(&joined, path, is_array, err);
    if (!failed && joined.failed)
        failed = fail(joined.failed, joined.done, joined.failure.bytes, err);
    log_close(&joined);
    return failed ? -1 : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

/* One operand is the file, as --file, unless it has a blank and no file has that name. */
static int read_operand(struct options *options, struct err *err)
{
    struct texts *operands = &options->input.operands;
    const char *first = operands->count ? operands->items[0] : "";
    if (!operands->count || (strchr(first, ' ') && !file_exists(first)))
        return 0;
    if (operands->count > 1 || options->input.file)
        return err_usage(err, "expected one file, found '%s' as well",
                         operands->count > 1 ? operands->items[1] : options->input.file);
    options->input.file = first;
    operands->count = 0;
    return 0;
}

static int check_options(const struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    if (options->batch.resume && options->output.force)
        return err_usage(err, "--resume, --force: expected one of them, found both");
    if (format_is(driver->output.format, "html") && !driver->output.to_folder)
        return err_usage(err, "--format html: 'attn-cli page --file FILE' writes a page of many "
                              "texts");
    return 0;
}

int batch_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    struct driver driver = {.is_batch = true};
    if (options->batch.join)
        return join_logs(options, err);
    if (!own.output.format && (output_is_standard(own.output.path) || is_device(own.output.path)))
        own.output.format = "jsonl";
    heap_give_back();
    int failed = read_operand(&own, err) ||
                 driver_prepare(&driver, own.set.done->task, &own, err) ||
                 check_options(&driver, err) || driver_check(&driver, err);
    failed = failed || (own.batch.dry_run ? preview_batch : run_batch)(&driver, err);
    driver_release(&driver);
    return failed ? -1 : 0;
}
