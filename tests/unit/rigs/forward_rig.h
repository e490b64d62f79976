/* forward_rig.h: a tiny model opened for running, and what its runs announce.
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
#ifndef ATTN_TESTS_FORWARD_RIG_H
#define ATTN_TESTS_FORWARD_RIG_H

#include "model/forward.h"
#include "tiny_model.h"

struct rig {
    struct tiny_model *model;
    struct weights weights;
    struct machine machine;
    struct watch watch;
    struct arena arena;   /* the watch's */
    struct arena *memory; /* what passes take their buffers from; NULL: fresh memory for each */
};

void rig_open(struct rig *rig, struct tiny_model *model, size_t threads);
void rig_close(struct rig *rig);

/* Watch everything the model has; nothing. */
void rig_watch_all(struct rig *rig);
void rig_watch_nothing(struct rig *rig);

/* Memory in which every number is NaN, as a pass before may have left it. */
void rig_soil(struct arena *memory);

/* The layers that have a site; 1 for one in no layer; 0 where the model has no such site. */
size_t rig_layers(const struct rig *rig, enum site site);

/* A dense copy of what was announced; layer -1: of none. */
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
    size_t fail_at; /* the sink refuses its nth announcement; 0: none */
    struct arena arena;
};

/* Run the texts as one batch; returns what forward returns. */
int rig_run(struct rig *rig, struct recording *recording, const struct text *texts, size_t count,
            struct err *err);

/* Hold what was announced of a text against the reference: every site of the model is there,
 * with the reference's numbers. */
void rig_judge(struct rig *rig, const struct recording *recording, size_t index,
               const struct text *text);

/* Run one text alone, which must go well, and judge it. */
void rig_judge_text(struct rig *rig, const struct text *text);

/* What was announced of that text; NULL when nothing was. */
const struct record *recording_find(const struct recording *recording, enum site site, int layer,
                                    size_t text);
void recording_release(struct recording *recording);

/* `count` ids that the model has, other ones for another `start`; valid until the program ends. */
const uint32_t *rig_ids(const struct tiny_model *model, size_t start, size_t count);

#endif
