#include "../../../cmd/batch/lock_file.c"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"

static struct lock_file lock;
static struct err err;

static void take(void)
{
    err = (struct err){0};
    ck_assert_msg(!lock_file_take(&lock, "lock", "there", &err), "%s", err.text);
}

FIXTURE(scratch_enter, scratch_leave)

TEST(one_process_at_a_time_holds_it)
{
    char expected[400];
    char host[256] = "";
    struct lock_file second;
    take();
    ck_assert_int_eq(lock_file_take(&second, "lock", "there", &err), -1);
    ck_assert_int_eq(gethostname(host, sizeof host - 1), 0);
    snprintf(expected, sizeof expected,
             "'there': process %ld on '%s' is at work there: wait until it has ended",
             (long)getpid(), host);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    lock_file_release(&second);
    lock_file_release(&lock);
    ck_assert_int_eq(access("lock", F_OK), -1);
    take();
    lock_file_release(&lock);
}

TEST(what_a_killed_process_leaves_is_taken)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        take();
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(lock_file_take(&lock, "lock", "there", &err), -1);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(access("lock", F_OK), 0);
    take();
    lock_file_release(&lock);
}

/* Its holder lets go between our opening the file and our locking it. */
TEST(a_file_without_its_name_is_no_lock)
{
    take();
    ck_assert_int_eq(unlink("lock"), 0);
    struct lock_file second;
    ck_assert_int_eq(lock_file_take(&second, "lock", "there", &err), 0);
    ck_assert_int_eq(access("lock", F_OK), 0);
    lock_file_release(&second);
}

TEST(a_folder_that_is_gone_is_to_be_made)
{
    ck_assert_int_eq(lock_file_take(&lock, "no/lock", "there", &err), LOCK_FILE_LOST);
    ck_assert_int_eq(err.kind, ERR_NONE);
    lock_file_release(&lock);
}

TEST(who_holds_it_is_told_in_plain_letters_alone)
{
    static const char *const texts[] = {"", "process 1 \033[2J\n", "boo\n", "process 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        err = (struct err){0};
        scratch_write("lock", texts[i]);
        int other = open("lock", O_RDWR);
        ck_assert_int_eq(flock(other, LOCK_EX), 0);
        ck_assert_int_eq(lock_file_take(&lock, "lock", "there", &err), -1);
        ck_assert_str_eq(err.text,
                         "'there': another process is at work there: wait until it has ended");
        close(other);
    }
}

TEST(links_pipes_and_folders_are_refused)
{
    scratch_write("mine", "mine");
    ck_assert_int_eq(symlink("mine", "link"), 0);
    ck_assert_int_eq(mkfifo("pipe", 0666), 0);
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    static const char *const names[] = {"link", "pipe", "folder"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        err = (struct err){0};
        ck_assert_int_eq(lock_file_take(&lock, names[i], "there", &err), -1);
        ck_assert_ptr_nonnull(strstr(err.text, names[i]));
        lock_file_release(&lock);
    }
    scratch_expect("mine", "mine");
}
