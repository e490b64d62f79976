/* atlas.c: `attn-cli atlas`: measures every head of a model over a corpus, in one pass and bounded
 * memory. Texts run as in `heads`, with the same scores. A callback for rows of attention weights
 * (measure/head_atlas.h) collects examples and pairs of tokens. The corpus is divided into
 * ATLAS_SEGMENTS segments, for any number of shards. The results of each segment are saved in a
 * file, NN.part, at its end and after every STATE_TEXTS texts, for --resume. At the end the files
 * are merged in their order: shards give the same bits as a single run. The first segment contains
 * all texts of the warm-up. A process that begins with a later segment runs the warm-up only to set
 * the intervals, unless it has read the intervals from a file. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "atlas.h"
#include "base/hash.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "model/layer.h"
#include "say.h"

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
           "scores of 'attn-cli heads'; default: its own, and distance-variance",
           .values = &values_scores, .joints = ",", .heading = "Scores"),
    FLAG("baseline", 0, OWN(baseline),
         "also each score on random tokens; as 'attn-cli heads'; doubles the time"),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of samples and random tokens (default: 0)"),
    INTEGER("intervals", 0, "N", OWN(intervals), 1, 100,
            "parts of the texts, by weight (default: 5); divides the texts of each head by their "
            "largest weight into N parts with equal numbers of texts",
            .preset = 5, .heading = "Examples of a head"),
    INTEGER("samples", 0, "N", OWN(samples), 1, 1000,
            "examples of lower intervals (default: 3); of each interval but the highest; of fewer "
            "than 50 texts all are kept",
            .preset = 3),
    INTEGER("top-samples", 0, "N", OWN(top_samples), 1, 1000,
            "examples of the highest interval (default: 10); the examples with the largest weights",
            .preset = 10),
    INTEGER("keys", 0, "N", OWN(keys), 1, ATLAS_KEYS_MAX,
            "weights of a query in an example (default: 8); the N largest", .preset = 8),
    REAL("floor", 0, "W", OWN(floor), 0, 1, "least weight that examples keep (default: 0.005)",
         .preset = 0.005),
    INTEGER("warm-up", 0, "N", OWN(warm_up), 0, 1000000,
            "first texts, which set the intervals; N texts, whose largest weights count; default: "
            "a tenth, from 50 to 2000, as far as 64 MiB hold them"),
    STRING("output", 'o', "DIR/", IN(output.path), "folder to write", .flags = OPTION_PROCESS,
           .heading = "Output"),
    STRING("format", 0, "FORMAT", OWN(format), "atlas or headvis", .values = &values_trees),
    STRING("against", 0, "OTHER/", OWN(against), "another atlas, whose scores the page compares"),
    FLAG("force", 0, IN(output.force), "overwrite existing files in the folder",
         .flags = OPTION_PROCESS),
    STRING("shard", 0, "I/N|auto", IN(batch.shard),
           "process part I of N; N is at most 16; writes DIR.I-of-N/; auto: from Slurm, Open MPI "
           "or PMI variables",
           .values = &values_shards, .flags = OPTION_PROCESS, .heading = "Several machines"),
    FLAG("join", 0, IN(batch.join),
         "write the atlas of the shards; the shards are DIR.*-of-N/; the bytes are the same as "
         "without --shard",
         .flags = OPTION_PROCESS),
    FLAG("resume", 0, IN(batch.resume), "continue an interrupted atlas with the same bits",
         .flags = OPTION_PROCESS),
    {0},
};

static command_verb atlas_command;

const struct command command_atlas = {
    .name = "atlas",
    .heading = "Look",
    .about = "every head over many texts, as a page",
    .operands = "[TEXT]...",
    .most_used = "-f texts.txt\n"
                 "-o atlas/\n"
                 "-m smollm2.gguf\n"
                 "--score all\tscores of 'attn-cli heads'\n"
                 "--baseline\talso each score on random tokens\n"
                 "--against other/\tatlas to compare scores with\n"
                 "--resume\tcontinue an interrupted atlas\n",
    .note = "The atlas is a folder: tables of scores, examples of each head, and index.html.",
    .examples = "attn-cli atlas -f corpus.txt -o atlas/\n"
                "attn-cli atlas -f corpus.txt -o intervals/ --score all --intervals 10\n"
                "attn-cli atlas -f corpus.txt -o headvis/ --format headvis\n"
                "for i in 1 2; do attn-cli atlas -f corpus.txt -o both/ --shard $i/2; done\n"
                "attn-cli atlas -f corpus.txt -o both/ --join\n",
    .run = atlas_command,
    .options = own_options,
    .shared = {text_options, model_options, edit_options},
    .without = "words precision word-column by verbose",
    .draws_folders = true,
};

/* --- the plan --------------------------------------------------------------------------------- */

