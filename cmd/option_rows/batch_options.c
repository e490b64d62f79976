/* Rows of the table of options: the items of a batch, and what is done with them. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row batch_rows[] = {
    STRING("file", 'f', "PATH", input.file, FOR_BATCH,
           "the file, in place of an argument; - is standard input"),
    STRING("output", 'o', "PATH", output.path, FOR_BATCH | PROCESS,
           "a file, or a folder for all (default: standard output)"),
    STRING(
        "do", 0, "COMMAND", batch.instrument, FOR_BATCH,
        "in place of run with every text score, lens, attribute or patch, by the options of these"),
    STRING("input", 0, "KIND", batch.kind, FOR_BATCH,
           "lines, jsonl or csv (default: by the file's ending, else its first character)"),
    STRINGS("sweep", 0, "NAME=LIST", batch.sweeps, FOR_BATCH,
            "every item once with each value of an option: head=0-3, model=life,journey; may be "
            "given several times"),
    INTEGER("repeat", 0, "N", batch.repeat, FOR_BATCH, 1, 1000000,
            "every item N times, each with a seed of its own"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_BATCH | FOR_ITEM, 0, LLONG_MAX / 2,
            "what drawing begins with (default: 0); repetition I takes N + I"),
    STRING("shard", 0, "I/N|auto", batch.shard, FOR_BATCH | PROCESS,
           "do the I-th of N parts; auto: as Slurm, Open MPI or PMI say; see merge"),
    FLAG("resume", 0, batch.resume, FOR_BATCH | PROCESS,
         "go on after what an interrupted process of the same batch has done, or try again what "
         "found no memory; one that is done ends as it did"),
    FLAG("force", 0, output.force, FOR_BATCH | FOR_MERGE | PROCESS,
         "begin anew where results of a batch are already, and replace a file; all else stays"),
    FLAG("fail-fast", 0, batch.fail_fast, FOR_BATCH | PROCESS, "stop at the first item that fails"),
    FLAG("dry-run", 0, batch.dry_run, FOR_BATCH | PROCESS,
         "print counts, sizes and items (on a terminal a screenful, or --full), and compute "
         "nothing"),
};

const struct option_rows batch_options = {batch_rows, sizeof batch_rows / sizeof *batch_rows};
