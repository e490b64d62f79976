/* family.h: the meaning of a checkpoint's `model_type`.
 *
 * A family defines how the keys of config.json become a struct config, and the names and layouts of
 * its tensors. What a model computes depends on the config, not on the name of its family.
 *
 *     const struct family *family = family_find("llama");
 *     if (family_read(config, family, root, err)) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "format/json.h"
#include "math/gemm.h"
#include "model/config.h"
#include "model/parameter_table.h"

enum { FAMILY_MEMBERS_MAX = 5, FAMILY_ROWS_MAX = 26 };

/* The tensor of a slot, or of several (its members), whose rows it has as `groups` says. */
struct family_row {
    const char *name; /* without ".weight" and ".bias", and what comes before it in a layer; {e}:
                       * the number of an expert or head */
    unsigned char members[FAMILY_MEMBERS_MAX];
    enum {
        GROUPS_ONE,     /* all rows of the first member, all of the second, … */
        GROUPS_KV_HEAD, /* for each key/value head: its part of each member */
        GROUPS_HEAD,    /* for each query head */
        GROUPS_FOUR,    /* for each quarter of the heads */
        GROUPS_IN_TURN, /* a row of each member in turn */
    } groups;
    bool transposed; /* a matrix is [in, out] */
    bool bare;       /* no ".weight" follows the name; the name of a bias ends in "_bias" */
    bool stacked;    /* the tensor has all experts or heads, one after the other: the first axis */
    bool flat;       /* stacked, but without an axis of experts: each has its part of the first */
    unsigned char branch;
    const char *bias; /* the whole name of the bias, if it does not begin with `name`; or NULL */
};

struct family_names {
    const char
        *prefix; /* of all names but SLOT_TRANSFORM to SLOT_UNEMBED_BIAS; some files lack it */
    const char *layers, *source_layers; /* before a layer's number, in the text, in its encoder (or
                                         * NULL); {g}: the number of its group */
    const char *wrapper;                /* what files may have before or after `prefix`, or NULL */
    const struct family_names *base;    /* names of slots that are not listed here, or NULL */
    bool open;                          /* files may have other tensors */
    struct family_row rows[FAMILY_ROWS_MAX]; /* ends with one without a name */
};

struct reading;

struct family {
    const char *name; /* its model_type; a variant is the next row, with the same name or one with
                       * a space */
    const struct family_names *names;
    void (*settle)(struct reading *reading); /* reads keys that a row cannot express, or NULL */
    const struct config *defaults;
    const char *activation_key;        /* key that names the activation, or NULL */
    const char *activation;            /* default */
    double turning, theta;             /* default share of rotated channels (0: none) and base */
    const char *theta_key, *share_key; /* other names of rope_theta and the share, or NULL. Only
                                        * families with a default share below 1, and those that
                                        * list it in `reads`, have "partial_rotary_factor" */
    const char *width_key;             /* key with the number of rotated channels, or NULL */
    bool wrapped;                      /* the keys are in "text_config" */
    bool nested_share;                 /* a share counts in objects of the rotary embedding alone */
    bool rounds_share; /* an odd number of rotated channels by the share is rounded up */
    bool by_file;      /* a variant, for files that have all of its own names */
    bool first_names;  /* of a size with several names the first counts; others may differ */
    bool fixed_rotary; /* its rotary embedding has no key but the width (as in transformers) */
    bool own_mask;     /* it is causal, whatever "is_causal" says (as in transformers) */
    unsigned short trained_positions; /* default of original_max_position_embeddings, or 0 */
    const char *reads; /* " key key ": keys that a model of another family may not have, or NULL */
};

/* Lists of families; each ends with one without a name. family_own has the order of
 * enum model_kind. */
extern const struct family family_own[], family_decoders[], family_encoders[], family_experts[],
    family_mixers[], family_translators[];

/* The key of the share that a GGUF file gives any model. */
#define GGUF_SHARE "rotary_share"

