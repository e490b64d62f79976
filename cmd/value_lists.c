#include "catalog.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure/attribution.h"
#include "measure/patching.h"
#include "bench/benchmark.h"
#include "write/palette.h"
#include "write/style.h"
#include "lens/selection.h"
#include "measure/head_circuits.h"
#include "model/config_edit.h"
#include "model/mechanism.h"
#include "model/model.h"
#include "model/new_model.h"
#include "model/site.h"
#include "explain/explanation.h"
#include "write/format.h"

/* A list of a name for scripts, a title of its part of the help, or NULL, and what follows that. */
#define LIST(list, title, remark) \
    static const struct value_list list_##list = {#list, title, remark, NULL, list##_at};

/* Make what is said of a value, in its own room. */
__attribute__((format(printf, 2, 3))) static void value_tell(struct value *value,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(value->text, sizeof value->text, format, args);
    va_end(args);
    assert(size >= 0 && (size_t)size < sizeof value->text); /* the tables are ours */
    (void)size;
    value->about = value->text;
}

/* --- lists that are tables elsewhere ---------------------------------------------------------- */

/* So many values, each with a name and what is said of it, by its `index`. */
#define EACH(list, title, remark, count, name_of, about_of)  \
    static bool list##_at(struct value *value, size_t index) \
    {                                                        \
        if (index >= (size_t)(count))                        \
            return false;                                    \
        value->name = (name_of);                             \
        value->about = (about_of);                           \
        return true;                                         \
    }                                                        \
    LIST(list, title, remark)

/* The rows of a table. */
#define ROWS(list, title, remark, rows, count, about_field) \
    EACH(list, title, remark, count, (rows)[index].name, (rows)[index].about_field)

ROWS(commands, NULL, NULL, command_rows, command_count, about)
ROWS(formats, "Formats", NULL, format_rows, format_count, about)
ROWS(explain_formats, "Formats", NULL, explain_formats, explain_format_count, about)
ROWS(table_formats, "Formats", NULL, format_rows, format_count - 1, about) /* html is the last */
ROWS(venues, "Venues", ", by their style files", venue_rows, venue_count, about)
ROWS(palettes, "Palettes", NULL, palette_rows, palette_count, about)
ROWS(measurements, "Measurements", ", medians of all rounds", task_rows, TASK_KINDS, about)
ROWS(attributions, "Parts", NULL, attribution_ways, ATTRIBUTION_WAYS, about)
ROWS(patches, "Patches", NULL, patch_overs, PATCH_OVERS, about)
ROWS(patch_numbers, NULL, NULL, patch_numbers, PATCH_NUMBERS, about)
ROWS(scores, "Scores", ", averaged over all queries but the first", score_rows, score_row_count,
     about)
ROWS(attention_parts, NULL, NULL, attention_parts, attention_part_count, words)

/* Names that need no explanation, with NULL after the last. */
#define PLAIN_NAMES(list, names)                             \
    static bool list##_at(struct value *value, size_t index) \
    {                                                        \
        value->name = (names)[index];                        \
        return value->name;                                  \
    }                                                        \
    LIST(list, NULL, NULL)

PLAIN_NAMES(views, style_view_names)
PLAIN_NAMES(cells, style_cells_names)
PLAIN_NAMES(colour_scales, style_scale_names)
PLAIN_NAMES(ranges, style_range_names)
PLAIN_NAMES(masks, figure_mask_names)

static bool models_at(struct value *value, size_t index)
{
    if (index >= bundled_count)
        return false;
    value->name = bundled_models[index].path;
    return true;
}
static const struct value_list list_models = {
    .name = "models",
    .title = "Bundled models",
    .note = "A folder with the same name needs a path: ./tiny",
    .at = models_at,
};

EACH(precisions, NULL, NULL, PRECISIONS, precision_name((enum precision)index), NULL)
EACH(block_parts, NULL, NULL, BLOCK_PARTS, block_part_names[index], NULL)

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
LIST(attention, "Attention", "; + joins patterns")

static bool keys_at(struct value *value, size_t index)
{
    if (index >= config_key_count)
        return false;
    value->name = config_keys[index].name;
    value->end = '=';
    value->about = config_keys[index].about;
    return true;
}
LIST(keys, "Settings", ", depending on the type of the model")

