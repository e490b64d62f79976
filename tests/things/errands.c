#include "errands.h"

#include <stdio.h>
#include <string.h>

#define SMALL "--set n_layer=1,n_head=2,n_embd=8,n_positions=16"
#define TRAIN                                                              \
    "train -q -t 1 -d ../../in/texts --config ../../in/small/config.json " \
    "--vocab ../../in/words/vocab.json --steps 2 --batch 2 --context 4"
#define RESUME "train -q -t 1 -d ../../in/texts --resume made/step-00000001"
#define BATCH "batch ../../in/items.jsonl -m life -q -t 1 "
#define ASK "batch ../../in/pairs.csv -m ../../in/small -q -t 1 --do patch "
#define BATCH_CUT_SHORT "batch ../../in/bad.jsonl -m life -q -t 1 --fail-fast "
#define ATTN "\"$ATTN\" "

const char errand_inputs[] =
    "for name in Anna Ben Cy; do printf '%s sees Ben, and Ben is old.\\n' $name; done >texts\n"
    "for id in a b c; do printf '{\"id\": \"%s\", \"sentence\": \"Life is\"}\\n' $id; done "
    ">items.jsonl\n"
    "printf 'clean,corrupt\\nAnna,old\\nAnna sees,old sees\\n' >pairs.csv\n"
    "{ head -n 2 items.jsonl; printf '{\"id\": \"c\", \"sentence\": \"nonsense\"}\\n'; } "
    ">bad.jsonl\n" ATTN "init -q --vocab-from texts -o words\n" ATTN "init -q --shape gpt2 " SMALL
    " --vocab words/vocab.json -o small\n";

/* --- one file --------------------------------------------------------------------------------- */

static const char *const single[] = {
    "run -q -m life -s 'Life is' --format csv -o ",
    "run -q -m life -s 'Life is' --show all --format json -o ",
    "run -q -m life -s 'Life is' --format html -o ",
    "run -q -m life -s 'Life is' --format svg -o ",
    "explain -q -m life -s 'Life is' --format markdown -o ",
    "compare -m life --attention linear -s 'Life is' --format json -o ",
    "heads -m ../../in/small -q --format csv -o ",
    "attribute -m ../../in/small -q -s Anna --format csv -o ",
    "patch -m ../../in/small -q --clean Anna --corrupt is --format csv -o ",
    "generate -q -m ../../in/small -s Anna -n 2 --format json -o ",
    "score -q -m ../../in/small Anna --format svg -o ",
    "lens -q -m ../../in/small Anna --format json -o ",
    "page -q -m ../../in/small Anna -o ",
};

static const struct place {
    const char *path, *owns;
} places[] = {
    {"new", "here/new"},
    {"file", "here/file"},
    {"link", "elsewhere/file"},
    {"readonly", "here/readonly"},
    {"dangling", ""},
    {"things", ""},
    {"things/new", "here/things/new"},
};

/* --- a folder --------------------------------------------------------------------------------- */

static const struct filing {
    const char *line;
    const char *names[8];   /* of the files that --force replaces */
    const char *folders[4]; /* and of those that they are in, where nothing else has the name */
} filings[] = {
    {.line = "init -q --like life -o ",
     .names = {"config.json", "model.safetensors", "vocab.json"}},
    {.line = "init -q --vocab-from ../../in/texts -o ",
     .names = {"config.json", "model.safetensors", "vocab.json"}},
    {.line = "init -q --vocab-from ../../in/texts --vocab-size 260 -o ",
     .names = {"config.json", "model.safetensors", "vocab.json", "merges.txt"}},
    {.line = TRAIN " -o ",
     .names = {"config.json", "model.safetensors", "vocab.json", "training.json",
               "training.safetensors", "log.csv", "step-0000000?/[cmtlv]*"},
     .folders = {"step-00000001", "step-00000002"}},
    {.line = "run -q -m life -s 'Life is' -s short --format csv -o ",
     .names = {"0000/manifest.json", "0000/weights.*", "0001/manifest.json", "0001/weights.*"},
     .folders = {"0000", "0001"}},
    {.line = "run -q -m life -s 'Life is' --show q --format npy -o ",
     .names = {"manifest.json", "h.0.q*.npy"}},
    {.line = "generate -q -m ../../in/small -s Anna -n 2 --show weights --format csv -o ",
     .names = {"manifest.json", "weights.*"}},
};