enum {
    /* a number of texts of at least two tokens. If the corpus has fewer, the atlas keeps all as
     * examples, except for HeadVis. The default warm-up has at least this many, unless the corpus
     * has fewer or they need more than HELD_BYTES. */
    TEXTS_FEW = 50,
    WARM_UP_MAX = 2000,
    WARM_UP_SHARE = 10,
    /* approximate limit, in bytes, for the memory of the texts of the default warm-up */
    HELD_BYTES = 64 << 20,
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
    own->reread.index = SIZE_MAX;
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
    own->atlas.plan.of_headvis = own->is_headvis;
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
    const size_t count = job->pair.text.count;
    (void)arena;
    own->usable += count > 1 && !own->is_counted;
    if (count > ATLAS_TOKENS_MAX)
        return err_set(err, "expected at most %d tokens, found %zu", ATLAS_TOKENS_MAX, count);
    heads_read(&own->heads, driver, job);
    job->memory.held += atlas_text_bytes(&own->atlas, count);
    return 0;
}

/* The number of texts of the warm-up: `given` or, if `given` is 0, a tenth of the texts, but at
 * least TEXTS_FEW and at most WARM_UP_MAX. Except for HeadVis, this default is reduced until the
 * texts fit into HELD_BYTES, and the result is limited to the range from 1 to own->usable. */
static size_t count_warm_up(const struct atlas_state *own, long long given)
{
    const double held = (double)(own->atlas.layers * own->atlas.across * own->atlas.plan.keys) *
                        sizeof(uint32_t) * (double)own->driver->survey.tokens;
    const size_t most =
        own->is_headvis ? SIZE_MAX : (size_t)(HELD_BYTES / held * (double)own->usable);
    const size_t share = num_max(own->usable / WARM_UP_SHARE, TEXTS_FEW);
    const size_t count = given ? (size_t)given : num_min(num_min(share, WARM_UP_MAX), most);
    return own->is_headvis ? count : num_min(num_max(count, 1), own->usable);
}

/* Divide the corpus into segments. The first segment contains the whole warm-up. HeadVis has one
 * segment, since its samples are drawn from the whole corpus. */
static int divide(struct atlas_state *own, struct err *err)
{
    const size_t count = own->driver->items.count, segments = own->is_headvis ? 1 : ATLAS_SEGMENTS;
    for (size_t seen = 0; seen < own->atlas.plan.warm_up && own->warmed < count; own->warmed++) {
        if (atlas_item_read(own, own->warmed, err))
            return -1;
        seen += own->reread.pair.text.count > 1;
    }
    const size_t first = num_max(own->warmed, count / segments);
    own->bounds[1] = first;
    for (size_t i = 2; i <= segments; i++)
        own->bounds[i] = first + (count - first) * (i - 1) / (segments - 1);
    own->bounds[segments] = count;
    own->end_segment = segments;
    return 0;
}

/* After all texts were checked, read the atlas of --against, plan which examples to keep, and
 * divide the corpus into segments. */
