#include "base/replacement.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/stream.h"

enum { SOMEBODY = 4711, THEIR_GROUP = 4712 };

static struct stat status_of(const char *path)
{
    struct stat status;
    ck_assert_int_eq(lstat(path, &status), 0);
    return status;
}

static int write_over(const char *path, struct err *err)
{
    struct stream out = {0};
    if (stream_open(&out, path, err))
        return -1;
    stream_text(&out, "new");
    return stream_commit(&out, err);
}

static void read_and_close(const char *path)
{
    struct file file = {0};
    ck_assert_int_eq(file_map(&file, path, NULL), 0);
    file_release(&file);
}

FIXTURE(scratch_enter, scratch_leave)

TEST(a_file_that_was_read_is_not_replaced_under_any_name)
{
    static const char *const names[] = {"input", "./input", "link", "again"};
    scratch_write("input", "old");
    scratch_write("other", "old");
    ck_assert_int_eq(symlink("input", "link"), 0);
    ck_assert_int_eq(link("input", "again"), 0);
    read_and_close("input");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err err = {0};
        ck_assert_int_eq(write_over(names[i], &err), -1);
        ck_assert_int_eq(err.kind, ERR_OUTPUT);
        ck_assert_ptr_nonnull(strstr(err.text, "': this command reads it: choose another name"));
    }
    scratch_expect("input", "old");
    ck_assert_int_eq(write_over("other", NULL), 0);
}

/* A model may be saved in the folder from which it was read. */
TEST(a_file_of_a_model_is_replaced_only_in_its_folder)
{
    struct stream out = {0};
    struct file file = {0};
    scratch_write("config.json", "old");
    ck_assert_int_eq(file_map_regular(&file, "config.json", NULL), 0);
    file_release(&file);
    ck_assert_int_eq(write_over("config.json", NULL), -1);
    ck_assert_int_eq(stream_open_inside(&out, "config.json", true, NULL), 0);
    stream_discard(&out);
    read_and_close("config.json");
    ck_assert_int_eq(stream_open_inside(&out, "config.json", true, NULL), -1);
}

TEST(a_file_read_from_a_descriptor_is_not_replaced)
{
    struct file file = {0};
    scratch_write("input", "old");
    int descriptor = open("input", O_RDONLY);
    ck_assert_int_eq(file_read(&file, descriptor, "standard input", NULL), 0);
    file_release(&file);
    close(descriptor);
    ck_assert_int_eq(write_over("input", NULL), -1);
}

TEST(a_file_that_cannot_be_recorded_is_not_read)
{
    struct file file = {0};
    struct err err = {0};
    scratch_write("input", "old");
    heap_fail_at(1, 0);
    ck_assert_int_eq(file_map(&file, "input", &err), -1);
    ck_assert(err.out_of_memory);
}

TEST(a_read_only_file_is_not_replaced)
{
    static const mode_t modes[] = {0444, 0400, 0, 0466};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct err err = {0};
        char message[200];
        scratch_write("mine", "old");
        ck_assert_int_eq(chmod("mine", modes[i]), 0);
        ck_assert_int_eq(write_over("mine", &err), -1);
        snprintf(message, sizeof message,
                 "cannot write 'mine': it is read-only (mode %04o): make it writable (chmod u+w), "
                 "or choose another name",
                 (unsigned)modes[i]);
        ck_assert_str_eq(err.text, message);
        ck_assert_int_eq(unlink("mine"), 0);
    }
}

TEST(owner_and_group_are_kept)
{
    scratch_write("theirs", "old");
    if (chown("theirs", SOMEBODY, THEIR_GROUP))
        return; /* needs root */
    ck_assert_int_eq(chmod("theirs", 0640), 0);
    ck_assert_int_eq(write_over("theirs", NULL), 0);
    struct stat status = status_of("theirs");
    ck_assert_uint_eq(status.st_uid, SOMEBODY);
    ck_assert_uint_eq(status.st_gid, THEIR_GROUP);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    scratch_expect("theirs", "new");
}

/* If the group cannot be kept, another group must not get its permissions. */
TEST(another_group_does_not_get_write_permission)
{
    scratch_write("theirs", "old");
    if (chown("theirs", SOMEBODY, THEIR_GROUP))
        return; /* needs root */
    ck_assert_int_eq(chmod("theirs", 0664), 0);
    ck_assert_int_eq(chmod(".", 0777), 0);
    ck_assert_int_eq(setegid(SOMEBODY), 0);
    ck_assert_int_eq(seteuid(SOMEBODY), 0);
    int failed = replacement_keep(open("ours", O_RDWR | O_CREAT, 0600), "theirs", NULL);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(setegid(0), 0);
    ck_assert_int_eq(failed, 0);
    ck_assert_uint_eq(status_of("ours").st_mode & 07777, 0644);
    ck_assert_uint_eq(status_of("ours").st_gid, SOMEBODY);
}

/* The group permissions of a file with an access list are its mask, the most for any named user. */
TEST(the_mask_of_an_access_list_does_not_become_group_permissions)
{
    static const unsigned char list[] = {
        2,
        0,
        0,
        0, /* version */
        1,
        0,
        6,
        0,
        0xff,
        0xff,
        0xff,
        0xff, /* owner: rw */
        2,
        0,
        6,
        0,
        SOMEBODY & 0xff,
        SOMEBODY >> 8,
        0,
        0, /* a user: rw */
        4,
        0,
        0,
        0,
        0xff,
        0xff,
        0xff,
        0xff, /* group: none */
        16,
        0,
        6,
        0,
        0xff,
        0xff,
        0xff,
        0xff, /* mask: rw */
        32,
        0,
        0,
        0,
        0xff,
        0xff,
        0xff,
        0xff, /* others: none */
    };
    scratch_write("mine", "old");
    if (setxattr("mine", "system.posix_acl_access", list, sizeof list, 0))
        return; /* the file system has no access lists */
    ck_assert_uint_eq(status_of("mine").st_mode & 07777, 0660);
    ck_assert_int_eq(write_over("mine", NULL), 0);
    ck_assert_uint_eq(status_of("mine").st_mode & 07777, 0600);
}

TEST(new_files_have_no_more_permissions_than_the_old_one)
{
    scratch_write("mine", "old");
    ck_assert_int_eq(chmod("mine", 0640), 0);
    umask(022);
    replacement_keep_private("missing");
    replacement_keep_private("mine");
    scratch_write("new", "");
    ck_assert_uint_eq(status_of("new").st_mode & 07777, 0640);
}

TEST(a_rename_keeps_the_permissions_of_the_replaced_file)
{
    scratch_write("draft", "new");
    scratch_write("mine", "old");
    ck_assert_int_eq(chmod("mine", 0600), 0);
    ck_assert_int_eq(replacement_rename("draft", "mine", NULL), 0);
    ck_assert_uint_eq(status_of("mine").st_mode & 07777, 0600);
    scratch_expect("mine", "new");
    scratch_write("draft", "newer");
    ck_assert_int_eq(chmod("mine", 0400), 0);
    ck_assert_int_eq(replacement_rename("draft", "mine", NULL), -1);
    ck_assert_int_eq(chmod("mine", 0600), 0);
    scratch_expect("mine", "new");
    ck_assert_int_eq(replacement_rename("missing", "mine", NULL), -1);
}
