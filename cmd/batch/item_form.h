/* item_form.h: what heads do in every item, as --reduce --per-item writes it: one row a form.
 *
 *     id,layer,head,entropy,distance                     csv: a line for each head of each item
 *     id,measure,layer,head,query,key,count,value        tidy: a line a number
 *     {"id": "a", "model": "tiny", "measures": {…}}      jsonl: a line an item; json: all in [ ]
 *
 * Conditions have columns after the id, and what a sweep varies has one, too. Items are written one
 * after another, by any process: what stands before the first and after the last belongs to them.
 */
#ifndef ATTN_CMD_ITEM_FORM_H
#define ATTN_CMD_ITEM_FORM_H

#include "base/err.h"

struct item_fault;
struct job;
struct measured;
struct stream;

/* An item on its way out. */
struct item_measured {
    const struct job *job;
    const struct measured *measured; /* NULL: it failed … */
    const struct item_fault *fault;  /* … for that */
    unsigned measures;               /* of all items, one bit each */
    size_t name_columns;             /* text: the widest id */
    bool first, last;                /* of the whole batch */
};

struct item_form {
    const char *name;
    const char *ending; /* of file names */
    bool has_errors;    /* an item that failed has its place */
    int (*write)(struct stream *out, const struct item_measured *item, struct err *err);
};

extern const struct item_form item_forms[]; /* the first is for people */
extern const size_t item_form_count;

#endif
