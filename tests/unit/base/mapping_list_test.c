#include "base/mapping_list.h"

#include <unistd.h>

#include "../rigs/scratch.h"
#include "../unit.h"
#include "base/file.h"

TEST(an_address_in_a_file_has_its_path)
{
    static const char first[10] = "first";
    static const char second[10] = "second";
    mapping_list_add(first, sizeof first, "models/a", NULL);
    mapping_list_add(second, sizeof second, "models/b", NULL);
    ck_assert_str_eq(mapping_list_path(first), "models/a");
    ck_assert_str_eq(mapping_list_path(first + 9), "models/a");
    ck_assert_str_eq(mapping_list_path(second + 4), "models/b");
    mapping_list_remove(first);
    ck_assert_ptr_null(mapping_list_path(first + 9));
    ck_assert_str_eq(mapping_list_path(second), "models/b");
    mapping_list_remove(second);
    ck_assert_ptr_null(mapping_list_path(second));
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
