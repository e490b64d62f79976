/* faults: runs a command line many times, each time with another fault.
 *
 *     build/faults FOLDER memory EVERY COMMAND OPTION...     every EVERY-th allocation
 *     build/faults FOLDER system EVERY COMMAND OPTION...     every EVERY-th system call, signal,
 *                                                            kill and limit
 *
 * fault_table.c has the faults, verdict.h the rules. The command runs in FOLDER/here/files, a copy
 * of FOLDER/template/files. Without a fault it must end with STATUS (default: 0). It may write the
 * files that match the patterns in OWNS. A failed command is repeated without a fault, with the
 * words in AGAIN appended, and must succeed. ATTN is the program; for failing allocations it runs
 * inside of this process. The last line is `N passed, N failed` faults. VERBOSE=1 prints each.
 */
int attn_main(int argc, char **argv);

#define main attn_main
#include "../../../cmd/main.c"
#undef main

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/num.h"
#include "verdict.h"

enum {
    PATH_BYTES = 4096,
    SCRIPT_BYTES = 512,
    ARGUMENTS_MAX = 96,
    NTH_MAX = 1000000,
    FAILURES_SHOWN = 5,
    SHOWN_BYTES = 2000,
    HANG_SECONDS = 600, /* as in tally.sh */
};

static char here[PATH_BYTES], calls[PATH_BYTES], watched[PATH_BYTES], reset_line[5 * PATH_BYTES];
static char *program, **command;
static size_t every, passed, failed, seen;
static bool *fault_came; /* shared with the process that runs the command */
static struct trial trial;

/* --- one run ---------------------------------------------------------------------------------- */

/* Words that start the command: of strace or a shell, then the command, then AGAIN. */
struct words {
    char *argv[ARGUMENTS_MAX];
    size_t count;
    char text[SCRIPT_BYTES], more[SCRIPT_BYTES];
};

static void add(struct words *words, char *word)
{
    if (words->count == ARGUMENTS_MAX - 1)
        abort();
    words->argv[words->count++] = word;
}

static void add_strace(struct words *words)
{
    static char *const options[] = {"strace", "-qq", "-s", "0", "-o", calls, "-e"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        add(words, options[i]);
    add(words, words->text);
    add(words, program);
}

static void add_start(struct words *words, const struct fault *fault, size_t nth)
{
    if (!fault || fault->kind == FAULT_OF_MEMORY) {
        add(words, program);
    } else if (fault->kind == FAULT_OF_CALL) {
        snprintf(words->text, sizeof words->text, "inject=%s:%s:when=%zu%s", fault->name,
                 fault->how, nth, fault->for_ever ? "+" : "");
        if (nth == 0)
            strcpy(words->text, "trace=all");
        add_strace(words);
    } else {
        add(words, "sh");
        add(words, "-c");
        snprintf(words->text, sizeof words->text, fault->how, fault->values[nth]); // NOLINT
        add(words, words->text);
        add(words, "sh");
    }
}

static void send_to(int descriptor, const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, descriptor) < 0)
        abort();
    close(file);
}

static void become(struct words *words, const struct fault *fault, size_t nth)
{
    bool in_process = fault && fault->kind == FAULT_OF_MEMORY;
    send_to(STDOUT_FILENO, "out");
    send_to(STDERR_FILENO, "err");
    if (chdir("files"))
        abort();
    const char *hang = getenv("HANG");
    alarm(hang ? (unsigned)atoi(hang) : HANG_SECONDS);
    if (!in_process) {
        execvp(words->argv[0], words->argv);
        abort();
    }
    heap_fail_at(nth, fault->for_ever);
    int status = attn_main((int)words->count, words->argv);
    *fault_came = heap_has_failed();
    heap_fail_at(0, 0);
    exit(status);
}

