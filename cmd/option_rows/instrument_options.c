/* Rows of the table of options: comparing, attributing, patching, what heads do. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row instrument_rows[] = {
    STRING("attention", 0, "LIST", mechanism.attention, FOR_COMPARE,
           "what is held against dense attention: window:8,linear: see Attention"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_COMPARE, 0, LLONG_MAX,
            "what random keys are drawn by (default: 0)"),
    STRING("output", 'o', "PATH", output.path, FOR_COMPARE | FOR_TOKENIZE | FOR_INFO | PROCESS,
           "a file (default: standard output)"),
    INTEGER("repeat", 0, "N", bench.repeat, FOR_COMPARE, 1, 1000,
            "rounds in which every way is timed (default: 5)"),
    STRING("answer", 0, "TOKEN", attribute.answer, FOR_ATTRIBUTE | FOR_PATCH,
           "the token whose logit it is, or two of which it is the difference, ' Mary: John' "
           "(default: the likeliest); where a model caps its logits, attribute has it before the "
           "cap, patch after it"),
    STRING("position", 0, "N", attribute.position, FOR_ATTRIBUTE | FOR_PATCH,
           "where the token before the answer stands, from 0, or -1 from the end (default: -1)"),
    STRING("by", 0, "WHAT", attribute.by, FOR_ATTRIBUTE,
           "what it is taken apart into: part (default), source or neuron: see Parts"),
    STRING("clean", 0, "TEXT", patch.clean, FOR_PATCH | NOT_BATCH | NOT_SWEPT,
           "the text that has the answer"),
    STRING("corrupt", 0, "TEXT", patch.corrupt, FOR_PATCH | TEXT,
           "one of as many tokens that lacks it"),
    FLAG("ids", 0, tokens.only_ids, FOR_PATCH | NOT_BATCH | NOT_SWEPT,
         "both are token ids in place of texts: 0,4,5"),
    STRING("over", 0, "WHAT", patch.over, FOR_PATCH, "what is patched: see Patches"),
    FLAG("denoise", 0, patch.denoise, FOR_PATCH, "clean values into the corrupt run (default)"),
    FLAG("noise", 0, patch.noise, FOR_PATCH, "corrupt values into the clean run"),
    STRING("from", 0, "LAYER.HEAD", patch.from, FOR_PATCH,
           "with --over paths: the head that a path begins with, as 9.6 (default: a map of all)"),
    STRING("to", 0, "END", patch.to, FOR_PATCH,
           "where it ends: what a head takes, as 10.0.q (or k, v), or logits (default)"),
    STRING("show", 0, "NUMBER", select.show, FOR_PATCH,
           "fraction, of the answer, or logit (default: fraction; in data both)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_HEADS,
            "a text to measure on; may be given several times"),
    STRING("file", 'f', "PATH", input.file, FOR_HEADS,
           "texts to measure on, one a line; - is standard input"),
    STRING("data", 'd', "PATH", input.file, FOR_HEADS, "the same as --file"),
    STRING("score", 0, "LIST", heads.score, FOR_HEADS,
           "those shown: induction,copying,offset:-2; all: but for those that lack a file "
           "(default: from previous-token to distance)"),
    STRING("sort", 0, "SCORE", heads.sort, FOR_HEADS,
           "sort rows by a score, highest first (default: by layer and head)"),
    STRING("map", 0, "SCORE", heads.map, FOR_HEADS, "one score as a matrix of layers by heads"),
    FLAG("baseline", 0, heads.baseline, FOR_HEADS,
         "add a column with each score on random tokens, or on words paired at random; csv, tidy, "
         "json, jsonl and safetensors of several scores always have it"),
    STRING("pairs", 0, "FILE", heads.pairs, FOR_HEADS,
           "for successor: pairs of words, one a line: Monday,Tuesday"),
    STRING("needle", 0, "FILE", heads.needles, FOR_HEADS,
           "for needle: a line of JSON each, {\"text\": …, \"needle\": a part of it, \"query\": "
           "what comes after it}"),
    STRING("composition", 0, "WAY", heads.composition, FOR_HEADS,
           "in place of scores: how heads write what later ones read for q, k or v"),
    INTEGER("seed", 0, "N", heads.seed, FOR_HEADS, 0, LLONG_MAX,
            "of the random tokens (default: 0)"),
};

const struct option_rows instrument_options = {instrument_rows,
                                               sizeof instrument_rows / sizeof *instrument_rows};
