/* options.h: options as rows of tables, and the command line as a struct.
 *
 * A command's options are the rows of its own table, in the command's file, and the tables of
 * shared options (shared_options.c) that its row names, less those it excepts. Where two tables
 * have an option of the same name, the first one holds: a command's own row restricts a shared one.
 * The parser, help, manual pages and completions all walk these rows.
 *
 *     static const struct option_row own_options[] = {
 *         FLAG("list", 0, OWN(struct lesson_options, list), "list the steps"),
 *         INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX, "seed of the random tokens"),
 *         STRING("scale", 0, "X", IN(mechanism.scale), "multiply scores by X", .values = &values),
 *         {0},
 *     };
 *
 * Every option has a long form; `--name value`, `--name=value`, `-n value`, `-nvalue` and grouped
 * flags are read, `--` ends options. Any other name is refused, with the nearest one.
 */
#ifndef ATTN_CMD_OPTIONS_H
#define ATTN_CMD_OPTIONS_H

#include <stddef.h>

#include "base/buf.h"
#include "math/precision.h"
#include "write/style.h"

struct command;

/* Whose options they are; `done` is the command that a batch does (--do), else NULL. */
struct option_set {
    const struct command *command, *done;
};

struct texts {
    const char **items;
    size_t count;
};

/* Add one that is borrowed; their list is the arena's. */
int texts_add(struct texts *texts, const char *text, struct arena *arena, struct err *err);

/* What the command line says, by what reads it. A number that is not given is its row's preset. */
struct input_options {
    struct texts operands; /* of most commands texts, too; of others a model, a file, a step */
    struct texts sentences;
    const char *file, *ids, *source, *special;
    bool literal_special, any_length, document, chat;
    bool begins_texts; /* without --special: after the beginning token, if the model has one */
};

struct model_options {
    struct texts names; /* of --model, in the order given; see sweep.h */
    const char *name;   /* the last one, for commands that take one */
    const char *precision;
    long long threads;
};

/* The way a model attends; `seed` is that of generate's tokens, too. */
struct mechanism_options {
    const char *attention, *scale, *without;
    double temperature, dropout;
    long long seed;
    bool mask_after;
};

/* What is changed on its way, and the texts whose values it takes. */
struct edit_options {
    struct texts edits, ablations, knockouts;
    const char *from, *reference;
};

struct select_options {
    const char *show, *layer, *head, *query, *mean;
    bool words, hide_first;
};

struct output_options {
    const char *format, *path;
    bool force;
};

/* The display of pages, pictures and figures; `marks` are those of `style`. */
struct looks_options {
    struct style_words style;
    const char *color, *title;
    struct texts marks;
    long long width, dpi;
    double font_size;
    bool full;
};

struct generate_options {
    long long tokens, top_k, beams;
    double temperature, top_p;
    bool ignore_eos, logprobs;
};

struct score_options {
    struct texts continuations;
    long long best, stride;
    const char *per;
    bool bits, total, begin_word;
};

struct batch_options {
    struct texts sweeps;
    long long repeat;
    const char *shard, *instrument;
    bool dry_run, resume, join, fail_fast;
};

/* What init and train make. */
struct make_options {
    const char *shape, *like, *config, *vocab, *merges, *draw;
    struct texts sets, texts; /* --vocab-from */
    long long table, seed, size;
};

enum { OWN_BYTES = 256 };

