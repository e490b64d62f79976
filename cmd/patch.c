/* patch.c: `attn-cli patch`: which part of a model carries an answer: values of one text's run are
 * put into another's. */
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "instrument.h"
#include "measure/patching.h"
#include "measure/text_origin.h"
#include "output.h"
#include "progress.h"
#include "session.h"

struct job {
    const struct options *options;
    struct session session;
    struct text_pair clean, corrupt;
    struct patching_plan plan;
    struct patching found;
    struct report report;
    struct answer answer;
    unsigned numbers; /* 1 << PATCH_… that are shown */
    struct text_origin origin;
    struct style style;
    struct output output;
    struct place place;
};

/* --- what is asked for ------------------------------------------------------------------------ */

static int read_over(struct job *job, struct err *err)
{
    const char *name = job->options->patch.over;
    size_t index = PATCH_HEADS;
    if (name && names_choose(&index, NAMES(patch_overs, PATCH_OVERS), "--over", name, err))
        return -1;
    if (job->options->input.operands.count)
        return err_usage(err, "expected --clean TEXT and --corrupt TEXT, found '%s' by itself",
                         job->options->input.operands.items[0]);
    job->plan.over = (enum patch_over)index;
    job->plan.noise = job->options->patch.noise;
    if (job->options->patch.noise && job->options->patch.denoise)
        return err_usage(err, "--noise: expected no --denoise beside it: it is the other way");
    bool has_path = job->options->patch.from || job->options->patch.to;
    if (has_path && job->plan.over != PATCH_PATHS)
        return err_usage(err, "--%s: expected --over paths, found '%s'",
                         job->options->patch.from ? "from" : "to", patch_overs[index].name);
    return 0;
}

/* People see the fraction, programs both. */
static int read_numbers(struct job *job, struct err *err)
{
    const char *name = job->options->select.show;
    const struct format *format = job->output.format;
    bool is_data = strcmp(format->name, "text") != 0 && !instrument_is_picture(format);
    size_t index = PATCH_FRACTION;
    job->numbers = is_data ? (1u << PATCH_NUMBERS) - 1 : 1u << PATCH_FRACTION;
    if (!name)
        return 0;
    if (names_choose(&index, NAMES(patch_numbers, PATCH_NUMBERS), "--show", name, err))
        return -1;
    job->numbers = 1u << index;
    return 0;
}

/* `9.6` */
static int read_head(size_t *layer, size_t *head, const char *option, const char *text, size_t size,
                     size_t heads, const struct config *config, struct err *err)
{
    const char *dot = memchr(text, '.', size);
    size_t first = dot ? (size_t)(dot - text) : size;
    if (!dot)
        return err_usage(err, "%s: expected LAYER.HEAD as 9.6, found '%s'", option, text);
    if (!selection_index(layer, text, first, config->n_layer))
        return err_usage(err, "%s: expected a layer from 0 to %zu, found '%.*s'", option,
                         config->n_layer - 1, (int)first, text);
    if (!selection_index(head, dot + 1, size - first - 1, heads))
        return err_usage(err, "%s: expected a head from 0 to %zu, found '%.*s'", option, heads - 1,
                         (int)(size - first - 1), dot + 1);
    return 0;
}

/* `10.0.q`, or `logits` */
static int read_receiver(struct patch_path *path, const char *text, const struct config *config,
                         struct err *err)
{
    static const char *const names[] = {"q", "k", "v"};
    const char *dot = strrchr(text, '.');
    size_t index = 0;
    path->to = SITE_LOGITS;
    if (strcmp(text, "logits") == 0)
        return 0;
    if (!dot || !names_find(&index, NAMES_LIST(names), dot + 1, strlen(dot + 1)))
        return err_usage(err,
                         "--to: expected logits, or LAYER.HEAD and .q, .k or .v, as 10.0.q, "
                         "found '%s'",
                         text);
    path->to = (enum site)(SITE_Q + index);
    return read_head(&path->to_layer, &path->to_head, "--to", text, (size_t)(dot - text),
                     path->to == SITE_Q ? config->n_head : config->n_kv_head, config, err);
}

static int read_path(struct job *job, struct err *err)
{
    const struct config *config = &job->session.viewer.model.config;
    struct patch_path *path = &job->plan.path;
    const char *from = job->options->patch.from;
    const char *to = job->options->patch.to;
    path->has_sender = from;
    if (read_receiver(path, to ? to : "logits", config, err) ||
        (from && read_head(&path->from_layer, &path->from_head, "--from", from, strlen(from),
                           config->n_head, config, err)))
        return -1;
    if (path->to != SITE_LOGITS && path->from_layer >= path->to_layer)
        return err_usage(err,
                         "--to: expected a receiver in a layer after the sender's, %zu, found %zu",
                         path->from_layer, path->to_layer);
    return 0;
}

/* --- the two texts ---------------------------------------------------------------------------- */

static int read_one(struct job *job, struct text_pair *pair, const char *option, const char *text,
                    struct err *err)
{
    struct input input = {.text = text, .size = text ? strlen(text) : 0};
    if (!text)
        return err_usage(err, "expected %s TEXT, found none", option);
    if (job->options->tokens.only_ids)
        input = (struct input){.ids = text};
    return viewer_read(&job->session.viewer, pair, &input, NULL, &job->session.arena, err)
               ? err_prefix(err, "%s", option)
               : 0;
}

