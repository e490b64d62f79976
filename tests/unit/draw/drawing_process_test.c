#include "draw/drawing_process.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"

enum { MEBIBYTE = 1 << 20 };

static struct drawing_process process;

static void stop(void)
{
    if (!process.pid)
        return;
    kill(process.pid, SIGKILL);
    ck_assert_int_eq(waitpid(process.pid, NULL, 0), process.pid);
    close(process.socket);
    process.pid = 0;
}

/* What comes of an order that is answered by `serve`, or not. */
static struct err outcome(void (*serve)(void))
{
    struct err err = {0};
    int answer = 0;
    ck_assert_int_eq(drawing_process_start(&process, serve, &err), 0);
    drawing_process_send(&process, &answer, sizeof answer);
    int failed = drawing_process_receive(&process, &answer, sizeof answer, &err);
    ck_assert_int_eq(failed, err.kind ? -1 : 0);
    ck_assert(failed ? process.pid == 0 : process.pid > 0);
    stop();
    return err;
}

/* --- ways to end ------------------------------------------------------------------------------ */

static void end_at_once(void)
{
}

static void abort_there(void)
{
    abort();
}

static void chatter(void)
{
    for (int i = 0; i < 900; i++)
        if (fprintf(stderr, "out of memory in line %d\n", i) < 0)
            return;
    abort();
}

static void *fault(void *nothing)
{
    (void)nothing;
    raise(SIGSEGV);
    return NULL;
}

static void fault_in_threads(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, fault, NULL))
            return;
    pause();
}

static void spin(void)
{
    for (volatile unsigned i = 0;; i++)
        ;
}

TEST(however_it_ends_it_is_one_error)
{
    static void (*const ends[])(void) = {end_at_once, abort_there, chatter, fault_in_threads};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct err err = outcome(ends[i]);
        ck_assert_int_eq(err.kind, ERR_OUTPUT);
        ck_assert_str_eq(err.text, "pango and cairo cannot finish a picture: expected more memory, "
                                   "a larger stack, more threads or open files for them; svg needs "
                                   "none");
    }
}

TEST(what_spins_is_ended)
{
    drawing_process_limit(1);
    struct err err = outcome(spin);
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    ck_assert_str_eq(err.text,
                     "pango and cairo do not finish a picture: expected a step within 1 seconds of "
                     "the processor: more memory may help; svg needs none of them");
}

/* --- orders and bytes ------------------------------------------------------------------------- */

static void answer_all(void)
{
    int order;
    while (drawing_process_read(&order, sizeof order)) {
        order++;
        if (!drawing_process_answer(&order, sizeof order))
            return;
    }
}

TEST(keys_that_interrupt_are_not_for_it)
{
    struct err err = {0};
    ck_assert_int_eq(drawing_process_start(&process, answer_all, &err), 0);
    for (int order = 4; order < 7; order++) {
        int answer = 0;
        drawing_process_send(&process, &order, sizeof order);
        ck_assert_msg(!drawing_process_receive(&process, &answer, sizeof answer, &err), "%s",
                      err.text);
        ck_assert_int_eq(answer, order + 1);
        kill(process.pid, order == 4 ? SIGINT : SIGTERM);
    }
    stop();
}

/* Bytes for an order's bytes, more than a socket holds. */
static void answer_at_length(void)
{
    static char bytes[MEBIBYTE];
    for (int i = 0; i < 4; i++)
        if (!drawing_process_read(bytes, sizeof bytes))
            return;
    for (int i = 0; i < 4; i++)
        if (!drawing_process_answer(bytes, sizeof bytes))
            return;
}

TEST(all_bytes_come_back)
{
    static char bytes[MEBIBYTE];
    struct err err = {0};
    memset(bytes, 'x', sizeof bytes);
    ck_assert_int_eq(drawing_process_start(&process, answer_at_length, &err), 0);
    for (int i = 0; i < 4; i++)
        drawing_process_send(&process, bytes, sizeof bytes);
    for (int i = 0; i < 4; i++) {
        memset(bytes, 'y', sizeof bytes);
        ck_assert_int_eq(drawing_process_receive(&process, bytes, sizeof bytes, &err), 0);
        ck_assert(bytes[0] == 'x' && memcmp(bytes, bytes + 1, sizeof bytes - 1) == 0);
    }
    stop();
}

/* --- the end of ours -------------------------------------------------------------------------- */

static void answer_and_spin(void)
{
    if (drawing_process_answer("", 1))
        spin();
}

/* It is looked for by its number, which comes through a pipe; the test takes in orphans. */
TEST(it_ends_with_us)
{
    int ends[2];
    int status = 0;
    pid_t orphan = 0;
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        drawing_process_limit(30);
        char answer;
        if (!drawing_process_start(&process, answer_and_spin, NULL) &&
            !drawing_process_receive(&process, &answer, 1, NULL) &&
            write(ends[1], &process.pid, sizeof process.pid) > 0)
            kill(getpid(), SIGKILL);
        _exit(EXIT_FAILURE);
    }
    ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
    ck_assert_int_eq(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
    ck_assert_int_eq(waitpid(orphan, &status, 0), orphan);
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    close(ends[0]);
    close(ends[1]);
}
