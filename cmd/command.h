/* command.h: the commands: one row and one file each. */
#ifndef ATTN_CMD_COMMAND_H
#define ATTN_CMD_COMMAND_H

#include <stddef.h>

#include "base/err.h"
#include "options.h"
#include "text/tokenizer.h"

struct command {
    const char *name;
    int bit;              /* its FOR_… in the table of options */
    const char *about;    /* one line */
    const char *operands; /* what may follow the options; "" for nothing */
    const char *examples; /* lines, each a command that works as it stands */
    int (*run)(const struct options *options, struct err *err);
};

extern const struct command command_rows[];
extern const size_t command_count;

/* The command of that name, or NULL with a usage error that names the nearest one. */
const struct command *command_find(const char *name, struct err *err);

/* Run a command by its name with what follows it, to a NULL; options live in the arena. */
int command_run(const char *name, char **arguments, struct arena *arena, struct err *err);

/* The rows' functions, each in the file of its name. 0, or -1 with `err`. */
int run_command(const struct options *options, struct err *err);
int explain_command(const struct options *options, struct err *err);
int batch_command(const struct options *options, struct err *err);
int merge_command(const struct options *options, struct err *err);
int generate_command(const struct options *options, struct err *err);
int tokenize_command(const struct options *options, struct err *err);
int info_command(const struct options *options, struct err *err);
int init_command(const struct options *options, struct err *err);
int train_command(const struct options *options, struct err *err);
int compare_command(const struct options *options, struct err *err);
int heads_command(const struct options *options, struct err *err);
int vocab_command(const struct options *options, struct err *err);
int corpus_command(const struct options *options, struct err *err);
int bench_command(const struct options *options, struct err *err);
int lesson_command(const struct options *options, struct err *err);
int help_command(const struct options *options, struct err *err);

/* The model that was asked for: the option, else the environment; NULL: the default. */
const char *chosen_model(const char *option);

/* The same for a command that takes it as an operand, too; a second one is a usage error. */
int only_model(const char **name, const struct options *options, struct err *err);

#define ATTN_VERSION "0.1.0"

/* All about a command, or the overview (NULL), by a pager where it is longer than the terminal. */
int help_of(const struct command *command, struct err *err);
int help_version(struct err *err);

/* A line on standard error that is worth knowing: "attn-cli: note: …"; nothing with --quiet. */
void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What stands on standard error where nothing was asked for: a few lines to begin with. */
void print_usage(void);

/* A note of what a tokenizer's file asks for and is not done; NULL has no file. */
void print_note_of_tokenizer(const struct tokenizer *tokenizer);

/* An error that does not end the program: "attn-cli: error: …". */
void print_failure(const char *text);

#endif
