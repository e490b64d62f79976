/* Places to write to: full, read-only, somebody else's, gone. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "trouble.h"

enum { NOBODY = 65534 };

static const char *lacks_disk(const struct scene *scene)
{
    return scene->has_disk ? NULL : "no file system can be mounted here";
}

static int remount(const char *options, struct err *err)
{
    if (mount("machine", "disk", "tmpfs", MS_REMOUNT, options))
        return err_set(err, "cannot mount 'disk' anew with %s", options);
    return 0;
}

static void restore_disk(struct scene *scene)
{
    (void)scene;
    remount("size=64m,nr_inodes=10000", NULL);
}

/* --- full ------------------------------------------------------------------------------------- */

/* 0, 1, 2, 4, … pages are free. */
static int fill(struct scene *scene, struct err *err)
{
    struct statvfs disk;
    char options[64];
    if (statvfs("disk", &disk))
        return err_set(err, "cannot look at 'disk'");
    unsigned long used = disk.f_blocks - disk.f_bfree;
    unsigned long room = scene->step ? 1UL << (scene->step - 1) : 0;
    snprintf(options, sizeof options, "size=%lu", (used + room) * disk.f_frsize);
    return remount(options, err);
}

static int use_names_up(struct scene *scene, struct err *err)
{
    struct statvfs disk;
    char options[64];
    if (statvfs("disk", &disk))
        return err_set(err, "cannot look at 'disk'");
    snprintf(options, sizeof options, "nr_inodes=%lu",
             (unsigned long)(disk.f_files - disk.f_ffree) + scene->step);
    return remount(options, err);
}

/* --- not ours --------------------------------------------------------------------------------- */

/* This place alone: the file system itself has a file without a name, which is to be removed. */
static int bind(unsigned long flags, struct err *err)
{
    if (mount(NULL, "disk", NULL, MS_REMOUNT | MS_BIND | flags, NULL))
        return err_set(err, "cannot make 'disk' read-only");
    return 0;
}

static int freeze(struct scene *scene, struct err *err)
{
    (void)scene;
    return bind(MS_RDONLY, err);
}

static void thaw(struct scene *scene)
{
    (void)scene;
    bind(0, NULL);
}

void trouble_become_nobody(const struct scene *scene)
{
    if (scene->is_root && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
                           setresuid(NOBODY, NOBODY, NOBODY)))
        _exit(EXIT_FAILURE);
}

/* The folder, and one in it that is there to be written into. */
static int set_modes(const struct scene *scene, mode_t mode)
{
    const char *output = scene->chore->output;
    bool is_folder = output && output[strlen(output) - 1] == '/';
    if (is_folder && chmod(output, mode) && errno != ENOENT)
        return -1;
    return chmod("disk", mode);
}

static int close_folder(struct scene *scene, struct err *err)
{
    return set_modes(scene, 0555) ? err_set(err, "cannot change 'disk'") : 0;
}

static void open_folder(struct scene *scene)
{
    chmod("disk", 0777); /* what is in it cannot be changed before */
    set_modes(scene, 0777);
}

static bool is_replaced(const struct scene *scene)
{
    const struct chore *chore = scene->chore;
    return chore->output && !chore->goes_on && strchr(strchr(chore->output, '/') + 1, '.');
}

static int close_file(struct scene *scene, struct err *err)
{
    return chmod(scene->chore->output, 0444) ? err_set(err, "cannot change the file") : 0;
}

/* --- gone ------------------------------------------------------------------------------------- */

static void lose_folder(const struct scene *scene)
{
    (void)scene;
    if (mkdir("gone", 0700) || chdir("gone") || rmdir("../gone"))
        _exit(EXIT_FAILURE);
}

static void lose_environment(const struct scene *scene)
{
    (void)scene;
    static char *nothing[] = {NULL};
    environ = nothing;
}

/* ---------------------------------------------------------------------------------------------- */

const struct trouble trouble_places[] = {
    {.name = "a full disk",
     .steps = 8,
     .statuses = MAY_SUCCEED | MAY_REFUSE_OUTPUT,
     .lacks = lacks_disk,
     .arrange = fill,
     .restore = restore_disk},
    {.name = "a disk without names left",
     .steps = 6,
     .statuses = MAY_SUCCEED | MAY_REFUSE_OUTPUT,
     .lacks = lacks_disk,
     .arrange = use_names_up,
     .restore = restore_disk},
    {.name = "a read-only disk",
     .steps = 1,
     .statuses = MAY_REFUSE_OUTPUT,
     .lacks = lacks_disk,
     .arrange = freeze,
     .restore = thaw},
    {.name = "a folder nobody may write",
     .steps = 1,
     .statuses = MAY_REFUSE_OUTPUT,
     .arrange = close_folder,
     .restore = open_folder,
     .afflict = trouble_become_nobody},
    {.name = "a file nobody may write",
     .steps = 1,
     .statuses = MAY_REFUSE_OUTPUT,
     .suits = is_replaced,
     .arrange = close_file,
     .afflict = trouble_become_nobody},
    {.name = "a folder that is gone",
     .steps = 1,
     .statuses = MAY_REFUSE_INPUT | MAY_REFUSE_OUTPUT,
     .afflict = lose_folder},
    {.name = "no environment", .steps = 1, .statuses = MAY_SUCCEED, .afflict = lose_environment},
    {.name = NULL},
};
