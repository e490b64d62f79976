#include "live/live.h"

#include "base/heap.h"
#include "base/num.h"
#include "draw/page_facts.h"
#include "lens/edit_list.h"
#include "lens/effective.h"
#include "lens/viewer.h"
#include "model/mechanism.h"

enum { CLOSE_NUMBERS = 250000 }; /* that explain the cells of a text: 1.3 MB */

static const char usual[] = "weights";

struct live {
    struct viewer viewer;
    struct arena arena; /* a text's; its memory serves for the next */
};

int live_open(struct live **live, const struct folder *folder, struct err *err)
{
    struct live *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    if (viewer_open_folder(&opened->viewer, folder, 1, err)) {
        heap_free(opened);
        return -1;
    }
    *live = opened;
    return 0;
}

void live_close(struct live *live)
{
    if (!live)
        return;
    viewer_release(&live->viewer);
    arena_release(&live->arena);
    heap_free(live);
}

static int read_edits(struct edit_list *list, const char *words, struct err *err)
{
    if (!words || !*words)
        return 0;
    if (edit_list_add(list, EDIT_WORDS, words, err) || edits_check(&list->edits, list->config, err))
        return -1;
    if (list->origins & ~(1u << EDIT_NUMBER))
        return err_usage(err, "edits: expected numbers, found values of other texts");
    return 0;
}

static int read_selection(struct selection *selection, const char *show, struct live *live,
                          struct err *err)
{
    const struct config *config = &live->viewer.model.config;
    return selection_sites(selection, show ? show : usual, config, err) ||
                   selection_layers(selection, NULL, config, &live->arena, err) ||
                   selection_heads(selection, NULL, config, &live->arena, err)
               ? -1
               : 0;
}

/* What the cells of all heads are explained with, as cmd/page_explained.c has it, unless that is
 * too much for every letter that is typed. */
static int look_closely(const struct report **closer, struct live *live,
                        const struct text_pair *pair, struct err *err)
{
    static const enum site sites[] = {SITE_Q_PRE,   SITE_K_PRE,  SITE_Q,       SITE_K,
                                      SITE_V,       SITE_SCORES, SITE_SOFTMAX, SITE_MASKED,
                                      SITE_WEIGHTS, SITE_CONTEXT};
    const struct config *config = &live->viewer.model.config;
    struct selection selection = {0};
    struct report *report = arena_alloc(&live->arena, 1, sizeof *report, err);
    const struct look look = {&selection, pair, 1, 0, report};
    size_t tokens = pair->sentence.count;
    size_t numbers = config->n_layer * config->n_head * tokens * 5 * (config->d_k + tokens);
    if (!report || read_selection(&selection, NULL, live, err))
        return -1;
    if (numbers > CLOSE_NUMBERS || config->n_encoder_layer)
        return 0;
    selection.sites = 0;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (site_exists(config, sites[i]))
            selection.sites |= site_bit(sites[i]);
    *closer = report;
    return viewer_look(&live->viewer, &look, &live->arena, err);
}

/* The words of a command line that gives the same. */
static int find_words(struct page_facts *facts, const struct live_wish *wish, struct arena *arena,
                      struct err *err)
{
    const char **words = arena_alloc(arena, 4, sizeof *words, err);
    char *temperature = words ? arena_room(arena, NUM_FLOAT_BYTES, 1, err) : NULL;
    if (!temperature)
        return -1;
    if (wish->edits && *wish->edits) {
        words[facts->command_count++] = "--edit";
        words[facts->command_count++] = wish->edits;
    }
    if (wish->temperature > 0) {
        num_float(temperature, wish->temperature);
        words[facts->command_count++] = "--temperature";
        words[facts->command_count++] = temperature;
    }
    facts->command = words;
    return 0;
}

/* Look at a text that was read, and write what is seen. */
static int write_look(struct live *live, struct stream *out, const struct live_wish *wish,
                      const struct selection *selection, const struct text_pair *pair,
                      struct err *err)
{
    struct report report;
    struct page_facts facts = {
        .config = &live->viewer.model.config, .sentence = &pair->sentence, .source = &pair->source};
    struct look look = {.selection = selection, .pairs = pair, .count = 1, .reports = &report};
    if (edits_check_text(live->viewer.edits, &live->viewer.model.config, pair->sentence.count, 0,
                         err) ||
        effective_check(selection, pair->sentence.count, err) ||
        viewer_look(&live->viewer, &look, &live->arena, err) ||
        look_closely(&facts.explained, live, pair, err) ||
        find_words(&facts, wish, &live->arena, err))
        return -1;
    return page_sentence_put(out, &report, true, &facts, err);
}

int live_write(struct live *live, struct stream *out, const struct live_wish *wish, struct err *err)
{
    struct viewer *viewer = &live->viewer;
    struct mechanism mechanism = {.temperature = wish->temperature};
    struct edit_list list = {.config = &viewer->model.config, .arena = &live->arena};
    struct selection selection = {0};
    struct text_pair pair;
    struct input input = {.text = wish->text, .size = wish->size};
    arena_clear(&live->arena);
    if (viewer_set_mechanism(viewer, &mechanism, err) ||
        read_selection(&selection, wish->show, live, err) || read_edits(&list, wish->edits, err) ||
        viewer_read(viewer, &pair, &input, NULL, &live->arena, err))
        return -1;
    viewer->edits = list.edits.count ? &list.edits : NULL;
    int failed = write_look(live, out, wish, &selection, &pair, err);
    viewer->edits = NULL;
    return failed;
}
