#include "catalog.h"

#include <string.h>

/* --- commands --------------------------------------------------------------------------------- */

const struct command_group command_groups[] = {
    {"look", FOR_RUN | FOR_EXPLAIN | FOR_BATCH | FOR_GENERATE | FOR_SCORE | FOR_LENS | FOR_PAGE |
                 FOR_TOKENIZE},
    {"compare", FOR_INFO | FOR_COMPARE | FOR_HEADS | FOR_ATTRIBUTE | FOR_PATCH | FOR_BENCH},
    {"make", FOR_INIT | FOR_TRAIN},
    {"learn", FOR_LESSON | FOR_HELP},
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

static const struct group {
    const char *title;
    int commands;
    const char *names[NAMES_MAX]; /* in the order in which help prints them */
} groups[] = {
    {"Text",
     ~FOR_INIT,
     {"sentence", "file", "data", "clean", "corrupt", "ids", "source", "bos", "no-bos",
      "add-special", "no-special", "beyond-context", "document", "decode"}},
    {"Text", FOR_HEADS, {"seed"}},
    {"Model", ~(FOR_INIT | FOR_TRAIN | FOR_BENCH), {"model"}},
    {"Model", FOR_BENCH, {"model", "shape"}},
    {"Model", FOR_TRAIN, {"shape", "config", "set", "vocab", "merges", "model", "resume"}},
    {"Words", FOR_INIT, {"sentence", "vocab-from", "vocab-size", "vocab", "merges"}},
    {"Sizes", FOR_INIT, {"like", "shape", "config", "set"}},
    {"Fresh numbers", FOR_INIT, {"seed", "draw", "table"}},
    {"What is explained", FOR_EXPLAIN, {"token", "layer", "head", "attention-of"}},
    {"What is patched",
     FOR_PATCH,
     {"over", "from", "to", "denoise", "noise", "answer", "position"}},
    {"What is done", FOR_BATCH, {"do"}},
    {"What is attributed", FOR_ATTRIBUTE, {"answer", "position", "by"}},
    {"How the text goes on",
     FOR_GENERATE,
     {"tokens", "temp", "top-k", "top-p", "seed", "no-stop", "logprobs"}},
    {"What is scored", FOR_SCORE, {"continue", "stride", "total", "top-k", "bits"}},
    {"What is looked at", FOR_LENS, {"site", "layer", "target", "show", "top-k"}},
    {"What is measured",
     FOR_BENCH,
     {"tokens", "only", "repeat", "precision", "growth", "attention"}},
    {"What is shown",
     ~(FOR_EXPLAIN | FOR_BENCH | FOR_LENS),
     {"show", "layer", "head", "mean", "words", "hide-first", "score", "sort", "map", "baseline",
      "pairs", "needle", "composition"}},
    {"What a page holds besides",
     FOR_PAGE,
     {"explain", "top-k", "lens", "scores", "unedited", "live"}},
    {"What is shown", FOR_INFO, {"tokens", "hash"}},
    {"Training",
     FOR_TRAIN,
     {"steps", "batch", "context", "accumulate", "rate", "warmup", "decay", "clip", "dropout",
      "drills", "seed"}},
    {"Ways to attend",
     ~(FOR_BENCH | FOR_TRAIN),
     {"attention", "mask-method", "scale", "temperature", "dropout", "without"}},
    {"Ways to attend", FOR_RUN | FOR_EXPLAIN | FOR_BATCH | FOR_COMPARE | FOR_PAGE, {"seed"}},
    {"What is changed on its way", ~FOR_PATCH, {"edit", "ablate", "knockout", "from", "reference"}},
    {"What is changed on its way", FOR_PATCH, {"edit", "ablate", "knockout", "reference"}},
    {"Many runs",
     FOR_BATCH,
     {"sweep", "repeat", "dry-run", "fail-fast", "resume", "force", "shard", "join"}},
    {"Output", FOR_ALL, {"format", "json", "output", "save-every", "digits", "width", "full"}},
    {"Output", ~FOR_BATCH, {"force"}},
    {"Pictures and colours",
     FOR_ALL,
     {"view", "style", "palette", "color-scale", "range", "title", "color"}},
    {"Figures for papers",
     FOR_ALL,
     {"figure-width", "font", "font-size", "dpi", "panel-labels", "token-range", "mask", "mark",
      "top"}},
    {"Running", ~FOR_BENCH, {"precision"}},
    {"Running", FOR_COMPARE, {"repeat"}},
    {"Running",
     FOR_ALL,
     {"threads", "quiet", "verbose", "list", "man", "completion", "size", "pattern", "help"}},
};

enum { GROUPS = sizeof groups / sizeof *groups };

const struct option_row *option_walk_next(struct option_walk *walk, const char **title)
{
    int command = walk->command->bit;
    size_t count = 0;
    for (size_t i = 0; i < option_count(); i++)
        count += option_serves(option_at(i), command);
    for (; walk->group < GROUPS; walk->group++, walk->place = 0) {
        const struct group *group = &groups[walk->group];
        bool serves = group->commands & command;
        while (serves && walk->place < NAMES_MAX && group->names[walk->place]) {
            const char *name = group->names[walk->place++];
            const struct option_row *row = option_find(command, name, strlen(name));
            const char *heading = count <= FEW ? "Options" : group->title;
            if (!row)
                continue;
            *title = walk->title && strcmp(walk->title, heading) == 0 ? NULL : heading;
            walk->title = heading;
            return row;
        }
    }
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

const struct value_use *value_use_next(const struct value_use *use, const struct command *command)
{
    for (use = use ? use + 1 : value_uses; use < value_uses + value_use_count; use++) {
        const struct value_use *first = value_uses;
        while (first < use && (first->list != use->list || !serves(first, command)))
            first++;
        if (first == use && use->list->title && serves(use, command))
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
            !serves(other, command))
            continue;
        stream_format(out, "%s%s", gap, other->option);
        gap = ", --";
    }
    stream_format(out, "%s%s", gap[0] == ',' ? ")" : "",
                  use->list->remark ? use->list->remark : "");
}
