/* trainer.h: a training run: texts, an optimiser, steps of several batches with a learning-rate
 * schedule, and checkpoints on disk.
 *
 * The random choices of a step depend only on settings, texts and step number: a resumed run has
 * equal bits.
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
 * the same length. The seed and the number of the batch determine the choice. */

/* Lines at which texts of a batch may begin, or pairs, in the order of their sources' lengths. */
struct dataset_split {
    const uint32_t *items; /* indices of the lines' first tokens, or of pairs */
    size_t count;
};

/* The place of a pair in the ids: a source, and the text that follows it. A labelled text is a
 * source that one id follows: its label. */
struct dataset_pair {
    uint32_t first, source_count, count;
};

struct dataset {
    const uint32_t *ids;
    size_t count;
    const uint32_t *starts; /* index of the first token of each line with tokens */
    size_t start_count;
    struct dataset_pair *pairs; /* [pair_count] */
    size_t pair_count;
    size_t longest, longest_source; /* tokens of the longest text of a pair without its first token,
                                     * and of the longest source */
    const unsigned char *segments;  /* [count] token types of texts with labels; NULL: there are no
                                     * labels */
    struct buf id_bytes, start_bytes, pair_bytes, segment_bytes; /* memory of the ids and of the
                                                                  * arrays above */
    size_t tokens;                                               /* tokens of each text in
                                                                  * a batch */
    struct dataset_split training, held_out;                     /* set by dataset_finish */
    long long mask;  /* in a masked model: the id that hides a token */
    uint64_t digest; /* hash of all tokens */
};

/* Add the tokens of a text, which is encoded line by line. Errors name the line. */
int dataset_add(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                size_t size, struct err *err);

/* Add a pair of a source and a text. The model reads the text except its last token, and learns to
 * predict the text except its first token. */
int dataset_add_pair(struct dataset *dataset, const struct tokens *source,
                     const struct tokens *text, struct err *err);

/* Add a text with its label `target`: the class, or the bits of a number. */
int dataset_add_labelled(struct dataset *dataset, const uint32_t *ids,
                         const unsigned char *segments, size_t count, uint32_t target,
                         struct err *err);

/* Set the length of texts, and hold out a share of lines, at least one, at the end. Refused unless
 * two lines begin at least `tokens` + 1 tokens before the end. With pairs, refused unless there are
 * two, none longer than `tokens`. */
int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err);
void dataset_release(struct dataset *dataset);

/* --- AdamW: a step is computed as by PyTorch's torch.optim.AdamW:
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

/* Allocate means and squares, initialised to 0. */
int adamw_alloc(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
                struct err *err);

/* √Σ g² over all parameters. */
double adamw_norm(const struct parameters *gradients);

/* Update the weights of the gradients' model by one step. The gradients are multiplied by `factor`,
 * which clips them, and then set to 0. */
void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                double rate, float factor);

/* --- settings: a row of trainer_setting_rows for each, for the command line, for training.json and
 * for --resume, which compares them */

struct trainer_settings {
    long long seed, steps, warmup;
    long long texts;      /* texts in a batch */
    long long tokens;     /* tokens in a text */
    long long accumulate; /* batches in a step */
    long long save_every; /* interval in steps; 0: at powers of two */
    double rate, decay, clip, dropout;
    double drills; /* share of texts that are random tokens, repeated */
};

/* Each setting is a long long or a double. */
struct trainer_setting {
    const char *name;   /* name in training.json */
    const char *option; /* command-line option */
    size_t offset;      /* offset of the value in struct trainer_settings */
    bool whole;
    double min, max;
};

extern const struct trainer_setting trainer_setting_rows[];
extern const size_t trainer_setting_count;

/* A setting as a double, exactly: integers have at most 53 bits. */
double trainer_setting_value(const struct trainer_settings *settings,
                             const struct trainer_setting *row);

/* --- training --------------------------------------------------------------------------------- */

struct trainer_report {
    double loss;          /* mean loss of the step's batches */
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

/* The dataset must have pairs if the model has an encoder, texts with labels if the model has
 * classes, and the id of the mask if the model is masked. */
int trainer_open(struct trainer *trainer, const struct trainer_settings *settings,
                 struct machine *machine, struct new_model *new_model,
                 const struct dataset *dataset, struct err *err);
void trainer_release(struct trainer *trainer);

/* Run one step. A NaN or infinite loss or gradient is an error and leaves the weights unchanged. */
int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err);

/* Compute the mean loss over held-out batches, which are the same in each call. */
int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err);

/* --- checkpoint: the model's folder with training.safetensors (the state of AdamW), log.csv (a
 * line per step) and training.json (settings, step, and the SHA-256 of all other files except the
 * log). training.json is renamed last: --resume then detects a crash between two renames. */

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
 * config. The other function reads the state of a checkpoint into the trainer, and appends its log
 * up to that step to `log`. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err);
int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err);
