/* atlas.c: `attn-cli atlas`: every head of a model over a corpus, in one pass and bounded memory.
 *
 * Texts run as those of `heads`, whose scores are the same; a watcher of the rows
 * (measure/head_atlas.h) keeps examples and pairs. After every STATE_TEXTS texts a state is
 * written, from which --resume continues with the same bits.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "atlas.h"
#include "base/hash.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "model/layer.h"

struct own_options {
    const char *format, *score, *against;
    double floor;
    long long intervals, samples, top_samples, keys, warm_up;
    bool baseline;
};

WORDS(trees, "Formats (--format)",
      {"atlas", "tables, examples as lines of JSON, and a page (default)"},
      {"headvis", "the files of HeadVis, by the definitions of its pipeline: of causal models"})

static const struct option_row own_options[] = {
    STRING("score", 0, "LIST", OWN(score),
           "scores as of 'attn-cli heads' (default: its own, and distance-variance)",
           .heading = "Atlas", .values = &values_scores, .joints = ","),
    FLAG("baseline", 0, OWN(baseline),
         "add each score on random tokens, as 'attn-cli heads'; takes as long again"),
    INTEGER("intervals", 0, "N", OWN(intervals), 1, 100,
            "divide the texts of each head by their largest weight into N parts with equal numbers "
            "of texts (default: 5)",
            .preset = 5),
    INTEGER("samples", 0, "N", OWN(samples), 1, 1000,
            "examples of each interval but the highest (default: 3); of fewer than 50 texts all "
            "are kept",
            .preset = 3),
    INTEGER("top-samples", 0, "N", OWN(top_samples), 1, 1000,
            "examples of the highest interval, with the largest weights (default: 10)",
            .preset = 10),
    INTEGER("keys", 0, "N", OWN(keys), 1, ATLAS_KEYS_MAX,
            "largest weights of a query that examples keep (default: 8)", .preset = 8),
    REAL("floor", 0, "W", OWN(floor), 0, 1, "least weight that examples keep (default: 0.005)",
         .preset = 0.005),
    INTEGER("warm-up", 0, "N", OWN(warm_up), 0, 1000000,
            "number of first texts whose largest weights set the intervals (default: a tenth, from "
            "50 to 2000, as far as 64 MiB hold them)"),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of the samples and the random tokens (default: 0)"),
    STRING("output", 'o', "DIR/", IN(output.path), "folder to write", .heading = "Output",
           .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", OWN(format), "atlas or headvis", .values = &values_trees),
    STRING("against", 0, "OTHER/", OWN(against),
           "folder of another atlas, with whose scores the page compares"),
    FLAG("resume", 0, IN(batch.resume), "continue an interrupted atlas with the same bits",
         .flags = OPTION_PROCESS),
    FLAG("force", 0, IN(output.force), "overwrite existing files in the folder",
         .flags = OPTION_PROCESS),
    {0},
};

const struct command command_atlas = {
    .name = "atlas",
    .group = "Analyse",
    .about = "every head over a corpus: scores, examples, a page",
    .operands = "[TEXT]...",
    .examples = "attn-cli atlas -f corpus.txt -o atlas/\n"
                "attn-cli atlas -f corpus.txt -o intervals/ --score all --intervals 10\n"
                "attn-cli atlas -f corpus.txt -o headvis/ --format headvis\n",
    .run = atlas_command,
    .options = own_options,
    .shared = {text_options, model_options, edit_options},
    .without = "words precision word-column by verbose",
};

/* --- the plan --------------------------------------------------------------------------------- */

