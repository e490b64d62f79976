/* init.h: the making of a model, which `init` and `train` share: a config from a model, a shape or
 * a file, changed by --set; a vocabulary that is learnt, given or that of the model; tensors of 0.
 *
 *     struct model_maker maker = {.options = options, .like = folder};
 *     if (model_maker_open(&maker, path, err)) ...
 *     fill maker.new_model; save its folder
 *     model_maker_release(&maker);
 */
#ifndef ATTN_CMD_INIT_H
#define ATTN_CMD_INIT_H

#include "base/folder.h"
#include "model/config_edit.h"
#include "model/new_model.h"
#include "options.h"
#include "text/tokenizer.h"

struct model_maker {
    const struct options *options;
    struct folder like; /* a model that lends its config and vocabulary; no path: none */

    const char *label;  /* of the config, in messages */
    struct file config; /* before changes */
    struct buf shape;   /* the bytes of --shape's */
    struct buf text;    /* after changes */
    struct config_edit edit;

    struct folder words; /* the files of the tokenizer; its path is the folder to be written */
    struct folder_file files[TOKENIZER_FILES];
    struct file sources[TOKENIZER_FILES]; /* that files were read from */
    struct file *texts;                   /* [text_count] of --vocab-from, then --sentence */
    size_t text_count;
    struct buf json, merges; /* learnt from the texts */
    size_t word_count;       /* one more than the largest id; 0: no tokenizer */

    struct new_model new_model;
    struct arena arena;
};

/* Refused as well: a folder at `path` with a file of another tokenizer, which would be read with
 * the new files. Errors name the option or the file. */
int model_maker_open(struct model_maker *maker, const char *path, struct err *err);
void model_maker_release(struct model_maker *maker);

#endif
