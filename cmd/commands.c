/* The list of all commands. Only main.c and hosted.c use it, and pass it to the parser. */
#include "command.h"

static const struct command *const commands[] = {
    &command_run,      &command_page,    &command_heads,    &command_atlas,     &command_features,
    &command_examples, &command_explain, &command_lens,     &command_attribute, &command_patch,
    &command_compare,  &command_score,   &command_generate, &command_steer,     &command_tokenize,
    &command_info,     &command_init,    &command_train,    &command_bench,     &command_batch,
    &command_again,    &command_lesson,  &command_help,
};

const struct command_list all_commands = {commands, sizeof commands / sizeof *commands,
                                          help_places};
