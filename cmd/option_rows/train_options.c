/* Rows of the table of options: models that learn. */
#include "../option_row.h"

#include <limits.h>

static const struct option_row train_rows[] = {
    STRINGS("data", 'd', "FILE", train.data, FOR_TRAIN,
            "a text to learn from, a line or more a text; may be given several times; the last 2 % "
            "of all lines are held out"),
    STRING("config", 0, "FILE", make.config, FOR_TRAIN,
           "a new model of the sizes of a config.json; with --vocab"),
    STRING("shape", 0, "NAME", make.shape, FOR_TRAIN,
           "a new model of the sizes of a well-known one; with --vocab"),
    STRINGS("set", 0, "LIST", make.sets, FOR_TRAIN,
            "other values in their config: n_layer=2,n_head=4"),
    STRING("vocab", 0, "FILE", make.vocab, FOR_TRAIN,
           "the vocabulary of a new model, a vocab.json"),
    STRING("model", 'm', "DIR|NAME", model.name, FOR_TRAIN,
           "begin with the weights of a model that is there"),
    STRING("resume", 0, "DIR", train.resume, FOR_TRAIN,
           "go on with a training that was saved there, to the same bits; its settings hold"),
    STRING("output", 'o', "DIR", output.path, FOR_TRAIN | PROCESS,
           "the directory to write (default: that of --resume)"),
    INTEGER("steps", 0, "N", train.settings.steps, FOR_TRAIN, 1, 1000000000,
            "how often the weights change (default: 1000)"),
    INTEGER("batch", 0, "N", train.settings.texts, FOR_TRAIN, 1, 1000000,
            "texts of a batch (default: 32)"),
    INTEGER("context", 0, "N", train.settings.tokens, FOR_TRAIN, 1, 1000000,
            "tokens of a text (default: the model's positions, at most 128)"),
    INTEGER("accumulate", 0, "N", train.settings.accumulate, FOR_TRAIN, 1, 1000000,
            "batches of a step (default: 1)"),
    REAL("rate", 0, "R", train.settings.rate, FOR_TRAIN, 0, 1000,
         "the highest rate of AdamW, whose β₁ is 0.9, β₂ 0.99 and ε 1e-8 (default: 0.001)"),
    INTEGER("warmup", 0, "N", train.settings.warmup, FOR_TRAIN, 0, 1000000000,
            "steps in which the rate rises, before it falls as a cosine to a tenth of --rate "
            "(default: a twentieth)"),
    REAL("decay", 0, "D", train.settings.decay, FOR_TRAIN, 0, 1000,
         "the decay of matrices (default: 0.1)"),
    REAL("clip", 0, "G", train.settings.clip, FOR_TRAIN, 0, 1000000,
         "the largest norm of a step's gradients; 0: any (default: 1)"),
    REAL("dropout", 0, "P", train.settings.dropout, FOR_TRAIN, 0, 1,
         "the part that is dropped of attention, embeddings and the residual stream (default: 0)"),
    REAL(
        "drills", 0, "P", train.settings.drills, FOR_TRAIN, 0, 1,
        "the part of texts that are random tokens, repeated: they make induction pay (default: 0)"),
    INTEGER("save-every", 0, "N", train.settings.save_every, FOR_TRAIN, 1, 1000000000,
            "save the training at every Nth step (default: at powers of two)"),
    INTEGER("seed", 0, "N", train.seed, FOR_TRAIN, 0, 9007199254740991,
            "of the first weights, the order of texts and dropout (default: 0)"),
    FLAG("force", 0, output.force,
         FOR_INIT | FOR_TRAIN | FOR_RUN | FOR_GENERATE | FOR_ATTRIBUTE | FOR_PATCH | FOR_HEADS |
             NOT_BATCH | PROCESS,
         "replace files of the same names in a folder"),
    FLAG("quiet", 'q', quiet, FOR_TRAIN | PROCESS, "say nothing on the way"),
    FLAG("help", 'h', help, FOR_ALL, "this help"),
};

const struct option_rows train_options = {train_rows, sizeof train_rows / sizeof *train_rows};
