#include "catalog.h"

#include <string.h>

#include "option_row.h"

/* --- commands --------------------------------------------------------------------------------- */

const struct command_group command_groups[] = {
    {"Inspect", FOR_RUN | FOR_HEADS | FOR_EXPLAIN | FOR_PAGE | FOR_TOKENIZE | FOR_INFO},
    {"Analyse", (INSTRUMENTS & ~FOR_HEADS) | FOR_COMPARE},
    {"Scale", FOR_BATCH | FOR_BENCH},
    {"Build", FOR_INIT | FOR_TRAIN},
    {"Learn", FOR_LESSON},
};

const size_t command_group_count = sizeof command_groups / sizeof *command_groups;

const struct command *command_of(int bit)
{
    const struct command *command = command_rows;
    while (command->bit != bit)
        command++;
    return command;
}

/* --- options ---------------------------------------------------------------------------------- */

enum {
    NAMES_MAX = 16,
    FEW = 9, /* options of a command that needs no headings */
};

/* A command that reads texts: 'help options' describes what these share. */
enum { READERS = LOOKING | FOR_HEADS | FOR_COMPARE | FOR_BATCH | FOR_TOKENIZE };

/* A name that several groups of a command have is listed in the first. */
static const struct group {
    const char *title;
    int commands;
    bool shared;                  /* by commands that read texts */
    const char *names[NAMES_MAX]; /* in the order in which help prints them */
} groups[] = {
    {"Query", FOR_EXPLAIN, false, {"token", "part", "layer", "head"}},
    {"Patching",
     FOR_PATCH,
     false,
     {"clean", "corrupt", "ids", "answer", "position", "over", "path", "noise", "show"}},
    {"Attribution", FOR_ATTRIBUTE, false, {"answer", "position", "by"}},
    {"Generation",
     FOR_GENERATE,
     false,
     {"tokens", "temperature", "top-k", "top-p", "beams", "seed", "ignore-eos", "logprobs"}},
    {"Scoring",
     FOR_SCORE,
     false,
     {"continue", "total", "per", "bits", "begin-word", "stride", "top"}},
    {"Lens", FOR_LENS, false, {"site", "layer", "target", "top", "show"}},
    {"Scores",
     FOR_HEADS,
     false,
     {"score", "sort", "top", "map", "baseline", "composition", "pairs", "needle", "seed"}},
    {"Page", FOR_PAGE, false, {"explain", "top", "lens", "scores", "unedited", "live"}},
    {"Comparison", FOR_COMPARE, false, {"attention", "seed", "repeat"}},
    {"Batch",
     FOR_BATCH,
     false,
     {"do", "sweep", "repeat", "seed", "shard", "join", "resume", "force", "fail-fast", "dry-run"}},
    {"Tokens", FOR_TOKENIZE, false, {"only-ids", "decode"}},
    {"Model details", FOR_INFO, false, {"tokens", "hash"}},
    {"Vocabulary", FOR_INIT, false, {"sentence", "vocab-from", "vocab-size", "vocab", "merges"}},
    {"Sizes", FOR_INIT, false, {"like", "shape", "config", "set"}},
    {"Random weights", FOR_INIT, false, {"seed", "draw", "table"}},
    {"Model", FOR_BENCH, false, {"model", "shape"}},
    {"Measurements",
     FOR_BENCH,
     false,
     {"tokens", "only", "repeat", "precision", "growth", "attention"}},
    {"Text and model",
     FOR_TRAIN,
     false,
     {"data", "shape", "config", "set", "vocab", "merges", "model", "resume"}},
    {"Training",
     FOR_TRAIN,
     false,
     {"steps", "batch-size", "context", "grad-accum", "lr", "warmup-steps", "weight-decay",
      "grad-clip", "dropout", "drills", "seed"}},
    {"Output", FOR_TRAIN, false, {"output", "save-every", "force"}},
    {"Input",
     FOR_ALL,
     true,
     {"sentence", "file", "document", "ids", "source", "bos", "no-bos", "add-special", "no-special",
      "words", "long"}},
    {"Model",
     FOR_ALL,
     true,
     {"model", "precision", "attention", "mask-after", "scale", "attention-temperature", "dropout",
      "without", "seed"}},
    {"Intervene", FOR_ALL, true, {"edit", "ablate", "knockout", "from", "reference"}},
    {"Select", FOR_ALL, true, {"show", "layer", "head", "mean", "hide-first"}},
    {"Output", FOR_ALL, true, {"output", "format", "digits", "width", "full", "color", "force"}},
    {"Figures",
     FOR_ALL,
     true,
     {"figure-width", "font", "font-size", "dpi", "title", "view", "cells", "palette", "range",
      "color-scale", "mark", "token-range", "panel-labels", "mask", "top"}},
    {"Running",
     FOR_ALL,
     true,
     {"threads", "quiet", "verbose", "list", "man", "completion", "help"}},
};

enum { GROUPS = sizeof groups / sizeof *groups };

static bool group_serves(const struct group *group, const struct option_walk *walk)
{
    int command = walk->command ? walk->command->bit : READERS;
    bool shared = group->shared && command & READERS;
    return group->commands & command && (walk->part != OPTIONS_OWN || !shared) &&
           (walk->part != OPTIONS_SHARED || shared);
}

