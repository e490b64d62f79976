#include "command_groups.h"

const struct command_group command_groups[] = {
    {"look", FOR_RUN | FOR_EXPLAIN | FOR_BATCH | FOR_MERGE | FOR_GENERATE | FOR_TOKENIZE},
    {"compare", FOR_INFO | FOR_COMPARE | FOR_HEADS | FOR_BENCH},
    {"make", FOR_INIT | FOR_TRAIN | FOR_CORPUS | FOR_VOCAB},
    {"learn", FOR_LESSON | FOR_HELP},
};

const size_t command_group_count = sizeof command_groups / sizeof *command_groups;
