/* shared_options.c: tables of options that several commands have, and lists of values of options
 * for help and completions. */
#include <limits.h>
#include <stdio.h>

#include "command.h"
#include "lens/selection.h"
#include "math/machine.h"
#include "model/config.h"
#include "model/mechanism.h"
#include "model/model.h"
#include "model/new_model.h"
#include "model/site.h"
#include "output.h"
#include "write/style.h"

const struct option_row text_options[] = {
    STRINGS(
        "sentence", 's', "TEXT", IN(input.sentences),
        "text to read; repeatable; also as operand or, where a text is required, standard input",
        .heading = "Input", .flags = OPTION_FIXED),
    STRING(
        "file", 'f', "FILE", IN(input.file),
        "texts: lines, or a table; a table is CSV or JSONL with a column \"text\" or \"sentence\" "
        "(score: also good and bad); other columns are copied to the output; - is standard input",
        .flags = OPTION_FIXED),
    FLAG("document", 0, IN(input.document), "treat the whole file as one text",
         .flags = OPTION_FIXED),
    FLAG("trim", 0, IN(input.trim),
         "remove spaces at both ends, and double spaces; they are tokens, and spreadsheets do not "
         "show them",
         .flags = OPTION_FIXED),
    STRING("text-column", 0, "NAME", IN(input.text_column),
           "column of the table that has the texts; default: text or sentence",
           .flags = OPTION_FIXED),
    STRING("id-column", 0, "NAME", IN(input.id_column),
           "column that numbers the items of the experiment; score --total compares texts of the "
           "same item; default: item",
           .flags = OPTION_FIXED),
    STRING("regions", 0, "A,B,...", IN(input.regions),
           "columns whose joined cells are the text; each cell is a region of it: "
           "Subject,Verb,Object; names with a comma are in quotes, as in CSV",
           .flags = OPTION_FIXED),
    STRING(
        "word-column", 0, "NAME", IN(input.word_column),
        "column of the words, in a table of one word a row; the words are joined to texts; implies "
        "--words, and score --words has a row for each row of the table, with its columns",
        .flags = OPTION_FIXED),
    STRING("by", 0, "COLUMN,...", IN(input.by),
           "--word-column: columns that identify a text; they have the same values in all rows of "
           "a text, such as trial",
           .flags = OPTION_FIXED),
    STRING("join", 0, "TEXT", IN(input.joint),
           "text between the joined cells of a table; with --regions or --word-column; default: a "
           "space; none before and after punctuation that has none, or between Chinese, Japanese "
           "and Thai",
           .flags = OPTION_FIXED),
    STRING("ids", 0, "LIST", IN(input.ids), "token ids instead of text: 0,4,5",
           .flags = OPTION_FIXED),
    STRING("source", 0, "TEXT", IN(input.source),
           "text of the encoder; encoder-decoder and cross-attention models; ids, if the model has "
           "no tokenizer; run, page and heads without a text use the model's own translation",
           .flags = OPTION_FIXED),
    STRING(
        "pair", 0, "TEXT", IN(input.pair),
        "second text of a pair; joined to each text as the tokenizer joins pairs (BERT, RoBERTa)",
        .flags = OPTION_FIXED),
    STRING("special", 0, "WHEN", IN(input.special),
           "special tokens to add: auto, none or bos; auto (default): as in Hugging Face; before "
           "the text of an encoder-decoder, its start token; with --words or regions in run, page, "
           "heads, score and attribute, a beginning token without a number; bos: a "
           "beginning-of-text token, even if the tokenizer adds none",
           .values = &values_specials),
    FLAG("chat", 0, IN(input.chat), "wrap each text in the model's chat template"),
    FLAG("literal-special", 0, IN(input.literal_special),
         "read special tokens in a text as plain text"),
    FLAG("words", 0, IN(select.words),
         "words instead of subword tokens; the weights of a word's tokens are summed over keys and "
         "averaged over queries; Chinese and other text without spaces: its tokens, or characters "
         "where a character is several tokens; a beginning token, which is no word, is before each "
         "text (--special none omits it)"),
    FLAG("long", 0, IN(input.any_length),
         "allow texts beyond the trained context; for models with rotary positions or ALiBi"),
    {0},
};

const struct option_row model_options[] = {
    STRINGS("model", 'm', "MODEL", IN(model.names),
            "folder, GGUF file or name; the name of a bundled model or of one in the Hugging Face "
            "cache; default: $ATTN_MODEL, else tiny; repeatable to compare models: 'pythia/step*'",
            .heading = "Model", .values = &values_models),
    STRING("precision", 0, "TYPE", IN(model.precision), "f32 (default) or bf16",
           .values = &values_precisions),
    {0},
};

