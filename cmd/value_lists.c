/* value_lists.c: values of options that several commands have, for help and completions. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "lens/selection.h"
#include "model/config_edit.h"
#include "model/mechanism.h"
#include "model/model.h"
#include "model/new_model.h"
#include "model/site.h"
#include "write/format.h"
#include "write/style.h"

/* --- tables of the library -------------------------------------------------------------------- */

/* Define the list, of `count` values by their `index`. */
#define LIST(list, title, count, name_of, about_of) \
    VALUES_AT(list, count, name_of, about_of)       \
    const struct value_list values_##list = {#list, title, list##_at, NULL};

/* Of the rows of a table. */
#define ROWS(list, title, count, rows) \
    LIST(list, title, count, (rows)[index].name, (rows)[index].about)

ROWS(formats, "Formats", format_count, format_rows)
ROWS(table_formats, NULL, format_count - 1, format_rows) /* html is the last */
ROWS(venues, "Venues, by their style files", venue_count, venue_rows)
ROWS(palettes, "Palettes", palette_count, palette_rows)
LIST(precisions, NULL, PRECISIONS, precision_name((enum precision)index), NULL)
LIST(block_parts, NULL, BLOCK_PARTS, block_part_names[index], NULL)

/* Names with NULL after the last. */
#define PLAIN_NAMES(list, names)                             \
    static bool list##_at(struct value *value, size_t index) \
    {                                                        \
        value->name = (names)[index];                        \
        return value->name;                                  \
    }                                                        \
    const struct value_list values_##list = {#list, NULL, list##_at, NULL};

PLAIN_NAMES(views, style_view_names)
PLAIN_NAMES(cells, style_cells_names)
PLAIN_NAMES(colour_scales, style_scale_names)
PLAIN_NAMES(ranges, style_range_names)
PLAIN_NAMES(masks, figure_mask_names)

VALUES_AT(models, bundled_count, bundled_models[index].path, NULL)
const struct value_list values_models = {"models", "Bundled models", models_at,
                                         "A folder with the same name needs a path: ./tiny"};

static bool attention_at(struct value *value, size_t index)
{
    if (index >= attention_kind_row_count)
        return false;
    const struct attention_kind_row *row = &attention_kind_rows[index];
    value->name = row->name;
    value->end = row->numbers ? ':' : '\0';
    value->argument = row->numbers;
    value->about = row->about;
    return true;
}
const struct value_list values_attention = {"attention", "Attention; + joins patterns",
                                            attention_at, NULL};

static bool keys_at(struct value *value, size_t index)
{
    if (index >= config_key_count)
        return false;
    value->name = config_keys[index].name;
    value->end = '=';
    value->about = config_keys[index].about;
    return true;
}
const struct value_list values_keys = {"keys", "Settings, depending on the type of the model",
                                       keys_at, NULL};

static bool shapes_at(struct value *value, size_t index)
{
    if (index >= shape_count)
        return false;
    const struct shape_row *row = &shape_rows[index];
    value->name = row->name;
    value->about = value->text;
    snprintf(value->text, sizeof value->text, "%zu layers, %zu heads, %zu channels, %zu positions",
             row->n_layer, row->n_head, row->n_embd, row->n_positions);
    return true;
}
const struct value_list values_shapes = {"shapes", "Shapes", shapes_at, NULL};

/* Options that --sweep may vary where a batch does `run`. */
static bool settings_at(struct value *value, size_t index)
{
    struct option_walk walk = {.set = command_set(&command_batch)};
    while (option_next(&walk)) {
        if (!settings_may_vary(walk.row) || index--)
            continue;
        value->name = walk.row->name;
        value->end = '=';
        value->about = walk.row->about;
        return true;
    }
    return false;
}
const struct value_list values_settings = {"settings", NULL, settings_at, NULL};

/* --- words ------------------------------------------------------------------------------------ */

#define SHARED_WORDS(list, title, ...) \
    WORDS_AT(list, __VA_ARGS__)        \
    const struct value_list values_##list = {#list, title, list##_at, NULL};

SHARED_WORDS(specials, NULL, {"auto", "those of the tokenizer (default)"}, {"none", NULL},
             {"bos", "the beginning token"})
SHARED_WORDS(scales, NULL, {"none", "no scale"}, {"sqrt", "divide scores by √d_k"})
SHARED_WORDS(means, NULL, {"heads", "average over heads"}, {"layers", "average over layers"},
             {"texts", "average over texts, by position"})
SHARED_WORDS(colors, NULL, {"auto", "if the terminal has colours"}, {"always", NULL},
             {"never", NULL})
SHARED_WORDS(edits, "Edits", {"SITE = 0", "set a tensor of run --show to 0; h.2.SITE: in layer 2"},
             {"SITE[PLACES] = X",
              "only at some layer, head, token (or query), key or channel: [head=6,token=-1]"},
             {"SITE * X", "multiply by X"},
             {"SITE = mean", "the mean over the texts of --reference, position by position"},
             {"SITE = resample:SEED", "the value in a random text of --reference"},
             {"SITE = from", "the value in the text of --from"},
             {"SITE + FILE.npy", "add an array saved by numpy; = FILE.npy replaces the tensor"})

/* A test compares them with what is shown. */
SHARED_WORDS(defaults, "Default tensors and layers",
             {"text", "layer -1: tokens, weights, context; with an encoder: tokens, enc.weights, "
                      "weights, cross_weights"},
             {"html", "layer all: embedding, weights; with an encoder: embedding, "
                      "source_embedding, enc.weights, weights, cross_weights"},
             {"all others", "layer all: weights; with an encoder: enc.weights, weights, "
                            "cross_weights"})

/* --- tensors ---------------------------------------------------------------------------------- */

static const char *heading_of(const struct site_row *row)
{
    if (site_is_effective((enum site)(row - site_rows)))
        return "Effective attention (not part of all):";
    if (row->part == PART_CROSS)
        return "Cross-attention of a decoder:";
    if (row->part == PART_SOURCE && row != &site_rows[SITE_SOURCE_EMBEDDING])
        return "Encoder:";
    return NULL;
}

/* First words that are no tensors; then the tensors of each part together, as help prints them. */
static bool tensors_at(struct value *value, size_t index)
{
    static const struct value words[] = {
        {.name = "all", .about = "all tensors that the model has"},
        {.name = "tokens", .about = "the table of tokens, in text output"},
    };
    static const enum site_part parts[] = {PART_SENTENCE, PART_SOURCE, PART_CROSS};
    enum { WORDS = sizeof words / sizeof *words, PARTS = sizeof parts / sizeof *parts };
    if (index < WORDS) {
        *value = words[index];
        return true;
    }
    index -= WORDS;
    for (size_t part = 0; part < PARTS; part++) {
        for (size_t site = 0; site < SITE_ALL; site++) {
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

const struct value_list values_tensors = {"tensors", "Tensors, in the order of the forward pass",
                                          tensors_at, NULL};
