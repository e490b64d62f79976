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
#include "base/utf8.h"
#include "command.h"
#include "format/json.h"
#include "format/json_writer.h"

enum { NUMBER_BYTES = 24, MISSING_NAMED = 8 };

static const char head_begin[] = "{\"format\": \"attn-cli/batch/";
static const char job_begin[] = "{\"job\": ";
static const char state_begin[] = "{\"state\": ";
static const char items_file[] = "items.jsonl";

/* --- paths ------------------------------------------------------------------------------------ */

static int name_files(struct log *log, const char *name, struct err *err)
{
    log->name = name;
    log->part = name ? arena_format(&log->arena, err, "%s.part", name) : NULL;
    log->header = name ? arena_format(&log->arena, err, "%s.batch", name) : NULL;
    return log->part && log->header ? 0 : -1;
}

/* NAME of -o and a shard; the plan's path loses the slash at its end. */
static const char *name_of(struct log *log, struct err *err)
{
    const struct job_shard *shard = &log->plan.shard;
    size_t size = strlen(log->plan.path);
    while (size > 1 && log->plan.path[size - 1] == '/')
        size--;
    const char *path = arena_text(&log->arena, log->plan.path, size, err);
    log->plan.path = path;
    return path && shard->count
               ? arena_format(&log->arena, err, "%s.%zu-of-%zu", path, shard->index, shard->count)
               : path;
}

static int open_file(int *descriptor, const char *path, int flags, struct err *err)
{
    struct stat status;
    *descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (*descriptor < 0)
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
    if (fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode))
        return 0;
    close(*descriptor);
    *descriptor = -1;
    return err_output(err, "'%s': expected a file, found something else", path);
}

/* --- the header ------------------------------------------------------------------------------- */

enum { FACTS = 7 };

struct head_facts {
    const char *names[FACTS], *values[FACTS];
};

static int make_facts(struct head_facts *facts, const struct log_plan *plan, struct arena *arena,
                      struct err *err)
{
    const struct log_head *head = &plan->head;
    const struct job_shard *shard = &plan->shard;
    const char *jobs = arena_format(arena, err, "%zu", head->jobs);
    const char *part = arena_format(arena, err, "%zu/%zu", shard->count ? shard->index : 1,
                                    shard->count ? shard->count : 1);
    *facts = (struct head_facts){
        {"version", "command", "input", "models", "results", "jobs", "shard"},
        {ATTN_VERSION, head->command, head->input, head->models, head->format, jobs, part}};
    return jobs && part ? 0 : -1;
}

static int write_head(const struct log *log, const struct head_facts *facts, struct err *err)
{
    struct buf line = {0};
    struct json_writer json = {.buf = &line};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", "attn-cli/batch/2");
    for (size_t i = 0; i < FACTS; i++)
        json_put_text(&json, facts->names[i], facts->values[i]);
    json_put_close(&json, '}');
    buf_char(&line, '\n');
    int failed = buf_check(&line, err);
    if (!failed && (ftruncate(log->lock, 0) || lseek(log->lock, 0, SEEK_SET) ||
                    transfer_write(log->lock, line.bytes, line.size)))
        failed = err_output(err, "cannot write '%s': %s", log->header, strerror(errno));
    buf_release(&line);
    return failed ? -1 : 0;
}

/* The header's line and, where it is whole, that of the end. */
struct head_lines {
    struct file file;
    struct json *head, *end;
};

static void release_lines(struct head_lines *lines)
{
    json_free(lines->head);
    json_free(lines->end);
    file_release(&lines->file);
    *lines = (struct head_lines){0};
}

static int refuse_header(const struct log *log, struct err *err)
{
    return err_output(err,
                      "'%s': expected the header of a batch, found something else: name "
                      "another output",
                      log->header);
}

/* A line that was cut off in writing it counts as none. */
static int read_lines(struct head_lines *lines, const struct log *log, struct err *err)
{
    *lines = (struct head_lines){0};
    if (file_map(&lines->file, log->header, err))
        return -1;
    const char *bytes = lines->file.bytes;
    size_t size = lines->file.size;
    const char *newline = memchr(bytes, '\n', size);
    size_t begin = num_min(size, sizeof head_begin - 1);
    if (memcmp(bytes, head_begin, begin) != 0)
        return refuse_header(log, err);
    if (!newline)
        return 0;
    const char *rest = newline + 1;
    const char *second = memchr(rest, '\n', size - (size_t)(rest - bytes));
    if (json_parse(&lines->head, bytes, (size_t)(newline - bytes), err) ||
        (second && json_parse(&lines->end, rest, (size_t)(second - rest), err)))
        return err_prefix(err, "'%s'", log->header);
    return 0;
}

