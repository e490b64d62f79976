#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/num.h"
#include "base/replacement.h"
#include "base/stream.h"
#include "command.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "output.h"

enum {
    NUMBER_BYTES = 24,
    MISSING_NAMED = 8,
    SUM_BYTES = 19, /* bytes of a checksum as a line of JSON: "0123456789abcdef" and a newline */
};

static const char header_begin[] = "{\"format\": \"attn-cli/batch/";
static const char items_file[] = "items.jsonl";

static const char *const fact_names[LOG_FACTS] = {
    [LOG_VERSION] = "version", [LOG_COMMAND] = "command", [LOG_INPUT] = "input",
    [LOG_MODELS] = "models",   [LOG_RESULTS] = "results", [LOG_JOBS] = "jobs",
    [LOG_SHARD] = "shard",     [LOG_FAILED] = "failed",   [LOG_FAILURE] = "failure"};

/* Indices of facts: the first line of NAME.batch has the facts from [0] up to [1], its last line
 * the facts from [1] up to [2]. */
static const size_t line_begins[] = {0, LOG_FAILED, LOG_FACTS};

/* --- files ------------------------------------------------------------------------------------ */

static int name_files(struct log *log, const char *name, struct err *err)
{
    log->name = name;
    log->part = name ? arena_format(log->arena, err, "%s.part", name) : NULL;
    log->header = name ? arena_format(log->arena, err, "%s.batch", name) : NULL;
    return log->part && log->header ? 0 : -1;
}

static int refuse_write(const char *path, int error, struct err *err)
{
    return err_output(err, "cannot write '%s': %s", path, strerror(error));
}

static int open_file(int *descriptor, const char *path, int flags, struct err *err)
{
    struct stat status;
    *descriptor =
        open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (*descriptor < 0)
        return refuse_write(path, errno, err);
    return fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode)
               ? 0
               : err_output(err, "'%s': expected a file, found something else", path);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A part of a mapped file: a line without its newline, or the rest of the file. */
struct log_span {
    const char *at, *end;
};

/* Get the next complete line. A last line without a newline is ignored: writing it was
 * interrupted. */
static bool next_line(struct log_span *line, struct log_span *rest)
{
    const char *newline = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    if (!newline)
        return false;
    *line = (struct log_span){rest->at, newline};
    rest->at = newline + 1;
    return true;
}

static bool skip(struct log_span *span, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(span->end - span->at) < size || memcmp(span->at, text, size) != 0)
        return false;
    span->at += size;
    return true;
}

static void print_sum(char text[SUM_BYTES + 1], uint64_t sum)
{
    snprintf(text, SUM_BYTES + 1, "\"%016" PRIx64 "\"\n", sum);
}

void log_end_line(struct log *log)
{
    char text[SUM_BYTES + 1];
    print_sum(text, log->sum);
    stream_text(&log->sums, text);
    log->sum = HASH_FNV_BEGIN;
}

/* Count a line that is already in the log; if it is a failure, count the failure, and keep the
 * first message. */
static int count_line(struct log *log, struct log_span line, struct log_span value, struct err *err)
{
    struct json *root = NULL;
    const char *message = "";
    log->done++;
    if (!skip(&value, "\"error\": ") || log->failed++)
        return 0;
    if (json_parse(&root, line.at, (size_t)(line.end - line.at), err))
        return -1;
    int failed = json_text(json_member(root, "error"), "message", &message, err);
    log->failure = arena_text(log->arena, message, strlen(message), err);
    json_free(root);
    return err_if(failed || !log->failure);
}

/* A result that is written from the lines of logs. */
struct assembly {
    /* `out`: the result; `rows`: if `rows_path` is set, the member "about" of each line that has
     * it */
    struct stream out, rows;
    const char *rows_path;
    /* `is_lines`: each line is a result; `is_array`: lines become an array of JSON */
    bool is_lines, is_array;
    bool begun; /* at least one result was written */
};

/* Add a line of a log to the result. With `is_lines`, add the line itself, even of a failure.
 * Otherwise add the bytes that the line contains as "output" or, if it has "next" and other results
 * come before, as "next"; the line of a failure adds nothing. */
