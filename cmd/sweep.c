#include "sweep.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "base/num.h"

enum {
    VALUES_MAX = 10000, /* maximum number of values of one sweep; more are probably a mistake */
    SETTINGS_MAX = 1000000,
    SHARDS_MAX = 1000000,
};

/* --- values ----------------------------------------------------------------------------------- */

static int add_value(struct texts *values, const char *value, struct arena *arena, struct err *err)
{
    if (!value)
        return -1;
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->items[i], value) == 0)
            return err_usage(err, "expected each value once, found '%s' twice", value);
    if (values->count == VALUES_MAX)
        return err_usage(err, "expected at most %d values, found more", VALUES_MAX);
    return texts_add(values, value, arena, err);
}

/* Add a value, or each number of a range such as `3-7`. With `of_heads`, `L23H0-8` and `23.0-8` are
 * ranges of the heads of a layer, `L3-7` is a range of layers, and `=mean` may follow a range. */
static int add_values(struct texts *values, const char *value, bool of_heads, struct arena *arena,
                      struct err *err)
{
    static const char digits[] = "0123456789";
    const char *sign = of_heads ? strpbrk(value, ".Hh") : NULL;
    const bool of_layers = of_heads && (*value == 'L' || *value == 'l');
    const char *from = sign ? sign + 1 : value + of_layers;
    size_t size = strspn(from, digits);
    const char *to = from + size + (from[size] == '-');
    size_t to_size = strspn(to, digits);
    const char *rest = to + to_size;
    long long first = 0, last = 0;
    if (from[size] != '-' || (*rest && !(of_heads && *rest == '=')) ||
        !num_parse_part(from, size, 0, SETTINGS_MAX, &first) ||
        !num_parse_part(to, to_size, first, SETTINGS_MAX, &last))
        return add_value(values, value, arena, err);
    for (long long i = first; i <= last; i++)
        if (add_value(values,
                      arena_format(arena, err, "%.*s%lld%s", (int)(from - value), value, i, rest),
                      arena, err))
            return -1;
    return 0;
}

/* Add the numbers of FIRST:LAST:STEP, such as `-3:3:0.5`. Returns 1 for a value of another form. */
static int add_steps(struct texts *values, const char *value, struct arena *arena, struct err *err)
{
    const char *part = value;
    double numbers[3];
    size_t decimals = 0; /* largest number of digits after the decimal point */
    for (size_t i = 0; i < 3; i++) {
        size_t size = strcspn(part, ":");
        const char *text = arena_text(arena, part, size, err);
        if (!text || (i == 2) != !part[size] || !num_parse_double(text, -1e9, 1e9, &numbers[i]))
            return text ? 1 : -1;
        const char *point = strchr(text, '.');
        decimals = num_max(decimals, point ? strlen(point + 1) : 0);
        part += size + 1;
    }
    double steps = numbers[2] > 0 ? floor((numbers[1] - numbers[0]) / numbers[2] + 1e-9) : -1;
    if (steps < 0 || steps >= VALUES_MAX)
        return err_usage(
            err,
            "expected FIRST:LAST:STEP with a step above 0 and at most %d values, found "
            "'%s'",
            VALUES_MAX, value);
    for (size_t i = 0; i <= (size_t)steps; i++) {
        double number = numbers[0] + (double)i * numbers[2];
        if (fabs(number) < 1e-9 * numbers[2])
            number = 0; /* write 0, not -0.0 */
        if (add_value(values, arena_format(arena, err, "%.*f", (int)decimals, number), arena, err))
            return -1;
    }
    return 0;
}

/* --- sweeps ----------------------------------------------------------------------------------- */

bool sweep_has(const struct sweep *sweep, const char *name)
{
    size_t index = 0;
    return names_find(&index, NAMES(sweep->items, sweep->count), name, strlen(name));
}

const char *edit_name(size_t *size, const char *edit)
{
    const char *open = strchr(edit, '{');
    *size = open ? strcspn(open + 1, "}") : 0;
    return open && open[1 + *size] ? open + 1 : NULL;
}

/* Find where a name in braces begins in an edit; NULL: the edit does not contain it. */
static const char *find_braces(const char *edit, const char *name)
{
    size_t size = 0;
    for (const char *at = edit_name(&size, edit); at; at = edit_name(&size, at))
        if (size == strlen(name) && memcmp(at, name, size) == 0)
            return at - 1;
    return NULL;
}