const struct option_row mechanism_options[] = {
    STRING("attention", 0, "KIND", IN(mechanism.attention),
           "replace the attention pattern; window:W, strided:S, global:G, random:K, sqrt, log, "
           "combined by +; linear, blocked:B or lowrank:R",
           .heading = "Model", .values = &values_attention, .joints = "+"),
    FLAG("mask-after", 0, IN(mechanism.mask_after),
         "apply the causal mask after the softmax; the weights are then renormalised; how figures "
         "draw the mask: --mask"),
    STRING("scale", 0, "X", IN(mechanism.scale),
           "multiply scores by X instead of 1/√d_k; X is none, sqrt or a number; for colours: "
           "--color-scale",
           .values = &values_scales),
    REAL("attention-temperature", 0, "T", IN(mechanism.temperature), 0, 1000000,
         "divide scores by T (default: 1)", .preset = 1),
    REAL("dropout", 0, "P", IN(mechanism.dropout), 0, 1,
         "drop attention weights with probability P; default: 0"),
    STRING("without", 0, "PARTS", IN(mechanism.without),
           "leave out parts of the model; mlp, norm, residual, positions or mask (the causal "
           "mask), or several",
           .values = &values_block_modules, .joints = ","),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of --dropout and of --attention random; default: 0", .flags = OPTION_FIXED),
    {0},
};

const struct option_row edit_options[] = {
    STRINGS("edit", 0, "EDIT", IN(edit.edits),
            "change a tensor during the forward pass; repeatable; see 'help edits'; "
            "'h.0.context[head=1,token=-1] = 0' sets the output of head 1 in layer 0 to 0 at the "
            "last token",
            .heading = "Intervene"),
    STRINGS("ablate", 0, "L.H,...", IN(edit.ablations),
            "set the output of heads to 0; 0.1,0.2 are heads 1 and 2 of layer 0, 3 all of layer 3; "
            "0.1=mean sets it to its mean over the texts of --reference"),
    STRINGS("knockout", 0, "Q:K,...", IN(edit.knockouts),
            "stop token Q from attending to token K; Q and K are positions; 4:2 in all heads, "
            "0:4:2 in layer 0, 0.1:4:2 in one head; @NAME is a position as for --query"),
    STRING("from", 0, "TEXT", IN(edit.from),
           "text whose run supplies the values for '= from'; one for all texts; it must have the "
           "same number of tokens as each"),
    STRING("reference", 0, "FILE", IN(edit.reference),
           "texts that supply '= mean' and '= resample'; a file with one text per line"),
    STRINGS("sae", 0, "DIR", IN(edit.dictionaries),
            "folder of a sparse autoencoder or transcoder; --edit changes its features, 'attn-cli "
            "features' lists them; DIR:LAYER, and after it ,site=SITE ,scale=S ,k=K ,center=on|off "
            "where its files do not say it"),
    {0},
};

const struct option_row select_options[] = {
    STRING("show", 0, "LIST", IN(select.show),
           "tensors to output; weights,context; default: by format; see 'help tensors'",
           .heading = "Select", .values = &values_tensors, .joints = ","),
    STRING("layer", 0, "LIST", IN(select.layer),
           "layers: 0,3-5, -1 (last), or all; default: by format"),
    STRING(
        "head", 0, "LIST", IN(select.head),
        "heads: 0,3-5, -1 (last), or all; default: all; these are query heads; keys and values are "
        "printed for the selected heads; 17.4,20.0: these heads of these layers, in this order"),
    STRING("query", 0, "LIST", IN(select.query),
           "rows: tokens that look; positions 0,3-5, 1-, -1 (last), a token or word (it), or "
           "@NAME, a column of the texts' table (indices or words), a region, or a word (@the/2 is "
           "the second); with --words positions count words; default: all"),
    STRING("key", 0, "LIST", IN(select.key),
           "columns: tokens looked at; positions as for --query; the numbers of these columns do "
           "not change"),
    STRING("mean", 0, "AXES", IN(select.mean),
           "average over heads, layers, texts or regions; several: heads,layers; regions: each "
           "@NAME of --query and --key becomes one row or column, the mean of its queries, the sum "
           "of its keys (so with texts)",
           .values = &values_means, .joints = ","),
    FLAG("hide-first", 0, IN(select.hide_first), "drop the first token (attention sink)"),
    {0},
};

