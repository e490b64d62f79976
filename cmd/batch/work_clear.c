#include "work_clear.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/removal.h"
#include "recorded_command.h"
#include "result_files.h"
#include "tallies.h"
#include "work_listed.h"
#include "work_record.h"

/* --- what is listed --------------------------------------------------------------------------- */

static int check_line(void *context, char *line, size_t size, struct err *err)
{
    const char *path = context;
    struct json *root = NULL;
    int failed = 0;
    const struct json *files = work_record_files(&root, line, size);
    const struct json *entry = files ? json_first(files) : NULL;
    for (; entry && !failed; entry = json_next(entry))
        if (!work_listed_name(entry))
            failed = err_set(err, "'%s': expected a list of files that a batch makes, found others",
                             path);
    json_free(root);
    return failed;
}

int work_clear_line(const struct work_folder *folder, const char *line, size_t size,
                    struct err *err)
{
    struct json *root = NULL;
    int failed = 0;
    const struct json *files = work_record_files(&root, line, size);
    const struct json *entry = files ? json_first(files) : NULL;
    for (; entry && !failed; entry = json_next(entry)) {
        const char *name = work_listed_name(entry);
        failed = name ? removal_file(folder->path, name, err) : 0;
    }
    json_free(root);
    return failed;
}

static int clear_line(void *context, char *line, size_t size, struct err *err)
{
    return work_clear_line(context, line, size, err);
}

/* --- what its command makes ------------------------------------------------------------------- */

static int clear_results(const struct work_folder *folder, const struct store_plan *plan,
                         unsigned measures, struct err *err)
{
    struct result_file file;
    for (size_t i = 0; result_files_next(&file, plan, measures, &i);)
        if (removal_file(folder->path, file.name, err))
            return -1;
    return 0;
}

/* A shard has its sums there, the whole batch what they came to. A command that this version does
 * not know any more stays with what is listed. */
static int clear_of_command(void *context, char *line, size_t size, struct err *err)
{
    const struct work_folder *folder = context;
    struct arena arena = {0};
    struct options options;
    struct store_plan plan;
    struct tallies tallies = {0};
    int failed = 0;
    if (recorded_command_is(line, size) && !recorded_command(&options, line, size, &arena, NULL)) {
        options.output = folder->target ? folder->target : "./";
        bool known =
            !store_choose(&plan, &options, NULL) && !tallies_open(&tallies, &options, NULL);
        failed = known && clear_results(folder, &plan, tallies.measures, err);
        plan.shard = (struct job_shard){1, 1};
        failed = failed || (known && clear_results(folder, &plan, tallies.measures, err));
        tallies_release(&tallies);
    }
    arena_release(&arena);
    return failed;
}

int work_clear(struct work_folder *folder, struct err *err)
{
    bool finished = folder->state == WORK_FINISHED;
    const char *record = finished ? folder->manifest : folder->journal;
    bool listed = !folder->target; /* whose folder holds the one result */
    if (folder->state == WORK_NONE)
        return 0;
    if (listed && work_record_walk(record, check_line, (void *)record, err))
        return -1;
    if (finished && rename(folder->manifest, folder->journal))
        return err_output(err, "cannot write '%s': %s", folder->journal, strerror(errno));
    if (listed && work_record_walk(folder->journal, clear_line, folder, err))
        return -1;
    if (!(listed && finished) && work_record_walk(folder->journal, clear_of_command, folder, err))
        return -1;
    return removal_file(folder->own, "sums", err);
}
