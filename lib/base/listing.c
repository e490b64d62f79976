#include "base/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int listing_add(struct listing *listing, const char *name, struct arena *arena, struct err *err)
{
    const char **names = arena_grow(arena, listing->names, listing->count, sizeof *names, err);
    const char *copy = names ? arena_text(arena, name, strlen(name), err) : NULL;
    if (!copy)
        return -1;
    listing->names = names;
    listing->names[listing->count++] = copy;
    return 0;
}

/* The next name; NULL after the last, or where the rest cannot be read: errno says which. */
static const char *next_name(DIR *directory)
{
    errno = 0;
    const struct dirent *entry = readdir(directory);
    return entry ? entry->d_name : NULL;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int listing_read(struct listing *listing, const char *path, struct arena *arena, struct err *err)
{
    int failed = 0;
    *listing = (struct listing){0};
    DIR *directory = opendir(path);
    if (!directory)
        return err_set(err, "cannot read '%s': %s", path, strerror(errno));
    for (const char *name; !failed && (name = next_name(directory));)
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            failed = listing_add(listing, name, arena, err);
    if (!failed && errno)
        failed = err_set(err, "cannot read '%s': %s", path, strerror(errno));
    closedir(directory);
    if (listing->count)
        qsort(listing->names, listing->count, sizeof *listing->names, compare);
    return failed;
}