struct options {
    struct option_set set;
    struct texts given; /* the long names of all options on the command line, in its order */
    const char *line;   /* the command line after the command, " -m 'my model' 'Life is'", without
                           options that do not change the result */
    bool quiet, verbose, help;
    struct input_options input;
    struct model_options model;
    struct mechanism_options mechanism;
    struct edit_options edit;
    struct select_options select;
    struct output_options output;
    struct looks_options looks;
    struct generate_options generate;
    struct score_options score;
    struct {
        const char *site, *target;
        long long best;
    } lens;
    struct batch_options batch;
    struct make_options make;
    struct {
        const char *token, *part;
        long long digits;
    } explain;
    struct {
        const char *pairs, *needles;
    } heads; /* files that a batch hashes */
    struct {
        const char *answer, *position, *by;
    } attribute; /* the first two of patch, too */
    struct {     /* what a page holds besides tensors */
        const char *explain, *scores;
        bool live;
        long long top;
        bool lens, unedited;
    } page;
    struct {
        const char *clean, *corrupt, *over, *path;
        bool noise;
    } patch;
    struct { /* of tokenize; the first of patch, too */
        bool only_ids, decode;
    } tokens;
    _Alignas(max_align_t) unsigned char own[OWN_BYTES]; /* a struct of the command's own file */
};

/* Where a row puts its value: a field of struct options; of a struct that is in options.own. */
#define IN(field) offsetof(struct options, field)
#define OWN(type, field)                                     \
    (offsetof(struct options, own) + offsetof(type, field) + \
     0 * sizeof(char[sizeof(type) <= OWN_BYTES ? 1 : -1]))

/* --- rows ------------------------------------------------------------------------------------- */

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_TEXTS, OPTION_NUMBER, OPTION_REAL };

enum option_flags {
    OPTION_FIXED = 1 << 0,     /* --sweep does not vary it: it is the same for all, or an item's */
    OPTION_PROCESS = 1 << 1,   /* how a process works and where it writes: not in options.line */
    OPTION_NOT_BATCH = 1 << 2, /* a batch that does the command has no such option */
};

struct option_row {
    const char *name; /* NULL: the end of the table */
    char letter;      /* 0: none */
    enum option_kind kind;
    const char *argument;            /* its value's name in help: DIR, N, … */
    size_t offset;                   /* IN(…) or OWN(…) */
    long long min, max;              /* of numbers */
    const char *about;               /* one line of help */
    double preset;                   /* a number that is not given */
    const char *heading;             /* of this row and the next ones; NULL: as the one before */
    const struct value_list *values; /* NULL: free */
    const char *joints;              /* between several values: any of these; NULL: one value */
    unsigned looks;                  /* LOOKS_… of formats that it has an effect on; 0: all */
    unsigned flags;
};

/* The last argument is the line of help; other fields may follow it, as .preset = 3. */
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

/* Tables of shared options, in the order of 'help options'. */
extern const struct option_row text_options[], model_options[], mechanism_options[], edit_options[],
    select_options[], output_options[], table_options[], terminal_options[], figure_options[],
    running_options[];
extern const struct option_row *const shared_options[]; /* all of them; NULL ends it */

/* A table of shared options, less some names: "ids source". */
struct option_use {
    const struct option_row *rows;
    const char *except;
};

/* The option of a long name of `size` bytes, or of a letter, or NULL. */
const struct option_row *option_find(struct option_set set, const char *name, size_t size);
const struct option_row *option_find_letter(struct option_set set, char letter);

/* True for one of several names with blanks between. */
bool name_is_among(const char *names, const char *name);

/* Whether an argument, `-s` or `--layer=0`, begins an option. */
bool option_is_known(struct option_set set, const char *argument);

/* All options of a set, each once:
 *
 *     struct option_walk walk = {.set = set};
 *     while (option_next(&walk))
 *         ... walk.row, walk.heading, walk.is_shared ...
 */
struct option_walk {
    struct option_set set;
    const struct option_row *row;
    const char *heading;
    bool is_shared;      /* the row is of a shared table */
    size_t table, place; /* of the next row to look at */
};

bool option_next(struct option_walk *walk);

/* --- values of options and operands ----------------------------------------------------------- */

enum { VALUE_TEXT_BYTES = 192 };

