/* batch_command.c: `attn-cli batch`: runs another command on many texts and, with --sweep, with
 * several values of its options; can be resumed. driver.c runs the jobs. This file writes the facts
 * in the log's header, and implements --dry-run and --join. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "model/model.h"
#include "say.h"

static bool done_at(struct value *value, size_t index, const struct command_list *all)
{
    for (size_t i = 0; all && i < all->count; i++)
        if (all->items[i]->task && !index--) {
            *value = (struct value){.name = all->items[i]->name, .about = all->items[i]->about};
            return true;
        }
    return false;
}
static const struct value_list values_done = {"done", NULL, done_at};

/* Set `*value` to option number `index` of the options of batch, and of its default command `run`,
 * that --sweep may vary. Returns false after the last option. */
static bool settings_at(struct value *value, size_t index, const struct command_list *all)
{
    (void)all;
    static char brief[80];
    struct option_walk walk = {.set = command_set(&command_batch)};
    while (option_next(&walk)) {
        if (walk.row->flags & OPTION_UNSWEPT || index--)
            continue;
        snprintf(brief, sizeof brief, "%.*s", (int)option_brief_bytes(walk.row), walk.row->about);
        *value = (struct value){.name = walk.row->name, .end = '=', .about = brief};
        return true;
    }
    return false;
}
static const struct value_list values_settings = {"settings", NULL, settings_at};

WORDS_(, shards, NULL, {"auto", "from Slurm, Open MPI or PMI variables"})

static const struct option_row own_options[] = {
    STRING("do", 0, "COMMAND", IN(batch.instrument),
           "command to run on each text (default: run); run, heads, score, lens, attribute, patch, "
           "generate or examples",
           .values = &values_done, .flags = OPTION_FIXED, .heading = "Batch"),
    STRINGS("sweep", 0, "NAME=LIST", IN(batch.sweeps),
            "each value of an option, in turn; repeatable; each text is run with each value: "
            "head=0-3, model=life,journey, ablate=9.0-8,9.6+10.0, dropout=0:0.4:0.1",
            .values = &values_settings, .flags = OPTION_FIXED),
    INTEGER("repeat", 0, "N", IN(batch.repeat), 1, 1000000,
            "run each text N times with different seeds", .flags = OPTION_FIXED),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX / 2,
            "first seed (default: 0); repetition I uses N + I"),
    FLAG("resume", 0, IN(batch.resume),
         "continue an interrupted batch; a finished batch repeats its exit status",
         .flags = OPTION_PROCESS, .heading = "Progress"),
    FLAG("dry-run", 0, IN(batch.dry_run),
         "counts, sizes and items that would fail; computes nothing", .flags = OPTION_PROCESS),
    FLAG("fail-fast", 0, IN(batch.fail_fast), "stop at the first text that fails",
         .flags = OPTION_PROCESS),
    FLAG("verbose", 'v', IN(verbose), "also print the model, settings and run time",
         .flags = OPTION_PROCESS),
    STRING("shard", 0, "I/N|auto", IN(batch.shard),
           "process part I of N; auto: from Slurm, Open MPI or PMI variables",
           .values = &values_shards, .flags = OPTION_PROCESS, .heading = "Several machines"),
    FLAG("join", 0, IN(batch.join),
         "join the logs of all shards; --join out.jsonl.*.part -o out.jsonl",
         .flags = OPTION_PROCESS),
    STRING("file", 'f', "FILE", IN(input.file),
           "texts: lines, or a table; CSV or JSONL with a column \"text\"; also as an operand",
           .flags = OPTION_FIXED, .heading = "Input"),
    STRING("output", 'o', "PATH", IN(output.path),
           "file, or folder/ with a folder for each text; default: standard output",
           .flags = OPTION_PROCESS, .heading = "Output"),
    STRING("format", 0, "FORMAT", IN(output.format),
           "output format (default: jsonl); see 'help formats'", .values = &values_formats,
           .flags = OPTION_FIXED),
    STRING("y", 0, "NAME", IN(batch.y),
           "with a figure as --output: the number to draw; over the first --sweep of numbers, with "
           "a line for each value of the others: a column or fact, the mean over texts and rows, "
           "or NAME:ROW; default: the first number",
           .flags = OPTION_FIXED),
    FLAG("force", 0, IN(output.force), "overwrite existing results", .flags = OPTION_PROCESS),
    {0},
};

