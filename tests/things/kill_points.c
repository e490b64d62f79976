#include "kill_points.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MAX = 32 };

#define CALLS                                                                              \
    "?open,?openat,?openat2,?creat,?rename,?renameat,?renameat2,?unlink,?unlinkat,?mkdir," \
    "?mkdirat,?rmdir,?link,?linkat,?symlink,?symlinkat,?truncate,?chmod,?fchmodat,?chown," \
    "?lchown,?fchownat,?mknod,?mknodat,?utimensat"

const char kill_points_watch[] = "strace -f -qq -o ../../trace -e signal=none -e trace=" CALLS;

bool kill_points_are_possible(void)
{
    return system("strace -f -qq -o /dev/null -e trace=" CALLS " true 2>/dev/null") == 0;
}

/* How often each call came so far. */
struct tally {
    struct kill_point calls[CALLS_MAX];
    size_t count;
};

static struct kill_point *count_call(struct tally *tally, const char *name, size_t size)
{
    size_t i = 0;
    while (i < tally->count &&
           (strncmp(tally->calls[i].call, name, size) != 0 || tally->calls[i].call[size] != '\0'))
        i++;
    if (i == CALLS_MAX || size >= CALL_NAME_BYTES)
        return NULL;
    if (i == tally->count) {
        memcpy(tally->calls[i].call, name, size);
        tally->count++;
    }
    tally->calls[i].nth++;
    return &tally->calls[i];
}

/* A path of the line is below the place, or goes on from the working directory. */
static bool concerns(const char *line, const char *place)
{
    const char *path = line;
    while ((path = strchr(path, '"')) != NULL) {
        path++;
        if (*path != '/' || strncmp(path, place, strlen(place)) == 0)
            return true;
        path = strchr(path, '"'); /* its end */
        path = path ? path + 1 : "";
    }
    return false;
}

/* `1234 rename("a", "b") = 0` of the first process alone, whose calls strace counts by itself. */
int kill_points_read(struct kill_points *points, const char *trace, const char *place,
                     struct err *err)
{
    struct tally tally = {0};
    char *line = NULL;
    size_t room = 0;
    long process = 0;
    FILE *in = fopen(trace, "r");
    points->count = 0;
    if (!in)
        return err_set(err, "cannot open '%s'", trace);
    while (getline(&line, &room, in) > 0) {
        char *name = NULL;
        long number = strtol(line, &name, 10);
        name += strspn(name, " ");
        process = process ? process : number;
        size_t size = strcspn(name, "(");
        struct kill_point *point = number == process && islower((unsigned char)*name)
                                       ? count_call(&tally, name, size)
                                       : NULL;
        if (point && concerns(name, place) && points->count < KILL_POINTS_MAX)
            points->calls[points->count++] = *point;
    }
    free(line);
    fclose(in);
    return 0;
}

void kill_points_prefix(char prefix[KILL_PREFIX_BYTES], const struct kill_point *point)
{
    snprintf(prefix, KILL_PREFIX_BYTES,
             "strace -f -qq -o /dev/null -e trace=%s -e inject=%s:signal=KILL:when=%zu",
             point->call, point->call, point->nth);
}
