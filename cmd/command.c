#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"
#include "driver.h"
#include "output.h"
#include "progress.h"
#include "say.h"
#include "text/label.h"

const struct command *const commands[] = {
    &command_run,   &command_heads,    &command_explain,  &command_page,  &command_tokenize,
    &command_info,  &command_again,    &command_score,    &command_lens,  &command_attribute,
    &command_patch, &command_compare,  &command_generate, &command_steer, &command_examples,
    &command_atlas, &command_features, &command_batch,    &command_bench, &command_init,
    &command_train, &command_lesson,   &command_help,
};

const size_t command_count = sizeof commands / sizeof *commands;

enum { SENTENCE_BYTES = 60 }; /* of a longer name, the suggestion has only "…" */

struct option_set command_set(const struct command *command)
{
    return (struct option_set){command, command->done};
}

const struct command *command_find(const char *name, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        nearest_offer(&nearest, commands[i]->name);
    }
    const char *near = nearest.name;
    if (strchr(name, ' ')) /* probably a text */
        err_usage(err, "unknown command '%s': did you mean 'attn-cli run \"%s\"'?", name,
                  strlen(name) <= SENTENCE_BYTES ? name : "…");
    else if (near)
        err_usage(err, "unknown command '%s'%s", name, names_guess(guess, near));
    else
        err_usage(err, "unknown command '%s': 'attn-cli help' lists them", name);
    return NULL;
}

/* Append advice that the library cannot give, because it names commands and options. */
static void add_advice(struct err *err, const struct command *command, const char *model)
{
    size_t size = strlen(err->text);
    const char *gap = size && err->text[size - 1] == '?' ? "" : ":";
    if (err->about == ERR_ABOUT_WORD && model)
        err_append(err,
                   "%s 'attn-cli info %s' lists its words, 'attn-cli init -s \"…\" -o mine' makes "
                   "a model with your words",
                   gap, model);
    if (err->about == ERR_ABOUT_TOKENIZER)
        err_append(err,
                   command == &command_heads ? "%s leave out the text to measure on random tokens"
                   : option_find(command_set(command), "ids", 3)
                       ? "%s use --ids"
                       : "%s use a table with the column 'ids'",
                   gap);
    if (err->about == ERR_ABOUT_LENGTH)
        err_append(err, "%s shorten it, or use a model with a longer context (--model)", gap);
    if (err->about == ERR_ABOUT_CONTEXT)
        err_append(err, "%s shorten it, or use --long", gap);
}

const struct task *command_task(const struct command *command, const struct options *options)
{
    return options->score.classes    ? &classes_task
           : options->heads.contacts ? &contacts_task
                                     : command->task;
}

int command_start(const struct command *command, const struct options *options, struct err *err)
{
    const char *path = options->output.path;
    char size[NUM_SIZE_BYTES];
    struct buf line = {0};
    struct stat status;
    progress_set_quiet(options->quiet);
    if (options->help)
        return help_of(command, err);
    if (provenance_begin(options, err))
        return -1;
    if (command->run ? command->run(options, err)
                     : driver_do(command_task(command, options), options, err)) {
        add_advice(err, command, chosen_model(options->model.name));
        return -1;
    }
    if (options->batch.dry_run || progress_is_quiet() || output_is_standard(path) ||
        !isatty(STDERR_FILENO))
        return 0;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) { /* "weights.csv: 12.3 KiB" */
        label_line(&line, path, strlen(path));
        buf_format(&line, ": %s\n", num_size(size, (uint64_t)status.st_size));
        if (!line.out_of_memory)
            progress_say(line.bytes, line.size);
        buf_release(&line);
    }
    errno = 0;
    return 0;
}
