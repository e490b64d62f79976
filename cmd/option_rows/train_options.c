/* Rows of the table of options: models that learn. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row train_rows[] = {
    STRINGS("data", 'd', "FILE", train.data, FOR_TRAIN,
            "training text, one or more lines per text (repeatable); the last 2 % of lines are "
            "held out"),
    STRING("config", 0, "FILE", make.config, FOR_TRAIN,
           "new model with the sizes of a config.json; needs --vocab"),
    STRING("shape", 0, "NAME", make.shape, FOR_TRAIN,
           "new model with the sizes of a well-known one (see 'help sizes'); needs --vocab"),
    STRINGS("set", 0, "LIST", make.sets, FOR_TRAIN,
            "override values of the config: n_layer=2,n_head=4 (see 'help sizes')"),
    STRING("vocab", 0, "FILE", make.vocab, FOR_TRAIN, "vocab.json of a new model"),
    STRING("model", 'm', "MODEL", model.name, FOR_TRAIN, "start from the weights of this model"),
    STRING("resume", 0, "DIR", train.resume, FOR_TRAIN,
           "continue a saved training, bit for bit, with its settings"),
    STRING("output", 'o', "DIR", output.path, FOR_TRAIN | PROCESS,
           "folder to write (default: that of --resume)"),
    INTEGER("steps", 0, "N", train.settings.steps, FOR_TRAIN, 1, 1000000000,
            "optimiser steps (default: 1000)"),
    INTEGER("batch-size", 0, "N", train.settings.texts, FOR_TRAIN, 1, 1000000,
            "texts per batch (default: 32)"),
    INTEGER("context", 0, "N", train.settings.tokens, FOR_TRAIN, 1, 1000000,
            "tokens per text (default: the model's context, at most 128)"),
    INTEGER("grad-accum", 0, "N", train.settings.accumulate, FOR_TRAIN, 1, 1000000,
            "batches per step (default: 1)"),
    REAL("lr", 0, "R", train.settings.rate, FOR_TRAIN, 0, 1000,
         "peak learning rate of AdamW (default: 0.001); β₁ is 0.9, β₂ 0.99, ε 1e-8"),
    INTEGER("warmup-steps", 0, "N", train.settings.warmup, FOR_TRAIN, 0, 1000000000,
            "steps of linear warmup, then cosine decay to a tenth of --lr (default: a twentieth of "
            "--steps)"),
    REAL("weight-decay", 0, "D", train.settings.decay, FOR_TRAIN, 0, 1000,
         "weight decay of matrices (default: 0.1)"),
    REAL("grad-clip", 0, "G", train.settings.clip, FOR_TRAIN, 0, 1000000,
         "maximum gradient norm; 0: no clipping (default: 1)"),
    REAL("dropout", 0, "P", train.settings.dropout, FOR_TRAIN, 0, 1,
         "dropout of attention, embeddings and residual stream (default: 0)"),
    REAL("drills", 0, "P", train.settings.drills, FOR_TRAIN, 0, 1,
         "share of texts replaced by repeated random tokens, which teach induction (default: 0)"),
    INTEGER("save-every", 0, "N", train.settings.save_every, FOR_TRAIN, 1, 1000000000,
            "save every N steps (default: at powers of two)"),
    INTEGER("seed", 0, "N", train.seed, FOR_TRAIN, 0, 9007199254740991,
            "seed of initial weights, text order and dropout (default: 0)"),
    FLAG("force", 0, output.force,
         FOR_INIT | FOR_TRAIN | FOR_RUN | FOR_GENERATE | FOR_ATTRIBUTE | FOR_PATCH | FOR_HEADS |
             NOT_BATCH | PROCESS,
         "replace existing files in a folder"),
    FLAG("quiet", 'q', quiet, FOR_TRAIN | PROCESS, "print no progress"),
    FLAG("help", 'h', help, FOR_ALL, "print this help"),
};

const struct option_rows train_options = {train_rows, sizeof train_rows / sizeof *train_rows};
