/* instrument.h: lens, attribute and patch as tasks of the driver: an inquiry about each text, by
 * the options or by the item's own target, answer and second text, and its report. */
#ifndef ATTN_CMD_INSTRUMENT_H
#define ATTN_CMD_INSTRUMENT_H

#include "base/names.h"
#include "options.h"
#include "measure/attribution.h"
#include "measure/logit_lens.h"
#include "measure/patching.h"

struct inquiry {
    const struct options *options;
    const struct format *format;
    struct viewer *viewer;      /* of the setting, or of the thread that runs it */
    struct text_pair *pair;     /* NULL: options are checked before texts are read */
    size_t number;              /* of the item */
    long long answer, against;  /* --answer or --target: ids; -1: none */
    size_t position;            /* of the token before the answer */
    unsigned numbers;           /* --show: 1 << LENS_… or PATCH_… */
    struct text_origin origin;  /* of its report */
    struct lens_plan lens;      /* the rest is each command's own: */
    struct selection selection; /* of layers of the lens */
    struct attribution attribution;
    enum attribution_by by;
    struct patching_plan plan;
    struct patching patching;
    struct report report;
};

struct instrument {
    const struct task *task;
    const char *answer;   /* the option that names tokens: "--target" */
    const char *soft_cap; /* where logits are read, of models that cap them; NULL: not said */

    /* Read the options, and refuse a text that does not fit them; later fill the report. */
    int (*ask)(struct inquiry *inquiry, struct arena *arena, struct err *err);
    int (*find)(struct inquiry *inquiry, struct arena *arena, struct err *err);
    void (*note)(const struct inquiry *inquiry); /* after each text; NULL: nothing */
};

extern const struct instrument lens_instrument, attribute_instrument, patch_instrument;
extern const struct task lens_task, attribute_task, patch_task;

/* Read --show: names of a table, by default all for data, and the first for people. */
int inquiry_numbers(struct inquiry *inquiry, struct names names, struct err *err);

/* "logit difference ␣Mary - ␣John after ␣to" for a report's title, in the arena, and the facts of
 * the answer. NULL with `err`. */
const char *inquiry_describe(const struct inquiry *inquiry, const struct instrument *instrument,
                             struct facts *facts, struct arena *arena, struct err *err);

/* --- --mean texts of patch -------------------------------------------------------------------- */

/* Sums over the pairs of a setting, in their order. */
struct patch_mean {
    struct report report; /* of the first pair; its tensors are sheets with the labels of all */
    struct sheet *sheets; /* [report.tensor_count] */
    double **sums;
    double clean, corrupt;
    size_t count;
    bool noise;
    struct arena *arena; /* of all of it */
};

/* Add the patches of a pair. Refused: axes of other sizes than the first has. */
int patch_mean_add(struct patch_mean *mean, const struct inquiry *inquiry, struct err *err);

/* The report of the means, in memory of the arena. */
int patch_mean_report(struct report *report, struct patch_mean *mean, struct err *err);

/* Whether a format is for programs, which get every number. */
bool instrument_is_of_data(const struct format *format);

#endif