enum {
    TEXTS_FEW = 50, /* fewer are all kept; also the least warm-up */
    WARM_UP_MAX = 2000,
    WARM_UP_SHARE = 10,
    HELD_BYTES = 64 << 20, /* of the texts of the warm-up, about, unless --warm-up is given */
    STATE_TEXTS = 1000,
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct atlas_state *own = state;
    const struct own_options *given = options_own(driver->options);
    static const struct heads_options none;
    struct heads_options *options = arena_alloc(&driver->kept, 1, sizeof *options, err);
    if (!options)
        return -1;
    *options = none;
    options->baseline = given->baseline;
    options->score = given->score;
    own->driver = driver;
    own->source.index = SIZE_MAX;
    own->against = given->against;
    const struct names trees = {*trees_words, 2, sizeof *trees_words};
    size_t tree = 0;
    if (names_choose(&tree, trees, "--format", given->format, err))
        return -1;
    own->is_headvis = tree == 1;
    if (own->is_headvis && (given->score || given->baseline || given->against))
        return err_usage(err, "--format headvis: expected no --%s: its scores are fixed",
                         given->score      ? "score"
                         : given->baseline ? "baseline"
                                           : "against");
    if (own->is_headvis)
        options->score = "self,previous-token,entropy,distance,distance-variance";
    own->heads.options = options;
    own->heads.accumulates = true;
    if (heads_choose(&own->heads, driver, err) ||
        (!given->score && !score_choose(&own->heads.scores, "--score", "distance-variance", err)))
        return -1;
    own->heads.results =
        (struct head_results){&own->heads.scores, given->baseline, &own->result, 1};
    driver_accumulate(driver, 1);
    return 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct atlas_state *own = state;
    const struct config *config = &driver->session.viewer.model.config;
    if (heads_open(&own->heads, driver, err))
        return -1;
    own->heads.survey.watch = atlas_see;
    own->atlas.plan.has_induction = own->is_headvis;
    own->atlas.plan.keys = (size_t)options_own(driver->options)->keys;
    own->atlas.layers = config->n_layer;
    own->atlas.across = own->heads.survey.across;
    return own->is_headvis && !config->causal
               ? err_unsupported(err,
                                 "--format headvis: expected a causal model, found '%s': "
                                 "--format atlas has its heads",
                                 driver->session.viewer.model.name)
               : 0;
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct atlas_state *own = state;
    const size_t count = job->pair.sentence.count;
    (void)arena;
    own->usable += count > 1 && !own->is_counted;
    if (count > ATLAS_TOKENS_MAX)
        return err_set(err, "expected at most %d tokens, found %zu", ATLAS_TOKENS_MAX, count);
    heads_read(&own->heads, driver, job);
    job->memory.held += atlas_text_bytes(&own->atlas, count);
    return 0;
}

/* Plan the samples, once all texts were checked. */
static int open_atlas(struct atlas_state *own, struct err *err)
{
    const struct own_options *given = options_own(own->driver->options);
    const bool keeps_all = own->usable < TEXTS_FEW && !own->is_headvis;
    const size_t share = num_max(own->usable / WARM_UP_SHARE, TEXTS_FEW);
    const size_t warm_up = given->warm_up ? (size_t)given->warm_up : num_min(share, WARM_UP_MAX);
    if (!own->usable)
        return err_set(err, "expected a text of at least two tokens, found none");
    if (own->against && atlas_read_against(own, &own->driver->kept, err))
        return -1;
    own->is_counted = true;
    own->atlas.plan = (struct atlas_plan){
        .intervals = (size_t)given->intervals,
        .samples = keeps_all ? own->usable : (size_t)given->samples,
        .top_samples = keeps_all ? own->usable : (size_t)given->top_samples,
        .keys = (size_t)given->keys,
        .floor = given->floor,
        .warm_up = own->is_headvis ? warm_up : num_min(warm_up, own->usable),
        .skips_warm_up = own->is_headvis,
        .has_induction = own->is_headvis,
        .seed = (uint64_t)own->driver->options->mechanism.seed,
        .bos = own->is_headvis ? -1 : own->heads.survey.bos,
    };
    return atlas_open(&own->atlas, own->atlas.layers, own->atlas.across, err);
}

/* --- texts ------------------------------------------------------------------------------------ */

int atlas_source_read(struct atlas_state *own, size_t index, struct err *err)
{
    struct atlas_source *source = &own->source;
    struct session *session = &own->driver->session;
    if (source->index == index)
        return 0;
    source->index = SIZE_MAX;
    arena_clear(&source->arena);
    if (session_open_item(session, &source->item, &own->driver->items, index, &source->arena,
                          err) ||
        session_read_item(session, &source->item, &source->pair, &source->arena, err))
        return -1;
    source->index = index;
    return 0;
}

const uint32_t *atlas_source_ids(void *context, size_t index, struct err *err)
{
    struct atlas_state *own = context;
    return atlas_source_read(own, index, err) ? NULL : own->source.pair.sentence.ids;
}