/* Whole folders that are made, and those in which files are replaced with --force. */
static const struct shelf {
    const char *path, *made, *forced;
} shelves[] = {
    {"new", "here/new here/new/*", ""},
    {"empty", "here/empty/*", ""},
    {"things", "", "here/things"},
    {"folder", "", "elsewhere/folder"},
    {"dangling", "", ""},
    {"file", "", ""},
};

/* --- more than one step ----------------------------------------------------------------------- */

static const struct errand steps[] = {
    {.before = ATTN TRAIN " -o made",
     .mixed = "made made/step-00000001",
     .line = RESUME,
     .makes = "here/made/step-00000001/step-00000002*",
     .owns_before = true},
    {.before = ATTN TRAIN " -o made", .mixed = "made", .line = RESUME " -o made"},
    {.before = ATTN TRAIN " -o made", .mixed = "made", .line = RESUME " -o things"},
    {.before = ATTN TRAIN " -o made",
     .mixed = "made made/step-00000002",
     .line = RESUME " -o made --force",
     .owns_before = true},
    {.before = ATTN TRAIN " -o made",
     .mixed = "made made/step-00000002",
     .line = "train -q -t 1 -d ../../in/texts --resume made",
     .owns_before = true},
};

/* Batches: what is put there, and what of it a journal or a manifest says was made before. */
static const char *const batches[] = {
    BATCH "--format csv ",
    BATCH "",
    BATCH "--reduce entropy ",
    BATCH_CUT_SHORT "--format csv ",
    BATCH_CUT_SHORT "",
    ASK "--format csv ",
    ASK,
};

static const struct stage {
    const char *before; /* after the batch's own line: how far it came */
    const char *mixed, *options, *makes;
    bool owns_before;
    const char *owns;
} stages[] = {
    {"", "", "-o new/", "here/new here/new/*", false, ""},
    {"", "", "-o new/ --resume", "here/new here/new/*", false, ""},
    {"", "", "-o new/ --shard 2/2 --force", "", false, ""},
    {"", "", "-o other/ --shard 2/2", "here/other.2-of-2 here/other.2-of-2/*", false, ""},
    {"", "", "-o empty/ --force", "here/empty/*", false, ""},
    {"", "", "-o things/", "", false, ""},
    {"", "", "-o things/ --resume", "", false, ""},
    {"", "", "-o things/ --force", "", false, ""},
    {"", "", "-o things/ --shard 1/2 --force", "", false, ""},
    {"", "", "-o folder/ --force", "", false, ""},
    {"", "", "-o folder/ --resume", "", false, ""},
    {"-o made/", "made", "-o made/", "here/made/.attn-cli*", false, ""},
    {"-o made/", "made made/a made/c", "-o made/ --force", "here/made/*", true, ""},
    {"-o made/", "made", "-o made/ --resume", "here/made/*", true, ""},
};

/* Into one file; csv of items is no such. */
static const size_t file_batches[] = {1, 2, 4, 6};

static const struct stage file_stages[] = {
    {"", "", "-o x", "here/x here/x.part here/x.part/* here/x.manifest", false, ""},
    {"", "", "-o new", "", false, ""},
    {"", "", "-o new --force", "", false, ""},
    {"", "", "-o new --resume", "", false, ""},
    {"", "", "-o file", "", false, ""},
    {"", "", "-o link --force", "", false, ""},
    {"", "", "-o dangling --force", "", false, ""},
    {"", "", "-o lone", "here/lone.part*", false, ""},
    {"", "", "-o lone --resume", "here/lone.part*", false, ""},
    {"", "", "-o lone --force", "here/lone.part here/lone.part/* here/lone.manifest", false,
     "here/lone"},
    {"-o x", "x.part", "-o x --force", "here/x here/x.part here/x.part/* here/x.manifest", true,
     ""},
    {"-o x", "x.part", "-o x --resume", "here/x here/x.part here/x.part/* here/x.manifest", true,
     ""},
    {"-o x --shard 1/2", "x.1-of-2", "-o x --shard 1/2 --resume", "here/x.1-of-2/*", true, ""},
};