/* Run `line`, which ends with NULL, in `here`. */
static void run(const struct fault *fault, size_t nth, char *const *line, const char *more)
{
    struct words words = {.count = 0};
    add_start(&words, fault, nth);
    while (*line)
        add(&words, *line++);
    snprintf(words.more, sizeof words.more, "%s", more);
    for (char *word = strtok(words.more, " "); word; word = strtok(NULL, " "))
        add(&words, word);
    *fault_came = false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (chdir(here))
            abort();
        become(&words, fault, nth);
    }
    waitpid(child, &trial.status, 0);
}

/* True if the last run changed no file. Removes what it printed. */
static bool is_as_before(void)
{
    static const char *const printed[] = {"out", "err"};
    char path[PATH_BYTES + 8];
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        snprintf(path, sizeof path, "%s/%s", here, printed[i]);
        unlink(path);
    }
    tree_take(&trial.after, here);
    if (trial.after.count != trial.before.count)
        return false;
    for (size_t i = 0; i < trial.before.count; i++) {
        const struct tree_file *old = &trial.before.files[i];
        const struct tree_file *now = tree_find(&trial.after, old->path);
        if (!now || tree_difference(old, now))
            return false;
    }
    return true;
}

/* A new copy of the template, unless the last run left all files as they were. */
static void reset(void)
{
    trial.is_repeated = false;
    if (trial.before.count && is_as_before())
        return;
    if (system(reset_line))
        abort();
    tree_take(&trial.before, here);
}

/* --- one fault -------------------------------------------------------------------------------- */

static void show(const char *name)
{
    const struct tree_file *file = tree_find(&trial.after, name);
    int size = file ? (int)(file->size < SHOWN_BYTES ? file->size : SHOWN_BYTES) : 0;
    if (size)
        printf("--- %s\n%.*s\n", name, size, file->bytes);
}

static bool judge(const char *name, size_t nth)
{
    const char *path = "";
    tree_take(&trial.after, here);
    const char *wrong = verdict_on(&trial, &path);
    if (wrong && failed < FAILURES_SHOWN) {
        printf("%s, %zu (%s)%s: status 0x%x: %s %s\n", name, nth,
               trial.fault && trial.fault->how ? trial.fault->how : "",
               trial.is_repeated ? ", then once more without a fault" : "", (unsigned)trial.status,
               path, wrong);
        show("err");
        show("out");
    }
    return wrong == NULL;
}

/* False if the fault did not occur, because the command has fewer allocations. */
static bool try(const struct fault *fault, size_t nth)
{
    const char *again = getenv("AGAIN");
    reset();
    trial.fault = fault;
    run(fault, nth, command, "");
    if (fault->kind == FAULT_OF_MEMORY && !*fault_came && WIFEXITED(trial.status))
        return false;
    if (getenv("VERBOSE"))
        fprintf(stderr, "%s %zu: 0x%x\n", fault->name, nth, (unsigned)trial.status);
    bool fine = judge(fault->name, nth);
    if (fine && trial.status && !verdict_items_failed(&trial)) {
        trial.is_repeated = true;
        run(NULL, 0, command, again ? again : "");
        fine = judge(fault->name, nth);
    }
    *(fine ? &passed : &failed) += 1;
    return true;
}

static void try_allocations(const struct fault *fault)
{
    for (size_t nth = 1 + seen % every; nth < NTH_MAX && try(fault, nth);)
        nth += every;
}

static bool is_its_turn(void)
{
    return seen++ % every == 0;
}

/* --- system calls ----------------------------------------------------------------------------- */

static size_t count_calls(const char *from, const char *to, const char *call)
{
    char sought[64];
    size_t count = 0;
    snprintf(sought, sizeof sought, "\n%s(", call);
    while ((from = memmem(from, (size_t)(to - from), sought, strlen(sought)))) {
        count++;
        from++;
    }
    return count;
}

