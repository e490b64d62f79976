/* heads.c: `attn-cli heads`: what every head of a model does, measured on texts and on repeated
 * random tokens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/stream.h"
#include "command.h"
#include "inputs.h"
#include "lens/head_scores.h"
#include "lens/viewer.h"
#include "math/keyed.h"

enum { RANDOM_TEXTS = 16, RANDOM_HALF = 25 };

/* A head and its scores. */
struct row {
    size_t layer, head;
    double scores[SCORES];
    enum score sort; /* SCORES: by layer and head */
};

struct job {
    const struct options *options;
    enum score sort, map; /* SCORES: none */
    bool csv;
    struct viewer viewer;
    struct inputs inputs;
    struct head_scores of_texts, of_repeats;
    struct row *rows;
    size_t row_count, texts;
    struct arena arena;
};

/* --- options --------------------------------------------------------------------------------- */

static int find_score(enum score *score, const char *option, const char *name, struct err *err)
{
    size_t index = SCORES;
    if (name && names_choose(&index, NAMES(score_rows, SCORES), option, name, err))
        return -1;
    *score = (enum score)index;
    return 0;
}

static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const char *format = options->format ? options->format : "text";
    job->csv = strcmp(format, "csv") == 0;
    if (!job->csv && strcmp(format, "text") != 0)
        return err_usage(err, "--format: expected text or csv, found '%s'", format);
    return find_score(&job->sort, "--sort", options->sort, err) ||
                   find_score(&job->map, "--map", options->map, err)
               ? -1
               : 0;
}

/* --- measuring ------------------------------------------------------------------------------- */

static int add_repeats(struct job *job, struct err *err)
{
    uint32_t ids[2 * RANDOM_HALF];
    struct model *model = &job->viewer.model;
    size_t positions = model->config.n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    for (uint64_t text = 0; text < RANDOM_TEXTS; text++) {
        struct sequence sequence = {.ids = ids, .count = 2 * half};
        head_scores_repeat(ids, half, model->config.vocab_size,
                           keyed_next((uint64_t)job->options->seed, text));
        if (head_scores_add(&job->of_repeats, model, &job->viewer.machine, &sequence, err))
            return -1;
    }
    return 0;
}

