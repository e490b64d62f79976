/* Standard streams: closed, full, left by who read them. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "trouble.h"

enum { SMALL_PIPE_BYTES = 4096, LEAVING_STEPS = 4, CLOSED_STEPS = 7, PAUSE_NS = 20 * 1000 * 1000 };

/* Every set of the three but the empty one. */
static void close_some(const struct scene *scene)
{
    for (int descriptor = 0; descriptor < 3; descriptor++)
        if (((scene->step + 1) >> descriptor) & 1)
            close(descriptor);
}

static bool has_no_error_stream(const struct scene *scene)
{
    return (scene->step + 1) >> STDERR_FILENO & 1;
}

static unsigned expect_closed(const struct scene *scene)
{
    bool refuses = scene->chore->types && ((scene->step + 1) >> STDOUT_FILENO & 1);
    return refuses ? MAY_REFUSE_OUTPUT : MAY_SUCCEED;
}

static void close_output(const struct scene *scene)
{
    (void)scene;
    close(STDOUT_FILENO);
}

static const char *lacks_full(const struct scene *scene)
{
    (void)scene;
    return access("/dev/full", W_OK) ? "there is no /dev/full" : NULL;
}

static void fill_output(const struct scene *scene)
{
    (void)scene;
    int full = open("/dev/full", O_WRONLY);
    if (full < 0 || dup2(full, STDOUT_FILENO) < 0)
        _exit(EXIT_FAILURE);
    close(full);
}

static void narrow(struct scene *scene, int writing_end)
{
    (void)scene;
    fcntl(writing_end, F_SETPIPE_SZ, SMALL_PIPE_BYTES);
}

/* Reads none of it, a quarter, half or three quarters. */
static void leave(struct scene *scene)
{
    char bytes[SMALL_PIPE_BYTES];
    size_t left = scene->whole->printed.size / LEAVING_STEPS * scene->step;
    while (left > 0) {
        size_t part = left < sizeof bytes ? left : sizeof bytes;
        ssize_t got = read(scene->streams[0], bytes, part);
        if (got <= 0)
            break;
        left -= (size_t)got;
    }
    close(scene->streams[0]);
    scene->streams[0] = -1;
}

/* As Python's subprocess does to the programs it starts. */
static void ignore_pipes(const struct scene *scene)
{
    (void)scene;
    signal(SIGPIPE, SIG_IGN);
}

static void narrow_and_hurry(struct scene *scene, int writing_end)
{
    narrow(scene, writing_end);
    fcntl(writing_end, F_SETFL, O_WRONLY | O_NONBLOCK);
}

static void read_late(struct scene *scene)
{
    const struct timespec pause = {0, PAUSE_NS};
    (void)scene;
    nanosleep(&pause, NULL);
}

const struct trouble trouble_streams[] = {
    {.name = "closed streams",
     .steps = CLOSED_STEPS,
     .expect = expect_closed,
     .is_mute = has_no_error_stream,
     .afflict = close_some},
    {.name = "a closed standard output",
     .steps = 1,
     .statuses = MAY_REFUSE_OUTPUT,
     .to_stdout = true,
     .partly_read = true,
     .afflict = close_output},
    {.name = "a full standard output",
     .steps = 1,
     .statuses = MAY_REFUSE_OUTPUT,
     .to_stdout = true,
     .partly_read = true,
     .lacks = lacks_full,
     .afflict = fill_output},
    {.name = "a reader that leaves",
     .steps = LEAVING_STEPS,
     .statuses = MAY_SUCCEED,
     .signal = SIGPIPE,
     .to_stdout = true,
     .partly_read = true,
     .fit_pipe = narrow,
     .disturb = leave},
    {.name = "a reader that leaves, and SIGPIPE ignored",
     .steps = 1,
     .statuses = MAY_SUCCEED,
     .signal = SIGPIPE,
     .to_stdout = true,
     .partly_read = true,
     .fit_pipe = narrow,
     .afflict = ignore_pipes,
     .disturb = leave},
    {.name = "a pipe that does not wait",
     .steps = 1,
     .statuses = MAY_SUCCEED,
     .to_stdout = true,
     .fit_pipe = narrow_and_hurry,
     .disturb = read_late},
    {.name = NULL},
};
