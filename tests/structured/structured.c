/* structured: valid inputs with one change, through the commands that read them.
 *
 *     build/structured [COUNT [KIND...]]     so many of every kind, or of these (default: 200)
 *     build/structured KIND NUMBER           one again; its files stay in the folder it names
 *
 * An input depends on its kind and its number alone. It may take five seconds and two gigabytes;
 * none may end the process, or a sanitizer's patience, or touch a file that is not its own. Every
 * input is tried in a process that tries others, too, which is begun anew where one ends it. From
 * the repository's root; the last line is `N passed, N failed`, an input each.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../stage_progress.h"
#include "base/num.h"
#include "worker.h"

const struct kind kinds[] = {
    {"models", models_open, models_make, ERR_UNSUPPORTED},
    {"families", families_open, families_make, ERR_UNSUPPORTED},
    {"gguf", gguf_open_files, gguf_make, ERR_UNSUPPORTED},
    {"tokenizers", tokenizers_open, tokenizers_make, ERR_UNSUPPORTED},
    {"items", NULL, items_make, ERR_OUTPUT},
    {"manifests", manifests_open, manifests_make, ERR_OUTPUT},
    {"journals", journals_open, journals_make, ERR_OUTPUT},
};
const size_t kind_count = sizeof kinds / sizeof *kinds;

enum {
    WORKERS_MAX = 64,
    COUNT = 200,
    COUNT_MAX = 1000000000,
    ROUND = 500, /* inputs that share a process: leaks are looked for at its end */
    PATH_BYTES = 4096,
    LOG_BYTES = 6000,
};

struct crew {
    const struct kind *kind;
    size_t count;
    size_t processes;
    struct worker workers[WORKERS_MAX];
    pid_t pids[WORKERS_MAX];
    char scratches[WORKERS_MAX][PATH_BYTES];
    struct counts *counts; /* [processes], shared */
    size_t failed;
};

static char scratch[PATH_BYTES]; /* of all */

/* --- a process that ended --------------------------------------------------------------------- */

static void show_log(const char *folder)
{
    static char text[LOG_BYTES];
    char path[PATH_BYTES + 8];
    snprintf(path, sizeof path, "%s/log", folder);
    FILE *log = fopen(path, "r");
    size_t size = log ? fread(text, 1, sizeof text - 1, log) : 0;
    text[size] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        printf("    %s\n", line);
    if (log)
        fclose(log);
}

static void describe(char *text, size_t size, int status, bool done)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        snprintf(text, size, "it takes more than %d seconds", LIMIT_SECONDS);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(text, size, "it waits for more than %d seconds", LIMIT_WAITING);
    else if (WIFSIGNALED(status))
        snprintf(text, size, "signal %d", WTERMSIG(status));
    else if (done)
        snprintf(text, size, "memory was not given back by one of the %d before it", ROUND);
    else
        snprintf(text, size, "a broken promise or a sanitizer's report");
}

/* Begin the next round, after what the last one did; false when all is done. */
static bool go_on(struct crew *crew, size_t index, size_t first)
{
    struct worker *worker = &crew->workers[index];
    if (first >= crew->count)
        return false;
    worker->first = first;
    worker->end = first + ROUND * worker->step;
    if (worker->end > crew->count)
        worker->end = crew->count;
    worker->counts->at = SIZE_MAX;
    crew->pids[index] = worker_start(worker);
    if (crew->pids[index] > 0)
        return true;
    printf("failed: %s %zu: no process: %s\n", crew->kind->name, first, strerror(errno));
    crew->failed++;
    return false;
}

static bool settle(struct crew *crew, size_t index, int status)
{
    char what[128];
    struct worker *worker = &crew->workers[index];
    size_t at = worker->counts->at;
    bool begun = at != SIZE_MAX;
    bool done = begun && at >= worker->end;
    size_t next = done ? worker->first + ROUND * worker->step : at + worker->step;
    if (!status)
        return go_on(crew, index, next);
    crew->failed++;
    describe(what, sizeof what, status, done);
    printf("failed: %s %zu: %s\n", crew->kind->name, at, what);
    show_log(worker->scratch);
    fflush(stdout);
    return begun && go_on(crew, index, next);
}

/* --- one kind --------------------------------------------------------------------------------- */

static bool begin(struct crew *crew, size_t index)
{
    char *folder = crew->scratches[index];
    snprintf(folder, PATH_BYTES, "%.4000s/%zu", scratch, index);
    crew->counts[index] = (struct counts){0};
    crew->workers[index] = (struct worker){
        .kind = crew->kind,
        .step = crew->processes,
        .scratch = folder,
        .counts = &crew->counts[index],
    };
    mkdir(folder, 0755);
    return go_on(crew, index, index);
}

static size_t done_by_all(const struct crew *crew)
{
    size_t done = 0;
    for (size_t i = 0; i < crew->processes; i++)
        done += crew->counts[i].done;
    return done;
}

