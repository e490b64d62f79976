/* edits.h: edits in the syntax of the command line, and the values of other texts that they need.
 *
 *     h.9.context[head=6,token=-1] = 0          SITE[POSITIONS] OP
 *     resid_post[layer=2-4,channel=7] * 0.5     at all positions of axes that are not named
 *     weights = mean                            over reference texts, position by position
 *     attn_out = resample:7                     one of them, drawn with this seed
 *     mlp_out[token=3] = from                   of another text of the same length
 *     resid_post[layer=2] + steer.npy           a file's, for all tokens or each
 *
 * Axes are layer, head, token (or query), key and channel; positions are numbers and ranges as in
 * --layer. Short forms are "9.6,10.0" or "9.6=mean": the whole context of heads; and "4:2", in a
 * layer or head "9.6:4:2": that query does not attend to that key.
 *
 *     struct edit_list list = {.config = &config, .arena = &arena};
 *     if (edit_list_add(&list, EDIT_WORDS, "h.0.context = 0", err) ||
 *         edit_list_fill(&list, &viewer, &texts, err)) ...
 *     viewer.edits = &list.edits;
 */
#ifndef ATTN_LENS_EDITS_H
#define ATTN_LENS_EDITS_H

#include "lens/viewer.h"
#include "model/edit.h"

enum edit_form { EDIT_WORDS, EDIT_ABLATION, EDIT_KNOCKOUT };

enum edit_origin { EDIT_NUMBER, EDIT_MEAN, EDIT_RESAMPLE, EDIT_FROM, EDIT_ORIGINS };

/* The value that an edit takes, as it was read. */
struct value_source {
    enum edit_origin origin;
    uint64_t seed;
};

struct edit_list {
    const struct config *config; /* with the mechanism that the model attends by */
    struct arena *arena;         /* owns all that is read */
    struct edits edits;
    struct edit *items;
    struct value_source *sources;
    unsigned origins; /* a bit each: those that edits name */
};

/* Read an option's text, for EDIT_WORDS several edits with ; between them; errors are usage. Files
 * are in numpy's format: channels of the site, which then are the same for all tokens; or tokens
 * and channels; or heads, tokens and channels. */
int edit_list_add(struct edit_list *list, enum edit_form form, const char *text, struct err *err);

/* The texts that values are taken from: for = mean and = resample, and for = from (or NULL). */
struct edit_texts {
    const struct text_pair *reference;
    size_t reference_count;
    const struct text_pair *from;
};

/* Run these texts without edits, as the viewer's model attends now, and take the values. There must
 * be a text for each of `origins`; the mean over one text is that text. */
int edit_list_fill(struct edit_list *list, struct viewer *viewer, const struct edit_texts *texts,
                   struct err *err);

#endif
