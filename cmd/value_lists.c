#include "catalog.h"

#include <stdio.h>

#include "measure/comparison.h"
#include "bench/task.h"
#include "write/palette.h"
#include "write/style.h"
#include "lens/attention_part.h"
#include "measure/head_scores.h"
#include "lens/measure.h"
#include "lesson.h"
#include "model/bundled.h"
#include "model/config_edit.h"
#include "model/mechanism.h"
#include "model/shape.h"
#include "explain/explain_format.h"
#include "write/format.h"
#include "draw/measured_form.h"
#include "options.h"

/* --- lists that are tables elsewhere ---------------------------------------------------------- */

/* The rows of a table whose names, and what is said of them, stand in these fields. */
#define ROWS(list, rows, count, name_field, about_field) \
    static bool list(struct value *value, size_t index)  \
    {                                                    \
        if (index >= (size_t)(count))                    \
            return false;                                \
        value->name = (rows)[index].name_field;          \
        value->about = (rows)[index].about_field;        \
        return true;                                     \
    }

ROWS(command_at, command_rows, command_count, name, about)
ROWS(format_at, format_rows, format_count, name, about)
ROWS(explain_format_at, explain_formats, explain_format_count, name, about)
ROWS(comparison_format_at, comparison_formats, comparison_format_count, name, about)
ROWS(measured_form_at, measured_forms, measured_form_count, name, about)
ROWS(palette_at, palette_rows, palette_count, name, about)
ROWS(measure_at, measure_rows, MEASURE_COUNT, name, about)
ROWS(task_at, task_rows, TASK_KINDS, name, about)
ROWS(score_at, score_rows, SCORES, name, about)
ROWS(part_at, attention_parts, attention_part_count, name, words)

/* Names that need no explanation, with NULL after the last. */
#define PLAIN_NAMES(list, names)                        \
    static bool list(struct value *value, size_t index) \
    {                                                   \
        value->name = (names)[index];                   \
        return value->name;                             \
    }

PLAIN_NAMES(view_at, style_view_names)
PLAIN_NAMES(cells_at, style_cells_names)
PLAIN_NAMES(scale_of_colours_at, style_scale_names)
PLAIN_NAMES(range_at, style_range_names)

static bool model_at(struct value *value, size_t index)
{
    if (index >= bundled_count)
        return false;
    value->name = bundled_models[index].path;
    return true;
}

static bool precision_at(struct value *value, size_t index)
{
    if (index >= PRECISIONS)
        return false;
    value->name = precision_name((enum precision)index);
    return true;
}

static bool block_part_at(struct value *value, size_t index)
{
    if (index >= BLOCK_PARTS)
        return false;
    value->name = block_part_name((enum block_part)index);
    return true;
}

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

static bool key_at(struct value *value, size_t index)
{
    if (index >= config_key_count)
        return false;
    value->name = config_keys[index].name;
    value->end = '=';
    value->about = config_keys[index].about;
    return true;
}

static bool shape_at(struct value *value, size_t index)
{
    if (index >= shape_count)
        return false;
    const struct shape_row *row = &shape_rows[index];
    value->name = row->name;
    value_tell(value, "%zu layers, %zu heads, %zu channels, %zu positions", row->n_layer,
               row->n_head, row->n_embd, row->n_positions);
    return true;
}

/* Options that an item of a batch may have for itself, each once. */
static bool setting_at(struct value *value, size_t index)
{
    for (size_t i = 0; i < option_count; i++) {
        if (!settings_may_vary(&option_rows[i]) || index--)
            continue;
        value->name = option_rows[i].name;
        value->end = '=';
        value->about = option_rows[i].about;
        return true;
    }
    return false;
}

/* --- short lists ------------------------------------------------------------------------------ */

struct word {
    const char *name, *about;
};

#define WORDS(list, ...)                                  \
    static bool list(struct value *value, size_t index)   \
    {                                                     \
        static const struct word words[] = {__VA_ARGS__}; \
        if (index >= sizeof words / sizeof *words)        \
            return false;                                 \
        value->name = words[index].name;                  \
        value->about = words[index].about;                \
        return true;                                      \
    }

