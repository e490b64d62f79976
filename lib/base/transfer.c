#include "base/transfer.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

_Thread_local volatile sig_atomic_t transfer_is_writing;

/* Whether what failed may be tried again: at once, or after it was waited for. */
static bool again(int descriptor, short event)
{
    struct pollfd waiting = {descriptor, event, 0};
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return false;
    return poll(&waiting, 1, -1) > 0 || errno == EINTR;
}

ssize_t transfer_read(int descriptor, void *bytes, size_t size)
{
    ssize_t got;
    do
        got = read(descriptor, bytes, size);
    while (got < 0 && again(descriptor, POLLIN));
    return got;
}

static int write_all(int descriptor, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t put = write(descriptor, from, size);
        if (put < 0 && !again(descriptor, POLLOUT))
            return -1;
        from += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

int transfer_write(int descriptor, const void *bytes, size_t size)
{
    transfer_is_writing = 1;
    int failed = write_all(descriptor, bytes, size);
    transfer_is_writing = 0;
    return failed;
}