/* Refuse another batch, and say what differs. */
static int compare_head(const struct log *log, const struct json *head,
                        const struct head_facts *facts, struct err *err)
{
    for (size_t i = 0; i < FACTS; i++) {
        const char *before = NULL;
        if (json_text(head, facts->names[i], &before, err))
            return err_prefix(err, "'%s'", log->header);
        if (!before || strcmp(before, facts->values[i]) != 0)
            return err_usage(err,
                             "'%s': %s: expected \"%s\" as when the batch began, found \"%s\": "
                             "--force begins again",
                             log->header, facts->names[i], before ? before : "", facts->values[i]);
    }
    return 0;
}

/* How a batch ended. */
static int read_end(struct log *log, const struct json *end, struct err *err)
{
    long long done = 0;
    long long failed = 0;
    const char *failure = NULL;
    if (!json_member(end, "done"))
        return refuse_header(log, err);
    if (json_integer(end, "done", 0, LLONG_MAX, &done, err) ||
        json_integer(end, "failed", 0, LLONG_MAX, &failed, err) ||
        json_text(end, "failure", &failure, err))
        return err_prefix(err, "'%s'", log->header);
    log->done = (size_t)done;
    log->failed = (size_t)failed;
    log->finished = true;
    buf_text(&log->failure, failure ? failure : "");
    return buf_check(&log->failure, err);
}

static int write_end(struct log *log, struct err *err)
{
    struct buf line = {0};
    struct json_writer json = {.buf = &line};
    json_put_open(&json, NULL, '{');
    json_put_integer(&json, "done", (long long)log->done);
    json_put_integer(&json, "failed", (long long)log->failed);
    json_put_text(&json, "failure", log->failure.size ? log->failure.bytes : NULL);
    json_put_close(&json, '}');
    buf_char(&line, '\n');
    int failed = buf_check(&line, err);
    if (!failed && (transfer_write(log->lock, line.bytes, line.size) || fsync(log->lock)))
        failed = err_output(err, "cannot write '%s': %s", log->header, strerror(errno));
    buf_release(&line);
    return failed ? -1 : 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A part of a file: a line without its end, or what is left of one. */
struct span {
    const char *at, *end;
};

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

/* `{"job": 3`, of that job. */
static bool skip_job(struct span *line, size_t job)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%zu, ", job);
    return skip(line, job_begin) && skip(line, number);
}

/* Append the text whose opening quote was passed, and pass its closing one. */
static void read_text(struct buf *text, struct span *span)
{
    static const char letters[] = "bfnrt";
    static const char signs[] = "\b\f\n\r\t";
    while (span->at < span->end && *span->at != '"') {
        const char *begin = span->at;
        while (span->at < span->end && *span->at != '"' && *span->at != '\\')
            span->at++;
        buf_bytes(text, begin, (size_t)(span->at - begin));
        if (span->end - span->at < 2 || *span->at != '\\')
            continue;
        char letter = span->at[1];
        const char *sign = strchr(letters, letter);
        long long code = 0;
        span->at += 2;
        if (letter == 'u' && span->end - span->at >= 4) {
            char utf8[4];
            for (int i = 0; i < 4; i++) {
                const char *digit = strchr("0123456789abcdef", *span->at++);
                code = code * 16 + (digit ? digit - "0123456789abcdef" : 0);
            }
            buf_bytes(text, utf8, utf8_encode(utf8, (uint32_t)code));
        } else {
            buf_char(text, sign ? signs[sign - letters] : letter);
        }
    }
    span->at += span->at < span->end;
}

/* Take a line into account; false: it is not the one that follows. */
static bool take_line(struct log *log, struct span line)
{
    if (skip(&line, state_begin)) {
        buf_clear(&log->state);
        buf_bytes(&log->state, line.at, (size_t)(line.end - line.at) - (line.end > line.at));
        return true;
    }
    if (!skip_job(&line, log->first + log->done))
        return false;
    log->done++;
    if (!skip(&line, "\"error\": {\"status\": "))
        return true;
    while (line.at < line.end && *line.at != '"')
        line.at++;
    if (skip(&line, "\"message\": \"") && !log->failed)
        read_text(&log->failure, &line);
    log->failed++;
    return true;
}

