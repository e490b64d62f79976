/* train_checkpoint.h: a training on disk: the model's directory, and beside its files what it takes
 * to go on: training.safetensors, what AdamW remembers, log.csv, a line a step, and training.json,
 * its settings and step, and the SHA-256 of these and of all other files but the log. That one gets
 * its name last and is held against the others before a training goes on: a crash between two
 * names is noticed, and so is a setting that was changed.
 *
 *     if (train_checkpoint_write(&trainer, &new_model, &log, &target, err)) ...
 *     if (train_checkpoint_open(&checkpoint, &folder, err)) ...    before the trainer is opened
 *     if (train_checkpoint_resume(&trainer, &checkpoint, &log, &folder, err)) ...  after that
 */
#ifndef ATTN_TRAIN_TRAIN_CHECKPOINT_H
#define ATTN_TRAIN_TRAIN_CHECKPOINT_H

#include "base/buf.h"
#include "base/folder.h"
#include "train/trainer.h"

/* Write all files, those of the new model's tokenizer too, into a folder that is open to be
 * written. */
int train_checkpoint_write(const struct trainer *trainer, const struct new_model *new_model,
                           const struct buf *log, const struct target_folder *target,
                           struct err *err);

/* Read the settings, and check that all files were saved together. Errors name file and field. */
struct train_checkpoint {
    struct trainer_settings settings;
    long long step;
    uint64_t digest; /* of the texts */
};

int train_checkpoint_open(struct train_checkpoint *state, const struct folder *folder,
                          struct err *err);

/* The numbers of a model's directory into a new model of the same config; of a checkpoint into
 * the trainer, and its log. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err);
int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err);

#endif
