/* head_materials.c: `attn-cli heads`: pairs of words, needles and weights, on which some scores are
 * measured. */
#include <stdlib.h>
#include <string.h>

#include "format/csv_read.h"
#include "heads.h"
#include "measure/needle.h"

/* A line of a file, less its end; false after the last. */
static bool next_line(struct file *line, const char **at, const char *end)
{
    if (*at == end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *stop = newline ? newline : end;
    *line = file_borrow(*at, (size_t)(stop - *at));
    *at = newline ? newline + 1 : end;
    return true;
}

static bool is_blank(const struct file *line)
{
    for (size_t i = 0; i < line->size; i++)
        if (!strchr(" \t\r", line->bytes[i]) || !line->bytes[i])
            return false;
    return true;
}

static int open_file(struct file *file, const char *path, struct err *err)
{
    if (path && file_map(file, path, err))
        return -1;
    if (path && !file->size)
        return err_set(err, "'%s': expected a line at least, found nothing", path);
    return 0;
}

int head_materials_open(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct file line;
    if (open_file(&job->pairs, options->heads.pairs, err) ||
        open_file(&job->needles, options->heads.needles, err))
        return -1;
    const char *end = job->needles.bytes + job->needles.size;
    for (const char *at = job->needles.bytes; next_line(&line, &at, end);)
        job->needle_count += !is_blank(&line);
    return 0;
}

void head_materials_release(struct heads_job *job)
{
    file_release(&job->pairs);
    file_release(&job->needles);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static int read_word(struct heads_job *job, uint32_t *id, const char *text, size_t line,
                     struct err *err)
{
    struct buf place = {0};
    long long found = 0;
    buf_format(&place, "'%s' line %zu", job->options->heads.pairs, line);
    int failed =
        buf_check(&place, err) || inputs_read_token(&found, &job->session.viewer, place.bytes, text,
                                                    &job->session.arena, err);
    if (failed && err->kind == ERR_USAGE)
        err->kind = ERR_INPUT; /* it is the file's word, and no option's */
    *id = (uint32_t)found;
    buf_release(&place);
    return failed ? -1 : 0;
}

/* A line holds 3 bytes at least: "a,b". */
static int read_pairs(struct heads_job *job, struct circuit_words *words, struct err *err)
{
    struct arena *arena = &job->session.arena;
    const char *path = job->options->heads.pairs;
    struct csv_reader reader = {job->pairs.bytes, job->pairs.bytes + job->pairs.size, 1, ','};
    struct csv_record record;
    size_t room = job->pairs.size / 3 + 1;
    uint32_t *from = arena_alloc(arena, room, sizeof *from, err);
    uint32_t *to = arena_alloc(arena, room, sizeof *to, err);
    uint32_t *among = arena_alloc(arena, 2 * room, sizeof *among, err);
    size_t count = 0;
    if (!from || !to || !among)
        return -1;
    for (;; count++) {
        if (csv_read(&reader, &record, arena, err))
            return err_prefix(err, "'%s'", path);
        if (!record.count)
            break;
        if (record.count != 2)
            return err_set(err,
                           "'%s' line %zu: expected two words with a comma between them, found %zu",
                           path, record.line, record.count);
        if (read_word(job, &from[count], record.fields[0], record.line, err) ||
            read_word(job, &to[count], record.fields[1], record.line, err))
            return -1;
        among[2 * count] = from[count];
        among[2 * count + 1] = to[count];
    }
    if (!count)
        return err_set(err, "'%s': expected a line at least, found none", path);
    *words = (struct circuit_words){.from = from, .to = to, .count = count, .among = among};
    qsort(among, 2 * count, sizeof *among, compare_ids);
    for (size_t i = 0; i < 2 * count; i++)
        if (i == 0 || among[i] != among[i - 1])
            among[words->among_count++] = among[i];
    return 0;
}

/* --- needles ---------------------------------------------------------------------------------- */

static int add_needle(struct heads_job *job, const struct file *line, struct err *err)
{
    struct arena arena = {0};
    struct needle needle;
    struct text_pair pair = {0};
    bool *marked = NULL;
    int failed = needle_read(&needle, line->bytes, line->size, &arena, err);
    struct input input = {.text = failed ? "" : needle.text, .size = failed ? 0 : needle.size};
    failed = failed || viewer_read(&job->session.viewer, &pair, &input, NULL, &arena, err);
    if (!failed && (marked = arena_alloc(&arena, pair.sentence.count, sizeof *marked, err))) {
        needle_mark(marked, &needle, &pair.sentence);
        failed = head_survey_add_needle(&job->survey, &pair.sentence, marked, err);
    }
    arena_release(&arena);
    return failed || !marked ? -1 : 0;
}

static int add_needles(struct heads_job *job, struct err *err)
{
    const char *end = job->needles.bytes + job->needles.size;
    struct file line;
    size_t number = 1;
    for (const char *at = job->needles.bytes; next_line(&line, &at, end); number++) {
        if (is_blank(&line))
            continue;
        if (add_needle(job, &line, err))
            return err_prefix(err, "'%s' line %zu", job->options->heads.needles, number);
        progress_show(&job->progress, ++job->done, job->steps, NULL);
    }
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

static int count_circuits(struct heads_job *job, enum score_material material,
                          const struct circuit_words *words, struct err *err)
{
    uint64_t seed = job->survey.seed;
    job->survey.counts[material] = words->count;
    for (size_t i = 0; i < job->scores.count; i++)
        if (job->scores.items[i].row->material == material &&
            circuits_count(&job->scores.items[i], words, &job->session.viewer, seed, err))
            return -1;
    progress_show(&job->progress, ++job->done, job->steps, NULL);
    return 0;
}

int head_materials_measure(struct heads_job *job, struct err *err)
{
    struct circuit_words words;
    const struct head_survey *survey = &job->survey;
    if (head_survey_needs(survey, OF_PAIRS) &&
        (read_pairs(job, &words, err) || count_circuits(job, OF_PAIRS, &words, err)))
        return -1;
    if (head_survey_needs(survey, OF_WORDS) &&
        (circuits_all_words(&words, &job->session.viewer, survey->seed, &job->session.arena, err) ||
         count_circuits(job, OF_WORDS, &words, err)))
        return -1;
    return head_survey_needs(survey, OF_NEEDLES) ? add_needles(job, err) : 0;
}