static bool was_listed(const struct option_walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->group && walk->command; i++)
        for (size_t k = 0; k < NAMES_MAX && groups[i].names[k]; k++)
            if (groups[i].commands & walk->command->bit && strcmp(groups[i].names[k], name) == 0)
                return true;
    return false;
}

/* The row of a command, or for all of them that of `run` where it has one. */
static const struct option_row *row_of(const struct command *command, const char *name)
{
    size_t size = strlen(name);
    if (command)
        return option_find(command->bit, name, size);
    const struct option_row *row = option_find(FOR_RUN, name, size);
    return row ? row : option_find(READERS, name, size);
}

static bool needs_headings(const struct option_walk *walk)
{
    size_t count = 0;
    for (size_t i = 0; i < option_count() && walk->command; i++)
        count += option_serves(option_at(i), walk->command->bit);
    return !walk->command ||
           (count > FEW && (walk->part == OPTIONS_ALL || !(walk->command->bit & READERS)));
}

const struct option_row *option_walk_next(struct option_walk *walk, const char **title)
{
    for (; walk->group < GROUPS; walk->group++, walk->place = 0) {
        const struct group *group = &groups[walk->group];
        bool serves = group_serves(group, walk);
        while (serves && walk->place < NAMES_MAX && group->names[walk->place]) {
            const char *name = group->names[walk->place++];
            const struct option_row *row = row_of(walk->command, name);
            const char *heading = needs_headings(walk) ? group->title : "Options";
            if (!row || was_listed(walk, name))
                continue;
            *title = walk->title && strcmp(walk->title, heading) == 0 ? NULL : heading;
            walk->title = heading;
            return row;
        }
    }
    return NULL;
}

/* --- topics ----------------------------------------------------------------------------------- */

const struct help_topic help_topics[] = {
    {"options", "options shared by the commands that read texts"},
    {"edits", "changing values during the pass"},
    {"formats", "output formats, and what they show by default"},
    {"sizes", "the sizes of new models"},
};

const size_t help_topic_count = sizeof help_topics / sizeof *help_topics;

/* The topic, or the one command, whose help has a list that several commands refer to. */
static const char *topic_of(const struct value_list *list)
{
    static const struct {
        const char *list, *topic;
    } rows[] = {
        {"attention", "options"},
        {"models", "options"},
        {"edits", "edits"},
        {"formats", "formats"},
        {"defaults", "formats"},
        {"table_formats", "formats"},
        {"layer_defaults", "formats"},
        {"palettes", "formats"},
        {"venues", "formats"},
        {"tensors", "run"},
        {"shapes", "sizes"},
        {"keys", "sizes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].list, list->name) == 0)
            return rows[i].topic;
    return NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

bool value_at(struct value *value, const struct value_list *list, size_t index)
{
    *value = (struct value){0};
    return list->at(value, index);
}

/* True when the command has the option, or the operand, that the row is about. */
static bool serves(const struct value_use *use, const struct command *command)
{
    if (!(use->commands & command->bit))
        return false;
    if (!use->option)
        return *command->operands != 0;
    const struct option_row *row = option_find(command->bit, use->option, strlen(use->option));
    return row && row->kind != OPTION_FLAG;
}

const struct value_use *value_use_find(const char *option, const struct command *command)
{
    for (size_t i = 0; i < value_use_count; i++) {
        const struct value_use *use = &value_uses[i];
        bool same =
            option && use->option ? strcmp(option, use->option) == 0 : option == use->option;
        if (same && !use->only_help && serves(use, command))
            return use;
    }
    return NULL;
}

enum value_paths value_paths(const char *argument)
{
    static const struct {
        const char *word;
        enum value_paths paths;
    } rows[] = {{"DIR", PATHS_FOLDERS},
                {"MODEL", PATHS_FOLDERS},
                {"FILE", PATHS_FILES},
                {"PATH", PATHS_FILES},
                {"GRAMMAR", PATHS_FILES}};
    for (size_t i = 0; argument && i < sizeof rows / sizeof *rows; i++)
        if (strstr(argument, rows[i].word))
            return rows[i].paths;
    return PATHS_NONE;
}

/* True if the page of the command, or of the topic, explains the list. */
static bool is_explained(const struct value_use *use, const struct command *command,
                         const char *topic)
{
    const char *place = topic_of(use->list);
    if (!use->list->title || (command && !serves(use, command)))
        return false;
    if (topic)
        return place && strcmp(place, topic) == 0;
    return !place || strcmp(place, command->name) == 0;
}

const struct value_use *value_use_next(const struct value_use *use, const struct command *command,
                                       const char *topic)
{
    for (use = use ? use + 1 : value_uses; use < value_uses + value_use_count; use++) {
        const struct value_use *first = value_uses;
        while (first < use && (first->list != use->list || (command && !serves(first, command))))
            first++;
        if (first == use && is_explained(use, command, topic))
            return use;
    }
    return NULL;
}

void value_use_title(struct stream *out, const struct value_use *use, const struct command *command)
{
    const char *gap = " (--";
    stream_text(out, use->list->title);
    for (size_t i = 0; i < value_use_count; i++) {
        const struct value_use *other = &value_uses[i];
        if (other->list != use->list || !other->option || other->only_help ||
            (command ? !serves(other, command) : other != use))
            continue;
        stream_format(out, "%s%s", gap, other->option);
        gap = ", --";
    }
    stream_format(out, "%s%s", gap[0] == ',' ? ")" : "",
                  use->list->remark ? use->list->remark : "");
}
