/* Signals: at any time, and as soon as something happens on the disk. */
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "trouble.h"

enum { TIMES = 8, EVENTS = 8, NOTE_BYTES = 4096, WAIT_MS = 5, STATUS_OF_SIGNALS = 128 };

/* --- after a while ---------------------------------------------------------------------------- */

static void wait_a_part(const struct scene *scene)
{
    double seconds = scene->whole->seconds * (double)scene->step / TIMES;
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

static void interrupt_later(struct scene *scene)
{
    wait_a_part(scene);
    kill(scene->child, SIGINT);
}

static void kill_later(struct scene *scene)
{
    wait_a_part(scene);
    kill(scene->child, SIGKILL);
}

static void hang_up_later(struct scene *scene)
{
    wait_a_part(scene);
    kill(scene->child, SIGHUP);
}

static void ignore_hang_up(const struct scene *scene)
{
    (void)scene;
    signal(SIGHUP, SIG_IGN);
}

/* --- as soon as the disk has seen so many events ---------------------------------------------- */

static void watch_folders(int watcher)
{
    static const char *const folders[] = {"disk", "disk/out", "disk/out.jsonl.part"};
    const unsigned events = IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        inotify_add_watch(watcher, folders[i], events | IN_ONLYDIR);
}

static size_t read_events(int watcher)
{
    _Alignas(struct inotify_event) char notes[NOTE_BYTES];
    ssize_t size = read(watcher, notes, sizeof notes);
    size_t count = 0;
    for (ssize_t at = 0; at < size; count++) {
        const struct inotify_event *event = (const void *)(notes + at);
        at += (ssize_t)(sizeof *event + event->len);
    }
    return count;
}

static void signal_at_event(struct scene *scene, int signal_number)
{
    int watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    size_t seen = 0;
    watch_folders(watcher);
    while (seen <= scene->step && scene_runs(scene)) {
        struct pollfd waiting = {watcher, POLLIN, 0};
        if (poll(&waiting, 1, WAIT_MS) == 1) {
            seen += read_events(watcher);
            watch_folders(watcher);
        }
    }
    kill(scene->child, signal_number); /* it is not waited for yet: its id is nobody else's */
    close(watcher);
}

static void interrupt_at_event(struct scene *scene)
{
    signal_at_event(scene, SIGINT);
}

static void end_at_event(struct scene *scene)
{
    signal_at_event(scene, SIGTERM);
}

static void kill_at_event(struct scene *scene)
{
    signal_at_event(scene, SIGKILL);
}

/* Before its first line: it is on its way into the program, and dies of the signal itself. */
const struct trouble trouble_signals[] = {
    {.name = "SIGINT at any time",
     .steps = TIMES,
     .statuses = MAY_SUCCEED,
     .status_more = STATUS_OF_SIGNALS + SIGINT,
     .signal = SIGINT,
     .disturb = interrupt_later},
    {.name = "SIGINT as it writes",
     .steps = EVENTS,
     .statuses = MAY_SUCCEED,
     .status_more = STATUS_OF_SIGNALS + SIGINT,
     .disturb = interrupt_at_event},
    {.name = "SIGTERM as it writes",
     .steps = EVENTS,
     .statuses = MAY_SUCCEED,
     .status_more = STATUS_OF_SIGNALS + SIGTERM,
     .disturb = end_at_event},
    {.name = "SIGKILL at any time",
     .steps = TIMES,
     .statuses = MAY_SUCCEED,
     .signal = SIGKILL,
     .may_leave = true,
     .disturb = kill_later},
    {.name = "SIGKILL as it writes",
     .steps = EVENTS,
     .statuses = MAY_SUCCEED,
     .signal = SIGKILL,
     .may_leave = true,
     .disturb = kill_at_event},
    {.name = "SIGHUP under nohup",
     .steps = TIMES,
     .statuses = MAY_SUCCEED,
     .afflict = ignore_hang_up,
     .disturb = hang_up_later},
    {.name = NULL},
};
