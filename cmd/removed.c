/* removed.c: commands and options of earlier versions, and what replaces them. */
#include <string.h>

#include "base/names.h"
#include "option_row.h"

/* One row for each removed command or option; kept until version 1.0. */
static const struct removed {
    int commands;     /* that had the option; 0: a command */
    const char *name; /* without dashes */
    const char *now;  /* what to use instead */
} rows[] = {
    {FOR_GENERATE, "temp", "use --temperature"},
    {FOR_GENERATE, "no-stop", "use --ignore-eos"},
    {FOR_RUN | FOR_EXPLAIN | FOR_BATCH | FOR_PAGE, "temperature", "use --attention-temperature"},
    {FOR_ALL, "mask-method", "use --mask-after in place of --mask-method renormalise"},
    {FOR_ALL, "beyond-context", "use --long"},
    {FOR_EXPLAIN, "attention-of", "use --part"},
    {COLOURED, "style", "use --cells"},
    {FOR_SCORE | FOR_LENS | FOR_PAGE, "top-k", "use --top"},
    {FOR_TOKENIZE, "ids", "use --only-ids"},
    {FOR_PATCH, "from", "use --path FROM:TO"},
    {FOR_PATCH, "to", "use --path FROM:TO"},
    {FOR_PATCH, "denoise", "it is the default; --noise is the other direction"},
    {FOR_HEADS, "data", "use --file"},
    {FOR_TRAIN, "batch", "use --batch-size"},
    {FOR_TRAIN, "accumulate", "use --grad-accum"},
    {FOR_TRAIN, "rate", "use --lr"},
    {FOR_TRAIN, "warmup", "use --warmup-steps"},
    {FOR_TRAIN, "decay", "use --weight-decay"},
    {FOR_TRAIN, "clip", "use --grad-clip"},
    {0, "corpus", "'python3 models/fables.py GRAMMAR' writes the same texts"},
    {FOR_BENCH, "compare", "compare the numbers of two runs of 'bench --format json'"},
    {FOR_BENCH, "json", "use --format json"},
    {FOR_BENCH, "save", "'attn-cli init --shape NAME -o DIR' writes a model of that shape"},
    {FOR_BENCH, "seed", "'--attention random:K:SEED' draws the random keys"},
    {COLOURED, "no-title", "--title '' draws neither title nor subtitle"},
    {COLOURED, "x-title", "axes are named by what they are; edit the svg or tex for other words"},
    {COLOURED, "y-title", "axes are named by what they are; edit the svg or tex for other words"},
    {COLOURED, "bar-title", "the bar is named by its tensor; edit the svg or tex for other words"},
    {COLOURED, "transparent", "delete the first rectangle of the svg"},
    {COLOURED, "no-pool", "a wider --figure-width, or --token-range, gives each number a cell"},
    {OF_REPORTS, "threshold", "--top N draws the N strongest lines of each head"},
    {0, "convert",
     "GGUF files are read as they are; llama.cpp's convert_hf_to_gguf.py writes them"},
    {0, "vocab",
     "'attn-cli init --vocab-from FILE -o DIR' writes DIR/vocab.json; with "
     "--vocab-size N byte-level BPE, DIR/merges.txt, too"},
    {0, "merge", "'attn-cli batch --join LOG... -o PATH' puts shards together"},
    {FOR_BATCH, "input", "the ending of the file, or its first line, says what it is"},
    {FOR_INIT, "file", "use --vocab-from FILE"},
    {FOR_HEADS, "null", "use --baseline"},
    {FOR_HEADS, "gold", "'python3 data/guides/relations.py FILE.conllu MODEL' computes the same"},
    {FOR_HELP, "format", "'attn-cli help COMMAND' lists all options as text"},
    {FOR_BATCH, "reduce", "use heads -f FILE for means over texts"},
    {FOR_BATCH, "per-item", "use heads for what each head does in a text"},
    {FOR_ALL, "no-amx",
     "bf16 is multiplied by what the processor has; LIBXSMM_TARGET=cpx leaves AMX out"},
    {FOR_ALL, "no-config", "there is no file of defaults; $ATTN_MODEL names the default model"},
};

static int refuse(int commands, const char *name, const char *dashes, struct err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((rows[i].commands & commands || rows[i].commands == commands) &&
            strcmp(rows[i].name, name) == 0)
            return err_usage(err, "'%s%s' was removed: %s", dashes, name, rows[i].now);
    return 0;
}

int removed_command(const char *name, struct err *err)
{
    return refuse(0, name, "", err);
}

int removed_option(int command, const char *name, struct err *err)
{
    return refuse(command, name, "--", err);
}

int removed_explain_format(const struct output_options *output, struct err *err)
{
    static const char *const formats[][2] = {{"latex", ".tex"}, {"pdf", ".pdf"}};
    const char *path = output->path ? output->path : "";
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (output->format ? strcmp(output->format, formats[i][0]) == 0
                           : name_ends_in(path, formats[i][1]))
            return err_usage(err,
                             "'explain --format %s' was removed: pandoc makes it of '-o walk.md', "
                             "and browsers print '-o walk.html'",
                             formats[i][0]);
    return 0;
}
