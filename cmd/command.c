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

enum {
    NAME_BYTES = 60
}; /* longest text, in bytes, that a suggestion repeats; it shows "…" for a
                           * longer text */

const struct command *command_find(const struct command_list *all, const char *name,
                                   struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i]->name, name) == 0)
            return all->items[i];
        nearest_offer(&nearest, all->items[i]->name);
    }
    const char *near = nearest.name;
    size_t places = err && !near ? all->places(name, all) : 0;
    if (strchr(name, ' ')) /* the name contains a blank: it is probably a text */
        err_usage(err, "unknown command '%s': did you mean 'attn-cli run \"%s\"'?", name,
                  strlen(name) <= NAME_BYTES ? name : "…");
    else if (near)
        err_usage(err, "unknown command '%s'%s", name, names_guess(guess, near));
    else if (places)
        err_usage(err, "unknown command '%s': 'attn-cli help %s' finds %zu place%s", name, name,
                  places, places == 1 ? "" : "s");
    else
        err_usage(err, "unknown command '%s': 'attn-cli help' lists them", name);
    return NULL;
}

/* Find --do, which names the command of a batch, anywhere on the line: options of that command are
 * valid even before --do. */
static int find_done(struct option_set *set, char *const *arguments, struct err *err)
{
    for (; *arguments && strcmp(*arguments, "--") != 0; arguments++) {
        const char *value = strncmp(*arguments, "--do=", 5) == 0 ? *arguments + 5
                            : strcmp(*arguments, "--do") == 0    ? arguments[1]
                                                                 : NULL;
        if (!value)
            continue;
        if (!(set->done = command_find(set->all, value, err)))
            return -1;
        if (!set->done->task)
            return err_usage(err,
                             "--do: a batch cannot run '%s': 'attn-cli help batch' lists the "
                             "commands",
                             value);
    }
    return 0;
}

int command_parse(struct options *options, const struct command_list *all,
                  const struct command *command, char **arguments, struct arena *arena,
                  struct err *err)
{
    struct option_set set = command_set(command);
    set.all = all;
    return err_if((set.done && find_done(&set, arguments, err)) ||
                  options_parse(options, set, arguments, arena, err));
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
        err_append(err, "%s %s", gap,
                   command->without_tokenizer ? command->without_tokenizer
                   : option_find(command_set(command), "ids", 3)
                       ? "use --ids"
                       : "use a table with the column 'ids'");
    if (err->about == ERR_ABOUT_LENGTH)
        err_append(err, "%s shorten it, or use a model with a longer context (--model)", gap);
    if (err->about == ERR_ABOUT_CONTEXT)
        err_append(err, "%s shorten it, or use --long", gap);
}

int command_start(const struct command *command, const struct options *options, struct err *err)
{
    const char *path = options->output.path;
    char size[NUM_SIZE_BYTES];
    struct buf line = {0};
    struct stat status;
    progress_set_quiet(options->quiet);
    if (options->help)
        return help_of(&options->set, err);
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
    /* print a line such as "weights.csv: 12.3 KiB" */
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        label_line(&line, path, strlen(path));
        buf_format(&line, ": %s\n", num_size(size, (uint64_t)status.st_size));
        if (!line.out_of_memory)
            progress_say(line.bytes, line.size);
        buf_release(&line);
    }
    errno = 0;
    return 0;
}
