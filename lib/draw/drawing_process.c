#include "draw/drawing_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/transfer.h"

/* --- there ------------------------------------------------------------------------------------ */

/* A key that interrupts goes to all processes of a terminal; ours decides what comes of it. */
static void answer_no_signals(void)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* our handlers would remove the files that we are writing */
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* No file of ours stays open there, no word of a library's is seen, no core is left. */
static bool settle_in(int orders, int bytes)
{
    const struct rlimit no_core = {0, 0};
    int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (silence < 0 || dup2(orders, STDIN_FILENO) < 0 || dup2(bytes, STDOUT_FILENO) < 0 ||
        dup2(silence, STDERR_FILENO) < 0)
        return false;
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    setrlimit(RLIMIT_CORE, &no_core);
    return true;
}

/* It ends with us: by a signal, because a library that spins does not listen. */
static bool follow(pid_t parent)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

bool drawing_process_read(void *bytes, size_t size)
{
    char *to = bytes;
    while (size > 0) {
        ssize_t got = transfer_read(STDIN_FILENO, to, size);
        if (got <= 0)
            return false;
        to += got;
        size -= (size_t)got;
    }
    return true;
}

bool drawing_process_answer(const void *bytes, size_t size)
{
    return transfer_write(STDIN_FILENO, bytes, size) == 0;
}

static int step_seconds = 120;

void drawing_process_limit(int seconds)
{
    step_seconds = seconds;
}

/* SIGPROF ends it: seconds of all its threads, however busy the machine is. */
void drawing_process_progress(void)
{
    const struct itimerval stretch = {.it_value = {.tv_sec = step_seconds}};
    setitimer(ITIMER_PROF, &stretch, NULL);
}

/* --- here ------------------------------------------------------------------------------------- */

static int cannot_start(struct err *err)
{
    return err_output(err, "cannot start a process to draw png and pdf in: %s; svg needs none",
                      strerror(errno));
}

/* A copy of ours; a signal that comes meanwhile waits until it is known whom it is for. */
static pid_t start(const int orders[2], const int bytes[2], void (*serve)(void))
{
    sigset_t all;
    sigset_t before;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        answer_no_signals();
        drawing_process_progress();
        if (follow(parent) && settle_in(orders[1], bytes[1]))
            serve();
        _exit(0);
    }
    int failure = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return pid;
}

int drawing_process_start(struct drawing_process *process, void (*serve)(void), struct err *err)
{
    int orders[2];
    int bytes[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders))
        return cannot_start(err);
    if (pipe2(bytes, O_CLOEXEC)) {
        cannot_start(err);
        close(orders[0]);
        close(orders[1]);
        return -1;
    }
    *process = (struct drawing_process){.orders = orders[0], .bytes = bytes[0]};
    process->pid = start(orders, bytes, serve);
    int failed = process->pid < 0 ? cannot_start(err) : 0;
    close(orders[1]);
    close(bytes[1]);
    if (failed) {
        close(orders[0]);
        close(bytes[0]);
        process->pid = 0;
    }
    return failed;
}

static void take_bytes(struct drawing_process *process, struct stream *out)
{
    char bytes[DRAWING_BUFFER_BYTES];
    ssize_t got = transfer_read(process->bytes, bytes, sizeof bytes);
    if (got > 0)
        stream_bytes(out, bytes, (size_t)got);
    else
        process->failed = true; /* poll saw some */
}

/* Until it listens or speaks, or is no more. Its bytes come first; the socket is looked at before
 * the pipe, so that where an answer is found, so is what was written before it. */
static void wait_for(struct drawing_process *process, short event, struct stream *out)
{
    while (!process->failed) {
        struct pollfd two[] = {{process->orders, event, 0}, {process->bytes, POLLIN, 0}};
        if (poll(two, 2, -1) < 0)
            process->failed = errno != EINTR;
        else if (two[1].revents & POLLIN)
            take_bytes(process, out);
        else if (two[0].revents || two[1].revents)
            return;
    }
}

static void send_all(struct drawing_process *process, const char *bytes, size_t size,
                     struct stream *out)
{
    while (size > 0 && !process->failed) {
        ssize_t sent = send(process->orders, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            wait_for(process, POLLOUT, out);
        } else if (errno != EINTR) {
            process->failed = true;
        }
    }
}

static void flush(struct drawing_process *process, struct stream *out)
{
    send_all(process, process->buffer, process->used, out);
    process->used = 0;
}

void drawing_process_send(struct drawing_process *process, const void *bytes, size_t size,
                          struct stream *out)
{
    if (process->used + size > sizeof process->buffer)
        flush(process, out);
    if (size > sizeof process->buffer) {
        send_all(process, bytes, size, out);
        return;
    }
    if (size)
        memcpy(process->buffer + process->used, bytes, size);
    process->used += size;
}

/* What the end of the process says. */
static int explain_end(int status, struct err *err)
{
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal_number == SIGPROF)
        return err_output(err,
                          "pango and cairo do not finish a picture: expected a step within %d "
                          "seconds of the processor: more memory may help; svg needs none of them",
                          step_seconds);
    if (signal_number == SIGXCPU)
        return err_output(err, "the processor time that 'ulimit -t' allows is used up");
    return err_output(err,
                      "pango and cairo cannot finish a picture: expected more memory, a larger "
                      "stack, more threads or open files for them; svg needs none");
}

/* Give back what is held of it, and learn how it ended. */
static int bury(struct drawing_process *process)
{
    int status = 0;
    pid_t found;
    close(process->orders);
    close(process->bytes);
    do
        found = waitpid(process->pid, &status, 0);
    while (found < 0 && errno == EINTR);
    process->pid = 0;
    return status;
}

int drawing_process_receive(struct drawing_process *process, void *answer, size_t size,
                            struct stream *out, struct err *err)
{
    char *to = answer;
    flush(process, out);
    while (size > 0 && !process->failed) {
        wait_for(process, POLLIN, out);
        ssize_t got = process->failed ? 0 : transfer_read(process->orders, to, size);
        process->failed = got <= 0;
        to += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return process->failed ? explain_end(bury(process), err) : 0;
}

void drawing_process_stop(struct drawing_process *process)
{
    if (process->pid) {
        kill(process->pid, SIGKILL);
        bury(process);
    }
}
