/* config_read.h: what the readers of the types of models share: fields of config.json, and checks.
 *
 * A type's sizes are a table, a row a field; each type has a file and a function of its own.
 */
#ifndef ATTN_MODEL_CONFIG_READ_H
#define ATTN_MODEL_CONFIG_READ_H

#include <stddef.h>

#include "base/err.h"
#include "format/json.h"
#include "model/config.h"

/* Limits that no model comes near; they keep every product of two sizes within 64 bits. */
enum { CONFIG_DIMENSION_MAX = 1 << 24, CONFIG_LAYERS_MAX = 1 << 14 };

/* A whole number of the config: its key, the key other checkpoints use, its range, its place. */
struct size_row {
    const char *key, *alias;
    long long max;
    size_t offset;
};

#define CONFIG_SIZE(field) offsetof(struct config, field)

/* Fill in the sizes that are given; the others stay as they are. */
int config_read_sizes(struct config *config, const struct json *root, const struct size_row *rows,
                      size_t count, struct err *err);

/* `name` is the activation where none is given. */
int config_read_activation(struct config *config, const struct json *root, const char *name,
                           struct err *err);

int config_read_epsilon(struct config *config, const struct json *root, struct err *err);

/* A token that texts begin or end with. Other than elsewhere, null says something: there is none.
 */
int config_read_token_id(long long *id, const struct json *root, const char *key, struct err *err);

/* vocab_size and n_embd must be given where a type has no default for them. */
int config_check_required(const struct config *config, struct err *err);

/* Heads of equal width must fill the channels. */
int config_check_heads(const struct config *config, struct err *err);

/* Heads that share the channels, each with keys of its own, and the usual scale; the MLP's width
 * where none is given. */
void config_fill_sizes(struct config *config);

/* The types, each in the file of its name. */
int config_gpt2(struct config *config, const struct json *root, struct err *err);
int config_attention(struct config *config, const struct json *root, struct err *err);
int config_transformer(struct config *config, const struct json *root, struct err *err);

#endif
