/* gguf_architectures.h: for each `general.architecture` that a GGUF file may have: the family, the
 * keys of config.json, and the tensors whose names mean something else than in other architectures.
 *
 *     const struct gguf_architecture *architecture;
 *     if (gguf_find_architecture(&architecture, gguf, err)) ...
 * */
#pragma once

#include "format/gguf.h"
#include "model/parameter_table.h"

/* How one key of config.json is made. `theirs`: the file's key after "ARCHITECTURE.", the name of a
 * tensor, or a value in JSON, as `kind` says; `ours`: the key of config.json, or NULL if theirs has
 * no effect here. */
struct gguf_key {
    const char *theirs, *ours;
    enum {
        KEY_SIZE,
        KEY_COUNT, /* a whole number that may be 0 */
        KEY_DEPTH, /* the number of layers, without the last ones, which are only for multi-token
                    * prediction */
        KEY_REAL,  /* a number; 0 is treated like an absent key, unless `needed` */
        KEY_TENTH, /* theirs is a tenth of the number in config.json */
        KEY_FLAG,
        KEY_SWITCH, /* a boolean; absent means false */
        KEY_WINDOW, /* a width of windows; 0 and absent mean null */
        KEY_LAYERS, /* n: every n-th layer has no window; or a list that says for each layer whether
                     * it has one */
        KEY_LIST,   /* a list with a number for each layer */
        KEY_SHARES, /* a list of thresholds in standard deviations; ours has the share of a normal
                     * distribution below each threshold */
        KEY_ROWS,   /* the number of rows of this tensor, which may be absent */
        /* KEY_HAS: true if the file has this tensor; an error if it lacks one that is `needed`.
         * KEY_LACKS: true if it lacks this tensor. */
        KEY_HAS,
        KEY_LACKS,
        KEY_PLAIN,     /* a list of the layers that lack this tensor */
        KEY_MIXERS,    /* the kind of each layer: layers with this tensor have a mixer */
        KEY_SUBLAYERS, /* the only sublayer of each layer: layers with this tensor have attention */
        KEY_VALUE,     /* `theirs`, whatever the file has */
        KEY_OPEN,      /* opens an object `ours` with the keys up to KEY_CLOSE */
        KEY_CLOSE,
    } kind;
    bool needed;
    const char *by; /* the file's key with a number by which the value is divided; NULL: none */
};

/* The slot of a tensor's name. `name` is the part before .weight or .bias, or the whole name if it
 * has another ending; in layers also without "blk." and the number. */
struct gguf_tensor_name {
    const char *name;
    enum slot_id id;
    bool fused; /* the tensor has several slots; `id` is the first */
    enum site_branch branch;
};

/* The slots of names in most architectures; ends with a NULL name. */
extern const struct gguf_tensor_name gguf_tensor_names[];

enum { KEYS_MAX = 20, NAMES_MAX = 2, SCALING_MAX = 3 };

/* One architecture: a value of `general.architecture`. */
struct gguf_architecture {
    const char *name, *model_type;
    bool pairs;  /* rows of queries and keys are ordered in pairs of channels that are rotated
                  * together */
    bool latent; /* keys and values are made from a narrow vector */
    bool mixed;  /* layers with a window have other heads; the file's keys for these heads end in
                  * "_swa" */
    bool alone;  /* layers have a mixer and nothing else */
    bool tiled;  /* a mixer's heads of values are in turn: the first head of values for each head of
                  * keys, then the second for each, … */
    unsigned char variant;                    /* tensors have the names of the row that comes this
                                               * many rows after the family's */
    struct gguf_key keys[KEYS_MAX];           /* keys in addition to those that all architectures
                                               * have; unused elements are NULL */
    struct gguf_key scaling[SCALING_MAX];     /* further keys of "rope_scaling" with yarn */
    struct gguf_tensor_name names[NAMES_MAX]; /* names with other slots than in gguf_tensor_names */
    const char *marker;                       /* a tensor or key that the file must have; a file
                                               * without it belongs to a later row. NULL: no such
                                               * tensor or key */
    double marked;         /* the value that the marker's key must have, 1 for true; 0: any */
    const char *bias_key;  /* the key of config.json for attention's biases; NULL: attention_bias */
    long long wide_layers; /* n_layer of the model whose scores have another divisor; 0: no model */
};

/* Find the architecture that a file names; an unknown one is refused. */
int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err);
