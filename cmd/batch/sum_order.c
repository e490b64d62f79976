#include "journal.h"

#include <string.h>

/* Of one size: lines that differ in them alone are as long. */
static const char by_tiles[] = "\"bf16\": \"amx\", ";
static const char by_others[] = "\"bf16\": \"fma\", ";

enum { MEMBER_BYTES = sizeof by_tiles - 1 };

_Static_assert(sizeof by_tiles == sizeof by_others, "two of one size");

const char *sum_order_member(bool tiles)
{
    return tiles ? by_tiles : by_others;
}

static bool stands_at(const char *at, size_t size, const char *member)
{
    return size >= MEMBER_BYTES && memcmp(at, member, MEMBER_BYTES) == 0;
}

/* One member stands in one of them, the other in the other. */
static bool is_exchanged(const char *a, const char *b, size_t size)
{
    return (stands_at(a, size, by_tiles) && stands_at(b, size, by_others)) ||
           (stands_at(a, size, by_others) && stands_at(b, size, by_tiles));
}

bool sum_order_is_all(const char *line, const char *other, size_t size)
{
    bool any = false;
    for (size_t i = 0; i < size; i++) {
        if (is_exchanged(line + i, other + i, size - i)) {
            any = true;
            i += MEMBER_BYTES - 1;
        } else if (line[i] != other[i]) {
            return false;
        }
    }
    return any;
}

static bool has_tiles(const char *line, size_t size)
{
    return memmem(line, size, by_tiles, MEMBER_BYTES);
}

int sum_order_refuse(const char *path, const char *found, size_t size, struct err *err)
{
    if (has_tiles(found, size))
        return err_usage(err,
                         "'%s': expected products of bf16 summed as without AMX, found them summed "
                         "by AMX: resume it on a processor that has AMX, without --no-amx, or "
                         "--force begins anew",
                         path);
    return err_usage(err,
                     "'%s': expected products of bf16 summed by AMX, found them summed as without "
                     "it: resume it with --no-amx, or --force begins anew",
                     path);
}

int sum_order_refuse_shard(const char *path, const char *found, const char *first, struct err *err)
{
    bool tiles = has_tiles(found, strlen(found));
    return err_set(err,
                   "'%s': expected products of bf16 summed %s, as in '%s', found them summed %s: "
                   "make the shards that AMX has summed again, with --no-amx",
                   path, tiles ? "as without AMX" : "by AMX", first,
                   tiles ? "by AMX" : "as without it");
}
