/* Rows of the table of options: the items of a batch, and what is done with them. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row batch_rows[] = {
    STRING("output", 'o', "PATH", output.path, FOR_BATCH | PROCESS,
           "file, or folder/ for one file per item (default: standard output)"),
    STRING("do", 0, "COMMAND", batch.instrument, FOR_BATCH | NOT_SWEPT,
           "run this command on each text: run (default), score, lens, attribute, patch, heads or "
           "generate"),
    STRINGS(
        "sweep", 0, "NAME=LIST", batch.sweeps, FOR_BATCH | NOT_SWEPT,
        "run each item with each value of an option (repeatable): head=0-3, model=life,journey"),
    INTEGER("repeat", 0, "N", batch.repeat, FOR_BATCH | NOT_SWEPT, 1, 1000000,
            "run each item N times with different seeds"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_BATCH, 0, LLONG_MAX / 2,
            "first seed (default: 0); repetition I uses N + I"),
    STRING("shard", 0, "I/N|auto", batch.shard, FOR_BATCH | PROCESS,
           "process part I of N; auto: from Slurm, Open MPI or PMI variables"),
    FLAG("join", 0, batch.join, FOR_BATCH | PROCESS,
         "join the logs of all shards: --join out.jsonl.*.part -o out.jsonl"),
    FLAG("resume", 0, batch.resume, FOR_BATCH | PROCESS,
         "continue an interrupted batch; a finished batch repeats its exit status"),
    FLAG("force", 0, output.force, FOR_BATCH | PROCESS, "replace existing results"),
    FLAG("fail-fast", 0, batch.fail_fast, FOR_BATCH | PROCESS, "stop at the first item that fails"),
    FLAG("dry-run", 0, batch.dry_run, FOR_BATCH | PROCESS,
         "show counts, sizes and items, and compute nothing"),
};

const struct option_rows batch_options = {batch_rows, sizeof batch_rows / sizeof *batch_rows};
