/* question_job.h: functions that the tasks of `lens`, `attribute` and `patch` share. Each of their
 * jobs asks a question about a text: the logit of an answer (--answer or --target) after a token
 * (--query).
 *
 * `prepare` calls question_prepare. `open` and `read` both read the options, since `open` refuses
 * what is wrong for all texts: there the job is NULL. `run` calls question_report for each text.
 *
 *     struct question_words words = question_words(driver, job);
 *     if (answer_read(&question, &words, viewer, arena, err) ||
 *         question_layers(&layers, driver, job, arena, err) || ...
 *         (job && position_read(&question, &words, viewer, arena, err))) ...
 */
#pragma once

#include "base/names.h"
#include "session.h"

struct driver;
struct facts;
struct group;
struct job;

/* Columns of the answer and of the position, for task.fields. */
#define OF_ANSWER (1 << ITEM_ANSWER | 1 << ITEM_POSITION)

/* Refuse a folder of pages. `answer` is the value of `option`, --answer or --target: a note says
 * if the last operand looks like a second answer. */
int question_prepare(struct driver *driver, const char *option, const char *answer,
                     struct err *err);

/* The options of a job; if `job` is NULL, the options of the open setting. */
const struct options *question_options(const struct driver *driver, const struct job *job);

/* The values of --answer and --query, with the text, for answer_read and position_read
 * (session.h). */
struct question_words question_words(struct driver *driver, const struct job *job);

/* Read --layer, by default all layers; in a model with an encoder, these are layers of the
 * decoder. */
int question_layers(struct layers *layers, const struct driver *driver, const struct job *job,
                    struct arena *arena, struct err *err);

/* Read --show as a set of bits, 1 << index in `names`. By default, formats for people show only the
 * first number, and data formats show all numbers. */
int question_numbers(unsigned *numbers, const struct driver *driver, const struct job *job,
                     struct names names, struct err *err);

/* Read --corrupt and --corrupt-source of a job. The corrupt text must have as many tokens as the
 * text of the job. */
int question_corrupt(struct text_with_source *corrupt, const struct driver *driver,
                     const struct job *job, struct arena *arena, struct err *err);

/* Begin the report of a job: set its model and its texts, and return its facts. NULL: failed. */
struct facts *question_report(struct job *job, const struct group *group, struct err *err);

/* Describe a question, "logit difference ␣Mary - ␣John after ␣to", and add its facts. `soft_cap` is
 * "before" or "after" the cap, for models that cap logits. NULL: failed. */
const char *question_title(const struct question *question, const char *soft_cap,
                           const struct job *job, const struct group *group, struct facts *facts,
                           struct err *err);

/* Run a function for each text of a group. The function reports its steps, such as patches, to
 * `progress`. The passes of the model get no progress, since they would count layers. */
struct progress_sink;
typedef int question_text(struct job *job, const struct group *group,
                          const struct progress_sink *progress, struct err *err);
int question_run(const struct group *group, question_text *run_text, struct err *err);
