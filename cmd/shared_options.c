/* shared_options.c: options that several commands have, in tables that commands refer to; and lists
 * of values of options, for help and completions. */
#include <limits.h>
#include <stdio.h>

#include "command.h"
#include "lens/selection.h"
#include "math/pool.h"
#include "model/config_edit.h"
#include "model/mechanism.h"
#include "model/model.h"
#include "model/new_model.h"
#include "model/site.h"
#include "write/format.h"
#include "write/style.h"

const struct option_row text_options[] = {
    STRINGS("sentence", 's', "TEXT", IN(input.sentences),
            "text to read (repeatable; also as an operand, or on standard input)",
            .heading = "Input", .flags = OPTION_FIXED),
    STRING("file", 'f', "FILE", IN(input.file),
           "one text per line, or CSV / JSONL with a column \"text\"; other columns are copied to "
           "the output; - is standard input",
           .flags = OPTION_FIXED),
    FLAG("document", 0, IN(input.document), "treat the file as one text", .flags = OPTION_FIXED),
    STRING("ids", 0, "LIST", IN(input.ids), "token ids instead of text: 0,4,5",
           .flags = OPTION_FIXED),
    STRING("source", 0, "TEXT", IN(input.source),
           "second text, for cross-attention and encoder-decoder models", .flags = OPTION_FIXED),
    STRING("special", 0, "WHEN", IN(input.special),
           "special tokens to add: auto (default: those the model's tokenizer adds, as in Hugging "
           "Face), none, or bos (the beginning token, even if the tokenizer adds none)",
           .values = &values_specials),
    FLAG("chat", 0, IN(input.chat),
         "wrap each text in the model's chat template, if it has a known form"),
    FLAG("literal-special", 0, IN(input.literal_special),
         "treat <|endoftext|> and the like as plain text"),
    FLAG("words", 0, IN(select.words),
         "merge subword tokens into words: average over queries, sum over keys"),
    FLAG("long", 0, IN(input.any_length),
         "allow texts beyond the trained context length (rotary and ALiBi models)"),
    {0},
};

const struct option_row model_options[] = {
    STRINGS("model", 'm', "MODEL", IN(model.names),
            "folder, GGUF file, bundled name, or Hugging Face Hub name already in the cache "
            "(default: $ATTN_MODEL, else tiny); repeatable for comparisons: 'pythia/step*'",
            .heading = "Model", .values = &values_models),
    STRING("precision", 0, "TYPE", IN(model.precision), "f32 (default) or bf16",
           .values = &values_precisions),
    {0},
};

const struct option_row mechanism_options[] = {
    STRING("attention", 0, "KIND", IN(mechanism.attention),
           "replace the attention pattern: window:W, strided:S, global:G, random:K, linear, "
           "blocked:B, sums with +",
           .heading = "Model", .values = &values_attention, .joints = "+"),
    FLAG("mask-after", 0, IN(mechanism.mask_after),
         "apply the causal mask after the softmax and renormalise"),
    STRING("scale", 0, "X", IN(mechanism.scale),
           "multiply scores by X instead of 1/√d_k: none, sqrt or a number",
           .values = &values_scales),
    REAL("attention-temperature", 0, "T", IN(mechanism.temperature), 0, 1000000,
         "divide scores by T (default: 1)", .preset = 1),
    REAL("dropout", 0, "P", IN(mechanism.dropout), 0, 1,
         "drop attention weights with probability P (default: 0)"),
    STRING("without", 0, "PARTS", IN(mechanism.without),
           "leave out parts of a GPT-2: mlp, norm, residual, positions",
           .values = &values_block_parts, .joints = ","),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of --dropout and of random keys (default: 0)", .flags = OPTION_FIXED),
    {0},
};

const struct option_row edit_options[] = {
    STRINGS("edit", 0, "EDIT", IN(edit.edits),
            "change a value during the pass (repeatable): 'h.0.context[head=1,token=-1] = 0' (see "
            "'help edits')",
            .heading = "Intervene"),
    STRINGS("ablate", 0, "L.H,...", IN(edit.ablations),
            "zero the output of heads; 0.1=mean replaces it with the reference mean"),
    STRINGS("knockout", 0, "Q:K,...", IN(edit.knockouts),
            "stop query Q from attending to key K (0:4:2 in layer 0, 0.1:4:2 in one head)"),
    STRING("from", 0, "TEXT", IN(edit.from),
           "text whose run supplies values for '= from'; as many tokens as this one"),
    STRING("reference", 0, "FILE", IN(edit.reference),
           "texts, one per line, that supply values for '= mean' and '= resample'"),
    {0},
};