/* True if a name is not an option, but occurs in braces in an edit. */
static bool is_in_edits(const struct sweep *sweep, const char *name)
{
    const struct texts *edits = &sweep->options->edit.edits;
    bool found = false;
    for (size_t i = 0; i < edits->count; i++)
        found |= find_braces(edits->items[i], name) != NULL;
    return found && !option_find(sweep->options->set, name, strlen(name));
}

/* Replace {NAME} in all edits by a value. */
static int set_in_edits(struct texts *edits, const char *name, const char *value,
                        struct arena *arena, struct err *err)
{
    const char **items = arena_alloc(arena, edits->count, sizeof *items, err);
    for (size_t i = 0; items && i < edits->count; i++) {
        items[i] = edits->items[i];
        for (const char *at; items[i] && (at = find_braces(items[i], name));)
            items[i] = arena_format(arena, err, "%.*s%s%s", (int)(at - items[i]), items[i], value,
                                    at + strlen(name) + 2);
        if (!items[i])
            return -1;
    }
    edits->items = items;
    return items ? 0 : -1;
}

static int check_name(const struct sweep *sweep, const char *name, struct err *err)
{
    bool in_edits = is_in_edits(sweep, name);
    const struct texts *edits = &sweep->options->edit.edits;
    const struct option_row *row = option_find(sweep->options->set, name, strlen(name));
    for (size_t i = 0, size = 0; !in_edits && !row && i < edits->count; i++) {
        const char *wanted = edit_name(&size, edits->items[i]);
        if (wanted)
            return err_usage(err,
                             "expected an option, or a name of --edit such as {%.*s}, found '%s'",
                             (int)size, wanted, name);
    }
    if (!in_edits && !row)
        return option_refuse(sweep->options->set, name, strlen(name), err);
    if (!in_edits && row->flags & OPTION_UNSWEPT)
        return err_usage(err, "expected an option that may differ between settings, found '%s'",
                         name);
    return sweep_has(sweep, name) ? err_usage(err, "expected each %s once, found '%s' twice",
                                              in_edits ? "name" : "option", name)
                                  : 0;
}

/* Read the NAME=LIST of a sweep, such as head=0-3,7 or, for numbers, s=-3:3:0.5. */
static int parse_sweep(struct sweep *sweep, const char *text, struct arena *arena, struct err *err)
{
    struct swept_option *swept = &sweep->items[sweep->count];
    size_t name_size = strcspn(text, "=");
    if (!text[name_size] || !text[name_size + 1] || !name_size)
        return err_usage(err, "--sweep: expected NAME=VALUE,VALUE,…, found '%s'", text);
    swept->name = arena_text(arena, text, name_size, err);
    if (!swept->name || check_name(sweep, swept->name, err))
        return err_prefix(err, "--sweep");
    const struct option_row *row = option_find(sweep->options->set, text, name_size);
    bool of_heads = strcmp(swept->name, "ablate") == 0;
    bool is_number = !row || row->kind == OPTION_NUMBER || row->kind == OPTION_REAL;
    for (const char *at = text + name_size; *at;) {
        /* size of a value, up to a comma outside brackets: 'v[head=1,token=2] = 0' */
        size_t size = 0;
        at++;
        for (bool inside = false; at[size] && (inside || at[size] != ','); size++)
            inside = at[size] == '[' || (inside && at[size] != ']');
        const char *value = arena_text(arena, at, size, err);
        int added = value && is_number ? add_steps(&swept->values, value, arena, err) : 1;
        if (!value || added < 0 ||
            (added && add_values(&swept->values, value, of_heads, arena, err)))
            return err_prefix(err, "--sweep %s", swept->name);
        at += size;
    }
    sweep->count++;
    return 0;
}