/* A text of a group: its sums, and what the atlas sees of it. */
struct atlas_job {
    struct head_sums *sums;
    struct atlas_text text;
};

static int run(void *state, const struct group *group, struct err *err)
{
    const struct atlas_state *own = state;
    struct arena *arena = group->arena;
    struct atlas_job *jobs = arena_alloc(arena, group->count, sizeof *jobs, err);
    void **watched = arena_alloc(arena, group->count, sizeof *watched, err);
    for (size_t i = 0; i < group->count; i++) {
        const struct tokenized *text = &group->jobs[i]->pair.sentence;
        if (!jobs || !watched ||
            atlas_text_init(&jobs[i].text, &own->atlas, text->ids, text->count,
                            group->jobs[i]->index, arena, err))
            return -1;
        watched[i] = &jobs[i].text;
    }
    if (heads_run(&own->heads, group, watched, err))
        return -1;
    for (size_t i = 0; i < group->count; i++) {
        jobs[i].sums = group->jobs[i]->own;
        group->jobs[i]->own = &jobs[i];
    }
    return 0;
}

static int begin(void *state, struct driver *driver, struct err *err)
{
    struct atlas_state *own = state;
    struct head_survey *survey = &own->heads.survey;
    if (heads_begin(&own->heads, driver, err))
        return -1;
    if (!own->done)
        return 0;
    memcpy(own->heads.sums.found, own->saved.found, head_sums_bytes(survey));
    memcpy(own->heads.sums.counts, own->saved.counts, sizeof own->saved.counts);
    return 0;
}

/* --- the state of an interrupted run ---------------------------------------------------------- */

/* All on which the result depends: version, command, corpus and model. */
static const char *identify(struct atlas_state *own, struct err *err)
{
    const struct driver *driver = own->driver;
    char corpus[SHA256_DIGITS + 1] = "", model[WEIGHTS_SAMPLE_DIGITS + 1];
    if (driver->items.path && file_hash(corpus, driver->items.path, &driver->items.file, err))
        return NULL;
    weights_sample_hash(&driver->session.viewer.model.weights, model);
    return arena_format(&own->driver->kept, err, "attn-cli %s atlas%s\ncorpus %s\nmodel %s\n",
                        ATTN_VERSION, driver->options->line, corpus, model);
}

static int save_state(struct atlas_state *own, size_t done, struct err *err)
{
    const struct head_sums *sums = &own->heads.sums;
    const char *identity = identify(own, err);
    const uint64_t texts = done;
    uint64_t sum = HASH_FNV_BEGIN;
    struct stream out = {0};
    if (!identity || stream_open_inside(&out, own->state_path, true, err))
        return -1;
    out.sum = &sum;
    stream_bytes(&out, identity, strlen(identity) + 1);
    stream_bytes(&out, &texts, sizeof texts);
    stream_bytes(&out, sums->found, head_sums_bytes(&own->heads.survey));
    stream_bytes(&out, sums->counts, sizeof sums->counts);
    atlas_save(&own->atlas, &out);
    const uint64_t whole = sum;
    stream_bytes(&out, &whole, sizeof whole);
    return stream_commit(&out, err);
}

static int load_state(struct atlas_state *own, const struct file *file, struct err *err)
{
    struct arena *arena = &own->driver->kept;
    const char *identity = identify(own, err), *at = file->bytes;
    const size_t size = identity ? strlen(identity) + 1 : 0;
    const size_t sums = head_sums_bytes(&own->heads.survey), counts = sizeof own->saved.counts;
    uint64_t texts = 0, whole = 0;
    if (!identity || head_sums_init(&own->saved, &own->heads.survey, arena, err))
        return -1;
    if (file->size < size || memcmp(at, identity, size) != 0)
        return err_set(err, "expected the state of this command, corpus and model, found another: "
                            "--force starts over");
    const char *end = file->bytes + file->size - sizeof whole;
    if (file->size < size + sizeof texts + sums + counts + sizeof whole)
        return err_set(err, "expected a whole state, found a part: --force starts over");
    memcpy(&whole, end, sizeof whole);
    if (hash_fnv(HASH_FNV_BEGIN, file->bytes, file->size - sizeof whole) != whole)
        return err_set(err, "expected the state as it was written, found changed bytes: --force "
                            "starts over");
    at += size;
    memcpy(&texts, at, sizeof texts);
    memcpy(own->saved.found, at + sizeof texts, sums);
    memcpy(own->saved.counts, at + sizeof texts + sums, counts);
    at += sizeof texts + sums + counts;
    own->done = (size_t)texts;
    return atlas_load(&own->atlas, at, end, err);
}

