/* Rows of the table of options: comparing, attributing, patching, what heads do. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row instrument_rows[] = {
    STRING("attention", 0, "LIST", mechanism.attention, FOR_COMPARE,
           "attention patterns to compare with dense attention: window:8,linear"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_COMPARE, 0, LLONG_MAX,
            "seed of random keys (default: 0)"),
    STRING("output", 'o', "FILE", output.path, FOR_COMPARE | FOR_TOKENIZE | FOR_INFO | PROCESS,
           "file (default: standard output); the ending sets the format"),
    INTEGER("repeat", 0, "N", bench.repeat, FOR_COMPARE, 1, 1000,
            "number of timing rounds (default: 5)"),
    STRING("answer", 0, "TOKEN", attribute.answer, FOR_ATTRIBUTE | FOR_PATCH,
           "explain this token's logit, or the difference of two: ' Mary: John' (default: the most "
           "likely token)"),
    STRING("position", 0, "N", attribute.position, FOR_ATTRIBUTE | FOR_PATCH,
           "index of the token before the answer; -1 is the last (default)"),
    STRING("by", 0, "part|source|neuron", attribute.by, FOR_ATTRIBUTE,
           "split by component (default), source token or neuron (see Parts below)"),
    STRING("clean", 0, "TEXT", patch.clean, FOR_PATCH | NOT_BATCH | NOT_SWEPT,
           "text that contains the information"),
    STRING("corrupt", 0, "TEXT", patch.corrupt, FOR_PATCH | TEXT,
           "text of the same length without it"),
    FLAG("ids", 0, tokens.only_ids, FOR_PATCH | NOT_BATCH | NOT_SWEPT,
         "--clean and --corrupt are token ids: 0,4,5"),
    STRING("over", 0, "WHAT", patch.over, FOR_PATCH,
           "values to patch (default: heads; see Patches below)"),
    STRING("path", 0, "FROM:TO", patch.path, FOR_PATCH,
           "patch one path: 9.6:10.0.q (or .k, .v), 9.6:logits; without FROM: all heads"),
    FLAG("noise", 0, patch.noise, FOR_PATCH,
         "patch corrupt values into the clean run (default: clean into corrupt)"),
    STRING("show", 0, "NUMBER", select.show, FOR_PATCH,
           "fraction of the answer restored, or logit (default: fraction; data formats have both)"),
    STRING("score", 0, "LIST", heads.score, FOR_HEADS | NOT_SWEPT,
           "scores to compute: induction,copying,offset:-2, or all (default: previous-token to "
           "distance); induction:texts measures it on the texts, self:repeats on random tokens"),
    STRING("sort", 0, "SCORE", heads.sort, FOR_HEADS | NOT_SWEPT,
           "sort by a score, highest first (default: by layer and head)"),
    INTEGER("top", 0, "N", heads.top, FOR_HEADS | NOT_SWEPT, 1, 100000000,
            "with --sort: only the N heads with the highest scores (default: all)"),
    STRING("map", 0, "SCORE", heads.map, FOR_HEADS | NOT_SWEPT,
           "show one score as a matrix of layers by heads"),
    FLAG("baseline", 0, heads.baseline, FOR_HEADS | NOT_SWEPT,
         "add a column with each score on random tokens (most data formats always have it)"),
    STRING("pairs", 0, "FILE", heads.pairs, FOR_HEADS | NOT_SWEPT,
           "word pairs for the score successor, one per line: Monday,Tuesday"),
    STRING("needle", 0, "FILE", heads.needles, FOR_HEADS | NOT_SWEPT,
           "texts for the score needle: JSONL or CSV with the columns text, needle and query"),
    STRING("composition", 0, "q|k|v", heads.composition, FOR_HEADS | NOT_BATCH,
           "show how strongly each head composes with earlier heads through q, k or v, instead of "
           "scores"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_HEADS | NOT_BATCH, 0, LLONG_MAX,
            "seed of the random tokens (default: 0)"),
};

const struct option_rows instrument_options = {instrument_rows,
                                               sizeof instrument_rows / sizeof *instrument_rows};
