/* Rows of the table of options: what is made of texts, continuations, scores and lenses. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row score_rows[] = {
    INTEGER("tokens", 'n', "N", generate.tokens, FOR_GENERATE, 1, 1000000,
            "generate at most N tokens (default: 32)"),
    REAL("temperature", 0, "T", generate.temperature, FOR_GENERATE, 0, 1000,
         "sample at temperature T (default: 0, the most likely token)"),
    INTEGER("top-k", 0, "K", generate.top_k, FOR_GENERATE, 0, 100000000,
            "sample from the K most likely tokens (default: 0, all)"),
    REAL("top-p", 0, "P", generate.top_p, FOR_GENERATE, 0, 1,
         "sample from the most likely tokens with total probability P (default: 1)"),
    INTEGER("seed", 0, "N", mechanism.seed, FOR_GENERATE | NOT_BATCH, 0, LLONG_MAX,
            "seed of sampling (default: 0); the same on every machine"),
    INTEGER("beams", 0, "N", generate.beams, FOR_GENERATE, 1, 100,
            "search for the most likely text with N beams (default: 1, one token at a time)"),
    FLAG("ignore-eos", 0, generate.ignore_eos, FOR_GENERATE,
         "continue after the model's end-of-text token"),
    FLAG("logprobs", 0, generate.logprobs, FOR_GENERATE,
         "print log-probabilities, and the five most likely tokens at each step"),
    STRINGS("continue", 0, "TEXT", score.continuations, FOR_SCORE,
            "score a continuation such as ' are' instead of the text (repeatable; compared with "
            "the first)"),
    INTEGER("stride", 0, "N", score.stride, FOR_SCORE, 1, 100000000,
            "read texts beyond the context in windows that advance by N tokens"),
    FLAG("total", 0, score.total, FOR_SCORE,
         "print totals only: tokens, log-probability, perplexity"),
    STRING("per", 0, "COLUMN", score.per, FOR_SCORE,
           "print a total for each value of a column of the input, such as a condition"),
    FLAG("bits", 0, score.bits, FOR_SCORE, "surprisal and entropy in bits (default: nats)"),
    INTEGER("top", 0, "N", score.best, FOR_SCORE, 0, 1000,
            "N most likely tokens at each position, in text and json (default: 3)"),
    FLAG("words", 0, select.words, FOR_SCORE,
         "merge subword tokens into words and sum their surprisal"),
    FLAG("begin-word", 0, score.begin_word, FOR_SCORE,
         "assign the probability that a word ends to that word, not to the next one"),
    STRING("site", 0, "SITE", lens.site, FOR_LENS,
           "tensor to read: resid_post (default), resid_mid, resid_pre, attn_out or mlp_out"),
    STRING("layer", 0, "LIST", select.layer, FOR_LENS | FOR_COMPARE,
           "layers: 0,3-5, -1 for the last, all (default)"),
    STRING("target", 0, "TOKEN", lens.target, FOR_LENS,
           "token whose rank and probability to show, such as ' are' (default: the next token of "
           "the text)"),
    STRING("show", 0, "LIST", select.show, FOR_LENS,
           "best (the most likely token, default), id, entropy, kl (divergence from the last "
           "layer), rank, target; data formats have all"),
    INTEGER("top", 0, "N", lens.best, FOR_LENS, 1, 1000,
            "N most likely tokens of each cell, in json (default: 3)"),
};

const struct option_rows score_options = {score_rows, sizeof score_rows / sizeof *score_rows};
