/* value_tensors.c: what --show takes, and what is shown where it names nothing. */
#include <assert.h>
#include <string.h>

#include "model/site.h"
#include "write/format.h"
#include "catalog.h"

/* --- tensors ---------------------------------------------------------------------------------- */

static const char *heading_of(const struct site_row *row)
{
    if (row->part == PART_CROSS)
        return "In its decoder, as the sentence looks at the source:";
    if (row->part == PART_SOURCE && row != &site_rows[SITE_SOURCE_EMBEDDING])
        return "In an encoder, of the source:";
    return NULL;
}

/* First those that are no tensors; then those of a part stand together, as help prints them. */
static bool site_at(struct value *value, size_t index)
{
    static const struct value words[] = {
        {.name = "all", .about = "all tensors that the model has"},
        {.name = "tokens", .about = "the table of tokens, in a text page"},
    };
    static const enum site_part parts[] = {PART_SENTENCE, PART_SOURCE, PART_CROSS};
    enum { WORDS = sizeof words / sizeof *words, PARTS = sizeof parts / sizeof *parts };
    if (index < WORDS) {
        *value = words[index];
        return true;
    }
    index -= WORDS;
    for (size_t part = 0; part < PARTS; part++) {
        for (size_t site = 0; site < SITE_COUNT; site++) {
            const struct site_row *row = &site_rows[site];
            bool apart = heading_of(row) != NULL;
            if ((apart ? row->part : PART_SENTENCE) != parts[part] || index--)
                continue;
            value->name = row->name;
            value->about = row->about;
            value->heading = heading_of(row);
            return true;
        }
    }
    return false;
}

/* --- what is shown where --show and --layer name nothing -------------------------------------- */

static bool is_usual(const struct format *format)
{
    return strcmp(format_show(format, false), format_show(NULL, false)) == 0 &&
           strcmp(format_show(format, true), format_show(NULL, true)) == 0 &&
           strcmp(format_layer(format), format_layer(NULL)) == 0;
}

/* Formats with a choice of their own, then all others in one; NULL: there are no more. */
static const struct format *default_format(struct value *value, size_t index)
{
    static const struct format others = {.name = "all others"};
    for (size_t i = 0; i < format_count; i++) {
        if (is_usual(&format_rows[i]) || index--)
            continue;
        value->name = format_rows[i].name;
        return &format_rows[i];
    }
    value->name = others.name;
    return index ? NULL : &others;
}

/* "q,k" as a text that can be broken into lines: "q, k". */
static const char *spaced(char text[VALUE_TEXT_BYTES], const char *list)
{
    size_t used = 0;
    for (; *list; list++) {
        assert(used + 3 < VALUE_TEXT_BYTES); /* the tables are ours */
        text[used++] = *list;
        if (*list == ',')
            text[used++] = ' ';
    }
    text[used] = '\0';
    return text;
}

static bool default_at(struct value *value, size_t index)
{
    char plain[VALUE_TEXT_BYTES];
    char encoder[VALUE_TEXT_BYTES];
    const struct format *format = default_format(value, index);
    if (format)
        value_tell(value, "layer %s: %s; with an encoder: %s", format_layer(format),
                   spaced(plain, format_show(format, false)),
                   spaced(encoder, format_show(format, true)));
    return format;
}

static bool layer_default_at(struct value *value, size_t index)
{
    const struct format *format = default_format(value, index);
    value->about = format ? format_layer(format) : NULL;
    return format;
}

const struct value_list value_tensors = {
    .name = "tensors",
    .title = "Tensors",
    .remark = ", in the order of the forward pass",
    .at = site_at,
};

const struct value_list value_defaults = {
    .name = "defaults",
    .title = "What is shown without --show and --layer",
    .at = default_at,
};

const struct value_list value_layer_defaults = {
    .name = "layer_defaults",
    .title = "Without --layer, beside --show",
    .at = layer_default_at,
};
