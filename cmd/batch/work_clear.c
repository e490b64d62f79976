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

/* --- what its command makes ------------------------------------------------------------------- */

struct command_walk {
    const struct work_folder *folder;
    const struct work_clear_walk *walk;
};

static int see_results(const struct work_clear_walk *walk, const struct store_plan *plan,
                       unsigned measures, struct err *err)
{
    struct result_file file;
    for (size_t i = 0; result_files_next(&file, plan, measures, &i);)
        if (walk->result(walk->context, file.name, err))
            return -1;
    return 0;
}

/* A shard has its sums there, the whole batch what they came to. A command that this version does
 * not know any more stays with what is listed. */
static int see_command(void *context, char *line, size_t size, struct err *err)
{
    const struct command_walk *walk = context;
    const struct work_folder *folder = walk->folder;
    struct arena arena = {0};
    struct options options;
    struct store_plan plan;
    struct tallies tallies = {0};
    int failed = 0;
    if (recorded_command_is(line, size) && !recorded_command(&options, line, size, &arena, NULL)) {
        options.output.path = folder->target ? folder->target : "./";
        bool known =
            !store_choose(&plan, &options, NULL) && !tallies_open(&tallies, &options, NULL);
        failed = known && see_results(walk->walk, &plan, tallies.measures, err);
        plan.shard = (struct job_shard){1, 1};
        failed = failed || (known && see_results(walk->walk, &plan, tallies.measures, err));
        tallies_release(&tallies);
    }
    arena_release(&arena);
    return failed;
}

/* --- all of it -------------------------------------------------------------------------------- */

const char *work_clear_record(const struct work_folder *folder)
{
    return folder->state == WORK_FINISHED ? folder->manifest : folder->journal;
}

static int walk_record(const struct work_folder *folder, const char *record,
                       const struct work_clear_walk *walk, struct err *err)
{
    struct command_walk command = {folder, walk};
    bool listed = !folder->target; /* whose folder holds the one result */
    if (listed && work_record_walk(record, walk->line, walk->context, err))
        return -1;
    return listed && folder->state == WORK_FINISHED
               ? 0
               : work_record_walk(record, see_command, &command, err);
}

int work_clear_walk(const struct work_folder *folder, const struct work_clear_walk *walk,
                    struct err *err)
{
    return walk_record(folder, work_clear_record(folder), walk, err);
}

static int clear_line(void *context, char *line, size_t size, struct err *err)
{
    return work_clear_line(context, line, size, err);
}

static int clear_result(void *context, const char *name, struct err *err)
{
    const struct work_folder *folder = context;
    return removal_file(folder->path, name, err);
}

int work_clear(struct work_folder *folder, struct err *err)
{
    const struct work_clear_walk walk = {clear_line, clear_result, folder};
    if (folder->state == WORK_NONE)
        return 0;
    if (folder->state == WORK_FINISHED && rename(folder->manifest, folder->journal))
        return err_output(err, "cannot write '%s': %s", folder->journal, strerror(errno));
    return walk_record(folder, folder->journal, &walk, err) ||
                   removal_file(folder->own, "sums", err)
               ? -1
               : 0;
}