static int read_texts(struct job *job, struct err *err)
{
    struct session *session = &job->session;
    if (read_one(job, &job->clean, "--clean", job->options->patch.clean, err) ||
        read_one(job, &job->corrupt, "--corrupt", job->options->patch.corrupt, err) ||
        answer_read(&job->answer, job->options, &session->viewer, &session->arena, err) ||
        answer_position(&job->plan.position, job->options, &job->clean.sentence, err))
        return -1;
    job->plan.viewer = &session->viewer;
    job->origin.viewer = &session->viewer;
    job->plan.clean = &job->clean.sentence;
    job->plan.corrupt = &job->corrupt.sentence;
    job->plan.answer = job->answer.id;
    job->plan.against = job->answer.against;
    session_count_dropped(session, &job->clean, 0);
    session_count_dropped(session, &job->corrupt, 1);
    session_note_dropped(session);
    return 0;
}

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct input_options ids = {.ids = options->tokens.only_ids ? "" : NULL};
    ids.bos = options->input.bos;
    ids.add_special = options->input.add_special;
    if (session_read_options(session, err) || read_over(job, err) || inputs_check_ids(&ids, err) ||
        output_choose(&job->output, &options->output, err) || read_numbers(job, err) ||
        output_check_made(&job->output, err) || looks_read(&job->style, options, err) ||
        session_open(session, err) ||
        viewer_set_mechanism(&session->viewer, &session->mechanism, err) || read_path(job, err) ||
        read_texts(job, err))
        return -1;
    looks_note(&options->looks, job->output.format);
    job->style.two_sided = true;
    job->place = page_place(&options->looks, &job->style);
    return text_origin_attends(&job->origin, &session->arena, err);
}

/* --- what comes of it ------------------------------------------------------------------------- */

/* logit of ␣Mary less ␣John after ␣to: clean 3.5512, corrupt -1.2003; and on a page the corrupt
 * text, where pictures have no room for two. */
static int describe(struct job *job, struct err *err)
{
    struct buf about = {0};
    struct arena *arena = &job->session.arena;
    const struct label *after = &job->clean.sentence.labels[job->plan.position];
    job->answer.id = job->found.answer;
    const char *logit = answer_describe(&job->answer, &job->session.viewer, after, arena, err);
    if (!logit)
        return -1;
    buf_format(&about, "%s: clean %.4f, corrupt %.4f%s", logit, job->found.clean,
               job->found.corrupt, job->plan.noise ? ", into clean" : "");
    if (strcmp(job->output.format->name, "text") == 0) {
        buf_text(&about, " (");
        tokenized_visible(&about, &job->corrupt.sentence);
        buf_char(&about, ')');
    }
    job->report.about = buf_keep(&about, arena, err);
    return job->report.about ? 0 : -1;
}

/* "over": "heads", "answer": 12, …, "clean": 3.5, "corrupt": -1.2, "corrupt_ids": [1, 2] */
static int put_members(struct buf *members, const struct job *job, struct err *err)
{
    const struct tokenized *corrupt = &job->corrupt.sentence;
    struct json_writer json = {.buf = members};
    json_put_text(&json, "over", patch_overs[job->plan.over].name);
    json_put_text(&json, "patched", job->plan.noise ? "clean" : "corrupt");
    answer_put(&json, &job->answer);
    json_put_integer(&json, "position", (long long)job->plan.position);
    json_put_float(&json, "clean", (float)job->found.clean);
    json_put_float(&json, "corrupt", (float)job->found.corrupt);
    json_put_open(&json, "corrupt_ids", '[');
    for (size_t i = 0; i < corrupt->count; i++)
        json_put_integer(&json, NULL, corrupt->ids[i]);
    json_put_close(&json, ']');
    buf_text(members, ", ");
    return buf_check(members, err);
}

/* Beside as many passes over the whole text. */
static void tell_cost(const struct job *job)
{
    const struct patching *found = &job->found;
    size_t patches = found->layers * found->columns;
    if (job->options->verbose)
        print_note("%zu patches in %.3f s: %.2f of %zu whole passes, of %.3f ms each", patches,
                   found->seconds, found->seconds / ((double)patches * found->pass_seconds),
                   patches, 1e3 * found->pass_seconds);
}

static int measure(struct job *job, struct err *err)
{
    struct progress progress;
    struct session *session = &job->session;
    size_t tokens = job->plan.position + 1;
    viewer_expect(&session->viewer, tokens * tokens * session->viewer.model.config.n_layer);
    viewer_expect_steps(&session->viewer, tokens * session->viewer.model.config.n_layer);
    progress_begin_beside(&progress, job->options->output.path, "patches");
    job->plan.progress = &progress.sink;
    job->plan.timed = job->options->verbose;
    int failed = patching_make(&job->found, &job->plan, &session->arena, err) ||
                 patching_report(&job->report, &job->found, job->numbers, &job->origin,
                                 &session->arena, err);
    progress_end(&progress);
    return failed ? -1 : 0;
}

static int write_all(struct job *job, struct err *err)
{
    struct buf members = {0};
    int failed =
        describe(job, err) || put_members(&members, job, err) || output_open(&job->output, err);
    job->place.first_members = members.bytes;
    failed = failed || output_write_made(&job->output, &job->report, &job->place, err) ||
             output_commit(&job->output, err);
    buf_release(&members);
    if (!failed)
        tell_cost(job);
    return failed ? -1 : 0;
}

int patch_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || measure(&job, err) || write_all(&job, err);
    output_discard(&job.output);
    session_release(&job.session);
    return failed ? -1 : 0;
}
