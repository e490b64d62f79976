#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../break/argument_list.h"
#include "base/clock.h"
#include "base/file.h"
#include "trouble.h"

enum { READ_BYTES = 64 * 1024, PATIENCE_MS = 60 * 1000, STATUS_NOT_STARTED = 126 };

/* --- the place -------------------------------------------------------------------------------- */

/* Nobody else sees what is mounted here, and it is gone when the last process of ours is. */
static bool mount_disk(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("machine", "disk", "tmpfs", 0, "size=64m,mode=0777") == 0;
}

/* `count` sentences of a few words, a line each. */
static int make_texts(const char *name, size_t count, struct err *err)
{
    static const char *const animals[] = {"cat", "dog", "bird", "horse", "fish"};
    static const char *const verbs[] = {"sleeps", "eats", "sings", "runs"};
    static const char *const places[] = {"in the house", "by the river", "under a tree"};
    FILE *out = fopen(name, "w");
    bool failed = !out;
    for (size_t i = 0; i < count && !failed; i++)
        failed = fprintf(out, "The %s %s %s.\n", animals[i % 5], verbs[i % 4], places[i % 3]) < 0;
    if (out)
        failed = fclose(out) || failed;
    return failed ? err_set(err, "cannot write '%s': %s", name, strerror(errno)) : 0;
}

static int make_inputs(struct scene *scene, struct err *err)
{
    if (make_texts("texts", 40, err) || make_texts("sentences", 3, err))
        return -1;
    for (size_t i = 0; i < chore_input_count; i++) {
        if (scene_line(scene, chore_inputs[i], -1, 0, err))
            return -1;
        if (scene->status)
            return err_set(err, "'%s' failed: %.*s", chore_inputs[i], (int)scene->said.size,
                           scene->said.bytes);
    }
    return 0;
}

/* The least with which the program can say who it is: below that it is the loader that fails. */
static int find_least(struct scene *scene, int resource, size_t first, size_t step, size_t *least,
                      struct err *err)
{
    scene->status = -1;
    for (*least = first; scene->status; *least += step) {
        if (scene_line(scene, "--version", resource, *least, err))
            return -1;
        if (!scene->status)
            return 0;
    }
    return 0;
}

/* Open for reading alone: the disk is to become read-only. */
static int load_ballast(struct scene *scene, struct err *err)
{
    int descriptor = open("disk/ballast", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    bool failed = descriptor < 0 || write(descriptor, "", 1) != 1;
    scene->ballast = open("disk/ballast", O_RDONLY | O_CLOEXEC);
    if (failed || close(descriptor) || scene->ballast < 0 || unlink("disk/ballast"))
        return err_set(err, "cannot write 'disk/ballast': %s", strerror(errno));
    return 0;
}

int scene_open(struct scene *scene, const char *program, struct err *err)
{
    *scene = (struct scene){.ballast = -1, .streams = {-1, -1}};
    scene->is_root = geteuid() == 0;
    if (!realpath(program, scene->program))
        return err_set(err, "cannot find '%s': %s", program, strerror(errno));
    scene->descriptor = open(scene->program, O_RDONLY | O_CLOEXEC);
    if (scene->descriptor < 0 || ground_open(&scene->ground, ".", err))
        return err_set(err, "cannot open '%s': %s", program, strerror(errno));
    if (chmod(".", 0711) || file_make_directory("disk", err))
        return err_set(err, "cannot make a folder: %s", strerror(errno));
    scene->has_disk = scene->is_root && mount_disk();
    if (load_ballast(scene, err) || make_inputs(scene, err))
        return -1;
    if (find_least(scene, RLIMIT_NOFILE, 3, 1, &scene->least_files, err))
        return -1;
    return trouble_is_sanitized()
               ? 0
               : find_least(scene, RLIMIT_AS, 1 << 20, 64 << 10, &scene->least_memory, err);
}

void scene_close(struct scene *scene)
{
    buf_release(&scene->printed);
    buf_release(&scene->said);
    close(scene->ballast);
    close(scene->descriptor);
    if (scene->has_disk)
        umount2("disk", MNT_DETACH);
    ground_close(&scene->ground);
}

int scene_prepare(struct scene *scene, struct err *err)
{
    if (ground_empty("disk", err))
        return -1;
    for (size_t i = 0; i < CHORE_STEPS_MAX && scene->chore->before[i]; i++)
        if (scene_line(scene, scene->chore->before[i], -1, 0, err) || scene->status)
            return err_set(err, "'%s' ended with status %d", scene->chore->before[i],
                           scene->status);
    return 0;
}

/* --- the process ------------------------------------------------------------------------------ */

static int open_pipes(struct scene *scene, int far_ends[2], struct err *err)
{
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return err_set(err, "cannot make a pipe: %s", strerror(errno));
        scene->streams[i] = ends[0];
        far_ends[i] = ends[1];
    }
    return 0;
}

