/* score_job.h: what the files of `attn-cli score` share: score.c reads, score_write.c writes. */
#ifndef ATTN_CMD_SCORE_JOB_H
#define ATTN_CMD_SCORE_JOB_H

#include "measure/score_view.h"
#include "measure/side_by_side.h"
#include "output.h"
#include "session.h"

struct question;

struct score_job {
    const struct options *options;
    struct session session;
    struct question *question; /* of the open model … */
    struct score_view *view;   /* … and in it what is shown */
    struct style style;
    struct output output;
    struct place place;
    struct score_sum *sums; /* with --total, [texts] and one of all */
    struct score_sum all;
    struct model_list models;
    struct side_by_side beside;  /* of several models, where they share tables … */
    struct score_sum *of_models; /* [models] … and what all texts have together */
    struct arena kept;           /* what is not a model's own */
    struct arena group;          /* one group's: memory does not grow with their number */
};

/* The texts of a group: a pair each, or one for each of its continuations. */
struct score_group {
    size_t first, count;
    size_t each; /* pairs of a text */
    struct text_pair *pairs;
    struct scored *scored;
};

/* What does not go together (score_instrument.c). */
int score_check_options(const struct options *options, struct err *err);

/* Read a text with each of its continuations into pairs [continuations], whose prompt is the text;
 * sum up their scores [continuations] after it. */
int score_read_continued(struct text_pair *pairs, const struct question *question,
                         const struct text_pair *alone, struct arena *arena, struct err *err);
int score_sum_continued(struct score_sums *sums, const struct question *question,
                        const struct scored *scored, size_t prompt_count, struct arena *arena,
                        struct err *err);

/* A text's own sum: it is told from the others by its words, or its ids. */
int score_sum_text(struct score_sum *sum, size_t number, const struct tokenized *sentence,
                   const struct scored *scored, struct arena *arena, struct err *err);

bool score_continues(const struct score_job *job);

/* Of several models JSON has an object each, all else shared tables. */
bool score_is_beside(const struct score_job *job);

/* Write what was scored, or keep what is written when all is scored; at the end of a model the
 * sums of its texts, at that of the last what is kept of all. */
int score_write_group(struct score_job *job, const struct score_group *group, struct err *err);
int score_write_end(struct score_job *job, struct err *err);

#endif
