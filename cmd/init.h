/* init.h: what `init` and `train` make: the vocabulary and the config of a new model,
 * and the folder they are written to.
 *
 *     struct model_maker model = {.options = options};
 *     if (model_maker_read_sets(&model, err) ||
 *         new_words_find(&model.words, options, &like, err) ||
 *         model_maker_take_shape(&model, err) || model_maker_open(&model, path, err) ||
 *         save_folder(&model.new_model.folder, path, ...)) ...
 *     model_maker_release(&model);
 */
#ifndef ATTN_CMD_INIT_H
#define ATTN_CMD_INIT_H

#include "base/folder.h"
#include "model/config_edit.h"
#include "model/new_model.h"
#include "options.h"
#include "text/tokenizer.h"
#include "text/word_list.h"

/* The files of its tokenizer: learnt from --sentence and --vocab-from, given by --vocab and
 * --merges, or those of another model. */
struct new_words {
    struct folder folder; /* its path is the directory to be written */
    struct folder_file files[TOKENIZER_FILES];
    struct file sources[TOKENIZER_FILES]; /* what they were read from */
    struct vocab_text *texts;             /* [text_count] of --vocab-from, then --sentence */
    size_t text_count;
    struct buf json, merges; /* learnt from the texts */
    struct arena arena;
    size_t count; /* one more than the largest id; 0: no tokenizer */
};

struct model_maker {
    const struct options *options;
    const char *label;  /* of the config, in messages */
    struct file config; /* as it was found */
    struct buf shape;   /* … or made */
    struct buf text;    /* … and changed */
    struct config_edit edit;
    struct new_words words;
    struct new_model new_model;
    struct arena arena;
};

/* `like` is NULL where no model lends its own. */
int new_words_find(struct new_words *words, const struct options *options,
                   const struct folder *like, struct err *err);

/* --set; the config of --shape; the new model of the changed config, with the words' files. */
int model_maker_read_sets(struct model_maker *model, struct err *err);
int model_maker_take_shape(struct model_maker *model, struct err *err);
int model_maker_open(struct model_maker *model, const char *path, struct err *err);
void model_maker_release(struct model_maker *model);

/* Write the files of a new model and show progress. Refused is a
 * directory with a file of another tokenizer, which would be read with them; save_folder_check says
 * so before what takes long. */
int save_folder_check(const struct folder *folder, const char *path, struct err *err);
int save_folder(const struct folder *folder, const char *path, bool replaces, struct err *err);

#endif
