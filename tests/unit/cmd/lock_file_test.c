#include "../../../cmd/batch/lock_file.c"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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
