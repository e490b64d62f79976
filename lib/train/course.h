/* course.h: a whole training: steps, each of some batches, with a rate that rises and falls.
 *
 *     rate(step) rises evenly over the warm-up, then falls as half a cosine to a tenth
 *
 * Everything that a step does is decided by the settings and the number of the step, so a course
 * that was saved goes on to the same bits.
 *
 *     struct course course = {0};
 *     if (course_open(&course, &settings, &machine, &new_model, &texts, err)) ...
 *     while (course.step < settings.steps)
 *         if (course_step(&course, &report, err)) ...
 *     course_release(&course);
 */
#ifndef ATTN_TRAIN_COURSE_H
#define ATTN_TRAIN_COURSE_H

#include <stdint.h>

#include "train/adamw.h"
#include "train/study.h"
#include "train/texts.h"

struct course_settings {
    uint64_t seed;
    long long steps, warmup;
    long long texts;      /* of a batch */
    long long tokens;     /* of a text */
    long long accumulate; /* batches of a step */
    double rate, decay, clip, dropout, beta_2;
    double drills; /* the part of texts that are random tokens, repeated */
};

struct course_report {
    double loss;          /* the mean of the step's batches */
    double gradient_norm; /* before it was clipped */
    double rate;
};

struct course {
    struct course_settings settings;
    struct machine *machine;
    const struct texts_of_training *texts;
    struct study study;
    struct adamw adamw; /* adamw.steps: the steps that are done */
    uint32_t *ids, *targets;
    struct arena arena;
};

int course_open(struct course *course, const struct course_settings *settings,
                struct machine *machine, struct new_model *new_model,
                const struct texts_of_training *texts, struct err *err);
void course_release(struct course *course);

/* The rate of a step, counted from 1. */
double course_rate(const struct course_settings *settings, long long step);

/* One step. A loss or gradient that is no number is an error, and changes nothing. */
int course_step(struct course *course, struct course_report *report, struct err *err);

/* The mean loss over some batches of what is held out, always the same ones. */
int course_test(struct course *course, double *loss, struct err *err);

#endif
