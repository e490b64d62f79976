#include "stimuli.h"

#include <string.h>

#include "text/aligned_text.h"

static size_t count_parts(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == '|';
    return count;
}

size_t regions_count(const struct item *item)
{
    const char *text = item->fields[ITEM_TEXT];
    return text && strchr(text, '|') ? count_parts(text) : 0;
}

/* Append what is before the next mark, without the blanks around it; goes on after the mark. */
static void add_part(struct buf *out, const char **at)
{
    const char *start = *at + strspn(*at, " \t");
    const char *mark = start + strcspn(start, "|");
    const char *end = mark;
    while (end > start && strchr(" \t", end[-1]))
        end--;
    if (out->size && end > start)
        buf_char(out, ' ');
    buf_bytes(out, start, (size_t)(end - start));
    *at = *mark ? mark + 1 : mark;
}

int regions_find(struct regions *regions, const struct item *item, struct arena *arena,
                 struct err *err)
{
    const char *at = item->fields[ITEM_TEXT];
    const char *names = NULL;
    struct buf clean = {0};
    *regions = (struct regions){.count = regions_count(item)};
    for (size_t i = 0; i < item->column_count; i++)
        if (strcmp(item->columns[i].name, "regions") == 0)
            names = item->columns[i].value;
    if (regions->count && names && count_parts(names) != regions->count)
        return err_set(err, "column 'regions': expected %zu names with | between, found %zu",
                       regions->count, count_parts(names));
    regions->items = arena_alloc(arena, regions->count, sizeof *regions->items, err);
    for (size_t i = 0; regions->items && i < regions->count && !err->kind; i++) {
        struct buf name = {0};
        add_part(&clean, &at);
        if (names)
            add_part(&name, &names);
        if (!name.size)
            buf_format(&name, "%zu", i + 1);
        regions->items[i] = (struct region){buf_keep(&name, arena, err), i, clean.size};
    }
    regions->input.size = clean.size;
    regions->input.text = regions->count ? buf_keep(&clean, arena, err) : NULL;
    return regions->items && !err->kind ? 0 : -1;
}

const struct region **regions_of_tokens(const struct regions *regions,
                                        const struct tokenized *sentence, struct arena *arena,
                                        struct err *err)
{
    const struct region **found = arena_alloc(arena, sentence->count, sizeof *found, err);
    const struct region *region = regions->items;
    for (size_t i = 0; found && i < sentence->word_count; i++) {
        const struct word_span *word = &sentence->words[i];
        while (region->end <= word_range(sentence, i).start &&
               region + 1 < regions->items + regions->count)
            region++;
        for (size_t k = 0; k < word->count; k++)
            found[word->first + k] = region;
    }
    return found;
}
