/* mapping_list_test.c: mapped files by address, and files that became shorter. */
#include <unistd.h>

#include "../rigs/scratch.h"
#include "../unit.h"
#include "base/file.h"

TEST(an_address_in_a_file_has_its_path)
{
    struct file first = {0};
    struct file second = {0};
    scratch_enter();
    scratch_write("a", "Life is short");
    scratch_write("b", "eat");
    ck_assert_int_eq(file_map(&first, "a", NULL), 0);
    ck_assert_int_eq(file_map(&second, "b", NULL), 0);
    const char *bytes = first.bytes;
    ck_assert_str_eq(mapping_list_path(bytes), "a");
    ck_assert_str_eq(mapping_list_path(bytes + 12), "a");
    ck_assert_str_eq(mapping_list_path(second.bytes + 2), "b");
    file_release(&first);
    ck_assert_ptr_null(mapping_list_path(bytes + 12));
    ck_assert_str_eq(mapping_list_path(second.bytes), "b");
    file_release(&second);
    ck_assert_ptr_null(mapping_list_path(bytes));
    scratch_leave();
}

/* A file that a call maps, reads and releases, and one that it does not release. */
TEST(a_short_file_is_reported_to_its_owner)
{
    struct err err = {0};
    struct file file = {0};
    int owner, other;
    scratch_enter();
    scratch_write("short", "Life is short");
    const void *before = mapping_list_own(&owner);
    ck_assert_int_eq(file_map(&file, "short", NULL), 0);
    ck_assert_int_eq(mapping_list_check(&owner, &err), 0);
    ck_assert_int_eq(truncate("short", 0), 0);
    ck_assert(mapping_list_fill(file.bytes + 3));
    ck_assert_int_eq(file.bytes[3], 0);
    ck_assert_int_eq(mapping_list_check(&other, &err), 0);
    for (int stays = 1; stays >= 0; stays--) {
        err_set(&err, "an error caused by zeros");
        if (!stays)
            file_release(&file);
        ck_assert_int_eq(mapping_list_check(&owner, &err), -1);
        ck_assert_str_eq(err.text, "'short' became shorter while it was being read");
    }
    ck_assert_int_eq(mapping_list_check(&owner, NULL), 0);
    mapping_list_own(before);
    scratch_leave();
}