/* A family of any list; NULL: there are no more. */
const struct family *family_at(size_t index);

/* Find a family by its model_type; NULL if there is none. */
const struct family *family_find(const char *name);

/* Read eos_token_id and, of a model with an encoder, how it chooses tokens. */
int family_read_generation(void *config, const struct json *root, struct err *err);

/* Read a config of this family. Errors name the key with an unknown or unsupported value. */
int family_read(struct config *config, const struct family *family, const struct json *root,
                struct err *err);

enum { FAMILY_NAMES_MAX = 5 }; /* most names of a key */

/* A config that is read again with another value for a key that it lacks, to see what depends on
 * it. One reading lists these keys (key = SIZE_MAX); then each may have each value. */
enum { FAMILY_ABSENT_MAX = 96, FAMILY_VALUES = 8 };
struct family_trial {
    const char *absent[FAMILY_ABSENT_MAX][FAMILY_NAMES_MAX]; /* by all their names */
    size_t count;
    size_t key, value;                 /* which one has which value */
    struct json *lists[FAMILY_VALUES]; /* values of keys of lists */
};

/* Begin trials of a model with so many layers, and end them. */
int family_trial_begin(struct family_trial *trial, size_t layers, struct err *err);
void family_trial_end(struct family_trial *trial);

/* family_read in a trial. */
int family_try(struct config *config, const struct family *family, const struct json *root,
               struct family_trial *trial, struct err *err);

/* List in config->unread, if they fit, the keys that were not read and may have an effect. */
void family_note_unread(struct config *config, const struct json *root);

/* A classifier: names of its last matrix and of a dense layer before it, if any. A file that
 * has both has this head: classifiers are tried in their order, for the family with this name
 * or, NULL, for all; the last has no rows. */
struct classifier {
    const char *family;
    struct family_row rows[3];  /* rows of SLOT_UNEMBED and SLOT_TRANSFORM; the last has no name */
    enum activation activation; /* of the dense layer; ACTIVATION_NONE: as config.json says */
    enum class_answer answers;
    bool normed;           /* a norm of the dense layer: SLOT_TRANSFORM_NORM of the family */
    bool prefixed;         /* the name of the dense layer begins with the prefix of the family */
    const char *sequences; /* " name name ": encoders whose class for sequences has it, or NULL */
};

extern const struct classifier classifiers[];

/* Give a config a head of `count` classes, but not its biases. */
void class_head_take(struct config *config, const struct classifier *head, size_t count);

/* The head of transformers' class for sequences of a config's family; NULL: it is not known. */
const struct classifier *classifier_of_sequences(const struct config *config);

/* Of a config.json for such a class, set its head, with a row for each name of "id2label". Other
 * heads are found by their tensors. */
int family_read_classes(struct config *config, const struct json *root, struct err *err);

/* family_row of a config's family, or the row of its classifier. */
const struct family_row *config_row(const struct config *config, struct slot slot);

/* The row of a slot; of a bias or shift, its matrix's or norm's row. NULL: the family has none. */
const struct family_row *family_row(const struct family *family, struct slot slot);

/* "model.layers.3.self_attn.q_proj.weight" by the config's family and groups; returns `name`. */
const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct config *config,
                               struct slot slot);

/* The size of a slot's matrix, and where its numbers are in the tensor of a file. */
struct family_layout {
    size_t out, in;
    size_t rank, shape[SLOT_RANK_MAX + 1]; /* of the tensor, which may have several slots */
    bool transposed;
    bool squeezed;         /* the tensor may have further axes of size 1 */
    size_t skipped, count; /* numbers before the slot's expert or head, and in it; or 0, and all */
    struct row_view view;  /* the slot's rows in the tensor; its columns, if transposed */
    struct slot first;     /* the first slot of the tensor */
};

void family_layout(struct family_layout *layout, struct slot slot, const struct config *config);