static int add_line(struct assembly *result, struct log_span line, struct log_span value,
                    struct err *err)
{
    static const char digits[] = "0123456789abcdef";
    static const char about[] = ", \"about\": {";
    if (result->is_lines) {
        if (result->is_array)
            stream_text(&result->out, result->begun ? "," : "[");
        stream_bytes(&result->out, line.at, (size_t)(line.end - line.at));
        stream_char(&result->out, '\n');
        result->begun = true;
        return 0;
    }
    if (!skip(&value, "\"output\": \""))
        return 0;
    const char *quote = memchr(value.at, '"', (size_t)(value.end - value.at));
    struct log_span next = {quote ? quote : value.end, value.end};
    if (result->begun && skip(&next, "\", \"next\": \""))
        value = next;
    result->begun = true;
    for (; value.end - value.at >= 2 && *value.at != '"'; value.at += 2) {
        const char *high = strchr(digits, value.at[0]), *low = strchr(digits, value.at[1]);
        stream_char(&result->out,
                    high && low ? (char)((high - digits) * 16 + (low - digits)) : '?');
    }
    const char *row = memmem(value.at, (size_t)(value.end - value.at), about, sizeof about - 1);
    if (!row || !result->rows_path)
        return 0;
    if (!result->rows.buffer && (output_check_rows(result->rows_path, err) ||
                                 stream_open(&result->rows, result->rows_path, err)))
        return -1;
    row += sizeof about - 2;
    stream_bytes(&result->rows, row, (size_t)(value.end - row) - 1);
    stream_char(&result->rows, '\n');
    return 0;
}

/* Add the complete lines of NAME.part to `result` or, if `result` is NULL, count them. In an
 * unfinished log, lines without a checksum are not complete; finished logs of early versions have
 * no checksums. */
static int read_lines(struct log *log, struct assembly *result, struct err *err)
{
    struct file file = {0};
    int failed = file_map(&file, log->part, err);
    struct log_span rest = {file.bytes, file.bytes + file.size};
    for (size_t job = log->first; !failed; job++) {
        char begin[NUMBER_BYTES + sizeof "{\"job\": , "], sum[SUM_BYTES + 1];
        struct log_span line = rest;
        size_t index = job - log->first;
        bool has_old = index < log->old_sum_count;
        bool is_there = (has_old || log->finished) && next_line(&line, &rest);
        struct log_span value = line; /* the rest of the line after `{"job": 3, ` */
        if (!is_there && (!log->finished || job == log->end))
            break;
        snprintf(begin, sizeof begin, "{\"job\": %zu, ", job);
        if (has_old) /* compute the checksum of the line and its newline */
            print_sum(sum, hash_fnv(HASH_FNV_BEGIN, line.at, (size_t)(rest.at - line.at)));
        if (!is_there || job == log->end || !skip(&value, begin))
            failed = err_set(err, "expected job %zu of this batch, found %s: --force starts over",
                             job, is_there ? "something else" : "the end");
        else if (has_old && memcmp(sum, log->old_sums + index * SUM_BYTES, SUM_BYTES) != 0)
            failed = err_set(err,
                             "expected job %zu as it was written, found a changed line: "
                             "--force starts over",
                             job);
        else if (result)
            failed = add_line(result, line, value, err);
        else
            failed = count_line(log, line, value, err);
        if (failed)
            err_prefix(err, "'%s' line %zu", log->part, index + 1);
        file_forget(&file, rest.at);
    }
    log->whole_bytes = (size_t)(rest.at - file.bytes);
    file_release(&file);
    return err_if(failed);
}

/* --- the header ------------------------------------------------------------------------------- */

/* Truncate NAME.batch after `sums` checksums; new checksums are appended there. */
static int cut_header(struct log *log, size_t sums)
{
    off_t at = (off_t)(log->header_bytes + sums * SUM_BYTES);
    return ftruncate(log->header_file, at) || lseek(log->header_file, at, SEEK_SET) < 0;
}

/* Write the first line of NAME.batch, the header. With `is_end`, write its last line, after all
 * lines of the log are on disk. The line replaces the remains of an interrupted write. */
static int write_facts(struct log *log, bool is_end, struct err *err)
{
    struct buf line = {0};
    struct json_writer json = {.buf = &line};
    json_put_open(&json, NULL, '{');
    if (!is_end)
        json_put_text(&json, "format", "attn-cli/batch/2");
    for (size_t i = line_begins[is_end]; i < line_begins[is_end + 1]; i++)
        json_put_text(&json, fact_names[i], log->facts[i]);
    json_put_close(&json, '}');
    buf_char(&line, '\n');
    int failed = buf_check(&line, err);
    int file = log->header_file;
    size_t sums = is_end ? log->end - log->first : 0;
    log->header_bytes = is_end ? log->header_bytes : 0;
    if (!failed && ((is_end && fsync(log->part_file)) || cut_header(log, sums) ||
                    transfer_write(file, line.bytes, line.size) || (is_end && fsync(file))))
        failed = refuse_write(log->header, errno, err);
    log->header_bytes = is_end ? log->header_bytes : line.size;
    buf_release(&line);
    return err_if(failed);
}

