/* mechanism_text.h: mechanisms in the words of the command line: `window:4+global:1`, `none`,
 * `mlp,norm`.
 *
 *     struct mechanism mechanism = {.seed = 7};
 *     if (mechanism_set_attention(&mechanism, "window:4+random:2", err) ||
 *         mechanism_set_scale(&mechanism, "none", err)) ...
 *     mechanism_write(&buf, &mechanism);            (attention window:4+random:2:7, scale 1)
 *
 * Errors are usage, and begin with the option's name.
 */
#ifndef ATTN_MODEL_MECHANISM_TEXT_H
#define ATTN_MODEL_MECHANISM_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/mechanism.h"

/* The kinds of attention, for help. */
struct attention_kind_row {
    const char *name;
    const char *numbers; /* what stands behind a colon: "W"; NULL: nothing */
    enum attention_kind kind;
    size_t offset; /* of that number in struct mechanism */
    const char *about;
};

extern const struct attention_kind_row attention_kind_rows[];
extern const size_t attention_kind_row_count;

/* "window:W"; "dense". */
void attention_kind_row_write(struct buf *out, const struct attention_kind_row *row);

/* "dense", "window:W" and so on; `+` joins the sparse ones. Random keys without a seed of their own
 * take the mechanism's, which must be known by then. */
int mechanism_set_attention(struct mechanism *mechanism, const char *text, struct err *err);

/* "before" or "renormalise"; "none", "sqrt" or a number; "mlp,norm". */
int mechanism_set_mask_method(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_scale(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_without(struct mechanism *mechanism, const char *text, struct err *err);

/* The name of a part: "mlp". */
const char *block_part_name(enum block_part part);

/* The kind of attention alone: "dense", "window:4+global:1", "random:2:7". */
void mechanism_write_attention(struct buf *out, const struct mechanism *mechanism);

/* The same as a text of the arena's; NULL with `err`. */
const char *mechanism_attention_name(const struct mechanism *mechanism, struct arena *arena,
                                     struct err *err);

/* What differs from the model as it is, "attention window:4, scale 1"; nothing where nothing does.
 */
void mechanism_write(struct buf *out, const struct mechanism *mechanism);

#endif
