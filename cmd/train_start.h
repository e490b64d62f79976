/* train_start.h: what a training begins with: a model's first numbers, or those of one that is
 * there, its words, and the texts.
 *
 *     struct train_start start = {0};
 *     if (train_start_open(&start, options, err)) ...
 *     train_start_release(&start);
 */
#ifndef ATTN_CMD_TRAIN_START_H
#define ATTN_CMD_TRAIN_START_H

#include "model_maker.h"
#include "options.h"
#include "train/train_checkpoint.h"
#include "train/dataset.h"

struct train_start {
    const char *output;            /* the directory to write */
    bool replaces;                 /* files that are in it */
    struct folder source;          /* of --model or --resume; no path: a fresh model */
    struct train_checkpoint state; /* its settings, or those of the command line */
    struct dataset texts;
    struct model_maker model;
};

/* Errors are usage, or name the file. What is held is released by train_start_release, on failure,
 * too. */
int train_start_open(struct train_start *start, const struct options *options, struct err *err);
void train_start_release(struct train_start *start);

#endif
