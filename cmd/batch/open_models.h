/* open_models.h: the models of a batch, each opened once for a precision.
 *
 *     struct open_models models = {.threads = 2};
 *     struct open_model *model = open_models_get(&models, &job.item.options, err);
 *     if (!model || open_model_read(model, &job, &pair, &arena, err)) ...
 *     open_models_release(&models);
 */
#ifndef ATTN_CMD_OPEN_MODELS_H
#define ATTN_CMD_OPEN_MODELS_H

#include "jobs.h"
#include "lens/edit_list.h"
#include "lens/viewer.h"

enum { READINGS = 8 }; /* with --bos, --add-special and --no-special, or without */

struct open_model {
    struct viewer viewer;
    struct tokenizer *readings[READINGS]; /* the model's own, and others as they are asked for */
    bool any_length;                      /* texts may go beyond its context */
    size_t tokens;                        /* that will be looked at in all */
    struct edit_list edits;               /* of the last pass … */
    struct arena edit_arena;
    const char *edit_key;    /* … which had these settings; NULL: it had no edits */
    struct open_model *next; /* in the order of their first use */
};

struct open_models {
    size_t threads;
    struct open_model *first;
    struct texts edit_files;  /* each once, as it is named */
    const char *weights_edit; /* the first edit of weights, as messages call it; or NULL */
    struct arena arena;
};

/* The model that options name, opened if it is new. It stays where it is until all are released. */
struct open_model *open_models_get(struct open_models *models, const struct options *options,
                                   struct err *err);
void open_models_release(struct open_models *models);

/* About so many tokens share a pass. */
size_t open_models_pass_tokens(const struct open_models *models);

/* Let the model attend, and edit, as the options say, which were checked. What edits take of other
 * texts is kept until options are others. */
int open_model_set(struct open_model *model, const struct options *options,
                   const struct mechanism *mechanism, struct err *err);

/* Note the files that a job's edits take values of, numpy's, and --reference where it is there; and
 * what they do to weights. */
int open_models_note_edits(struct open_models *models, const struct edit_list *list,
                           const struct edit_options *options, struct err *err);

/* Tokenize a job's text and its source, as its options say. */
int open_model_read(struct open_model *model, const struct job *job, struct text_pair *pair,
                    struct arena *arena, struct err *err);

#endif
