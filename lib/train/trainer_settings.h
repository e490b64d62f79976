/* trainer_settings.h: what decides a training, besides its texts and model: one row a setting, for
 * the command line, for training.json, and for what --resume compares. */
#ifndef ATTN_TRAIN_TRAINER_SETTINGS_H
#define ATTN_TRAIN_TRAINER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
