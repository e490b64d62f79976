/* command_rig.h: for tests of cmd: the options of a command line, what is printed, and a model.
 *
 *     FIXTURE(command_enter, command_leave)           an empty folder, as scratch.h makes it
 *     ...
 *     struct options options;
 *     command_model("mine", words_config, words_list);
 *     command_take(&options, "run -m mine 'the cat' --edit 'h.0.context = 0'");
 *     command_listen();
 *     ... code that writes to standard output and prints notes ...
 *     ck_assert_str_eq(command_heard()->notes, "attn-cli: note: …\n");
 */
#pragma once

#include "../../../cmd/options.h"

void command_enter(void);
void command_leave(void); /* releases the options, too */

/* Parse a command line, quoted as for a shell; it must be valid. The texts of the options are valid
 * until command_leave. */
void command_take(struct options *options, const char *line);

/* What is printed between the two calls. Long output is cut. */
struct heard {
    char output[1 << 16], notes[1 << 13]; /* standard output, standard error */
};
void command_listen(void);
const struct heard *command_heard(void);

/* Write a model to the folder, with random weights and a vocab.json; NULL: no vocabulary. */
void command_model(const char *folder, const char *config, const char *vocab);

/* The same of a model that was made before, perhaps with other numbers. */
struct tiny_model;
void command_model_write(const struct tiny_model *model, const char *folder, const char *vocab);

/* A decoder of 8 words with rotary positions, trained on texts of at most 4 tokens. */
extern const char words_config[], words_list[];
