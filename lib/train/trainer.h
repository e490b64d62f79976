/* trainer.h: a whole training: texts, an optimiser, steps of some batches each, with a rate that
 * rises and falls; and what it takes to go on with it, on disk.
 *
 * Everything that a step does is decided by the settings and the number of the step, so a training
 * that was saved goes on to the same bits.
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

/* --- dataset: the tokens of texts, and the batches drawn from them: they begin where lines begin
 * and go on as far as they are wanted, into the next lines. Which ones a step gets depends on the
 * seed and the step alone.
 */

/* Lines that a batch may begin with. */
struct dataset_part {
    const uint32_t *items; /* places in the tokens */
    size_t count;
};

struct dataset {
    const uint32_t *ids;
    size_t count;
    const uint32_t *starts; /* of lines */
    size_t start_count;
    struct buf id_bytes, start_bytes;       /* that hold them */
    size_t tokens;                          /* of a text in a batch */
    struct dataset_part training, held_out; /* after dataset_finish */
    uint64_t digest;                        /* of all tokens */
};

/* Add the tokens of a text. Errors are the tokenizer's. */
int dataset_add(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                size_t size, struct err *err);

/* Decide on the length of texts and how many lines, the last ones, are held out. Refused: too few
 * tokens for one text of each. */
int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err);
void dataset_release(struct dataset *dataset);

/* Fill ids and targets [count, tokens]: the token after each is its target. */
void dataset_draw(const struct dataset *dataset, const struct dataset_part *starts, uint64_t key,
                  uint32_t *ids, uint32_t *targets, size_t count);

/* Put drills in the place of some texts: random ids below `limit` that come again and again, so
 * that what came before is all there is to go by. `share` of them, drawn by the key. */
struct drills {
    size_t texts, tokens; /* of the batch */
    size_t limit;
    double share;
};

void dataset_drill(uint32_t *ids, uint32_t *targets, const struct drills *drills, uint64_t key);

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

struct adamw_step {
    double rate;
    float factor; /* of the gradients, where they are clipped; else 1 */
};

/* Memory for means and squares, all 0. */
int adamw_alloc(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
                struct err *err);

/* √Σ g² over all parameters. */
double adamw_norm(const struct parameters *gradients);

/* Change the new model's numbers by one step; the gradients become 0. */
void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                const struct adamw_step *step);

/* --- settings: what decides a training, besides its texts and model: one row a setting, for the
 * command line, for training.json, and for the comparison of --resume.
 */

struct trainer_settings {
    uint64_t seed;
    long long steps, warmup;
    long long texts;      /* of a batch */
    long long tokens;     /* of a text */
    long long accumulate; /* batches of a step */
    long long save_every; /* steps; 0: at powers of two */
    double rate, decay, clip, dropout, beta_2;
    double drills; /* the part of texts that are random tokens, repeated */
};

/* Each of them is a whole number, a long long, or a real one, a double. */
struct trainer_setting {
    const char *name;   /* in training.json */
    const char *option; /* of the command line, or NULL: it has none */
    size_t offset;      /* in struct trainer_settings */
    bool whole;
    double max;
    bool may_lack; /* in what earlier versions saved: then it is 0 */
};

extern const struct trainer_setting trainer_setting_rows[];
extern const size_t trainer_setting_count;

/* One of them, as a number: whole ones have less than 53 bits. */
double trainer_setting_value(const struct trainer_settings *settings,
                             const struct trainer_setting *row);

/* --- a training ------------------------------------------------------------------------------- */

struct trainer_report {
    double loss;          /* the mean of the step's batches */
    double gradient_norm; /* before it was clipped */
    double rate;
};

struct trainer {
    struct trainer_settings settings;
    struct machine *machine;
    const struct dataset *dataset;
    struct train_step step;
    struct adamw adamw; /* adamw.steps: the steps that are done */
    uint32_t *ids, *targets;
    struct arena arena;
};

int trainer_open(struct trainer *trainer, const struct trainer_settings *settings,
                 struct machine *machine, struct new_model *new_model,
                 const struct dataset *dataset, struct err *err);
void trainer_release(struct trainer *trainer);

/* The rate of a step, counted from 1: it rises evenly over the warm-up, then falls as half a cosine
 * to a tenth. */
double trainer_rate(const struct trainer_settings *settings, long long step);

/* One step. A loss or gradient that is no number is an error, and changes nothing. */
int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err);

/* The mean loss over some batches of what is held out, always the same ones. */
int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err);

/* --- checkpoint: the model's directory, and beside its files training.safetensors, what AdamW
 * remembers, log.csv, a line a step, and training.json, its settings and step, and the SHA-256 of
 * these and of all other files but the log. That one gets its name last and is held against the
 * others before a training goes on: a crash between two names is noticed, and so is a setting that
 * was changed.
 */

struct train_checkpoint {
    struct trainer_settings settings;
    long long step;
    uint64_t digest; /* of the texts */
};

/* Write all files, those of the new model's tokenizer too, into a folder that is open to be
 * written. */
int train_checkpoint_write(const struct trainer *trainer, const struct new_model *new_model,
                           const struct buf *log, const struct target_folder *target,
                           struct err *err);

/* Before the trainer is opened: read the settings, and check that all files were saved together.
 * Errors name file and field. */
int train_checkpoint_open(struct train_checkpoint *state, const struct folder *folder,
                          struct err *err);

/* The numbers of a model's directory into a new model of the same config; of a checkpoint into
 * the trainer, and its log. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err);
int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err);

#endif
