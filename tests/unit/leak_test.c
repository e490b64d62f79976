/* What unit_main.c leaves to the sanitizer. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

__attribute__((weak)) void __lsan_do_leak_check(void);

/* The status of a process that is made in a test and ends; with memory that nothing points to. */
static int status_with(size_t lost_bytes)
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char *volatile lost = lost_bytes ? calloc(lost_bytes, 1) : NULL;
        lost = NULL;
        (void)lost;
        if (dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) < 0)
            _exit(2);
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

TEST(a_leak_is_seen_where_a_sanitizer_looks)
{
    ck_assert_int_eq(status_with(0), 0);
    if (__lsan_do_leak_check)
        ck_assert_int_ne(status_with(1), 0);
}
