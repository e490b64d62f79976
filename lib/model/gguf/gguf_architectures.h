/* gguf_architectures.h: a table with the values of `general.architecture` in GGUF files: the family
 * of each, how its config.json is made, and the tensors whose names have another meaning than in
 * other architectures.
 *
 *     const struct gguf_architecture *architecture;
 *     if (gguf_find_architecture(&architecture, gguf, err)) ...
 * */
#pragma once

#include "format/gguf.h"
#include "model/parameter_table.h"

/* How one key of config.json is made. `theirs`: depending on `kind`, the file's key after
 * "ARCHITECTURE.", the name of a tensor, or a value in JSON. `ours`: the key of config.json; NULL:
 * `theirs` is accepted, but has no effect. */
struct gguf_key {
    const char *theirs, *ours;
    enum {
        KEY_SIZE,
        KEY_COUNT, /* a whole number that may be 0 */
        KEY_DEPTH, /* the number of layers, without the last layers that are only for multi-token
                    * prediction */
        KEY_REAL,  /* a number; 0 is treated like an absent key, unless `needed` */
        KEY_TENTH, /* a number, which is multiplied by 10 in config.json */
        KEY_FLAG,
        KEY_SWITCH, /* a boolean; if the key is absent false is written */
        KEY_WINDOW, /* the width of a window; if it is 0 or absent null is written */
        KEY_LAYERS, /* a number n: every n-th layer has no window; or a list that says for each
                     * layer whether it has a window */
        KEY_LIST,   /* a list with a number for each layer */
        KEY_SHARES, /* a list of thresholds in standard deviations; config.json gets the share of a
                     * normal distribution below each threshold */
        KEY_ROWS,   /* the number of rows of the tensor named `theirs`; if the file lacks the tensor
                     * the key is left out */
        /* KEY_HAS: whether the file has the tensor named `theirs`; an error if it lacks a tensor
         * that is `needed`. KEY_LACKS: whether the file lacks the tensor. */
        KEY_HAS,
        KEY_LACKS,
        KEY_PLAIN,     /* the indices of the layers that lack the tensor named `theirs` */
        KEY_MIXERS,    /* the kind of each layer: layers with the tensor named `theirs` have a
                        * mixer, others attention */
        KEY_SUBLAYERS, /* the kind of each layer's only sublayer: attention in layers with the
                        * tensor named `theirs` */
        KEY_VALUE,     /* always the value `theirs` */
        KEY_OPEN,      /* opens the object `ours`, into which the keys up to KEY_CLOSE are
                        * written */
        KEY_CLOSE,
    } kind;
    bool needed;
    const char *by; /* key of the file by whose value the number is divided; NULL: the number is not
                     * divided */
};

/* The slot that a tensor's name in a GGUF file stands for. `name` is the part before .weight or
 * .bias, or the whole name if it has another ending. In a layer it is without "blk." and the
 * layer's number. */
struct gguf_tensor_name {
    const char *name;
    enum slot_id id;
    bool fused; /* the tensor has several slots; `id` is the first */
    enum site_branch branch;
};

/* The names of tensors that most architectures share, with their slots; ends with a NULL name. */
extern const struct gguf_tensor_name gguf_tensor_names[];

enum { KEYS_MAX = 20, NAMES_MAX = 2, SCALING_MAX = 3 };

/* One architecture: a value of `general.architecture`. */
struct gguf_architecture {
    const char *name, *model_type;
    bool pairs;  /* rows of queries and keys are ordered in pairs of channels that are rotated
                  * together */
    bool latent; /* latent attention: keys and values are computed from a narrow vector */
    bool mixed;  /* layers with a window have heads of other sizes; the file's keys for these sizes
                  * end in "_swa" */
    bool alone;  /* layers have a mixer and nothing else */
    bool tiled;  /* order of a mixer's heads of values: the first head of values for each head of
                  * keys, then the second for each, …; else all heads of values for the first head
                  * of keys come first */
    unsigned char variant;                    /* the row with the names of the tensors comes this
                                               * many rows after the family's row */
    struct gguf_key keys[KEYS_MAX];           /* keys in addition to the keys of all architectures;
                                               * ends with a NULL key, unless all KEYS_MAX elements
                                               * are used */
    struct gguf_key scaling[SCALING_MAX];     /* further keys of "rope_scaling" with yarn */
    struct gguf_tensor_name names[NAMES_MAX]; /* names that have other slots here than in
                                               * gguf_tensor_names */
    const char *marker;                       /* a tensor or key that the file must have; a file
                                               * without it belongs to a later row with the same
                                               * name. NULL: this row is for all files with its
                                               * name */
    double marked;         /* the value that the key `marker` must have (true counts as 1); 0: any
                            * value */
    const char *bias_key;  /* the key of config.json that says whether attention has biases; NULL:
                            * attention_bias */
    long long wide_layers; /* n_layer of the one model whose scores are divided by the root of
                            * n_embd / n_head, not of the width of a head; 0: the architecture has
                            * no such model */
};

/* Find the architecture that a file names; an unknown one is refused. */
int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err);