const struct option_row select_options[] = {
    STRING("show", 0, "LIST", IN(select.show),
           "tensors to output: tokens, weights, context, … or all (see 'help run'; default: by "
           "format)",
           .heading = "Select", .values = &values_tensors, .joints = ","),
    STRING("layer", 0, "LIST", IN(select.layer),
           "layers: 0,3-5, -1 for the last, all (default: by format)"),
    STRING("head", 0, "LIST", IN(select.head), "heads: 0,3-5, -1 for the last, all (default)"),
    STRING("query", 0, "LIST", IN(select.query),
           "compute only the rows of these query tokens: 0,3-5, -1 for the last (default: all)"),
    STRING("mean", 0, "AXES", IN(select.mean),
           "average over heads, layers, texts: one or several of them", .values = &values_means,
           .joints = ","),
    FLAG("hide-first", 0, IN(select.hide_first),
         "drop the first token (attention sink) and renormalise"),
    {0},
};

const struct option_row output_options[] = {
    STRING("output", 'o', "PATH", IN(output.path),
           "file, or folder/ for one file per item; the ending sets the format",
           .heading = "Output", .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", IN(output.format),
           "output format (default: by the ending of -o, else text; see 'help formats')",
           .values = &values_formats, .flags = OPTION_FIXED),
    {0},
};

const struct option_row terminal_options[] = {
    INTEGER("width", 0, "N", IN(looks.width), 20, 100000,
            "columns of text output (default: the terminal, else 80)", .heading = "Output",
            .looks = LOOKS_TERMINAL),
    FLAG("full", 0, IN(looks.full), "text: leave nothing out, however wide or long"),
    STRING("color", 0, "WHEN", IN(looks.color), "colours in text: auto (default), always or never",
           .looks = LOOKS_TERMINAL, .values = &values_colors, .flags = OPTION_FIXED),
    FLAG("force", 0, IN(output.force), "replace existing files in a folder",
         .flags = OPTION_PROCESS),
    {0},
};

const struct option_row figure_options[] = {
    STRING("figure-width", 0, "W", IN(looks.style.width),
           "3.25in, 8cm, 89mm, 234pt, or a venue: acl, icml, neurips, nature (see 'help formats')",
           .heading = "Figures", .looks = LOOKS_FIGURE, .values = &values_venues),
    STRING("font", 0, "FAMILY", IN(looks.style.font),
           "font of svg, png and pdf, such as Times (default: sans serif)", .looks = LOOKS_FONT),
    REAL("font-size", 0, "PT", IN(looks.font_size), 4, 72,
         "font size; numbers in cells may be smaller (default: by figure, 7 with --figure-width)",
         .looks = LOOKS_FIGURE),
    INTEGER("dpi", 0, "N", IN(looks.dpi), 36, 2400, "resolution of png (default: 192)",
            .looks = LOOKS_PIXELS),
    STRING("title", 0, "TEXT", IN(looks.title),
           "title of a figure ('': none; default: model and text)", .looks = LOOKS_TITLE),
    STRING("view", 0, "VIEW", IN(looks.style.view),
           "matrix, lines, overlay (lines of all heads) or bars (largest absolute values)",
           .looks = LOOKS_VIEW, .values = &values_views),
    STRING("cells", 0, "STYLE", IN(looks.style.cells), "numbers, heat or both (default: what fits)",
           .looks = LOOKS_CELLS, .values = &values_cells),
    STRING("palette", 0, "NAME", IN(looks.style.palette),
           "colours (default: by the signs of the values; see 'help formats')",
           .looks = LOOKS_COLOURS, .values = &values_palettes),
    STRING("range", 0, "RANGE", IN(looks.style.range),
           "range of values mapped to the colour scale: all, head, row or LOW:HIGH (default: 0:1 "
           "for attention, else all)",
           .looks = LOOKS_COLOURS, .values = &values_ranges),
    STRING("color-scale", 0, "SCALE", IN(looks.style.scale),
           "colour scale: linear (default), or sqrt / log to bring out small values",
           .looks = LOOKS_COLOURS, .values = &values_colour_scales),
    STRINGS("mark", 0, "Q:K,...", IN(looks.marks),
            "frame cells (repeatable): 4:2, 0:4:2 in one layer, 0.1:4:2 in one head",
            .looks = LOOKS_FIGURE),
    STRING("token-range", 0, "A-B", IN(looks.style.tokens),
           "show only tokens A to B in figures (words with --words)", .looks = LOOKS_FIGURE),
    STRING("panel-labels", 0, "a|A|1", IN(looks.style.panel_labels),
           "label the panels: a, A, 1, or (a)", .looks = LOOKS_FIGURE),
    STRING("mask", 0, "hatch|triangle", IN(looks.style.mask),
           "hatch masked cells (default), or leave them out", .looks = LOOKS_FIGURE,
           .values = &values_masks),
    {0},
};