static void hold_signals(int how)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(how, &signals, NULL);
}

/* In the child. */
static void become(const struct scene *scene, char **argv, const int far_ends[2])
{
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
    dup2(far_ends[0], STDOUT_FILENO);
    dup2(far_ends[1], STDERR_FILENO);
    if (scene->trouble && scene->trouble->afflict)
        scene->trouble->afflict(scene);
    hold_signals(SIG_UNBLOCK); /* one that came too early is for the program */
    fexecve(scene->descriptor, argv, environ);
    _exit(STATUS_NOT_STARTED);
}

bool scene_runs(const struct scene *scene)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)scene->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

/* False at the end of the stream. */
static bool take(struct buf *to, int from)
{
    static char bytes[READ_BYTES];
    ssize_t got = read(from, bytes, sizeof bytes);
    if (got > 0)
        buf_bytes(to, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Read both streams to their ends. */
static int listen_to(struct scene *scene, struct err *err)
{
    struct buf *texts[] = {&scene->printed, &scene->said};
    while (scene->streams[0] >= 0 || scene->streams[1] >= 0) {
        struct pollfd waiting[] = {{scene->streams[0], POLLIN, 0}, {scene->streams[1], POLLIN, 0}};
        if (poll(waiting, 2, PATIENCE_MS) == 0) {
            kill(scene->child, SIGKILL);
            return err_set(err, "it did not end within a minute");
        }
        for (int i = 0; i < 2; i++) {
            if (waiting[i].revents && !take(texts[i], scene->streams[i])) {
                close(scene->streams[i]);
                scene->streams[i] = -1;
            }
        }
    }
    return buf_check(&scene->printed, err) || buf_check(&scene->said, err) ? -1 : 0;
}

static int start(struct scene *scene, char **argv, struct err *err)
{
    int far_ends[2] = {-1, -1};
    if (open_pipes(scene, far_ends, err))
        return -1;
    if (scene->trouble && scene->trouble->fit_pipe)
        scene->trouble->fit_pipe(scene, far_ends[0]);
    hold_signals(SIG_BLOCK);
    scene->child = fork();
    if (scene->child == 0)
        become(scene, argv, far_ends);
    hold_signals(SIG_UNBLOCK);
    close(far_ends[0]);
    close(far_ends[1]);
    return scene->child < 0 ? err_set(err, "cannot fork: %s", strerror(errno)) : 0;
}

static int play(struct scene *scene, const char *line, struct err *err)
{
    struct argument_list words = {0};
    int status = 0;
    buf_clear(&scene->printed);
    buf_clear(&scene->said);
    double began = clock_seconds();
    int failed =
        argument_list_split(&words, "attn-cli", line, err) || start(scene, words.argv, err);
    if (!failed) {
        if (scene->trouble && scene->trouble->disturb)
            scene->trouble->disturb(scene);
        failed = listen_to(scene, err);
        if (waitpid(scene->child, &status, 0) != scene->child)
            failed = err_set(err, "cannot wait for it: %s", strerror(errno));
    }
    scene->status = WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
    scene->seconds = clock_seconds() - began;
    argument_list_release(&words);
    return failed ? -1 : 0;
}

static int play_chore(struct scene *scene, const char *more, struct err *err)
{
    struct buf line = {0};
    const struct chore *chore = scene->chore;
    bool to_stdout = !chore->output || (scene->trouble && scene->trouble->to_stdout);
    buf_text(&line, chore->line);
    if (!to_stdout && !chore->in_place)
        buf_format(&line, " -o %s", chore->output);
    buf_text(&line, more);
    int failed = buf_check(&line, err) || play(scene, line.bytes, err);
    buf_release(&line);
    return failed ? -1 : 0;
}

int scene_run(struct scene *scene, struct err *err)
{
    return play_chore(scene, "", err);
}

int scene_repeat(struct scene *scene, struct err *err)
{
    const struct trouble *trouble = scene->trouble;
    scene->trouble = NULL;
    int failed = play_chore(scene, scene->chore->again ? scene->chore->again : "", err);
    scene->trouble = trouble;
    return failed;
}

int scene_line(struct scene *scene, const char *line, int resource, size_t limit, struct err *err)
{
    const struct trouble *trouble = scene->trouble;
    const struct trouble below = {.afflict = trouble_limit_plainly};
    scene->trouble = resource < 0 ? NULL : &below;
    trouble_limit = (struct trouble_limit){resource, limit};
    int failed = play(scene, line, err);
    scene->trouble = trouble;
    return failed;
}
