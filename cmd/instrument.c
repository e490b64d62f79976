#include "instrument.h"

#include <string.h>

#include "command.h"
#include "driver.h"

struct state {
    const struct instrument *instrument;
    bool is_mean;           /* patch --mean texts */
    struct patch_mean mean; /* of the setting that is open */
};

bool instrument_is_of_data(const struct format *format)
{
    return !format_is(format, "text") && !format_is_looked_at(format);
}

/* --- options ---------------------------------------------------------------------------------- */

int inquiry_numbers(struct inquiry *inquiry, struct names names, struct err *err)
{
    const char *list = inquiry->options->select.show;
    inquiry->numbers = instrument_is_of_data(inquiry->format) ? (1u << names.count) - 1 : 1;
    if (!list)
        return 0;
    for (inquiry->numbers = 0;; list++) {
        size_t index = 0;
        size_t size = strcspn(list, ",");
        if (names_choose_item(&index, names, "--show", list, size, err))
            return -1;
        inquiry->numbers |= 1u << index;
        list += size;
        if (!*list)
            return 0;
    }
}

/* One token, or two as ' Mary: John'. */
static int read_answer(struct inquiry *inquiry, const char *option, const char *text,
                       struct arena *arena, struct err *err)
{
    const struct viewer *viewer = inquiry->viewer;
    inquiry->answer = inquiry->against = -1;
    if (!text)
        return 0;
    const char *colon = *text ? strchr(text + 1, ':') : NULL;
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    const char *first = arena_text(arena, text, size, err);
    if (!first || token_option_read(&inquiry->answer, viewer, option, first, arena, err))
        return -1;
    return colon ? token_option_read(&inquiry->against, viewer, option, colon + 1, arena, err) : 0;
}

static int read_position(struct inquiry *inquiry, struct err *err)
{
    const char *position = inquiry->options->attribute.position;
    size_t count = inquiry->pair->sentence.count;
    inquiry->position = count - 1;
    if (!position || selection_index(&inquiry->position, position, strlen(position), count))
        return 0;
    return err_usage(
        err, "--position: expected a place from 0 to %zu (or -%zu to -1 from the end), found '%s'",
        count - 1, count, position);
}

const char *inquiry_describe(const struct inquiry *inquiry, const struct instrument *instrument,
                             struct facts *facts, struct arena *arena, struct err *err)
{
    const struct viewer *viewer = inquiry->viewer;
    const struct label *after = &inquiry->pair->sentence.labels[inquiry->position];
    const char *cap = viewer->model.config.logit_cap > 0 ? instrument->soft_cap : NULL;
    bool differs = inquiry->against >= 0;
    struct label name;
    struct label other = {.text = ""};
    if (label_of_word(&name, viewer->tokenizer, (uint32_t)inquiry->answer, arena, err) ||
        (differs &&
         label_of_word(&other, viewer->tokenizer, (uint32_t)inquiry->against, arena, err)))
        return NULL;
    facts_integer(facts, "answer", inquiry->answer);
    facts_integer(facts, "against", differs ? inquiry->against : COLUMN_MISSING);
    if (cap)
        facts_text(facts, "final_soft_cap", cap);
    facts_integer(facts, "position", (long long)inquiry->position);
    return arena_format(arena, err, "logit %s %s%s%s after %s%s%s%s", differs ? "difference" : "of",
                        name.text, differs ? " - " : "", other.text, after->text, cap ? " (" : "",
                        cap ? cap : "", cap ? " final soft cap)" : "");
}

/* --- tasks ------------------------------------------------------------------------------------ */

static int prepare(void *state, struct driver *driver, struct err *err)
{
    static const struct instrument *const rows[] = {&lens_instrument, &attribute_instrument,
                                                    &patch_instrument};
    struct state *own = state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->task == driver->task)
            own->instrument = rows[i];
    if (format_is(driver->output.format, "html") && driver->output.to_folder)
        return err_usage(err, "--format html: expected a file, found the folder '%s'",
                         driver->output.path);
    const char *mean = driver->options->select.mean;
    own->is_mean = mean && own->instrument == &patch_instrument;
    if (own->is_mean && strcmp(mean, "texts") != 0)
        return err_usage(err, "--mean: expected texts, found '%s'", mean);
    if (own->is_mean) { /* one result for each setting */
        driver->accumulates = true;
        driver->place.count = driver->jobs / driver->items.count;
        driver->place.sentences = 1;
    }
    own->mean.arena = &driver->kept;
    driver->style.two_sided = own->instrument == &patch_instrument;
    driver->output.draws_pages = true;
    return 0;
}

