/* Rows of the table of options: measuring this machine, and how any command runs on it. */
#include "../option_row.h"

#include <limits.h>

#include "math/pool.h"

static const struct option_row process_rows[] = {
    FLAG("growth", 0, bench.growth, FOR_BENCH,
         "measure how attention grows with text length (one head of size 64 unless a model is "
         "named)"),
    STRING("attention", 0, "LIST", mechanism.attention, FOR_BENCH,
           "attention patterns to compare, with --growth: dense,window:64 (default: dense)"),
    STRING("output", 'o', "FILE", output.path, FOR_BENCH | PROCESS,
           "file (default: standard output); the ending sets the format"),
    STRING("shape", 0, "NAME", bench.shape, FOR_BENCH,
           "use random weights in the shape of a well-known model (see 'help sizes')"),
    STRING("tokens", 'n', "LIST", bench.lengths, FOR_BENCH,
           "text lengths (default: 6,64,256,1024 up to the context; --growth: "
           "256,512,1024,2048,4096)"),
    INTEGER("repeat", 0, "N", bench.repeat, FOR_BENCH, 1, 1000, "number of rounds (default: 5)"),
    STRING("only", 0, "LIST", bench.only, FOR_BENCH, "measurements to make (default: all)"),
    INTEGER("threads", 't', "N", model.threads, LOOKING | FOR_HEADS | FOR_TRAIN | PROCESS, 1,
            POOL_THREADS_MAX,
            "number of threads (default: one per processor); results do not depend on it"),
    INTEGER("threads", 't', "N", model.threads, FOR_BENCH | FOR_COMPARE, 1, POOL_THREADS_MAX,
            "number of threads (default: one per processor)"),
    STRING("precision", 0, "TYPE", model.precision, ATTENDING & ~FOR_EXPLAIN,
           "fp32 (default) or bf16"),
    STRING("precision", 0, "TYPE", model.precision, FOR_BENCH, "fp32 (default) or bf16"),
    INTEGER("width", 0, "N", looks.width, (LOOKING & ~FOR_PAGE) | FOR_LESSON | FOR_HEADS | VIEW, 20,
            100000, "columns of text output (default: the terminal, else 80)"),
    FLAG("full", 0, looks.full, COLOURED, "text: leave nothing out, however wide or long"),
    FLAG("full", 0, looks.full, FOR_EXPLAIN,
         "show whole vectors, all keys and the matrices (json always has them)"),
    INTEGER("tokens", 'n', "N", tokens.sizes, FOR_INFO, 1, 100000000,
            "also print the cost of a run over N tokens"),
    FLAG("hash", 0, tokens.hash, FOR_INFO, "also print a hash of the weights"),
    STRING("output", 'o', "FILE", output.path, FOR_LESSON | PROCESS,
           "HTML page to write: lesson.html (default: text on standard output)"),
    STRING("format", 0, "FORMAT", output.format, FOR_LESSON,
           "text, json or html (default: by the ending of -o, else text)"),
    STRING("model", 'm', "MODEL", model.name, FOR_LESSON,
           "html: model of the last step (default: tiny)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_LESSON, "html: text of the last step"),
    FLAG("list", 0, learn.list, FOR_LESSON, "list the steps with their command lines"),
    FLAG("man", 0, learn.man, FOR_HELP, "print a manual page, for man"),
    STRING("completion", 0, "SHELL", learn.completion, FOR_HELP,
           "print a completion script for bash, zsh or fish"),
    FLAG("quiet", 'q', quiet, LOOKING | FOR_TOKENIZE | FOR_INIT | FOR_COMPARE | NOT_BATCH | PROCESS,
         "print no notes"),
    FLAG("quiet", 'q', quiet, FOR_BATCH | FOR_HEADS | PROCESS, "print no notes and no progress"),
    FLAG("quiet", 'q', quiet, FOR_BENCH | PROCESS, "print no progress"),
    FLAG("verbose", 'v', verbose, FOR_RUN | FOR_GENERATE | FOR_PATCH | FOR_BATCH | PROCESS,
         "print the model, the settings and the time taken"),
};

const struct option_rows process_options = {process_rows,
                                            sizeof process_rows / sizeof *process_rows};
