/* Rows of the table of options: what is made of texts, continuations, scores, lenses; how they are
 * attended to, and what is changed on the way. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row attend_rows[] = {
    INTEGER("tokens", 'n', "N", generate.tokens, FOR_GENERATE, 1, 1000000,
            "at most N more tokens (default: 32)"),
    REAL("temp", 0, "T", generate.temperature, FOR_GENERATE, 0, 1000,
         "draw tokens at this temperature (default: 0, always the most likely)"),
    INTEGER("top-k", 0, "K", generate.top_k, FOR_GENERATE, 0, 100000000,
            "draw from the K most likely tokens (default: 0, all)"),
    REAL("top-p", 0, "P", generate.top_p, FOR_GENERATE, 0, 1,
         "draw from the most likely tokens that hold P of the probability (default: 1)"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_GENERATE, 0, LLONG_MAX,
            "what the drawing begins with (default: 0); a seed gives one text, on every machine"),
    FLAG("no-stop", 0, generate.no_stop, FOR_GENERATE, "go on after the model's end-of-text token"),
    FLAG("logprobs", 0, generate.logprobs, FOR_GENERATE,
         "for every new token its log-probability, and the five most likely ones"),
    STRINGS("continue", 0, "TEXT", score.continuations, FOR_SCORE,
            "score what a text goes on with, such as ' are', and not the text; given several "
            "times, the others are compared with the first"),
    INTEGER("stride", 0, "N", score.stride, FOR_SCORE, 1, 100000000,
            "texts longer than the model's context are read by windows of it, each N tokens "
            "further: a token has N fewer before it than fit, or more"),
    FLAG("total", 0, score.whole, FOR_SCORE,
         "of every text the sum alone, and of all: tokens, log-probability, perplexity"),
    FLAG("bits", 0, score.bits, FOR_SCORE, "surprisal and entropy in bits (default: nats)"),
    INTEGER("top-k", 0, "K", score.best, FOR_SCORE, 0, 1000,
            "the K most likely tokens at each place, in text and json (default: 3)"),
    FLAG("words", 0, select.words, FOR_SCORE,
         "pieces of words merged, their surprisals summed; the first has none but with --bos"),
    STRING("site", 0, "SITE", lens.site, FOR_LENS,
           "what is read at each layer: resid_post (default), resid_mid, resid_pre, attn_out, "
           "mlp_out"),
    STRING("layer", 0, "LIST", select.layer, FOR_LENS | FOR_COMPARE,
           "layers: 0,3-5, -1 for the last, or all (default)"),
    STRING("target", 0, "TOKEN", lens.target, FOR_LENS,
           "the token whose rank and probability are told, such as ' are' (default: the one that "
           "comes next in the text)"),
    STRING("show", 0, "LIST", select.show, FOR_LENS,
           "best, the most likely token, and its probability; its id; entropy; kl, how far it is "
           "from what is said at last; rank and target, those of --target (default: best; in data "
           "all)"),
    INTEGER("top-k", 0, "K", lens.best, FOR_LENS, 1, 1000,
            "the K most likely tokens of each cell, in json (default: 3)"),
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
    INTEGER("seed", 0, "N", mechanism.seed, FOR_RUN | FOR_EXPLAIN | FOR_PAGE | NOT_BATCH | NOT_ITEM,
            0, LLONG_MAX, "what --dropout and random keys are drawn by (default: 0)"),
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
