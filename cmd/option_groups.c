#include "option_groups.h"

#include <string.h>

enum {
    NAMES_MAX = 16,
    FEW = 9, /* options of a command that needs no headings */
};

/* A group of options; an option of a command stands in one group alone. */
static const struct group {
    const char *title;
    int commands;
    const char *names[NAMES_MAX]; /* in the order in which help prints them */
} groups[] = {
    {"Text",
     ~FOR_INIT,
     {"sentence", "file", "data", "ids", "source", "bos", "no-special", "input", "decode"}},
    {"Text", FOR_HEADS, {"seed"}},
    {"Model", ~(FOR_INIT | FOR_TRAIN | FOR_BENCH), {"model"}},
    {"Model", FOR_BENCH, {"model", "shape", "save"}},
    {"Model", FOR_TRAIN, {"shape", "config", "set", "vocab", "merges", "model", "resume"}},
    {"Words", FOR_INIT, {"sentence", "file", "vocab", "merges"}},
    {"Sizes", FOR_INIT, {"like", "shape", "config", "set"}},
    {"Fresh numbers", FOR_INIT, {"seed", "draw", "table"}},
    {"Texts", FOR_CORPUS, {"count", "seed", "rule"}},
    {"What is explained", FOR_EXPLAIN, {"token", "layer", "head", "attention-of"}},
    {"How the text goes on",
     FOR_GENERATE,
     {"tokens", "temp", "top-k", "top-p", "seed", "no-stop", "logprobs"}},
    {"What is measured", FOR_BENCH, {"tokens", "only", "attention", "seed", "repeat", "precision"}},
    {"What is shown",
     ~(FOR_EXPLAIN | FOR_BENCH),
     {"show", "layer", "head", "mean", "words", "hide-first", "reduce", "per-item", "sort", "map"}},
    {"What is shown", FOR_INFO, {"tokens"}},
    {"Training",
     FOR_TRAIN,
     {"steps", "batch", "context", "accumulate", "rate", "warmup", "decay", "clip", "dropout",
      "drills", "seed"}},
    {"Ways to attend",
     ~(FOR_BENCH | FOR_TRAIN),
     {"attention", "mask-method", "scale", "temperature", "dropout", "without"}},
    {"Ways to attend", FOR_RUN | FOR_EXPLAIN | FOR_BATCH | FOR_COMPARE, {"seed"}},
    {"Many runs",
     FOR_BATCH,
     {"sweep", "repeat", "dry-run", "fail-fast", "resume", "force", "shard"}},
    {"Output", FOR_ALL, {"format", "json", "output", "save-every", "digits", "width", "full"}},
    {"Output", ~FOR_BATCH, {"force"}},
    {"Pictures and colours",
     FOR_ALL,
     {"view", "style", "palette", "color-scale", "range", "title", "color"}},
    {"Running", ~FOR_BENCH, {"precision"}},
    {"Running", FOR_COMPARE, {"repeat"}},
    {"Running",
     FOR_ALL,
     {"threads", "quiet", "verbose", "list", "man", "completion", "size", "help"}},
};

enum { GROUPS = sizeof groups / sizeof *groups };

static const struct option_row *find(const char *name, const struct command *command)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_serves(&option_rows[i], command->bit) && strcmp(option_rows[i].name, name) == 0)
            return &option_rows[i];
    return NULL;
}

static bool has_few(const struct command *command)
{
    size_t count = 0;
    for (size_t i = 0; i < option_count; i++)
        count += option_serves(&option_rows[i], command->bit);
    return count <= FEW;
}

/* Where the walk stands: the option, if the command has it in this group. */
static const struct option_row *look(const struct option_walk *walk)
{
    const struct group *group = &groups[walk->group];
    bool serves = group->commands & walk->command->bit;
    return serves ? find(group->names[walk->place], walk->command) : NULL;
}

static void step(struct option_walk *walk)
{
    walk->place++;
    if (walk->place < NAMES_MAX && groups[walk->group].names[walk->place])
        return;
    walk->place = 0;
    walk->group++;
}

const struct option_row *option_walk_next(struct option_walk *walk, const char **title)
{
    const struct option_row *row = NULL;
    const char *before = walk->title;
    while (walk->group < GROUPS && !row) {
        row = look(walk);
        walk->title = row ? groups[walk->group].title : walk->title;
        step(walk);
    }
    if (has_few(walk->command))
        walk->title = "Options";
    *title = before && strcmp(before, walk->title) == 0 ? NULL : walk->title;
    return row;
}
