/* endure: every command that writes, under everything that a machine may do to it.
 *
 *     build/endure build/attn-cli                        from the repository's root
 *     build/endure --every 7 build/attn-cli              one try of seven
 *     build/endure build/attn-cli 'run csv' 'full'       chores and troubles with these in their
 *                                                        names; '' stands for all
 *
 * Chores (chore.c) are crossed with troubles (trouble_*.c), each in all its steps; verdict.h says
 * what they are held to. What was refused is done once more in peace, which must make up for it.
 * Something must come of every trouble: one that nobody noticed is a test that cannot fail.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../stage_progress.h"
#include "chore.h"
#include "holding.h"
#include "scene.h"
#include "trouble.h"
#include "verdict.h"

enum { CHORES_MAX = 64 };

static const struct trouble *const groups[] = {trouble_limits, trouble_places, trouble_streams,
                                               trouble_signals};

struct tries {
    size_t passed, failed, skipped;
    size_t fine, refused, ended; /* 0, a status of the program's, a signal */
};

static struct scene scene;
static struct whole in_peace[CHORES_MAX];
static struct holding before, after;
static size_t every = 1, seen, tried;

/* --- in peace --------------------------------------------------------------------------------- */

/* Twice: what differs from one run to the next could not be judged. */
static int rehearse(struct whole *whole, struct err *err)
{
    if (scene_prepare(&scene, err) || scene_run(&scene, err) ||
        holding_take(&whole->files, "disk", err))
        return -1;
    whole->seconds = scene.seconds;
    if (scene.status || scene.said.size)
        return err_set(err, "in peace: status %d: %.*s", scene.status, (int)scene.said.size,
                       scene.said.size ? scene.said.bytes : "");
    const struct trouble printing = {.name = "printing", .to_stdout = true};
    scene.trouble = &printing;
    int failed = scene.chore->prints && scene_run(&scene, err);
    scene.trouble = NULL;
    buf_bytes(&whole->printed, scene.printed.bytes, scene.printed.size);
    return failed || buf_check(&whole->printed, err) ? -1 : 0;
}

/* --- one try ---------------------------------------------------------------------------------- */

static bool is_file(const struct chore *chore)
{
    return strchr(strchr(chore->output, '/') + 1, '.') != NULL;
}

/* What may be replaced stands there already. */
static int put_old(struct err *err)
{
    const struct chore *chore = scene.chore;
    if (!chore->output || chore->goes_on || !is_file(chore) || scene.trouble->to_stdout)
        return 0;
    FILE *out = fopen(chore->output, "w");
    if (!out || fputs("old\n", out) < 0 || fclose(out) || chmod(chore->output, 0666))
        return err_set(err, "cannot write '%s'", chore->output);
    return 0;
}

static int attempt(struct buf *faults, struct tries *tries, struct err *err)
{
    const struct trouble *trouble = scene.trouble;
    if (scene_prepare(&scene, err) || put_old(err) || holding_take(&before, "disk", err) ||
        (trouble->arrange && trouble->arrange(&scene, err)))
        return -1;
    int failed = scene_run(&scene, err);
    if (trouble->restore)
        trouble->restore(&scene);
    if (trouble->suits && scene.chore->output)
        chmod(scene.chore->output, 0666);
    if (failed || holding_take(&after, "disk", err))
        return -1;
    tries->fine += scene.status == 0;
    tries->refused += scene.status > 0 && scene.status < SIGNALLED;
    tries->ended += scene.status >= SIGNALLED;
    verdict_on(faults, &scene, &before, &after);
    if (!scene.status || trouble->to_stdout || verdict_items_failed(&scene))
        return 0;
    holding_release(&after);
    if (scene_repeat(&scene, err) || holding_take(&after, "disk", err))
        return -1;
    verdict_on_repeat(faults, &scene, &after);
    return 0;
}

