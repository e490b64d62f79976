/* patch.c: `attn-cli patch`: which part of a model carries an answer: values of one text's run are
 * put into another's. */
#include <string.h>

#include "command.h"
#include "instrument.h"
#include "output.h"
#include "session.h"

/* --- what is asked of any text ---------------------------------------------------------------- */

static int read_over(struct patching_plan *plan, const struct options *options, struct err *err)
{
    const char *name = options->patch.over;
    size_t index = PATCH_HEADS;
    if (name && names_choose(&index, NAMES(patch_overs, PATCH_OVERS), "--over", name, err))
        return -1;
    plan->over = (enum patch_over)index;
    plan->noise = options->patch.noise;
    if (options->patch.noise && options->patch.denoise)
        return err_usage(err, "--noise: expected no --denoise beside it: it is the other way");
    bool has_path = options->patch.from || options->patch.to;
    if (has_path && plan->over != PATCH_PATHS)
        return err_usage(err, "--%s: expected --over paths, found '%s'",
                         options->patch.from ? "from" : "to", patch_overs[index].name);
    if (plan->over == PATCH_PATHS && edit_options_are_given(&options->edit))
        return err_usage(err, "--over paths: expected no --edit, --ablate or --knockout beside it: "
                              "on a path heads give what they gave; --over heads takes them");
    return 0;
}

/* People see the fraction, programs both. */
static int read_numbers(unsigned *numbers, const struct options *options,
                        const struct format *format, struct err *err)
{
    const char *name = options->select.show;
    bool is_data = !format_is(format, "text") && !format_is_looked_at(format);
    size_t index = PATCH_FRACTION;
    *numbers = is_data ? (1u << PATCH_NUMBERS) - 1 : 1u << PATCH_FRACTION;
    if (!name)
        return 0;
    if (names_choose(&index, NAMES(patch_numbers, PATCH_NUMBERS), "--show", name, err))
        return -1;
    *numbers = 1u << index;
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
    if (!selection_index(head, dot + 1, size - first - 1, heads) && heads < config->n_head)
        return err_usage(err,
                         "%s: expected a key/value head from 0 to %zu, found '%.*s': the model has "
                         "%zu key/value heads, each shared by %zu query heads",
                         option, heads - 1, (int)(size - first - 1), dot + 1, heads,
                         config->n_head / heads);
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
        return err_usage(
            err, "--to: expected logits, or LAYER.HEAD and .q, .k or .v, as 10.0.q, found '%s'",
            text);
    path->to = (enum site)(SITE_Q + index);
    return read_head(&path->to_layer, &path->to_head, "--to", text, (size_t)(dot - text),
                     path->to == SITE_Q ? config->n_head : config->n_kv_head, config, err);
}

static int read_path(struct patching_plan *plan, const struct options *options, struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    struct patch_path *path = &plan->path;
    const char *from = options->patch.from;
    const char *to = options->patch.to;
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

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const struct options *options = question->options;
    struct patching_plan *plan = &question->patching;
    struct answer answer;
    plan->viewer = question->viewer;
    question->origin.viewer = question->viewer;
    if (read_over(plan, options, err) || read_numbers(&question->numbers, options, format, err) ||
        read_path(plan, options, err) ||
        answer_read(&answer, options, question->viewer, arena, err) ||
        text_origin_attends(&question->origin, arena, err))
        return -1;
    plan->answer = answer.id;
    plan->against = answer.against;
    return 0;
}

/* --- what is asked of one --------------------------------------------------------------------- */

static int read_one(struct text_pair *pair, const struct question *question, const char *option,
                    const char *text, struct arena *arena, struct err *err)
{
    const struct options *options = question->options;
    struct input input = {.text = text, .size = text ? strlen(text) : 0};
    if (!text)
        return err_usage(err, "expected %s TEXT, found none", option);
    if (options->tokens.only_ids || options->input.ids)
        input = (struct input){.ids = text};
    return viewer_read(question->viewer, pair, &input, NULL, arena, err)
               ? err_prefix(err, "%s", option)
               : 0;
}

/* The corrupt text stands where other models have a source. */
static int check(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err)
{
    struct text_pair corrupt;
    size_t position = 0;
    if (read_one(&corrupt, question, "--corrupt", question->options->patch.corrupt, arena, err))
        return -1;
    pair->source = corrupt.sentence;
    if (answer_position(&position, question->options, &pair->sentence, err))
        return -1;
    return patching_check_texts(&pair->sentence, &pair->source, err);
}

/* --- what comes of it ------------------------------------------------------------------------- */

/* logit of ␣Mary less ␣John after ␣to: clean 3.5512, corrupt -1.2003 */
static int describe(struct finding *finding, const struct answer *answer, struct arena *arena,
                    struct err *err)
{
    const struct patching *found = &finding->patching;
    const struct label *after = &finding->pair->sentence.labels[finding->position];
    const char *logit = answer_describe(answer, finding->question->viewer, after, arena, err);
    if (logit)
        finding->report.about =
            arena_format(arena, err, "%s: clean %.4f, corrupt %.4f%s", logit, found->clean,
                         found->corrupt, found->plan->noise ? ", into clean" : "");
    return finding->report.about ? 0 : -1;
}

