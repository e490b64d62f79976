/* Rows of the table of options: measuring this machine, and how any command runs on it. */
#include "../option_row.h"

#include <limits.h>

#include "math/pool.h"

static const struct option_row process_rows[] = {
    FLAG("growth", 0, bench.growth, FOR_BENCH,
         "measure instead how attention grows with the length of a text; one head of 64 if no "
         "model is named"),
    STRING("attention", 0, "LIST", mechanism.attention, FOR_BENCH,
           "--growth: kinds of attention to compare: dense,window:64 (default: dense)"),
    STRING("output", 'o', "PATH", output.path, FOR_BENCH | PROCESS,
           "file (default: standard output)"),
    STRING("shape", 0, "NAME", bench.shape, FOR_BENCH,
           "a model of this shape with random weights, made in memory"),
    STRING("tokens", 'n', "LIST", bench.lengths, FOR_BENCH,
           "lengths of the texts (default: 6,64,256,1024 up to the context; --growth: "
           "256,512,1024,2048,4096)"),
    INTEGER("repeat", 0, "N", bench.repeat, FOR_BENCH, 1, 1000,
            "rounds, each of which measures everything once (default: 5)"),
    STRING("only", 0, "LIST", bench.only, FOR_BENCH, "tasks to measure (default: all)"),
    INTEGER("threads", 't', "N", model.threads, LOOKING | FOR_HEADS | FOR_TRAIN | PROCESS, 1,
            POOL_THREADS_MAX, "threads (default: one a processor); results do not depend on it"),
    INTEGER("threads", 't', "N", model.threads, FOR_BENCH | FOR_COMPARE, 1, POOL_THREADS_MAX,
            "threads (default: one a processor)"),
    STRING("precision", 0, "NAME", model.precision, ATTENDING & ~FOR_EXPLAIN,
           "of what is multiplied: fp32 (default), or bf16: faster, less exact"),
    STRING("precision", 0, "NAME", model.precision, FOR_BENCH,
           "arithmetic: fp32 (default) or bf16"),
    INTEGER("width", 0, "N", looks.width, (LOOKING & ~FOR_PAGE) | FOR_LESSON | FOR_HEADS | VIEW, 20,
            100000, "columns of a text page (default: the terminal's, else 80)"),
    FLAG("full", 0, looks.full, COLOURED, "text: leave nothing out, however wide or long"),
    FLAG("full", 0, looks.full, FOR_EXPLAIN,
         "nothing left out: whole vectors, all keys, and the matrices that each number follows "
         "from; json has them anyway"),
    INTEGER("tokens", 'n', "N", tokens.sizes, FOR_INFO, 1, 100000000,
            "sizes for a text of N tokens"),
    FLAG("hash", 0, tokens.hash, FOR_INFO,
         "a hash of all tensors, too: checkpoints that share it have equal weights"),
    STRING("output", 'o', "FILE", output.path, FOR_LESSON | PROCESS,
           "a page for browsers: lesson.html (default: text on standard output)"),
    STRING("format", 0, "FORMAT", output.format, FOR_LESSON,
           "text, json or html (default: by the ending of -o, else text)"),
    STRING("model", 'm', "DIR|NAME", model.name, FOR_LESSON,
           "html: the model that the page walks through at last (default: tiny)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_LESSON, "html: the text of that walk"),
    FLAG("list", 0, learn.list, FOR_LESSON, "the steps with their command lines, and no more"),
    FLAG("man", 0, learn.man, FOR_HELP,
         "a page of the manual, for man: that of a command, or of all"),
    STRING("completion", 0, "SHELL", learn.completion, FOR_HELP,
           "a completion script for bash, zsh or fish"),
    FLAG("quiet", 'q', quiet, LOOKING | FOR_TOKENIZE | FOR_INIT | FOR_COMPARE | NOT_BATCH | PROCESS,
         "no notes on standard error"),
    FLAG("quiet", 'q', quiet, FOR_BATCH | PROCESS, "no notes, and do not show how far it is"),
    FLAG("quiet", 'q', quiet, FOR_BENCH | FOR_HEADS | PROCESS, "do not show how far it is"),
    FLAG("verbose", 'v', verbose, FOR_RUN | FOR_GENERATE | FOR_PATCH | FOR_BATCH | PROCESS,
         "say what was run, on what, and how long it took"),
};

const struct option_rows process_options = {process_rows,
                                            sizeof process_rows / sizeof *process_rows};
