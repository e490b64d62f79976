/* pass_record.h: copies of all tensors of a pass, for comparison with another pass.
 *
 *     struct record whole, step;
 *     record_pass(&whole, &model, &text, 1, &watch_all);
 *     record_pass(&step, &model, &grown, 1, &watch_all);
 *     record_expect_rows(&whole, 0, &step, 0, 5);      (the step's rows are the whole's from 5 on)
 *     record_release(&whole);
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"
#include "pass/forward.h"
#include "random_model.h"

enum { RECORD_MAX = 1024 };

struct record_item {
    enum site site;
    int layer;
    size_t text;
    size_t rank;
    size_t shape[3];
    float *data;
};

struct record {
    struct record_item items[RECORD_MAX];
    size_t count;
    struct arena arena;
};

/* The watched sites (bits) in the layers from `first_layer` on, the edits, and the start of a pass.
 */
struct record_watch {
    struct site_set sites;
    size_t first_layer;
    bool last_logits;
    size_t first_head, head_count; /* 0 of them: all */
    const struct edits *edits;     /* NULL: none */
    const struct stream_start *start;
};

/* All sites that the model has. */
struct record_watch record_all(const struct random_model *model);

/* Run a pass, which must succeed, and copy its tensors. */
void record_pass(struct record *record, struct random_model *model, const struct text *texts,
                 size_t count, const struct record_watch *watch);
void record_release(struct record *record);

/* Every tensor of the text of `part` must have the bits of the rows of `whole` from `first` on; of
 * a source, of all rows. */
void record_expect_rows(const struct record *whole, size_t whole_sequence,
                        const struct record *part, size_t part_sequence, size_t first);
