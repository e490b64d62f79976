/* page_words.c: the words of a command line that attends as this one does. */
#include "page_parts.h"

#include <string.h>

/* Those of the model, of texts and of what is shown are the page's to add. */
static const char *const told[] = {"attention",  "mask-method",    "scale",    "temperature",
                                   "dropout",    "without",        "seed",     "source",
                                   "precision",  "no-amx",         "bos",      "add-special",
                                   "no-special", "beyond-context", "edit",     "ablate",
                                   "knockout",   "from",           "reference"};

enum { TOLD = sizeof told / sizeof *told, EDITS = 5 /* the last of them */ };

static int add_value(struct texts *words, const struct option_row *row,
                     const struct options *options, struct arena *arena, struct err *err)
{
    struct buf value = {0};
    settings_value(&value, row, options);
    int failed = buf_check(&value, err);
    const char *text =
        failed ? NULL : arena_text(arena, value.bytes ? value.bytes : "", value.size, err);
    buf_release(&value);
    return !text || texts_add(words, text, arena, err) ? -1 : 0;
}

static int add_option(struct texts *words, const struct option_row *row,
                      const struct options *options, struct arena *arena, struct err *err)
{
    const struct texts *list = (const void *)((const char *)options + row->offset);
    const char *name = arena_format(arena, err, "--%s", row->name);
    if (!name)
        return -1;
    if (row->kind != OPTION_TEXTS)
        return texts_add(words, name, arena, err) ||
                       (row->kind != OPTION_FLAG && add_value(words, row, options, arena, err))
                   ? -1
                   : 0;
    for (size_t i = 0; i < list->count; i++)
        if (texts_add(words, name, arena, err) || texts_add(words, list->items[i], arena, err))
            return -1;
    return 0;
}

int page_words_find(struct page_facts *facts, const struct options *options, struct arena *arena,
                    struct err *err)
{
    struct texts words = {0};
    for (size_t i = 0; i < TOLD; i++) {
        if (i == TOLD - EDITS)
            facts->unedited_count = words.count;
        const struct option_row *row = option_find(FOR_PAGE, told[i], strlen(told[i]));
        if (row && options_are_given(options, told[i]) &&
            add_option(&words, row, options, arena, err))
            return -1;
    }
    facts->command = words.items;
    facts->command_count = words.count;
    return 0;
}
