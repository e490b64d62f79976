/* options.h: tables of options, and the parsed command line.
 *
 * A command has the options of its own table and of the shared tables (shared_options.c) that its
 * row lists, minus its `without`. If two tables have an option of the same name, the first row is
 * used. The parser, help, manual pages and completions all read these rows.
 *
 *     static const struct option_row own_options[] = {
 *         FLAG("list", 0, OWN(list), "list the steps"),
 *         INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX, "seed of the random tokens"),
 *         STRING("scale", 0, "X", IN(mechanism.scale), "multiply scores by X"),
 *         {0},
 *     };
 *     if (options_own(options)->list) ...
 *
 * Accepted: `--name value`, `--name=value`, `-n value`, `-nvalue`, grouped flags; `--` ends the
 * options. */
#pragma once

#include "base/buf.h"
#include "write/style.h"

struct command;

/* The options of a command. `done`: the command that a batch runs (--do), else NULL. `all`: the
 * commands that messages and lists may name; NULL: none. */
struct command_list;
struct option_set {
    const struct command *command, *done;
    const struct command_list *all;
};

struct texts {
    const char **items;
    size_t count;
};

/* Append a text to the list. The text is not copied; the list is in the arena. */
int texts_add(struct texts *texts, const char *text, struct arena *arena, struct err *err);

struct input_options {
    /* arguments that are not options: texts, unless the command's `operands` says otherwise */
    struct texts operands;
    struct texts sentences;
    const char *file, *ids, *source, *pair, *special;
    const char *weights, *tokens; /* paths of --weights and --tokens (weights_file.h) */
    const char *text_column, *id_column, *regions, *joint, *word_column, *by;
    bool literal_special, any_length, document, chat, trim;
    bool is_hosted; /* the caller is attn_report: standard input is not read by default */
};

struct model_options {
    struct texts names; /* values of all --model options, in their order; see sweep.h */
    const char *name;   /* value of the last --model */
    const char *precision;
    long long threads;
};

/* Options of the attention mechanism. `seed` is also the seed of generate, heads and batch. */
struct mechanism_options {
    const char *attention, *scale, *without;
    double temperature, dropout;
    long long seed;
    bool mask_after;
};

struct edit_values;

struct edit_options {
    struct texts edits, ablations, knockouts;
    const char *from, *reference;
    struct texts dictionaries; /* paths of --sae */
    /* edits differ between the settings of a sweep: some may not use --from and --reference */
    bool are_swept;
    /* values for edits, passed by the caller of attn_report; NULL: no values */
    const struct edit_values *values;
};

struct select_options {
    const char *show, *layer, *head, *query, *key, *mean, *pool, *gradient, *names, *caption;
    bool words, bits, hide_first, stats, normalize, cosines, stack, align;
};

struct output_options {
    const char *format, *path, *locale;
    bool force, no_text;
};

/* Options of text output, pages and figures. */
struct display_options {
    struct style_words style;
    const char *color, *title, *language;
    struct texts marks;
    long long width, dpi;
    double font_size;
    bool full, matrices, keep_paths;
};

struct generate_options {
    long long tokens, top_k, beams;
    double temperature, top_p;
    bool ignore_eos, logprobs;
};

struct score_options {
    struct texts continuations;
    long long best, next, window, stride;
    const char *per, *group, *unigrams;
    bool total, begin_word, within_word, classes;
};

struct batch_options {
    struct texts sweeps;
    long long repeat;
    const char *shard, *instrument, *y;
    bool dry_run, resume, join, fail_fast;
};

/* Options of init and train. */
struct make_options {
    const char *shape, *like, *config, *vocab, *merges, *draw;
    struct texts sets, texts; /* `sets`: values of --set; `texts`: paths of --vocab-from */
    long long table, seed, size;
};

enum { OWN_BYTES = 256 };