static int open_atlas(struct atlas_state *own, struct err *err)
{
    const struct own_options *given = options_own(own->driver->options);
    const bool keeps_all = own->usable < TEXTS_FEW && !own->is_headvis;
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
        .warm_up = count_warm_up(own, given->warm_up),
        .of_headvis = own->is_headvis,
        .seed = (uint64_t)own->driver->options->mechanism.seed,
        .bos = own->is_headvis ? -1 : own->heads.survey.bos,
    };
    return err_if(atlas_open(&own->atlas, own->atlas.layers, own->atlas.across, err) ||
                  head_sums_init(&own->sums, &own->heads.survey, &own->driver->kept, err) ||
                  divide(own, err));
}

/* --- texts ------------------------------------------------------------------------------------ */

int atlas_item_read(struct atlas_state *own, size_t index, struct err *err)
{
    struct atlas_item *reread = &own->reread;
    struct session *session = &own->driver->session;
    if (reread->index == index)
        return 0;
    reread->index = SIZE_MAX;
    arena_clear(&reread->arena);
    if (session_open_item(session, &reread->item, &own->driver->items, index, &reread->arena,
                          err) ||
        session_read_item(session, &reread->item, &reread->pair, &reread->arena, err))
        return -1;
    reread->index = index;
    return 0;
}

const uint32_t *atlas_item_ids(void *context, size_t index, struct err *err)
{
    struct atlas_state *own = context;
    return atlas_item_read(own, index, err) ? NULL : own->reread.pair.text.ids;
}

/* The data of a text while its group runs: the sums of its scores, and its tokens for the atlas. */
struct atlas_job {
    struct head_sums *sums;
    struct atlas_text text;
};

static int run(void *state, const struct group *group, struct err *err)
{
    const struct atlas_state *own = state;
    struct arena *arena = group->arena;
    struct group some = *group; /* a copy that gets only the jobs that this process runs */
    struct atlas_job *jobs = arena_alloc(arena, group->count, sizeof *jobs, err);
    void **watched = arena_alloc(arena, group->count, sizeof *watched, err);
    some.jobs = arena_alloc(arena, group->count, sizeof *some.jobs, err);
    some.count = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct job *job = group->jobs[i];
        const struct tokenized *text = &job->pair.text;
        if (!err->kind && job->index >= own->warmed && job->index < own->first)
            continue;
        if (err->kind)
            return -1;
        jobs[some.count].text =
            (struct atlas_text){.ids = text->ids, .count = text->count, .number = job->index};
        if (atlas_text_init(&jobs[some.count].text, &own->atlas, arena, err))
            return -1;
        watched[some.count] = &jobs[some.count].text;
        some.jobs[some.count++] = job;
    }
    if (some.count && heads_run(&own->heads, &some, watched, err))
        return -1;
    for (size_t i = 0; i < some.count; i++) {
        jobs[i].sums = some.jobs[i]->own;
        some.jobs[i]->own = &jobs[i];
    }
    return 0;
}

/* --- the files of segments -------------------------------------------------------------------- */

static bool is_empty(const struct atlas_state *own, size_t segment)
{
    return own->bounds[segment] == own->bounds[segment + 1];
}

/* Set own->identity, a text that names everything on which the result depends: version, command,
 * corpus and model. */
static int identify(struct atlas_state *own, struct err *err)
{
    const struct driver *driver = own->driver;
    char corpus[SHA256_DIGITS + 1] = "", model[WEIGHTS_SAMPLE_DIGITS + 1];
    if (driver->items.path && file_hash(corpus, driver->items.path, &driver->items.file, err))
        return -1;
    weights_sample_hash(&driver->session.viewer.model.weights, model);
    own->identity =
        arena_format(&own->driver->kept, err, "attn-cli %s atlas%s\ncorpus %s\nmodel %s\n",
                     ATTN_VERSION, driver->options->line, corpus, model);
    return err_if(!own->identity);
}