int sweep_read(struct sweep *sweep, const struct options *options, struct arena *arena,
               struct err *err)
{
    const struct texts *texts = &options->batch.sweeps;
    *sweep = (struct sweep){.options = options, .settings = 1};
    sweep->items = arena_alloc(arena, texts->count + 2, sizeof *sweep->items, err);
    if (!sweep->items || models_read(&sweep->models, options, arena, err))
        return -1;
    sweep->of_models = sweep->models.count > 1;
    if (sweep->of_models)
        sweep->items[sweep->count++].name = "model";
    for (size_t i = 0; sweep->of_models && i < sweep->models.count; i++)
        if (add_value(&sweep->items->values, sweep->models.items[i], arena, err))
            return err_prefix(err, "--model");
    for (size_t i = 0; i < texts->count; i++)
        if (parse_sweep(sweep, texts->items[i], arena, err))
            return -1;
    if (options->batch.repeat > 1)
        sweep->items[sweep->count++] =
            (struct swept_option){.name = "repeat", .values.count = (size_t)options->batch.repeat};
    for (size_t i = 0; i < sweep->count; i++)
        if (!num_multiply(&sweep->settings, sweep->settings, sweep->items[i].values.count) ||
            sweep->settings > SETTINGS_MAX)
            return err_usage(err, "--sweep, --repeat: expected at most %d settings, found more",
                             SETTINGS_MAX);
    return 0;
}

/* The label of ablated heads, such as L0H10 or L0H1+L0H2: data frames would read 0.10 as the number
 * 0.1. */
static const char *label_heads(const char *value, struct arena *arena, struct err *err)
{
    struct buf label = {0};
    for (const char *at = value; *at; at += *at == '+') {
        size_t size = strcspn(at, "+");
        const char *dot = memchr(at, '.', size);
        int before = (int)(dot ? dot - at : 0), after = (int)size - before - (dot != NULL);
        buf_format(&label, dot ? "%sL%.*sH%.*s" : "%s%.*s%.*s", at == value ? "" : "+", before, at,
                   after, dot ? dot + 1 : at);
        at += size;
    }
    return buf_keep(&label, arena, err);
}

/* --- one setting ------------------------------------------------------------------------------ */

int sweep_set(struct sweep *sweep, size_t setting, struct options *options, struct arena *arena,
              struct err *err)
{
    *options = *sweep->options;
    if (sweep->models.count == 1) /* --model may be a pattern with a single match */
        options->model.name = sweep->models.items[0];
    for (size_t i = sweep->count; i-- > 0; setting /= sweep->items[i].values.count) {
        struct swept_option *swept = &sweep->items[i];
        size_t index = setting % swept->values.count;
        swept->value = swept->values.items ? swept->values.items[index]
                                           : arena_format(arena, err, "%zu", index);
        if (!swept->value)
            return -1;
        bool of_heads = strcmp(swept->name, "ablate") == 0;
        swept->label = of_heads ? label_heads(swept->value, arena, err) : swept->value;
        if (!swept->label)
            return -1;
    }
    for (size_t i = 0; i < sweep->count; i++) {
        const struct swept_option *swept = &sweep->items[i];
        bool in_edits = is_in_edits(sweep, swept->name);
        options->edit.are_swept |= in_edits || name_is_among("edit ablate", swept->name);
        if (!swept->values.items) {
            options->mechanism.seed += strtoll(swept->value, NULL, 10);
            continue;
        }
        if (in_edits) {
            if (set_in_edits(&options->edit.edits, swept->name, swept->value, arena, err))
                return -1;
            continue;
        }
        char *value = arena_text(arena, swept->value, strlen(swept->value), err), *at = value;
        while (at && strcmp(swept->name, "ablate") == 0 && (at = strchr(at, '+')))
            *at = ','; /* --ablate takes a comma between heads */
        if (!value || options_set(options, swept->name, value, arena, err))
            return err_prefix(err, "--sweep %s", swept->name);
    }
    return 0;
}

/* --- models ----------------------------------------------------------------------------------- */

int compare_by_numbers(const void *a, const void *b)
{
    static const char digits[] = "0123456789";
    const char *one = *(const char *const *)a;
    const char *other = *(const char *const *)b;
    size_t same = 0;
    while (one[same] && one[same] == other[same])
        same++;
    bool inside = same && isdigit((unsigned char)one[same - 1]);
    size_t size = strspn(one + same, digits), other_size = strspn(other + same, digits);
    return size != other_size && (inside || (size && other_size)) ? (size < other_size ? -1 : 1)
                                                                  : strcmp(one, other);
}

