#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/listing.h"
#include "base/names.h"
#include "base/num.h"
#include "base/replacement.h"
#include "base/target_folder.h"
#include "base/transfer.h"
#include "command.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "output.h"

enum { NUMBER_BYTES = 24 };

static const char head_begin[] = "{\"format\": \"attn-cli/batch/";
static const char items_file[] = "items.jsonl";

const char *const log_fact_names[LOG_FACTS] = {
    [LOG_VERSION] = "version", [LOG_COMMAND] = "command", [LOG_INPUT] = "input",
    [LOG_MODELS] = "models",   [LOG_RESULTS] = "results", [LOG_JOBS] = "jobs",
    [LOG_SHARD] = "shard"};

/* --- files ------------------------------------------------------------------------------------ */

static int name_files(struct log *log, const char *name, struct err *err)
{
    log->name = name;
    log->part = name ? arena_format(&log->arena, err, "%s.part", name) : NULL;
    log->header = name ? arena_format(&log->arena, err, "%s.batch", name) : NULL;
    return log->part && log->header ? 0 : -1;
}

static int refuse_write(const char *path, int error, struct err *err)
{
    return err_output(err, "cannot write '%s': %s", path, strerror(error));
}

static int open_file(int *descriptor, const char *path, int flags, struct err *err)
{
    struct stat status;
    *descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (*descriptor < 0)
        return refuse_write(path, errno, err);
    if (fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode))
        return 0;
    close(*descriptor);
    *descriptor = -1;
    return err_output(err, "'%s': expected a file, found something else", path);
}

/* A part of a mapped file: a line without its end, or the rest of the file. */
struct span {
    const char *at, *end;
};

/* A line that was cut off while it was written is none. */
static bool next_line(struct span *line, struct span *rest)
{
    const char *newline = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    if (!newline)
        return false;
    *line = (struct span){rest->at, newline};
    rest->at = newline + 1;
    return true;
}

static bool skip(struct span *span, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(span->end - span->at) < size || memcmp(span->at, text, size) != 0)
        return false;
    span->at += size;
    return true;
}

/* --- the header ------------------------------------------------------------------------------- */

/* Write the header of NAME.batch if `is_head`, else the line of the end, once all lines of the log
 * are on disk. */
static int write_line(struct log *log, bool is_head, struct err *err)
{
    struct buf line = {0};
    struct json_writer json = {.buf = &line};
    json_put_open(&json, NULL, '{');
    if (is_head) {
        json_put_text(&json, "format", "attn-cli/batch/2");
        for (size_t i = 0; i < LOG_FACTS; i++)
            json_put_text(&json, log_fact_names[i], log->plan.facts[i]);
    } else {
        json_put_integer(&json, "done", (long long)log->done);
        json_put_integer(&json, "failed", (long long)log->failed);
        json_put_text(&json, "failure", log->failure.size ? log->failure.bytes : NULL);
    }
    json_put_close(&json, '}');
    buf_char(&line, '\n');
    int failed = buf_check(&line, err);
    if (!failed &&
        ((is_head ? ftruncate(log->lock, 0) || lseek(log->lock, 0, SEEK_SET)
                  : fsync(log->descriptor)) ||
         transfer_write(log->lock, line.bytes, line.size) || (!is_head && fsync(log->lock))))
        failed = refuse_write(log->header, errno, err);
    buf_release(&line);
    return failed ? -1 : 0;
}

static int refuse_header(const struct log *log, struct err *err)
{
    return err_output(err,
                      "'%s': expected the header of a batch, found something else: name "
                      "another output",
                      log->header);
}

static int read_facts(struct log *log, const struct json *head, struct err *err)
{
    for (size_t i = 0; i < LOG_FACTS; i++) {
        const char *value = "";
        if (json_text(head, log_fact_names[i], &value, err) ||
            !(log->facts[i] = arena_text(&log->arena, value, strlen(value), err)))
            return -1;
    }
    return 0;
}

static int read_end(struct log *log, const struct json *end, struct err *err)
{
    long long done = 0;
    long long failed = 0;
    const char *failure = "";
    if (!json_member(end, "done"))
        return refuse_header(log, err);
    if (json_integer(end, "done", 0, LLONG_MAX, &done, err) ||
        json_integer(end, "failed", 0, LLONG_MAX, &failed, err) ||
        json_text(end, "failure", &failure, err))
        return -1;
    log->done = (size_t)done;
    log->failed = (size_t)failed;
    log->finished = true;
    buf_text(&log->failure, failure);
    return buf_check(&log->failure, err);
}

