/* Rows of the table of options: the items of a batch, and what is done with them. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row batch_rows[] = {
    STRING("output", 'o', "PATH", output.path, FOR_BATCH | PROCESS,
           "a file, or folder/ for one file per item (default: standard output)"),
    STRING("do", 0, "COMMAND", batch.instrument, FOR_BATCH | NOT_SWEPT,
           "what is done with each text, by the options of that command: run (default), score, "
           "lens, attribute or patch"),
    STRINGS("sweep", 0, "NAME=LIST", batch.sweeps, FOR_BATCH | NOT_SWEPT,
            "all items with each value of an option: head=0-3, model=life,journey (repeatable)"),
    INTEGER("repeat", 0, "N", batch.repeat, FOR_BATCH | NOT_SWEPT, 1, 1000000,
            "all items N times; repetition I has the seed --seed + I"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_BATCH, 0, LLONG_MAX / 2,
            "seed of random numbers (default: 0)"),
    STRING("shard", 0, "I/N|auto", batch.shard, FOR_BATCH | PROCESS,
           "do the I-th of N parts; auto: as Slurm, Open MPI or PMI say"),
    FLAG("join", 0, batch.join, FOR_BATCH | PROCESS,
         "put the logs of all shards together: --join out.jsonl.*.part -o out.jsonl"),
    FLAG("resume", 0, batch.resume, FOR_BATCH | PROCESS,
         "continue an interrupted batch; a finished one ends as it did"),
    FLAG("force", 0, output.force, FOR_BATCH | PROCESS,
         "begin again where a batch or a result is already"),
    FLAG("fail-fast", 0, batch.fail_fast, FOR_BATCH | PROCESS, "stop at the first item that fails"),
    FLAG("dry-run", 0, batch.dry_run, FOR_BATCH | PROCESS,
         "print counts, sizes and items (on a terminal a screenful, or --full), and compute "
         "nothing"),
};

const struct option_rows batch_options = {batch_rows, sizeof batch_rows / sizeof *batch_rows};
