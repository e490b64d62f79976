/* trainer.h: a training run: texts, an optimiser, steps of several batches with a learning-rate
 * schedule, and checkpoints on disk.
 *
 * The random choices of a step depend only on the settings, the texts and the step's number: a
 * resumed run has the same bits.
 *
 *     if (dataset_add(&dataset, tokenizer, bytes, size, err)) ...            for every file
 *     if (dataset_finish(&dataset, 64, 0.05, err)) ...     64 tokens a text; held out: 5 %
 *     if (trainer_open(&trainer, &settings, &machine, &new_model, &dataset, err)) ...
 *     while (trainer.adamw.steps < settings.steps)
 *         if (trainer_step(&trainer, &report, err)) ...
 *     if (train_checkpoint_write(&trainer, &new_model, &log, &target, err)) ...
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/file.h"
#include "text/tokenizer.h"
#include "train/train_step.h"

/* --- dataset: tokens of texts, from which batches are drawn. Each text of a batch begins at a line
 * and may continue into later lines; or it is the text of a pair, and all sources of the batch have
 * the same length; or it is a labelled text, and all texts of the batch have the same length. The
 * seed and the number of the batch determine the choice. */

/* A part of the dataset: the lines at which texts of a batch may begin, or the pairs, sorted by the
 * lengths of their sources. */
struct dataset_split {
    const uint32_t *items; /* indices of the lines' first tokens, or of pairs */
    size_t count;
};

/* The position of a pair in the ids: its source begins at `first`, and its text follows the source.
 * A labelled text is stored as a source, followed by its label as one id. */
struct dataset_pair {
    uint32_t first, source_count, count;
};

struct dataset {
    const uint32_t *ids;
    size_t count;
    const uint32_t *starts; /* indices of the first tokens of all lines that have tokens */
    size_t start_count;
    struct dataset_pair *pairs; /* [pair_count] pairs or labelled texts */
    size_t pair_count;
    size_t longest, longest_source; /* maximum number of tokens of a text of a pair, without its
                                     * first token, or of a labelled text; and maximum number of
                                     * tokens of a source */
    const unsigned char *segments;  /* [count] segments of the tokens of labelled texts; NULL: texts
                                     * have no labels */
    struct buf id_bytes, start_bytes, pair_bytes, segment_bytes; /* memory of the ids and of the
                                                                  * arrays above */
    size_t tokens;                                               /* number of tokens in each text of
                                                                  * a batch */
    struct dataset_split training, held_out;                     /* set by dataset_finish */
    long long mask;  /* in a masked model: the id of the token that hides other tokens */
    uint64_t digest; /* hash of all tokens */
};

/* Encode a text line by line and add its tokens. Errors name the line. */
int dataset_add(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                size_t size, struct err *err);

/* Add a pair of a source and a text. The model reads the text without its last token, and learns to
 * predict the text without its first token. */
int dataset_add_pair(struct dataset *dataset, const struct tokens *source,
                     const struct tokens *text, struct err *err);

/* Add a text with its label `target`: the class, or the bits of a number. */
int dataset_add_labelled(struct dataset *dataset, const uint32_t *ids,
                         const unsigned char *segments, size_t count, uint32_t target,
                         struct err *err);

/* Set the length of texts, and hold out a share of the lines or pairs, at least one, at the end. It
 * is an error if fewer than two lines begin at least `tokens` + 1 tokens before the end. With pairs
 * or labelled texts, it is an error if there are fewer than two, or if a text, in a pair without
 * its first token, is longer than `tokens`. */
int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err);
void dataset_release(struct dataset *dataset);

/* --- AdamW: a step is computed as in PyTorch's torch.optim.AdamW:
 *
 *     w -= rate · decay · w                  (matrices and embeddings only)
 *     m += (1 - beta_1) (g - m),  v += (1 - beta_2) (g² - v)
 *     w -= rate / (1 - beta_1^t) · m / (√v / √(1 - beta_2^t) + epsilon)
 */

