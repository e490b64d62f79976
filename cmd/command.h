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
    const char *heading;     /* heading in the overview; NULL: not listed */
    const char *about;       /* one line of help */
    const char *operands;    /* operands in the usage line, after the options; "": none */
    const char *examples;    /* lines, each complete for a shell */
    const struct task *task; /* hooks for the driver, used by `batch` as well; NULL: no driver */
    const struct task *(*choose)(const struct options *options); /* NULL: always `task` */
    command_verb *run;                            /* NULL: the driver runs the task */
    const struct option_row *options;             /* options of this command alone */
    const struct option_row *shared[OPTION_USES]; /* running_options follow them */
    const char *without; /* shared options that the command lacks: "ids source"; NULL: none */
    const struct value_list *operand_values; /* values of operands; NULL: any */
    const struct command *done;              /* batch: the command that runs without --do */
    bool draws; /* it writes one result, the same each time, also as a figure or a page, and nothing
                 * else: `again --run` runs it */
    const char *without_tokenizer;   /* advice for models that have none; NULL: --ids */
    bool draws_pages, draws_folders; /* all that it writes are pages; folders with figures */
};

/* Commands, in the order of help. */
struct command_list {
    const struct command *const *items;
    size_t count;
};

/* All commands: for main and attn_report alone. Others have options->set.all. */
extern const struct command_list all_commands;

extern const struct command command_run, command_heads, command_explain, command_page,
    command_tokenize, command_info, command_again, command_score, command_lens, command_attribute,
    command_patch, command_compare, command_generate, command_steer, command_examples,
    command_atlas, command_features, command_batch, command_bench, command_init, command_train,
    command_lesson, command_help;

/* All options of a command; of batch, as without --do. */
static inline struct option_set command_set(const struct command *command)
{
    return (struct option_set){.command = command, .done = command->done};
}

/* Find a command by name. Returns NULL if there is none; the usage error may name a similar one. */
const struct command *command_find(const struct command_list *all, const char *name,
                                   struct err *err);

/* Parse the arguments after the command's name; a batch also has the options of --do. */
int command_parse(struct options *options, const struct command_list *all,
                  const struct command *command, char **arguments, struct arena *arena,
                  struct err *err);

/* The task of a command with these options. */
static inline const struct task *command_task(const struct command *command,
                                              const struct options *options)
{
    return command->choose ? command->choose(options) : command->task;
}

/* Run a command with parsed options. */
int command_start(const struct command *command, const struct options *options, struct err *err);

/* Functions of commands that other code runs as well: `run` and lessons. */
extern command_verb page_command, explain_command;

/* Print the help of a set's command; print the version of the program. */
int help_of(const struct option_set *set, struct err *err);
int help_version(struct err *err);

/* --- signals ---------------------------------------------------------------------------------- */

/* Install handlers that remove temporary files before a signal ends the program. */
void signals_set(void);

/* Set the line to print on an interruption. It must remain valid until the next call; "": none. */
void signals_hint(const char *line);
