/* family.h: families: one for each `model_type` of a checkpoint.
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

/* A tensor with the rows of one or several slots, which are its members. `groups`: the order of
 * these rows. */
struct family_row {
    /* The tensor's name, without the layer and without ".weight" or ".bias"; {e} is replaced by the
     * index of an expert or head. */
    const char *name;
    unsigned char members[FAMILY_MEMBERS_MAX];
    enum {
        GROUPS_ONE,     /* all rows of the first member, all of the second, … */
        GROUPS_KV_HEAD, /* for each key/value head the rows of each member for this head */
        GROUPS_HEAD,    /* for each query head the rows of each member for this head */
        GROUPS_FOUR,    /* for each quarter of the heads the rows of each member */
        GROUPS_IN_TURN, /* row 0 of each member, row 1 of each member, … */
    } groups;
    bool transposed; /* a matrix is stored as [in, out], not as [out, in] */
    bool bare;       /* no ".weight" follows the name; the name of a bias ends in "_bias" */
    bool stacked;    /* one tensor has all experts or heads, along a further first axis */
    bool flat;       /* with `stacked`: experts follow one another on the first axis, without an
                      * axis of their own */
    unsigned char branch;
    const char *bias; /* full name of the bias; NULL: `name` followed by ".bias" or, if `bare`, by
                       * "_bias" */
};

struct family_names {
    /* The beginning of the names of all tensors except in the slots SLOT_TRANSFORM to
     * SLOT_UNEMBED_BIAS. Some files lack it. */
    const char *prefix;
    /* The part of a name before the layer's number: `layers` in the text's stack, `source_layers`
     * in the encoder (NULL: there is no encoder). {g} in it is replaced by the index of the layer's
     * group. */
    const char *layers, *source_layers;
    const char *wrapper;             /* a further prefix that names in a file may have before or
                                      * after `prefix`, or NULL */
    const struct family_names *base; /* names of the slots that are not in `rows`, or NULL */
    bool open;                       /* true: files may have further tensors, which are ignored;
                                      * else they are refused */
    struct family_row rows[FAMILY_ROWS_MAX]; /* ends with a row without a name */
};

struct reading;

struct family {
    const char *name; /* the model_type. The rows that follow a family may be its variants: they
                       * have the same name, or this name followed by a space and other words */
    const struct family_names *names;
    void (*settle)(struct reading *reading); /* reads the keys that a row of this table cannot
                                              * describe; NULL: there are none */
    const struct config *defaults;
    const char *activation_key;        /* key that names the activation, or NULL */
    const char *activation;            /* default activation */
    double turning, theta;             /* defaults: share of a head's channels that have the rotary
                                        * embedding (0: no channels), and base of the rotary
                                        * embedding */
    const char *theta_key, *share_key; /* Other names of the key "rope_theta" and of the key with
                                        * the share of rotated channels, or NULL. The key
                                        * "partial_rotary_factor" is only read for families with a
                                        * default share below 1, or with this key in `reads`. */
    const char *width_key;             /* key with the number of rotated channels, or NULL */
    bool wrapped;                      /* the keys of the text model are in the object
                                        * "text_config" */
    bool nested_share;                 /* the share of rotated channels is only read inside the
                                        * objects of the rotary embedding, such as
                                        * "rope_parameters" */
    bool rounds_share;                 /* an odd number of rotated channels is rounded up */
    bool by_file;      /* a variant that is chosen if the file has tensors with all names of its own
                        * `names` */
    bool first_names;  /* if a size has several names in config.json, only the first is read; else
                        * their values must be equal */
    bool fixed_rotary; /* family_read_rotary ignores "rope_theta", "rope_scaling" and
                        * "rope_parameters" (as in transformers) */
    bool own_mask;     /* the model is causal, whatever "is_causal" says (as in transformers) */
    unsigned short trained_positions; /* default of original_max_position_embeddings; 0: there is no
                                       * default */
    const char *reads; /* keys that are accepted only for families that list them here, with spaces
                        * between and around them; or NULL */
};

/* Lists of families. Each ends with a family without a name. family_own is in the order of enum
 * model_kind. */
extern const struct family family_own[], family_decoders[], family_encoders[], family_experts[],
    family_mixers[], family_translators[];

/* The key with the share of rotated channels in the config.json that is made from a GGUF file. It
 * is read in any family. */
#define GGUF_SHARE "rotary_share"