/* Read the log, and cut off the line that was being written when the batch was interrupted. */
static int read_log(struct log *log, struct err *err)
{
    struct file file = {0};
    struct span line;
    size_t number = 1;
    int failed = 0;
    if (file_map(&file, log->part, err))
        return -1;
    struct span rest = {file.bytes, file.bytes + file.size};
    for (; !failed && next_line(&line, &rest); number++)
        if (!take_line(log, line) || log->done > log->end - log->first)
            failed = err_usage(err,
                               "'%s' line %zu: expected job %zu of this batch, found something "
                               "else: --force begins again",
                               log->part, number, log->first + log->done);
    size_t whole = (size_t)(rest.at - file.bytes);
    bool is_cut = whole < file.size;
    file_release(&file);
    if (!failed && is_cut && truncate(log->part, (off_t)whole))
        failed = err_output(err, "cannot write '%s': %s", log->part, strerror(errno));
    return failed || buf_check(&log->failure, err) || buf_check(&log->state, err) ? -1 : 0;
}

static int open_part(struct log *log, int flags, struct err *err)
{
    return open_file(&log->descriptor, log->part, O_WRONLY | O_APPEND | O_CREAT | flags, err) ||
                   stream_to(&log->out, log->descriptor, err)
               ? -1
               : 0;
}

/* --- beginning -------------------------------------------------------------------------------- */

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

