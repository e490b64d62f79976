/* edit_list.h: edits in the words of the command line, and the values of other texts they ask for.
 *
 *     h.9.context[head=6,token=-1] = 0          SITE[PLACES] OP
 *     resid_post[layer=2-4,channel=7] * 0.5     in all places where none are named
 *     weights = mean                            over reference texts, place by place
 *     attn_out = resample:7                     of one of them, drawn by the seed
 *     mlp_out[token=3] = from                   of another text, as long as this one
 *     resid_post[layer=2] + steer.npy           a file's, for all tokens or each
 *
 * Places are layer, head, token (or query), key and channel: numbers and ranges as --layer has
 * them. Short are "9.6,10.0" or "9.6=mean": the whole context of a layer's heads; and "4:2", in a
 * layer or head "9.6:4:2": that query does not see that key.
 *
 *     struct edit_list list = {.config = &config, .arena = &arena};
 *     if (edit_list_add(&list, EDIT_WORDS, "h.0.context = 0", err) ||
 *         edit_list_fill(&list, &viewer, &texts, err)) ...
 *     viewer.edits = &list.edits;
 */
#ifndef ATTN_LENS_EDIT_LIST_H
#define ATTN_LENS_EDIT_LIST_H

#include "lens/viewer.h"
#include "model/edit.h"

enum edit_form { EDIT_WORDS, EDIT_ABLATION, EDIT_KNOCKOUT };

enum edit_origin { EDIT_NUMBER, EDIT_MEAN, EDIT_RESAMPLE, EDIT_FROM, EDIT_ORIGINS };

/* What an edit takes, as it was read. */
struct edit_wish {
    enum edit_origin origin;
    uint64_t seed;
    const char *file; /* or NULL */
};

struct edit_list {
    const struct config *config; /* with the mechanism that the model attends by */
    struct arena *arena;         /* of all that is read */
    struct edits edits;
    struct edit *items;
    struct edit_wish *wishes;
    unsigned origins; /* a bit each: what is asked for */
};

/* Read an option's text, of EDIT_WORDS several with ; between them; errors are usage. */
int edit_list_add(struct edit_list *list, enum edit_form form, const char *text, struct err *err);

/* The texts that values are taken from: for = mean and = resample, and for = from (or NULL). */
struct edit_texts {
    const struct text_pair *reference;
    size_t reference_count;
    const struct text_pair *from;
};

/* Let an edit take the values of a file of numpy: of the channels of its site, which then are the
 * same for all tokens; or of tokens and channels, heads, tokens and channels (edit_values.c). */
int edit_list_open(struct edit_list *list, struct edit *edit, const char *path, struct err *err);

/* Run them, as the viewer's model attends now, for the edits that ask for it (edit_values.c): what
 * a mean is of one text is that text. They are as many as `origins` ask for. */
int edit_list_fill(struct edit_list *list, struct viewer *viewer, const struct edit_texts *texts,
                   struct err *err);

#endif
