/* saved.h: a course on disk: the model's directory, and beside its files what the course needs to
 * go on: training.json, its settings and step, training.safetensors, what AdamW remembers, and
 * log.csv, a line a step.
 *
 *     if (saved_write(&course, &draft, &log, "fables/step-000064", err)) ...
 *     if (saved_settings(&settings, &step, &folder, err)) ...      before the course is opened
 *     if (saved_read(&course, &draft, &log, &folder, step, err)) ...  behind that
 */
#ifndef ATTN_TRAIN_SAVED_H
#define ATTN_TRAIN_SAVED_H

#include "base/buf.h"
#include "base/folder.h"
#include "train/course.h"

/* Write all files, those of the draft's tokenizer too, into a directory; it is made if it is not
 * there. */
int saved_write(const struct course *course, const struct draft *draft, const struct buf *log,
                const char *path, struct err *err);

/* The settings of a saved course. Errors name the file and the field. */
struct saved_state {
    struct course_settings settings;
    long long step;
    uint64_t digest; /* of the texts */
};

int saved_settings(struct saved_state *state, const struct folder *folder, struct err *err);

/* The numbers of a model's directory into a draft of the same config; of a saved course into the
 * course, and its log. */
int saved_weights(struct draft *draft, const struct folder *folder, struct err *err);
int saved_read(struct course *course, const struct saved_state *state, struct buf *log,
               const struct folder *folder, struct err *err);

#endif
