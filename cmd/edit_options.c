/* edit_options.c: --edit, --ablate and --knockout, and the texts that they take values of. */
#include <string.h>

#include "command.h"
#include "items.h"
#include "session.h"

/* Each origin with what gives it, so that neither is there without the other. */
static int check_texts(const struct edit_list *list, const struct edit_options *options,
                       struct err *err)
{
    bool asks_from = list->origins >> EDIT_FROM & 1;
    bool asks_reference = list->origins & (1u << EDIT_MEAN | 1u << EDIT_RESAMPLE);
    if (asks_from && !options->from)
        return err_usage(err, "--edit: '= from' takes values of another text: name it with --from "
                              "(patch: use --over)");
    if (asks_reference && !options->reference)
        return err_usage(err, "--edit: '= mean' and '= resample' take values of other texts: name "
                              "a file of them with --reference");
    if (options->from && !asks_from)
        return err_usage(err, "--from: expected '= from' in an --edit or --ablate, found none");
    if (options->reference && !asks_reference)
        return err_usage(err, "--reference: expected '= mean' or '= resample:SEED' in an --edit "
                              "or --ablate, found none");
    return 0;
}

int edit_options_read(struct edit_list *list, const struct edit_options *options,
                      const struct config *config, struct arena *arena, struct err *err)
{
    const struct texts *const texts[] = {
        [EDIT_WORDS] = &options->edits,
        [EDIT_ABLATION] = &options->ablations,
        [EDIT_KNOCKOUT] = &options->knockouts,
    };
    *list = (struct edit_list){.config = config, .arena = arena};
    for (int form = EDIT_WORDS; form <= EDIT_KNOCKOUT; form++)
        for (size_t i = 0; i < texts[form]->count; i++)
            if (edit_list_add(list, (enum edit_form)form, texts[form]->items[i], err))
                return -1;
    list->config = NULL;
    return edits_check(&list->edits, config, err) || check_texts(list, options, err) ? -1 : 0;
}

/* Ids in place of a text, where the model has no tokenizer. */
static int read_text(struct text_pair *pair, struct input input, const struct options *options,
                     const struct viewer *viewer, struct arena *arena, struct err *err)
{
    const char *text = options->input.source;
    struct input source = {.text = text, .size = text ? strlen(text) : 0};
    if (!viewer->tokenizer && input.text)
        input = (struct input){.ids = arena_text(arena, input.text, input.size, err)};
    if (input_wrap(&input, viewer->chat, arena, err))
        return -1;
    return input.text || input.ids
               ? viewer_read(viewer, pair, &input, text ? &source : NULL, arena, err)
               : -1;
}

/* The texts point into what was opened. */
static int read_reference(struct edit_texts *texts, struct items *items,
                          const struct options *options, const struct viewer *viewer,
                          struct arena *arena, struct err *err)
{
    const struct options file = {.input.file = options->edit.reference};
    int failed = items_open(items, &file, 0, ITEMS_SOME, err);
    struct text_pair *pairs = failed ? NULL : arena_alloc(arena, items->count, sizeof *pairs, err);
    for (size_t i = 0; pairs && i < items->count && !failed; i++) {
        struct item item;
        failed = items_read(items, &item, i, arena, err);
        if (!failed && read_text(&pairs[i], item.input, options, viewer, arena, err))
            failed = items_blame(items, i, err);
    }
    texts->reference = pairs;
    texts->reference_count = items->count;
    return failed || !pairs ? err_prefix(err, "--reference") : 0;
}

int edit_options_fill(struct edit_list *list, const struct options *options, struct viewer *viewer,
                      struct err *err)
{
    struct edit_texts texts = {0};
    struct items items = {.count = 0};
    struct text_pair from;
    const char *text = options->edit.from;
    struct input input = {.text = text, .size = text ? strlen(text) : 0};
    if (!(list->origins & ~(1u << EDIT_NUMBER)))
        return 0;
    int failed = options->edit.reference &&
                 read_reference(&texts, &items, options, viewer, list->arena, err);
    if (!failed && text && read_text(&from, input, options, viewer, list->arena, err))
        failed = err_prefix(err, "--from");
    texts.from = text ? &from : NULL;
    failed = failed || edit_list_fill(list, viewer, &texts, err);
    items_release(&items);
    return failed ? -1 : 0;
}

bool edit_options_are_given(const struct edit_options *options)
{
    return options->edits.count || options->ablations.count || options->knockouts.count;
}

const char *edit_options_of_weights(const struct edit_list *list)
{
    for (size_t i = 0; i < list->edits.count; i++)
        if (site_like(list->items[i].site) == SITE_WEIGHTS)
            return list->items[i].words;
    return NULL;
}

void edit_options_note(const char *words)
{
    if (words)
        print_note("%s: rows of edited weights need not sum to 1", words);
}

int session_edit(struct session *session, struct err *err)
{
    struct edit_list *list = &session->edits;
    struct viewer *viewer = &session->viewer;
    if (edit_options_read(list, &session->options->edit, &viewer->model.config, &session->arena,
                          err) ||
        edit_options_fill(list, session->options, viewer, err))
        return -1;
    viewer->edits = list->edits.count ? &list->edits : NULL;
    edit_options_note(edit_options_of_weights(list));
    return 0;
}