static int ask(const struct state *own, struct inquiry *inquiry, struct arena *arena,
               struct err *err)
{
    const struct options *options = inquiry->options;
    bool of_lens = own->instrument == &lens_instrument;
    const char *answer = of_lens ? options->lens.target : options->attribute.answer;
    inquiry->origin.viewer = inquiry->viewer;
    return read_answer(inquiry, own->instrument->answer, answer, arena, err) ||
                   text_origin_attends(&inquiry->origin, arena, err) ||
                   own->instrument->ask(inquiry, arena, err) ||
                   (inquiry->pair && read_position(inquiry, err))
               ? -1
               : 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct session *session = &driver->session;
    struct inquiry inquiry = {
        .options = session->options, .format = driver->output.format, .viewer = &session->viewer};
    return ask(state, &inquiry, &session->arena, err);
}

/* Lenses make the logits of every layer, and patches about as many tokens as both texts have. */
static void expect(void *state, struct driver *driver, size_t tokens)
{
    const struct state *own = state;
    struct viewer *viewer = &driver->session.viewer;
    bool once = own->instrument == &attribute_instrument;
    size_t steps = once ? tokens : tokens * viewer->model.config.n_layer;
    viewer_expect(viewer, own->instrument == &patch_instrument ? tokens * steps : tokens);
    viewer_expect_steps(viewer, steps);
}

static int read(void *state, struct driver *driver, struct work *work, struct arena *arena,
                struct err *err)
{
    struct inquiry *inquiry = arena_alloc(arena, 1, sizeof *inquiry, err);
    if (!inquiry)
        return -1;
    *inquiry = (struct inquiry){.options = &work->item.options,
                                .format = driver->output.format,
                                .viewer = &driver->session.viewer,
                                .pair = &work->pair,
                                .number = work->index};
    work->own = inquiry;
    return ask(state, inquiry, arena, err);
}

/* One text after the other, by the viewer of the group. Progress of patches counts the patches. */
static int run(void *state, const struct group *group, struct err *err)
{
    const struct state *own = state;
    const struct progress_sink **progress = &group->viewer->machine.progress;
    const struct progress_sink *sink = *progress;
    int failed = 0;
    *progress = NULL;
    for (size_t i = 0; i < group->count && !failed; i++) {
        struct work *work = group->works[i];
        struct inquiry *inquiry = work->own;
        inquiry->viewer = group->viewer;
        inquiry->origin.viewer = group->viewer;
        inquiry->plan.progress = sink;
        failed = own->instrument->find(inquiry, group->arena, err);
        work->report = inquiry->report;
    }
    *progress = sink;
    return failed;
}

static int add(void *state, struct work *work, struct err *err)
{
    struct state *own = state;
    return own->is_mean ? patch_mean_add(&own->mean, work->own, err) : 0;
}

static int end(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    struct report report;
    if (!own->is_mean)
        return 0;
    int failed = patch_mean_report(&report, &own->mean, err) || driver_write(driver, &report, err);
    own->mean = (struct patch_mean){.arena = own->mean.arena};
    return failed;
}

static void note(void *state, const struct work *work)
{
    const struct state *own = state;
    if (own->instrument->note)
        own->instrument->note(work->own);
}

#define TASK(columns)                                                           \
    .fields = columns, .many = ITEMS_SOME, .state_bytes = sizeof(struct state), \
    .prepare = prepare, .open = open, .expect = expect, .read = read, .run = run, .note = note

enum { OF_ANSWER = 1 << ITEM_ANSWER | 1 << ITEM_POSITION };

const struct task lens_task = {TASK(1 << ITEM_TARGET), .takes_source = true,
                               .pages = "attn-cli page --lens", .at_once = true};

const struct task attribute_task = {TASK(OF_ANSWER)};

const struct task patch_task = {TASK(OF_ANSWER | 1 << ITEM_CLEAN | 1 << ITEM_CORRUPT),
                                .parts = "patches", .add = add, .end = end};