struct value {
    const char *name;            /* as it is typed */
    char end;                    /* what must follow it, ':' or '='; 0: nothing */
    const char *argument;        /* of that which follows: "W"; NULL: help does not say */
    const char *about;           /* a line for help; NULL: the name says all */
    const char *heading;         /* help lists it by its name alone, after this; or NULL */
    char text[VALUE_TEXT_BYTES]; /* memory for `name` or `about` */
};

struct value_list {
    const char *name;  /* for scripts: one word */
    const char *title; /* of its part of the help, up to a comma or semicolon; NULL: no part */
    bool (*at)(struct value *value, size_t index); /* false after the last; see value_at */
    const char *note;                              /* below the values; NULL: none */
};

bool value_at(struct value *value, const struct value_list *list, size_t index);

/* Define LIST_at, of `count` values by their `index`. */
#define VALUES_AT(list, count, name_of, about_of)            \
    static bool list##_at(struct value *value, size_t index) \
    {                                                        \
        if (index >= (size_t)(count))                        \
            return false;                                    \
        value->name = (name_of);                             \
        value->about = (about_of);                           \
        return true;                                         \
    }

/* Define LIST_at of a few words, each {name, what it means or NULL}. */
#define WORDS_AT(list, ...)                                                             \
    static const char *const list##_words[][2] = {__VA_ARGS__};                         \
    VALUES_AT(list, sizeof list##_words / sizeof *list##_words, list##_words[index][0], \
              list##_words[index][1])

/* Define values_LIST of either, for the file's own options. */
#define VALUES(list, title, count, name_of, about_of) \
    VALUES_AT(list, count, name_of, about_of)         \
    static const struct value_list values_##list = {#list, title, list##_at, NULL};
#define WORDS(list, title, ...) \
    WORDS_AT(list, __VA_ARGS__) \
    static const struct value_list values_##list = {#list, title, list##_at, NULL};

/* Lists that several commands use. */
extern const struct value_list values_formats, values_table_formats, values_models,
    values_attention, values_precisions, values_tensors, values_shapes, values_keys,
    values_specials, values_palettes, values_venues, values_edits, values_defaults, values_scales,
    values_block_parts, values_means, values_views, values_cells, values_colour_scales,
    values_ranges, values_masks, values_colors, values_settings;

/* --- the command line ------------------------------------------------------------------------- */

/* Numbers as their rows preset them, and nothing else. */
void options_init(struct options *options, struct option_set set);

/* Read the arguments after the command's name. Texts are borrowed from `arguments`. Errors are
 * usage. */
int options_parse(struct options *options, const struct command *command, char **arguments,
                  struct arena *arena, struct err *err);

/* Whether the command line has that long name, even with the value that it has anyway. */
bool options_are_given(const struct options *options, const char *name);

/* Refuse an option of the command line with one of several others, "ids source". */
int options_exclude(const struct options *options, const char *name, const char *others,
                    struct err *err);

/* Set an option by its long name, as a command line would; of a flag the value is true or false. */
int options_set(struct options *options, const char *name, const char *value, struct arena *arena,
                struct err *err);

/* --precision: float32, where it is not given. */
int options_precision(enum precision *precision, const struct model_options *options,
                      struct err *err);

/* --- options that a command does not have: removed, of other commands, misspelt --------------- */

/* Refuse a long name that the command does not have; nothing if it has. */
int options_check_name(struct option_set set, const char *name, struct err *err);

/* Refuse a command, or a command's option, of an earlier version, and name its replacement
 * (removed.c). 0 for any other name. */
int removed_command(const char *name, struct err *err);
int removed_option(struct option_set set, const char *name, struct err *err);
int removed_explain_format(const struct output_options *output, struct err *err);

/* --- settings: options that differ between the runs of a batch -------------------------------- */

/* True for an option that --sweep may vary: one that results depend on. */
bool settings_may_vary(const struct option_row *row);

/* Append the option's value as a command line has it: nothing where it was not given. */
void settings_value(struct buf *out, const struct option_row *row, const struct options *options);

#endif