const struct option_row output_options[] = {
    STRING("output", 'o', "PATH", IN(output.path),
           "file: its ending sets the format; or folder/ for many matrices or texts",
           .heading = "Output", .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", IN(output.format),
           "output format; default: by the ending of -o, else text; see 'help formats'",
           .values = &values_formats, .flags = OPTION_FIXED),
    STRING("locale", 0, "NAME", IN(output.locale),
           "--format excel: the locale, such as de_DE; sets the separator and the decimal mark; "
           "default: LC_ALL, LC_NUMERIC or LANG of the environment",
           .flags = OPTION_FIXED),
    FLAG("no-text", 0, IN(output.no_text),
         "CSV of a table of texts: leave out the text; or the cells of --regions, which each of "
         "its rows would repeat; the column sentence has its number",
         .flags = OPTION_FIXED),
    {0},
};

const struct option_row terminal_options[] = {
    INTEGER("width", 0, "N", IN(display.width), 20, 100000,
            "columns of text output; default: the terminal's, else 80", .display = DISPLAY_TERMINAL,
            .flags = OPTION_FIXED),
    FLAG("full", 0, IN(display.full), "text output: abbreviate nothing", .flags = OPTION_FIXED),
    STRING("color", 0, "WHEN", IN(display.color),
           "colours in text: auto (default), always or never", .display = DISPLAY_TERMINAL,
           .values = &values_colors, .flags = OPTION_FIXED),
    FLAG("force", 0, IN(output.force), "overwrite existing files in a folder",
         .flags = OPTION_PROCESS),
    {0},
};

const struct option_row figure_options[] = {
    STRING("style", 0, "STYLE", IN(display.style.preset),
           "talk: for slides; as --hide-first (in causal models) --cells heat --mask triangle "
           "--title '' --font-size 12; options that are given override it, and --token-range 0-N "
           "keeps the first token",
           .heading = "Figures", .display = DISPLAY_CELLS | DISPLAY_TITLE | DISPLAY_FIGURE,
           .values = &values_presets),
    STRING("figure-width", 0, "W", IN(display.style.width),
           "3.25in, 8cm, 89mm, 234pt, or a venue; see 'help figures'", .display = DISPLAY_FIGURE,
           .values = &values_venues),
    STRING("font", 0, "FAMILY", IN(display.style.font),
           "font family, such as Times (default: sans serif)", .display = DISPLAY_FONT),
    REAL("font-size", 0, "PT", IN(display.font_size), 4, 72,
         "font size in points; numbers in cells may be smaller; default: 7 with --figure-width, "
         "else depends on the figure",
         .display = DISPLAY_FIGURE),
    INTEGER("dpi", 0, "N", IN(display.dpi), 36, 2400, "pixels per inch of png files (default: 192)",
            .display = DISPLAY_PIXELS),
    STRING("title", 0, "TEXT", IN(display.title),
           "title, '' for none; default: the model and the text", .display = DISPLAY_TITLE),
    STRING("lang", 0, "LANGUAGE", IN(display.language), "language: en (default) or zh (Chinese)",
           .display = DISPLAY_TITLE | DISPLAY_TERMINAL, .values = &values_languages),
    STRING("view", 0, "VIEW", IN(display.style.view),
           "matrix, lines, overlay, bars or arrows; overlay: lines of all heads; bars: the largest "
           "absolute values; arrows: vectors of three numbers in space",
           .display = DISPLAY_VIEW, .values = &values_views),
    STRING("cells", 0, "STYLE", IN(display.style.cells),
           "contents of cells: numbers, heat or both; heat: colours; default: both if they fit",
           .display = DISPLAY_CELLS, .values = &values_cells),
    STRING("palette", 0, "NAME", IN(display.style.palette),
           "colour palette, such as viridis; see 'help figures'; default: depends on whether there "
           "are "
           "negative values",
           .display = DISPLAY_COLOURS, .values = &values_palettes),
    STRING("range", 0, "RANGE", IN(display.style.range),
           "range of values mapped to the colour scale; all, head, row or LOW:HIGH; default: 0:1 "
           "for attention, else all; of tokens: --token-range",
           .display = DISPLAY_COLOURS, .values = &values_ranges),
    STRING("color-scale", 0, "SCALE", IN(display.style.scale),
           "linear (default), or sqrt or log for small values", .display = DISPLAY_COLOURS,
           .values = &values_colour_scales),
    STRINGS("mark", 0, "Q:K,...", IN(display.marks),
            "draw a frame around cells; repeatable; 4:2 is query 4, key 2; 0:4:2 in one layer, "
            "0.1:4:2 in one head",
            .display = DISPLAY_FIGURE),
    STRING("token-range", 0, "A-B", IN(display.style.tokens),
           "draw only tokens A to B; with --words: words A to B", .display = DISPLAY_FIGURE),
    STRING("panel-labels", 0, "a|A|1", IN(display.style.panel_labels),
           "label the panels a, b, ...; A, B, ...; 1, 2, ...; or (a), (b), ...",
           .display = DISPLAY_FIGURE),
    STRING("mask", 0, "hatch|triangle", IN(display.style.mask),
           "masked cells: hatched (default), or left blank; hatch or triangle; --show mask prints "
           "them",
           .display = DISPLAY_FIGURE, .values = &values_masks),
    FLAG("keep-paths", 0, IN(display.keep_paths),
         "record the paths of models and files; in figures and pages; default: their names alone; "
         "'again' reads them"),
    {0},
};

