/* trainer.h: a whole training: texts, an optimiser, steps of several batches with a learning rate
 * that rises and falls, and checkpoints on disk.
 *
 * A step depends only on the settings and its number, so a resumed training gives the same bits.
 *
 *     if (dataset_add(&dataset, tokenizer, bytes, size, err)) ...            for every file
 *     if (dataset_finish(&dataset, 64, 0.05, err)) ...     64 tokens a text; held out: 5 %
 *     if (trainer_open(&trainer, &settings, &machine, &new_model, &dataset, err)) ...
 *     while (trainer.adamw.steps < settings.steps)
 *         if (trainer_step(&trainer, &report, err)) ...
 *     if (train_checkpoint_write(&trainer, &new_model, &log, &target, err)) ...
 */
#ifndef ATTN_TRAIN_TRAINER_H
#define ATTN_TRAIN_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/folder.h"
#include "text/tokenizer.h"
#include "train/train_step.h"

/* --- dataset: the tokens of texts, and batches drawn from them, which begin at the beginning of a
 * line and may continue into the next lines. The seed and the step decide which ones a step gets.
 */

/* The lines that texts of a batch may begin with. */
struct dataset_part {
    const uint32_t *items; /* indices of tokens */
    size_t count;
};

struct dataset {
    const uint32_t *ids;
    size_t count;
    const uint32_t *starts; /* of lines */
    size_t start_count;
    struct buf id_bytes, start_bytes;       /* their memory */
    size_t tokens;                          /* of a text in a batch */
    struct dataset_part training, held_out; /* after dataset_finish */
    uint64_t digest;                        /* of all tokens */
};

/* Add the tokens of a text. Errors are the tokenizer's. */
int dataset_add(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                size_t size, struct err *err);

/* Set the length of texts and the share of lines, the last ones, that are held out. Refused: too
 * few tokens for one text of each part. */
int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err);
void dataset_release(struct dataset *dataset);

/* --- AdamW, as PyTorch's torch.optim.AdamW takes a step:
 *
 *     w -= rate · decay · w                  (matrices and embeddings only)
 *     m += (1 - beta_1) (g - m),  v += (1 - beta_2) (g² - v)
 *     w -= rate / (1 - beta_1^t) · m / (√v / √(1 - beta_2^t) + epsilon)
 */

struct adamw {
    double beta_1, beta_2, epsilon, decay;
    uint64_t steps; /* taken so far */
    struct parameters means, squares;
};

/* Allocate means and squares, all 0. */
int adamw_alloc(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
                struct err *err);

/* √Σ g² over all parameters. */
double adamw_norm(const struct parameters *gradients);

/* Update the weights of the gradients' model by one step; `factor` clips the gradients, which
 * become 0. */
void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                double rate, float factor);

/* --- settings of a training, a row each: for the command line, training.json and the comparison
 * of --resume.
 */

struct trainer_settings {
    long long seed, steps, warmup;
    long long texts;      /* of a batch */
    long long tokens;     /* of a text */
    long long accumulate; /* batches of a step */
    long long save_every; /* steps; 0: at powers of two */
    double rate, decay, clip, dropout;
    double drills; /* share of texts that are repeated random tokens */
};

/* A setting is a long long or a double. */
struct trainer_setting {
    const char *name;   /* in training.json */
    const char *option; /* of the command line */
    size_t offset;      /* in struct trainer_settings */
    bool whole;
    double min, max;
};

extern const struct trainer_setting trainer_setting_rows[];
extern const size_t trainer_setting_count;

/* A setting as a double: integers have less than 53 bits. */
double trainer_setting_value(const struct trainer_settings *settings,
                             const struct trainer_setting *row);

/* --- a training ------------------------------------------------------------------------------- */

struct trainer_report {
    double loss;          /* the mean of the step's batches */
    double gradient_norm; /* before clipping */
    double rate;
};

struct trainer {
    struct trainer_settings settings;
    const struct dataset *dataset;
    struct train_step step;
    struct adamw adamw; /* adamw.steps: steps done */
    uint32_t *ids, *targets;
    struct arena arena;
};

int trainer_open(struct trainer *trainer, const struct trainer_settings *settings,
                 struct machine *machine, struct new_model *new_model,
                 const struct dataset *dataset, struct err *err);
void trainer_release(struct trainer *trainer);

/* One step. A loss or gradient that is NaN or infinite is an error and changes nothing. */
int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err);

/* The mean loss over held-out batches, always the same ones. */
int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err);

/* --- checkpoint: the model's folder with training.safetensors (the state of AdamW), log.csv (a
 * line per step) and training.json (settings, step, and the SHA-256 of the files except the log).
 * training.json is renamed last, so that --resume notices a crash between two renames.
 */

struct train_checkpoint {
    struct trainer_settings settings;
    long long step;
    uint64_t digest; /* of the texts */
};

/* Write all files, with those of the new model's tokenizer, into a folder opened for writing. */
int train_checkpoint_write(const struct trainer *trainer, const struct new_model *new_model,
                           const struct buf *log, const struct target_folder *target,
                           struct err *err);

/* Before the trainer is opened: read the settings, and check that all files were saved together.
 * Errors name file and field. */
int train_checkpoint_open(struct train_checkpoint *state, const struct folder *folder,
                          struct err *err);

/* Read the numbers of a model's directory into a new model of the same config; those of a
 * checkpoint into the trainer, and its log. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err);
int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err);

#endif
