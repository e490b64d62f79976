/* scratch.h: an empty folder for one test, the working directory while the test runs.
 *
 *     FIXTURE(scratch_enter, scratch_leave)
 *     ...
 *     scratch_write("config.json", "{}");
 */
#pragma once

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"

static char scratch_path[32];

static inline void scratch_enter(void)
{
    strcpy(scratch_path, "/tmp/attn-test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch_path));
    ck_assert_int_eq(chdir(scratch_path), 0);
}

static inline int scratch_remove(const char *path, const struct stat *status, int type,
                                 struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static inline void scratch_leave(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(nftw(scratch_path, scratch_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void scratch_write(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Compare the contents of a file. */
static inline void scratch_expect(const char *name, const char *text)
{
    char found[4096];
    FILE *file = fopen(name, "r");
    ck_assert_msg(file != NULL, "'%s' does not exist", name);
    size_t size = fread(found, 1, sizeof found - 1, file);
    found[size] = '\0';
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(found, text);
}

/* The number of files and folders in a folder. */
static inline size_t scratch_count(const char *path)
{
    size_t count = 0;
    DIR *directory = opendir(path);
    ck_assert_ptr_nonnull(directory);
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}
