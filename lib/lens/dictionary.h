/* dictionary.h: dictionaries of sparse features: sparse autoencoders and transcoders, as SAELens,
 * Gemma Scope, Llama Scope, OpenMOSS, sparsify, circuit-tracer, dictionary_learning, Qwen Scope
 * and Goodfire publish them. All are read into one description:
 *
 *     x₁ = scale_in · norm(x) - b_in
 *     p  = W_enc x₁ + b_enc
 *     s  = p · rank                          the number by which features are compared
 *     f  = s if `ranked`, else p             for active features; 0 for all others
 *     u  = finetune / rank if `ranked`, else finetune
 *     y  = norm⁻¹((Σ f · u · W_dec + b_out) / scale_out) + W_skip x
 *
 * enum active says which features are active; ACTIVE_GATED has an f of its own. Unless `restores`,
 * norm⁻¹ changes nothing.
 *
 *     struct dictionary dictionary;
 *     struct dictionary_request request = {.path = "sae", .layer = -1};
 *     if (dictionary_open(&dictionary, &request, &config, err)) ...
 *     if (dictionary_encode(&dictionary, &machine, rows, x, &arena, err)) ...
 *     dictionary_release(&dictionary);
 */
#pragma once

#include "format/dump.h"
#include "math/weight.h"
#include "model/config.h"
#include "pass/edit.h"
#include "model/site.h"

struct machine;

enum active {
    ACTIVE_RELU,
    ACTIVE_JUMPRELU, /* s > threshold */
    ACTIVE_TOPK,     /* the k largest s; among equal s, the features with lower numbers */
    ACTIVE_ABSTOPK,  /* the k features with the largest |s|, of either sign */
    ACTIVE_GROUPMAX, /* the largest s in each of k groups of consecutive features */
    ACTIVE_GATED,    /* f = [p + b_gate > 0] · relu(e^r_mag · p + b_mag) */
};

enum dictionary_norm {
    DICTIONARY_PLAIN,
    DICTIONARY_CONSTANT, /* x · √in / ‖x‖ */
    DICTIONARY_LAYER,    /* (x - mean) / (deviation + 1e-5); the variance has the divisor n - 1 */
};

struct dictionary {
    const char *format; /* name of the format, such as "SAELens" */
    enum active active;
    size_t in, out, count, k;
    struct weight encoder; /* [in, count], stored as [count, in] */
    struct weight decoder; /* [count, out], a row for each feature */
    struct weight skip;    /* [in, out], stored as [out, in]; weight_exists is false if there is
                            * none */
    const float *b_enc, *threshold, *b_gate, *r_mag, *b_mag; /* [count] vectors; NULL: zeros */
    const float *rank, *finetune;                            /* [count] factors; NULL: ones */
    const float *b_in, *b_out;                               /* [in] and [out] vectors; NULL:
                                                              * zeros */
    double scale_in, scale_out;
    enum dictionary_norm norm;
    bool restores; /* the normalisation of x is undone in y */
    bool ranked;
    bool keeps_negative; /* ACTIVE_TOPK: features below 0 may be active */
    bool centers;        /* x is encoded without its mean over channels; if `restores`, the mean is
                          * added to y */
    bool may_center;     /* the files do not say if rows were centered in training */
    bool knows_begin,
        begins;        /* `knows_begin`: the files say if training texts began with a special token;
                        * `begins`: they did */
    size_t context;    /* tokens of the longest training text; 0: the files do not say */
    bool of_direction; /* x is the site's row divided by its root mean square; see
                        * dictionary_rows */
    enum site site, site_out;
    size_t layer;
    float epsilon; /* with `of_direction`: added to the mean square of a row before its root is
                    * taken */
    struct dump files;
    struct arena arena;
};

/* Facts about a dictionary that the user states: the files lack them, or they replace the facts of
 * the files. */
struct dictionary_request {
    const char *path;
    int layer;        /* layer of the sites; -1: the layer that the files state */
    const char *site; /* SITE or SITE:OUTPUT, also normalized_1 and normalized_2 (of_direction);
                       * NULL: as the files say */
    double scale;     /* factor of x, used only for SAELens's norm expected_average_only_in; 0: as
                       * the files say */
    long long k;      /* number of active features of a token; 0: as the files say */
    enum dictionary_center { CENTER_AS_READ, CENTER_ON, CENTER_OFF } center;
};

