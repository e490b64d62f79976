/* options.h: the command line as a struct: one table row an option.
 *
 * Every option has a long form; `--name value`, `--name=value`, `-n value`, `-nvalue` and grouped
 * flags are read, `--` ends options. What is not in the table for this command is refused, with the
 * nearest name that is. Help, the man page and the completions walk the same rows.
 */
#ifndef ATTN_CMD_OPTIONS_H
#define ATTN_CMD_OPTIONS_H

#include "base/buf.h"
#include "math/precision.h"
#include "model/weight_init.h"
#include "train/trainer_settings.h"

/* The commands an option belongs to. */
enum {
    FOR_RUN = 1 << 0,
    FOR_TOKENIZE = 1 << 1,
    FOR_INFO = 1 << 2,
    FOR_HELP = 1 << 3,
    FOR_GENERATE = 1 << 4,
    FOR_BENCH = 1 << 5,
    FOR_INIT = 1 << 6,
    FOR_EXPLAIN = 1 << 7,
    FOR_LESSON = 1 << 8,
    FOR_TRAIN = 1 << 11,
    FOR_HEADS = 1 << 12,
    FOR_COMPARE = 1 << 13,
    FOR_SCORE = 1 << 14,
    FOR_LENS = 1 << 15,
    FOR_BATCH = 1 << 16,
    FOR_ATTRIBUTE = 1 << 19,
    FOR_PATCH = 1 << 20,
    FOR_PAGE = 1 << 21,
    FOR_ALL = ~0,

    /* What `batch --do` has in place of `run`: FOR_BATCH | FOR_LENS. */
    INSTRUMENTS = FOR_SCORE | FOR_LENS | FOR_ATTRIBUTE | FOR_PATCH | FOR_HEADS | FOR_GENERATE,

    /* `batch` has every option of the command that it does, but for rows marked so; --sweep may
     * vary each of these, but for rows with one of the others. */
    NOT_BATCH = 1 << 28,
    NOT_SWEPT = 1 << 29,
    PROCESS = 1 << 25, /* how a process works and where it writes: not part of options.line */
    TEXT = 1 << 26,    /* a text, or a file of texts: each item has its own */
    VIEW = 1 << 27,    /* how results are shown */
};

struct texts {
    const char **items;
    size_t count;
};

/* Add one that is borrowed; their list is the arena's. And whether one of them reads so. */
int texts_add(struct texts *texts, const char *text, struct arena *arena, struct err *err);
bool texts_have(const struct texts *texts, const char *text);

/* What the command line says, by what reads it. Numbers are 0 where they were not given, but for
 * OPTIONS_DEFAULT. */
struct input_options {
    struct texts operands; /* of most commands texts, too; of others a model, a file, a step */
    struct texts sentences;
    const char *file, *ids, *source;
    bool bos, no_bos, add_special, no_special, any_length, document;
};

struct model_options {
    const char *name;
    struct texts names; /* of commands that take several, `name` the last; see model_list.c */
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
    const char *show, *layer, *head, *mean;
    bool words, hide_first;
};

struct output_options {
    const char *format, *path;
    bool force;
};

/* The form of a figure for a paper. */
struct figure_options {
    const char *width, *font, *panel_labels, *mask, *tokens;
    struct texts marks;
    double font_size;
    long long dpi, top;
};

/* How pages and pictures look. */
struct looks_options {
    const char *view, *cells, *color_scale, *range, *palette, *color, *title;
    long long width;
    bool full;
    struct figure_options figure;
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

struct train_options {
    struct texts data;
    const char *resume;
    struct trainer_settings settings; /* but for the seed */
    long long seed;
};

struct options {
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
    struct train_options train;
    struct {
        const char *lengths, *only, *shape;
        bool growth;
        long long repeat; /* of compare, too */
    } bench;
    struct {
        const char *token, *part;
        long long digits;
    } explain;
    struct {
        const char *score, *sort, *map, *composition, *pairs, *needles;
        bool baseline;
        long long top;
    } heads;
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
    struct { /* of help and lesson */
        const char *completion;
        bool man, list;
    } learn;
    struct { /* of tokenize and info */
        bool only_ids, decode;
        long long sizes; /* for a text of so many */
        bool hash;
    } tokens;
};

#define OPTIONS_DEFAULT                                                                          \
    {                                                                                            \
        .mechanism.temperature = 1, .generate = {.tokens = 32, .top_p = 1}, .score.best = 3,     \
        .lens.best = 3, .bench.repeat = 5, .make.seed = ORIGIN_SEED,                             \
        .train.settings = {                                                                      \
            .steps = 1000, .texts = 32, .accumulate = 1, .rate = 1e-3, .decay = 0.1, .clip = 1}, \
    }

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_TEXTS, OPTION_NUMBER, OPTION_REAL };

struct option_row {
    const char *name;
    char letter; /* 0: none */
    enum option_kind kind;
    const char *argument; /* what help calls its value: DIR, N, … */
    size_t offset;        /* of its field in struct options */
    int commands;         /* FOR_… */
    long long min, max;   /* of numbers */
    const char *about;
};

/* The table of all options: its rows, from 0. */
size_t option_count(void);
const struct option_row *option_at(size_t index);

/* Read what follows the command's name. Texts are borrowed from `arguments`. Errors are usage. */
int options_parse(struct options *options, int command, char **arguments, struct arena *arena,
                  struct err *err);

/* Whether a long name is one that the command line had, be it with the value that it has anyway. */
bool options_are_given(const struct options *options, const char *name);

/* Set an option by its long name, as a command line would; of a flag the value is true or false. */
int options_set(struct options *options, int command, const char *name, const char *value,
                struct arena *arena, struct err *err);

/* True when one of these commands has the option; the option of a long name of `size` bytes, or of
 * a letter, that one of them has, or NULL; whether an argument, `-s` or `--layer=0`, begins one. */
bool option_serves(const struct option_row *row, int commands);
const struct option_row *option_find(int commands, const char *name, size_t size);
const struct option_row *option_find_letter(int commands, char letter);
bool option_has_name(int commands, const char *name);
bool option_is_known(int commands, const char *argument);

/* The instrument of a batch, a bit; 0: it does `run`. */
int options_instrument(const struct options *options);

/* --precision: fp32, where it is not given. */
int options_precision(enum precision *precision, const struct model_options *options,
                      struct err *err);

/* --- options that a command does not have: removed, of other commands, misspelt --------------- */

/* Refuse a long name, where the command has no such option; one that it has not, of `size` bytes
 * without its dashes; and a letter. */
int options_check_name(int command, const char *name, struct err *err);
int unknown_name(int command, const char *name, size_t size, struct err *err);
int unknown_letter(int command, const char *letter, struct err *err);

/* Refuse a word that would be taken for something else: `-layer`, whose l is no option and whose
 * dash should be two; `–layer`, with the dash of a word processor. 0 for any other. */
int unknown_dashes(int command, const char *argument, struct err *err);

/* Refuse a command, or a command's option, that an earlier version had, and name its replacement
 * (removed.c). 0 for any other name. */
int removed_command(const char *name, struct err *err);
int removed_option(int command, const char *name, struct err *err);
int removed_explain_format(const struct output_options *output, struct err *err);

/* --- settings: options that differ between the runs of a batch -------------------------------- */

/* True for an option that --sweep may vary: one that results depend on. */
bool settings_may_vary(const struct option_row *row);

bool settings_same(const struct option_row *row, const struct options *a, const struct options *b);

/* Append the option's value as a command line has it: nothing where it was not given. */
void settings_value(struct buf *out, const struct option_row *row, const struct options *options);

#endif