struct options {
    struct option_set set;
    struct texts given; /* long names of the options that were given or swept, in order */
    /* the command line, " -m 'my model' 'Life is'", without options that have OPTION_PROCESS */
    const char *line;
    bool quiet, verbose, help;
    struct input_options input;
    struct model_options model;
    struct mechanism_options mechanism;
    struct edit_options edit;
    struct select_options select;
    struct output_options output;
    struct display_options display;
    struct generate_options generate;
    struct score_options score;
    struct {
        const char *site, *target, *jacobian;
        long long best, tokens;
        bool fit;
    } lens;
    struct batch_options batch;
    struct make_options make;
    struct {
        const char *token, *key, *part;
        long long digits;
    } explain;
    struct {
        const char *pairs, *needles; /* paths of --pairs and --needle */
        long long top;
        bool contacts;
    } heads;
    struct {
        const char *answer, *position, *by, *head, *key, *against, *part;
        const char *method, *rule, *baseline;
        long long depth, steps;
    } attribute; /* `answer` is also used by patch, and `position` by patch and run */
    struct {
        const char *explain, *scores;
        bool live;
        long long top;
        bool lens, unedited;
    } page;
    struct {
        const char *clean, *corrupt, *corrupt_source, *over, *path, *joint, *with, *metric;
        bool noise, estimate;
        long long steps, verify;
    } patch;
    struct { /* `only_ids` is also used by patch, for its --ids */
        bool only_ids, decode;
    } tokens;
    /* the command's own options: a struct own_options of its file, which options_own returns */
    _Alignas(max_align_t) unsigned char own[OWN_BYTES];
};

/* Where a row stores its value: in a field of struct options (IN), or in a field of struct
 * own_options in the command's file (OWN). */
#define IN(field) offsetof(struct options, field)
#define OWN(field)                                                         \
    (offsetof(struct options, own) + offsetof(struct own_options, field) + \
     0 * sizeof(char[sizeof(struct own_options) <= OWN_BYTES ? 1 : -1]))

static inline const struct own_options *options_own(const struct options *options)
{
    return (const void *)options->own;
}

/* --- rows ------------------------------------------------------------------------------------- */

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_TEXTS, OPTION_NUMBER, OPTION_REAL };

enum option_flags {
    OPTION_FIXED = 1 << 0, /* --sweep cannot vary the option */
    /* the option does not affect results, and is left out of options.line */
    OPTION_PROCESS = 1 << 1,
    OPTION_NOT_BATCH = 1 << 2, /* the option is not available in batch --do */
    OPTION_UNSWEPT = OPTION_FIXED | OPTION_PROCESS,
};

struct option_row {
    const char *name; /* long name; NULL: the end of the table */
    char letter;      /* name of one letter; 0: no such name */
    enum option_kind kind;
    const char *argument; /* name of the value in help: DIR, N, … */
    size_t offset;        /* where the value is stored: IN(…) or OWN(…) */
    long long min, max;   /* smallest and largest value of a number */
    /* Help: the brief, a clause of at most 50 characters up to the first "; ", and then the rest,
     * which only `help COMMAND --full`, manual pages and the search show. */
    const char *about;
    double preset;       /* default of a number */
    const char *former;  /* an older name, which help does not list; NULL: no older name */
    const char *heading; /* heading in help before this row; NULL: the heading of the row above */
    const struct value_list *values; /* the list of valid values; NULL: any text */
    const char *joints; /* characters that separate values; NULL: the option has one value */
    unsigned display;   /* formats that the option affects: bits DISPLAY_…; 0: all */
    unsigned flags;
};

/* Macros for rows. The last argument is the line of help; more fields may follow, such as .preset =
 * 3. */
#define FLAG(option, abbreviation, field, ...) \
    OPTION_(option, abbreviation, OPTION_FLAG, NULL, field, 0, 0, __VA_ARGS__)
#define STRING(option, abbreviation, value, field, ...) \
    OPTION_(option, abbreviation, OPTION_TEXT, value, field, 0, 0, __VA_ARGS__)
#define STRINGS(option, abbreviation, value, field, ...) \
    OPTION_(option, abbreviation, OPTION_TEXTS, value, field, 0, 0, __VA_ARGS__)
#define INTEGER(option, abbreviation, value, field, least, most, ...) \
    OPTION_(option, abbreviation, OPTION_NUMBER, value, field, least, most, __VA_ARGS__)
#define REAL(option, abbreviation, value, field, least, most, ...) \
    OPTION_(option, abbreviation, OPTION_REAL, value, field, least, most, __VA_ARGS__)
#define OPTION_(option, abbreviation, type, value, field, least, most, ...)                       \
    {                                                                                             \
        .name = option, .letter = abbreviation, .kind = type, .argument = value, .offset = field, \
        .min = least, .max = most, .about = __VA_ARGS__                                           \
    }

extern const struct option_row text_options[], model_options[], mechanism_options[], edit_options[],
    select_options[], output_options[], terminal_options[], figure_options[], running_options[];

/* Find an option by its long or former name of `size` bytes, or by its letter. NULL: the set has no
 * such option. */
