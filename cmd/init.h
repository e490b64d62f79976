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
    struct folder like;   /* model whose config and vocabulary are the default; no path: none */
    struct texts classes; /* names of a classifier that a config without one gets; or none */

    const char *label;  /* name of the config in messages */
    struct file config; /* before --set */
    struct buf shape;   /* config of --shape */
    struct buf text;    /* config after --set */
    struct config_edit edit;

    struct folder words; /* files of the tokenizer; the path is the folder to write */
    struct folder_file files[TOKENIZER_FILES];
    struct file inputs[TOKENIZER_FILES]; /* input files of the tokenizer */
    struct file *texts;                  /* [text_count] of --vocab-from, then of --sentence */
    size_t text_count;
    struct buf json, merges; /* learnt from the texts */
    size_t word_count;       /* largest id + 1; 0: no tokenizer */

    struct new_model new_model;
    struct arena arena;
};

/* Prepare the model for the folder at `path`. Refused: a folder with a file of another tokenizer,
 * which would be read together with the new files. Errors name the option or the file. */
int model_maker_open(struct model_maker *maker, const char *path, struct err *err);
void model_maker_release(struct model_maker *maker);
