/* config_edit.h: a config.json with other values: `n_layer=2,n_head=4`. The text is changed, not
 * made anew: what this program does not read stays as it was.
 *
 *     struct config_edit edit = {0};
 *     struct buf text = {0};
 *     if (config_edit_read(&edit, "n_layer=2,n_head=4", &arena, err) ||
 *         config_edit_apply(&text, &edit, file.bytes, file.size, err)) ...
 */
#ifndef ATTN_MODEL_CONFIG_EDIT_H
#define ATTN_MODEL_CONFIG_EDIT_H

#include "base/err.h"

struct arena;
struct buf;
struct config;

/* A key that can be set. */
struct config_key {
    const char *name;
    const char *aliases[2]; /* what other checkpoints call it; NULL: nothing */
    int kinds;              /* of models that read it: bits 1 << MODEL_… */
    const char *about;
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

struct config_change {
    const struct config_key *key;
    const char *value; /* as JSON */
};

struct config_edit {
    struct config_change *changes;
    size_t count;
};

/* Read `KEY=VALUE,KEY=VALUE` and add it to the changes, kept in `arena`: a number, true, false or
 * null, else a text. Of two values for a key the later one counts. Errors are usage of --set. */
int config_edit_read(struct config_edit *edit, const char *list, struct arena *arena,
                     struct err *err);

bool config_edit_has(const struct config_edit *edit, const char *key);

/* Append the changed text: a key that is there, or its alias, gets its new value in its place. */
int config_edit_apply(struct buf *out, const struct config_edit *edit, const char *text,
                      size_t size, struct err *err);

/* Refuse changes that a model of this kind does not read. Errors are usage of --set. */
int config_edit_check(const struct config_edit *edit, const struct config *config, struct err *err);

#endif
