/* run.h: the task of `attn-cli run` in run.c, and the files that replace parts of it.
 *
 * Options with tasks of their own are --stack (run_stack.c) and --cosines (run_cosines.c), whose
 * hooks call the hooks of run.c, and --show finding (run_finding.c). Three files replace the usual
 * pass: for a setting that asks for gradients (run_gradient.c), for a text that is so long that its
 * result is written during the pass (run_stream.c), and for text that begins with the finding
 * (run_finding.c). */
#pragma once

#include "texts.h"

struct group;
struct job;
struct options;
struct task;

struct run_state {
    struct request request; /* the tensors to show, and how results are derived from them */
    bool walks;             /* true if some setting of a sweep asks for gradients */
    bool shows_classes;     /* with the default output, a table of classes is also shown */
    bool finds;             /* the output begins with the finding of each text (run_finding.c) */
};

/* --- run.c: the hooks of its task; `state` is a struct run_state ------------------------------ */

int run_prepare(void *state, struct driver *driver, struct err *err);
int run_open(void *state, struct driver *driver, struct err *err);
int run_read(void *state, struct driver *driver, struct job *job, struct arena *arena,
             struct err *err);
int run_texts(void *state, const struct group *group, struct err *err);
int run_finish(void *state, struct driver *driver, struct err *err);

/* The first half of run_open: choose the tensors. The second half checks that each text, or the
 * mean of all texts, can have a result with these tensors. */
int run_select(struct run_state *own, struct driver *driver, struct err *err);

/* The first half of run_read: estimate the memory, and refuse a text that --gradient or --pool
 * cannot use. The second half refuses a text without the tokens of --query. */
int run_estimate(const struct run_state *own, struct driver *driver, struct job *job,
                 struct arena *arena, struct err *err);

/* --- other tasks, for options of the command line --------------------------------------------- */

extern const struct task run_stack_task, run_cosines_task;

/* --- run_finding.c: the finding of each text -------------------------------------------------- */

/* The task of --show finding, which writes a table of findings. */
extern const struct task run_finding_task;
bool run_shows_finding(const struct options *options);

/* True if text on standard output begins with sentences about each text: no option chooses what to
 * show. */
bool run_finds(const struct request *request, const struct driver *driver);

/* Raise the memory of a job, if run_finding needs more than the usual result. */
void run_finding_add_memory(struct driver *driver, struct job *job);

/* Run the jobs of a group: each result has the sentences about its text, and the weights and
 * context vectors of the layer of its finding or, without a finding, of the usual layers. All heads
 * are shown if they fit into 100 lines, the head of the finding first, else that head alone. */
int run_finding(const struct run_state *own, const struct group *group, struct err *err);

/* For --caption finding: run_caption_prepare refuses formats and options that do not fit;
 * run_caption_add_memory adds the memory of a job; run_caption sets the captions of the reports. */
int run_caption_prepare(const struct driver *driver, struct err *err);
void run_caption_add_memory(struct driver *driver, struct job *job);
int run_caption(const struct group *group, struct err *err);

/* --- run_gradient.c: --gradient, or attention_gradient in --show ------------------------------ */

int run_gradient_prepare(const struct driver *driver, struct err *err);

/* Set `walks` if a setting of a sweep asks for gradients, and check that gradients exist at the
 * selected sites. */
int run_gradient_open(bool *walks, const struct selection *selection, const struct driver *driver,
                      struct err *err);

/* Read --gradient and --position, and store them in `job->own`. */
int run_gradient_read(struct driver *driver, struct job *job, const struct selection *selection,
                      struct arena *arena, struct err *err);

int run_gradient_run(const struct group *group, struct err *err);

/* --- run_stream.c: a long text ---------------------------------------------------------------- */

/* True if attention maps are written during the pass: then memory holds only a few of them. */
bool run_streams(const struct driver *driver, const struct selection *selection,
                 const struct text_with_source *pair);

/* Run the only job of a group, and write its result during the pass. */
int run_stream(const struct group *group, const struct selection *selection, struct err *err);