/* The family at an index that counts through all lists; NULL: the index is too large. */
const struct family *family_at(size_t index);

/* Find a family by its model_type; NULL: there is none. */
const struct family *family_find(const char *name);

/* Read eos_token_id and, for a model with an encoder, the rules of generation into `config`, a
 * struct config. */
int family_read_generation(void *config, const struct json *root, struct err *err);

/* Read config.json, whose top-level object is `root`, as a config of this family. Errors name the
 * key whose value is unknown or unsupported. */
int family_read(struct config *config, const struct family *family, const struct json *root,
                struct err *err);

enum { FAMILY_NAMES_MAX = 5 }; /* maximum number of names of a key */

/* A trial reads config.json again as if a key that it lacks had another value than its default, to
 * see what depends on this key. The first reading, with key = SIZE_MAX, lists the absent keys;
 * later readings give each of these keys each of the other values. */
enum { FAMILY_ABSENT_MAX = 96, FAMILY_VALUES = 8 };
struct family_trial {
    const char *absent[FAMILY_ABSENT_MAX][FAMILY_NAMES_MAX]; /* all names of each absent key */
    size_t count;
    size_t key, value;                 /* key: index in `absent` of the key on trial; value: index
                                        * of the value that this key gets */
    struct json *lists[FAMILY_VALUES]; /* values for keys whose value is a list or an object */
};

/* family_trial_begin: prepare trials for a model with `layers` layers. family_trial_end: free their
 * memory. */
int family_trial_begin(struct family_trial *trial, size_t layers, struct err *err);
void family_trial_end(struct family_trial *trial);

/* Read a config as family_read does. Unless `trial` is NULL, its key is read as if it had the
 * trial's value. */
int family_try(struct config *config, const struct family *family, const struct json *root,
               struct family_trial *trial, struct err *err);

/* Write the keys that were not read and may have an effect to config->unread, as many as fit. */
void family_note_unread(struct config *config, const struct json *root);

/* A classifier: the names of its last matrix and, if it has one, of the dense layer before this
 * matrix. It is found by these names: the first element of `classifiers` whose names the file has.
 * The list ends with an element without rows. `family`: the only family that may have the
 * classifier; NULL: any family. */
struct classifier {
    const char *family;
    struct family_row rows[3];  /* the rows of SLOT_UNEMBED and, unless there is no dense layer,
                                 * SLOT_TRANSFORM; then a row without a name */
    enum activation activation; /* activation of the dense layer; ACTIVATION_NONE:
                                 * config.class_activation */
    enum class_answer answers;
    bool normed;           /* the output of the dense layer is normed, with the family's
                            * SLOT_TRANSFORM_NORM */
    bool prefixed;         /* the name of the dense layer begins with the prefix of the family */
    const char *sequences; /* " name name ": the families whose …ForSequenceClassification in
                            * transformers has this classifier; or NULL */
};

extern const struct classifier classifiers[];

/* Turn a config into the config of a classifier with `count` classes. config->biases does not
 * change. */
void class_head_take(struct config *config, const struct classifier *head, size_t count);

/* The classifier that …ForSequenceClassification of the config's family has in transformers; NULL:
 * it is not known. */
const struct classifier *classifier_of_sequences(const struct config *config);

/* If "architectures" in config.json names a …ForSequenceClassification, turn the config into the
 * config of its classifier, with a class for each name in "id2label" (without this key: 2). Other
 * classifiers are found by their tensors. */
int family_read_classes(struct config *config, const struct json *root, struct err *err);

/* The row of a slot: the row of the config's classifier, if it has one for this slot, or else
 * family_row of the config's family. */
const struct family_row *config_row(const struct config *config, struct slot slot);

/* The row with the name of a slot's tensor. A bias or shift has the row of its matrix or norm.
 * NULL: the family has no name for the slot. */
const struct family_row *family_row(const struct family *family, struct slot slot);

/* Write the name of a slot's tensor in the config's family, such as
 * "model.layers.3.self_attn.q_proj.weight"; returns `name`. */
const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct config *config,
                               struct slot slot);

