/* things: every command that writes, among somebody's own things, to its end and killed on the way.
 *
 *     build/things build/attn-cli                        from the repository's root
 *     build/things --every 7 build/attn-cli              one command line of seven
 *     build/things build/attn-cli 'merge' '--force'      only command lines with all of these
 *
 * errands.c crosses commands, places and options; belongings.sh makes the things. After each run,
 * whatever its status, and after SIGKILL at each system call that names a file there, all that the
 * command does not own is what it was: kind, mode, owner, bytes, where a link leads. Without strace
 * nothing is killed, and the last line says so. VERBOSE=1 shows each command and its status.
 */
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../stage_progress.h"
#include "base/num.h"
#include "base/stream.h"
#include "belongings.h"
#include "errands.h"
#include "kill_points.h"

enum { PATIENCE_SECONDS = 120, WORDS_MAX = 8, FAULTS_SHOWN = 12, ENDING_BYTES = 20 };

static char scratch[PATH_MAX];
static struct belongings made, before, after;
static struct errand errand;
static struct kill_points points;
static size_t every = 1, passed, failed, errands, kills;
static bool changed; /* what there is to be tried with */

/* --- running ---------------------------------------------------------------------------------- */

/* Lines of a shell, in a folder of the scratch; the status, or 256 and a signal. */
static int shell(const char *folder, const char *lines)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (chdir(scratch) || chdir(folder) || !freopen("/dev/null", "r", stdin) ||
            !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(126);
        alarm(PATIENCE_SECONDS);
        execl("/bin/sh", "sh", "-c", lines, (char *)NULL);
        _exit(126);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static int run(const char *prefix)
{
    char line[2 * ERRAND_BYTES];
    snprintf(line, sizeof line, "exec %s \"$ATTN\" %s", prefix, errand.line);
    return shell("try/here", line);
}

/* The things as they were; cheap where they are so still. */
static int set_out(struct err *err)
{
    if (changed && shell(".", "rm -rf try && cp -a template try"))
        return err_set(err, "cannot copy the things");
    if (!changed)
        return 0;
    changed = false;
    belongings_release(&before);
    return belongings_take(&before, "try", err);
}

static int make_template(struct err *err)
{
    char line[3 * ERRAND_BYTES];
    changed = true;
    belongings_release(&made);
    if (shell(".", "rm -rf template && mkdir -p template/here"))
        return err_set(err, "cannot empty the template");
    if (*errand.before && shell("template/here", errand.before))
        return err_set(err, "failed in peace: %s", errand.before);
    if (belongings_take(&made, "template", err))
        return -1;
    snprintf(line, sizeof line, "sh \"$THINGS\" %s", errand.mixed);
    return shell("template", line) ? err_set(err, "cannot make the things") : 0;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static bool matches(const char *patterns, const char *path)
{
    char pattern[ERRAND_BYTES];
    for (size_t size = 0; *(patterns += strspn(patterns, " ")); patterns += size) {
        size = strcspn(patterns, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)size, patterns);
        if (fnmatch(pattern, path, 0) == 0)
            return true;
    }
    return false;
}

/* It may go, or be replaced. */
static bool is_owned(const struct belonging *thing)
{
    if (matches(errand.owns, thing->path))
        return true;
    const struct belonging *own = belongings_find(&made, thing->path);
    return errand.owns_before && own && !belonging_difference(own, thing, true);
}

/* It may come: under its name, or on the way to that. */
static bool is_expected(const struct belonging *thing)
{
    char path[PATH_MAX];
    size_t size = strlen(thing->path);
    if (stream_is_temporary(thing->path))
        size -= ENDING_BYTES;
    snprintf(path, sizeof path, "%.*s", (int)size, thing->path);
    const struct belonging *own = belongings_find(&made, path);
    return matches(errand.owns, path) || matches(errand.makes, path) || (errand.owns_before && own);
}

static void tell(size_t *faults, const char *how, const char *path, const char *what)
{
    if ((*faults)++ == 0)
        printf("failed: %s%s%s\n", errand.line, *how ? ": " : "", how);
    if (*faults <= FAULTS_SHOWN)
        printf("    '%s' %s\n", path, what);
}

static size_t judge(const char *how)
{
    size_t faults = 0;
    for (size_t i = 0; i < before.count; i++) {
        const struct belonging *thing = &before.things[i];
        const struct belonging *now = belongings_find(&after, thing->path);
        const char *what = now ? belonging_difference(thing, now, false) : "is gone";
        changed = changed || what;
        if (what && !is_owned(thing))
            tell(&faults, how, thing->path, what);
    }
    for (size_t i = 0; i < after.count; i++) {
        const struct belonging *thing = &after.things[i];
        if (belongings_find(&before, thing->path))
            continue;
        changed = true;
        if (!is_expected(thing))
            tell(&faults, how, thing->path, "has come");
    }
    return faults;
}

static int try(const char *prefix, const char *how, struct err *err)
{
    if (set_out(err))
        return -1;
    int status = run(prefix);
    size_t faults = 0;
    if (status == 256 + SIGALRM)
        tell(&faults, how, errand.line, "did not end");
    int lost = belongings_take(&after, "try", err);
    faults += lost ? 0 : judge(how);
    belongings_release(&after);
    *(faults ? &failed : &passed) += 1;
    tell_progress(passed + failed, 0); /* nobody knows how many there will be */
    if (getenv("VERBOSE"))
        fprintf(stderr, "%d %s %s\n", status, errand.line, how);
    return lost;
}

/* --- all -------------------------------------------------------------------------------------- */

static int try_kills(struct err *err)
{
    char trace[PATH_MAX];
    snprintf(trace, sizeof trace, "%.4000s/trace", scratch);
    if (set_out(err))
        return -1;
    run(kill_points_watch);
    changed = true;
    if (kill_points_read(&points, trace, scratch, err))
        return -1;
    for (size_t i = 0; i < points.count; i++) {
        char prefix[KILL_PREFIX_BYTES];
        char how[KILL_PREFIX_BYTES];
        kill_points_prefix(prefix, &points.calls[i]);
        snprintf(how, sizeof how, "killed at %s %zu", points.calls[i].call, points.calls[i].nth);
        if (try(prefix, how, err))
            return -1;
        kills++;
    }
    return 0;
}

static bool is_asked_for(char *const words[])
{
    for (size_t i = 0; words[i]; i++)
        if (!strstr(errand.line, words[i]))
            return false;
    return true;
}

static int try_all(char *const words[], struct err *err)
{
    bool strace = !getenv("ASAN_OPTIONS") && kill_points_are_possible();
    for (size_t i = 0; errand_get(&errand, i); i++) {
        if (!is_asked_for(words) || i % every)
            continue;
        errands++;
        if (make_template(err) || try("", "", err) || (strace && try_kills(err)))
            return -1;
    }
    if (!strace)
        puts("skipped: kills: strace is not installed, or may not trace here");
    return 0;
}

static int prepare(const char *program, struct err *err)
{
    char path[PATH_MAX];
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/attn-things-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(path) || !realpath(path, scratch))
        return err_set(err, "cannot make a folder in '%s'", path);
    if (!realpath(program, path) || setenv("ATTN", path, 1) ||
        !realpath("tests/things/belongings.sh", path) || setenv("THINGS", path, 1))
        return err_set(err, "cannot find '%s'", program);
    unsetenv("ATTN_MODEL");
    if (chdir(scratch) || shell(".", "mkdir in") || shell("in", errand_inputs))
        return err_set(err, "cannot make what is read");
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    long long number = 1;
    int at = 1;
    if (argc > 2 && strcmp(argv[1], "--every") == 0 &&
        num_parse_integer(argv[2], 1, INT_MAX, &number))
        at = 3;
    every = (size_t)number;
    if (at >= argc)
        return EXIT_FAILURE;
    if (prepare(argv[at], &err) || try_all(argv + at + 1, &err)) {
        printf("failed: %s%s%s\n", errand.line, *errand.line ? ": " : "", err.text);
        failed++;
    }
    if (*scratch && !setenv("SCRATCH", scratch, 1))
        shell("/", "rm -rf \"$SCRATCH\"");
    printf("%zu command lines, %zu kills\n", errands, kills);
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
