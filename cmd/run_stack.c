/* run_stack.c: `run --stack`: writes one array of all texts, [texts, ...], in place of an array for
 * each text. */
#include "driver.h"
#include "model/site.h"
#include "run.h"

struct stack_state {
    struct run_state run;
    double row_size; /* size of the first text's tensors: in bytes or, with --words, as find_words
                      * computes it; 0: not known yet */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct stack_state *own = state;
    struct output *output = &driver->output;
    if (run_prepare(&own->run, driver, err))
        return -1;
    if (!format_is(output->format, "npy safetensors") || output->to_folder)
        return err_usage(err,
                         "--stack: expected --format npy or safetensors and a file, found %s%s",
                         output->to_folder ? "a folder of " : "", output->format->name);
    if (driver->accumulates)
        return err_usage(err, "--stack and --mean texts cannot be combined");
    driver->identity.stacked = true;
    driver->identity.provenance = NULL; /* rows do not repeat the provenance */
    if (!driver->is_batch)              /* a batch keeps a log, not a file of rows */
        output->rows_path = output_rows_path(output->path, &driver->kept, err);
    return err_if(err->kind);
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct stack_state *own = state;
    return run_open(&own->run, driver, err);
}

/* True if some selected tensor has an axis of keys: its size depends on more than the number of
 * queries. */
static bool have_keys(const struct selection *selection)
{
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        enum site_axes axes = site_axes(site);
        if (axes == AXES_HEAD_QUERY_KEY || axes == AXES_QUERY_KEY ||
            axes == AXES_KV_HEAD_TOKEN_DIM || site_branch(site) == BRANCH_SOURCE)
            return true;
    }
    return false;
}

/* True if rows and columns are means over named positions (--mean regions): all texts then have the
 * same rows and columns. */
static bool is_named(const struct request *request, const struct text_with_source *pair)
{
    const struct tokenized *text = &pair->text;
    return request->derivation.mean_of_regions && text->named_queries.count &&
           (text->named_keys.count || !have_keys(&request->selection)) && !pair->source.count;
}

/* Set `*size` to a number that is the same for texts whose tensors have the same size with --words:
 * it is made from the number of queries and, if tensors have keys, from the number of words. */
static int find_words(double *size, const struct request *request, const struct driver *driver,
                      const struct job *job, struct arena *arena, struct err *err)
{
    struct report report = {.text = job->pair.text, .source = job->pair.source};
    const size_t *queries = NULL;
    size_t count = 0;
    if (derive(&report, &request->derivation, driver->session.viewer.tokenizer, arena, err))
        return -1;
    const struct index_range range = {"--query", "text", "word", report.text.word_count};
    if (selection_indices(&queries, &count, job->pair.text.queries, &range, arena, err))
        return -1;
    *size = 1 + (double)count;
    if (have_keys(&request->selection))
        *size +=
            0x1p20 * (double)report.text.word_count + 0x1p36 * (double)report.source.word_count;
    return 0;
}

/* Read a text. Refused: a text whose tensors differ in size from the first text's, unless --pool or
 * --mean regions gives all texts the same size. */
static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct stack_state *own = state;
    const struct request *request = &own->run.request;
    const bool by_word = request->derivation.words;
    int failed = by_word ? run_estimate(&own->run, driver, job, arena, err)
                         : run_read(&own->run, driver, job, arena, err);
    double size = job->result_bytes;
    if (failed || (by_word && find_words(&size, request, driver, job, arena, err)))
        return -1;
    if (is_named(request, &job->pair))
        return 0;
    own->row_size = own->row_size > 0 ? own->row_size : size;
    return own->row_size == size || request->derivation.pool.by
               ? 0
               : err_usage(err,
                           "--stack: expected tensors of one size for all texts: --pool%s "
                           "makes a vector of each text",
                           have_keys(&request->selection) ? "" : " or --query -1");
}

static int run(void *state, const struct group *group, struct err *err)
{
    struct stack_state *own = state;
    return run_texts(&own->run, group, err);
}

static int finish(void *state, struct driver *driver, struct err *err)
{
    struct stack_state *own = state;
    return run_finish(&own->run, driver, err);
}

const struct task run_stack_task = {
    .many = ITEMS_OR_SOURCE,
    .begins = true,
    .means = MEAN_OF_REGIONS,
    .at_once = true,
    .steps = "layers",
    .state_bytes = sizeof(struct stack_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .run = run,
    .finish = finish,
};
