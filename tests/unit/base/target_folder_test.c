#include "base/replacement.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/file.h"

static struct err err;
static struct target_folder target, other;

static void clear(void)
{
    scratch_enter();
    err = (struct err){0};
    target = other = (struct target_folder){0};
}

FIXTURE(clear, scratch_leave)

TEST(a_new_folder_is_removed_if_it_stays_empty)
{
    ck_assert_int_eq(target_folder_check("new", false, &err), 0);
    ck_assert_int_eq(target_folder_open(&target, "new", false, &err), 0);
    ck_assert(file_is_directory("new"));
    target_folder_close(&target);
    ck_assert(!file_exists("new"));
    ck_assert_int_eq(target_folder_open(&target, "new", false, &err), 0);
    scratch_write("new/file", "");
    target_folder_close(&target);
    ck_assert(file_exists("new/file"));
    target_folder_close(&target); /* no effect the second time */
}

/* The message has the first name in byte order, not in the order of the disk. */
TEST(a_folder_with_files_is_refused_and_one_is_named)
{
    ck_assert_int_eq(mkdir("full", 0777), 0);
    scratch_write("full/notes", "");
    scratch_write("full/.hidden", "");
    ck_assert_int_eq(target_folder_check("full", false, &err), -1);
    ck_assert_str_eq(err.text,
                     "cannot write 'full': expected a new or empty directory, found '.hidden' "
                     "in it: choose another one, or use --force, which overwrites only files "
                     "with the same names");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    ck_assert_int_eq(target_folder_open(&target, "full", false, NULL), -1);
    ck_assert_int_eq(target_folder_open(&target, "full", true, NULL), 0);
    target_folder_close(&target);
}

TEST(one_process_at_a_time_writes_to_a_folder)
{
    ck_assert_int_eq(target_folder_open(&target, "new", false, &err), 0);
    ck_assert_int_eq(target_folder_open(&other, "new", true, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'new': another process is writing to it");
    target_folder_close(&target);
    ck_assert_int_eq(target_folder_open(&other, "new", false, NULL), 0);
    target_folder_close(&other);
}

TEST(a_killed_process_leaves_no_lock)
{
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        bool open = !target_folder_open(&target, "new", false, NULL) && write(ready[1], "", 1) == 1;
        while (open)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(target_folder_open(&other, "new", false, NULL), -1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(target_folder_open(&other, "new", false, NULL), 0);
    target_folder_close(&other);
}

TEST(a_link_to_a_folder_inside_is_refused)
{
    ck_assert_int_eq(mkdir("elsewhere", 0777), 0);
    ck_assert_int_eq(mkdir("out", 0777), 0);
    ck_assert_int_eq(symlink("../elsewhere", "out/link"), 0);
    ck_assert_int_eq(target_folder_open(&target, "out", true, &err), 0);
    ck_assert_int_eq(target_folder_open_inside(&other, "out/link", &target, &err), -1);
    ck_assert_str_eq(err.text,
                     "cannot write 'out/link': expected a directory, found a file or a link");
    ck_assert_int_eq(target_folder_open_inside(&other, "out/step", &target, NULL), 0);
    ck_assert(file_is_directory("out/step"));
    target_folder_close(&other);
    ck_assert(!file_exists("out/step"));
    ck_assert_int_eq(target_folder_open_inside(&other, "no/where", &target, NULL), -1);
    target_folder_close(&target);
}

TEST(a_folder_inside_with_files_is_refused_without_force)
{
    ck_assert_int_eq(target_folder_open(&target, "out", false, &err), 0);
    ck_assert_int_eq(mkdir("out/step", 0777), 0);
    ck_assert_int_eq(target_folder_open_inside(&other, "out/step", &target, &err), 0);
    target_folder_close(&other);
    scratch_write("out/step/notes", "");
    ck_assert_int_eq(target_folder_open_inside(&other, "out/step", &target, &err), -1);
    target_folder_close(&target);
}
