/* options.h: the command line as a struct: one table row an option.
 *
 * Every option has a long form; `--name value`, `--name=value`, `-n value`, `-nvalue` and grouped
 * flags are read, `--` ends options. What is not in the table for this command is refused, with the
 * nearest name that is. Help, the man page and the completions walk the same rows.
 */
#ifndef ATTN_CMD_OPTIONS_H
#define ATTN_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/precision.h"

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
    FOR_VOCAB = 1 << 9,
    FOR_CORPUS = 1 << 10,
    FOR_TRAIN = 1 << 11,
    FOR_HEADS = 1 << 12,
    FOR_COMPARE = 1 << 13,
    FOR_BATCH = 1 << 16,
    FOR_MERGE = 1 << 17,
    FOR_ITEM = 1 << 18, /* no command: what one item of `batch` may say */
    FOR_ALL = ~0,

    /* `batch` and its items have every option of `run`, but for rows marked so. */
    NOT_BATCH = 1 << 28,
    NOT_ITEM = 1 << 29,
    /* All of them change what is computed (settings.h), but for: */
    PROCESS = 1 << 25, /* how one process does it, and where to: results do not depend on it */
    TEXT = 1 << 26,    /* what is looked at */
    VIEW = 1 << 27,    /* what is shown of it, and how */
};

struct texts {
    const char **items;
    size_t count;
};

struct options {
    const char *model;
    struct texts sentences;
    const char *file;
    const char *ids;
    const char *source;
    const char *attention;
    const char *attention_of;
    const char *mask_method;
    const char *scale;
    const char *without;
    double softness; /* --temperature of the scores; 1: not given */
    double dropout;
    const char *token;
    const char *show;
    const char *layer;
    const char *head;
    const char *format;
    const char *output;
    const char *precision;
    const char *completion;
    const char *shape;
    const char *lengths; /* of texts: a list */
    const char *only;
    const char *save;
    const char *like;
    const char *config;
    const char *vocab;
    const char *merges;
    const char *draw;
    const char *sort, *map; /* scores of heads */
    const char *rule;       /* of a grammar */
    long long size;         /* of a vocabulary; 0: not given */
    long long count;        /* of texts; 0: not given */
    struct texts sets;
    struct texts data; /* what a model is trained on */
    const char *resume_from;
    long long steps, batch, context, accumulate, save_every; /* 0: not given */
    long long warmup;                                        /* -1: not given */
    double rate, decay, clip, drills;
    long long table;      /* 0: not given */
    long long torch_seed; /* -1: not given */
    const char *input;    /* what kind of file a batch is read from */
    const char *reduce;
    bool per_item;
    const char *shard;
    struct texts sweeps;
    bool dry_run;
    bool resume;
    bool force;
    bool fail_fast;
    const char *mean;
    const char *view; /* of pictures, and all up to the title */
    const char *color_scale;
    const char *range;
    const char *palette;
    const char *cells;
    const char *color;
    const char *title;
    long long threads; /* 0: one a processor */
    long long width;   /* 0: the terminal's */
    long long tokens;  /* 0: not given */
    long long digits;  /* 0: not given */
    double temperature;
    double top_p;
    long long top_k;
    long long seed;
    bool no_stop;
    bool logprobs;
    long long repeat; /* 0: not given */
    bool full;
    bool list;
    bool words;
    bool hide_first;
    bool only_ids;
    bool decode;
    bool bos;
    bool no_special;
    bool json;
    bool man;
    bool quiet;
    bool verbose;
    bool help;
    struct texts operands;
    struct texts given; /* the long names of all options on the command line, in its order */
};

/* What holds where nothing was given; all else is 0. */
#define OPTIONS_DEFAULT                                                                    \
    {                                                                                      \
        .top_p = 1, .torch_seed = -1, .warmup = -1, .rate = 1e-3, .decay = 0.1, .clip = 1, \
        .softness = 1                                                                      \
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

enum { OPTIONS_MAX = 256 }; /* rows of the table */

extern const struct option_row option_rows[];
extern const size_t option_count;

/* Read what follows the command's name. Texts are borrowed from `arguments`. Errors are usage. */
int options_parse(struct options *options, int command, char **arguments, struct arena *arena,
                  struct err *err);

/* Whether a long name is one that the command line had, be it with the value that it has anyway. */
bool options_are_given(const struct options *options, const char *name);

/* True when one of these commands has the option; an option of that long name. */
bool option_serves(const struct option_row *row, int commands);
bool option_has_name(int commands, const char *name);

/* Refuse a long name that the command has no option of. */
int options_check_name(int command, const char *name, struct err *err);

/* Set one option by its long name, as a command line would: the value of a flag is true or false.
 * `value` is borrowed. */
int options_set(struct options *options, int command, const char *name, const char *value,
                struct arena *arena, struct err *err);

/* True when one of these commands has the option that an argument, `-s` or `--layer=0`, begins. */
bool option_is_known(int commands, const char *argument);

/* --precision: fp32, where it is not given. */
int options_precision(enum precision *precision, const struct options *options, struct err *err);

/* --format of commands that print a page or JSON. */
int options_check_page(const struct options *options, struct err *err);

#endif
