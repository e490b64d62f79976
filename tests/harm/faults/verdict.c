#include "verdict.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/stream.h"

enum { STATUS_OF_SIGNALS = 128, PATTERN_BYTES = 512, ENDING_BYTES = 20, STATUSES = 8 };

static bool is_batch(const struct trial *trial)
{
    return strcmp(trial->command, "batch") == 0;
}

static bool is_killed(const struct trial *trial)
{
    return WIFSIGNALED(trial->status) && WTERMSIG(trial->status) == SIGKILL;
}

/* An interrupted training saves a checkpoint. */
static bool is_interrupted(const struct trial *trial)
{
    int signal = trial->fault ? trial->fault->signal : 0;
    return signal && WIFEXITED(trial->status) &&
           (WEXITSTATUS(trial->status) == STATUS_OF_SIGNALS + signal ||
            WEXITSTATUS(trial->status) == ERR_INTERRUPTED);
}

static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/');
    return stream_is_temporary(slash ? slash + 1 : path);
}

/* Also owns the temporary file of an owned file. */
static bool is_owned(const struct trial *trial, const char *path)
{
    char pattern[PATTERN_BYTES];
    char name[PATTERN_BYTES];
    int ending = is_temporary(path) ? ENDING_BYTES : 0;
    snprintf(name, sizeof name, "%.*s", (int)strlen(path) - ending, path);
    const char *at = trial->owns;
    for (size_t size = 0; *(at += strspn(at, " ")); at += size) {
        size = strcspn(at, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)size, at);
        if (fnmatch(pattern, name, 0) == 0)
            return true;
    }
    return false;
}

/* --- status and output ------------------------------------------------------------------------ */

static bool is_beginning(const struct tree_file *file, const struct tree_file *whole)
{
    return file->size <= whole->size && memcmp(file->bytes, whole->bytes, file->size) == 0;
}

bool verdict_items_failed(const struct trial *trial)
{
    const struct tree_file *said = tree_find(&trial->after, "err");
    return is_batch(trial) && WIFEXITED(trial->status) &&
           WEXITSTATUS(trial->status) == ERR_FAILED && said &&
           memmem(said->bytes, said->size, " items failed", 13);
}

static bool may_end_so(const struct trial *trial)
{
    const struct fault *fault = trial->fault;
    if (WIFSIGNALED(trial->status))
        return fault->signal && WTERMSIG(trial->status) == fault->signal;
    int status = WEXITSTATUS(trial->status);
    if (is_interrupted(trial))
        return true;
    if (status == ERR_FAILED && !verdict_items_failed(trial))
        return false;
    return status < STATUSES && (fault->statuses >> status & 1);
}

/* The last line on standard error, if all are messages of the program. */
static const char *last_line(const struct tree_file *said)
{
    static const char *const beginnings[] = {"attn-cli: error: ", "attn-cli: note: "};
    const char *line = "";
    const char *end = said->bytes + said->size;
    for (const char *at = said->bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop || (strncmp(at, beginnings[0], strlen(beginnings[0])) != 0 &&
                      strncmp(at, beginnings[1], strlen(beginnings[1])) != 0))
            return NULL;
        line = at;
        at = stop + 1;
    }
    return line;
}

/* A failed write to standard error loses a line, and the later ones may follow. */
static bool are_lines_of(const struct tree_file *said, const struct tree_file *whole)
{
    const char *from = whole->bytes, *end = said->bytes + said->size;
    for (const char *at = said->bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop + 1 - at) : (size_t)(end - at);
        from = memmem(from, (size_t)(whole->bytes + whole->size - from), at, size);
        if (!from)
            return false;
        from += size;
        at += size;
    }
    return true;
}

static const char *judge_message(const struct trial *trial)
{
    const struct tree_file *said = tree_find(&trial->after, "err");
    const struct tree_file *whole = tree_find(&trial->whole, "err");
    bool refused = WIFEXITED(trial->status) && WEXITSTATUS(trial->status) != 0;
    if (!refused)
        return are_lines_of(said, whole) ? NULL : "differs from the messages without a fault";
    if (verdict_items_failed(trial) || is_interrupted(trial) || trial->fault->is_mute)
        return NULL;
    const char *line = last_line(said);
    if (!line || strncmp(line, "attn-cli: error: ", 17) != 0)
        return "has no error message of one line";
    if (trial->fault->kind == FAULT_OF_MEMORY && !strstr(line, "out of memory"))
        return "does not report that memory is exhausted";
    return NULL;
}

/* An interrupted program may end its last line. */
static const char *judge_printed(const struct trial *trial)
{
    struct tree_file printed = *tree_find(&trial->after, "out");
    const struct tree_file *whole = tree_find(&trial->whole, "out");
    if ((trial->fault && trial->fault->loses_output) || verdict_items_failed(trial))
        return NULL;
    if (trial->status == 0)
        return tree_same_bytes(&printed, whole) ? NULL : "is not the whole output";
    if (is_beginning(&printed, whole))
        return NULL;
    printed.size--;
    return is_beginning(&printed, whole) ? NULL : "is not the beginning of the whole output";
}

