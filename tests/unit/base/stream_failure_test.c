/* What a stream does when something goes wrong; stream_test.c has the rest. */
#include "base/stream.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/heap.h"

enum {
    SEVERAL_BUFFERS = 300000,
    OPEN_AT_ONCE = 16,
    NOBODY = 65534,
};

FIXTURE(scratch_enter, scratch_leave)

TEST(what_cannot_be_written_is_named)
{
    static const struct {
        const char *path;
        const char *text;
    } cases[] = {
        {"folder", "cannot write 'folder': it is a directory"},
        {"nowhere/x.csv", "cannot write 'nowhere/x.csv': there is no directory 'nowhere'"},
        {"file/x.csv", "cannot write 'file/x.csv': Not a directory"},
        {"dangling", "cannot write 'dangling': it is a link that leads nowhere"},
        {"socket", "cannot write 'socket': No such device or address"},
    };
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    scratch_write("file", "");
    ck_assert_int_eq(symlink("nowhere/x.csv", "dangling"), 0);
    ck_assert_int_eq(mknod("socket", S_IFSOCK | 0666, 0), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stream out = {0};
        struct err err = {0};
        ck_assert_int_eq(stream_open(&out, cases[i].path, &err), -1);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_int_eq(err.kind, ERR_OUTPUT);
        stream_discard(&out);
    }
    ck_assert_uint_eq(scratch_count("."), 4);
}

TEST(a_name_that_is_too_long_is_named)
{
    char name[400];
    struct stream out = {0};
    struct err err = {0};
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(stream_open(&out, name, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "xxx': File name too long"));
}

TEST(a_full_device_is_noticed)
{
    for (size_t size = 3; size <= SEVERAL_BUFFERS; size += SEVERAL_BUFFERS - 3) {
        static char text[SEVERAL_BUFFERS + 1];
        struct stream out = {0};
        struct err err = {0};
        memset(text, 'x', size);
        ck_assert_int_eq(stream_open(&out, "/dev/full", NULL), 0);
        stream_text(&out, text);
        stream_text(&out, "more");
        ck_assert_int_eq(stream_commit(&out, &err), -1);
        ck_assert_str_eq(err.text, "cannot write '/dev/full': No space left on device");
        ck_assert_int_eq(err.kind, ERR_OUTPUT);
    }
}

TEST(a_rename_that_fails_leaves_nothing_behind)
{
    struct stream out = {0};
    struct err err = {0};
    ck_assert_int_eq(stream_open(&out, "weights.csv", NULL), 0);
    stream_text(&out, "new");
    ck_assert_int_eq(mkdir("weights.csv", 0777), 0);
    ck_assert_int_eq(stream_commit(&out, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'weights.csv': Is a directory");
    ck_assert_uint_eq(scratch_count("."), 1);
}

/* In a process of its own, because root may write everything; and only root has files of others. */
static int write_as_nobody(const char *path)
{
    struct stream out = {0};
    struct err err = {0};
    if (setresuid(NOBODY, NOBODY, NOBODY))
        return 2;
    bool refused = stream_open(&out, path, &err) &&
                   strcmp(err.text, "cannot write 'old': Permission denied") == 0;
    stream_discard(&out);
    return refused ? 0 : 1;
}

TEST(a_file_that_may_not_be_written_is_not_replaced)
{
    int status = 0;
    if (geteuid())
        return;
    scratch_write("old", "old");
    ck_assert_int_eq(chmod("old", 0644), 0);
    ck_assert_int_eq(chmod(".", 0777), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(write_as_nobody("old"));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    scratch_expect("old", "old");
}

TEST(a_closed_pipe_is_noticed)
{
    struct stream out = {0};
    struct err err = {0};
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(stream_to(&out, ends[1], NULL), 0);
    stream_text(&out, "nobody reads this");
    stream_flush(&out);
    ck_assert_int_eq(out.failure, EPIPE);
    ck_assert_int_eq(stream_commit(&out, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'standard output': Broken pipe");
    close(ends[1]);
}

TEST(an_interrupted_program_removes_its_temporary_files)
{
    struct stream done = {0};
    struct stream out[2] = {{0}, {0}};
    ck_assert_int_eq(stream_open(&done, "done", NULL), 0);
    ck_assert_int_eq(stream_commit(&done, NULL), 0);
    ck_assert_int_eq(stream_open(&out[0], "a", NULL), 0);
    ck_assert_int_eq(stream_open(&out[1], "b", NULL), 0);
    ck_assert_uint_eq(scratch_count("."), 3);
    stream_remove_temporaries();
    ck_assert_uint_eq(scratch_count("."), 1);
    scratch_expect("done", "");
    stream_discard(&out[0]);
    stream_discard(&out[1]);
}

TEST(a_file_too_many_at_one_time_is_refused)
{
    struct stream out[OPEN_AT_ONCE + 1] = {{0}};
    struct err err = {0};
    char name[16];
    for (int i = 0; i < OPEN_AT_ONCE; i++) {
        snprintf(name, sizeof name, "%d", i);
        ck_assert_int_eq(stream_open(&out[i], name, NULL), 0);
    }
    ck_assert_int_eq(stream_open(&out[OPEN_AT_ONCE], "x", &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'x': expected at most 16 files at one time");
    ck_assert_int_eq(stream_commit(&out[3], NULL), 0);
    ck_assert_int_eq(stream_open(&out[3], "x", NULL), 0);
    for (int i = 0; i < OPEN_AT_ONCE; i++)
        stream_discard(&out[i]);
    ck_assert_uint_eq(scratch_count("."), 1);
}

TEST(a_stream_that_finds_no_memory_leaves_nothing_open)
{
    static const char *const paths[] = {"new", "/dev/null"};
    size_t before = scratch_count("/proc/self/fd");
    for (size_t i = 0; i < 2; i++) {
        struct stream out = {0};
        size_t nth = 1;
        for (;; nth++) {
            struct err err = {0};
            heap_fail_at(nth, 0);
            int failed = stream_open(&out, paths[i], &err);
            heap_fail_at(0, 0);
            if (!failed)
                break;
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "%s", err.text);
        }
        ck_assert_uint_gt(nth, 2);
        stream_discard(&out);
    }
    ck_assert_uint_eq(scratch_count("/proc/self/fd"), before);
    ck_assert_uint_eq(scratch_count("."), 0);
}

TEST(a_formatted_text_that_finds_no_memory_is_not_left_out_in_silence)
{
    struct stream out = {0};
    struct err err = {0};
    scratch_write("old", "old");
    ck_assert_int_eq(stream_open(&out, "old", NULL), 0);
    heap_fail_at(1, 0);
    stream_format(&out, "%*d", 1000, 7);
    stream_text(&out, "more");
    ck_assert_int_eq(stream_commit(&out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "old': Cannot allocate memory"));
    scratch_expect("old", "old");
    ck_assert_uint_eq(scratch_count("."), 1);
}