static void wait_for_all(struct crew *crew, size_t running, size_t before, size_t total)
{
    while (running) {
        int status = 0;
        pid_t pid = wait(&status);
        for (size_t i = 0; i < crew->processes; i++)
            if (crew->pids[i] == pid && !settle(crew, i, status)) {
                crew->pids[i] = 0;
                running--;
            }
        tell_progress(before + crew->failed + done_by_all(crew), total);
    }
}

static void sum_up(const struct crew *crew)
{
    struct counts sum = {0};
    for (size_t i = 0; i < crew->processes; i++) {
        const struct counts *counts = &crew->counts[i];
        for (size_t k = 0; k < STATUSES; k++)
            sum.statuses[k] += counts->statuses[k];
        if (counts->slowest_seconds > sum.slowest_seconds) {
            sum.slowest_seconds = counts->slowest_seconds;
            sum.slowest = counts->slowest;
        }
    }
    printf("%s: %zu of %zu inputs; command lines by status:", crew->kind->name, done_by_all(crew),
           crew->count);
    for (size_t k = 0; k < STATUSES; k++)
        printf(" %zu", sum.statuses[k]);
    printf("; the slowest input is %zu, %.2f s\n", sum.slowest, sum.slowest_seconds);
}

static void run_kind(struct crew *crew, const struct kind *kind, size_t before, size_t total)
{
    size_t running = 0;
    crew->kind = kind;
    crew->failed = 0;
    for (size_t i = 0; i < crew->processes; i++)
        running += begin(crew, i);
    wait_for_all(crew, running, before, total);
    sum_up(crew);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int make_scratch(void)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(scratch, sizeof scratch, "%.3000s/structured-XXXXXX", folder);
    return mkdtemp(scratch) && chmod(scratch, 0755) == 0 ? 0 : -1;
}

static void remove_scratch(void)
{
    char root[] = "/";
    if (chdir(scratch) == 0 && made_clear() == 0 && chdir(root) == 0)
        rmdir(scratch);
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < kind_count; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static int open_kind(const struct kind *kind)
{
    static struct err err;
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%.4000s/specimens", scratch);
    mkdir(folder, 0755);
    if (!kind->open || !kind->open(folder, &err))
        return 0;
    printf("failed: %s: %s\n", kind->name, err.text);
    return -1;
}

static int repeat(const struct kind *kind, size_t number)
{
    char folder[PATH_BYTES];
    if (make_scratch() || open_kind(kind))
        return EXIT_FAILURE;
    snprintf(folder, sizeof folder, "%.4000s/here", scratch);
    printf("cd %s\n", folder);
    if (mkdir(folder, 0777) || chmod(folder, 0777) || chdir(folder))
        return EXIT_FAILURE;
    return worker_repeat(kind, number) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool is_chosen(const struct kind *kind, char **names)
{
    bool chosen = !*names;
    for (; *names && !chosen; names++)
        chosen = strcmp(kind->name, *names) == 0;
    return chosen;
}

static int run_kinds(struct crew *crew, char **names)
{
    size_t passed = 0, failed = 0, tried = 0, total = 0;
    for (size_t i = 0; i < kind_count; i++)
        total += is_chosen(&kinds[i], names) ? crew->count : 0;
    for (size_t i = 0; i < kind_count; i++) {
        if (!is_chosen(&kinds[i], names))
            continue;
        tried += crew->count;
        if (open_kind(&kinds[i])) {
            failed++;
            continue;
        }
        run_kind(crew, &kinds[i], tried - crew->count, total);
        passed += done_by_all(crew);
        failed += crew->failed;
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* COUNT and the KINDs; false where they are no such. */
static bool read_arguments(size_t *count, char **arguments)
{
    long long number = COUNT;
    if (*arguments && !num_parse_integer(*arguments++, 1, COUNT_MAX, &number))
        return false;
    *count = (size_t)number;
    for (; *arguments; arguments++)
        if (!find_kind(*arguments))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    static struct crew crew;
    long long number = 0;
    const struct kind *one = argc == 3 ? find_kind(argv[1]) : NULL;
    if (one && num_parse_integer(argv[2], 0, COUNT_MAX, &number))
        return repeat(one, (size_t)number);
    if (!read_arguments(&crew.count, argv + 1)) {
        fprintf(stderr, "usage: structured [COUNT [KIND...]] | KIND NUMBER; kinds:");
        for (size_t i = 0; i < kind_count; i++)
            fprintf(stderr, " %s", kinds[i].name);
        fprintf(stderr, "\n");
        return EXIT_FAILURE;
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    crew.processes = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : processors;
    crew.counts = mmap(NULL, WORKERS_MAX * sizeof *crew.counts, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crew.counts == MAP_FAILED || make_scratch()) {
        fprintf(stderr, "structured: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    int status = run_kinds(&crew, argv + (argc > 1 ? 2 : 1));
    remove_scratch();
    return status;
}
