#include "base/listing.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/heap.h"

FIXTURE(scratch_enter, scratch_leave)

TEST(names_come_in_the_order_of_their_bytes)
{
    static const char *const expected[] = {".hidden", "B", "a", "b"};
    struct arena arena = {0};
    struct listing listing;
    scratch_write("b", "");
    scratch_write("B", "");
    scratch_write(".hidden", "");
    scratch_write("a", "");
    ck_assert_int_eq(listing_read(&listing, ".", &arena, NULL), 0);
    ck_assert_uint_eq(listing.count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(listing.names[i], expected[i]);
    arena_release(&arena);
}

TEST(what_is_no_directory_is_an_error)
{
    struct arena arena = {0};
    struct listing listing;
    struct err err = {0};
    ck_assert_int_eq(listing_read(&listing, "nowhere", &arena, &err), -1);
    ck_assert_str_eq(err.text, "cannot read 'nowhere': No such file or directory");
    ck_assert_uint_eq(listing.count, 0);
    arena_release(&arena);
}

TEST(every_allocation_may_fail)
{
    int failed = -1;
    for (char name = 'a'; name <= 'e'; name++)
        scratch_write((char[]){name, '\0'}, "");
    for (size_t nth = 1; failed; nth++) {
        struct arena arena = {0};
        struct listing listing;
        struct err err = {0};
        heap_fail_at(nth, 0);
        failed = listing_read(&listing, ".", &arena, &err);
        heap_fail_at(0, 0);
        ck_assert_int_eq(err.out_of_memory, failed != 0);
        ck_assert(failed ? listing.count < 5 : listing.count == 5);
        ck_assert(failed || nth > 5);
        arena_release(&arena);
    }
}
