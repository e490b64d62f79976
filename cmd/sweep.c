#include "sweep.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "command.h"
#include "model/weights.h"

enum {
    VALUES_MAX = 10000, /* of one sweep: a range is easily written */
    SETTINGS_MAX = 1000000,
    SHARDS_MAX = 1000000,
    NUMBER_BYTES = 24,
};

/* --- values ----------------------------------------------------------------------------------- */

/* `3-7`: both ends are whole numbers, the first not the larger. */
static bool read_range(const char *value, size_t size, long long *first, long long *last)
{
    char text[2 * NUMBER_BYTES];
    const char *dash = memchr(value, '-', size);
    if (!dash || dash == value || size >= sizeof text)
        return false;
    memcpy(text, value, size);
    text[size] = '\0';
    text[dash - value] = '\0';
    const char *end = text + (dash - value) + 1;
    return text[0] != '+' && *end != '-' && *end != '+' &&
           num_parse_integer(text, 0, SETTINGS_MAX, first) &&
           num_parse_integer(end, *first, SETTINGS_MAX, last);
}

/* Add a value, or each of a range. */
static int add_values(struct swept_option *swept, const char *value, size_t size,
                      struct arena *arena, struct err *err)
{
    long long first = 0;
    long long last = 0;
    bool is_range = read_range(value, size, &first, &last);
    if (!is_range)
        first = last = 0;
    for (long long i = first; i <= last; i++) {
        const char *one =
            is_range ? arena_format(arena, err, "%lld", i) : arena_text(arena, value, size, err);
        if (!one)
            return -1;
        if (swept->count == VALUES_MAX)
            return err_usage(err, "expected at most %d values, found more", VALUES_MAX);
        swept->values[swept->count++] = one;
    }
    return 0;
}

/* The option takes each value, and no two of them mean the same, as "1" and "1.0". */
static int check_values(const struct sweep *sweep, const struct swept_option *swept,
                        struct arena *arena, struct err *err)
{
    const struct option_row *row =
        option_find(sweep->options->set, swept->name, strlen(swept->name));
    const char **meanings = arena_alloc(arena, swept->count, sizeof *meanings, err);
    for (size_t i = 0; meanings && i < swept->count; i++) {
        struct options scratch;
        struct buf meaning = {0};
        options_init(&scratch, sweep->options->set);
        if (options_set(&scratch, swept->name, swept->values[i], arena, err))
            return -1;
        settings_value(&meaning, row, &scratch);
        meanings[i] = buf_keep(&meaning, arena, err);
        if (!meanings[i])
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(meanings[i], meanings[k]) == 0)
                return err_usage(err, "expected each value once, found '%s' twice",
                                 swept->values[i]);
    }
    return meanings ? 0 : -1;
}

/* --- sweeps ----------------------------------------------------------------------------------- */

bool sweep_has(const struct sweep *sweep, const char *name)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (strcmp(sweep->items[i].name, name) == 0)
            return true;
    return false;
}

static int check_name(const struct sweep *sweep, const char *name, struct err *err)
{
    if (options_check_name(sweep->options->set, name, err))
        return -1;
    const struct option_row *row = option_find(sweep->options->set, name, strlen(name));
    if (!settings_may_vary(row))
        return err_usage(err, "expected an option that changes results, found '%s'", name);
    if (sweep_has(sweep, name))
        return err_usage(err, "expected every option once, found '%s' twice", name);
    return 0;
}

/* head=0-3,7 */
static int read_sweep(struct sweep *sweep, const char *text, struct arena *arena, struct err *err)
{
    struct swept_option *swept = &sweep->items[sweep->count];
    size_t name_size = strcspn(text, "=");
    if (!text[name_size] || !text[name_size + 1] || !name_size)
        return err_usage(err, "--sweep: expected NAME=VALUE,VALUE,…, found '%s'", text);
    swept->name = arena_text(arena, text, name_size, err);
    if (!swept->name || check_name(sweep, swept->name, err))
        return err_prefix(err, "--sweep");
    swept->values = arena_alloc(arena, VALUES_MAX, sizeof *swept->values, err);
    if (!swept->values)
        return -1;
    for (const char *at = text + name_size; *at;) {
        size_t size = 0; /* up to a comma that is not in brackets, as of 'v[head=1,token=2] = 0' */
        at++;
        for (bool inside = false; at[size] && (inside || at[size] != ','); size++)
            inside = at[size] == '[' || (inside && at[size] != ']');
        if (add_values(swept, at, size, arena, err))
            return err_prefix(err, "--sweep %s", swept->name);
        at += size;
    }
    sweep->count++;
    return check_values(sweep, swept, arena, err) ? err_prefix(err, "--sweep %s", swept->name) : 0;
}

