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

/* The tensor of one or several slots, its members. `groups` says in which order the tensor has the
 * members' rows. */
struct family_row {
    /* The name inside a layer, without ".weight" and ".bias"; {e}: the number of an expert or
     * head. */
    const char *name;
    unsigned char members[FAMILY_MEMBERS_MAX];
    enum {
        GROUPS_ONE,     /* all rows of the first member, all of the second, … */
        GROUPS_KV_HEAD, /* for each key/value head: the rows of each member for this head */
        GROUPS_HEAD,    /* for each query head: the rows of each member for this head */
        GROUPS_FOUR,    /* for each quarter of the heads: the rows of each member */
        GROUPS_IN_TURN, /* row 0 of each member, row 1 of each member, … */
    } groups;
    bool transposed; /* a matrix is stored as [in, out] */
    bool bare;       /* no ".weight" follows the name; the name of a bias ends in "_bias" */
    bool stacked;    /* the first axis counts experts or heads, which share the tensor */
    bool flat;       /* as stacked, but experts have parts of the first axis, not an axis of their
                      * own */
    unsigned char branch;
    const char *bias; /* the bias's whole name, if it is not `name` and ".bias"; or NULL */
};

struct family_names {
    /* The beginning of all names, except the names of SLOT_TRANSFORM to SLOT_UNEMBED_BIAS; some
     * files lack it. */
    const char *prefix;
    /* The part of a name before a layer's number: `layers` in the text's layers, `source_layers` in
     * its encoder's (NULL: there is no encoder). {g} is the number of the layer's group. */
    const char *layers, *source_layers;
    const char *wrapper;             /* a word that files may have before or after `prefix`, or
                                         * NULL */
    const struct family_names *base; /* has the names of slots that are not in `rows`, or NULL */
    bool open;                       /* files may have further tensors, which are ignored */
    struct family_row rows[FAMILY_ROWS_MAX]; /* ends with a row without a name */
};

struct reading;

struct family {
    const char *name; /* the model_type. The rows after a family may be its variants, which have the
                       * same name, or the name and more words */
    const struct family_names *names;
    void (*settle)(struct reading *reading); /* reads keys that a row cannot express, or NULL */
    const struct config *defaults;
    const char *activation_key;        /* key that names the activation, or NULL */
    const char *activation;            /* default activation */
    double turning, theta;             /* defaults: share of channels that are rotated (0: none),
                                        * and base */
    const char *theta_key, *share_key; /* Other names of the keys "rope_theta" and of the share of
                                        * rotated channels, or NULL. The key "partial_rotary_factor"
                                        * is only read for families with a default share below 1 or
                                        * with this key in `reads`. */
    const char *width_key;             /* key with the number of rotated channels, or NULL */
    bool wrapped;                      /* the keys of the text model are in the object
                                        * "text_config" */
    bool nested_share;                 /* the share of rotated channels is only read in objects of
                                        * the rotary embedding */
    bool rounds_share; /* if the share gives an odd number of channels it is rounded up */
    bool by_file;      /* a variant that is chosen if a file has all names that only the variant
                        * has */
    bool first_names;  /* of several names for one size the first counts; the others may have other
                        * values */
    bool fixed_rotary; /* no key but the width changes the rotary embedding (as in transformers) */
    bool own_mask;     /* the model is causal, whatever "is_causal" says (as in transformers) */
    unsigned short trained_positions; /* default of original_max_position_embeddings, or 0 */
    const char *reads; /* keys, with blanks between and around them, that only models with this list
                        * may have; or NULL */
};

/* Lists of families; each ends with a family without a name. family_own is in the order of enum
 * model_kind. */
extern const struct family family_own[], family_decoders[], family_encoders[], family_experts[],
    family_mixers[], family_translators[];

/* The key with the share of channels that are rotated. Configs of GGUF files have it in any
 * family. */
#define GGUF_SHARE "rotary_share"