/* Read the facts in a line of NAME.batch, and set the facts that `log` lacks. With --resume, the
 * facts that `log` has must be equal. */
static int read_facts(struct log *log, const struct json *line, bool is_end, struct err *err)
{
    long long failed = 0, jobs = 0;
    for (size_t i = line_begins[is_end]; i < line_begins[is_end + 1]; i++) {
        const char *value = "";
        const char **fact = &log->facts[i];
        if (json_text(line, fact_names[i], &value, err) ||
            (!*fact && !(*fact = arena_text(log->arena, value, strlen(value), err))))
            return -1;
        if (log->resumes && strcmp(value, *fact) != 0)
            return err_usage(err,
                             "%s: expected \"%s\" as at the start of the batch, found \"%s\": "
                             "--force starts over",
                             fact_names[i], value, *fact);
    }
    if (is_end && !num_parse_integer(log->facts[LOG_JOBS], 0, LLONG_MAX, &jobs))
        jobs = LLONG_MAX; /* an invalid number of jobs is refused later */
    if (is_end && !num_parse_integer(log->facts[LOG_FAILED], 0, jobs, &failed))
        return err_set(err, "field 'failed': expected a number from 0 to %lld, found \"%s\"", jobs,
                       log->facts[LOG_FAILED]);
    log->finished = is_end;
    log->done = is_end ? log->end - log->first : 0;
    log->failed = (size_t)failed;
    log->failure = log->facts[LOG_FAILURE];
    return 0;
}

/* Read the header, checksums and last line of NAME.batch, if they exist; with `is_needed`, refuse a
 * missing header. A more specific error has precedence over "expected the header". */
static int read_header(struct log *log, bool is_needed, struct err *err)
{
    struct file file = {0};
    struct log_span line;
    if (file_map(&file, log->header, err))
        return -1;
    struct log_span rest = {file.bytes, file.bytes + file.size};
    size_t size = num_min(file.size, sizeof header_begin - 1);
    int failed = memcmp(file.bytes, header_begin, size);
    for (int i = 0; i < 2 && !failed && next_line(&line, &rest); i++) {
        struct json *root = NULL;
        failed = json_parse(&root, line.at, (size_t)(line.end - line.at), err) ||
                 read_facts(log, root, i, err);
        json_free(root);
        if (i || failed)
            continue;
        const char *sums = rest.at;
        while (rest.end - rest.at >= SUM_BYTES && *rest.at == '"')
            rest.at += SUM_BYTES;
        log->header_bytes = (size_t)(sums - file.bytes);
        log->old_sum_count = (size_t)(rest.at - sums) / SUM_BYTES;
        log->old_sums = arena_text(log->arena, sums, (size_t)(rest.at - sums), err);
        failed = !log->old_sums;
    }
    file_release(&file);
    if (!failed && (log->header_bytes || !is_needed))
        return 0;
    err_output(err, "expected the header of a batch, found something else: choose another output");
    return err_prefix(err, "'%s'", log->header);
}

/* --- beginning -------------------------------------------------------------------------------- */

/* Check the folder of a shard. It may contain folders of items that other shards wrote. */
static int check_shared_folder(const char *path, struct err *err)
{
    struct arena arena = {0};
    struct listing found = {0};
    int failed = target_folder_check(path, true, err) ||
                 (file_exists(path) && listing_read(&found, path, &arena, err));
    for (size_t i = 0; !failed && i < found.count; i++)
        if (strspn(found.names[i], "0123456789") < 4 && strcmp(found.names[i], items_file) != 0)
            failed = err_output(
                err, "'%s': expected only folders of items, found '%s': choose another output",
                path, found.names[i]);
    arena_release(&arena);
    return err_if(failed);
}

/* Check that the output NAME, if it is a file that exists, can be replaced. If no batch has begun,
 * also refuse a NAME.part that is not empty and, without --force, existing results. */
