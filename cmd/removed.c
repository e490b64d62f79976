/* removed.c: replacements for commands and options of earlier versions. */
#include <string.h>

#include "base/names.h"
#include "command.h"

/* One row for each removed command or option; kept until version 1.0. */
static const struct removed {
    const char *commands; /* that had the option; NULL: all; "": `name` is a command */
    const char *name;     /* one or several, without dashes */
    const char *now;      /* advice of the message */
} rows[] = {
    {"generate", "temp", "use --temperature"},
    {"generate", "no-stop", "use --ignore-eos"},
    {"run explain batch page", "temperature", "use --attention-temperature"},
    {NULL, "mask-method", "use --mask-after in place of --mask-method renormalise"},
    {NULL, "beyond-context", "use --long"},
    {"explain", "attention-of", "use --part"},
    {"run heads score lens attribute patch generate", "style", "use --cells"},
    {"score lens page", "top-k", "use --top"},
    {"tokenize", "ids", "use --only-ids"},
    {"patch", "from to", "use --path FROM:TO"},
    {"patch", "denoise", "it is the default; --noise is the other direction"},
    {"heads", "data", "use --file"},
    {"train", "batch", "use --batch-size"},
    {"train", "accumulate", "use --grad-accum"},
    {"train", "rate", "use --lr"},
    {"train", "warmup", "use --warmup-steps"},
    {"train", "decay", "use --weight-decay"},
    {"train", "clip", "use --grad-clip"},
    {NULL, "bos", "use --special bos"},
    {NULL, "no-bos", "use --special none"},
    {NULL, "add-special", "it is the default, --special auto"},
    {NULL, "no-special", "use --literal-special"},
    {"", "corpus", "'python3 models/fables.py GRAMMAR' writes the same texts"},
    {"bench", "compare", "compare the numbers of two runs of 'bench --format json'"},
    {"compare", "repeat", "'attn-cli bench --growth --attention LIST' measures time and memory"},
    {"bench", "json", "use --format json"},
    {"bench", "save", "'attn-cli init --shape NAME -o DIR' writes a model of that shape"},
    {"bench", "seed", "'--attention random:K:SEED' draws the random keys"},
    {"run heads score lens attribute patch generate", "no-title",
     "--title '' draws neither title nor subtitle"},
    {"run heads score lens attribute patch generate", "x-title y-title bar-title",
     "edit the words in the svg or tex file"},
    {"run heads score lens attribute patch generate", "transparent",
     "delete the first rectangle of the svg"},
    {"run heads score lens attribute patch generate", "no-pool",
     "use a larger --figure-width, or --token-range, to give each number a cell"},
    {"run generate", "threshold", "lines below 3 % of the scale are not drawn"},
    {"run", "top", "with --view lines, --head and --token-range choose the lines"},
    {"", "convert",
     "GGUF files are read as they are; llama.cpp's convert_hf_to_gguf.py writes them"},
    {"", "vocab",
     "'attn-cli init --vocab-from FILE -o DIR' writes DIR/vocab.json; with "
     "--vocab-size N byte-level BPE, DIR/merges.txt, too"},
    {"", "merge", "'attn-cli batch --join LOG... -o PATH' puts shards together"},
    {"batch", "input", "the file's extension or first line sets its format"},
    {"init", "file", "use --vocab-from FILE"},
    {"heads", "null", "use --baseline"},
    {"heads", "gold", "'python3 data/guides/relations.py FILE.conllu MODEL' prints the same table"},
    {"lesson", "format", "-o lesson.html writes a page; 'attn-cli lesson all' prints all steps"},
    {"help", "format", "'attn-cli help COMMAND' lists all options as text"},
    {"batch", "reduce", "use heads -f FILE for means over texts"},
    {"batch", "per-item", "use heads TEXT for the scores of one text"},
    {NULL, "no-amx",
     "bf16 uses the instructions of the processor; LIBXSMM_TARGET=cpx turns AMX off"},
    {NULL, "no-config", "there is no file of defaults; $ATTN_MODEL names the default model"},
};

int removed_refuse(struct option_set set, const char *name, struct err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *had = rows[i].commands;
        bool applies = !set.command ? had && !*had
                                    : !had || name_is_among(had, set.command->name) ||
                                          (set.done && name_is_among(had, set.done->name));
        if (applies && name_is_among(rows[i].name, name))
            return err_usage(err, "'%s%s' was removed: %s", set.command ? "--" : "", name,
                             rows[i].now);
    }
    return 0;
}
