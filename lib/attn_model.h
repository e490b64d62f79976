/* attn_model.h: what the functions of attn.h share: the model, and how a call begins and ends. */
#ifndef ATTN_ATTN_MODEL_H
#define ATTN_ATTN_MODEL_H

#include "attn.h"
#include "base/host_call.h"
#include "lens/viewer.h"

struct attn_model {
    struct host_object object;
    struct viewer viewer;
    struct arena numbers; /* of heads */
    size_t *heads;        /* [n_head] 0, 1, 2 … */
};

/* Copy an error, as one visible line of UTF-8, for the caller, who may not want it; returns -1. */
int give_error(struct attn_error *error, const struct err *err);

/* Refuse NULL, which is what a caller has who ignored an earlier failure. */
int check_given(const void *given, const char *thing, struct err *err);
int check_ids(const struct attn_ids *ids, const char *thing, struct err *err);

/* Every call that runs the model or its tokenizer is between these two (host_call.h). */
int begin_call(struct host_call *call, const struct attn_model *model, struct err *err);
int end_call(const struct host_call *call, int failed, struct err *err, struct attn_error *error);

#endif
