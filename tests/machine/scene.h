/* scene.h: one run of the program on a machine that something is wrong with.
 *
 * Everything is written below `disk`, a small file system in memory where we may mount one, in a
 * name space of our own, else a plain folder.
 *
 *     struct scene scene = {0};
 *     if (scene_open(&scene, "build/attn-cli", &err)) ...
 *     scene.chore = &chores[0];
 *     if (scene_prepare(&scene, &err) || scene_run(&scene, &err)) ...
 *     use(scene.status, scene.printed, scene.said);
 *     scene_close(&scene);
 */
#ifndef ATTN_TESTS_SCENE_H
#define ATTN_TESTS_SCENE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../break/ground.h"
#include "base/buf.h"
#include "base/err.h"
#include "chore.h"
#include "holding.h"

enum { SIGNALLED = 256 }; /* the status of what a signal ended, and the signal's number more */

/* How a chore ends in peace. */
struct whole {
    struct holding files;
    struct buf printed;
    double seconds;
};

struct scene {
    char program[PATH_MAX];
    int descriptor; /* the program's: whoever it is started as need not find it */
    bool is_root;
    bool has_disk;
    int ballast; /* a file without a name: the disk is never empty */
    struct ground ground;

    const struct chore *chore;
    const struct trouble *trouble; /* NULL: peace */
    size_t step;                   /* of the trouble's, from 0 on */
    const struct whole *whole;     /* NULL: not known yet */
    size_t least_memory;           /* bytes with which the program starts at all */
    size_t least_files;            /* and open files */

    pid_t child;
    int streams[2];           /* what it prints and says is read here; -1: read no more */
    struct buf printed, said; /* on standard output, and on standard error */
    int status;
    double seconds;
};

int scene_open(struct scene *scene, const char *program, struct err *err);
void scene_close(struct scene *scene);

/* Empty the disk and do what comes before the chore. */
int scene_prepare(struct scene *scene, struct err *err);

/* Do the chore, with the trouble; `scene_repeat`: once more, in peace. */
int scene_run(struct scene *scene, struct err *err);
int scene_repeat(struct scene *scene, struct err *err);

/* Run any line in peace, below a limit of the resource unless that is negative. */
int scene_line(struct scene *scene, const char *line, int resource, size_t limit, struct err *err);

/* For troubles: whether it still runs. */
bool scene_runs(const struct scene *scene);

#endif