static const char *path_of_segment(struct atlas_state *own, const char *folder, size_t segment,
                                   struct err *err)
{
    return arena_format(&own->driver->kept, err, "%s%02zu.part", folder, segment + 1);
}

/* Write the results of the current segment to its file. `done`: index of the first item of the
 * corpus that is not finished. */
static int save(struct atlas_state *own, size_t done, struct err *err)
{
    const uint64_t texts = done;
    uint64_t sum = HASH_FNV_BEGIN;
    struct stream out = {0};
    const char *path = path_of_segment(own, own->driver->output.path, own->segment, err);
    if (!path || stream_open_inside(&out, path, true, err))
        return -1;
    out.sum = &sum;
    stream_bytes(&out, own->identity, strlen(own->identity) + 1);
    stream_bytes(&out, &texts, sizeof texts);
    stream_bytes(&out, own->sums.found, head_sums_bytes(&own->heads.survey));
    stream_bytes(&out, own->sums.counts, sizeof own->sums.counts);
    atlas_save(&own->atlas, &out);
    const uint64_t whole = sum;
    stream_bytes(&out, &whole, sizeof whole);
    return stream_commit(&out, err);
}

/* Return the next example of an atlas, NULL after the last. `at` is the position of the iteration
 * and begins as {0, 0}; the order of the examples does not matter. */
static const struct atlas_example *next_example(const struct atlas *atlas, size_t at[2])
{
    const size_t intervals = atlas->plan.intervals;
    for (; at[0] < atlas->layers * atlas->across * intervals; at[0]++, at[1] = 0) {
        const struct atlas_interval *interval =
            &atlas->heads[at[0] / intervals].intervals[at[0] % intervals];
        if (at[1] < interval->count)
            return &interval->items[at[1]++];
    }
    return NULL;
}

/* Check that each example has as many tokens as its text. */
static int check_examples(const struct atlas *atlas, const struct atlas_corpus *corpus,
                          struct atlas_state *own, struct err *err)
{
    struct arena arena = {0};
    const size_t texts = corpus->end - corpus->begin;
    size_t *tokens = arena_alloc(&arena, texts, sizeof *tokens, err), at[2] = {0};
    const struct atlas_example *example = NULL;
    while (tokens && (example = next_example(atlas, at)))
        tokens[example->text - corpus->begin] = 1;
    for (size_t i = 0; i < texts && !err->kind; i++)
        if (tokens[i] && !atlas_item_read(own, corpus->begin + i, err))
            tokens[i] = own->reread.pair.text.count;
    at[0] = at[1] = 0;
    while (!err->kind && (example = next_example(atlas, at)))
        if (example->tokens != tokens[example->text - corpus->begin])
            err_set(err, "tokens of an example: expected the %zu of text %zu, found %zu",
                    tokens[example->text - corpus->begin], example->text + 1, example->tokens);
    arena_release(&arena);
    return err_if(err->kind);
}

/* Read the results of a segment from its file: the scores into own->sums, the examples into
 * `atlas`, and into `*done` the index of the first item that the segment has not finished. */