/* The size of a slot's matrix, and where the numbers of the slot are in a tensor of a file. */
struct family_layout {
    size_t out, in;
    size_t rank, shape[SLOT_RANK_MAX + 1]; /* shape of the whole tensor, which may have several
                                            * slots */
    bool transposed;
    bool squeezed; /* further axes of size 1 in the file's tensor are ignored */
    /* skipped: how many numbers of the tensor come before the slot's expert or head;
     * count: how many numbers this expert or head has. For a tensor without experts or heads
     * skipped is 0, and count is the number of all numbers. */
    size_t skipped, count;
    struct row_view view; /* the rows or, if the tensor is transposed, the columns that belong to
                           * the slot */
    struct slot first;    /* the first of the slots that share the tensor */
};

void family_layout(struct family_layout *layout, struct slot slot, const struct config *config);

/* --- for the files of families ----------------------------------------------------------------
 *
 * A reader returns the value of a key, or its default if the key is absent. After the first error
 * the readers read nothing, and family_read fails.
 *
 * A null key means the same as None in transformers: a flag is false, whatever its default; there
 * is no window, cap, scaling or token; num_key_value_heads, head_dim and rotary_dim follow from
 * other sizes. If None would fail in transformers, null is treated as absent. */

/* The state of reading a config.json, which all readers of keys share. */
struct reading {
    struct config *config;
    const struct json *root;
    struct err *err;
    bool failed;                /* an error occurred; `err` has the first one */
    struct family_trial *trial; /* NULL: this is not a trial */
};

/* Limits of sizes and of numbers of layers, far above the sizes of real models. A product of two
 * sizes fits into 64 bits. */
enum { DIMENSION_MAX = 1 << 24, LAYERS_MAX = 1 << 14 };

/* Record that reading failed. Returns where to write the message; NULL: an earlier error has its
 * message already. */
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

/* The value of a key whose value may have several types; NULL: the key is absent or null. */
const struct json *family_given(struct reading *reading, const char *key);

/* Read keys from the object that is the value of `key`, if there is one, until r->root is restored.
 * Returns the object from which keys were read before, for the caller to restore. */
const struct json *family_enter(struct reading *reading, const char *key);

/* Read a number in [min, max] from a key that may have several names. If a config has more than one
 * of the names, their values must agree. */
double family_named(struct reading *reading, const char *const names[FAMILY_NAMES_MAX], double min,
                    double max, double otherwise);

/* Require that a flag has `value`; an absent flag has the value `otherwise`. */
void family_expect(struct reading *reading, const char *key, bool value, bool otherwise);

/* Set the activation to `name`, the value of `key`; an unknown name is an error. */
void family_activation(struct reading *reading, const char *key, const char *name);

/* Read a flag that says whether the model has the biases in `biases`, and set or clear these bits
 * of config->biases. If the flag is absent, it is true if all of these bits are set. */
void family_bias(struct reading *reading, const char *key, unsigned biases);

/* Read a limit, such as a cap. Returns 0 for no limit: if the value is null, or if the key is
 * absent and `otherwise` is 0. */
float family_limit(struct reading *reading, const char *key, float otherwise);

/* family_window: read the width of the window, where null means that there is none.
 * family_layer_types: read from "layer_types" which layers have the window; false: the key is
 * absent. */
void family_window(struct reading *reading, const char *key);
bool family_layer_types(struct reading *reading);

/* Read "rope_theta", "rope_scaling" or "rope_parameters", and the share of rotated channels. */
void family_read_rotary(struct reading *reading, double turning, double theta);

/* family_flag_layers: set a flag of all layers with a window, or of all layers without one.
 * family_local_rotary: read the rotary embedding of layers with a window, if it differs from the
 * rotary embedding of other layers. `theta_key`: key of its base; `scaled`: "rope_scaling" applies
 * to it. */
void family_flag_layers(struct config *config, bool with_window, unsigned short flag);
void family_local_rotary(struct reading *reading, const char *theta_key, double otherwise,
                         bool scaled);

/* Whether "architectures" in config.json names a class for a task, such as
 * "ForTokenClassification". */
bool family_is_for(const struct reading *reading, const char *task);

/* Read the rotary embedding of a kind of layers, such as "full_attention", from "rope_parameters",
 * for heads of `width` channels. `theta`: default of the base; `share`: share of the pairs that is
 * rotated if there is no "rope_parameters" (in its object the default of the share is 1). If
 * `share` is below 1 the scaling must be proportional. */
void family_kind_rotary(struct reading *reading, struct rotary *rotary, const char *kind,
                        size_t width, double theta, double share);

/* Read "is_causal". Call this after the window was read, because without a causal mask the window
 * becomes wider by 1. */
void family_read_causal(struct reading *reading);