/* Continue from the state in the folder. Without a state, an atlas that is there is finished. */
static int resume(struct atlas_state *own, bool *is_finished, struct err *err)
{
    struct file file = {0};
    const char *last = own->is_headvis ? "config.json" : "atlas.json";
    const char *folder = own->driver->options->output.path;
    const char *path = arena_format(&own->driver->kept, err, "%s%s", folder, last);
    if (!path)
        return -1;
    if (!file_exists(own->state_path)) {
        *is_finished = file_exists(path);
        if (*is_finished)
            print_note("'%s' is there: nothing to resume (--force starts over)", path);
        return 0;
    }
    int failed = file_map_regular(&file, own->state_path, err) ||
                 (load_state(own, &file, err) && err_prefix(err, "'%s'", own->state_path));
    file_release(&file);
    if (!failed)
        print_note("%zu of %zu texts skipped: already done", own->done, own->driver->items.count);
    return err_if(failed);
}

static int add(void *state, struct job *job, struct err *err)
{
    struct atlas_state *own = state;
    const struct atlas_job *from = job->own;
    head_sums_merge(&own->heads.sums, &own->heads.survey, from->sums);
    if (atlas_add(&own->atlas, &from->text, err))
        return -1;
    const size_t done = job->number + 1;
    return done % STATE_TEXTS == 0 && done < own->driver->items.count ? save_state(own, done, err)
                                                                      : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int end(void *state, struct driver *driver, struct err *err)
{
    struct atlas_state *own = state;
    return err_if(head_result_keep(&own->result, &own->heads.survey, &own->heads.sums,
                                   &driver->session.arena, err) ||
                  (own->is_headvis ? headvis_write : atlas_write)(own, err) ||
                  file_remove(own->state_path, err));
}

static const struct task atlas_task = {
    .many = ITEMS_SOME,
    .folder = "csv",
    .state_bytes = sizeof(struct atlas_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .begin = begin,
    .at_once = true,
    .run = run,
    .add = add,
    .end = end,
};

static int run_texts(struct driver *driver, struct err *err)
{
    struct atlas_state *own = driver->state;
    const struct options *options = driver->options;
    own->state_path = arena_format(&driver->kept, err, "%satlas.state", options->output.path);
    bool is_finished = false;
    if (!own->state_path || open_atlas(own, err) ||
        (options->batch.resume && resume(own, &is_finished, err)))
        return -1;
    if (is_finished)
        return 0;
    signals_hint(options->quiet ? ""
                                : "attn-cli: interrupted: add --resume to the command to "
                                  "continue\n");
    int failed = driver_run(driver, own->done, err);
    signals_hint("");
    return failed;
}

int atlas_command(const struct options *options, struct err *err)
{
    struct driver driver = {.is_batch = false};
    struct options own = *options;
    struct arena arena = {0};
    if (options_exclude(options, "resume", "force", err))
        return -1;
    if (output_is_standard(options->output.path))
        return err_usage(err, "--output: expected a folder, such as -o atlas/, found none");
    if (options->model.names.count > 1)
        return err_usage(err, "--model: expected one model, found %zu: --against compares atlases",
                         options->model.names.count);
    const char *path = arena_path(&arena, options->output.path, err);
    own.output.path = path ? arena_format(&arena, err, "%s/", path) : NULL;
    own.output.force |= options->batch.resume;
    int failed = !own.output.path || driver_prepare(&driver, &atlas_task, &own, err) ||
                 driver_check(&driver, err) || run_texts(&driver, err);
    if (driver.state) {
        atlas_release(&((struct atlas_state *)driver.state)->atlas);
        arena_release(&((struct atlas_state *)driver.state)->source.arena);
    }
    driver_release(&driver);
    arena_release(&arena);
    return err_if(failed);
}
