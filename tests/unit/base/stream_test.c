#include "base/stream.h"

#include "base/buf.h"
#include "base/hash.h"

#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"

static mode_t permissions(const char *path)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_mode & 0777;
}

static void write_file(const char *path, const char *text)
{
    struct stream out = {0};
    struct err err = {0};
    ck_assert_msg(!stream_open(&out, path, &err), "%s", err.text);
    stream_text(&out, text);
    ck_assert_msg(!stream_commit(&out, &err), "%s", err.text);
}

FIXTURE(scratch_enter, scratch_leave)

TEST(a_discarded_stream_changes_no_file)
{
    struct stream out = {0};
    scratch_write("weights.csv", "old");
    ck_assert_int_eq(stream_open(&out, "weights.csv", NULL), 0);
    stream_text(&out, "new");
    stream_flush(&out);
    stream_discard(&out);
    scratch_expect("weights.csv", "old");
    ck_assert_int_eq(stream_open(&out, "other.csv", NULL), 0);
    stream_discard(&out);
    ck_assert_uint_eq(scratch_count("."), 1);
}

TEST(files_that_are_synced_later_are_complete)
{
    struct err err = {0};
    stream_sync_later(true);
    for (int i = 0; i < 3; i++) {
        struct stream out = {0};
        char name[2] = {(char)('a' + i), 0};
        ck_assert_int_eq(stream_open(&out, name, NULL), 0);
        stream_text(&out, "all of it\n");
        ck_assert_int_eq(stream_commit(&out, NULL), 0);
        scratch_expect(name, "all of it\n");
    }
    ck_assert_int_eq(stream_sync(".", &err), 0);
    stream_sync_later(false);
    ck_assert_int_eq(stream_sync("gone", &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'gone': No such file or directory");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
}

TEST(a_new_file_has_the_permissions_of_any_other)
{
    mode_t before = umask(027);
    write_file("new", "");
    umask(before);
    ck_assert_uint_eq(permissions("new"), 0640);
}

TEST(an_existing_file_keeps_its_permissions)
{
    scratch_write("old", "");
    ck_assert_int_eq(chmod("old", 0604), 0);
    write_file("old", "new");
    ck_assert_uint_eq(permissions("old"), 0604);
    scratch_expect("old", "new");
}

TEST(writing_through_a_symbolic_link_keeps_the_link)
{
    struct stat status;
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    scratch_write("folder/old", "old");
    ck_assert_int_eq(symlink("folder/old", "link"), 0);
    write_file("link", "new");
    ck_assert_int_eq(lstat("link", &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    scratch_expect("folder/old", "new");
    ck_assert_uint_eq(scratch_count("folder"), 1);
}

/* In a folder of results we may replace names, but not files elsewhere to which they link. */
TEST(a_file_of_a_folder_replaces_a_link_but_not_its_target)
{
    static const char *const links[] = {"old", "nowhere"};
    scratch_write("old", "theirs");
    ck_assert_int_eq(chmod("old", 0604), 0);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct stream out = {0};
        struct stat status;
        ck_assert_int_eq(symlink(links[i], "link"), 0);
        ck_assert_int_eq(stream_open_inside(&out, "link", false, NULL), -1);
        ck_assert_int_eq(stream_open_inside(&out, "link", true, NULL), 0);
        stream_text(&out, "ours");
        ck_assert_int_eq(stream_commit(&out, NULL), 0);
        ck_assert_int_eq(lstat("link", &status), 0);
        ck_assert(S_ISREG(status.st_mode));
        scratch_expect("link", "ours");
        scratch_expect("old", "theirs");
        ck_assert_int_eq(unlink("link"), 0);
    }
    ck_assert_uint_eq(permissions("old"), 0604);
    ck_assert_uint_eq(scratch_count("."), 1);
}

TEST(a_file_of_a_folder_replaces_a_pipe_without_waiting)
{
    struct stream out = {0};
    ck_assert_int_eq(mkfifo("pipe", 0666), 0);
    ck_assert_int_eq(stream_open_inside(&out, "pipe", true, NULL), 0);
    ck_assert_int_eq(stream_commit(&out, NULL), 0);
    scratch_expect("pipe", "");
}

TEST(a_file_made_meanwhile_is_not_replaced)
{
    struct stream out = {0};
    struct err err = {0};
    ck_assert_int_eq(stream_open_inside(&out, "new", false, NULL), 0);
    scratch_write("new", "theirs");
    ck_assert_int_eq(stream_commit(&out, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'new': File exists");
    err_clear(&err);
    ck_assert_int_eq(stream_open_inside(&out, "new", false, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'new': it exists");
    scratch_expect("new", "theirs");
    ck_assert_uint_eq(scratch_count("."), 1);
}

TEST(the_longest_name_has_a_temporary_file)
{
    char name[256];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    write_file(name, "whole");
    scratch_expect(name, "whole");
    ck_assert_uint_eq(scratch_count("."), 1);
}

TEST(only_our_temporary_names_are_recognised)
{
    static const struct {
        const char *name;
        bool is_ours;
    } cases[] = {
        {"x.csv.attn-cli-a1B2c3.tmp", true}, {"x.csv.attn-cli-a1B2c.tmp", false},
        {"x.csv.attn-cli-a1B2c3", false},    {"x.csv.a1B2c3", false},
        {".attn-cli-a1B2c3.tmp", false},     {"x.csv.attn-cli-my-own.tmp", false},
        {"attn-cli-a1B2c3.tmp", false},      {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(stream_is_temporary(cases[i].name) == cases[i].is_ours, "%s", cases[i].name);
}

TEST(only_temporaries_of_the_same_target_and_of_no_process_are_removed)
{
    struct stream first = {0}, second = {0};
    ck_assert_int_eq(mkdir("f", 0700), 0);
    scratch_write("f/x.csv.attn-cli-a1B2c3.tmp", "abandoned");
    scratch_write("f/x.csv.attn-cli-a1B2c4.tmp", "abandoned");
    scratch_write("f/y.csv.attn-cli-a1B2c3.tmp", "of another target");
    scratch_write("f/x.csv.attn-cli-my-own.tmp", "not ours");
    ck_assert_int_eq(symlink("../kept", "f/x.csv.attn-cli-a1B2c5.tmp"), 0);
    ck_assert_int_eq(stream_open(&first, "f/x.csv", NULL), 0);
    ck_assert_uint_eq(scratch_count("f"), 4);
    ck_assert_int_eq(stream_open(&second, "f/x.csv", NULL), 0);
    ck_assert_uint_eq(scratch_count("f"), 5);
    stream_text(&first, "first");
    ck_assert_int_eq(stream_commit(&first, NULL), 0);
    scratch_expect("f/x.csv", "first");
    stream_text(&second, "second");
    ck_assert_int_eq(stream_commit(&second, NULL), 0);
    scratch_expect("f/x.csv", "second");
    ck_assert_uint_eq(scratch_count("f"), 4);
}

TEST(a_checksum_is_fnv_1a_of_the_bytes_however_they_are_cut)
{
    struct stream out = {0};
    struct buf memory = {0};
    uint64_t sum = HASH_FNV_BEGIN;
    ck_assert_int_eq(stream_to_memory(&out, &memory, NULL), 0);
    out.sum = &sum;
    stream_text(&out, "foo");
    stream_char(&out, 'b');
    stream_format(&out, "%s", "ar");
    ck_assert_uint_eq(sum, 0x85944171f73967e8u); /* of "foobar", as its authors publish it */
    stream_discard(&out);
    buf_release(&memory);
}

TEST(a_stream_can_write_to_memory)
{
    struct stream out = {0};
    struct buf memory = {0};
    buf_text(&memory, "before, ");
    ck_assert_int_eq(stream_to_memory(&out, &memory, NULL), 0);
    stream_text(&out, "after");
    for (int i = 0; i < 100000; i++)
        stream_char(&out, '.');
    ck_assert_int_eq(stream_commit(&out, NULL), 0);
    ck_assert_uint_eq(memory.size, 13 + 100000);
    ck_assert_int_eq(strncmp(memory.bytes, "before, after..", 15), 0);
    buf_release(&memory);
}

TEST(a_stream_can_write_hexadecimal_digits_to_another)
{
    struct stream outer = {0}, inner = {0};
    struct buf memory = {0};
    ck_assert_int_eq(stream_to_memory(&outer, &memory, NULL), 0);
    ck_assert_int_eq(stream_to_hex(&inner, &outer, NULL), 0);
    for (int i = 0; i < 100000; i++)
        stream_bytes(&inner, "\x00\xa5z", 3);
    ck_assert_int_eq(stream_commit(&inner, NULL), 0);
    ck_assert_int_eq(stream_commit(&outer, NULL), 0);
    ck_assert_uint_eq(memory.size, 600000);
    for (int i = 0; i < 100000; i++)
        ck_assert_mem_eq(memory.bytes + 6 * i, "00a57a", 6);
    buf_release(&memory);
}

TEST(a_commit_leaves_the_descriptor_open)
{
    char found[8] = "";
    struct stream out = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(stream_to(&out, ends[1], NULL), 0);
    stream_text(&out, "ab");
    stream_flush(&out);
    ck_assert_int_eq(read(ends[0], found, sizeof found), 2);
    stream_text(&out, "c");
    ck_assert_int_eq(stream_commit(&out, NULL), 0);
    ck_assert_int_eq(write(ends[1], "d", 1), 1);
    ck_assert_int_eq(read(ends[0], found, sizeof found), 2);
    ck_assert_str_eq(found, "cd");
    close(ends[0]);
    close(ends[1]);
}
