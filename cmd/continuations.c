#include "continuations.h"

#include <ctype.h>

/* Where a continuation goes. */
struct gap {
    size_t start, end;    /* bytes of the text that it replaces */
    size_t before, after; /* tokens that stay */
};

/* At the mask token of a text, without blanks that belong to it, or at the end of the text. */
static int find_gap(struct gap *gap, const struct tokenized *text, const struct viewer *viewer,
                    struct err *err)
{
    size_t masks = 0;
    *gap = (struct gap){text->size, text->size, text->count - text->added_after, 0};
    for (size_t i = 0; i < text->count; i++)
        if ((long long)text->ids[i] == viewer->mask && !tokenized_is_added(text, i) && !masks++)
            *gap = (struct gap){text->tokens[i].start, text->tokens[i].end, i, text->count - i - 1};
    while (masks && gap->start < gap->end && isspace((unsigned char)text->text[gap->start]))
        gap->start++;
    while (masks && gap->start < gap->end && isspace((unsigned char)text->text[gap->end - 1]))
        gap->end--;
    return masks > 1 ? err_usage(err,
                                 "--continue: expected one mask token, found %zu: a continuation "
                                 "of several tokens replaces one",
                                 masks)
                     : 0;
}

/* Refuse a text that lacks tokens of the text without the continuation. */
static int check_joined(const struct tokenized *read, const struct tokenized *text,
                        const struct gap *gap, const char *more, struct err *err)
{
    size_t same = 0, end = 0;
    while (same < gap->before && same < read->count && text->ids[same] == read->ids[same])
        same++;
    while (end < gap->after && end < read->count &&
           text->ids[text->count - end - 1] == read->ids[read->count - end - 1])
        end++;
    if (same < gap->before)
        return err_usage(err,
                         "--continue '%s': expected the text's %zu tokens unchanged, found another "
                         "one at %zu: begin the continuation at a token boundary, for example with "
                         "a space",
                         more, gap->before, same);
    if (end < gap->after)
        return err_usage(err,
                         "--continue '%s': expected the text's %zu tokens after the mask token "
                         "unchanged, found others: end the continuation at a token boundary",
                         more, gap->after);
    if (read->count <= gap->before + (gap->after ? gap->after : read->added_after))
        return err_usage(err, "--continue '%s': expected at least one token, found none", more);
    return 0;
}

const struct score_region *continuations_read(struct text_with_source *pairs,
                                              const struct text_with_source *pair,
                                              const struct texts *continuations,
                                              const struct viewer *viewer, struct arena *arena,
                                              struct err *err)
{
    const struct tokenized *text = &pair->sentence;
    struct score_region *parts = arena_alloc(arena, continuations->count, sizeof *parts, err);
    struct gap gap;
    if (!parts || find_gap(&gap, text, viewer, err))
        return NULL;
    for (size_t i = 0; i < continuations->count; i++) {
        struct tokenized *read = &pairs[i].sentence;
        const char *more = continuations->items[i], *joined = more;
        bool is_apart = !gap.start || isspace((unsigned char)text->text[gap.start - 1]);
        while (gap.end < text->size && is_apart && *joined == ' ')
            joined++; /* one blank before it is enough */
        struct buf bytes = {0};
        buf_bytes(&bytes, text->text, gap.start);
        buf_text(&bytes, joined);
        buf_bytes(&bytes, text->text + gap.end, text->size - gap.end);
        struct input whole = {.size = bytes.size};
        whole.text = buf_keep(&bytes, arena, err);
        if (!whole.text || viewer_read(viewer, &pairs[i], &whole, NULL, arena, err) ||
            check_joined(read, text, &gap, more, err))
            return NULL;
        if (text_has_mask(read, viewer)) {
            err_usage(err, "--continue '%s': expected no mask token, found one", more);
            return NULL;
        }
        size_t count = read->count - gap.before - gap.after;
        if (gap.after)
            pairs[i].scored = (struct word_span){gap.before, count};
        pairs[i].source = pair->source;
        pairs[i].prompt_count = gap.after ? 0 : gap.before;
        parts[i] = (struct score_region){more, COLUMN_MISSING, gap.before, count};
    }
    return parts;
}
