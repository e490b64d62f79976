/* What a process may take: memory, files, their size, stack, threads. */
#include <sys/resource.h>

#include "trouble.h"

enum { MEMORY_STEPS = 12, FILE_STEPS = 8, KIB = 1024 };

struct trouble_limit trouble_limit;

static void limit(int resource, size_t value)
{
    const struct rlimit both = {value, value};
    setrlimit((__rlimit_resource_t)resource, &both);
}

void trouble_limit_plainly(const struct scene *scene)
{
    (void)scene;
    limit(trouble_limit.resource, trouble_limit.value);
}

/* --- memory ----------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
bool trouble_is_sanitized(void)
{
    return true;
}
#else
bool trouble_is_sanitized(void)
{
    return false;
}
#endif

static const char *lacks_limit(const struct scene *scene)
{
    (void)scene;
    return trouble_is_sanitized() ? "a sanitizer takes all addresses for itself" : NULL;
}

/* From what is enough to start up to what is enough for everything. */
static void limit_memory(const struct scene *scene)
{
    size_t more = scene->step ? (size_t)64 * KIB << scene->step : 0;
    limit(RLIMIT_AS, scene->least_memory + more);
}

static void limit_data(const struct scene *scene)
{
    limit(RLIMIT_DATA, (size_t)512 * KIB << scene->step);
}

static void limit_stack(const struct scene *scene)
{
    limit(RLIMIT_STACK, scene->step ? (size_t)128 * KIB << scene->step : (size_t)RLIM_INFINITY);
}

/* --- files ------------------------------------------------------------------------------------ */

static void limit_files(const struct scene *scene)
{
    limit(RLIMIT_NOFILE, scene->least_files + scene->step);
}

/* The largest file, to the byte, is the last step; a byte less the one before. */
static void limit_size(const struct scene *scene)
{
    size_t largest = scene->whole->files.largest;
    const size_t steps[] = {0, 1, largest / 2, largest - 1, largest};
    limit(RLIMIT_FSIZE, steps[scene->step]);
}

enum { SIZE_STEPS = 5 };

/* What a batch keeps on the way may be larger than its results, and an SVG than its PDF. */
static unsigned expect_size(const struct scene *scene)
{
    if (scene->step < SIZE_STEPS - 1)
        return MAY_REFUSE_OUTPUT;
    return MAY_SUCCEED | (scene->chore->goes_on || scene->chore->converts ? MAY_REFUSE_OUTPUT : 0);
}

/* --- threads ---------------------------------------------------------------------------------- */

static const char *lacks_threads(const struct scene *scene)
{
    (void)scene;
    return trouble_is_sanitized() ? "a sanitizer looks for leaks from a thread" : NULL;
}

/* In this order: who has more processes than allowed when taking a name is not let start one. */
static void limit_threads(const struct scene *scene)
{
    trouble_become_nobody(scene);
    limit(RLIMIT_NPROC, 0);
}

/* ---------------------------------------------------------------------------------------------- */

const struct trouble trouble_limits[] = {
    {.name = "little memory (ulimit -v)",
     .steps = MEMORY_STEPS,
     .statuses = MAY_SUCCEED | MAY_FAIL_ITEMS | MAY_REFUSE_INPUT | MAY_REFUSE_OUTPUT,
     .lacks = lacks_limit,
     .afflict = limit_memory},
    {.name = "little data (ulimit -d)",
     .steps = 8,
     .statuses = MAY_SUCCEED | MAY_FAIL_ITEMS | MAY_REFUSE_INPUT | MAY_REFUSE_OUTPUT,
     .lacks = lacks_limit,
     .afflict = limit_data},
    {.name = "a small stack, or any (ulimit -s)",
     .steps = 4,
     .statuses = MAY_SUCCEED,
     .afflict = limit_stack},
    {.name = "few open files (ulimit -n)",
     .steps = FILE_STEPS,
     .statuses = MAY_SUCCEED | MAY_REFUSE_INPUT | MAY_REFUSE_OUTPUT,
     .afflict = limit_files},
    {.name = "small files (ulimit -f)",
     .steps = SIZE_STEPS,
     .expect = expect_size,
     .afflict = limit_size},
    {.name = "no more threads (ulimit -u)",
     .steps = 1,
     .statuses = MAY_SUCCEED | MAY_REFUSE_OUTPUT,
     .lacks = lacks_threads,
     .afflict = limit_threads},
    {.name = NULL},
};
