/* Rows of the table of options: how a pass attends, and what is changed on the way. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row attend_rows[] = {
    STRING("attention", 0, "KIND", mechanism.attention, ATTENDING,
           "replace the attention pattern: window:W, strided:S, global:G, random:K, linear, "
           "blocked:B, sums with +"),
    FLAG("mask-after", 0, mechanism.mask_after, FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_PAGE,
         "apply the causal mask after the softmax and renormalise"),
    STRING("scale", 0, "X", mechanism.scale, ATTENDING,
           "multiply scores by X instead of 1/√d_k: none, sqrt or a number"),
    REAL("attention-temperature", 0, "T", mechanism.temperature, FOR_RUN | FOR_EXPLAIN | FOR_PAGE,
         0, 1000000, "divide scores by T (default: 1)"),
    REAL("dropout", 0, "P", mechanism.dropout, FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_PAGE, 0,
         1, "drop attention weights with probability P (default: 0)"),
    STRING("without", 0, "PARTS", mechanism.without, ATTENDING,
           "leave out parts of a GPT-2: mlp, norm, residual, positions"),
    INTEGER("seed", 0, "N", mechanism.seed,
            FOR_RUN | FOR_EXPLAIN | FOR_PAGE | NOT_BATCH | NOT_SWEPT, 0, LLONG_MAX,
            "seed of --dropout and of random keys (default: 0)"),
    STRINGS("edit", 0, "EDIT", edit.edits, EDITED,
            "change a value during the pass (repeatable): 'h.0.context[head=1,token=-1] = 0' (see "
            "'help edits')"),
    STRINGS("ablate", 0, "L.H,...", edit.ablations, EDITED,
            "zero the output of heads; 0.1=mean replaces it with the reference mean"),
    STRINGS("knockout", 0, "Q:K,...", edit.knockouts, EDITED,
            "stop query Q from attending to key K (0:4:2 in layer 0, 0.1:4:2 in one head)"),
    STRING("from", 0, "TEXT", edit.from, EDITED & ~FOR_PATCH,
           "text whose run supplies values for '= from'; as many tokens as this one"),
    STRING("reference", 0, "FILE", edit.reference, EDITED,
           "texts, one per line, that supply values for '= mean' and '= resample'"),
    STRING("source", 0, "TEXT", input.source,
           FOR_RUN | FOR_EXPLAIN | FOR_COMPARE | FOR_SCORE | FOR_LENS | FOR_PAGE | TEXT,
           "second text, for cross-attention and encoder-decoder models"),
    STRING("part", 0, "PART", explain.part, FOR_EXPLAIN,
           "attention of an encoder-decoder model: self (the decoder, default), cross or encoder"),
    STRING("source", 0, "TEXT", input.source, FOR_GENERATE | TEXT,
           "text for the encoder, such as the text to translate"),
    STRING("token", 0, "TOKEN", explain.token, FOR_EXPLAIN,
           "the query: a token's text (is), its index (1, or -1 for the last), both (1:is), or all "
           "(default: the last)"),
};

const struct option_rows attend_options = {attend_rows, sizeof attend_rows / sizeof *attend_rows};