/* Other shards write into the folder, too: what is there must be folders of items. */
static int check_shared_folder(const char *path, struct err *err)
{
    struct arena arena = {0};
    struct listing found;
    bool is_there = file_exists(path);
    int failed = target_folder_check(path, true, err) ||
                 (is_there && listing_read(&found, path, &arena, err));
    for (size_t i = 0; !failed && is_there && i < found.count; i++)
        if (strspn(found.names[i], "0123456789") < 4 && strcmp(found.names[i], items_file) != 0)
            failed = err_output(err,
                                "'%s': expected nothing but folders of items, found '%s' in it: "
                                "name another output",
                                path, found.names[i]);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* What is in the way where no batch has begun. */
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

static int begin(struct log *log, const struct head_facts *facts, struct err *err)
{
    return open_part(log, O_TRUNC, err) || write_head(log, facts, err) ? -1 : 0;
}

static int resume(struct log *log, const struct head_lines *lines, const struct head_facts *facts,
                  struct err *err)
{
    if (compare_head(log, lines->head, facts, err))
        return -1;
    if (lines->end)
        return read_end(log, lines->end, err);
    if (file_exists(log->part) && read_log(log, err))
        return -1;
    return open_part(log, 0, err) || lseek(log->lock, 0, SEEK_END) < 0 ? -1 : 0;
}

static int refuse_begun(const struct log *log, bool finished, struct err *err)
{
    const char *results = log->plan.shard.count ? log->part : log->name;
    if (finished && !file_exists(results))
        return err_output(err,
                          "'%s': expected none, found that of a batch whose results, '%s', are "
                          "gone: remove it, or --force begins again",
                          log->header, results);
    return finished
               ? err_output(err, "'%s': results are here already: --force begins again", log->name)
               : err_output(err,
                            "'%s': an interrupted batch is here: --resume continues it, --force "
                            "begins again",
                            log->name);
}

static int open_log(struct log *log, struct err *err)
{
    const struct log_plan *plan = &log->plan;
    struct head_facts facts;
    struct head_lines lines = {0};
    bool is_there = file_exists(log->header);
    mode_t kind = 0;
    if (!plan->is_folder &&
        (file_kind(&kind, log->name, err) || replacement_check_name(log->name, err)))
        return -1;
    if (!plan->is_folder && kind && !S_ISREG(kind))
        return err_output(err, "'%s': expected a file, found a link or something else", log->name);
    replacement_keep_private(log->name);
    if ((!is_there && check_room(log, err)) || lock(log, err) ||
        make_facts(&facts, plan, &log->arena, err) || read_lines(&lines, log, err))
        return -1;
    int failed = 0;
    if (!lines.head)
        failed = (is_there && check_room(log, err)) || begin(log, &facts, err);
    else if (plan->resumes)
        failed = resume(log, &lines, &facts, err);
    else
        failed = plan->forces ? begin(log, &facts, err) : refuse_begun(log, lines.end, err);
    release_lines(&lines);
    return failed ? -1 : 0;
}

int log_open(struct log *log, const struct log_plan *plan, struct err *err)
{
    *log = (struct log){.plan = *plan, .lock = -1, .descriptor = -1};
    shard_range(&plan->shard, plan->head.jobs, &log->first, &log->end);
    return name_files(log, name_of(log, err), err) || open_log(log, err) ? -1 : 0;
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
    return log->out.failure
               ? err_output(err, "cannot write '%s': %s", log->part, strerror(log->out.failure))
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
    buf_release(&log->state);
    arena_release(&log->arena);
    *log = (struct log){.lock = -1, .descriptor = -1};
}

/* --- results ---------------------------------------------------------------------------------- */

int log_clear_folder(const char *path, struct err *err)
{
    struct arena arena = {0};
    struct listing found;
    int failed = listing_read(&found, path, &arena, err);
    for (size_t i = 0; !failed && i < found.count; i++)
        if (stream_is_temporary(found.names[i])) {
            const char *rest = arena_format(&arena, err, "%s/%s", path, found.names[i]);
            failed = !rest || file_remove(rest, err);
        }
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* A result that is put together from lines. */
struct assembly {
    struct stream out;
    bool is_array, is_lines; /* JSON, JSONL: the lines are the results */
    bool begun;              /* one is there already */
};

/* The first result of a log has its bytes twice: as the first of all, and as one after others. */
static int add_line(struct assembly *result, struct span line, struct err *err)
{
    if (result->is_lines) {
        if (result->is_array)
            stream_text(&result->out, result->begun ? "," : "[");
        stream_bytes(&result->out, line.at, (size_t)(line.end - line.at));
        stream_char(&result->out, '\n');
        result->begun = true;
        return 0;
    }
    struct buf text = {0};
    skip(&line, job_begin);
    while (line.at < line.end && *line.at != '"')
        line.at++;
    bool found = skip(&line, "\"output\": \"");
    if (found)
        read_text(&text, &line);
    if (found && result->begun && skip(&line, ", \"next\": \"")) {
        buf_clear(&text);
        read_text(&text, &line);
    }
    int failed = buf_check(&text, err);
    if (!failed)
        stream_bytes(&result->out, text.bytes, text.size);
    result->begun |= found;
    buf_release(&text);
    return failed;
}

static int add_log(struct assembly *result, const char *part, struct err *err)
{
    struct file file = {0};
    struct span line;
    int failed = file_map(&file, part, err);
    struct span rest = {file.bytes, file.bytes + file.size};
    while (!failed && next_line(&line, &rest)) {
        failed = add_line(result, line, err);
        file_forget(&file, line.at);
    }
    file_release(&file);
    return failed;
}

/* DIR/items.jsonl of a folder; JSON lines, an array, or other bytes of a file. */
static int assemble(const struct log_plan *plan, const char *const *parts, size_t count,
                    struct err *err)
{
    struct assembly result = {.is_array = strcmp(plan->head.format, "json") == 0};
    struct arena arena = {0};
    const char *path = plan->path;
    result.is_lines = result.is_array || plan->is_folder || strcmp(plan->head.format, "jsonl") == 0;
    result.is_array = result.is_array && !plan->is_folder;
    int failed = plan->is_folder && log_clear_folder(path, err);
    if (plan->is_folder)
        path = arena_format(&arena, err, "%s/%s", path, items_file);
    failed = failed || (plan->path && !path);
    if (!failed)
        failed =
            path ? stream_open(&result.out, path, err) : stream_to(&result.out, STDOUT_FILENO, err);
    for (size_t i = 0; i < count && !failed; i++)
        failed = add_log(&result, parts[i], err);
    if (!failed && result.is_array)
        stream_text(&result.out, result.begun ? "]\n" : "[]\n");
    failed = stream_end(&result.out, failed, err);
    arena_release(&arena);
    return failed;
}

int log_finish(struct log *log, struct err *err)
{
    const struct log_plan *plan = &log->plan;
    if (!log->finished) {
        if (log_flush(log, err))
            return -1;
        if (fsync(log->descriptor))
            return err_output(err, "cannot write '%s': %s", log->part, strerror(errno));
        if (write_end(log, err))
            return -1;
    }
    if (plan->shard.count || !file_exists(log->part))
        return 0;
    if (!plan->is_folder && strcmp(plan->head.format, "jsonl") == 0)
        return replacement_rename(log->part, log->name, err);
    struct log_plan named = *plan;
    named.path = log->name;
    return assemble(&named, &log->part, 1, err) || file_remove(log->part, err) ? -1 : 0;
}

/* --- joining ---------------------------------------------------------------------------------- */

struct member {
    struct log log; /* its files and its end */
    struct head_lines lines;
};

static const char *fact(const struct member *member, const char *name)
{
    const char *value = NULL;
    const struct json *found = json_member(member->lines.head, name);
    return found && json_get_text(found, &value) ? value : "";
}

static int open_member(struct member *member, const char *path, struct err *err)
{
    static const char ending[] = ".part";
    struct log *log = &member->log;
    size_t size = strlen(path);
    size -= name_ends_in(path, ending) ? sizeof ending - 1 : 0;
    *log = (struct log){.lock = -1, .descriptor = -1};
    const char *name = arena_text(&log->arena, path, size, err);
    if (name_files(log, name, err) || read_lines(&member->lines, log, err))
        return -1;
    if (!member->lines.head)
        return refuse_header(log, err);
    const char *shard = fact(member, "shard");
    if (!strchr(shard, '/') || shard_read(&log->plan.shard, shard, NULL))
        return err_set(err, "'%s': expected a shard, found \"%s\"", log->header, shard);
    return member->lines.end ? read_end(log, member->lines.end, err) : 0;
}

/* All but the shard is the same. */
static int check_alike(const struct member *first, const struct member *other, struct err *err)
{
    static const char *const names[] = {"version", "command", "input", "models", "results", "jobs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(fact(first, names[i]), fact(other, names[i])) != 0)
            return err_set(err, "expected shards of one batch: %s: '%s' has \"%s\", '%s' \"%s\"",
                           names[i], first->log.name, fact(first, names[i]), other->log.name,
                           fact(other, names[i]));
    if (first->log.plan.shard.count != other->log.plan.shard.count)
        return err_set(err, "expected shards of one batch: '%s' is one of %zu, '%s' of %zu",
                       first->log.name, first->log.plan.shard.count, other->log.name,
                       other->log.plan.shard.count);
    return 0;
}

/* Each shard once, and finished. `ordered` [shards] is filled. */
static int order_members(const struct member **ordered, const struct member *members, size_t count,
                         struct err *err)
{
    size_t shards = members[0].log.plan.shard.count;
    struct buf missing = {0};
    size_t lacking = 0;
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        const struct member **place = &ordered[member->log.plan.shard.index - 1];
        if (check_alike(&members[0], member, err))
            return -1;
        if (!member->log.finished)
            return err_set(err, "'%s': expected a shard that is finished: --resume continues it",
                           member->log.name);
        if (*place)
            return err_set(err, "expected shard %zu once, found '%s' and '%s'",
                           member->log.plan.shard.index, (*place)->log.name, member->log.name);
        *place = member;
    }
    for (size_t i = 0; i < shards; i++)
        if (!ordered[i] && lacking++ < MISSING_NAMED)
            buf_format(&missing, "%s%zu", lacking > 1 ? ", " : "", i + 1);
    if (lacking)
        err_set(err, "expected %zu shards, missing: %s%s", shards, missing.bytes,
                lacking > MISSING_NAMED ? ", …" : "");
    buf_release(&missing);
    return lacking ? -1 : 0;
}

static int join(struct log *total, struct member *members, size_t count, const char *path,
                struct err *err)
{
    struct arena *arena = &total->arena;
    size_t shards = members[0].log.plan.shard.count;
    const struct member **ordered = arena_alloc(arena, shards, sizeof *ordered, err);
    const char **parts = arena_alloc(arena, shards, sizeof *parts, err);
    if (!ordered || !parts || order_members(ordered, members, count, err))
        return -1;
    for (size_t i = 0; i < shards; i++) {
        const struct log *log = &ordered[i]->log;
        parts[i] = log->part;
        total->done += log->done;
        if (log->failed && !total->failed)
            buf_text(&total->failure, log->failure.bytes);
        total->failed += log->failed;
    }
    const char *format = fact(ordered[0], "results");
    static const char of_folder[] = "folder of ";
    total->plan.path = path;
    total->plan.is_folder = strncmp(format, of_folder, sizeof of_folder - 1) == 0;
    total->plan.head.format = format + (total->plan.is_folder ? sizeof of_folder - 1 : 0);
    return assemble(&total->plan, parts, shards, err);
}

int log_join(struct log *total, const char *const *paths, size_t count, const char *path,
             struct err *err)
{
    *total = (struct log){.lock = -1, .descriptor = -1};
    struct member *members = arena_alloc(&total->arena, count, sizeof *members, err);
    int failed = !members || !count;
    for (size_t i = 0; i < count && !failed; i++)
        failed = open_member(&members[i], paths[i], err);
    failed = failed || join(total, members, count, path, err);
    for (size_t i = 0; members && i < count; i++) {
        release_lines(&members[i].lines);
        log_close(&members[i].log);
    }
    return failed ? -1 : 0;
}
