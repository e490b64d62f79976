#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"

enum { MANY_BYTES = 300000, PART_BYTES = 1000 };

/* Wait until a process waits for something, here for a pipe, or has ended. */
static void wait_until_it_sleeps(pid_t process)
{
    char path[64];
    char state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    while (state != 'S' && state != 'Z') {
        FILE *file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
        fclose(file);
        sched_yield();
    }
}

/* Non-blocking ends, as a shell or a remote terminal may leave them. */
static void open_pipe(int ends[2])
{
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
}

TEST(writing_waits_for_a_full_pipe)
{
    static char bytes[MANY_BYTES];
    int ends[2];
    open_pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        memset(bytes, 'x', sizeof bytes);
        _exit(transfer_write(ends[1], bytes, sizeof bytes) ? 1 : 0);
    }
    close(ends[1]);
    wait_until_it_sleeps(child); /* the pipe is full */
    size_t size = 0;
    char part[PART_BYTES];
    for (ssize_t got; (got = transfer_read(ends[0], part, sizeof part)) > 0;)
        size += (size_t)got;
    int status = -1;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(size, MANY_BYTES);
}

TEST(reading_waits_for_an_empty_pipe)
{
    int ends[2];
    char part[PART_BYTES];
    open_pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        wait_until_it_sleeps(getppid());
        _exit(transfer_write(ends[1], "late", 4) ? 1 : 0);
    }
    close(ends[1]);
    ck_assert_int_eq(transfer_read(ends[0], part, sizeof part), 4);
    ck_assert_mem_eq(part, "late", 4);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(transfer_read(ends[0], part, sizeof part), 0);
}

TEST(failures_set_errno)
{
    char part[PART_BYTES];
    ck_assert_int_eq(transfer_read(-1, part, sizeof part), -1);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(transfer_write(-1, "x", 1), -1);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(transfer_write(-1, "", 0), 0);
}