/* Add the directories that match a pattern, in the order of the numbers in their names. */
static int add_pattern(struct texts *found, const char *pattern, struct arena *arena,
                       struct err *err)
{
    glob_t paths = {0};
    size_t count = found->count;
    int failed = glob(pattern, GLOB_ERR | GLOB_NOSORT, NULL, &paths);
    if (failed && failed != GLOB_NOMATCH)
        return err_set(err, "--model '%s': cannot read the folders: %s", pattern, strerror(errno));
    failed = 0;
    if (paths.gl_pathc)
        qsort(paths.gl_pathv, paths.gl_pathc, sizeof *paths.gl_pathv, compare_by_numbers);
    for (size_t i = 0; i < paths.gl_pathc && !failed; i++) {
        const char *path = arena_text(arena, paths.gl_pathv[i], strlen(paths.gl_pathv[i]), err);
        failed = !path || (file_is_directory(path) && texts_add(found, path, arena, err));
    }
    globfree(&paths);
    if (!failed && found->count == count)
        failed = err_set(err, "--model: expected folders that match '%s', found none", pattern);
    return err_if(failed);
}

int models_read(struct texts *models, const struct options *options, struct arena *arena,
                struct err *err)
{
    const struct texts *names = &options->model.names;
    *models = (struct texts){0};
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        bool is_pattern = name[strcspn(name, "*?[")] && !file_is_directory(name);
        if ((is_pattern ? add_pattern : texts_add)(models, name, arena, err))
            return -1;
    }
    return 0;
}

int model_blame(const char *name, struct err *err)
{
    if (err->about == ERR_ABOUT_WORD)
        err->about = ERR_ABOUT_ANYTHING;
    bool named = err->text[0] == '\'' && strncmp(err->text + 1, name, strlen(name)) == 0;
    return named ? -1 : err_prefix(err, "'%s'", name);
}

/* --- shards ----------------------------------------------------------------------------------- */

/* Read a number from an environment variable. -1: the variable is not set, or is invalid (with
 * `err`). */
static long long parse_variable(const char *name, struct err *err)
{
    const char *text = getenv(name);
    long long number = -1;
    if (text && *text && !num_parse_integer(text, 0, INT_MAX, &number))
        err_usage(err, "--shard auto: expected a number in %s, found '%s'", name, text);
    return number;
}

/* Find the shard of this process: the index of the array task, the rank of MPI or srun, or the rank
 * within an array task. */