int sweep_read(struct sweep *sweep, const struct options *options, const struct listing *models,
               struct arena *arena, struct err *err)
{
    const struct texts *texts = &options->batch.sweeps;
    *sweep = (struct sweep){.options = options};
    sweep->repeats = options->batch.repeat ? (size_t)options->batch.repeat : 1;
    sweep->items = arena_alloc(arena, texts->count + 1, sizeof *sweep->items, err);
    if (!sweep->items)
        return -1;
    sweep->of_models = models->count > 1;
    if (sweep->of_models)
        sweep->items[sweep->count++] = (struct swept_option){"model", models->names, models->count};
    for (size_t i = 0; i < texts->count; i++)
        if (read_sweep(sweep, texts->items[i], arena, err))
            return -1;
    sweep->settings = sweep->repeats;
    for (size_t i = 0; i < sweep->count; i++)
        if (!num_multiply(&sweep->settings, sweep->settings, sweep->items[i].count) ||
            sweep->settings > SETTINGS_MAX)
            return err_usage(err, "--sweep, --repeat: expected at most %d settings, found more",
                             SETTINGS_MAX);
    return 0;
}

/* --- one setting ------------------------------------------------------------------------------ */

/* Which value of a sweep a setting has: the last changes fastest, but for repetitions. */
static size_t choice(const struct sweep *sweep, size_t setting, size_t index)
{
    size_t rest = setting / sweep->repeats;
    for (size_t i = sweep->count; i-- > index + 1;)
        rest /= sweep->items[i].count;
    return rest % sweep->items[index].count;
}

size_t sweep_model(const struct sweep *sweep, size_t setting)
{
    return sweep->of_models ? choice(sweep, setting, 0) : 0;
}

int sweep_set(const struct sweep *sweep, size_t setting, struct options *options,
              struct arena *arena, struct err *err)
{
    *options = *sweep->options;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct swept_option *swept = &sweep->items[i];
        const char *value = swept->values[choice(sweep, setting, i)];
        if (i == 0 && sweep->of_models)
            options->model.name = value;
        else if (options_set(options, swept->name, value, arena, err))
            return err_prefix(err, "--sweep %s", swept->name);
    }
    options->mechanism.seed += (long long)(setting % sweep->repeats);
    return 0;
}

size_t sweep_columns(const struct sweep *sweep)
{
    return sweep->count - sweep->of_models + (sweep->repeats > 1);
}

const char *sweep_name(const struct sweep *sweep, size_t index)
{
    index += sweep->of_models;
    return index < sweep->count ? sweep->items[index].name : "repeat";
}

const char *sweep_value(const struct sweep *sweep, size_t setting, size_t index,
                        struct arena *arena, struct err *err)
{
    index += sweep->of_models;
    return index < sweep->count ? sweep->items[index].values[choice(sweep, setting, index)]
                                : arena_format(arena, err, "%zu", setting % sweep->repeats);
}

/* --- models ----------------------------------------------------------------------------------- */

/* step8 before step64 before step512: of two numbers the shorter one comes first. */
static int compare_names(const void *a, const void *b)
{
    static const char digits[] = "0123456789";
    const char *one = *(const char *const *)a;
    const char *other = *(const char *const *)b;
    while (*one && *one == *other && !strchr(digits, *one))
        one++, other++;
    size_t size = strspn(one, digits);
    size_t other_size = strspn(other, digits);
    if (size && other_size && size != other_size)
        return size < other_size ? -1 : 1;
    if (size && size == other_size && memcmp(one, other, size) == 0)
        return compare_names(&(const char *){one + size}, &(const char *){other + size});
    return strcmp(one, other);
}

/* Add the directories that fit a pattern, in the order of their numbers. */
static int add_pattern(struct listing *found, const char *pattern, struct arena *arena,
                       struct err *err)
{
    glob_t paths = {0};
    size_t count = found->count;
    int failed = glob(pattern, GLOB_ERR | GLOB_NOSORT, NULL, &paths);
    if (failed == GLOB_NOSPACE)
        failed = err_memory(err, strlen(pattern));
    else if (failed == GLOB_ABORTED)
        failed =
            err_set(err, "--model '%s': cannot read the folders: %s", pattern, strerror(errno));
    else
        failed = 0;
    if (paths.gl_pathc)
        qsort(paths.gl_pathv, paths.gl_pathc, sizeof *paths.gl_pathv, compare_names);
    for (size_t i = 0; i < paths.gl_pathc && !failed; i++)
        failed = file_is_directory(paths.gl_pathv[i]) &&
                 listing_add(found, paths.gl_pathv[i], arena, err);
    globfree(&paths);
    if (!failed && found->count == count)
        failed = err_set(err, "--model: expected folders that match '%s', found none", pattern);
    return failed ? -1 : 0;
}

int model_list_read(struct model_list *list, const struct options *options, struct arena *arena,
                    struct err *err)
{
    const struct texts *names = &options->model.names;
    *list = (struct model_list){0};
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        bool is_pattern = name[strcspn(name, "*?[")] && !file_is_directory(name);
        if ((is_pattern ? add_pattern : listing_add)(&list->names, name, arena, err))
            return -1;
    }
    size_t count = list->names.count;
    if (count > 1 && !(list->hashes = arena_alloc(arena, count, sizeof *list->hashes, err)))
        return -1;
    return 0;
}