/* The family with this index, counted through all lists; NULL: there are no more families. */
const struct family *family_at(size_t index);

/* Find a family by its model_type; NULL if there is none. */
const struct family *family_find(const char *name);

/* Read eos_token_id and, for a model with an encoder, how it chooses tokens, into `config`. */
int family_read_generation(void *config, const struct json *root, struct err *err);

/* Read a config of this family. Errors name the key with an unknown or unsupported value. */
int family_read(struct config *config, const struct family *family, const struct json *root,
                struct err *err);

enum { FAMILY_NAMES_MAX = 5 }; /* most names that a key may have */

/* A trial: config.json is read again as if a key that it lacks had another value, to see what
 * depends on the key. A first reading, with key = SIZE_MAX, lists the absent keys; then each gets
 * each of the other values. */
enum { FAMILY_ABSENT_MAX = 96, FAMILY_VALUES = 8 };
struct family_trial {
    const char *absent[FAMILY_ABSENT_MAX][FAMILY_NAMES_MAX]; /* all names of each absent key */
    size_t count;
    size_t key, value;                 /* the index of the key in `absent`, and the number of the
                                        * value that it gets */
    struct json *lists[FAMILY_VALUES]; /* values for keys that have a list */
};

/* family_trial_begin: begin trials of a model with `layers` layers. family_trial_end: free the
 * memory of the trials. */
int family_trial_begin(struct family_trial *trial, size_t layers, struct err *err);
void family_trial_end(struct family_trial *trial);

/* Read a config as family_read does, with the value that a trial gives to its key. */
int family_try(struct config *config, const struct family *family, const struct json *root,
               struct family_trial *trial, struct err *err);

/* List in config->unread the keys that were not read and may have an effect, as many as fit. */
void family_note_unread(struct config *config, const struct json *root);

/* A classifier: the names of its last matrix and, if it has one, of the dense layer before it. A
 * file with all these names has this classifier. Classifiers are tried in the order of their list,
 * which ends with one without rows. `family`: the only family that may have it, or NULL for all. */
struct classifier {
    const char *family;
    struct family_row rows[3];  /* rows of SLOT_UNEMBED and SLOT_TRANSFORM; the last has no name */
    enum activation activation; /* activation of the dense layer; ACTIVATION_NONE: the one that
                                 * config.json names */
    enum class_answer answers;
    bool normed;           /* the dense layer has a norm, SLOT_TRANSFORM_NORM of the family */
    bool prefixed;         /* the name of the dense layer begins with the prefix of the family */
    const char *sequences; /* " name name ": the families whose class for sequences in transformers
                            * has this classifier; or NULL */
};

extern const struct classifier classifiers[];

/* Give a config a classifier with `count` classes. config->biases stays as it was. */
void class_head_take(struct config *config, const struct classifier *head, size_t count);

/* The classifier that models of a config's family have in transformers to classify sequences; NULL:
 * it is not known. */
const struct classifier *classifier_of_sequences(const struct config *config);

/* If config.json names a class of transformers that classifies sequences, give the config its
 * classifier, with a class for each name in "id2label". Other classifiers are found by their
 * tensors. */
int family_read_classes(struct config *config, const struct json *root, struct err *err);

/* The row of a slot: of the config's classifier, or else family_row of its family. */
const struct family_row *config_row(const struct config *config, struct slot slot);

/* The row that has a slot's name. A bias or shift has the row of its matrix or norm. NULL: the
 * family has no such row. */
const struct family_row *family_row(const struct family *family, struct slot slot);

/* The name of a slot's tensor, such as "model.layers.3.self_attn.q_proj.weight", for the config's
 * family and groups of layers; returns `name`. */
const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct config *config,
                               struct slot slot);