static const struct errand merges[] = {
    {.before = ATTN BATCH "-o x --shard 1/2 && " ATTN BATCH "-o x --shard 2/2",
     .mixed = "x.1-of-2 x.2-of-2",
     .line = "merge x",
     .makes = "here/x here/x.part here/x.part/* here/x.manifest"},
    {.before = ATTN BATCH "-o x --shard 1/2 && " ATTN BATCH "-o x --shard 2/2 && echo mine >x",
     .mixed = "x.1-of-2 x.2-of-2",
     .line = "merge x",
     .makes = "here/x.part*"},
    {.before = ATTN BATCH "--format csv -o m/ --shard 1/2 && " ATTN BATCH
                          "--format csv -o m/ --shard 2/2",
     .mixed = "m.1-of-2 m.2-of-2",
     .line = "merge m/",
     .makes = "here/m here/m/*"},
    {.before = ATTN BATCH "--format csv -o m/ --shard 1/2 && " ATTN BATCH
                          "--format csv -o m/ --shard 2/2 && mkdir m && echo mine >m/notes",
     .mixed = "m.1-of-2 m.2-of-2",
     .line = "merge m/ --force"},
};

/* --- all of them, by number ------------------------------------------------------------------- */

enum {
    SINGLES = sizeof single / sizeof *single,
    PLACES = sizeof places / sizeof *places,
    FILINGS = sizeof filings / sizeof *filings,
    SHELVES = sizeof shelves / sizeof *shelves,
    STEPS = sizeof steps / sizeof *steps,
    BATCHES = sizeof batches / sizeof *batches,
    STAGES = sizeof stages / sizeof *stages,
    FILE_STAGES = sizeof file_stages / sizeof *file_stages,
    FILE_BATCHES = sizeof file_batches / sizeof *file_batches,
    MERGES = sizeof merges / sizeof *merges,
};

static void get_single(struct errand *errand, size_t number)
{
    const struct place *place = &places[number % PLACES];
    snprintf(errand->line, ERRAND_BYTES, "%s%s", single[number / PLACES], place->path);
    snprintf(errand->owns, ERRAND_BYTES, "%s", place->owns);
}

/* With --force in every second one. */
static void get_filing(struct errand *errand, size_t number)
{
    bool force = number % 2;
    const struct shelf *shelf = &shelves[number / 2 % SHELVES];
    const struct filing *filing = &filings[number / 2 / SHELVES];
    size_t makes = (size_t)snprintf(errand->makes, ERRAND_BYTES, "%s", shelf->made);
    size_t owns = 0;
    snprintf(errand->line, ERRAND_BYTES, "%s%s%s", filing->line, shelf->path,
             force ? "/ --force" : "/");
    for (size_t i = 0; force && *shelf->forced && filing->names[i]; i++)
        owns += (size_t)snprintf(errand->owns + owns, ERRAND_BYTES - owns, " %s/%s", shelf->forced,
                                 filing->names[i]);
    for (size_t i = 0; force && *shelf->forced && filing->folders[i]; i++)
        makes += (size_t)snprintf(errand->makes + makes, ERRAND_BYTES - makes, " %s/%s",
                                  shelf->forced, filing->folders[i]);
}

static void get_batch(struct errand *errand, const char *line, const struct stage *stage)
{
    if (*stage->before)
        snprintf(errand->before, ERRAND_BYTES, ATTN "%s%s || :", line, stage->before);
    snprintf(errand->mixed, ERRAND_BYTES, "%s", stage->mixed);
    snprintf(errand->line, ERRAND_BYTES, "%s%s", line, stage->options);
    snprintf(errand->makes, ERRAND_BYTES, "%s", stage->makes);
    snprintf(errand->owns, ERRAND_BYTES, "%s", stage->owns);
    errand->owns_before = stage->owns_before;
}

bool errand_get(struct errand *errand, size_t number)
{
    *errand = (struct errand){0};
    if (number < SINGLES * PLACES)
        return get_single(errand, number), true;
    number -= SINGLES * PLACES;
    if (number < 2 * FILINGS * SHELVES)
        return get_filing(errand, number), true;
    number -= 2 * FILINGS * SHELVES;
    if (number < STEPS)
        return *errand = steps[number], true;
    number -= STEPS;
    if (number < BATCHES * STAGES)
        return get_batch(errand, batches[number / STAGES], &stages[number % STAGES]), true;
    number -= BATCHES * STAGES;
    if (number < FILE_BATCHES * FILE_STAGES)
        return get_batch(errand, batches[file_batches[number / FILE_STAGES]],
                         &file_stages[number % FILE_STAGES]),
               true;
    number -= FILE_BATCHES * FILE_STAGES;
    if (number < MERGES)
        return *errand = merges[number], true;
    return false;
}
