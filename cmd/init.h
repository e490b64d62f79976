/* init.h: makes a model for `init` and `train`: a config from a model, a shape or a file, edited by
 * --set; a tokenizer learnt from texts, read from files or copied from the model; tensors of zeros.
 *
 *     struct model_maker maker = {.options = options, .like = folder};
 *     if (model_maker_open(&maker, path, err)) ...
 *     fill maker.new_model; save its folder
 *     model_maker_release(&maker);
 */
#pragma once

#include "base/file.h"
#include "model/config.h"
#include "model/new_model.h"
#include "options.h"
#include "text/tokenizer.h"

struct model_maker {
    const struct options *options;
    /* model with the default config and vocabulary; if its path is NULL, there is no model */
    struct folder like;
    /* names of classes, for a classifier that is added to the config; empty: not added */
    struct texts classes;

    const char *label;  /* in messages: the file or option that the config is from */
    struct file config; /* the config as it was read, before --set */
    struct buf shape;   /* text of the config that --shape describes */
    struct buf text;    /* text of the config, after --set */
    struct config_edit edit;

    struct folder words; /* files of the new tokenizer; words.path is the folder to write */
    struct folder_file files[TOKENIZER_FILES];
    struct file inputs[TOKENIZER_FILES]; /* input files of the tokenizer */
    struct file *texts; /* [text_count] texts of --vocab-from, then of --sentence */
    size_t text_count;
    struct buf json, merges; /* vocabulary (JSON) and merges that were learnt from the texts */
    size_t word_count;       /* largest id of a token + 1; 0: no tokenizer */

    struct new_model new_model;
    struct arena arena;
};

/* Prepare the model for the folder at `path`. A folder that contains a file of another tokenizer is
 * refused, since this file would be read together with the new files. Errors name the option or the
 * file. */
int model_maker_open(struct model_maker *maker, const char *path, struct err *err);
void model_maker_release(struct model_maker *maker);
