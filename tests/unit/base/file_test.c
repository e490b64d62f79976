#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/heap.h"

enum { LARGE_BYTES = 300000 };

FIXTURE(scratch_enter, scratch_leave)

TEST(a_file_is_mapped_whole)
{
    struct file file = {0};
    scratch_write("config.json", "{\"n_layer\": 2}\n");
    ck_assert_int_eq(file_map(&file, "config.json", NULL), 0);
    ck_assert_int_eq(file.origin, FILE_MAPPED);
    ck_assert_uint_eq(file.size, 15);
    ck_assert_mem_eq(file.bytes, "{\"n_layer\": 2}\n", 15);
    file_release(&file);
    ck_assert_ptr_null(file.bytes);
    file_release(&file);
}

TEST(an_empty_file_is_no_error)
{
    struct file file = {0};
    scratch_write("empty", "");
    ck_assert_int_eq(file_map(&file, "empty", NULL), 0);
    ck_assert_uint_eq(file.size, 0);
    ck_assert_ptr_nonnull(file.bytes);
    file_release(&file);
}

TEST(what_has_no_size_is_read)
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

TEST(a_descriptor_is_read_to_its_end)
{
    static char text[LARGE_BYTES + 1];
    struct file file = {0};
    for (size_t i = 0; i < LARGE_BYTES; i++)
        text[i] = (char)('a' + i % 26);
    scratch_write("large", text);
    int descriptor = open("large", O_RDONLY);
    ck_assert_int_eq(file_read(&file, descriptor, "large", NULL), 0);
    close(descriptor);
    ck_assert_uint_eq(file.size, LARGE_BYTES);
    ck_assert_mem_eq(file.bytes, text, LARGE_BYTES);
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

TEST(what_cannot_be_opened_is_named)
{
    struct file file = {0};
    struct err err = {0};
    ck_assert_int_eq(file_map(&file, "nowhere/config.json", &err), -1);
    ck_assert_str_eq(err.text, "cannot open 'nowhere/config.json': No such file or directory");
    err_clear(&err);
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    ck_assert_int_eq(file_map(&file, "folder", &err), -1);
    ck_assert_str_eq(err.text, "'folder': expected a file, found a directory");
    ck_assert_ptr_null(file.bytes);
}

TEST(what_cannot_be_read_is_named)
{
    struct file file = {0};
    struct err err = {0};
    int descriptor = open("out", O_WRONLY | O_CREAT, 0666);
    ck_assert_int_eq(file_read(&file, descriptor, "standard input", &err), -1);
    ck_assert_str_eq(err.text, "cannot read 'standard input': Bad file descriptor");
    close(descriptor);
}

TEST(what_cannot_be_mapped_is_named)
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

TEST(a_file_that_finds_no_memory_is_an_error)
{
    for (size_t nth = 1; nth <= 3; nth++) {
        struct file file = {0};
        struct err err = {0};
        int descriptor = open("/dev/zero", O_RDONLY);
        heap_fail_at(nth, 0);
        ck_assert_int_eq(file_read(&file, descriptor, "/dev/zero", &err), -1);
        ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
        close(descriptor);
    }
}

TEST(borrowed_bytes_stay_with_their_owner)
{
    struct file file = file_borrow("{}", 2);
    ck_assert_str_eq(file.bytes, "{}");
    ck_assert_uint_eq(file.size, 2);
    file_release(&file);
    ck_assert_ptr_null(file.bytes);
}

TEST(it_is_known_what_stands_under_a_name)
{
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    scratch_write("file", "");
    ck_assert_int_eq(symlink("folder", "link"), 0);
    ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
    ck_assert(file_is_directory("folder"));
    ck_assert(file_is_directory("link"));
    ck_assert(!file_is_directory("file"));
    ck_assert(!file_is_directory("nowhere"));
    ck_assert(file_exists("folder"));
    ck_assert(file_exists("file"));
    ck_assert(file_exists("dangling"));
    ck_assert(!file_exists("nowhere"));
    ck_assert(!file_exists("nowhere/file"));
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
    ck_assert(!file_has_changed(&file, "lines")); /* what is mapped is the old one */
    file_release(&file);
}

TEST(what_cannot_be_looked_at_is_not_absent)
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

TEST(a_file_is_removed_if_it_is_there)
{
    struct err err = {0};
    scratch_write("gone", "Life\n");
    ck_assert_int_eq(file_remove("gone", &err), 0);
    ck_assert(!file_exists("gone"));
    ck_assert_int_eq(file_remove("gone", &err), 0);
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    ck_assert_int_eq(file_remove("folder", &err), -1);
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
}

TEST(what_was_forgotten_can_be_read_again)
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

TEST(a_directory_is_made_unless_it_is_there)
{
    struct err err = {0};
    scratch_write("file", "");
    ck_assert_int_eq(file_make_directory("folder", NULL), 0);
    ck_assert_int_eq(file_make_directory("folder", NULL), 0);
    ck_assert(file_is_directory("folder"));
    ck_assert_int_eq(file_make_directory("file", &err), -1);
    ck_assert_str_eq(err.text, "cannot make the directory 'file': File exists");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    err_clear(&err);
    ck_assert_int_eq(file_make_directory("nowhere/folder", &err), -1);
    ck_assert_str_eq(err.text,
                     "cannot make the directory 'nowhere/folder': No such file or directory");
}
