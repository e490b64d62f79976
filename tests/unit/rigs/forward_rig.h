/* forward_rig.h: an open tiny model, and the tensors that its passes announce.
 *
 *     struct rig rig;
 *     rig_open(&rig, &model, 1);
 *     rig_watch_all(&rig);                              (or watch_add(&rig.watch, ...))
 *     struct recording seen = {0};
 *     if (rig_run(&rig, &seen, texts, count, &err)) ...
 *     const struct record *weights = recording_find(&seen, SITE_WEIGHTS, 0, 0);
 *     recording_release(&seen);
 *     rig_close(&rig);
 */
#pragma once

#include "pass/forward.h"
#include "pass/tap.h"
#include "tiny_model.h"

struct rig {
    struct tiny_model *model;
    struct weights weights;
    struct machine machine;
    struct watch watch;
    struct arena arena;   /* of the watch */
    struct arena *memory; /* buffers of passes; NULL: a new arena for each */
};

void rig_open(struct rig *rig, struct tiny_model *model, size_t threads);
void rig_close(struct rig *rig);

/* Watch all sites of the model, or none. */
void rig_watch_all(struct rig *rig);
void rig_watch_nothing(struct rig *rig);

/* Fill memory with NaN, as an earlier pass may have done. */
void rig_soil(struct arena *memory);

/* The number of layers with a site; 1 for a site in no layer; 0 if the model lacks it. */
size_t rig_layers(const struct rig *rig, enum site site);

/* A dense copy of an announced tensor; layer -1: in no layer. */
struct record {
    enum site site;
    int layer;
    size_t text;
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t count;
    float *values;
};

enum { RECORDS_MAX = 4096 };

struct recording {
    struct record records[RECORDS_MAX];
    size_t count;
    size_t fail_at; /* the sink fails at the nth announcement; 0: never */
    struct arena arena;
};

/* Run the texts as one batch; returns the result of forward(). */
int rig_run(struct rig *rig, struct recording *recording, const struct text *texts, size_t count,
            struct err *err);

/* Compare the tensors of a text with the reference: all sites of the model must be present. */
void rig_judge(struct rig *rig, const struct recording *recording, size_t index,
               const struct text *text);

/* Run one text, which must succeed, and compare it with the reference. */
void rig_judge_text(struct rig *rig, const struct text *text);

/* The tensor of that text; NULL if it was not announced. */
const struct record *recording_find(const struct recording *recording, enum site site, int layer,
                                    size_t text);
void recording_release(struct recording *recording);

/* `count` valid ids, which depend on `start`; valid until the program ends. */
const uint32_t *rig_ids(const struct tiny_model *model, size_t start, size_t count);
