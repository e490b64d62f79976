#include "program_check.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../../run/stage_progress.h"
#include "base/buf.h"
#include "base/file.h"
#include "format/json.h"

enum { NUMBER_BYTES = 24, IDS_MAX = 64 };

extern char **environ;

void tally_judge(struct tally *tally, const char *folder, const char *what, struct err *err)
{
    tally->passed += err->kind == ERR_NONE;
    tally->failed += err->kind != ERR_NONE;
    if (err->kind != ERR_NONE)
        printf("failed: %s: %s: %s\n", folder, what, err->text);
    err_clear(err);
    tell_progress((size_t)(tally->passed + tally->failed), 0);
}

static int run(const char *const *arguments, struct err *err)
{
    pid_t child = 0;
    int status = 0;
    int cause = posix_spawn(&child, arguments[0], NULL, NULL, (char *const *)arguments, environ);
    if (cause)
        return err_set(err, "cannot run '%s': %s", arguments[0], strerror(cause));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(err, "cannot wait for '%s': %s", arguments[0], strerror(errno));
    return status ? err_set(err, "expected status 0, found %#x", (unsigned)status) : 0;
}

static int parse(struct json **root, const char *path, struct err *err)
{
    struct file file = {0};
    int failed = file_map(&file, path, err) || json_parse(root, file.bytes, file.size, err);
    file_release(&file);
    return failed ? -1 : 0;
}

static int write_ids(struct buf *text, const uint32_t *ids, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        buf_format(text, "%s%u", i ? "," : "", ids[i]);
    return buf_check(text, err);
}

/* Run the program on the golden sentence, or on its ids, with all tensors. */
static int ask(struct json **found, const struct question *question, const struct golden *golden,
               struct err *err)
{
    struct buf ids = {0};
    if (write_ids(&ids, golden->ids, golden->id_count, err))
        return -1;
    const char *arguments[] = {question->program,
                               "run",
                               "--precision",
                               question->tolerance->precision,
                               "--model",
                               golden->model,
                               golden->sentence ? "--sentence" : "--ids",
                               golden->sentence ? golden->sentence : ids.bytes,
                               "--show",
                               "all",
                               "--format",
                               "json",
                               "--output",
                               question->path,
                               golden->source ? "--source" : NULL,
                               golden->source,
                               NULL};
    int failed = run(arguments, err) || parse(found, question->path, err);
    buf_release(&ids);
    return failed ? -1 : 0;
}

static int compare_ids(const uint32_t *ids, size_t count, const struct json *found, struct err *err)
{
    const struct json *tokens = json_member(found, "tokens");
    if (!tokens || json_count(tokens) != count)
        return err_set(err, "expected %zu tokens, found %zu", count,
                       tokens ? json_count(tokens) : 0);
    const struct json *token = json_first(tokens);
    for (size_t i = 0; i < count; i++, token = json_next(token)) {
        double id = -1;
        if (!json_get_number(json_member(token, "id"), &id) || id != ids[i])
            return err_set(err, "id %zu: expected %u, found %g", i, ids[i], id);
    }
    return 0;
}

/* A tensor that is compared, and the index of its next number. */
struct comparison {
    const struct golden_tensor *tensor;
    const struct tolerance *tolerance;
    size_t index;
};

static int compare_number(struct comparison *next, const struct json *value, struct err *err)
{
    double found = -HUGE_VAL;
    size_t index = next->index++;
    if (!json_is_null(value) && !json_get_number(value, &found))
        return err_set(err, "number %zu: expected a number", index);
    if (!golden_agrees(next->tensor, index, found, next->tolerance))
        return err_set(err, "number %zu: expected %.9g, found %.9g", index,
                       next->tensor->values[index], found);
    return 0;
}

/* Arrays nested in the order of the axes. */
static int compare_nested(struct comparison *next, const struct json *found, size_t axis,
                          struct err *err)
{
    const struct golden_tensor *tensor = next->tensor;
    if (axis == tensor->rank || axis == GOLDEN_RANK_MAX)
        return compare_number(next, found, err);
    if (!json_is_array(found) || json_count(found) != tensor->shape[axis])
        return err_set(err, "axis %zu: expected %zu items, found %zu", axis, tensor->shape[axis],
                       json_is_array(found) ? json_count(found) : 0);
    for (const struct json *item = json_first(found); item; item = json_next(item))
        if (compare_nested(next, item, axis + 1, err))
            return -1;
    return 0;
}

static void compare_all(struct tally *tally, const struct question *question,
                        const struct golden *golden, const struct json *found, struct err *err)
{
    compare_ids(golden->ids, golden->id_count, found, err);
    tally_judge(tally, golden->folder, "ids", err);
    const struct json *tensors = json_member(found, "tensors");
    for (size_t i = 0; i < golden->tensor_count; i++) {
        struct comparison next = {&golden->tensors[i], question->tolerance, 0};
        const struct json *values = tensors ? json_member(tensors, next.tensor->name) : NULL;
        if (values)
            compare_nested(&next, values, 0, err);
        else
            err_set(err, "the tensor is missing");
        tally_judge(tally, golden->folder, next.tensor->name, err);
    }
}

/* Compare the greedy continuation of the ids, which uses the cache. */
static int compare_greedy(const struct question *question, const struct golden *golden,
                          struct err *err)
{
    char count[NUMBER_BYTES];
    struct buf ids = {0};
    struct json *found = NULL;
    uint32_t all[IDS_MAX];
    size_t total = golden->id_count + golden->greedy_count;
    if (total > IDS_MAX)
        return err_set(err, "expected at most %d ids", IDS_MAX);
    memcpy(all, golden->ids, golden->id_count * sizeof *all);
    memcpy(all + golden->id_count, golden->greedy, golden->greedy_count * sizeof *all);
    snprintf(count, sizeof count, "%zu", golden->greedy_count);
    if (write_ids(&ids, golden->ids, golden->id_count, err))
        return -1;
    const char *arguments[] = {question->program, "generate",     "--model",  golden->model,
                               "--ids",           ids.bytes,      "-n",       count,
                               "--quiet",         "--ignore-eos", "--format", "json",
                               "--output",        question->path, NULL};
    int failed = run(arguments, err) || parse(&found, question->path, err) ||
                 compare_ids(all, total, found, err);
    json_free(found);
    buf_release(&ids);
    return failed;
}

void program_check(struct tally *tally, const struct question *question,
                   const struct golden *golden)
{
    static struct err err;
    struct json *found = NULL;
    if (ask(&found, question, golden, &err))
        tally_judge(tally, golden->folder, "all", &err);
    else
        compare_all(tally, question, golden, found, &err);
    json_free(found);
    bool exact = strcmp(question->tolerance->precision, tolerance_fp32.precision) == 0;
    if (exact && golden->greedy_count) {
        compare_greedy(question, golden, &err);
        tally_judge(tally, golden->folder, "greedy", &err);
    }
}