WORDS(page_format_at, {"text", "a page to read"}, {"json", "for programs"})
WORDS(bench_format_at, {"text", "a page to read"}, {"json", "for programs"},
      {"svg", "a picture, of --attention"}, {"png", "the same in pixels"}, {"pdf", "the same"})
WORDS(mask_method_at, {"before", "the future at -inf, then the softmax"},
      {"renormalise", "the softmax, then the future at 0 and rows divided by their sums"})
WORDS(scale_at, {"none", "scores as they are"}, {"sqrt", "scores divided by the root of d_k"})
WORDS(mean_at, {"heads", "the mean over heads"}, {"layers", "the mean over layers"})
WORDS(draw_at, {"rand", "torch.rand, head by head"}, {"linear", "nn.Linear"})
WORDS(input_at, {"lines", "a sentence a line"}, {"jsonl", "an object a line"},
      {"csv", "a header, then a line an item"})
WORDS(color_at, {"auto", "where the terminal has colours"}, {"always", NULL}, {"never", NULL})
WORDS(shard_at, {"auto", "as Slurm, Open MPI or PMI say"})
WORDS(status_at, {"0", "done"}, {"1", "a check said no, or some items of a batch failed"},
      {"2", "wrong usage"}, {"3", "bad input"}, {"4", "a model that is not supported"},
      {"5", "a result could not be written"}, {"130", "interrupted"})
WORDS(variable_at, {"ATTN_MODEL", "the model, where --model names none"},
      {"ATTN_PAGER", "what shows help and lessons that are longer than the terminal, before PAGER, "
                     "else less; empty or cat: nothing does"},
      {"COLUMNS", "the width of a text page on a terminal"},
      {"NO_COLOR", "no colours, whatever the terminal has"},
      {"LIBXSMM_TARGET", "an older instruction set for the kernels: generic, snb, hsw, skx"})
WORDS(shell_at, {"bash", NULL}, {"zsh", NULL}, {"fish", NULL})

static bool step_at(struct value *value, size_t index)
{
    if (index > lesson_count)
        return false;
    value->name = index < lesson_count ? value->text : "all";
    value->about = index < lesson_count ? lesson_rows[index].title : "all steps";
    snprintf(value->text, sizeof value->text, "%zu", index + 1);
    return true;
}

/* --- the lists -------------------------------------------------------------------------------- */

const struct value_list value_settings = {.name = "settings", .at = setting_at};

static const struct value_list
    attention = {.name = "attention",
                 .title = "Attention",
                 .remark = "; + joins those of which every query sees some keys",
                 .at = attention_at},
    formats = {.name = "formats", .title = "Formats", .at = format_at},
    explain_forms = {.name = "explain_formats", .title = "Formats", .at = explain_format_at},
    comparison_forms = {.name = "compare_formats", .title = "Formats", .at = comparison_format_at},
    page_formats = {.name = "page_formats", .at = page_format_at},
    measured_formats = {.name = "measured_formats", .title = "Formats", .at = measured_form_at},
    reduction_formats = {.name = "reduction_formats",
                         .title = "Formats of reductions",
                         .at = measured_form_at},
    bench_formats = {.name = "bench_formats", .at = bench_format_at},
    palettes = {.name = "palettes", .title = "Palettes", .at = palette_at},
    reductions = {.name = "reductions",
                  .title = "Reductions",
                  .remark = ", of each head over all texts",
                  .at = measure_at},
    measurements = {.name = "measurements",
                    .title = "Measurements",
                    .remark = ", medians of all rounds",
                    .at = task_at},
    scores = {.name = "scores", .title = "Scores", .at = score_at},
    shapes = {.name = "shapes", .title = "Shapes", .at = shape_at},
    keys = {.name = "keys",
            .title = "Settings",
            .remark = ", as far as the type of the model has them",
            .at = key_at},
    steps = {.name = "steps", .title = "Steps", .at = step_at},
    models = {.name = "models",
              .title = "Bundled models",
              .note = "A folder of that name is reached by a path: ./tiny",
              .at = model_at},
    variables = {.name = "variables", .title = "Environment", .at = variable_at},
    statuses = {.name = "statuses", .title = "Exit status", .at = status_at},
    commands = {.name = "commands", .at = command_at},
    precisions = {.name = "precisions", .at = precision_at},
    mask_methods = {.name = "mask_methods", .at = mask_method_at},
    scales = {.name = "scales", .at = scale_at},
    block_parts = {.name = "block_parts", .at = block_part_at},
    attention_parts_of = {.name = "attention_parts", .at = part_at},
    draws = {.name = "draws", .at = draw_at}, inputs = {.name = "inputs", .at = input_at},
    means = {.name = "means", .at = mean_at}, views = {.name = "views", .at = view_at},
    cells = {.name = "cells", .at = cells_at},
    colour_scales = {.name = "colour_scales", .at = scale_of_colours_at},
    ranges = {.name = "ranges", .at = range_at}, colors = {.name = "colors", .at = color_at},
    shards = {.name = "shards", .at = shard_at}, shells = {.name = "shells", .at = shell_at};