/* Parse a request: DIR[:LAYER][,site=SITE[:OUTPUT]][,scale=S][,k=K][,center=on|off]. The arena owns
 * the request's strings. */
int dictionary_request_read(struct dictionary_request *request, const char *text,
                            struct arena *arena, struct err *err);

/* Call `use` with the path of each file that dictionary_read reads for the request `text`: the
 * config and the tensors. A bundled dictionary has no files. */
int dictionary_files(const char *text, int (*use)(void *context, const char *path, struct err *err),
                     void *context, struct arena *arena, struct err *err);

/* The properties of the model that the reader of a dictionary needs. */
struct dictionary_model {
    bool rms, post_norms;
    float epsilon;
};

/* Read a dictionary from the files of a folder. It is an error if a setting is not implemented by
 * dictionary_encode, a hook is not a site, a tensor has an unexpected shape or a number is not
 * finite; the message names the setting, hook or tensor. dictionary_open also checks that the model
 * has the sites in the layer, and that they are as wide as the dictionary. */
int dictionary_read(struct dictionary *dictionary, const struct dictionary_request *request,
                    const struct dictionary_model *model, struct err *err);
int dictionary_open(struct dictionary *dictionary, const struct dictionary_request *request,
                    const struct config *config, struct err *err);
void dictionary_release(struct dictionary *dictionary);

/* An active feature of a token. A feature_row lists all active features of a token by ascending
 * id. */
struct feature {
    uint32_t id;
    float value;
};

struct feature_row {
    const struct feature *items;
    size_t count;
};

/* Turn rows of the site into the rows that are encoded, in place: if `of_direction`, divide each
 * row by its root mean square, else change nothing. */
void dictionary_rows(const struct dictionary *dictionary, struct matrix x);

enum { FEATURE_ROWS = 64 }; /* number of rows that are encoded at once */

/* Find the active features of each row of x [T, in]. If `machine` is NULL, compute on the calling
 * thread, with the same result to the bit. The arena owns the features. */
int dictionary_encode(const struct dictionary *dictionary, struct machine *machine,
                      struct feature_row *rows, struct matrix x, struct arena *arena,
                      struct err *err);

/* Compute y [T, out], the reconstruction of x or, for a transcoder, of the output site. */
int dictionary_decode(const struct dictionary *dictionary, struct matrix y,
                      const struct feature_row *rows, struct matrix x, struct arena *arena,
                      struct err *err);

/* Compute w [out], the vector that one unit of a feature adds to the reconstruction of x. If `x` is
 * NULL, the result is not scaled by the normalisation of x. */
void dictionary_direction(const struct dictionary *dictionary, float *w, size_t feature,
                          const float *x);

/* Add to a row x the direction of each feature times its number in `differences` [count]. */
void dictionary_add(const struct dictionary *dictionary, float *x, const float *differences);

/* Return ‖x - y‖ / ‖x‖. */
double dictionary_error(const float *x, const float *y, size_t count);

/* --- edits of features ------------------------------------------------------------------------
 *
 * feature_edit_apply is the function of an edit (pass/edit.h). Each row x of the site becomes x + Σ
 * (f' - f) · w, where f are the row's features, f' their new values and w their directions. The
 * part that the dictionary does not explain stays.
 *
 *     struct feature_edit change = {.dictionary = &dictionary, .op = EDIT_SET};
 *     struct edit edit = {.site = dictionary.site, .function = feature_edit_apply,
 *                         .context = &change};
 */

struct feature_edit {
    const struct dictionary *dictionary;
    enum edit_op op; /* EDIT_SET, EDIT_SCALE and EDIT_ADD use `number`; EDIT_TAKE uses `taken` */
    bool decoded;    /* true: each row becomes its reconstruction, and no feature is edited */
    bool is_mean;    /* `taken` is the mean over the texts of the donor */
    float number;
    struct edit_indices features; /* the edited features; count 0: all */
    float *taken;                 /* [rows, dictionary->count] feature values at each token */
    size_t rows;
};

/* Refuse a transcoder, which reads one site and writes another, and a dictionary of normalised rows
 * (`of_direction`). `words` begins the error message. */
int feature_edit_check(const struct dictionary *dictionary, const char *words, struct err *err);

edit_function feature_edit_apply;

/* Set `taken` to the feature values of a donor's texts at the site, averaged over the texts. */
int feature_edit_fill(struct feature_edit *edit, const struct edit_donor *donor,
                      struct arena *arena, struct err *err);