static int find_shard(struct job_shard *shard, struct err *err)
{
    static const char *const ranks[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    long long task = parse_variable("SLURM_ARRAY_TASK_ID", err);
    long long first = parse_variable("SLURM_ARRAY_TASK_MIN", err);
    long long last = parse_variable("SLURM_ARRAY_TASK_MAX", err);
    long long step = parse_variable("SLURM_ARRAY_TASK_STEP", err);
    long long count = -1, rank = -1;
    size_t way = 0;
    for (; way < sizeof ranks / sizeof *ranks && count < 0; way++) {
        count = parse_variable(ranks[way][0], err);
        rank = parse_variable(ranks[way][1], err);
    }
    if (task < 0 && count < 0)
        err_usage(err, "--shard auto: expected SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK "
                       "or those of srun in the environment, found none");
    else if (task >= 0 && (first < 0 || task < first || task > last))
        err_usage(err,
                  "--shard auto: expected SLURM_ARRAY_TASK_ID from SLURM_ARRAY_TASK_MIN to "
                  "SLURM_ARRAY_TASK_MAX, found %lld, %lld and %lld (-1: not set)",
                  task, first, last);
    else if (count >= 0 && (rank < 0 || rank >= count))
        err_usage(err, "--shard auto: expected %s below %s, found %lld and %lld (-1: not set)",
                  ranks[way - 1][1], ranks[way - 1][0], rank, count);
    step = step < 1 ? 1 : step;
    *shard = (struct job_shard){0, 1};
    if (task >= 0)
        *shard = (struct job_shard){(size_t)((task - first) / step),
                                    (size_t)((last - first) / step) + 1};
    if (count >= 0)
        *shard = (struct job_shard){shard->index * (size_t)count + (size_t)rank,
                                    shard->count * (size_t)count};
    shard->index++;
    return err_if(err->kind);
}

int shard_read(struct job_shard *shard, const char *text, struct err *err)
{
    static const char *const words[] = {"auto"};
    char guess[NAMES_GUESS_BYTES];
    long long index = 0, count = 0;
    *shard = (struct job_shard){0};
    if (!text)
        return 0;
    if (strcmp(text, words[0]) == 0)
        return find_shard(shard, err);
    size_t size = strcspn(text, "/");
    if (text[size] && num_parse_integer(text + size + 1, 1, SHARDS_MAX, &count) &&
        num_parse_part(text, size, 1, count, &index)) {
        *shard = (struct job_shard){(size_t)index, (size_t)count};
        return 0;
    }
    return err_usage(err, "--shard: expected I/N with I from 1 to N, or auto, found '%s'%s", text,
                     names_guess(guess, names_nearest(NAMES_LIST(words), text, strlen(text))));
}

/* The number of the first job of the shard with this index, from 0. Divide before multiplying: the
 * product of jobs and shards may overflow. */
static size_t shard_begin(const struct job_shard *shard, size_t jobs, size_t index)
{
    return jobs / shard->count * index + jobs % shard->count * index / shard->count;
}

void shard_range(const struct job_shard *shard, size_t jobs, size_t *first, size_t *end)
{
    *first = shard->count ? shard_begin(shard, jobs, shard->index - 1) : 0;
    *end = shard->count ? shard_begin(shard, jobs, shard->index) : jobs;
}

/* --- the figure of a batch -------------------------------------------------------------------- */

static bool is_number(const struct swept_option *swept)
{
    double number = 0;
    for (size_t i = 0; i < swept->values.count; i++)
        if (!swept->values.items || !num_parse_double(swept->values.items[i], -1e9, 1e9, &number))
            return false;
    return true;
}

int dose_begin(struct dose *dose, const struct sweep *sweep, const char *y, struct arena *arena,
               struct err *err)
{
    *dose = (struct dose){.y = y, .sweep = sweep, .lines = 1};
    while (dose->axis < sweep->count && !is_number(&sweep->items[dose->axis]))
        dose->axis++;
    if (dose->axis == sweep->count)
        return err_usage(err,
                         "--format: expected a --sweep of numbers, such as s=-3:3:0.5, for the "
                         "figure of a batch, found none: use a folder (-o DIR/)");
    const struct texts *values = &sweep->items[dose->axis].values;
    dose->points = values->count;
    for (size_t i = 0; i < sweep->count; i++) /* skip repetitions, which are averaged */
        dose->lines *=
            i == dose->axis || !sweep->items[i].values.items ? 1 : sweep->items[i].values.count;
    dose->x = arena_alloc(arena, dose->points, sizeof *dose->x, err);
    dose->sums = arena_alloc(arena, dose->lines * dose->points, sizeof *dose->sums, err);
    dose->counts = arena_alloc(arena, dose->lines * dose->points, sizeof *dose->counts, err);
    for (size_t i = 0; dose->x && i < dose->points; i++)
        num_parse_double(values->items[i], -1e9, 1e9, &dose->x[i]);
    return err_if(err->kind);
}

/* The label of a line, "layer=1, s=2": the values of all swept options but the axis. If there is
 * only one line, the name of the number. */
static const char *line_label(const struct dose *dose, size_t line, struct arena *arena,
                              struct err *err)
{
    struct buf label = {0};
    for (size_t i = dose->sweep->count; i-- > 0;) {
        const struct swept_option *swept = &dose->sweep->items[i];
        if (i == dose->axis || !swept->values.items)
            continue;
        buf_format(&label, "%s%s=%s", label.size ? ", " : "", swept->name,
                   swept->values.items[line % swept->values.count]);
        line /= swept->values.count;
    }
    if (!label.size)
        buf_text(&label, dose->name);
    return buf_keep(&label, arena, err);
}

/* The number of a column in row `row`, where -1 is the last row; if `row` is LLONG_MAX, the mean
 * over all rows that have a number. */
static double number_of(const struct column *column, size_t rows, long long row)
{
    double sum = 0;
    size_t count = 0;
    const long long at = row < 0 ? row + (long long)rows : row;
    for (size_t i = 0; i < rows; i++) {
        const double number = column_number(column, i);
        if (isfinite(number) && (row == LLONG_MAX || (long long)i == at)) {
            sum += number;
            count++;
        }
    }
    return count ? sum / (double)count : NAN;
}

/* Find the column called `name` in a table or, if `name` is NULL, the first column of results that
 * are floating-point numbers. NULL: there is none. */
static const struct column *find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!(column->flags & COLUMN_TEXT_ONLY) &&
            (name ? strcmp(column->name, name) == 0
                  : column->kind == COLUMN_FLOAT && column_is_result(column)))
            return column;
    }
    return NULL;
}