size_t model_list_count(const struct model_list *list)
{
    return list->hashes ? list->names.count : 1;
}

void model_list_hash(struct model_list *list, size_t index, const struct weights *weights)
{
    char *hash = list->hashes[index];
    list->open = index;
    if (*hash)
        return;
    weights_hash(weights, hash);
    for (size_t i = 0; i < index; i++)
        if (strcmp(list->hashes[i], hash) == 0) {
            print_note("'%s' has the same weights as '%s': both hashes begin with %.16s",
                       list->names.names[index], list->names.names[i], hash);
            return;
        }
}

int model_blame(const char *name, struct err *err)
{
    if (err->about == ERR_ABOUT_WORD)
        err->about = ERR_ABOUT_ANYTHING;
    bool named = err->text[0] == '\'' && strncmp(err->text + 1, name, strlen(name)) == 0;
    return named ? -1 : err_prefix(err, "'%s'", name);
}

/* --- shards ----------------------------------------------------------------------------------- */

/* Numbers of the environment: all of them, or none where the first is not there. */
static int read_variables(bool *found, long long *numbers, const char *const *names, size_t count,
                          struct err *err)
{
    *found = false;
    for (size_t i = 0; i < count; i++) {
        const char *text = getenv(names[i]);
        bool is_there = text && *text;
        if (!is_there && i == 0)
            return 0;
        if (!is_there)
            return err_usage(err,
                             "--shard auto: expected %s as well as %s in the environment, found "
                             "nothing",
                             names[i], names[0]);
        if (!num_parse_integer(text, 0, INT_MAX, &numbers[i]))
            return err_usage(err, "--shard auto: expected a number in %s, found '%s'", names[i],
                             text);
    }
    *found = true;
    return 0;
}

/* The place among the tasks of an array, times that among the processes of each task. */
static int find_shard(struct job_shard *shard, struct err *err)
{
    static const char *const array[] = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN",
                                        "SLURM_ARRAY_TASK_MAX"};
    static const char *const array_step[] = {"SLURM_ARRAY_TASK_STEP"};
    static const char *const ranks[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    long long task[] = {0, 0, 0}; /* this one, the first and the last */
    long long rank[] = {1, 0};    /* how many, and this one */
    long long step = 1;
    bool is_task = false;
    bool has_step = false;
    bool is_rank = false;
    if (read_variables(&is_task, task, array, 3, err) ||
        (is_task && read_variables(&has_step, &step, array_step, 1, err)))
        return -1;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && !is_rank; i++)
        if (read_variables(&is_rank, rank, ranks[i], 2, err))
            return -1;
    if (!is_task && !is_rank)
        return err_usage(err, "--shard auto: expected SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, "
                              "PMI_RANK or the variables of srun in the environment, found none");
    if (task[0] < task[1] || task[0] > task[2])
        return err_usage(err,
                         "--shard auto: expected SLURM_ARRAY_TASK_ID from %lld to %lld, found %lld",
                         task[1], task[2], task[0]);
    if (rank[1] >= rank[0])
        return err_usage(err, "--shard auto: expected a rank below %lld, found %lld", rank[0],
                         rank[1]);
    step = step < 1 ? 1 : step;
    shard->index = (size_t)((task[0] - task[1]) / step * rank[0] + rank[1]) + 1;
    shard->count = (size_t)(((task[2] - task[1]) / step + 1) * rank[0]);
    return 0;
}

int shard_read(struct job_shard *shard, const char *text, struct err *err)
{
    static const char *const words[] = {"auto"};
    char first[NUMBER_BYTES];
    char guess[NAMES_GUESS_BYTES];
    long long index = 0;
    long long count = 0;
    *shard = (struct job_shard){0};
    if (!text)
        return 0;
    if (strcmp(text, words[0]) == 0)
        return find_shard(shard, err);
    size_t size = strcspn(text, "/");
    snprintf(first, sizeof first, "%.*s", (int)num_min(size, sizeof first), text);
    if (text[size] && num_parse_integer(text + size + 1, 1, SHARDS_MAX, &count) &&
        num_parse_integer(first, 1, count, &index)) {
        *shard = (struct job_shard){(size_t)index, (size_t)count};
        return 0;
    }
    return err_usage(err, "--shard: expected I/N with I from 1 to N, or auto, found '%s'%s", text,
                     names_guess(guess, names_nearest(NAMES_LIST(words), text, strlen(text))));
}

/* Quotients and remainders apart: jobs times shards may exceed a size. */
static size_t shard_begin(const struct job_shard *shard, size_t jobs, size_t index)
{
    return jobs / shard->count * index + jobs % shard->count * index / shard->count;
}

void shard_range(const struct job_shard *shard, size_t jobs, size_t *first, size_t *end)
{
    *first = shard->count ? shard_begin(shard, jobs, shard->index - 1) : 0;
    *end = shard->count ? shard_begin(shard, jobs, shard->index) : jobs;
}
