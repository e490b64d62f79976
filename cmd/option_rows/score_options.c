/* Rows of the table of options: what is made of texts, continuations, scores and lenses. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row score_rows[] = {
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
    FLAG("total", 0, score.total, FOR_SCORE,
         "of every text the sum alone, and of all: tokens, log-probability, perplexity"),
    FLAG("bits", 0, score.bits, FOR_SCORE, "surprisal and entropy in bits (default: nats)"),
    INTEGER("top-k", 0, "K", score.best, FOR_SCORE, 0, 1000,
            "the K most likely tokens at each place, in text and json (default: 3)"),
    FLAG("words", 0, select.words, FOR_SCORE,
         "merge tokens into words, summing surprisals; the first has none but with --bos"),
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
};

const struct option_rows score_options = {score_rows, sizeof score_rows / sizeof *score_rows};