int dose_add(struct dose *dose, const struct report *report, struct err *err)
{
    const char *colon = dose->y ? strchr(dose->y, ':') : NULL;
    char name[SHEET_NAME_BYTES] = "";
    struct nearest nearest;
    long long row = LLONG_MAX;
    if (colon && !num_parse_integer(colon + 1, -1000000, 1000000, &row))
        return err_usage(
            err, "--y: expected NAME or NAME:ROW, such as surprisal_nats:-1, found '%s'", dose->y);
    const size_t size = colon ? (size_t)(colon - dose->y) : dose->y ? strlen(dose->y) : 0;
    if (size)
        memcpy(name, dose->y, num_min(size, sizeof name - 1));
    const struct column *column = NULL;
    size_t rows = 0;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i <= report->table_count && !column; i++) {
        const struct table *table = i < report->table_count ? &report->tables[i] : report->facts;
        if (!table || table->flags & COLUMN_TEXT_ONLY)
            continue;
        column = find_column(table, size ? name : NULL);
        rows = table->rows.size;
        for (size_t k = 0; k < table->count; k++)
            nearest_offer(&nearest, table->columns[k].name);
    }
    if (!column) {
        char guess[NAMES_GUESS_BYTES];
        names_guess(guess, nearest.name);
        return err_usage(err,
                         "--y: expected a column of a table or a fact of the results, found "
                         "%s%s%s%s: --format csv shows them",
                         size ? "'" : "", size ? name : "none", size ? "'" : "", guess);
    }
    const double number = number_of(column, rows, row);
    snprintf(dose->name, sizeof dose->name, "%s", column->name);
    size_t line = 0, point = 0, scale = 1;
    for (size_t i = dose->sweep->count; i-- > 0;) {
        const struct swept_option *swept = &dose->sweep->items[i];
        size_t index = 0;
        while (swept->values.items && strcmp(swept->values.items[index], swept->value) != 0)
            index++;
        if (i == dose->axis)
            point = index;
        else if (swept->values.items) {
            line += index * scale;
            scale *= swept->values.count;
        }
    }
    if (isfinite(number)) {
        dose->sums[line * dose->points + point] += number;
        dose->counts[line * dose->points + point]++;
    }
    return 0;
}

int dose_report(struct report *report, const struct dose *dose, struct arena *arena,
                struct err *err)
{
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {.most = dose->points, .arena = arena, .err = err};
    const char *setting = dose->sweep->items[dose->axis].name;
    size_t *order = arena_alloc(arena, dose->points, sizeof *order, err);
    size_t most = 0;
    for (size_t i = 0; order && i < dose->points; i++) { /* sort the points along the axis */
        size_t at = i;
        for (; at > 0 && dose->x[order[at - 1]] > dose->x[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t i = 0; order && i < dose->points; i++, rows_next(&rows)) {
        const char *x = arena_format(arena, err, "%.6g", dose->x[order[i]]);
        rows_label(&rows, setting, COLUMN_KEY, (struct label){x, x, x});
        for (size_t line = 0; line < dose->lines; line++) {
            const size_t cell = line * dose->points + order[i], count = dose->counts[cell];
            const char *label = line_label(dose, line, arena, err);
            most = num_max(most, count);
            rows_float(&rows, (struct column){label, .title = label, .digits = 4},
                       count ? dose->sums[cell] / (double)count : NAN);
        }
    }
    if (!table || !order || rows_finish(table, &rows, dose->name, setting))
        return -1;
    table->curves = true;
    table->note =
        arena_format(arena, err, "%s by %s%s", dose->name, setting,
                     most > 1 ? arena_format(arena, err, ", mean of %zu results", most) : "");
    report->tables = table;
    report->table_count = 1;
    return table->note ? 0 : -1;
}
