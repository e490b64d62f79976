/* instrument.c: lens, attribute and patch as tasks of the driver; the token that the last two ask
 * about. */
#include "instrument.h"

#include <string.h>

#include "command.h"
#include "driver.h"

bool instrument_is_of_data(const struct format *format)
{
    return !format_is(format, "text") && !format_is_looked_at(format);
}

/* --- the answer ------------------------------------------------------------------------------- */

int answer_read(struct answer *answer, const char *option, const char *text,
                const struct viewer *viewer, struct arena *arena, struct err *err)
{
    *answer = (struct answer){-1, -1, NULL};
    if (!text)
        return 0;
    const char *colon = *text ? strchr(text + 1, ':') : NULL;
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    const char *first = arena_text(arena, text, size, err);
    if (!first || token_option_read(&answer->id, viewer, option, first, arena, err))
        return -1;
    return colon ? token_option_read(&answer->against, viewer, option, colon + 1, arena, err) : 0;
}

int answer_position(size_t *index, const struct options *options, const struct tokenized *sentence,
                    struct err *err)
{
    const char *position = options->attribute.position;
    *index = sentence->count - 1;
    if (!position || selection_index(index, position, strlen(position), sentence->count))
        return 0;
    return err_usage(
        err, "--position: expected a place from 0 to %zu (or -%zu to -1 from the end), found '%s'",
        sentence->count - 1, sentence->count, position);
}

const char *answer_describe(const struct answer *answer, const struct viewer *viewer,
                            const struct label *after, struct arena *arena, struct err *err)
{
    struct label name;
    struct label other = {.text = ""};
    bool differs = answer->against >= 0;
    if (label_of_word(&name, viewer->tokenizer, (uint32_t)answer->id, arena, err) ||
        (differs &&
         label_of_word(&other, viewer->tokenizer, (uint32_t)answer->against, arena, err)))
        return NULL;
    return arena_format(arena, err, "logit %s %s%s%s after %s%s%s%s", differs ? "difference" : "of",
                        name.text, differs ? " - " : "", other.text, after->text,
                        answer->cap ? " (" : "", answer->cap ? answer->cap : "",
                        answer->cap ? " final soft cap)" : "");
}

void answer_facts(struct facts *facts, const struct answer *answer, size_t position)
{
    facts_integer(facts, "answer", answer->id);
    facts_integer(facts, "against", answer->against < 0 ? COLUMN_MISSING : answer->against);
    if (answer->cap)
        facts_text(facts, "final_soft_cap", answer->cap);
    facts_integer(facts, "position", (long long)position);
}

/* --- tasks ------------------------------------------------------------------------------------ */

struct state {
    const struct instrument *instrument;
    const struct format *format;
    struct question question; /* of the setting that is open */
};

/* One item's question and finding: its answer, target or second text may be its own. */
struct asked {
    struct question question;
    struct finding finding;
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    static const struct instrument *const rows[] = {&lens_instrument, &attribute_instrument,
                                                    &patch_instrument};
    struct state *own = state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->command == driver->task->command)
            own->instrument = rows[i];
    own->format = driver->output.format;
    if (format_is(own->format, "html") && driver->output.to_folder)
        return err_usage(err, "--format html: expected a file, found the folder '%s'",
                         driver->output.path);
    driver->style.two_sided = own->instrument == &patch_instrument;
    driver->output.draws_pages = true;
    return 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct state *own = state;
    struct session *session = &driver->session;
    own->question = (struct question){.options = session->options, .viewer = &session->viewer};
    return own->instrument->ask(&own->question, own->format, &session->arena, err);
}

static void expect(void *state, struct driver *driver, size_t tokens)
{
    const struct state *own = state;
    if (own->instrument->expect) {
        own->instrument->expect(&driver->session.viewer, &own->question, tokens);
        return;
    }
    viewer_expect(&driver->session.viewer, tokens);
    viewer_expect_steps(&driver->session.viewer, tokens);
}

static int read(void *state, struct driver *driver, struct work *work, struct arena *arena,
                struct err *err)
{
    const struct state *own = state;
    struct asked *asked = arena_alloc(arena, 1, sizeof *asked, err);
    if (!asked)
        return -1;
    asked->question = (struct question){&work->item.options, &driver->session.viewer};
    work->own = asked;
    if (own->instrument->ask(&asked->question, own->format, arena, err))
        return -1;
    return own->instrument->check
               ? own->instrument->check(&asked->question, &work->pair, arena, err)
               : 0;
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
        struct asked *asked = work->own;
        asked->question.viewer = group->viewer;
        asked->question.plan.viewer = group->viewer;
        asked->question.origin.viewer = group->viewer;
        asked->question.patching.progress = sink;
        asked->finding = (struct finding){
            .question = &asked->question, .pair = &work->pair, .number = work->index};
        failed = own->instrument->find(&asked->finding, group->arena, err);
        work->report = asked->finding.report;
    }
    *progress = sink;
    return failed;
}

static void note(void *state, const struct work *work)
{
    const struct asked *asked = work->own;
    const struct state *own = state;
    if (own->instrument->note)
        own->instrument->note(&asked->finding);
}

#define TASK(word, bit, columns)                                                             \
    .name = word, .command = bit, .fields = columns, .many = ITEMS_SOME,                     \
    .state_bytes = sizeof(struct state), .prepare = prepare, .open = open, .expect = expect, \
    .read = read, .run = run, .note = note

const struct task lens_task = {TASK("lens", &command_lens, 1 << ITEM_TARGET), .takes_source = true,
                               .pages = "attn-cli page --lens", .at_once = true};

const struct task attribute_task = {
    TASK("attribute", &command_attribute, 1 << ITEM_ANSWER | 1 << ITEM_POSITION)};

const struct task patch_task = {
    TASK("patch", &command_patch,
         1 << ITEM_CLEAN | 1 << ITEM_CORRUPT | 1 << ITEM_ANSWER | 1 << ITEM_POSITION),
    .parts = "patches"};
