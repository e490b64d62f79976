/* hub_name.h: names under which the Hugging Face Hub keeps models, so that whoever gives one for a
 * directory learns how to get the directory.
 *
 *     char name[HUB_NAME_BYTES];
 *     if (hub_name_read(name, "gpt2"))
 *         ... "hf download openai-community/gpt2"
 */
#ifndef ATTN_MODEL_HUB_NAME_H
#define ATTN_MODEL_HUB_NAME_H

#include <stdbool.h>

enum { HUB_NAME_BYTES = 128 }; /* the Hub allows 96 characters after the owner's name */

/* The owner and the model, from `owner/model`, from the address of its page, or from a well-known
 * model's name alone; false for anything else, and for paths into a directory that is there. */
bool hub_name_read(char name[HUB_NAME_BYTES], const char *text);

/* What stands after the owner's name. */
const char *hub_name_model(const char *name);

#endif