static bool shapes_at(struct value *value, size_t index)
{
    if (index >= shape_count)
        return false;
    const struct shape_row *row = &shape_rows[index];
    value->name = row->name;
    value_tell(value, "%zu layers, %zu heads, %zu channels, %zu positions", row->n_layer,
               row->n_head, row->n_embd, row->n_positions);
    return true;
}
LIST(shapes, "Shapes", NULL)

/* Options that --sweep may vary where a batch does `run`. */
static bool settings_at(struct value *value, size_t index)
{
    for (size_t i = 0; i < option_count(); i++) {
        if (!settings_may_vary(option_at(i)) || !option_serves(option_at(i), FOR_BATCH) || index--)
            continue;
        value->name = option_at(i)->name;
        value->end = '=';
        value->about = option_at(i)->about;
        return true;
    }
    return false;
}
const struct value_list value_settings = {.name = "settings", .at = settings_at};

/* --- short lists ------------------------------------------------------------------------------ */

struct word {
    const char *name, *about;
};

#define WORDS(list, title, ...)                              \
    static const struct word list##_words[] = {__VA_ARGS__}; \
    ROWS(list, title, NULL, list##_words, sizeof list##_words / sizeof *list##_words, about)

WORDS(lesson_formats, NULL, {"text", "text for the terminal"}, {"json", "the steps, for programs"},
      {"html", "a web page"})
WORDS(scales, NULL, {"none", "no scale"}, {"sqrt", "divide scores by √d_k"})
WORDS(means, NULL, {"heads", "average over heads"}, {"layers", "average over layers"})
WORDS(edits, "Edits", {"SITE = 0", "set a tensor of run --show to 0; h.2.SITE: in layer 2"},
      {"SITE[PLACES] = X",
       "only at some layer, head, token (or query), key or channel: [head=6,token=-1]"},
      {"SITE * X", "multiply by X"},
      {"SITE = mean", "the mean over the texts of --reference, position by position"},
      {"SITE = resample:SEED", "the value in a random text of --reference"},
      {"SITE = from", "the value in the text of --from"},
      {"SITE + FILE.npy", "add an array saved by numpy; = FILE.npy replaces the tensor"})
EACH(compositions, NULL, NULL, COMPOSITIONS, composition_names[index], NULL)
WORDS(draws, NULL, {"rand", "torch.rand, head by head"}, {"linear", "nn.Linear"})
WORDS(instruments, NULL, {"run", "matrices of attention and other tensors (default)"},
      {"score", "log-probability and surprisal"}, {"lens", "logit lens"},
      {"attribute", "contribution of each component to a logit"},
      {"patch", "activation patching with the text of --corrupt"},
      {"generate", "continuation of the text"})
WORDS(colors, NULL, {"auto", "if the terminal has colours"}, {"always", NULL}, {"never", NULL})
WORDS(shards, NULL, {"auto", "from Slurm, Open MPI or PMI variables"})
WORDS(statuses, "Exit status", {"0", "done"}, {"1", "a check failed, or some items failed"},
      {"2", "usage error"}, {"3", "input error"}, {"4", "unsupported model"},
      {"5", "output could not be written"}, {"130", "interrupted"})
WORDS(variables, "Environment", {"ATTN_MODEL", "default model"},
      {"ATTN_MODEL_PATH", "folders to search for models by name, separated by :"},
      {"HF_HUB_CACHE", "cache of the Hugging Face Hub, searched next; default: below "
                       "HF_HOME, XDG_CACHE_HOME/huggingface or ~/.cache/huggingface"},
      {"COLUMNS", "width of text output on a terminal"}, {"NO_COLOR", "if set, no colours"},
      {"LIBXSMM_TARGET", "instruction set of the kernels: generic, snb, hsw, skx"})
WORDS(
    files, "Files",
    {"share/attn-cli/schemas",
     "below the installation prefix: JSON schemas; NAME.json describes the format attn-cli/NAME/1"})
WORDS(shells, NULL, {"bash", NULL}, {"zsh", NULL}, {"fish", NULL})

static bool steps_at(struct value *value, size_t index)
{
    if (index > lesson_count)
        return false;
    value->name = index < lesson_count ? value->text : "all";
    value->about = index < lesson_count ? lesson_rows[index].title : "all steps";
    snprintf(value->text, sizeof value->text, "%zu", index + 1);
    return true;
}
LIST(steps, "Steps", NULL)

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

/* First those that are no tensors; then those of a part stand together, as help prints them. */
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

static bool defaults_at(struct value *value, size_t index)
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

static bool layer_defaults_at(struct value *value, size_t index)
{
    const struct format *format = default_format(value, index);
    value->about = format ? format_layer(format) : NULL;
    return format;
}

LIST(tensors, "Tensors", ", in the order of the forward pass")

LIST(defaults, "Default tensors and layers", NULL)

LIST(layer_defaults, "Default layers with --show", NULL)

/* --- which option takes which ----------------------------------------------------------------- */

/* What `run`, `generate` and `batch` have in common. */
enum { REPORTS = FOR_RUN | FOR_GENERATE | FOR_BATCH };

const struct value_use value_uses[] = {
    {"attention",
     FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_BATCH | FOR_SCORE | FOR_LENS | FOR_PATCH | FOR_PAGE,
     &list_attention, "+", false},
    {"attention", FOR_COMPARE | FOR_BENCH, &list_attention, ",+", false},
    {"edit", FOR_ALL, &list_edits, NULL, true},
    {"show", REPORTS | FOR_PAGE, &list_tensors, ",", false},
    {"show", FOR_RUN | FOR_BATCH, &list_defaults, NULL, true},
    {"show", FOR_GENERATE, &list_layer_defaults, NULL, true},
    {"format", REPORTS | FOR_ATTRIBUTE | FOR_PATCH, &list_formats, NULL, false},
    {"format", FOR_EXPLAIN, &list_explain_formats, NULL, false},
    {"format", FOR_COMPARE | FOR_BENCH | FOR_SCORE | FOR_LENS | FOR_HEADS | FOR_TOKENIZE | FOR_INFO,
     &list_table_formats, NULL, false},
    {"format", FOR_LESSON, &list_lesson_formats, NULL, false},
    {"palette", FOR_ALL, &list_palettes, NULL, false},
    {"figure-width", FOR_ALL, &list_venues, NULL, false},
    {"only", FOR_ALL, &list_measurements, ",", false},
    {"by", FOR_ALL, &list_attributions, NULL, false},
    {"over", FOR_ALL, &list_patches, NULL, false},
    {"show", FOR_PATCH, &list_patch_numbers, NULL, false},
    {"score", FOR_ALL, &list_scores, ",", false},
    {"sort", FOR_ALL, &list_scores, NULL, false},
    {"map", FOR_ALL, &list_scores, NULL, false},
    {"shape", FOR_ALL, &list_shapes, NULL, false},
    {"set", FOR_ALL, &list_keys, ",", false},
    {NULL, FOR_LESSON, &list_steps, NULL, false},
    {"model", FOR_ALL, &list_models, NULL, false},
    {"like", FOR_ALL, &list_models, NULL, false},
    {NULL, FOR_INFO | FOR_BENCH, &list_models, NULL, false},
    {NULL, FOR_HELP, &list_variables, NULL, true},
    {NULL, FOR_HELP, &list_files, NULL, true},
    {NULL, FOR_HELP, &list_statuses, NULL, true},
    {NULL, FOR_HELP, &list_commands, NULL, false},
    {"precision", FOR_ALL, &list_precisions, NULL, false},
    {"scale", FOR_ALL, &list_scales, NULL, false},
    {"without", FOR_ALL, &list_block_parts, ",", false},
    {"part", FOR_ALL, &list_attention_parts, NULL, false},
    {"draw", FOR_ALL, &list_draws, NULL, false},
    {"composition", FOR_ALL, &list_compositions, NULL, false},
    {"do", FOR_ALL, &list_instruments, NULL, false},
    {"sweep", FOR_ALL, &value_settings, NULL, false},
    {"mean", FOR_ALL, &list_means, ",", false},
    {"view", FOR_ALL, &list_views, NULL, false},
    {"cells", FOR_ALL, &list_cells, NULL, false},
    {"color-scale", FOR_ALL, &list_colour_scales, NULL, false},
    {"mask", FOR_ALL, &list_masks, NULL, false},
    {"range", FOR_ALL, &list_ranges, NULL, false},
    {"color", FOR_ALL, &list_colors, NULL, false},
    {"shard", FOR_ALL, &list_shards, NULL, false},
    {"completion", FOR_ALL, &list_shells, NULL, false},
};

const size_t value_use_count = sizeof value_uses / sizeof *value_uses;