static int read_segment(size_t *done, struct atlas *atlas, struct atlas_state *own, size_t segment,
                        const struct file *file, struct err *err)
{
    const size_t begin = own->bounds[segment], last = own->bounds[segment + 1];
    const size_t size = strlen(own->identity) + 1;
    const size_t sums = head_sums_bytes(&own->heads.survey), counts = sizeof own->sums.counts;
    const char *at = file->bytes, *end = file->bytes + file->size - sizeof(uint64_t);
    uint64_t texts = 0, whole = 0;
    if (file->size < size || memcmp(at, own->identity, size) != 0)
        return err_set(err, "expected the state of this command, corpus and model, found another: "
                            "--force starts over");
    if (file->size < size + sizeof texts + sums + counts + sizeof whole)
        return err_set(err, "expected a whole state, found a part: --force starts over");
    memcpy(&whole, end, sizeof whole);
    if (hash_fnv(HASH_FNV_BEGIN, file->bytes, file->size - sizeof whole) != whole)
        return err_set(err, "expected the state as it was written, found changed bytes: --force "
                            "starts over");
    at += size;
    memcpy(&texts, at, sizeof texts);
    memcpy(own->sums.found, at + sizeof texts, sums);
    memcpy(own->sums.counts, at + sizeof texts + sums, counts);
    *done = (size_t)texts;
    const struct atlas_corpus corpus = {begin, *done,
                                        own->driver->session.viewer.model.config.vocab_size};
    if (texts <= begin || texts > last)
        err_set(err, "texts: expected a number from %zu to %zu, found %" PRIu64, begin + 1, last,
                texts);
    if (err->kind || atlas_load(atlas, &corpus, at + sizeof texts + sums + counts, end, err) ||
        check_examples(atlas, &corpus, own, err))
        return err->out_of_memory ? -1 : err_append(err, ": --force starts over");
    return 0;
}

static int load(size_t *done, struct atlas *atlas, struct atlas_state *own, size_t segment,
                const char *path, struct err *err)
{
    struct file file = {0};
    const int failed =
        file_map_regular(&file, path, err) ||
        (read_segment(done, atlas, own, segment, &file, err) && err_prefix(err, "'%s'", path));
    file_release(&file);
    return err_if(failed);
}

static bool has_segments(struct atlas_state *own, struct err *err)
{
    bool found = false;
    for (size_t i = 0; i < ATLAS_SEGMENTS && !found; i++) {
        const char *path = path_of_segment(own, own->driver->output.path, i, err);
        found = path && file_exists(path);
    }
    return found;
}

static int remove_segments(struct atlas_state *own, struct err *err)
{
    for (size_t i = 0; i < ATLAS_SEGMENTS; i++) {
        const char *path = path_of_segment(own, own->driver->output.path, i, err);
        if (!path || (file_exists(path) && file_remove(path, err)))
            return -1;
    }
    return 0;
}

/* Clear the results of the current segment, and move on to the next segment that contains texts. */
static void next_segment(struct atlas_state *own)
{
    memset(own->sums.found, 0, head_sums_bytes(&own->heads.survey));
    memset(own->sums.counts, 0, sizeof own->sums.counts);
    atlas_clear(&own->atlas);
    do
        own->segment++;
    while (own->segment < own->end_segment && is_empty(own, own->segment));
}