static void try_step(struct tries *tries)
{
    static struct err err;
    struct buf faults = {0};
    err_clear(&err);
    if (attempt(&faults, tries, &err))
        buf_format(&faults, "  %s\n", err.text);
    if (faults.size)
        printf("failed: %s, under %s, step %zu:\n%.*s", scene.chore->name, scene.trouble->name,
               scene.step, (int)faults.size, faults.bytes);
    tries->passed += !faults.size;
    tries->failed += faults.size != 0;
    tell_progress(++tried, 0);
    buf_release(&faults);
    holding_release(&before);
    holding_release(&after);
}

static bool concerns(const struct chore *chore, const struct trouble *trouble)
{
    if (trouble->to_stdout ? !chore->prints : !chore->output)
        return false;
    return !trouble->suits || trouble->suits(&scene);
}

static void try_chore(struct tries *tries, size_t number)
{
    scene.chore = &chores[number];
    scene.whole = &in_peace[number];
    if (!(scene.whole->seconds > 0) || !concerns(scene.chore, scene.trouble))
        return;
    for (scene.step = 0; scene.step < scene.trouble->steps; scene.step++)
        if (seen++ % every == 0)
            try_step(tries);
}

/* --- all -------------------------------------------------------------------------------------- */

static void tell(const struct trouble *trouble, const struct tries *tries)
{
    printf("%-42s %4zu tries: %4zu fine, %4zu refused, %4zu ended by a signal\n", trouble->name,
           tries->passed + tries->failed, tries->fine, tries->refused, tries->ended);
}

static bool always_succeeds(const struct trouble *trouble)
{
    return trouble->statuses == MAY_SUCCEED && !trouble->signal && !trouble->status_more;
}

static void try_trouble(const struct trouble *trouble, struct tries *sum)
{
    struct tries tries = {0};
    const char *reason = trouble->lacks ? trouble->lacks(&scene) : NULL;
    scene.trouble = trouble;
    if (reason) {
        printf("skipped: %s: %s\n", trouble->name, reason);
        sum->skipped++;
        return;
    }
    for (size_t i = 0; i < chore_count; i++)
        try_chore(&tries, i);
    tell(trouble, &tries);
    if (every == 1 && !always_succeeds(trouble) && tries.fine == tries.passed && tries.passed) {
        printf("failed: %s: nobody noticed it\n", trouble->name);
        tries.failed++;
    }
    sum->passed += tries.passed;
    sum->failed += tries.failed;
}

static void rehearse_all(const char *pattern, struct tries *sum)
{
    static struct err err;
    for (size_t i = 0; i < chore_count; i++) {
        scene.chore = &chores[i];
        err_clear(&err);
        if (!strstr(chores[i].name, pattern))
            continue;
        if (rehearse(&in_peace[i], &err)) {
            printf("failed: %s: %s\n", chores[i].name, err.text);
            in_peace[i].seconds = 0;
            sum->failed++;
        }
    }
}

int main(int argc, char **argv)
{
    static struct err err;
    struct tries sum = {0};
    int first = argc > 2 && strcmp(argv[1], "--every") == 0 ? 3 : 1;
    every = first > 1 ? (size_t)atol(argv[2]) : 1;
    if (argc <= first || every < 1) {
        fprintf(stderr, "usage: endure [--every N] PROGRAM [CHORE [TROUBLE]]\n");
        return 2;
    }
    const char *chore = argc > first + 1 ? argv[first + 1] : "";
    const char *trouble = argc > first + 2 ? argv[first + 2] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("ATTN_MODEL");
    if (scene_open(&scene, argv[first], &err)) {
        fprintf(stderr, "endure: %s\n", err.text);
        return 1;
    }
    rehearse_all(chore, &sum);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const struct trouble *row = groups[i]; row->name; row++)
            if (strstr(row->name, trouble))
                try_trouble(row, &sum);
    scene_close(&scene);
    printf("%zu passed, %zu failed", sum.passed, sum.failed);
    printf(sum.skipped ? ", %zu skipped\n" : "\n", sum.skipped);
    return sum.failed || !sum.passed;
}
