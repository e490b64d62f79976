/* help.c: `attn-cli help`: prints help pages, manual pages and completions, and searches them. */
#include "help.h"

#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/utf8.h"
#include "math/kernel.h"

struct own_options {
    const char *completion;
    bool man, full;
};

static const struct option_row own_options[] = {
    FLAG("full", 0, OWN(full), "all examples, options, values and places"),
    FLAG("man", 0, OWN(man), "a manual page (roff)"),
    STRING("completion", 0, "SHELL", OWN(completion), "completion script: bash, zsh or fish",
           .values = &values_shells),
    {0},
};

static command_verb help_command;

const struct command command_help = {
    .name = "help",
    .about = "commands, options and values",
    .operands = "[COMMAND|TOPIC|WORD|--OPTION]",
    .most_used = "--full\teverything about a command\n",
    .examples = "attn-cli help run\n"
                "attn-cli help surprisal\n"
                "attn-cli help --pool\n"
                "attn-cli help run --full\n"
                "attn-cli help options\n"
                "attn-cli help --man run | man -l -\n"
                "eval \"$(attn-cli help --completion bash)\"\n",
    .run = help_command,
    .options = own_options,
    .without = "threads quiet verbose",
    .operand_values = &values_pages,
    .names_options = true,
};

#ifdef __clang__
#define COMPILER __VERSION__ /* Clang's version contains its name */
#else
#define COMPILER "gcc " __VERSION__
#endif

int help_version(struct err *err)
{
    struct kernels *kernels = NULL;
    const char *library = kernels_library();
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    stream_text(&out, "attn-cli " ATTN_VERSION "\n");
    if (kernels_open(&kernels, NULL) == 0)
        stream_format(&out, "kernels: %s%s%s\n", kernels_target(kernels), library ? ", " : "",
                      library ? library : "");
    kernels_free(kernels);
    stream_format(&out, "unicode: %s\nbuilt:   " COMPILER "\n", unicode_version);
    return stream_commit(&out, err);
}

/* Print the page of a topic or of a command. If both are NULL, print the overview. */
static int print_page(const struct help_topic *topic, const struct command *command,
                      const struct command_list *all, const struct own_options *own,
                      struct err *err)
{
    struct stream out;
    const struct page page = {&out, PAGE_COLUMNS, all, err};
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (topic)
        page_of_topic(&page, topic);
    else if (own->man)
        help_manual(&out, all, command, err);
    else if (command)
        page_of_command(&page, command, own->full);
    else
        page_of_all(&page);
    return stream_end(&out, err->kind, err);
}

int help_of(const struct option_set *set, struct err *err)
{
    return print_page(NULL, set->command, set->all, &(struct own_options){0}, err);
}

static int help_command(const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    const struct own_options *own = options_own(options);
    const struct command_list *all = options->set.all;
    const struct command *command = NULL;
    const struct help_topic *topic = NULL;
    const char *word = operands->count ? operands->items[0] : NULL;
    size_t index = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one command or topic, found '%s' as well",
                         operands->items[1]);
    if (own->completion)
        return help_completion(own->completion, all, err);
    if (word)
        command = command_find(all, word, NULL);
    if (word && names_find(&index, NAMES(help_topics, help_topic_count), word, strlen(word)))
        topic = &help_topics[index];
    if (word && !command && !topic)
        return help_search(word, own->full, all, err);
    return print_page(topic, command, all, own, err);
}
