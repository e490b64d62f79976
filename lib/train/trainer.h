/* trainer.h: a whole training: steps, each of some batches, with a rate that rises and falls.
 *
 *     rate(step) rises evenly over the warm-up, then falls as half a cosine to a tenth
 *
 * Everything that a step does is decided by the settings and the number of the step, so a training
 * that was saved goes on to the same bits.
 *
 *     struct trainer trainer = {0};
 *     if (trainer_open(&trainer, &settings, &machine, &new_model, &dataset, err)) ...
 *     while (trainer.adamw.steps < settings.steps)
 *         if (trainer_step(&trainer, &report, err)) ...
 *     trainer_release(&trainer);
 */
#ifndef ATTN_TRAIN_TRAINER_H
#define ATTN_TRAIN_TRAINER_H

#include <stdint.h>

#include "train/adamw.h"
#include "train/train_step.h"
#include "train/dataset.h"

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

/* The rate of a step, counted from 1. */
double trainer_rate(const struct trainer_settings *settings, long long step);

/* One step. A loss or gradient that is no number is an error, and changes nothing. */
int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err);

/* The mean loss over some batches of what is held out, always the same ones. */
int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err);

#endif