/* The size of a slot's matrix, and where the numbers of the slot are in a tensor of a file. */
struct family_layout {
    size_t out, in;
    size_t rank, shape[SLOT_RANK_MAX + 1]; /* shape of the whole tensor, which may have several
                                            * slots */
    bool transposed;
    bool squeezed; /* further axes of size 1 in the file's tensor are ignored */
    /* skipped: how many numbers come before the slot's expert or head; count: how many it has.
     * Without experts or heads: 0, and all numbers of the tensor. */
    size_t skipped, count;
    struct row_view view; /* the rows of the tensor that are the slot's; columns if `transposed` */
    struct slot first;    /* the first of the slots that share the tensor */
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

/* What the readers of keys share while a config is read. */
struct reading {
    struct config *config;
    const struct json *root;
    struct err *err;
    bool failed;                /* an error occurred; `err` has the first one */
    struct family_trial *trial; /* NULL: this is not a trial */
};

/* Limits of sizes and of numbers of layers, far above real models. A product of two fits into 64
 * bits. */
enum { DIMENSION_MAX = 1 << 24, LAYERS_MAX = 1 << 14 };

/* Note that reading failed. Returns where to write the message; NULL if there already is one. */
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
/* Read a list; NULL: the key is absent. */
const struct json *family_list(struct reading *reading, const char *key);
/* Read an object; NULL: the key is absent. */
const struct json *family_object(struct reading *reading, const char *key);

/* The value of a key that may be of several types; NULL: the key is absent or null. */
const struct json *family_given(struct reading *reading, const char *key);

/* From now on read keys from the object that is the value of `key`, if there is one. Returns the
 * object that was read before, to restore it. */
const struct json *family_enter(struct reading *reading, const char *key);

/* Read a number in [min, max] from a key that may have several names. If a config has more than one
 * of the names, their values must agree. */
double family_named(struct reading *reading, const char *const names[FAMILY_NAMES_MAX], double min,
                    double max, double otherwise);

/* Require that a flag has `value`; an absent flag has the value `otherwise`. */
void family_expect(struct reading *reading, const char *key, bool value, bool otherwise);

/* Set the activation to `name`, the value of `key`; an unknown name is an error. */
void family_activation(struct reading *reading, const char *key, const char *name);

/* Read a flag that says whether the model has `biases`. If the flag is absent config->biases
 * stays. */
void family_bias(struct reading *reading, const char *key, unsigned biases);

/* Read a limit, such as a cap. Returns 0 for null, and if the key is absent and `otherwise` is 0:
 * there is no limit then. */
float family_limit(struct reading *reading, const char *key, float otherwise);

/* family_window: read the width of a window; null: no window. family_layer_types: read from
 * "layer_types" which layers have the window; false: the key is absent. */
void family_window(struct reading *reading, const char *key);
bool family_layer_types(struct reading *reading);

/* Read "rope_theta", "rope_scaling" or "rope_parameters", and the share of rotated channels. */
void family_read_rotary(struct reading *reading, double turning, double theta);

/* family_flag_layers: set a flag of the layers with a window, or of the layers without.
 * family_local_rotary: read the rotary embedding of layers with a window, if it differs from the
 * one in other layers. `theta_key`: the key of its base; `scaled`: "rope_scaling" applies to it. */
void family_flag_layers(struct config *config, bool with_window, unsigned short flag);
void family_local_rotary(struct reading *reading, const char *theta_key, double otherwise,
                         bool scaled);

/* Whether config.json names a class of transformers for a task, such as
 * "ForTokenClassification". */
bool family_is_for(const struct reading *reading, const char *task);

/* Read the rotary embedding of a kind of layers, such as "full_attention", from "rope_parameters",
 * for heads of `width` channels. If only a share of the pairs is rotated, its scaling is
 * proportional. */
void family_kind_rotary(struct reading *reading, struct rotary *rotary, const char *kind,
                        size_t width, double theta, double share);

/* Read "is_causal". The window must have been read before. */
void family_read_causal(struct reading *reading);
