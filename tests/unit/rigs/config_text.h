/* config_text.h: a config read from a text, as if it were a model's config.json. */
#ifndef ATTN_TESTS_CONFIG_TEXT_H
#define ATTN_TESTS_CONFIG_TEXT_H

#include "model/config.h"

/* What config_open returns; `err` may hold anything before. */
int config_open_text(struct config *config, const char *text, struct err *err);

/* It must go well. */
struct config config_of(const char *text);

#endif
