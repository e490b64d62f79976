#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"

FIXTURE(scratch_enter, scratch_leave)

TEST(a_file_without_a_size_is_read)
{
    struct file file = {0};
    ck_assert_int_eq(file_map(&file, "/proc/self/status", NULL), 0);
    ck_assert_int_eq(file.origin, FILE_READ);
    ck_assert_uint_gt(file.size, 100);
    ck_assert_mem_eq(file.bytes, "Name:", 5);
    file_release(&file);
    ck_assert_int_eq(file_map(&file, "/dev/null", NULL), 0);
    ck_assert_uint_eq(file.size, 0);
    file_release(&file);
}

TEST(a_pipe_is_read_to_its_end)
{
    struct file file = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "Life is short", 13), 13);
    close(ends[1]);
    ck_assert_int_eq(file_read(&file, ends[0], "standard input", NULL), 0);
    close(ends[0]);
    ck_assert_uint_eq(file.size, 13);
    ck_assert_mem_eq(file.bytes, "Life is short", 13);
    file_release(&file);
}

TEST(a_failed_mapping_names_the_file)
{
    struct file file = {0};
    struct err err = {0};
    struct rlimit before;
    scratch_write("sparse", "");
    ck_assert_int_eq(truncate("sparse", (off_t)1 << 32), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit small = {.rlim_cur = (rlim_t)1 << 31, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &small), 0);
    int failed = file_map(&file, "sparse", &err);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert_int_eq(failed, -1);
    ck_assert_str_eq(err.text, "cannot map 'sparse': Cannot allocate memory");
}

TEST(a_file_that_is_written_to_has_changed)
{
    struct file file = {0};
    const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    scratch_write("lines", "Life is short\n");
    ck_assert_int_eq(file_map(&file, "lines", NULL), 0);
    ck_assert(!file_has_changed(&file, "lines"));
    ck_assert_int_eq(utimensat(AT_FDCWD, "lines", later, 0), 0);
    ck_assert(file_has_changed(&file, "lines"));
    ck_assert(!file_has_changed(&file, "nothing"));
    scratch_write("other", "eat dessert\n");
    ck_assert_int_eq(rename("other", "lines"), 0);
    ck_assert(!file_has_changed(&file, "lines")); /* the mapping is of the old file */
    file_release(&file);
}

TEST(an_unreadable_path_is_not_absent)
{
    mode_t kind = 1;
    struct err err = {0};
    ck_assert_int_eq(file_kind(&kind, "nothing", &err), 0);
    ck_assert_uint_eq(kind, 0);
    ck_assert_int_eq(symlink("nothing", "link"), 0);
    ck_assert_int_eq(file_kind(&kind, "link", &err), 0);
    ck_assert_uint_eq(kind, S_IFLNK);
    ck_assert_int_eq(symlink("round", "round"), 0);
    ck_assert_int_eq(file_kind(&kind, "round/file", &err), -1);
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
}

TEST(forgotten_pages_can_be_read_again)
{
    enum { BYTES = 100000 };
    struct file file = {0};
    FILE *out = fopen("much", "w");
    for (int i = 0; i < BYTES; i++)
        fputc('a' + i % 26, out);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(file_map(&file, "much", NULL), 0);
    file_forget(&file, file.bytes);
    file_forget(&file, file.bytes + 10);
    file_forget(&file, file.bytes + BYTES);
    size_t same = 0;
    while (same < BYTES && file.bytes[same] == 'a' + (char)(same % 26))
        same++;
    ck_assert_uint_eq(same, BYTES);
    file_release(&file);
    file = file_borrow("abc", 3);
    file_forget(&file, file.bytes + 3);
    ck_assert_mem_eq(file.bytes, "abc", 3);
}
