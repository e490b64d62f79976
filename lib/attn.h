/* attn.h: the library behind attn-cli: open a model, encode a text, run it with a sink, close.
 *
 * The one header that is installed; link with `pkg-config --libs attn`. A sink is called with every
 * tensor that was asked for, while the pass goes on, and copies what it wants to keep.
 *
 *     static int print(void *context, const struct attn_tensor *t)
 *     {
 *         printf("%s: %zu axes, first value %g\n", t->name, t->rank, t->data[0]);
 *         return 0;
 *     }
 *
 *     struct attn_error error = {0};
 *     struct attn_model *model = attn_open("tiny", 0, &error);
 *     struct attn_ids ids = {0};
 *     struct attn_request request = {.show = "weights", .layers = "-1", .sink = print};
 *     if (!model || attn_encode(model, "Life is short", 13, &ids, &error) ||
 *         attn_run(model, &ids, &request, &error))
 *         fprintf(stderr, "%s\n", error.text);
 *     attn_ids_free(&ids);
 *     attn_close(model);
 *
 * A model serves one run at a time, and keeps its memory for the next; several models may be open.
 */
#ifndef ATTN_H
#define ATTN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

enum { ATTN_ERROR_BYTES = 1024, ATTN_AXES_MAX = 3 };

/* What went wrong. `status` is what attn-cli would exit with: 2 usage, 3 bad input, 4 unsupported.
 */
struct attn_error {
    int status;
    char text[ATTN_ERROR_BYTES];
};

struct attn_model;

/* Open a model directory or a bundled model by name, NULL the default one; `threads` 0: one a
 * processor. NULL with `error`, which may be NULL here and below. Close what was opened; closing
 * NULL does nothing. */
struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error);
void attn_close(struct attn_model *model);

/* Tokens of a text: their ids, and the bytes [starts, ends) each one covers. */
struct attn_ids {
    uint32_t *ids; /* [count] */
    size_t *starts, *ends;
    size_t count;
};

/* Tokenize with the model's own tokenizer. 0, and `ids` to be freed; or -1 with `error`. A text of
 * NULL has no bytes. Freeing NULL, or ids that are all zeros, does nothing. */
int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error);
void attn_ids_free(struct attn_ids *ids);

/* A tensor as it leaves the pass: valid until the sink returns, element (i, j, k) at
 * data[i · stride[0] + j · stride[1] + k · stride[2]]. */
struct attn_tensor {
    const char *name; /* "h.0.weights", "enc.0.weights", "logits" */
    int layer;        /* -1: of no layer */
    const float *data;
    size_t rank;
    size_t shape[ATTN_AXES_MAX];
    size_t stride[ATTN_AXES_MAX];
};

struct attn_request {
    const char *show;   /* "weights,context" or "all": the names of attn-cli run --show; NULL:
                         * "weights" */
    const char *layers; /* "0,3-5", "-1" or "all"; NULL: all */
    int (*sink)(void *context, const struct attn_tensor *tensor); /* other than 0 ends the pass */
    void *context;                                                /* the sink's own; may be NULL */
    const struct attn_ids *source; /* of models that look at a second text; else NULL */
    const char
        *edits; /* values changed on their way, as attn-cli run --edit has them, with ; between
                        * them: "h.0.context[head=1] = 0"; numbers and files alone; NULL: none */
};

/* Run the model on the ids, as far as the last tensor that was asked for. 0; -1 with `error`.
 * Without a model, ids, a request or a sink that is usage, 2: what failed before may go on to here.
 */
int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error);

/* How likely each id is after those before it: natural logarithms of probabilities, into room for
 * ids->count of them; NaN for the first. 0; -1 with `error`. Not supported, 4: models that choose
 * no next token. */
int attn_score(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
               struct attn_error *error);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