/* --- for the files of families ----------------------------------------------------------------
 *
 * A reader returns the value of a key, or its default if the key is absent. After the first error
 * readers read no more, and family_read fails.
 *
 * A null key means the same as None in transformers: a flag is false, whatever its default; there
 * is no window, cap, scaling or token; num_key_value_heads, head_dim and rotary_dim follow from
 * other sizes. If None would fail in transformers, null is treated as absent. */

/* A config that is being read. */
struct reading {
    struct config *config;
    const struct json *root;
    struct err *err;
    bool failed;                /* `err` has the first error */
    struct family_trial *trial; /* or NULL */
};

/* Far above the sizes of real models; products of two sizes fit into 64 bits. */
enum { DIMENSION_MAX = 1 << 24, LAYERS_MAX = 1 << 14 };

/* Note a failure; returns where its message goes: NULL after the first. */
struct err *family_fail(struct reading *reading);

bool family_is_null(const struct reading *reading, const char *key);
bool family_flag(struct reading *reading, const char *key, bool otherwise);
long long family_integer(struct reading *reading, const char *key, long long min, long long max,
                         long long otherwise);
size_t family_size(struct reading *reading, const char *key, size_t otherwise);
size_t family_layers(struct reading *reading, const char *key, size_t otherwise);
double family_number(struct reading *reading, const char *key, double min, double max,
                     double otherwise);
double family_positive(struct reading *reading, const char *key, double otherwise);
const char *family_text(struct reading *reading, const char *key, const char *otherwise);
const struct json *family_list(struct reading *reading, const char *key);   /* NULL: none */
const struct json *family_object(struct reading *reading, const char *key); /* NULL: none */

/* The value of a key that may be of several types; NULL: it is absent or null. */
const struct json *family_given(struct reading *reading, const char *key);

/* Read from the object of a key from now on, if there is one; returns the root to go back to. */
const struct json *family_enter(struct reading *reading, const char *key);

/* Read a number in [min, max] that may have several names, whose values must agree. */
double family_named(struct reading *reading, const char *const names[FAMILY_NAMES_MAX], double min,
                    double max, double otherwise);

/* Require that a flag has `value`. */
void family_expect(struct reading *reading, const char *key, bool value, bool otherwise);

/* Set the activation from its name, the value of `key`, or refuse it. */
void family_activation(struct reading *reading, const char *key, const char *name);

/* Read a flag that adds biases or removes them; if it is absent they stay. */
void family_bias(struct reading *reading, const char *key, unsigned biases);

/* Read a limit, such as a cap; returns 0 if there is none: null, or a default of 0. */
float family_limit(struct reading *reading, const char *key, float otherwise);

/* Read the width of a window (null: none); "layer_types", the layers that have one: false if it is
 * absent. */
void family_window(struct reading *reading, const char *key);
bool family_layer_types(struct reading *reading);

/* Read "rope_theta", "rope_scaling" or "rope_parameters", and the share of rotated channels. */
void family_read_rotary(struct reading *reading, double turning, double theta);

/* Give layers with a window, or layers without one, a flag. Read the rotary embedding of layers
 * with a window, if it differs from other layers: its base is under `theta_key`; `scaled`:
 * "rope_scaling" includes layers with a window. */
void family_flag_layers(struct config *config, bool with_window, unsigned short flag);
void family_local_rotary(struct reading *reading, const char *theta_key, double otherwise,
                         bool scaled);

/* Whether config.json names a class of transformers for a task: "ForTokenClassification". */
bool family_is_for(const struct reading *reading, const char *task);

/* Read the rotary embedding of heads of `width` channels in a kind of layers, such as
 * full_attention, from "rope_parameters": with a share of pairs below 1, of kind proportional. */
void family_kind_rotary(struct reading *reading, struct rotary *rotary, const char *kind,
                        size_t width, double theta, double share);

/* Read "is_causal"; the window must be read before. */
void family_read_causal(struct reading *reading);