static int check_place(const struct log *log, bool has_begun, struct err *err)
{
    struct stat status;
    mode_t kind = 0;
    if (!log->is_folder &&
        (file_kind(&kind, log->name, err) || replacement_check_name(log->name, err)))
        return -1;
    if (log->rows_path && output_check_rows(log->rows_path, err))
        return -1;
    if (kind && !S_ISREG(kind))
        return err_output(err, "'%s': expected a file, found a link or a special file", log->name);
    if (has_begun)
        return 0;
    if (stat(log->part, &status) == 0 && status.st_size)
        return err_output(err, "'%s' exists and was not written by a batch: choose another output",
                          log->part);
    if (log->is_folder)
        return log->shard.count ? check_shared_folder(log->path, err)
                                : target_folder_check(log->path, log->forces, err);
    const char *found = kind ? log->name : NULL;
    if (!found && log->rows_path && file_exists(log->rows_path))
        found = log->rows_path;
    return found && !log->forces ? err_output(err, "'%s' exists: --force overwrites it", found) : 0;
}

/* Open the log to append lines. A new log is emptied. In an interrupted log, everything after the
 * last line with a checksum is removed. */
static int open_part(struct log *log, bool continues, struct err *err)
{
    int flags = O_WRONLY | O_APPEND | (continues ? 0 : O_TRUNC);
    if (open_file(&log->part_file, log->part, flags, err) ||
        stream_to(&log->out, log->part_file, err) || stream_to(&log->sums, log->header_file, err))
        return -1;
    log->sum = HASH_FNV_BEGIN;
    log->out.sum = &log->sum;
    if (!continues) {
        log->finished = false;
        log->done = log->failed = log->old_sum_count = 0;
        log->failure = NULL;
        return write_facts(log, false, err);
    }
    if (read_lines(log, NULL, err))
        return -1;
    if (ftruncate(log->part_file, (off_t)log->whole_bytes))
        return refuse_write(log->part, errno, err);
    log->old_sum_count = log->done;
    return cut_header(log, log->done) ? refuse_write(log->header, errno, err) : 0;
}

