/* command.h: the rows of commands, how one is started, and signals. */
#pragma once

#include "base/err.h"
#include "options.h"

struct task;

#define ATTN_VERSION "0.3.0"

/* Run a command. Returns 0, or -1 with `err`. */
typedef int command_verb(const struct options *options, struct err *err);

enum { OPTION_USES = 8 /* limit for the shared tables of a command */ };

/* A row of the table of commands, in the file that also has its options. */
struct command {
    const char *name;
    const char *group;                /* heading in the overview; NULL: not listed */
    const char *about;                /* one line of help */
    const char *operands;             /* operands in the usage line, after the options; "": none */
    const char *examples;             /* lines, each complete for a shell */
    const struct task *task;          /* what the driver runs, also in a batch; NULL: no driver */
    command_verb *run;                /* NULL: the driver runs the task */
    const struct option_row *options; /* options of this command alone */
    const struct option_row *shared[OPTION_USES]; /* running_options follow them */
    const char *without; /* shared options that the command lacks: "ids source"; NULL: none */
    const struct value_list *operand_values; /* values of operands; NULL: any */
    const struct command *done;              /* batch: the command that runs without --do */
    bool draws; /* it writes one result, the same each time, also as a figure or a page, and nothing
                 * else: `again --run` runs it */
};

/* All commands, in the order of help. */
extern const struct command *const commands[];
extern const size_t command_count;

extern const struct command command_run, command_heads, command_explain, command_page,
    command_tokenize, command_info, command_again, command_score, command_lens, command_attribute,
    command_patch, command_compare, command_generate, command_steer, command_examples,
    command_atlas, command_features, command_batch, command_bench, command_init, command_train,
    command_lesson, command_help;

/* All options of a command; of batch, as without --do. */
struct option_set command_set(const struct command *command);

/* Find a command by name. Returns NULL if there is none; the usage error may name a similar one. */
const struct command *command_find(const char *name, struct err *err);

/* The task of a command with these options: score --classes and heads --contacts have their own. */
extern const struct task classes_task, contacts_task;
const struct task *command_task(const struct command *command, const struct options *options);

/* Put a table of classes in place of the logits, the last array of a report: of a text each class;
 * of tokens the best class of each; of an answer the best token of `start` and `end`. */
struct dictionary;
struct report;
struct tokenized;
struct viewer;
int classes_show(struct report *report, const struct viewer *viewer, struct arena *arena,
                 struct err *err);

/* Run a command with parsed options. */
int command_start(const struct command *command, const struct options *options, struct err *err);

/* The `run` functions of the commands. */
extern command_verb run_command, explain_command, batch_command, page_command, tokenize_command,
    info_command, init_command, train_command, compare_command, lens_command, patch_command,
    heads_command, bench_command, lesson_command, help_command, steer_command, again_command,
    atlas_command;

/* Print the help of a command, or the overview (NULL); print the version of the program. */
int help_of(const struct command *command, struct err *err);
int help_version(struct err *err);

/* --- signals ---------------------------------------------------------------------------------- */

/* Install handlers that remove temporary files before a signal ends the program. */
void signals_set(void);

/* Set the line to print on an interruption. It must remain valid until the next call; "": none. */
void signals_hint(const char *line);