const struct option_row running_options[] = {
    INTEGER("threads", 't', "N", IN(model.threads), 1, POOL_THREADS_MAX,
            "number of threads; default: one per processor; does not affect results",
            .heading = "Running", .flags = OPTION_PROCESS),
    FLAG("quiet", 'q', IN(quiet), "do not print notes and progress", .flags = OPTION_PROCESS),
    FLAG("verbose", 'v', IN(verbose), "also print the model, settings and run time",
         .flags = OPTION_PROCESS),
    FLAG("help", 'h', IN(help), "show this help", .flags = OPTION_FIXED | OPTION_PROCESS),
    {0},
};

/* --- values from tables of the library -------------------------------------------------------- */

VALUES_(, formats, "Formats (--format)", FORMAT_COUNT, format_rows[index]->name,
        format_rows[index]->about)
VALUES_(, endings, "Without --format, the ending of the file (--output) chooses one, in this order",
        FORMAT_COUNT, format_rows[index]->ending, NULL)
VALUES_(, endings_of_people, NULL, FORMATS_OF_WORKING, format_rows[index]->ending, NULL)
VALUES_(, venues, "Venues (--figure-width), by their style files", venue_count,
        venue_rows[index].name, venue_rows[index].about)
VALUES_(, palettes, "Palettes (--palette)", palette_count, palette_rows[index].name,
        palette_rows[index].about)
VALUES_(, precisions, NULL, PRECISIONS, precision_name((enum precision)index), NULL)
VALUES_(, block_modules, NULL, BLOCK_MODULES, block_module_names[index], NULL)
WORDS_(, models, "Bundled models (--model); ./tiny is a folder with the same name",
       {"tiny", "GPT-2 with 2 layers, trained on short fables"},
       {"life", "worked example with 6 words: one head, no mask"},
       {"life-causal", "life with a causal mask"}, {"life-4-heads", "life with four heads"},
       {"life-grouped", "life with four query heads, two key/value heads"},
       {"life-cross", "cross-attention: keys and values of a second text"},
       {"journey", "6 words, attention without weight matrices"},
       {"journey-causal", "journey with a causal mask"},
       {"journey-seven", "journey and its context of 'journey' as a seventh word"},
       {"nlp", "22 Chinese words, attention without weight matrices"},
       {"translate", "encoder-decoder, English (22 words) to French"},
       {"translate-zh", "encoder-decoder, English (22 words) to Chinese"},
       {"cloze", "BERT, 2 layers, 4 heads: predicts words at [MASK]"},
       {"roles", "English and Chinese: a head finds what 'it' means"},
       {"recall", "a layer that keeps a state, weights set by hand"})

#define PLAIN_NAMES(list, names) \
    VALUES_(, list, NULL, sizeof(names) / sizeof *(names), (names)[index], NULL)

PLAIN_NAMES(views, style_view_names)
PLAIN_NAMES(cells, style_cells_names)
PLAIN_NAMES(colour_scales, style_scale_names)
PLAIN_NAMES(ranges, style_range_names)
PLAIN_NAMES(masks, figure_mask_names)
PLAIN_NAMES(presets, style_preset_names)

VALUES_(, attention, "Attention patterns (--attention), which + combines", attention_kind_row_count,
        attention_kind_rows[index].name, attention_kind_rows[index].about,
        .end = attention_kind_rows[index].numbers ? ':' : '\0',
        .argument = attention_kind_rows[index].numbers)
VALUES_(, keys, "Settings (--set), depending on the type of the model", config_key_count,
        config_keys[index].name, config_keys[index].about, .end = '=')

static const char *about_shape(const struct shape_row *row)
{
    static char text[128];
    snprintf(text, sizeof text, "%zu layers, %zu heads, %zu channels, %zu positions", row->n_layer,
             row->n_head, row->n_embd, row->n_positions);
    return text;
}