/* Read NAME.batch: the header, and the line of the end if it is there. */
static int read_header(struct log *log, struct err *err)
{
    int (*const reads[])(struct log *, const struct json *, struct err *) = {read_facts, read_end};
    struct file file = {0};
    struct span line;
    int failed = file_map(&file, log->header, err);
    struct span rest = {file.bytes, file.bytes + file.size};
    if (!failed && memcmp(file.bytes, head_begin, num_min(file.size, sizeof head_begin - 1)) != 0)
        failed = refuse_header(log, err);
    for (size_t i = 0; i < 2 && !failed && next_line(&line, &rest); i++) {
        struct json *root = NULL;
        failed = json_parse(&root, line.at, (size_t)(line.end - line.at), err) ||
                 reads[i](log, root, err);
        json_free(root);
        if (failed && err->kind != ERR_OUTPUT)
            err_prefix(err, "'%s'", log->header);
    }
    file_release(&file);
    return failed ? -1 : 0;
}

int log_read(struct log *log, const char *path, struct err *err)
{
    static const char ending[] = ".part";
    size_t size = strlen(path) - (name_ends_in(path, ending) ? sizeof ending - 1 : 0);
    *log = (struct log){.lock = -1, .descriptor = -1};
    if (name_files(log, arena_text(&log->arena, path, size, err), err) || read_header(log, err))
        return -1;
    const char *shard = log->facts[LOG_SHARD];
    if (!shard)
        return refuse_header(log, err);
    if (!strchr(shard, '/') || shard_read(&log->plan.shard, shard, NULL))
        return err_set(err, "'%s': expected a shard, found \"%s\"", log->header, shard);
    return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Skip `{"job": 3, `, of that job. */
static bool skip_job(struct span *line, size_t job)
{
    char begin[NUMBER_BYTES + sizeof "{\"job\": , "];
    snprintf(begin, sizeof begin, "{\"job\": %zu, ", job);
    return skip(line, begin);
}

/* Count a line that is already in the log. */
static int take_line(struct log *log, struct span line, size_t number, struct err *err)
{
    struct span rest = line;
    struct json *root = NULL;
    const char *message = "";
    if (log->done == log->end - log->first || !skip_job(&rest, log->first + log->done))
        return err_usage(err,
                         "'%s' line %zu: expected job %zu of this batch, found something else: "
                         "--force begins again",
                         log->part, number, log->first + log->done);
    log->done++;
    if (!skip(&rest, "\"error\": ") || log->failed++)
        return 0;
    int failed = json_parse(&root, line.at, (size_t)(line.end - line.at), err) ||
                 json_text(json_member(root, "error"), "message", &message, err);
    buf_text(&log->failure, message);
    json_free(root);
    return failed ? err_prefix(err, "'%s' line %zu", log->part, number)
                  : buf_check(&log->failure, err);
}

/* Read the log, and cut off the line that was being written when the batch was interrupted. */
static int read_log(struct log *log, struct err *err)
{
    struct file file = {0};
    struct span line;
    int failed = file_map(&file, log->part, err);
    struct span rest = {file.bytes, file.bytes + file.size};
    for (size_t number = 1; !failed && next_line(&line, &rest); number++)
        failed = take_line(log, line, number, err);
    size_t whole = (size_t)(rest.at - file.bytes);
    if (!failed && whole < file.size && truncate(log->part, (off_t)whole))
        failed = refuse_write(log->part, errno, err);
    file_release(&file);
    return failed ? -1 : 0;
}

static int open_part(struct log *log, int flags, struct err *err)
{
    return open_file(&log->descriptor, log->part, O_WRONLY | O_APPEND | O_CREAT | flags, err) ||
           stream_to(&log->out, log->descriptor, err);
}

/* --- beginning -------------------------------------------------------------------------------- */

/* Other shards write into the folder, too: it may hold folders of items. */
static int check_shared_folder(const char *path, struct err *err)
{
    struct arena arena = {0};
    struct listing found = {0};
    int failed = target_folder_check(path, true, err) ||
                 (file_exists(path) && listing_read(&found, path, &arena, err));
    for (size_t i = 0; !failed && i < found.count; i++)
        if (strspn(found.names[i], "0123456789") < 4 && strcmp(found.names[i], items_file) != 0)
            failed = err_output(err,
                                "'%s': expected nothing but folders of items, found '%s' in it: "
                                "name another output",
                                path, found.names[i]);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* Refuse other files where no batch has begun. */
static int check_room(const struct log *log, struct err *err)
{
    const struct log_plan *plan = &log->plan;
    struct stat status;
    if (stat(log->part, &status) == 0 && status.st_size)
        return err_output(err, "'%s' is there already, and no batch began it: name another output",
                          log->part);
    if (plan->is_folder)
        return plan->shard.count ? check_shared_folder(plan->path, err)
                                 : target_folder_check(plan->path, plan->forces, err);
    if (!plan->forces && file_exists(log->name))
        return err_output(err, "'%s': it is there already: --force replaces it", log->name);
    return 0;
}

/* NAME must be a file that may be replaced, or nothing. */
static int check_name(const struct log *log, struct err *err)
{
    mode_t kind = 0;
    if (log->plan.is_folder)
        return 0;
    if (file_kind(&kind, log->name, err) || replacement_check_name(log->name, err))
        return -1;
    return kind && !S_ISREG(kind)
               ? err_output(err, "'%s': expected a file, found a link or something else", log->name)
               : 0;
}

static int lock(struct log *log, struct err *err)
{
    if (open_file(&log->lock, log->header, O_RDWR | O_CREAT, err))
        return -1;
    /* a file system without locks has to do without */
    if (flock(log->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return err_output(err, "'%s': another process is writing there: wait until it has ended",
                          log->name);
    return 0;
}

static int begin(struct log *log, struct err *err)
{
    log->done = log->failed = 0;
    log->finished = false;
    buf_clear(&log->failure);
    return open_part(log, O_TRUNC, err) || write_line(log, true, err) ? -1 : 0;
}

static int resume(struct log *log, struct err *err)
{
    for (size_t i = 0; i < LOG_FACTS; i++)
        if (strcmp(log->facts[i], log->plan.facts[i]) != 0)
            return err_usage(err,
                             "'%s': %s: expected \"%s\" as when the batch began, found \"%s\": "
                             "--force begins again",
                             log->header, log_fact_names[i], log->facts[i], log->plan.facts[i]);
    if (log->finished)
        return 0;
    if (file_exists(log->part) && read_log(log, err))
        return -1;
    return open_part(log, 0, err) || lseek(log->lock, 0, SEEK_END) < 0 ? -1 : 0;
}

/* PATH or PATH.I-of-N, and the facts that need no model. The plan's path loses the slash at its
 * end. */
static int prepare(struct log *log, struct err *err)
{
    struct log_plan *plan = &log->plan;
    struct job_shard shard = plan->shard.count ? plan->shard : (struct job_shard){1, 1};
    size_t size = strlen(plan->path);
    while (size > 1 && plan->path[size - 1] == '/')
        size--;
    plan->path = arena_text(&log->arena, plan->path, size, err);
    plan->facts[LOG_VERSION] = ATTN_VERSION;
    plan->facts[LOG_JOBS] = arena_format(&log->arena, err, "%zu", plan->jobs);
    plan->facts[LOG_SHARD] = arena_format(&log->arena, err, "%zu/%zu", shard.index, shard.count);
    if (!plan->path || !plan->facts[LOG_JOBS] || !plan->facts[LOG_SHARD])
        return -1;
    shard_range(&shard, plan->jobs, &log->first, &log->end);
    const char *name = plan->shard.count ? arena_format(&log->arena, err, "%s.%zu-of-%zu",
                                                        plan->path, shard.index, shard.count)
                                         : plan->path;
    return name_files(log, name, err);
}

int log_open(struct log *log, const struct log_plan *plan, struct err *err)
{
    *log = (struct log){.plan = *plan, .lock = -1, .descriptor = -1};
    if (prepare(log, err) || check_name(log, err))
        return -1;
    bool is_there = file_exists(log->header);
    replacement_keep_private(log->name);
    if ((!is_there && check_room(log, err)) || lock(log, err) || read_header(log, err))
        return -1;
    if (!log->facts[LOG_SHARD]) /* the last to be read */
        return (is_there && check_room(log, err)) || begin(log, err) ? -1 : 0;
    if (plan->resumes)
        return resume(log, err);
    if (plan->forces)
        return begin(log, err);
    return err_output(err,
                      log->finished ? "'%s': a finished batch is here: --force begins again"
                                    : "'%s': an interrupted batch is here: --resume continues it, "
                                      "--force begins again",
                      log->name);
}

void log_count(struct log *log, const char *message)
{
    log->done++;
    if (message && !log->failed++)
        buf_text(&log->failure, message);
}

int log_flush(struct log *log, struct err *err)
{
    stream_flush(&log->out);
    return log->out.failure ? refuse_write(log->part, log->out.failure, err)
                            : buf_check(&log->failure, err);
}

void log_close(struct log *log)
{
    if (log->out.buffer)
        stream_discard(&log->out);
    if (log->descriptor >= 0)
        close(log->descriptor);
    if (log->lock >= 0)
        close(log->lock);
    buf_release(&log->failure);
    arena_release(&log->arena);
    *log = (struct log){.lock = -1, .descriptor = -1};
}

/* --- results ---------------------------------------------------------------------------------- */

/* A result that is put together from lines. */
struct assembly {
    struct stream out;
    bool is_lines, is_array; /* lines are results; they become an array */
    bool begun;              /* a result was written */
    size_t job;              /* of the next line */
};

/* The bytes of a result, where a line has some: "output", or "next" if others precede it. */
static void add_bytes(struct assembly *result, struct span line)
{
    static const char digits[] = "0123456789abcdef";
    struct span rest = line;
    if (!skip(&rest, "\"output\": \""))
        return;
    const char *quote = memchr(rest.at, '"', (size_t)(rest.end - rest.at));
    struct span next = {quote ? quote : rest.end, rest.end};
    if (result->begun && skip(&next, "\", \"next\": \""))
        rest.at = next.at;
    result->begun = true;
    for (; rest.end - rest.at >= 2 && *rest.at != '"'; rest.at += 2) {
        const char *high = strchr(digits, rest.at[0]);
        const char *low = strchr(digits, rest.at[1]);
        stream_char(&result->out,
                    high && low ? (char)((high - digits) * 16 + (low - digits)) : '?');
    }
}

static int add_log(struct assembly *result, const char *part, struct err *err)
{
    struct file file = {0};
    struct span line;
    int failed = file_map(&file, part, err);
    struct span rest = {file.bytes, file.bytes + file.size};
    for (size_t number = 1; !failed && next_line(&line, &rest); number++) {
        struct span bytes = line;
        if (!skip_job(&bytes, result->job++)) {
            failed = err_set(err, "'%s' line %zu: expected job %zu, which is missing", part, number,
                             result->job - 1);
        } else if (!result->is_lines) {
            add_bytes(result, bytes);
        } else {
            if (result->is_array)
                stream_text(&result->out, result->begun ? "," : "[");
            stream_bytes(&result->out, line.at, (size_t)(rest.at - line.at));
            result->begun = true;
        }
        file_forget(&file, line.at);
    }
    file_release(&file);
    return failed;
}

/* Write the jobs of all parts: JSON lines, an array, or the bytes of other results. */
static int assemble(const struct log *log, const char *path, bool is_lines, bool is_array,
                    struct err *err)
{
    struct assembly result = {.is_lines = is_lines, .is_array = is_array, .job = log->first};
    int failed =
        path ? stream_open(&result.out, path, err) : stream_to(&result.out, STDOUT_FILENO, err);
    for (size_t i = 0; i < log->part_count && !failed; i++)
        failed = add_log(&result, log->parts[i], err);
    if (!failed && result.job != log->first + log->done)
        failed = err_set(err, "'%s': expected %zu jobs, job %zu is missing",
                         log->parts[log->part_count - 1], log->done, result.job);
    if (!failed && is_array)
        stream_text(&result.out, result.begun ? "]\n" : "[]\n");
    return stream_end(&result.out, failed, err);
}

int log_write_results(struct log *log, const char *path, bool is_array, struct err *err)
{
    const char *results = log->facts[LOG_RESULTS];
    bool is_lines = strcmp(results, "jsonl") == 0 || strcmp(results, "json") == 0;
    if (!log->plan.is_folder)
        return assemble(log, path, is_lines, is_array && is_lines, err);
    path = arena_format(&log->arena, err, "%s/%s", path, items_file);
    return !path || assemble(log, path, true, false, err) ? -1 : 0;
}

int log_finish(struct log *log, struct err *err)
{
    const struct log_plan *plan = &log->plan;
    if (!log->finished && (log_flush(log, err) || write_line(log, false, err)))
        return -1;
    if (plan->shard.count || !file_exists(log->part))
        return 0;
    if (strcmp(plan->facts[LOG_RESULTS], "jsonl") == 0)
        return replacement_rename(log->part, log->name, err);
    log->facts[LOG_RESULTS] = plan->facts[LOG_RESULTS];
    log->parts = &log->part;
    log->part_count = 1;
    return (plan->is_folder && output_clear_folder(log->name, err)) ||
                   log_write_results(log, log->name, strcmp(plan->facts[LOG_RESULTS], "json") == 0,
                                     err) ||
                   file_remove(log->part, err)
               ? -1
               : 0;
}