/* What `run`, `generate` and `batch` have in common. */
enum { REPORTS = FOR_RUN | FOR_GENERATE | FOR_BATCH };

const struct value_use value_uses[] = {
    {"attention", FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_BATCH, &attention, "+", false},
    {"attention", FOR_COMPARE | FOR_BENCH, &attention, ",+", false},
    {"show", REPORTS, &value_tensors, ",", false},
    {"show", FOR_RUN | FOR_BATCH, &value_defaults, NULL, true},
    {"show", FOR_GENERATE, &value_layer_defaults, NULL, true},
    {"format", REPORTS, &formats, NULL, false},
    {"format", FOR_BATCH, &reduction_formats, NULL, true},
    {"format", FOR_EXPLAIN, &explain_forms, NULL, false},
    {"format", FOR_COMPARE, &comparison_forms, NULL, false},
    {"format", FOR_TOKENIZE | FOR_INFO, &page_formats, NULL, false},
    {"format", FOR_HEADS, &measured_formats, NULL, false},
    {"format", FOR_BENCH, &bench_formats, NULL, false},
    {"palette", FOR_ALL, &palettes, NULL, false},
    {"reduce", FOR_ALL, &reductions, ",", false},
    {"only", FOR_ALL, &measurements, ",", false},
    {"sort", FOR_ALL, &scores, NULL, false},
    {"map", FOR_ALL, &scores, NULL, false},
    {"shape", FOR_ALL, &shapes, NULL, false},
    {"set", FOR_ALL, &keys, ",", false},
    {NULL, FOR_LESSON, &steps, NULL, false},
    {"model", FOR_ALL, &models, NULL, false},
    {"like", FOR_ALL, &models, NULL, false},
    {NULL, FOR_INFO | FOR_BENCH, &models, NULL, false},
    {NULL, FOR_HELP, &variables, NULL, true},
    {NULL, FOR_HELP, &statuses, NULL, true},
    {NULL, FOR_HELP, &commands, NULL, false},
    {"precision", FOR_ALL, &precisions, NULL, false},
    {"mask-method", FOR_ALL, &mask_methods, NULL, false},
    {"scale", FOR_ALL, &scales, NULL, false},
    {"without", FOR_ALL, &block_parts, ",", false},
    {"attention-of", FOR_ALL, &attention_parts_of, NULL, false},
    {"draw", FOR_ALL, &draws, NULL, false},
    {"input", FOR_ALL, &inputs, NULL, false},
    {"sweep", FOR_ALL, &value_settings, NULL, false},
    {"mean", FOR_ALL, &means, ",", false},
    {"view", FOR_ALL, &views, NULL, false},
    {"style", FOR_ALL, &cells, NULL, false},
    {"color-scale", FOR_ALL, &colour_scales, NULL, false},
    {"range", FOR_ALL, &ranges, NULL, false},
    {"color", FOR_ALL, &colors, NULL, false},
    {"shard", FOR_ALL, &shards, NULL, false},
    {"completion", FOR_ALL, &shells, NULL, false},
};

const size_t value_use_count = sizeof value_uses / sizeof *value_uses;
