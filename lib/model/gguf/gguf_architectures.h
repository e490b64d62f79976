/* gguf_architectures.h: what `general.architecture` of a GGUF file may be: the family, keys of
 * config.json, and tensors that mean something else than in other architectures.
 *
 *     const struct gguf_architecture *architecture;
 *     if (gguf_find_architecture(&architecture, gguf, err)) ...
 */
#pragma once

#include "format/gguf.h"
#include "model/parameter_table.h"

/* `theirs`: a key of a file, after "ARCHITECTURE.", a tensor, or JSON; `ours`: of config.json, or
 * NULL: it has no effect here. */
struct gguf_key {
    const char *theirs, *ours;
    enum {
        KEY_SIZE,
        KEY_COUNT, /* may be 0 */
        KEY_DEPTH, /* without the last layers, which predict further tokens */
        KEY_REAL,  /* 0: as if absent, unless `needed` */
        KEY_TENTH, /* a tenth of the number in config.json */
        KEY_FLAG,
        KEY_SWITCH, /* a boolean; absent: false */
        KEY_WINDOW, /* 0, or absent: null */
        KEY_LAYERS, /* n: each n-th layer has no window; or a list: whether each has one */
        KEY_LIST,   /* a number for each layer */
        KEY_SHARES, /* the share of a normal distribution below each of a list of deviations */
        KEY_ROWS,   /* the rows of this tensor; it may be absent */
        KEY_HAS,    /* true with the tensor, or `needed`; KEY_LACKS: true without */
        KEY_LACKS,
        KEY_PLAIN,     /* a list of the layers without this tensor */
        KEY_MIXERS,    /* a list of kinds of layers: those with this tensor have a mixer */
        KEY_SUBLAYERS, /* a list of the only sublayer of each: with this tensor, attention */
        KEY_VALUE,     /* the same for all files */
        KEY_OPEN,      /* the keys up to KEY_CLOSE are in an object `ours` */
        KEY_CLOSE,
    } kind;
    bool needed;
    const char *by; /* the key of a divisor of this size; or NULL */
};

/* The slot of a name, which .weight or .bias follows, unless the name has its ending; in a layer it
 * lacks "blk." and the number. */
struct gguf_tensor_name {
    const char *name;
    enum slot_id id;
    bool fused; /* its tensor has several slots, of which this is the first */
    enum site_branch branch;
};

/* What names mean in most architectures; ends with NULL. */
extern const struct gguf_tensor_name gguf_tensor_names[];

enum { KEYS_MAX = 20, NAMES_MAX = 2, SCALING_MAX = 3 };

/* What `general.architecture` may be. */
struct gguf_architecture {
    const char *name, *model_type;
    bool pairs;  /* rows of queries and keys are in pairs that are rotated together */
    bool latent; /* keys and values are made of a shorter vector */
    bool mixed;  /* layers with a window have other heads, whose keys end in "_swa" */
    bool alone;  /* layers have a mixer and nothing else */
    bool tiled;  /* heads of values of a mixer are in turn: the first of each head of keys, … */
    unsigned char variant;                    /* names of tensors: this row after the family's */
    struct gguf_key keys[KEYS_MAX];           /* besides the keys of all; the rest are NULL */
    struct gguf_key scaling[SCALING_MAX];     /* further keys of "rope_scaling" by yarn */
    struct gguf_tensor_name names[NAMES_MAX]; /* with another meaning in this architecture */
    const char *marker;                       /* tensor or key without which a later row is meant */
    double marked;         /* the value that the key must have, true as 1; 0: any */
    const char *bias_key;  /* of config.json; NULL: attention_bias */
    long long wide_layers; /* n_layer of the model whose scores have another divisor; or 0 */
};

/* The architecture that a file names; what is not known is refused. */
int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err);