static int add(void *state, struct job *job, struct err *err)
{
    struct atlas_state *own = state;
    const struct atlas_job *from = job->own;
    const size_t done = job->index + 1;
    /* texts before own->first run only for the warm-up, or not at all: their scores are already
     * saved, or another process saves them */
    if (job->index < own->first) {
        if (from && from->text.count > 1 && atlas_is_warming(&own->atlas))
            atlas_warm(&own->atlas, &from->text);
        return 0;
    }
    head_sums_merge(&own->sums, &own->heads.survey, from->sums);
    if (atlas_add(&own->atlas, &from->text, err))
        return -1;
    const bool is_end = done == own->bounds[own->segment + 1];
    const bool holds = atlas_is_warming(&own->atlas) && !own->is_headvis;
    if ((is_end || (done % STATE_TEXTS == 0 && !holds)) && save(own, done, err))
        return -1;
    if (is_end)
        next_segment(own);
    return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static const struct task atlas_task = {
    .many = ITEMS_SOME,
    .folder = "csv",
    .state_bytes = sizeof(struct atlas_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .at_once = true,
    .run = run,
    .add = add,
};

/* Set own->segment and own->first to where this process begins. With --resume, read the saved
 * results, and skip the items that are finished. */
static int find_begin(struct atlas_state *own, struct err *err)
{
    struct driver *driver = own->driver;
    const bool resumes = driver->options->batch.resume;
    const size_t begin = own->bounds[own->segment];
    size_t done = begin;
    if (own->segment < own->end_segment && is_empty(own, own->segment))
        next_segment(own);
    while (own->segment < own->end_segment) {
        const char *path = path_of_segment(own, driver->output.path, own->segment, err);
        if (!path)
            return -1;
        if (!resumes || !file_exists(path))
            break;
        if (load(&done, &own->atlas, own, own->segment, path, err))
            return -1;
        if (done < own->bounds[own->segment + 1])
            break;
        next_segment(own);
    }
    if (done > begin)
        print_note("%zu of %zu texts skipped: already done", done - begin, driver->end - begin);
    own->first = num_max(done, own->bounds[own->segment]);
    return 0;
}

/* Run the texts of this process. If they begin after the first segment and the intervals are not
 * known yet, run the texts of the warm-up first. */
static int run_texts(struct atlas_state *own, struct err *err)
{
    struct driver *driver = own->driver;
    driver->end = own->bounds[own->end_segment];
    if (find_begin(own, err))
        return -1;
    if (own->segment == own->end_segment)
        return 0;
    const bool warms = own->segment && atlas_is_warming(&own->atlas);
    own->warmed = warms ? own->warmed : 0;
    signals_hint(driver->options->quiet ? ""
                                        : "attn-cli: interrupted: add --resume to the command to "
                                          "continue\n");
    const int failed = driver_run(driver, warms ? 0 : own->first, err);
    signals_hint("");
    return failed;
}

/* Find the file of a segment in the folder of a shard, such as atlas.2-of-4/07.part. Returns its
 * path, or NULL if no shard has the file. */
static const char *find_shard(struct atlas_state *own, size_t segment, struct err *err)
{
    const char *folder = own->driver->output.path, *lacking = NULL;
    struct arena *arena = &own->driver->kept;
    for (struct job_shard shard = {.count = 1}; shard.count <= ATLAS_SEGMENTS; shard.count++) {
        bool has_others = false;
        const char *path = NULL;
        for (shard.index = 1; shard.index <= shard.count; shard.index++) {
            size_t first = 0, end = 0;
            const char *of_shard =
                arena_format(arena, err, "%.*s.%zu-of-%zu/", (int)strlen(folder) - 1, folder,
                             shard.index, shard.count);
            if (!of_shard)
                return NULL;
            shard_range(&shard, ATLAS_SEGMENTS, &first, &end);
            has_others |= file_exists(of_shard);
            path = segment >= first && segment < end ? of_shard : path;
        }
        const char *found = path_of_segment(own, path, segment, err);
        if (!found || file_exists(found))
            return found;
        lacking = has_others ? path : lacking;
    }
    if (lacking)
        err_set(err, "'%s': expected part %zu of %d, found none: run or --resume this shard",
                lacking, segment + 1, ATLAS_SEGMENTS);
    else
        err_set(err, "expected shards, such as '%.*s.1-of-2/', found none: --shard 1/2 makes it",
                (int)strlen(folder) - 1, folder);
    return NULL;
}

/* Read the files of all segments, and merge them in their order into own->atlas and
 * own->heads.sums. */
static int merge_segments(struct atlas_state *own, struct err *err)
{
    struct atlas segment = {.plan = own->atlas.plan};
    int failed = atlas_open(&segment, own->atlas.layers, own->atlas.across, err);
    atlas_clear(&own->atlas);
    for (size_t i = 0; i < own->end_segment && !failed; i++) {
        size_t done = 0;
        if (is_empty(own, i))
            continue;
        const char *path = own->driver->options->batch.join
                               ? find_shard(own, i, err)
                               : path_of_segment(own, own->driver->output.path, i, err);
        failed = !path || load(&done, &segment, own, i, path, err);
        if (!failed && done < own->bounds[i + 1])
            failed = err_set(err, "'%s': expected %zu texts, found %zu: --resume this shard", path,
                             own->bounds[i + 1] - own->bounds[i], done - own->bounds[i]);
        if (failed)
            break;
        head_sums_merge(&own->heads.sums, &own->heads.survey, &own->sums);
        failed = atlas_merge(&own->atlas, &segment, err);
        atlas_clear(&segment);
    }
    atlas_release(&segment);
    return failed;
}

static int write_all(struct atlas_state *own, struct err *err)
{
    struct driver *driver = own->driver;
    int failed = heads_begin(&own->heads, driver, err) || merge_segments(own, err) ||
                 head_result_keep(&own->result, &own->heads.survey, &own->heads.sums,
                                  &driver->session.arena, err) ||
                 (own->is_headvis ? headvis_write : atlas_write)(own, err);
    return err_if(failed || remove_segments(own, err));
}

/* Run the command. With --resume, an atlas is complete, and nothing runs, if its folder has the
 * file that is written last but no files of segments. */
static int run_atlas(struct driver *driver, struct err *err)
{
    struct atlas_state *own = driver->state;
    const struct options *options = driver->options;
    const char *last = own->is_headvis ? "config.json" : "atlas.json";
    const char *path = arena_format(&driver->kept, err, "%s%s", options->output.path, last);
    if (!path || open_atlas(own, err) || identify(own, err))
        return -1;
    if (own->shard.count)
        shard_range(&own->shard, ATLAS_SEGMENTS, &own->segment, &own->end_segment);
    if (options->batch.resume && file_exists(path) && !has_segments(own, err)) {
        print_note("'%s' is there: nothing to resume (--force starts over)", path);
        return 0;
    }
    if (output_open(&driver->output, err) ||
        (!options->batch.resume && remove_segments(own, err)) ||
        (!options->batch.join && run_texts(own, err)))
        return -1;
    return own->shard.count ? 0 : write_all(own, err);
}

static int atlas_command(const struct options *options, struct err *err)
{
    struct driver driver = {.is_batch = false};
    struct options own = *options;
    struct arena arena = {0};
    struct job_shard shard;
    if (options_exclude(options, "resume", "force join", err) ||
        options_exclude(options, "shard", "join", err) ||
        shard_read(&shard, options->batch.shard, err))
        return -1;
    if (output_is_standard(options->output.path))
        return err_usage(err, "--output: expected a folder, such as -o atlas/, found none");
    if (options->model.names.count > 1)
        return err_usage(err, "--model: expected one model, found %zu: --against compares atlases",
                         options->model.names.count);
    if (shard.count > ATLAS_SEGMENTS)
        return err_usage(err, "--shard: expected at most %d shards, found %zu", ATLAS_SEGMENTS,
                         shard.count);
    const char *path = arena_path(&arena, options->output.path, err);
    own.output.path =
        !path         ? NULL
        : shard.count ? arena_format(&arena, err, "%s.%zu-of-%zu/", path, shard.index, shard.count)
                      : arena_format(&arena, err, "%s/", path);
    own.output.force |= options->batch.resume;
    own.batch.shard = NULL; /* the driver must not divide the texts: all shards share one result */
    int failed = !own.output.path || driver_prepare(&driver, &atlas_task, &own, err);
    struct atlas_state *state = driver.state;
    if (!failed) {
        state->shard = shard;
        failed = (state->is_headvis && (shard.count || own.batch.join) &&
                  err_usage(err,
                            "--format headvis: expected no --%s: its samples are drawn in the "
                            "order of all texts",
                            shard.count ? "shard" : "join")) ||
                 driver_check(&driver, err) || run_atlas(&driver, err);
    }
    if (state) {
        atlas_release(&state->atlas);
        arena_release(&state->reread.arena);
    }
    driver_release(&driver);
    arena_release(&arena);
    return err_if(failed);
}