/* "over": "heads", "answer": 12, …, "clean": 3.5, "corrupt": -1.2, "corrupt_ids": [1, 2] */
static int put_members(struct finding *finding, const struct answer *answer, struct arena *arena,
                       struct err *err)
{
    const struct patching *found = &finding->patching;
    const struct tokenized *corrupt = found->plan->corrupt;
    struct buf members = {0};
    struct json_writer json = {.buf = &members};
    json_put_text(&json, "over", patch_overs[found->plan->over].name);
    json_put_text(&json, "patched", found->plan->noise ? "clean" : "corrupt");
    answer_put(&json, answer);
    json_put_integer(&json, "position", (long long)finding->position);
    json_put_float(&json, "clean", (float)found->clean);
    json_put_float(&json, "corrupt", (float)found->corrupt);
    json_put_open(&json, "corrupt_ids", '[');
    for (size_t i = 0; i < corrupt->count; i++)
        json_put_integer(&json, NULL, corrupt->ids[i]);
    json_put_close(&json, ']');
    finding->members = buf_keep(&members, arena, err);
    return finding->members ? 0 : -1;
}

static int find_one(struct finding *finding, const struct question *question,
                    const struct text_pair *pair, struct arena *arena, struct err *err)
{
    struct patching_plan *plan = arena_alloc(arena, 1, sizeof *plan, err);
    *finding = (struct finding){question, pair, .position = 0};
    if (!plan || answer_position(&finding->position, question->options, &pair->sentence, err))
        return -1;
    *plan = question->patching;
    plan->clean = &pair->sentence;
    plan->corrupt = &pair->source;
    plan->position = finding->position;
    if (patching_make(&finding->patching, plan, arena, err) ||
        patching_report(&finding->report, &finding->patching, question->numbers, &question->origin,
                        arena, err))
        return -1;
    bool capped = question->viewer->model.config.logit_cap > 0;
    const struct answer answer = {finding->patching.answer, plan->against, capped ? "after" : NULL};
    return describe(finding, &answer, arena, err) || put_members(finding, &answer, arena, err) ? -1
                                                                                               : 0;
}

static int find(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < look->count; i++)
        if (find_one(&findings[i], question, &look->pairs[i], arena, err))
            return -1;
    return 0;
}

const struct instrument patch_instrument = {FOR_PATCH, JSON_FORMAT("patch"), ask, check, find,
                                            NULL,      instrument_write_line};

/* --- the command ------------------------------------------------------------------------------ */

struct job {
    const struct options *options;
    struct session session;
    struct question question;
    struct text_pair pair;
    struct finding finding;
    struct style style;
    struct output output;
    struct place place;
};

static int read_texts(struct job *job, struct err *err)
{
    struct session *session = &job->session;
    struct text_pair *pair = &job->pair;
    if (read_one(pair, &job->question, "--clean", job->options->patch.clean, &session->arena,
                 err) ||
        check(&job->question, pair, &session->arena, err))
        return -1;
    const struct text_pair corrupt = {.sentence = pair->source};
    session_count_dropped(session, &(struct text_pair){.sentence = pair->sentence}, 0);
    session_count_dropped(session, &corrupt, 1);
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
    job->question = (struct question){.options = options, .viewer = &session->viewer};
    if (options->input.operands.count)
        return err_usage(err, "expected --clean TEXT and --corrupt TEXT, found '%s' by itself",
                         options->input.operands.items[0]);
    if (session_read_options(session, err) || inputs_check_ids(&ids, err) ||
        output_choose(&job->output, &options->output, err) ||
        looks_read(&job->style, options, err) || session_open(session, err) ||
        viewer_set_mechanism(&session->viewer, &session->mechanism, err) ||
        session_edit(session, err) ||
        ask(&job->question, job->output.format, &session->arena, err) ||
        output_check_made(&job->output, err) || read_texts(job, err))
        return -1;
    looks_note_pictures(&options->looks, job->output.format);
    job->style.two_sided = true;
    job->place = page_place(&options->looks, &job->style);
    return 0;
}

static int measure(struct job *job, struct err *err)
{
    struct progress progress;
    struct session *session = &job->session;
    struct patching_plan *plan = &job->question.patching;
    size_t tokens = job->pair.sentence.count;
    viewer_expect(&session->viewer, tokens * tokens * session->viewer.model.config.n_layer);
    viewer_expect_steps(&session->viewer, tokens * session->viewer.model.config.n_layer);
    progress_begin_beside(&progress, job->options->output.path, "patches");
    plan->progress = &progress.sink;
    plan->timed = job->options->verbose;
    int failed = find_one(&job->finding, &job->question, &job->pair, &session->arena, err);
    progress_end(&progress);
    return failed;
}

/* The title of a picture has both texts; on a page the corrupt one follows its logit. */
static int show_corrupt(struct job *job, struct err *err)
{
    struct buf about = {0};
    const char **words = &job->finding.report.about;
    if (!format_is(job->output.format, "text"))
        return 0;
    buf_format(&about, "%s (", *words);
    tokenized_visible(&about, &job->pair.source);
    buf_char(&about, ')');
    *words = buf_keep(&about, &job->session.arena, err);
    return *words ? 0 : -1;
}

static int write_all(struct job *job, struct err *err)
{
    const struct patching *found = &job->finding.patching;
    size_t patches = found->layers * found->columns;
    job->place.document = patch_instrument.document;
    job->place.members = job->finding.members;
    if (show_corrupt(job, err) || output_open(&job->output, err) ||
        output_write_made(&job->output, &job->finding.report, &job->place, err) ||
        output_commit(&job->output, err))
        return -1;
    if (job->options->verbose) /* beside as many passes over the whole text */
        print_note("%zu patches in %.3f s: %.2f of %zu whole passes, of %.3f ms each", patches,
                   found->seconds, found->seconds / ((double)patches * found->pass_seconds),
                   patches, 1e3 * found->pass_seconds);
    return 0;
}

int patch_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || measure(&job, err) || write_all(&job, err);
    output_discard(&job.output);
    session_release(&job.session);
    return failed ? -1 : 0;
}