/* --- files ------------------------------------------------------------------------------------ */

static size_t count_lines(const struct tree_file *file)
{
    size_t count = 0;
    for (size_t i = 0; i < file->size; i++)
        count += file->bytes[i] == '\n';
    return count;
}

/* The log of a training has times, which differ in every run. */
static bool is_same(const struct tree_file *file, const struct tree_file *whole)
{
    if (!whole)
        return false;
    const char *name = strrchr(file->path, '/');
    bool is_log = name && strcmp(name, "/log.csv") == 0;
    return tree_same_bytes(file, whole) || (is_log && count_lines(file) == count_lines(whole));
}

/* The log of a batch and its header, and the parts of an atlas, are for --resume. */
static bool is_work(const struct trial *trial, const char *path)
{
    if (strcmp(trial->command, "atlas") == 0)
        return strstr(path, ".part");
    return is_batch(trial) && (strstr(path, ".part") || strstr(path, ".batch"));
}

static bool may_stand(const struct trial *trial, const struct tree_file *file)
{
    const struct tree_file *whole = tree_find(&trial->whole, file->path);
    const struct tree_file *old = tree_find(&trial->before, file->path);
    if (!is_owned(trial, file->path))
        return false;
    if (is_temporary(file->path))
        return is_killed(trial) || (old && tree_same_bytes(old, file));
    if (S_ISDIR(file->status.st_mode))
        return true;
    bool is_saved = strcmp(trial->command, "train") == 0 && is_interrupted(trial) && whole;
    return is_same(file, whole) || (old && tree_same_bytes(old, file)) || is_saved ||
           (whole && verdict_items_failed(trial)) || is_work(trial, file->path);
}

static bool is_said(const char *path)
{
    return strcmp(path, "out") == 0 || strcmp(path, "err") == 0;
}

static const char *judge_files(const struct trial *trial, const char **path)
{
    for (size_t i = 0; i < trial->after.count; i++) {
        const struct tree_file *file = &trial->after.files[i];
        const struct tree_file *old = tree_find(&trial->before, *path = file->path);
        if (!is_said(file->path) && !(old && !tree_difference(old, file)) &&
            !may_stand(trial, file))
            return old ? "is neither complete nor unchanged" : "exists, but is not complete";
    }
    for (size_t i = 0; i < trial->before.count; i++) {
        *path = trial->before.files[i].path;
        if (!tree_find(&trial->after, *path) && !is_said(*path) &&
            !(is_owned(trial, *path) && (is_batch(trial) || !tree_find(&trial->whole, *path))))
            return "is missing";
    }
    return NULL;
}

/* After success, in the first or the second run. */
static const char *judge_all(const struct trial *trial, const char **path)
{
    for (size_t i = 0; i < trial->whole.count; i++) {
        const struct tree_file *whole = &trial->whole.files[i];
        const struct tree_file *file = tree_find(&trial->after, *path = whole->path);
        if (!is_said(*path) && (!file || !is_same(file, whole)))
            return "differs from the file without a fault";
    }
    for (size_t i = 0; i < trial->after.count; i++) {
        const struct tree_file *file = &trial->after.files[i];
        bool is_left = trial->fault && trial->is_repeated && is_temporary(file->path);
        *path = file->path;
        if (!tree_find(&trial->whole, *path) && !is_said(*path) && !is_left)
            return "does not exist without a fault";
    }
    return NULL;
}

const char *verdict_on(const struct trial *trial, const char **path)
{
    const char *wrong;
    if (trial->is_repeated) {
        *path = "err";
        return trial->status ? "has the message of a failure without a fault"
                             : judge_all(trial, path);
    }
    *path = "";
    if (trial->fault && !may_end_so(trial))
        return "the status is not allowed";
    *path = "err";
    wrong = judge_message(trial);
    if (!wrong) {
        *path = "out";
        wrong = judge_printed(trial);
    }
    if (!wrong)
        wrong = judge_files(trial, path);
    if (!wrong && trial->status == 0)
        wrong = judge_all(trial, path);
    return wrong;
}

const char *verdict_on_whole(const struct trial *trial, const char **path)
{
    for (size_t i = 0; i < trial->before.count; i++) {
        const struct tree_file *old = &trial->before.files[i];
        const struct tree_file *now = tree_find(&trial->whole, *path = old->path);
        const char *what = now ? tree_difference(old, now) : "is missing";
        if (what && !is_owned(trial, *path))
            return what;
    }
    for (size_t i = 0; i < trial->whole.count; i++) {
        *path = trial->whole.files[i].path;
        if (!tree_find(&trial->before, *path) && !is_said(*path) && !is_owned(trial, *path))
            return "is a new file that the command may not write";
        if (!tree_find(&trial->before, *path) && is_temporary(*path))
            return "is a temporary file that was not removed";
    }
    return NULL;
}
