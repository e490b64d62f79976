#include "program_check.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "format/json.h"

extern char **environ;

void tally_judge(struct tally *tally, const char *folder, const char *what, struct err *err)
{
    if (err->kind == ERR_NONE) {
        tally->passed++;
        return;
    }
    tally->failed++;
    printf("%s: %s: %s\n", folder, what, err->text);
    err_clear(err);
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

/* All that the program gives for the golden sentence, through the file `path`. */
static int ask(struct json **found, const char *program, const char *path,
               const struct golden *golden, struct err *err)
{
    const char *arguments[] = {program,
                               "run",
                               "--model",
                               golden->model,
                               "--sentence",
                               golden->sentence,
                               "--show",
                               "all",
                               "--format",
                               "json",
                               "--output",
                               path,
                               golden->source ? "--source" : NULL,
                               golden->source,
                               NULL};
    return run(arguments, err) || parse(found, path, err) ? -1 : 0;
}

static int compare_ids(const struct golden *golden, const struct json *found, struct err *err)
{
    const struct json *tokens = json_member(found, "tokens");
    if (!tokens || json_count(tokens) != golden->id_count)
        return err_set(err, "expected %zu tokens, found %zu", golden->id_count,
                       tokens ? json_count(tokens) : 0);
    const struct json *token = json_first(tokens);
    for (size_t i = 0; i < golden->id_count; i++, token = json_next(token)) {
        double id = -1;
        if (!json_get_number(json_member(token, "id"), &id) || id != golden->ids[i])
            return err_set(err, "id %zu: expected %u, found %g", i, golden->ids[i], id);
    }
    return 0;
}

static int compare_number(const struct golden_tensor *tensor, size_t index,
                          const struct json *value, struct err *err)
{
    double found = -HUGE_VAL;
    if (!json_is_null(value) && !json_get_number(value, &found))
        return err_set(err, "number %zu: expected a number", index);
    if (!golden_agrees(tensor, index, found))
        return err_set(err, "number %zu: expected %.9g, found %.9g", index, tensor->values[index],
                       found);
    return 0;
}

/* Arrays nested in the order of the axes; `index` is the number that comes next. */
static int compare_nested(const struct golden_tensor *tensor, const struct json *found, size_t axis,
                          size_t *index, struct err *err)
{
    if (axis == tensor->rank || axis == GOLDEN_RANK_MAX)
        return compare_number(tensor, (*index)++, found, err);
    if (!json_is_array(found) || json_count(found) != tensor->shape[axis])
        return err_set(err, "axis %zu: expected %zu items, found %zu", axis, tensor->shape[axis],
                       json_is_array(found) ? json_count(found) : 0);
    for (const struct json *item = json_first(found); item; item = json_next(item))
        if (compare_nested(tensor, item, axis + 1, index, err))
            return -1;
    return 0;
}

static void compare_all(struct tally *tally, const struct golden *golden, const struct json *found,
                        struct err *err)
{
    compare_ids(golden, found, err);
    tally_judge(tally, golden->folder, "ids", err);
    const struct json *tensors = json_member(found, "tensors");
    for (size_t i = 0; i < golden->tensor_count; i++) {
        const struct golden_tensor *tensor = &golden->tensors[i];
        const struct json *values = tensors ? json_member(tensors, tensor->name) : NULL;
        size_t index = 0;
        if (values)
            compare_nested(tensor, values, 0, &index, err);
        else
            err_set(err, "the tensor is missing");
        tally_judge(tally, golden->folder, tensor->name, err);
    }
}

void program_check(struct tally *tally, const char *program, const char *scratch,
                   const struct golden *golden)
{
    static struct err err;
    struct json *found = NULL;
    if (ask(&found, program, scratch, golden, &err))
        tally_judge(tally, golden->folder, "all", &err);
    else
        compare_all(tally, golden, found, &err);
    json_free(found);
}
