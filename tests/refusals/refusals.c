/* refusals: runs tables of invalid input (case_table.h), and reports differences from the table.
 *
 *     build/refusals build/attn-cli tests/refusals/config.cases ...
 *     build/refusals build/attn-cli tests/refusals/config.cases:12      only that line
 *     build/refusals --every 2 build/attn-cli tests/refusals/config.cases ...     every second
 * line; with
 *                                                 SLICE=1 in the environment the other ones
 *
 * Also checks each refusal: one line on standard error, nothing on standard output, no changed
 * file, and at most MEMORY_KIB of memory more than the size of the files.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../run/stage_progress.h"
#include "case_table.h"
#include "change.h"
#include "ground.h"
#include "trial.h"

enum { MEMORY_KIB = 72 << 10, STATUS_FAILED = 1, SHOWN_BYTES = 400 };

#ifdef __SANITIZE_ADDRESS__
static const bool memory_counts = false; /* a sanitizer needs memory, too */
#else
static const bool memory_counts = true;
#endif

struct bench {
    struct ground ground;
    char program[PATH_MAX];
    struct trial lists; /* the output of help --completion */
    size_t every;       /* run every N-th case */
    size_t seen, passed, failed;
    long peak_kib; /* of all refusals, beyond the size of their files */
};

/* The violated rules of a trial, one per line. */
struct verdict {
    struct buf faults;
};

static const char beginning[] = "attn-cli: error: ";

/* True if the text contains `written`; `= MESSAGE` is the whole text. */
static bool holds(const struct buf *text, const char *written)
{
    struct buf wanted = {0};
    bool whole = strncmp(written, "= ", 2) == 0;
    if (whole)
        buf_text(&wanted, beginning);
    case_table_decode(&wanted, written + 2 * whole, strlen(written) - 2 * whole);
    if (whole)
        buf_char(&wanted, '\n');
    bool found = memmem(text->bytes, text->size, wanted.bytes, wanted.size) != NULL;
    found = found && (!whole || text->size == wanted.size);
    buf_release(&wanted);
    return found;
}

static void judge_message(struct verdict *verdict, const struct trial *trial)
{
    const struct buf *message = &trial->complaints;
    if (message->size < sizeof beginning - 1 ||
        memcmp(message->bytes, beginning, sizeof beginning - 1) != 0)
        buf_text(&verdict->faults, "  expected a message\n");
    else if (memchr(message->bytes, '\n', message->size) != message->bytes + message->size - 1)
        buf_text(&verdict->faults, "  expected one line\n");
    if (trial->out.size)
        buf_format(&verdict->faults, "  expected nothing on standard output, found %zu bytes\n",
                   trial->out.size);
}

/* Errors of items of a batch are in the results. */
static void judge_texts(struct verdict *verdict, const struct case_row *row,
                        const struct trial *trial)
{
    for (size_t i = 0; i < row->text_count; i++)
        if (!holds(&trial->out, row->texts[i]) && !holds(&trial->complaints, row->texts[i]))
            buf_format(&verdict->faults, "  expected '%s'\n", row->texts[i]);
    if (!row->status && trial->complaints.size)
        buf_text(&verdict->faults, "  expected no message\n");
}

/* A batch with failed items writes results of the others; other refusals change no file. */
static void judge(struct verdict *verdict, const struct case_row *row, const struct trial *trial,
                  const struct inventory *before, const struct inventory *after)
{
    bool same = before->names.size == after->names.size &&
                memcmp(before->names.bytes, after->names.bytes, after->names.size) == 0;
    if (trial->status != row->status)
        buf_format(&verdict->faults, "  expected status %d, found %d\n", row->status,
                   trial->status);
    judge_texts(verdict, row, trial);
    if (row->status > STATUS_FAILED)
        judge_message(verdict, trial);
    if (row->status > STATUS_FAILED && !row->leaves_files && !same)
        buf_format(&verdict->faults, "  expected unchanged files, found\n%s", after->names.bytes);
}

static void judge_memory(struct verdict *verdict, struct bench *bench, const struct trial *trial,
                         const struct inventory *before)
{
    long taken = trial->peak_kib - (long)(before->size_bytes >> 10);
    if (!memory_counts || !trial->status)
        return;
    bench->peak_kib = taken > bench->peak_kib ? taken : bench->peak_kib;
    if (taken > MEMORY_KIB)
        buf_format(&verdict->faults,
                   "  expected at most %d KiB beyond the files' %zu bytes, found %ld\n", MEMORY_KIB,
                   before->size_bytes, taken);
}

