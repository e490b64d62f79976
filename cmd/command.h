/* command.h: the table of commands, how a command is started, and signals. */
#pragma once

#include "base/err.h"
#include "options.h"

struct task;

#define ATTN_VERSION "0.4.0"

/* Run a command. Returns 0, or -1 with `err`. */
typedef int command_verb(const struct options *options, struct err *err);

enum { OPTION_USES = 8 /* maximum number of shared option tables of a command */ };

/* A command. Each command is defined in a file of its own, next to the table of its options. */
struct command {
    const char *name;
    const char *heading;  /* heading in the overview; NULL: not listed */
    const char *about;    /* one line of help that describes the command */
    const char *operands; /* operands in the usage line, after the options; "": no operands */
    /* The options that help lists first, one a line: an example of the option; if the option's own
     * brief does not fit, then a tab and another brief:
     * "-m smollm2.gguf\n--layer 0,3-5\n-f texts.txt\ttexts to measure on\n" */
    const char *most_used;
    const char
        *note; /* paragraph of help below the most used options, in lines of 80 columns; NULL:
                       * no paragraph */
    /* examples in help: each line is a complete shell command; the first four are on the page
     * without --full */
    const char *examples;
    /* hooks for the driver, also used by `batch`; NULL: the command needs no driver */
    const struct task *task;
    /* chooses the task by the options; NULL: always `task` */
    const struct task *(*choose)(const struct options *options);
    command_verb *run;                /* runs the command; NULL: the driver runs the task */
    const struct option_row *options; /* table of options that only this command has */
    /* tables of shared options; running_options are always added */
    const struct option_row *shared[OPTION_USES];
    const char *without; /* names of shared options that the command does not have, such as "ids
                          * source"; NULL: it has all */
    /* values of an option, in groups, for the page without --full; NULL: none */
    const struct value_list *value_groups;
    const struct value_list *operand_values; /* valid operands; NULL: any text */
    /* an option that the command does not have is an operand, as in `help --pool` */
    bool names_options;
    const struct command *done; /* only for batch: the command to run without --do; other commands:
                                 * NULL */
    /* the command writes a single figure or page, with the same bytes each time, and changes
     * nothing else: `again --run` may run it */
    bool draws;
    /* advice if a model has no tokenizer; NULL: the advice is to use --ids */
    const char *without_tokenizer;
    /* draws_pages: the command writes only HTML pages; draws_folders: the command always writes a
     * folder with figures */
    bool draws_pages, draws_folders;
};

/* A list of commands, in the order of the help page. */
struct command_list {
    const struct command *const *items;
    size_t count;
    /* the number of places that `attn-cli help WORD` finds */
    size_t (*places)(const char *word, const struct command_list *all);
};

/* All commands. Only main and attn_report use this list; other code uses options->set.all. */
extern const struct command_list all_commands;

extern const struct command command_run, command_heads, command_explain, command_page,
    command_tokenize, command_info, command_again, command_score, command_lens, command_attribute,
    command_patch, command_compare, command_generate, command_steer, command_examples,
    command_atlas, command_features, command_batch, command_bench, command_init, command_train,
    command_lesson, command_help;

/* All options of a command. For batch, they include the options of the command that it runs without
 * --do. */
static inline struct option_set command_set(const struct command *command)
{
    return (struct option_set){.command = command, .done = command->done};
}

/* Find a command by name. If no command has this name, return NULL with a usage error, which may
 * suggest a similar name. */
const struct command *command_find(const struct command_list *all, const char *name,
                                   struct err *err);

/* Parse the arguments after the command's name. `batch` also accepts the options of the command
 * that --do names. */
int command_parse(struct options *options, const struct command_list *all,
                  const struct command *command, char **arguments, struct arena *arena,
                  struct err *err);

/* The task that a command runs with these options. */
static inline const struct task *command_task(const struct command *command,
                                              const struct options *options)
{
    return command->choose ? command->choose(options) : command->task;
}

/* Run a command with parsed options. */
int command_start(const struct command *command, const struct options *options, struct err *err);

/* The functions of `page` and `explain`, which `run` and `lesson` also call. */
extern command_verb page_command, explain_command;

/* `help_of` prints the help page of the command; `help_version` prints the version of the
 * program. */
int help_of(const struct option_set *set, struct err *err);
int help_version(struct err *err);

/* The function of all_commands.places. */
size_t help_places(const char *word, const struct command_list *all);

/* --- signals ---------------------------------------------------------------------------------- */

/* Install handlers that remove temporary files before a signal ends the program. */
void signals_set(void);

/* Set the line that is printed if a signal interrupts the program. The line must remain valid until
 * the next call; "": nothing is printed. */
void signals_hint(const char *line);
