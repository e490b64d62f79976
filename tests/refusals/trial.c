#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "argument_list.h"

enum { STATUS_OF_SIGNALS = 128 };

extern char **environ;

/* Open a file without a name, which is deleted when it is closed. */
static int open_nameless(struct err *err)
{
    char path[] = "/tmp/break-stream-XXXXXX";
    int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor < 0)
        return err_set(err, "cannot make '%s': %s", path, strerror(errno));
    unlink(path);
    return descriptor;
}

static int read_back(struct buf *text, int descriptor, struct err *err)
{
    struct file file = {0};
    lseek(descriptor, 0, SEEK_SET);
    if (file_read(&file, descriptor, "a stream", err))
        return -1;
    buf_bytes(text, file.bytes, file.size);
    file_release(&file);
    return buf_check(text, err);
}

static int wait_for(struct trial *trial, pid_t child, struct err *err)
{
    struct rusage usage;
    int status = 0;
    if (wait4(child, &status, 0, &usage) != child)
        return err_set(err, "cannot wait for the program: %s", strerror(errno));
    trial->status =
        WIFSIGNALED(status) ? STATUS_OF_SIGNALS + WTERMSIG(status) : WEXITSTATUS(status);
    trial->peak_kib = usage.ru_maxrss;
    return 0;
}

static int start(struct trial *trial, struct argument_list *words, const int streams[2],
                 struct err *err)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    const char *input = file_exists("stdin") ? "stdin" : "/dev/null";
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, streams[0], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, streams[1], STDERR_FILENO);
    int failure = posix_spawn(&child, trial->program, &actions, NULL, words->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure)
        return err_set(err, "cannot start '%s': %s", trial->program, strerror(failure));
    return wait_for(trial, child, err);
}

int trial_run(struct trial *trial, const char *command, struct err *err)
{
    struct argument_list words = {0};
    int streams[2] = {open_nameless(err), open_nameless(err)};
    int failed = streams[0] < 0 || streams[1] < 0 ||
                 argument_list_split(&words, trial->program, command, err) ||
                 start(trial, &words, streams, err) || read_back(&trial->out, streams[0], err) ||
                 read_back(&trial->complaints, streams[1], err);
    for (int i = 0; i < 2; i++)
        if (streams[i] >= 0)
            close(streams[i]);
    argument_list_release(&words);
    return failed ? -1 : 0;
}

void trial_release(struct trial *trial)
{
    buf_release(&trial->out);
    buf_release(&trial->complaints);
}
