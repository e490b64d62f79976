/* command.h: the commands: one row each; and what they say on standard error. */
#ifndef ATTN_CMD_COMMAND_H
#define ATTN_CMD_COMMAND_H

#include "options.h"
#include "text/tokenizer.h"

struct task;

#define ATTN_VERSION "0.2.0"

/* 0, or -1 with `err`. */
typedef int command_verb(const struct options *options, struct err *err);

enum { OPTION_USES = 9 /* tables of shared options that a command may have */ };

/* A command is one file: its row, its options and its functions. */
struct command {
    const char *name;
    const char *group;                /* its heading in the overview; NULL: not listed */
    const char *about;                /* one line */
    const char *operands;             /* after the options in its usage line; "": none */
    const char *examples;             /* lines, each a command that works as it is */
    const struct task *task;          /* how the driver runs its texts, in a batch, too */
    command_verb *run;                /* NULL: the driver runs the task */
    const struct option_row *options; /* its own */
    const struct option_row *shared[OPTION_USES]; /* shared options, in the order of help */
    const char *without; /* names of shared options that it lacks, "ids source"; NULL: none */
    const struct value_list *operand_values; /* NULL: free */
    bool reads_texts;                        /* 'help options' describes its shared options */
    const struct command *done;              /* batch: the command without --do */
};

/* All commands in the order of help, each by its row. */
extern const struct command *const commands[];
extern const size_t command_count;

extern const struct command command_run, command_heads, command_explain, command_page,
    command_tokenize, command_info, command_score, command_lens, command_attribute, command_patch,
    command_compare, command_generate, command_batch, command_bench, command_init, command_train,
    command_lesson, command_help;

/* All options that a command can have; batch: those without --do. */
struct option_set command_set(const struct command *command);

/* The command of that name, or NULL with a usage error that names the nearest one. */
const struct command *command_find(const char *name, struct err *err);

/* Run a command by name with its arguments, up to a NULL; options live in the arena. */
int command_do(const char *name, char **arguments, struct arena *arena, struct err *err);

/* The rows' functions, each in its command's file. */
extern command_verb run_command, explain_command, batch_command, page_command, tokenize_command,
    info_command, init_command, train_command, compare_command, patch_command, heads_command,
    bench_command, lesson_command, help_command;

/* All about a command, or the overview (NULL). */
int help_of(const struct command *command, struct err *err);
int help_version(struct err *err);

/* --model, else the environment; NULL: the default. The second is for commands with a model as
 * operand; two models are a usage error. */
const char *chosen_model(const char *option);
int only_model(const char **name, const struct options *options, struct err *err);

/* --- standard error --------------------------------------------------------------------------- */

/* "attn-cli: note: …"; nothing with --quiet. And "attn-cli: error: …". */
void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_failure(const char *text);

/* On a terminal, without --quiet, and for a file: "weights.csv: 12.3 KiB". */
void print_written(const char *path);

/* Notes: settings of a tokenizer's file that are not applied; it may be NULL. */
void print_note_of_tokenizer(const struct tokenizer *tokenizer);

/* --- signals ---------------------------------------------------------------------------------- */

/* Remove temporary files on a signal, and print what it means; first in main. */
void signals_set(void);

/* Set the line that an interrupted program prints, alive until the next call; "": none. */
void signals_hint(const char *line);

/* True if the parent process ignores it (nohup). */
bool signals_is_ignored(int signal_number);

#endif