static int make_files(const struct bench *bench, const struct case_row *row, struct err *err)
{
    int failed = ground_clear(&bench->ground, row->model, err);
    for (size_t i = 0; i < row->change_count && !failed; i++)
        failed = change_apply(row->changes[i], err);
    return failed;
}

/* Prepare in a separate process: some files are large, and a program inherits the peak memory of
 * its parent. */
static int prepare(const struct bench *bench, const struct case_row *row, struct err *err)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int failed = make_files(bench, row, err);
        if (failed)
            printf("%s\n", err->text);
        fflush(stdout);
        _exit(failed ? 1 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return err_set(err, "cannot make the files");
    return 0;
}

static int run_case(struct verdict *verdict, struct bench *bench, const struct case_row *row,
                    struct trial *trial, struct err *err)
{
    struct inventory before = {0};
    struct inventory after = {0};
    int failed = prepare(bench, row, err) || inventory_take(&before, err) ||
                 trial_run(trial, row->command, err) || inventory_take(&after, err);
    if (!failed) {
        judge(verdict, row, trial, &before, &after);
        judge_memory(verdict, bench, trial, &before);
        failed = buf_check(&verdict->faults, err);
    }
    inventory_release(&before);
    inventory_release(&after);
    return failed;
}

static void try_case(struct bench *bench, const char *path, const struct case_row *row)
{
    static struct err err;
    struct verdict verdict = {0};
    struct trial trial = {.program = bench->program};
    err_clear(&err);
    if (run_case(&verdict, bench, row, &trial, &err)) {
        printf("failed: %s:%zu: the case is invalid: %s\n", path, row->line, err.text);
        bench->failed++;
    } else if (verdict.faults.size) {
        printf("failed: %s:%zu: attn-cli%s\n%s", path, row->line, row->command,
               verdict.faults.bytes);
        size_t shown = trial.complaints.size < SHOWN_BYTES ? trial.complaints.size : SHOWN_BYTES;
        printf("  printed %zu bytes, and '%.*s'\n", trial.out.size, (int)shown,
               shown ? trial.complaints.bytes : "");
        bench->failed++;
    } else {
        bench->passed++;
    }
    trial_release(&trial);
    buf_release(&verdict.faults);
    tell_progress(bench->passed + bench->failed, 0);
}

/* Run a table, or for `PATH:LINE` that line. */
static void try_table(struct bench *bench, char *path)
{
    static struct err err;
    struct case_table table;
    struct buf whole = {0};
    char *colon = strrchr(path, ':');
    size_t line = colon ? (size_t)atoll(colon + 1) : 0;
    if (colon)
        *colon = '\0';
    buf_format(&whole, "%s/%s", bench->ground.root, path);
    if (buf_check(&whole, &err) ||
        case_table_open(&table, *path == '/' ? path : whole.bytes, bench->lists.out.bytes, &err)) {
        printf("failed: %s\n", err.text);
        bench->failed++;
        buf_release(&whole);
        return;
    }
    for (size_t i = 0; i < table.count; i++)
        if (line ? table.cases[i].line == line : bench->seen++ % bench->every == 0)
            try_case(bench, path, &table.cases[i]);
    case_table_release(&table);
    buf_release(&whole);
}

int main(int argc, char **argv)
{
    static struct err err;
    static struct bench bench;
    static char root[PATH_MAX];
    int first = argc > 2 && strcmp(argv[1], "--every") == 0 ? 3 : 1;
    long every = first > 1 ? atol(argv[2]) : 1;
    if (argc < first + 2 || every < 1 || !realpath(argv[first], bench.program) ||
        !realpath(".", root)) {
        fprintf(stderr,
                "usage: refusals [--every N] PROGRAM TABLE..., from the repository's root\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *slice = getenv("SLICE");
    bench.every = (size_t)every;
    bench.seen = slice ? strtoul(slice, NULL, 10) : 0;
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("ATTN_MODEL");
    setenv("HF_HUB_CACHE", "/dev/null/none", 1); /* hide models of the user */
    bench.lists.program = bench.program;
    if (ground_open(&bench.ground, root, &err) ||
        trial_run(&bench.lists, "help --completion bash", &err)) {
        fprintf(stderr, "refusals: %s\n", err.text);
        return 1;
    }
    for (int i = first + 1; i < argc; i++)
        try_table(&bench, argv[i]);
    ground_close(&bench.ground);
    trial_release(&bench.lists);
    printf("peak memory of refusals: %ld KiB more than the files\n", bench.peak_kib);
    printf("%zu passed, %zu failed\n", bench.passed, bench.failed);
    return bench.failed || !bench.passed;
}
