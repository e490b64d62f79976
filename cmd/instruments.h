/* instruments.h: what `lens`, `attribute` and `patch` share: an instrument is a task of the driver
 * that answers a question about each text (--answer or --target, at --query). */
#pragma once

#include "measure/attribution.h"
#include "measure/logit_lens.h"
#include "measure/patching.h"
#include "measure/saliency.h"
#include "measure/score_attribution.h"

struct driver;
struct group;
struct inquiry;
struct job;
struct options;

/* What differs between the tasks of lens, attribute and patch. */
struct instrument {
    /* `ask` reads the options, refuses texts that do not fit them, and adds the memory of a text;
     * `find` fills the report. */
    int (*ask)(struct inquiry *inquiry, struct arena *arena, struct err *err);
    int (*find)(struct inquiry *inquiry, struct arena *arena, struct err *err);
    const char *columns; /* as in struct driver */
    bool patches;        /* runs a copy of a text for each of its patches */
};

/* The options of a command for one text; without a text, they are only checked. */
struct inquiry {
    struct driver *driver;
    const struct options *options;
    struct viewer *viewer;    /* of the setting, or of the thread that runs the text */
    struct job *job;          /* NULL: no text yet */
    void *state;              /* of the task */
    struct question question; /* --answer or --target, and --query */
    unsigned numbers;         /* --show: 1 << LENS_... or PATCH_... */
    struct facts *facts;      /* of the report */
    const struct progress_sink *progress;
    struct lens_plan lens;
    struct attribution_plan split;
    struct attribution attribution;
    struct saliency_plan saliency; /* --by token */
    uint32_t baseline;
    struct score_plan score; /* --head */
    struct patching_plan plan;
    struct text_with_source corrupt; /* text of --corrupt, also for --head */
};

/* Read --show. Default: all numbers for data, else the first one and the number of --target. */
int instrument_numbers(struct inquiry *inquiry, struct names names, struct err *err);

/* Read --layer, of encoder-decoders the layers of the decoder; default: all. */
int instrument_layers(struct layers *layers, const struct inquiry *inquiry, struct arena *arena,
                      struct err *err);

/* Describe the answer, "logit difference ␣Mary - ␣John after ␣to", and add its facts. `soft_cap` is
 * "before" or "after" the cap, for models that cap logits. Returns NULL on failure. */
const char *instrument_answer(const struct inquiry *inquiry, const char *soft_cap,
                              struct arena *arena, struct err *err);

/* Read --corrupt and --corrupt-source, of as many tokens as the text. */
int instrument_corrupt(struct inquiry *inquiry, struct arena *arena, struct err *err);

/* Hooks of their tasks. */
int instrument_prepare(void *state, struct driver *driver, struct err *err);
int instrument_open(void *state, struct driver *driver, struct err *err);
void instrument_expect(void *state, struct driver *driver, size_t tokens);
int instrument_read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                    struct err *err);
int instrument_run(void *state, const struct group *group, struct err *err);

#define INSTRUMENT_TASK(columns, axes)                                                             \
    .fields = columns, .many = ITEMS_SOME, .prepare = instrument_prepare, .open = instrument_open, \
    .expect = instrument_expect, .read = instrument_read, .run = instrument_run, .means = axes

#define OF_ANSWER (1 << ITEM_ANSWER | 1 << ITEM_POSITION) /* their columns */