const struct option_row *option_find(struct option_set set, const char *name, size_t size);
const struct option_row *option_find_letter(struct option_set set, char letter);

/* The number of bytes of the brief with which an option's help begins. */
size_t option_brief_bytes(const struct option_row *row);

/* True if an argument, such as `-s` or `--layer=0`, names an option. */
bool option_is_known(struct option_set set, const char *argument);

/* Iterate over all options of a set:
 *
 *     struct option_walk walk = {.set = set};
 *     while (option_next(&walk))
 *         ... walk.row, walk.heading, walk.is_shared ...
 */
struct option_walk {
    struct option_set set;
    const struct option_row *row;
    const char *heading;
    bool is_shared;      /* the row is in a shared table */
    size_t table, index; /* index of the next row's table, and index of the next row in that
                          * table */
};

bool option_next(struct option_walk *walk);

/* --- values of options and operands ----------------------------------------------------------- */

/* A value of a list of values. Its strings are valid until the next call of value_list.at. */
struct value {
    const char *name;
    char end;             /* ':' or '=', if one of them follows the name; else 0 */
    const char *argument; /* name in help for the text after `end`, such as "W"; NULL: no text */
    const char *about;    /* a line of help; NULL: no description */
    const char *heading;  /* heading in help, under which only names are listed, or NULL */
};

struct value_list {
    const char *name;  /* name of the list, one word, for completion scripts */
    const char *title; /* title of the list in help; NULL: not listed */
    /* Set `*value` to the value with this index; false: the index is past the last value. `all`:
     * all commands, for a list of their names. */
    bool (*at)(struct value *value, size_t index, const struct command_list *all);
};

/* Define values_LIST, a list of `count` values; the other arguments are expressions in `index`.
 * More fields may follow the line of help, such as .end = '='. */
#define VALUES_(storage, list, title, count, name_of, ...)                                   \
    static bool list##_at(struct value *value, size_t index, const struct command_list *all) \
    {                                                                                        \
        (void)all;                                                                           \
        if (index < (size_t)(count))                                                         \
            *value = (struct value){.name = name_of, .about = __VA_ARGS__};                  \
        return index < (size_t)(count);                                                      \
    }                                                                                        \
    storage const struct value_list values_##list = {#list, title, list##_at};

/* Define values_LIST, a list of words, each with its description or NULL: {name, description}. */
#define WORDS_(storage, list, title, ...)                                     \
    static const char *const list##_words[][2] = {__VA_ARGS__};               \
    VALUES_(storage, list, title, sizeof list##_words / sizeof *list##_words, \
            list##_words[index][0], list##_words[index][1])

#define VALUES(...) VALUES_(static, __VA_ARGS__)
#define WORDS(...) WORDS_(static, __VA_ARGS__)

/* Lists of option values that several commands use. */
extern const struct value_list values_formats, values_endings, values_endings_of_people,
    values_models, values_shards, values_attention, values_precisions, values_tensors,
    values_shapes, values_languages, values_keys, values_specials, values_palettes, values_venues,
    values_edits, values_defaults, values_scales, values_block_modules, values_means, values_views,
    values_cells, values_colour_scales, values_ranges, values_masks, values_presets, values_colors,
    values_scores, values_patches;

/* --- the command line ------------------------------------------------------------------------- */

/* Set all options to their defaults. */
void options_init(struct options *options, struct option_set set);

/* Parse the arguments after the command's name. Texts in `options` point into the arguments. */
int options_parse(struct options *options, struct option_set set, char **arguments,
                  struct arena *arena, struct err *err);

/* line_add appends a space and a word, quoted for a shell, to a command line. line_split splits
 * such a line into words, with a NULL at the end. */
void line_add(struct buf *line, const char *word);
char **line_split(const char *line, struct arena *arena, struct err *err);

/* The first option on the command line that is one of `names`, such as "ids source". NULL: none is
 * given. */
const char *options_are_given(const struct options *options, const char *names);

/* Refuse the option `name` together with any of the options `others`, such as "ids source". */
int options_exclude(const struct options *options, const char *name, const char *others,
                    struct err *err);

/* Set an option by its long name. The value of a flag is true or false. */
int options_set(struct options *options, const char *name, const char *value, struct arena *arena,
                struct err *err);

/* Refuse the long name of an option that the command does not have, with a usage error that may
 * suggest another option. Always returns -1. */
int option_refuse(struct option_set set, const char *name, size_t size, struct err *err);