static command_verb batch_command;

const struct command command_batch = {
    .name = "batch",
    .heading = "More",
    .about = "a command over many texts and settings, resumable",
    .operands = "[FILE|TEXT...|LOG...]",
    .most_used = "-f texts.csv\n"
                 "--do score\tcommand (default: run)\n"
                 "--sweep head=0-3\tvalues of an option, in turn\n"
                 "-o results.jsonl\tfile, or folder/\n"
                 "--resume\tcontinue an interrupted batch\n"
                 "--dry-run\tcounts and sizes, without results\n"
                 "--shard 1/4\n",
    .note = "The options of the command in --do are options of batch: see help run.",
    .examples =
        "printf 'Life is short\\neat dessert\\n' > two.txt\n"
        "attn-cli batch two.txt --head 0\n"
        "attn-cli batch two.txt --sweep model=tiny,life\n"
        "attn-cli batch two.txt --do score --words\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --format csv -o matrices/\n"
        "for i in 1 2; do attn-cli batch two.txt --head 0 -o two.jsonl --shard $i/2; done\n"
        "attn-cli batch --join two.jsonl.*.part -o two.jsonl\n",
    .run = batch_command,
    .options = own_options,
    .done = &command_run,
};

/* --- the header of a log ---------------------------------------------------------------------- */

static void add_digest(struct buf *text, const char *name, const char *digits)
{
    buf_format(text, "%s%s sha256:%s", text->size ? ", " : "", name, digits);
}

/* Append the name of a file and the hash of its bytes. `read` is its content if it was read before,
 * else NULL. */
static int add_file(struct buf *text, const char *path, const struct file *read, struct err *err)
{
    char digits[SHA256_DIGITS + 1];
    if (file_hash(digits, path, read, err))
        return -1;
    add_digest(text, path, digits);
    return 0;
}

/* Append the name of a model and a hash of its config, its tokenizer files and a sample of its
 * weights. The weights are only sampled because hashing them all takes long. */
static int add_model(struct buf *text, const char *name, struct err *err)
{
    struct model model = {0};
    char digits[WEIGHTS_SAMPLE_DIGITS + 1], whole[SHA256_DIGITS + 1];
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
    sha256_end(&hash, whole);
    if (!failed)
        add_digest(text, model.name, whole);
    model_release(&model);
    return err_if(failed);
}

/* The files that results depend on. `text`: names and hashes of the files; `seen`: paths of the
 * files that options name, each once. */
struct inputs {
    struct buf text;
    struct texts seen;
    struct arena *arena;
};

static int add_input(void *context, const char *path, struct err *err)
{
    struct inputs *inputs = context;
    for (size_t i = 0; i < inputs->seen.count; i++)
        if (strcmp(inputs->seen.items[i], path) == 0)
            return 0;
    return err_if(texts_add(&inputs->seen, path, inputs->arena, err) ||
                  add_file(&inputs->text, path, NULL, err));
}

/* Append the names and hashes of all models, and of the input files of all settings of --sweep,
 * including settings that other shards run. For bf16, also append the machine's bf16 instructions,
 * since results depend on them. */
static int add_files(struct buf *models, struct inputs *inputs, const struct driver *driver,
                     struct err *err)
{
    struct sweep sweep; /* read again: driver->sweep must keep the values of the open setting */
    const char *path = driver->items.path;
    if ((path && add_file(&inputs->text, shown_path(path), &driver->items.file, err)) ||
        sweep_read(&sweep, driver->options, inputs->arena, err))
        return -1;
    for (size_t i = 0; i < sweep.settings; i++) {
        struct options options;
        if (sweep_set(&sweep, i, &options, inputs->arena, err) ||
            options_files(&options, add_input, inputs, inputs->arena, err))
            return -1;
    }
    for (size_t i = 0; i < sweep.count; i++) {
        const struct swept_option *swept = &sweep.items[i];
        for (size_t k = 0; strcmp(swept->name, "model") == 0 && k < swept->values.count; k++)
            if (add_model(models, swept->values.items[k], err))
                return -1;
    }
    if (!models->size && add_model(models, chosen_model(driver->current.model.name), err))
        return -1;
    if (driver->session.precision == PRECISION_BF16 || sweep_has(&sweep, "precision"))
        buf_format(models, ", bf16 by %s",
                   pair_way_name(kernels_pair_way(driver->session.viewer.machine.kernels)));
    return 0;
}

