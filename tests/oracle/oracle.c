/* oracle: compares every tensor the program gives with what the reference computed.
 *
 *     build/oracle build/attn-cli tests/golden/life tests/golden/gpt2-micro ...
 *
 * A folder's expected.json holds a sentence, its ids, and the tensors that PyTorch made of it. The
 * model is in the folder too, or else it is the bundled one of the folder's name.
 */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/heap.h"
#include "format/json.h"

/* Sums of float32 taken in another order differ in their last bits; two layers make some 1e-6 of a
 * tensor's largest value of that. A wrong formula is off by far more. */
static const double ABSOLUTE = 1e-5;
static const double RELATIVE = 2e-5; /* of the tensor's largest value */

enum { RANK_MAX = 3 };

/* The textbook's own variations and inputs: no site of the forward pass. */
static const char *const not_ours[] = {"mask_after_softmax", "mask_then_renormalise",
                                       "source_embedding"};

extern char **environ;

/* --- running the program --------------------------------------------------------------------- */

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

/* All that the program gives for the sentence of `expected`, through the file `path`. */
static int ask(struct json **found, const char *program, const char *model, const char *path,
               const struct json *expected, struct err *err)
{
    const char *sentence = NULL;
    const char *source = NULL;
    if (json_text(expected, "sentence", &sentence, err) ||
        json_text(expected, "source", &source, err))
        return -1;
    const char *arguments[] = {program,
                               "run",
                               "--model",
                               model,
                               "--sentence",
                               sentence,
                               "--show",
                               "all",
                               "--format",
                               "json",
                               "--output",
                               path,
                               source ? "--source" : NULL,
                               source,
                               NULL};
    return run(arguments, err) || parse(found, path, err) ? -1 : 0;
}

/* --- comparing ------------------------------------------------------------------------------- */

static int compare_ids(const struct json *expected, const struct json *found, struct err *err)
{
    const struct json *id = json_first(json_member(expected, "ids"));
    const struct json *token = json_first(json_member(found, "tokens"));
    for (size_t i = 0; id && token; i++) {
        double wanted = 0;
        double got = -1;
        if (!json_get_number(id, &wanted) || !json_get_number(json_member(token, "id"), &got) ||
            wanted != got)
            return err_set(err, "id %zu: expected %g, found %g", i, wanted, got);
        id = json_next(id);
        token = json_next(token);
    }
    return id || token ? err_set(err, "expected another number of tokens") : 0;
}

/* A number of either file: -infinity is "-inf" in the one, null in the other. */
static bool read_number(double *number, const struct json *value)
{
    const char *text = NULL;
    *number = -HUGE_VAL;
    if (json_is_null(value) || (json_get_text(value, &text) && strcmp(text, "-inf") == 0))
        return true;
    return json_get_number(value, number);
}

struct reference {
    size_t rank;
    size_t shape[RANK_MAX];
    const struct json *next; /* the number that comes next in row-major order */
    size_t count;            /* of the numbers that were compared */
    double tolerance;
};

static int read_reference(struct reference *reference, const struct json *tensor, struct err *err)
{
    const struct json *data = json_member(tensor, "data");
    const struct json *size = json_first(json_member(tensor, "shape"));
    *reference = (struct reference){.next = json_first(data)};
    for (; size; size = json_next(size)) {
        long long extent = 0;
        if (reference->rank == RANK_MAX || !json_get_integer(size, 1, 1 << 20, &extent))
            return err_set(err, "expected.json: expected a shape of at most %d axes", RANK_MAX);
        reference->shape[reference->rank++] = (size_t)extent;
    }
    double largest = 0;
    for (const struct json *value = json_first(data); value; value = json_next(value)) {
        double number = 0;
        if (read_number(&number, value) && isfinite(number))
            largest = fmax(largest, fabs(number));
    }
    reference->tolerance = ABSOLUTE + RELATIVE * largest;
    return 0;
}