struct adamw {
    double beta_1, beta_2, epsilon, decay;
    uint64_t steps; /* number of completed steps */
    struct parameters means, squares;
};

/* Allocate the means and squares, which begin as 0. */
int adamw_alloc(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
                struct err *err);

/* Return √Σ g² over the gradients of all parameters. */
double adamw_norm(const struct parameters *gradients);

/* Do one step of AdamW: update the weights of the model to which the gradients belong. The
 * gradients are multiplied by `factor`, which clips them, and then set to 0. */
void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                double rate, float factor);

/* --- settings: each has a row in trainer_setting_rows, which serves the command line,
 * training.json, and --resume, which compares them */

struct trainer_settings {
    long long seed, steps, warmup;
    long long texts;      /* number of texts in a batch */
    long long tokens;     /* number of tokens in a text */
    long long accumulate; /* number of batches in a step */
    long long save_every; /* steps from one checkpoint to the next; 0: checkpoints after steps that
                           * are powers of two */
    double rate, decay, clip, dropout;
    double drills; /* share of texts that are replaced by repeated random tokens */
};

/* A setting, whose value is a long long if `whole`, otherwise a double. */
struct trainer_setting {
    const char *name;   /* name in training.json */
    const char *option; /* command-line option */
    size_t offset;      /* offset of the value in struct trainer_settings */
    bool whole;
    double min, max;
};

extern const struct trainer_setting trainer_setting_rows[];
extern const size_t trainer_setting_count;

/* Return a setting as a double, which is exact: integers have at most 53 bits. */
double trainer_setting_value(const struct trainer_settings *settings,
                             const struct trainer_setting *row);

/* --- training --------------------------------------------------------------------------------- */

struct trainer_report {
    double loss;          /* mean loss over the step's batches */
    double gradient_norm; /* norm of all gradients before clipping */
    double rate;
};

struct trainer {
    struct trainer_settings settings;
    const struct dataset *dataset;
    struct train_step step;
    struct adamw adamw; /* adamw.steps is the number of completed steps */
    uint32_t *ids, *targets, *sources;
    unsigned char *segments;
    const struct dataset_pair **pairs; /* [texts] the pairs of a batch */
    struct arena arena;
};

/* Open a trainer. The dataset must have pairs if the model has an encoder, labelled texts if the
 * model has classes, and the id of the mask if the model is masked. */
int trainer_open(struct trainer *trainer, const struct trainer_settings *settings,
                 struct machine *machine, struct new_model *new_model,
                 const struct dataset *dataset, struct err *err);
void trainer_release(struct trainer *trainer);

/* Run one step. A NaN or infinite loss or gradient is an error and leaves the weights unchanged. */
int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err);

/* Compute the mean loss over held-out batches, which are the same in each call. */
int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err);

/* --- checkpoint: the model's folder with training.safetensors (the state of AdamW), log.csv (a
 * line for each step) and training.json (settings, step, and the SHA-256 of all other files except
 * the log). training.json is renamed last: --resume then detects a crash between two renames. */

struct train_checkpoint {
    struct trainer_settings settings;
    long long step;
    uint64_t digest; /* hash of the dataset */
};

/* Write all files of the checkpoint and of the new model into an open folder. */
int train_checkpoint_write(const struct trainer *trainer, const struct new_model *new_model,
                           const struct buf *log, const struct target_folder *target,
                           struct err *err);

/* Read training.json before the trainer is opened, and check the files against its hashes. Errors
 * name the file, and the field of training.json. */
int train_checkpoint_open(struct train_checkpoint *state, const struct folder *folder,
                          struct err *err);

/* train_checkpoint_weights reads the weights of a model's folder into a new model with the same
 * config. train_checkpoint_resume reads the state of a checkpoint into the trainer, and appends the
 * checkpoint's log up to its step to `log`. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err);
int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err);
