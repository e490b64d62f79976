/* pass_record.h: every value that one pass announces, kept, and held against another pass's.
 *
 *     struct record whole, step;
 *     record_pass(&whole, &model, &text, 1, &watch_all);
 *     record_pass(&step, &model, &grown, 1, &watch_all);
 *     record_expect_rows(&whole, 0, &step, 0, 5);      (the step's rows are the whole's from 5 on)
 *     record_release(&whole);
 */
#ifndef ATTN_TESTS_PASS_RECORD_H
#define ATTN_TESTS_PASS_RECORD_H

#include <stdbool.h>

#include "base/arena.h"
#include "model/forward.h"
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

/* What a pass watches: bits of sites, in the layers from `first_layer` on; what it changes, and
 * where it begins. */
struct record_watch {
    uint64_t sites;
    size_t first_layer;
    bool last_logits;
    size_t first_head, head_count; /* 0 of them: all */
    const struct edits *edits;     /* NULL: none */
    const struct stream_start *start;
};

/* All sites that the model has. */
struct record_watch record_all(const struct random_model *model);

/* Run a pass and keep what it announces. The test fails when the pass does. */
void record_pass(struct record *record, struct random_model *model, const struct text *texts,
                 size_t count, const struct record_watch *watch);
void record_release(struct record *record);

/* Every value of `part`'s text is, to the bit, what `whole` has of its text for the rows
 * from `first` on; of a source's rows, for all. */
void record_expect_rows(const struct record *whole, size_t whole_sequence,
                        const struct record *part, size_t part_sequence, size_t first);

#endif