/* Skips calls before main(), which begins by checking its standard streams. */
static void try_calls(const struct fault *fault, const struct file *trace)
{
    static const char first[] = "\nfcntl(0, ";
    const char *end = trace->bytes + trace->size;
    const char *begin = memmem(trace->bytes, trace->size, first, sizeof first - 1);
    begin = begin ? begin : end;
    size_t before = count_calls(trace->bytes, begin, fault->name);
    size_t own = count_calls(begin, end, fault->name);
    for (size_t i = 1; i <= own; i++)
        if (is_its_turn())
            try(fault, before + i);
}

/* Skips limits with which the program does not start. */
static void try_place(const struct fault *fault)
{
    static char *version[] = {"--version", NULL};
    for (size_t i = 0; i < FAULT_VALUES_MAX && (i == 0 || fault->values[i]); i++) {
        if (!is_its_turn())
            continue;
        if (fault->values[i] && !strstr(fault->how, "fsize")) {
            reset();
            run(fault, i, version, "");
            if (trial.status)
                continue;
        }
        try(fault, i);
    }
}

static void try_system(void)
{
    const struct fault watching = {"nothing", FAULT_OF_CALL, .statuses = MAY_SUCCEED};
    struct file trace = {0};
    reset();
    trial.fault = &watching;
    run(&watching, 0, command, "");
    if (!judge("nothing", 0) || rename(calls, watched) || file_map(&trace, watched, NULL)) {
        failed++;
        return;
    }
    for (const struct fault *fault = system_faults; fault->name; fault++) {
        if (fault->kind == FAULT_OF_CALL)
            try_calls(fault, &trace);
        else
            try_place(fault);
    }
    file_release(&trace);
}

/* --- all faults ------------------------------------------------------------------------------- */

/* Run without a fault; other runs are compared with its files. */
static bool run_whole(void)
{
    const char *path = "";
    const char *expected = getenv("STATUS");
    reset();
    run(NULL, 0, command, "");
    tree_take(&trial.whole, here);
    const char *wrong = verdict_on_whole(&trial, &path);
    if (!WIFEXITED(trial.status) || WEXITSTATUS(trial.status) != atoi(expected ? expected : "0"))
        wrong = "the status is not the expected one";
    if (!wrong)
        return true;
    printf("without a fault: status 0x%x: %s %s\n", (unsigned)trial.status, path, wrong);
    tree_take(&trial.after, here);
    show("err");
    return false;
}

static size_t hash_of_command(void)
{
    size_t hash = 0;
    for (size_t i = 0; command[i]; i++)
        for (const char *at = command[i]; *at; at++)
            hash = 31 * hash + (unsigned char)*at;
    return hash;
}

int main(int argc, char **argv)
{
    long long step = 1;
    program = getenv("ATTN");
    const char *owns = getenv("OWNS");
    if (argc < 5 || !program || !owns || !num_parse_integer(argv[3], 1, NTH_MAX, &step))
        return EXIT_FAILURE;
    every = (size_t)step;
    snprintf(here, sizeof here, "%s/here", argv[1]);
    snprintf(calls, sizeof calls, "%s/calls", argv[1]);
    snprintf(watched, sizeof watched, "%s/watched", argv[1]);
    snprintf(reset_line, sizeof reset_line,
             "chmod 777 '%s/files' 2>/dev/null; rm -rf '%s' && cp -a '%s/template' '%s'", here,
             here, argv[1], here);
    command = argv + 4;
    trial.command = command[0];
    trial.owns = owns;
    const char *slice = getenv("SLICE");
    seen = hash_of_command() + (slice ? strtoul(slice, NULL, 10) : 0);
    seen %= every; /* other faults for each command line and slice */
    fault_came = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fault_came == MAP_FAILED || !run_whole()) {
        failed++;
    } else if (trial.status) { /* refused, no file changed */
        passed++;
    } else if (strcmp(argv[2], "memory") == 0) {
        for (const struct fault *fault = memory_faults; fault->name; fault++)
            try_allocations(fault);
    } else {
        try_system();
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
