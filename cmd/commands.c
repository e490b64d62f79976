/* The list of all commands. Only main.c and hosted.c use it, and pass it to the parser. */
#include "command.h"

static const struct command *const commands[] = {
    &command_run,   &command_heads,    &command_explain,  &command_page,  &command_tokenize,
    &command_info,  &command_again,    &command_score,    &command_lens,  &command_attribute,
    &command_patch, &command_compare,  &command_generate, &command_steer, &command_examples,
    &command_atlas, &command_features, &command_batch,    &command_bench, &command_init,
    &command_train, &command_lesson,   &command_help,
};

const struct command_list all_commands = {commands, sizeof commands / sizeof *commands};