const struct option_row running_options[] = {
    INTEGER("threads", 't', "N", IN(model.threads), 1, POOL_THREADS_MAX,
            "number of threads (default: one per processor); results do not depend on it",
            .heading = "Running", .flags = OPTION_PROCESS),
    FLAG("quiet", 'q', IN(quiet), "print no notes and no progress", .flags = OPTION_PROCESS),
    FLAG("verbose", 'v', IN(verbose), "print the model, the settings and the time taken",
         .flags = OPTION_PROCESS),
    FLAG("help", 'h', IN(help), "print this help", .flags = OPTION_FIXED | OPTION_PROCESS),
    {0},
};

/* --- values of tables of the library ---------------------------------------------------------- */

VALUES_(, formats, "Formats (--format)", format_count, format_rows[index].name,
        format_rows[index].about)
VALUES_(, venues, "Venues (--figure-width), by their style files", venue_count,
        venue_rows[index].name, venue_rows[index].about)
VALUES_(, palettes, "Palettes (--palette)", palette_count, palette_rows[index].name,
        palette_rows[index].about)
VALUES_(, precisions, NULL, PRECISIONS, precision_name((enum precision)index), NULL)
VALUES_(, block_parts, NULL, BLOCK_PARTS, block_part_names[index], NULL)
VALUES_(, models, "Bundled models (--model); ./tiny is a folder with the same name", bundled_count,
        bundled_models[index].path, NULL)

/* Names with NULL after the last. */
#define PLAIN_NAMES(list, names)                             \
    static bool list##_at(struct value *value, size_t index) \
    {                                                        \
        value->name = (names)[index];                        \
        return value->name;                                  \
    }                                                        \
    const struct value_list values_##list = {#list, NULL, list##_at};

PLAIN_NAMES(views, style_view_names)
PLAIN_NAMES(cells, style_cells_names)
PLAIN_NAMES(colour_scales, style_scale_names)
PLAIN_NAMES(ranges, style_range_names)
PLAIN_NAMES(masks, figure_mask_names)

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
const struct value_list values_attention = {
    "attention", "Attention patterns (--attention), which + combines", attention_at};

static bool keys_at(struct value *value, size_t index)
{
    if (index >= config_key_count)
        return false;
    value->name = config_keys[index].name;
    value->end = '=';
    value->about = config_keys[index].about;
    return true;
}
const struct value_list values_keys = {
    "keys", "Settings (--set), depending on the type of the model", keys_at};

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
const struct value_list values_shapes = {"shapes", "Shapes (--shape)", shapes_at};

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
const struct value_list values_settings = {"settings", NULL, settings_at};

/* --- words ------------------------------------------------------------------------------------ */

WORDS_(, specials, NULL, {"auto", "those of the tokenizer (default)"}, {"none", NULL},
       {"bos", "the beginning token"})
WORDS_(, scales, NULL, {"none", "no scale"}, {"sqrt", "divide scores by √d_k"})
WORDS_(, means, NULL, {"heads", "average over heads"}, {"layers", "average over layers"},
       {"texts", "average over texts, by position"})
WORDS_(, colors, NULL, {"auto", "if the terminal has colours"}, {"always", NULL}, {"never", NULL})
WORDS_(, edits, "Edits", {"SITE = 0", "set a tensor of run --show to 0; h.2.SITE: in layer 2"},
       {"SITE[PLACES] = X",
        "only at some layer, head, token (or query), key or channel: [head=6,token=-1]"},
       {"SITE * X", "multiply by X"},
       {"SITE = mean", "the mean over the texts of --reference, position by position"},
       {"SITE = resample:SEED", "the value in a random text of --reference"},
       {"SITE = from", "the value in the text of --from"},
       {"SITE + FILE.npy", "add an array saved by numpy; = FILE.npy replaces the tensor"})

/* A test compares them with what is shown. */
WORDS_(, defaults, "Default tensors and layers",
       {"text", "layer -1: tokens, weights, context; with an encoder: tokens, enc.weights, "
                "weights, cross_weights"},
       {"html", "layer all: embedding, weights; with an encoder: embedding, "
                "source_embedding, enc.weights, weights, cross_weights"},
       {"all others", "layer all: weights; with an encoder: enc.weights, weights, "
                      "cross_weights"})

/* --- tensors ---------------------------------------------------------------------------------- */

static bool tensors_at(struct value *value, size_t index)
{
    static const struct value words[] = {
        {.name = "all", .about = "all tensors of the model except the last four"},
        {.name = "tokens", .about = "the table of tokens (text format only)"},
    };
    enum { WORDS = sizeof words / sizeof *words };
    if (index < WORDS) {
        *value = words[index];
        return true;
    }
    if (index - WORDS >= SITE_ALL)
        return false;
    const struct site_row *row = &site_rows[index - WORDS];
    value->name = row->name;
    value->about = row->about;
    if (row->part != PART_SENTENCE && row != &site_rows[SITE_SOURCE_EMBEDDING])
        value->heading = row->part == PART_CROSS ? "Cross-attention:" : "Encoder:";
    return true;
}

const struct value_list values_tensors = {
    "tensors", "Tensors (--show), in the order of the forward pass", tensors_at};
