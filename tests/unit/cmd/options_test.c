/* The commands are no part of the library: their table of options and its reader are built in here.
 */
#include "../../../cmd/options.c"
#include "../../../cmd/option_table.c"
#include "../../../cmd/option_rows/input_options.c"
#include "../../../cmd/option_rows/score_options.c"
#include "../../../cmd/option_rows/attend_options.c"
#include "../../../cmd/option_rows/output_options.c"
#include "../../../cmd/option_rows/batch_options.c"
#include "../../../cmd/option_rows/process_options.c"
#include "../../../cmd/option_rows/instrument_options.c"
#include "../../../cmd/option_rows/page_options.c"
#include "../../../cmd/option_rows/train_options.c"
#include "../../../cmd/removed.c"
#include "../../../cmd/unknown_option.c"

#include <stdio.h>

#include "../unit.h"

/* What messages name; the functions of commands are not called. */
const struct command command_rows[] = {{.name = "run", .bit = FOR_RUN},
                                       {.name = "info", .bit = FOR_INFO},
                                       {.name = "heads", .bit = FOR_HEADS}};
const size_t command_count = COUNT(command_rows);

TEST(every_option_of_the_table_is_known_to_its_commands)
{
    for (size_t i = 0; i < option_count(); i++) {
        char name[64], letter[] = {'-', option_at(i)->letter, '\0'};
        snprintf(name, sizeof name, "--%s", option_at(i)->name);
        ck_assert(option_is_known(option_at(i)->commands, name));
        ck_assert(!letter[1] || option_is_known(option_at(i)->commands, letter));
    }
    ck_assert(option_is_known(FOR_RUN, "--model=life"));
    ck_assert(option_is_known(FOR_RUN, "-mlife"));
    static const char *const unknown[] = {"--decode", "-n", "-", "--", "--mode", "--models"};
    for (size_t i = 0; i < COUNT(unknown); i++)
        ck_assert(!option_is_known(FOR_RUN, unknown[i]));
}

/* One name or letter means one thing in a command, and its field has the kind's type. */
TEST(the_table_is_sound)
{
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        ck_assert(row->about && *row->about);
        ck_assert_int_eq(row->argument == NULL, row->kind == OPTION_FLAG);
        ck_assert_int_eq(row->min < row->max,
                         row->kind == OPTION_NUMBER || row->kind == OPTION_REAL);
        ck_assert_uint_lt(strlen(row->name), WORD_BYTES);
        for (size_t k = 0; k < i; k++) {
            const struct option_row *other = option_at(k);
            const int flags = NOT_BATCH | NOT_SWEPT | PROCESS | TEXT | VIEW;
            if (!(row->commands & other->commands & ~flags))
                continue; /* where an option is not is no command */
            ck_assert_str_ne(row->name, other->name);
            ck_assert(row->letter == 0 || row->letter != other->letter);
        }
    }
}