static int compare_number(struct reference *reference, const struct json *found, struct err *err)
{
    double wanted = 0;
    double got = 0;
    if (!reference->next || !read_number(&wanted, reference->next) || !read_number(&got, found))
        return err_set(err, "number %zu: expected a number", reference->count);
    if (!(wanted == got || fabs(wanted - got) <= reference->tolerance))
        return err_set(err, "number %zu: expected %.9g, found %.9g", reference->count, wanted, got);
    reference->next = json_next(reference->next);
    reference->count++;
    return 0;
}

/* Arrays nested in the order of the axes. */
static int compare_nested(struct reference *reference, const struct json *found, size_t axis,
                          struct err *err)
{
    if (axis == reference->rank || axis == RANK_MAX)
        return compare_number(reference, found, err);
    if (!json_is_array(found) || json_count(found) != reference->shape[axis])
        return err_set(err, "axis %zu: expected %zu items, found %zu", axis, reference->shape[axis],
                       json_is_array(found) ? json_count(found) : 0);
    for (const struct json *item = json_first(found); item; item = json_next(item))
        if (compare_nested(reference, item, axis + 1, err))
            return -1;
    return 0;
}

static int compare_tensor(const struct json *expected, const struct json *found, struct err *err)
{
    struct reference reference;
    if (!found)
        return err_set(err, "the tensor is missing");
    if (read_reference(&reference, expected, err) || compare_nested(&reference, found, 0, err))
        return -1;
    return reference.next ? err_set(err, "expected more than %zu numbers", reference.count) : 0;
}

/* --- a folder -------------------------------------------------------------------------------- */

struct tally {
    int passed, failed;
};

static void judge(struct tally *tally, const char *folder, const char *what, struct err *err)
{
    if (err->kind == ERR_NONE) {
        tally->passed++;
        return;
    }
    tally->failed++;
    printf("%s: %s: %s\n", folder, what, err->text);
    err_clear(err);
}

static bool is_ours(const char *tensor)
{
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        if (strcmp(not_ours[i], tensor) == 0)
            return false;
    return true;
}

static void compare_all(struct tally *tally, const char *folder, const struct json *expected,
                        const struct json *found, struct err *err)
{
    compare_ids(expected, found, err);
    judge(tally, folder, "ids", err);
    const struct json *tensors = json_member(found, "tensors");
    const struct json *tensor = json_first(json_member(expected, "tensors"));
    for (; tensor; tensor = json_next(tensor)) {
        const char *name = json_key(tensor);
        if (!is_ours(name))
            continue;
        compare_tensor(tensor, tensors ? json_member(tensors, name) : NULL, err);
        judge(tally, folder, name, err);
    }
}

static const char *model_of(const char *folder, struct buf *path)
{
    buf_format(path, "%s/config.json", folder);
    const char *name = strrchr(folder, '/');
    return name && !file_exists(path->bytes) ? name + 1 : folder;
}

static void check_folder(struct tally *tally, const char *program, const char *folder,
                         const char *scratch, struct err *err)
{
    struct json *expected = NULL;
    struct json *found = NULL;
    struct buf config = {0};
    struct buf path = {0};
    buf_format(&path, "%s/expected.json", folder);
    if (parse(&expected, path.bytes, err) ||
        ask(&found, program, model_of(folder, &config), scratch, expected, err))
        judge(tally, folder, "all", err);
    else
        compare_all(tally, folder, expected, found, err);
    json_free(expected);
    json_free(found);
    buf_release(&config);
    buf_release(&path);
}

int main(int argc, char **argv)
{
    char scratch[] = "/tmp/oracle-XXXXXX";
    int descriptor = mkstemp(scratch);
    if (argc < 3 || descriptor < 0) {
        fprintf(stderr, "usage: oracle PROGRAM FOLDER...\n");
        return 2;
    }
    close(descriptor);
    static struct err err;
    struct tally tally = {0};
    for (int i = 2; i < argc; i++)
        check_folder(&tally, argv[1], argv[i], scratch, &err);
    unlink(scratch);
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed || tally.passed == 0 ? 1 : 0;
}
