/* Rows of the table of options: how a pass attends, and what is changed on the way. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row attend_rows[] = {
    STRING("attention", 0, "KIND", mechanism.attention, ATTENDING,
           "which keys a query sees, and how they are weighed: see Attention (default: dense)"),
    STRING("mask-method", 0, "HOW", mechanism.mask_method, FOR_RUN | FOR_EXPLAIN | FOR_PAGE,
           "before the softmax (before, the default), or after it (renormalise): the future made "
           "0, the rest divided by its sum"),
    STRING("mask-method", 0, "HOW", mechanism.mask_method, FOR_GENERATE,
           "before the softmax (before); to renormalise, keys to come must be known: see run"),
    STRING("scale", 0, "none|sqrt|X", mechanism.scale, ATTENDING,
           "what scores are multiplied by: nothing, 1/√d_k or a number (default: the model's)"),
    REAL("temperature", 0, "T", mechanism.temperature, FOR_RUN | FOR_EXPLAIN | FOR_PAGE, 0, 1000000,
         "what scores are divided by, too (default: 1): near 0 one key gets all the weight"),
    REAL("dropout", 0, "P", mechanism.dropout, FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_PAGE, 0,
         1, "leave a share of the weights out, the others divided by 1-P (default: 0)"),
    STRING("without", 0, "LIST", mechanism.without, ATTENDING,
           "a GPT-2 without some of mlp, norm, residual, positions"),
    INTEGER("seed", 0, "N", mechanism.seed,
            FOR_RUN | FOR_EXPLAIN | FOR_PAGE | NOT_BATCH | NOT_SWEPT, 0, LLONG_MAX,
            "what --dropout and random keys are drawn by (default: 0)"),
    STRINGS("edit", 0, "EDIT", edit.edits, EDITED,
            "change a value on its way: 'h.0.context[head=1,token=-1] = 0': see Edits; may be "
            "given several times"),
    STRINGS("ablate", 0, "LIST", edit.ablations, EDITED,
            "make the context of heads 0: 0.1,1.3 (LAYER.HEAD), or another value: 0.1=mean"),
    STRINGS("knockout", 0, "LIST", edit.knockouts, EDITED,
            "let a query not see a key: 4:2; in one layer or head: 0:4:2, 0.1:4:2"),
    STRING("from", 0, "TEXT", edit.from, EDITED & ~FOR_PATCH,
           "the text, as long as this one, that '= from' takes values of"),
    STRING("reference", 0, "PATH", edit.reference, EDITED,
           "texts, one a line, that '= mean' and '= resample:SEED' take values of"),
    STRING("source", 0, "TEXT", input.source,
           FOR_RUN | FOR_EXPLAIN | FOR_COMPARE | FOR_SCORE | FOR_LENS | FOR_PAGE | TEXT,
           "the text looked at, in models of cross-attention"),
    STRING("attention-of", 0, "PART", explain.attention_of, FOR_EXPLAIN,
           "of an encoder and its decoder: self (the decoder's, default), cross or encoder, where "
           "the query is one of the source"),
    STRING("source", 0, "TEXT", input.source, FOR_GENERATE,
           "the text that an encoder reads: the one to translate"),
    STRING("token", 0, "TOKEN", explain.token, FOR_EXPLAIN,
           "the query: a token's text (is), where none reads so its place from 0 (1, or -1 for the "
           "last), or both (1:is); all: every token, one after another; default: the last"),
};

const struct option_rows attend_options = {attend_rows, sizeof attend_rows / sizeof *attend_rows};
