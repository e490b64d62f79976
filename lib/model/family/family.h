/* family.h: what a checkpoint's `model_type` means: one row and one small file a family.
 *
 * A family says how the keys of config.json become the one config that the forward pass knows, and
 * what its tensors are called and how they lie in the file. Nothing else knows a family by name.
 *
 *     const struct family *family = family_find("llama");
 *     if (family_read(config, family, root, err)) ...
 */
#ifndef ATTN_MODEL_FAMILY_H
#define ATTN_MODEL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "format/json.h"
#include "math/gemm.h"
#include "model/config.h"
#include "model/parameter_table.h"

/* How the rows of a slot's matrix [out, in] lie in a tensor. */
enum layout {
    LAYOUT_ROWS,       /* the tensor is the matrix, unless a table says otherwise */
    LAYOUT_JOINED,     /* queries, keys, values: all of one after all of the other */
    LAYOUT_GROUPED,    /* a group after the other: its queries, its keys, its values */
    LAYOUT_FIRST_HALF, /* the gate … */
    LAYOUT_LAST_HALF,  /* … and what it lets through */
};

/* What a slot is called: without ".weight" and ".bias". */
struct family_tensor {
    enum parameter_id id;
    const char *name;
    enum layout layout;
};

struct family_names {
    const char *prefix; /* of all but the head; files of a base model lack it, or its first part */
    const char *layers; /* before a layer's number */
    const struct family_names *base;  /* what slots are called that are not listed, or NULL */
    struct family_tensor tensors[16]; /* up to one without a name */
};

/* A config that is being read. */
struct reading {
    struct config *config;
    const struct json *root;
    struct err *err;
};

typedef int family_settler(struct reading *reading);

struct family {
    const char *name;                 /* as model_type has it */
    const struct family_names *names; /* NULL: this house's own, and `settle` reads all keys */
    family_settler *settle;           /* what a table cannot say; NULL: nothing */
    const struct config *defaults;
    const char *activation_key;        /* the one key that names the activation; NULL: none does */
    const char *activation;            /* where it does not */
    double turning, theta;             /* where no key says so; 0: nothing turns */
    const char *theta_key, *share_key; /* beside rope_theta and partial_rotary_factor, or NULL */
    const char *width_key;             /* of how many channels turn, or NULL */
};

/* First those of enum model_kind, in its order. */
extern const struct family family_rows[];
extern const size_t family_count;

/* By its model_type; NULL: there is none. */
const struct family *family_find(const char *name);

/* Its eos_token_id, if it is there: a token, or a list of them that each end a text; null: none. */
int family_read_ends(struct config *config, const struct json *root, struct err *err);

/* Read a config of this family. What is unknown or not done is refused by its field's name. */
int family_read(struct config *config, const struct family *family, const struct json *root,
                struct err *err);

/* List in the config the keys that no one asked for, unless they are known to have no effect. */
void family_note_unread(struct config *config, const struct json *root);

/* The tensor of a slot, of a bias or a shift that of its matrix; NULL: the family has no such
 * slot. */
const struct family_tensor *family_tensor(const struct family *family, enum parameter_id id);

/* "model.layers.3.self_attn.q_proj.weight"; returns `name`. */
const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct family *family,
                               enum parameter_id id, size_t layer);

/* The layer that a tensor's name is of, after a prefix, or without some of its parts, and `layers`:
 * 12 in "h.12.attn…" and "transformer.h.12.attn…"; -1: none. */
long family_layer_of(const char *prefix, const char *layers, const char *name);

/* The tensor's shape, of which the slot may be a part; returns the rank. */
size_t family_shape(size_t shape[2], enum parameter_id id, const struct config *config);

/* The tensor's rows that are those of a slot's matrix [out, in], or numbers of its bias. */
struct row_view family_view(enum parameter_id id, const struct config *config);

/* --- for the families' own files: family_keys.c, family_rotary.c ------------------------------
 *
 * null means what transformers makes of None: a switch is off, whatever its default; a window, a
 * cap, a scaling or a token is absent; num_key_value_heads, head_dim and rotary_dim follow from
 * other sizes. Where transformers would fail, null is as good as absent.
 */

enum { FAMILY_NAMES_MAX = 5 }; /* of a key */

/* Limits that no model comes near; they keep every product of two sizes within 64 bits. */
enum { DIMENSION_MAX = 1 << 24, LAYERS_MAX = 1 << 14 };

/* Refuse what changes a model in ways that are not done, by its key. */
int family_check_undone(const struct json *object, struct err *err);

/* Take an activation by the name that a key gives, or refuse it. */
int family_activation(struct reading *reading, const char *key, const char *name);

/* A switch; one that must have this value: another is not done. */
int family_flag(struct reading *reading, const char *key, bool *value);
int family_expect(struct reading *reading, const char *key, bool value, bool otherwise);

/* Is it there, and null? */
bool family_is_null(const struct reading *reading, const char *key);

/* NULL where it is absent or null. */
int family_list(struct reading *reading, const char *key, const struct json **list);
int family_positive(struct reading *reading, const char *key, double *value);

/* A number in [min, max] under all of its names, which must agree. */
int family_named(struct reading *reading, const char *const names[FAMILY_NAMES_MAX], double min,
                 double max, double *value);
int family_size(struct reading *reading, const char *key, size_t *value);

/* A window's width; null: none. */
int family_window(struct reading *reading, const char *key);
void family_set_layers(struct config *config, enum layer_flag flag);

/* "layer_types", where it is given: whether it was, and which layers see a window. */
int family_layer_types(struct reading *reading, bool *given);

/* "rope_theta", "rope_scaling" or "rope_parameters", and what share of a head turns; with defaults.
 */
int family_read_rotary(struct reading *reading, double turning, double theta);
int family_rotary(struct reading *reading, const struct json *scaling, struct rotary *rotary);

/* A flag that says whether some layers have biases. */
int family_add_bias(struct reading *reading, const char *key, unsigned biases);

/* "sliding_window", on all layers; and what single families have. */
extern family_settler family_settle_window, family_settle_gpt2, family_settle_attention,
    family_settle_transformer, family_settle_phi, family_settle_neox, family_settle_stablelm,
    family_settle_starcoder2, family_settle_bloom, family_settle_falcon, family_settle_gpt_neo,
    family_settle_opt;

extern const struct family_names llama_names, gemma_names, olmo2_names, phi3_names, phi_names,
    starcoder2_names, neox_names, bloom_names, falcon_names, gpt_neo_names, gptj_names, opt_names;

#endif