VALUES_(, shapes, "Shapes (--shape)", shape_count, shape_rows[index].name,
        about_shape(&shape_rows[index]))

/* --- words ------------------------------------------------------------------------------------ */

WORDS_(, specials, NULL, {"auto", "as the tokenizer does in Hugging Face (default)"},
       {"none", "no special tokens"}, {"bos", "only a beginning-of-text token"})
WORDS_(, languages, NULL, {"en", "English"}, {"zh", "Chinese"})
WORDS_(, scales, NULL, {"none", "no scale"}, {"sqrt", "divide scores by √d_k"})
WORDS_(, means, NULL, {"heads", "average over heads"}, {"layers", "average over layers"},
       {"texts", "average over texts, position by position"}, {"regions", "each @NAME as one row"})
WORDS_(, colors, NULL, {"auto", "if the terminal has colours"}, {"always", NULL}, {"never", NULL})
WORDS_(, edits, "Edits",
       {"SITE = 0",
        "set a tensor to 0 in all layers; h.2.SITE: in layer 2; 'help tensors' lists the names"},
       {"SITE[PLACES] = X",
        "set only part of it to X, by layer, head, token (or query), key, channel or expert: "
        "[head=6,token=-1]; k and v of heads that share them have kv_head in place of head"},
       {"SITE * X", "multiply by X"},
       {"SITE = mean", "set it to its mean over the texts of --reference, position by position"},
       {"SITE = resample:SEED", "set it to its value in a random text of --reference"},
       {"SITE = from", "set it to its value in a run on the text of --from"},
       {"SITE + X", "add a number"},
       {"SITE + X*FILE",
        "add X times an array: .npy for all layers, .safetensors with h.L.SITE for "
        "each, FILE.safetensors:NAME, or a control vector of llama.cpp (.gguf); "
        "SITE = FILE replaces the tensor"},
       {"SITE + X*DIR#N", "add X times the direction of feature N of a sparse autoencoder"},
       {"features[PLACES] = X",
        "change features of --sae DIR, feature=27,token=-1; also * X, + X, = mean, = from; "
        "features = decoded is the reconstruction alone"},
       {"SITE - proj(FILE)", "remove each token's part along a vector of such a file"},
       {"token=prompt", "while generating, all of the prompt; token=-1 is each newest token"},
       {"{NAME}", "in a batch, a value of --sweep NAME=0,2,4"})

/* The default tensors of each format, for help; a test compares the list with the output. */
WORDS_(, defaults, "Default tensors and layers",
       {"text", "layer -1: tokens, weights, context; with an encoder: tokens, enc.weights, "
                "weights, cross_weights"},
       {"html", "layer all: embedding, weights; with an encoder: embedding, "
                "source_embedding, enc.weights, weights, cross_weights"},
       {"all others", "layer all: weights; with an encoder: enc.weights, weights, "
                      "cross_weights"})

/* --- tensors ---------------------------------------------------------------------------------- */

/* Headings in the list of tensors in help; under them, tensors are listed without descriptions. */
static const char *const branch_headings[SITE_BRANCHES] = {
    [BRANCH_SOURCE] = "Encoder:",
    [BRANCH_CROSS] = "Cross-attention:",
    [BRANCH_PER_LAYER] = "Inputs of single layers:",
    [BRANCH_MIXER] = "Layers that keep a state:",
    [BRANCH_LAUREL] = "Low-rank branch beside attention:",
};

static bool tensors_at(struct value *value, size_t index, const struct command_list *all)
{
    (void)all;
    static const struct value words[] = {
        {.name = "all", .about = "all tensors of the model up to logits"},
        {.name = "tokens", .about = "table of the tokens (text format only)"},
        {.name = "finding",
         .about = "run, alone: table of the heads that matter, with their query and key, S and D "
                  "in bits, and the prediction with and without the arrow; without options, text "
                  "on standard output has it in words, and the weights and context of its layer"},
    };
    enum { WORDS = sizeof words / sizeof *words };
    if (index < WORDS) {
        *value = words[index];
        return true;
    }
    enum site site = 0;
    for (; site != SITE_END; site = site_next(site))
        if (site_about(site) && index-- == WORDS)
            break;
    if (site == SITE_END)
        return false;
    *value = (struct value){.name = site_name(site), .about = site_about(site)};
    if (site_id(site) != SITE_EMBEDDING)
        value->heading = branch_headings[site_branch(site)];
    return true;
}

const struct value_list values_tensors = {
    "tensors", "Tensors (--show), in the order of the forward pass", tensors_at};