static int add_text(struct job *job, const struct input *input, struct err *err)
{
    struct arena arena = {0};
    struct subject subject = {0};
    struct sequence sequence = {0};
    uint32_t *ids = NULL;
    int failed = viewer_read(&job->viewer, &subject, input, NULL, &arena, err) ||
                 !(ids = arena_alloc(&arena, subject.sentence.count, sizeof *ids, err));
    for (size_t i = 0; !failed && i < subject.sentence.count; i++)
        ids[i] = subject.sentence.tokens[i].id;
    sequence = (struct sequence){.ids = ids, .count = subject.sentence.count};
    failed = failed || head_scores_add(&job->of_texts, &job->viewer.model, &job->viewer.machine,
                                       &sequence, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int add_texts(struct job *job, struct err *err)
{
    if (inputs_open_any(&job->inputs, job->options, err))
        return -1;
    for (size_t i = 0; i < job->inputs.count; i++)
        if (add_text(job, &job->inputs.items[i], err))
            return inputs_blame(&job->inputs, i, err);
    job->texts = job->inputs.count;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct row *one = a;
    const struct row *other = b;
    if (one->sort < SCORES && one->scores[one->sort] != other->scores[one->sort])
        return one->scores[one->sort] < other->scores[one->sort] ? 1 : -1;
    if (one->layer != other->layer)
        return one->layer < other->layer ? -1 : 1;
    return (one->head > other->head) - (one->head < other->head);
}

static int make_rows(struct job *job, struct err *err)
{
    const struct config *c = &job->viewer.model.config;
    job->row_count = c->n_layer * c->n_head;
    job->rows = arena_alloc(&job->arena, job->row_count, sizeof *job->rows, err);
    for (size_t i = 0; job->rows && i < job->row_count; i++) {
        struct row *row = &job->rows[i];
        *row = (struct row){.layer = i / c->n_head, .head = i % c->n_head, .sort = job->sort};
        for (int score = 0; score < SCORES; score++) {
            bool repeats = !job->texts || score_rows[score].of_repeats;
            row->scores[score] = head_score(repeats ? &job->of_repeats : &job->of_texts, row->layer,
                                            row->head, (enum score)score);
        }
    }
    if (job->rows)
        qsort(job->rows, job->row_count, sizeof *job->rows, compare);
    return job->rows ? 0 : -1;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_clear(struct stream *out, const struct row *row, const char *gap)
{
    for (int score = 0; score < SCORES; score++) {
        const struct score_row *names = &score_rows[score];
        if (!names->clear || !(row->scores[score] >= names->from))
            continue;
        stream_format(out, "%s%s", gap, names->clear);
        gap = ", ";
    }
}

static void write_csv(struct stream *out, const struct job *job)
{
    stream_text(out, "layer,head");
    for (int score = 0; score < SCORES; score++)
        stream_format(out, ",%s", score_rows[score].name);
    stream_char(out, '\n');
    for (size_t i = 0; i < job->row_count; i++) {
        stream_format(out, "%zu,%zu", job->rows[i].layer, job->rows[i].head);
        for (int score = 0; score < SCORES; score++) {
            stream_char(out, ',');
            stream_float(out, (float)job->rows[i].scores[score]);
        }
        stream_char(out, '\n');
    }
}

static void write_table(struct stream *out, const struct job *job)
{
    stream_text(out, "layer  head");
    for (int score = 0; score < SCORES; score++)
        stream_format(out, "  %9s", score_rows[score].heading);
    stream_char(out, '\n');
    for (size_t i = 0; i < job->row_count; i++) {
        stream_format(out, "%5zu  %4zu", job->rows[i].layer, job->rows[i].head);
        for (int score = 0; score < SCORES; score++)
            stream_format(out, "  %9.3f", job->rows[i].scores[score]);
        write_clear(out, &job->rows[i], "  ");
        stream_char(out, '\n');
    }
}

/* Layers × heads; the darkest cell is the largest score, or 1 where none is larger. */
static void write_map(struct stream *out, const struct job *job)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    const struct config *c = &job->viewer.model.config;
    double most = 1;
    for (size_t i = 0; i < job->row_count; i++)
        most = fmax(most, job->rows[i].scores[job->map]);
    stream_format(out, "%s\nlayer", score_rows[job->map].name);
    for (size_t head = 0; head < c->n_head; head++)
        stream_format(out, "  %6zu", head);
    for (size_t i = 0; i < job->row_count; i++) {
        double score = job->rows[i].scores[job->map];
        const char *shade = shades[(int)fmin(4, 5 * score / most)];
        if (job->rows[i].head == 0)
            stream_format(out, "\n%5zu", job->rows[i].layer);
        stream_format(out, "  %s%s%4.2f", shade, shade, score);
    }
    stream_char(out, '\n');
}

static void write_origin(struct stream *out, const struct job *job)
{
    if (job->texts)
        stream_format(out,
                      "\nduplicate, induction: %d texts of repeated random tokens; "
                      "the others: %zu texts given\n",
                      RANDOM_TEXTS, job->texts);
    else
        stream_format(out, "\nmeasured on %d texts of repeated random tokens\n", RANDOM_TEXTS);
}

static int write_all(struct job *job, struct err *err)
{
    const char *path = job->options->output;
    struct stream out = {0};
    if (!path || strcmp(path, "-") == 0 ? stream_to(&out, STDOUT_FILENO, err)
                                        : stream_open(&out, path, err))
        return -1;
    if (job->csv) {
        write_csv(&out, job);
    } else {
        (job->map < SCORES ? write_map : write_table)(&out, job);
        write_origin(&out, job);
    }
    return stream_commit(&out, err);
}

int heads_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = check_options(&job, err) ||
                 viewer_open(&job.viewer, chosen_model(options), (size_t)options->threads, err);
    const struct config *config = &job.viewer.model.config;
    failed = failed || head_scores_open(&job.of_texts, config, &job.arena, err) ||
             head_scores_open(&job.of_repeats, config, &job.arena, err) || add_repeats(&job, err) ||
             add_texts(&job, err) || make_rows(&job, err) || write_all(&job, err);
    inputs_release(&job.inputs);
    viewer_release(&job.viewer);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