int log_open(struct log *log, struct err *err)
{
    struct arena *arena = log->arena;
    const struct job_shard *shard = &log->shard;
    const char *name = log->path = arena_path(arena, log->path, err);
    log->facts[LOG_VERSION] = ATTN_VERSION;
    log->facts[LOG_JOBS] = arena_format(arena, err, "%zu", log->jobs);
    log->facts[LOG_SHARD] = "1/1";
    if (name && shard->count) {
        name = arena_format(arena, err, "%s.%zu-of-%zu", name, shard->index, shard->count);
        log->facts[LOG_SHARD] = arena_format(arena, err, "%zu/%zu", shard->index, shard->count);
    }
    shard_range(shard, log->jobs, &log->first, &log->end);
    if (name_files(log, name, err) || err->kind) /* err->kind: no memory for a fact */
        return -1;
    replacement_keep_private(log->name);
    if (check_place(log, file_exists(log->header), err) ||
        open_file(&log->header_file, log->header, O_RDWR, err))
        return -1;
    /* other errors mean that the file system has no locks */
    if (flock(log->header_file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return err_output(err, "'%s': another process is writing to it: wait until it has finished",
                          log->name);
    if (read_header(log, false, err) || (!log->header_bytes && check_place(log, false, err)))
        return -1;
    bool continues = log->header_bytes && log->resumes;
    if (log->header_bytes && !log->resumes && !log->forces)
        return err_output(err, "'%s' holds %s --force starts over", log->name,
                          log->finished ? "a finished batch:"
                                        : "an interrupted batch: --resume continues it,");
    return continues && log->finished ? 0 : open_part(log, continues, err);
}

int log_flush(struct log *log, struct err *err)
{
    if (!log)
        return 0;
    if (log->is_folder && stream_sync(log->path, err))
        return -1;
    stream_flush(&log->out); /* write the line before its checksum */
    if (log->out.failure)
        return refuse_write(log->part, log->out.failure, err);
    stream_flush(&log->sums);
    return log->sums.failure ? refuse_write(log->header, log->sums.failure, err) : 0;
}

void log_close(struct log *log)
{
    stream_discard(&log->out);
    stream_discard(&log->sums);
    if (log->part_file > 0)
        close(log->part_file);
    if (log->header_file > 0)
        close(log->header_file);
}

/* --- results ---------------------------------------------------------------------------------- */

int log_write_results(struct log *const *logs, size_t count, const char *path, struct err *err)
{
    const struct log *first = logs[0];
    const char *results = first->facts[LOG_RESULTS];
    struct assembly result = {.is_lines = first->is_folder || strncmp(results, "json", 4) == 0,
                              .is_array = strcmp(results, "json") == 0,
                              .rows_path = output_rows_path(path, first->arena, err)};
    if (first->is_folder && (output_clear_folder(path, err) ||
                             !(path = arena_format(first->arena, err, "%s/%s", path, items_file))))
        return -1;
    int failed = first->is_folder ? stream_open_inside(&result.out, path, true, err)
                                  : output_to(&result.out, path, err);
    for (size_t i = 0; i < count && !failed; i++)
        failed = read_lines(logs[i], &result, err);
    if (!failed && result.is_array)
        stream_text(&result.out, result.begun ? "]\n" : "[]\n");
    failed = failed || (result.rows.buffer && stream_finish(&result.rows, err));
    failed = stream_end(&result.out, failed, err);
    return result.rows.buffer ? stream_end(&result.rows, failed, err) : err_if(failed);
}

int log_finish(struct log *log, size_t failed, const char *failure, struct err *err)
{
    if (!log->finished) {
        log->facts[LOG_FAILED] = arena_format(log->arena, err, "%zu", failed);
        log->facts[LOG_FAILURE] = failure ? failure : "";
        if (!log->facts[LOG_FAILED] || write_facts(log, true, err))
            return -1;
        log->finished = true;
    }
    if (log->shard.count || !file_exists(log->part))
        return 0;
    bool is_checked = log->part_file > 0; /* the log was written or read by this process */
    if (is_checked && strcmp(log->facts[LOG_RESULTS], "jsonl") == 0)
        return replacement_rename(log->part, log->name, err);
    return err_if(log_write_results(&log, 1, log->name, err) || file_remove(log->part, err));
}

/* --- shards ----------------------------------------------------------------------------------- */

static int read_shard(struct log *log, const char *path, struct err *err)
{
    long long jobs = 0;
    size_t size = strlen(path) - (name_ends_in(path, ".part") ? sizeof ".part" - 1 : 0);
    if (name_files(log, arena_text(log->arena, path, size, err), err) ||
        read_header(log, true, err))
        return -1;
    const char *shard = log->facts[LOG_SHARD];
    if (!strchr(shard, '/') || shard_read(&log->shard, shard, NULL) ||
        !num_parse_integer(log->facts[LOG_JOBS], 0, LLONG_MAX, &jobs))
        return err_set(err, "'%s': expected a shard, found \"%s\"", log->header, shard);
    if (!log->finished)
        return err_set(err, "'%s': expected a finished shard: --resume continues it", log->name);
    shard_range(&log->shard, (size_t)jobs, &log->first, &log->end);
    log->is_folder = strncmp(log->facts[LOG_RESULTS], "folder of ", 10) == 0;
    return 0;
}

struct log **log_join(const char *const *paths, size_t count, struct arena *arena, struct err *err)
{
    struct log **logs = NULL;
    struct log *found = arena_alloc(arena, count, sizeof *found, err);
    for (size_t i = 0; found && i < count; i++) {
        struct log *log = &found[i];
        log->arena = arena;
        if (read_shard(log, paths[i], err))
            return NULL;
        /* in a shard such as "2/16", only the 16 must be equal */
        for (size_t k = 0; k <= LOG_SHARD; k++) {
            const char *one = found->facts[k], *two = log->facts[k];
            if (k < LOG_SHARD ? strcmp(one, two) == 0 : found->shard.count == log->shard.count)
                continue;
            err_set(err, "expected shards of one batch: %s: '%s' has \"%s\", '%s' \"%s\"",
                    fact_names[k], found->name, one, log->name, two);
            return NULL;
        }
        if (!logs && !(logs = arena_alloc(arena, log->shard.count, sizeof *logs, err)))
            return NULL;
        struct log **slot = &logs[log->shard.index - 1];
        if (*slot) {
            err_set(err, "expected shard %zu once, found '%s' and '%s'", log->shard.index,
                    (*slot)->name, log->name);
            return NULL;
        }
        *slot = log;
    }
    /* number of ranges of missing shards, which are listed as in Slurm's --array: 3,7-9 */
    size_t lacking = 0;
    for (size_t i = 0, end = 0; logs && i < found->shard.count && lacking <= MISSING_NAMED; i++) {
        for (end = i; end < found->shard.count && !logs[end];)
            end++;
        if (end == i)
            continue;
        if (!lacking++)
            err_set(err, "expected %zu shards, missing: --array=%zu", found->shard.count, i + 1);
        else if (lacking <= MISSING_NAMED)
            err_append(err, ",%zu", i + 1);
        else
            err_append(err, ",…");
        if (end > i + 1 && lacking <= MISSING_NAMED)
            err_append(err, "-%zu", end);
        i = end;
    }
    return lacking ? NULL : logs;
}