/* --- a batch ---------------------------------------------------------------------------------- */

/* True if a batch can keep a log next to its output: a file or folder, but not standard output, a
 * device or a pipe. */
static bool gets_log(const char *path)
{
    struct stat status;
    return !output_is_standard(path) &&
           (stat(path, &status) || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

static int open_log(struct log *log, struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    const struct output *output = &driver->output;
    struct arena *arena = &driver->kept;
    struct inputs inputs = {.arena = arena};
    struct buf models = {0};
    int failed = add_files(&models, &inputs, driver, err);
    *log = (struct log){
        .path = output->path,
        .rows_path = driver->identity.stacked ? output_rows_path(output->path, arena, err) : NULL,
        .arena = arena,
        .is_folder = output->to_folder,
        .resumes = options->batch.resume,
        .forces = options->output.force,
        .shard = driver->shard,
        .jobs = driver->jobs / driver->jobs_of_result,
        .facts = {[LOG_COMMAND] = arena_format(arena, err, "batch%s", options->line),
                  [LOG_INPUT] = buf_keep(&inputs.text, arena, err),
                  [LOG_MODELS] = buf_keep(&models, arena, err),
                  [LOG_RESULTS] =
                      arena_format(arena, err, "%s%s", output->to_folder ? "folder of " : "",
                                   output->format->name)}};
    if (failed || log_open(log, err) || (log->is_folder && file_make_directory(log->path, err)))
        return -1;
    if (log->resumes && log->done)
        print_note("'%s': %zu of %zu %s skipped: already done", log->name, log->done,
                   log->end - log->first, driver->accumulates ? "results" : "items");
    driver->log = log;
    driver->written = log->done - log->failed;
    driver->failed = log->failed;
    driver->failure = log->failure;
    return 0;
}

static int run_logged(struct driver *driver, struct err *err)
{
    struct log log;
    struct buf hint = {0};
    int failed = open_log(&log, driver, err);
    const char *text = NULL;
    if (!failed) {
        buf_text(&hint, "attn-cli: interrupted: add --resume to the command to continue; finished "
                        "items, if any, are in '");
        label_visible(&hint, log.part, strlen(log.part));
        buf_text(&hint, "'\n");
        text = buf_keep(&hint, &driver->kept, err);
        failed = !text;
    }
    signals_hint(failed || driver->options->quiet ? "" : text);
    stream_sync_later(driver->output.to_folder);
    failed = failed || (!log.finished && driver_run(driver, log.done, err)) ||
             log_finish(&log, driver->failed, driver->failure, err);
    stream_sync_later(false);
    signals_hint("");
    log_close(&log);
    return err_if(failed);
}

static int run_batch(struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    const char *path = options->output.path;
    bool has_log = gets_log(path) && !driver->dose;
    if (driver->dose && (options->batch.resume || options->batch.shard))
        return err_usage(err, "--%s: expected results that a log can hold, found one figure of all",
                         options->batch.resume ? "resume" : "shard");
    if (driver->dose && !options->output.force && !output_is_standard(path) && file_exists(path))
        return err_output(err, "'%s' exists: --force overwrites it", path);
    if (options->batch.resume && !has_log)
        return err_usage(err, "--resume: expected a file or a folder as --output, found %s",
                         driver->output.to_stdout ? "standard output" : options->output.path);
    return err_if((has_log ? run_logged(driver, err) : driver_run(driver, 0, err)) ||
                  items_check_failed(driver->failed, driver->end - driver->first, "failed",
                                     driver->failure, err));
}

/* Print the summary of --dry-run, after the items that would fail:
 *
 *     3 jobs, 1 for each item; 1 would fail
 *     5 tokens, at most 3 in a text
 *     1.2 MiB of memory, not counting the weights file
 *     320 B as float32; csv and json take about three times that
 */
static int preview_batch(struct driver *driver, struct err *err)
{
    const struct survey *survey = &driver->survey;
    size_t jobs = driver->end - driver->first;
    char size[NUM_SIZE_BYTES];
    struct stream out = {0};
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    stream_format(&out, "%zu job%s", jobs, num_plural(jobs));
    if (driver->shard.count)
        stream_format(&out, " of %zu, shard %zu of %zu", driver->jobs, driver->shard.index,
                      driver->shard.count);
    stream_format(&out, ", %zu for each item; %zu would fail\n", driver->sweep.settings,
                  driver->failed);
    stream_format(&out, "%zu tokens, at most %zu in a text\n", survey->tokens, survey->longest);
    stream_format(&out, "%s of memory, not counting the weights file\n",
                  num_size(size, (uint64_t)fmin(driver_memory(driver), 0x1p63)));
    if (survey->bytes > 0)
        stream_format(&out, "%s as float32; csv and json take about three times that\n",
                      num_size(size, (uint64_t)fmin(survey->bytes, 0x1p63)));
    return err_if(stream_end(&out, 0, err) ||
                  items_check_failed(driver->failed, jobs, "would fail", driver->failure, err));
}

/* --- --join ----------------------------------------------------------------------------------- */

/* Choose the format of the joined result: by default the format of the shards. Shards in json can
 * be joined as jsonl, and shards in jsonl as json, since both formats have the same log. */
static int choose_joined(struct log *shards, const struct options *options, struct err *err)
{
    const char *path = options->output.path;
    const char *results = shards->facts[LOG_RESULTS];
    bool is_lines = strncmp(results, "json", 4) == 0;
    if (output_is_folder(path) != shards->is_folder)
        return err_usage(err, "--join: expected %s as --output, found '%s'",
                         shards->is_folder ? "the folder of the shards" : "a file",
                         path ? path : "none");
    if (shards->is_folder || (!options->output.format && (output_is_standard(path) ||
                                                          !format_find_ending(path, FORMAT_COUNT))))
        return 0;
    const struct format *format = format_choose(FORMAT_COUNT, &options->output, err);
    if (format && !format_is(format, is_lines ? "json jsonl" : results))
        err_usage(err, "--join: expected --format %s, as the shards have, found %s", results,
                  format->name);
    else if (format)
        shards->facts[LOG_RESULTS] = format->name;
    return err_if(err->kind);
}

static int join_logs(const struct options *options, struct err *err)
{
    const struct texts *paths = &options->input.operands;
    struct arena arena = {0};
    size_t broken = 0;
    const char *failure = NULL, *columns = options_are_given(options, "regions word-column");
    if (columns)
        return err_usage(err,
                         "--join: in batch it joins the logs of shards, without --%s: 'attn-cli %s "
                         "--file FILE --%s … --join TEXT' puts a text between cells, and reads all "
                         "rows of a table, too",
                         columns, options->set.done->name, columns);
    if (!paths->count)
        return err_usage(err, "--join: expected the logs of all shards, such as out.jsonl.*.part");
    struct log **logs = log_join(paths->items, paths->count, &arena, err);
    bool failed = !logs || choose_joined(logs[0], options, err) ||
                  log_write_results(logs, paths->count, options->output.path, err);
    for (size_t i = paths->count; !failed && i-- > 0;) {
        broken += logs[i]->failed;
        failure = logs[i]->failed ? logs[i]->failure : failure;
    }
    failed =
        failed || items_check_failed(broken, logs[paths->count - 1]->end, "failed", failure, err);
    arena_release(&arena);
    return err_if(failed);
}

/* --- the command ------------------------------------------------------------------------------ */

static int batch_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    struct driver driver = {.is_batch = true};
    struct texts *operands = &own.input.operands;
    const char *first = operands->count ? operands->items[0] : NULL;
    if (options->batch.join)
        return join_logs(options, err);
    if (!own.output.format && !gets_log(own.output.path))
        own.output.format = "jsonl";
    heap_give_back();
    if (options_exclude(&own, "resume", "force", err))
        return -1;
    /* an operand that is a file, or a word without blanks, names a file, as --file does */
    if (first && (!strchr(first, ' ') || file_exists(first))) {
        if (operands->count > 1 || own.input.file)
            return err_usage(err, "expected one file, found '%s' as well",
                             operands->count > 1 ? operands->items[1] : own.input.file);
        own.input.file = first;
        operands->count = 0;
    }
    int failed = driver_prepare(&driver, command_task(own.set.done, &own), &own, err);
    if (!failed && format_is(driver.output.format, "html") && !driver.output.to_folder)
        failed = err_usage(err, "--format html: 'attn-cli page --file FILE' writes a page of many "
                                "texts");
    failed = failed || driver_check(&driver, err) ||
             (own.batch.dry_run ? preview_batch : run_batch)(&driver, err);
    driver_release(&driver);
    return err_if(failed);
}
