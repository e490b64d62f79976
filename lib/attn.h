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
 * A model and its caches serve one call at a time. A second call, from a sink or another thread, is
 * refused with status 2; only attn_token_text and attn_count may be called at any time. Several
 * models may be open, of one name, too, and threads may use them at once, one each: their numbers
 * are those of one thread.
 *
 * Model files are mapped into memory. If a file is made shorter while its model is open, the call
 * that reads beyond its end fails, and so does each later one on the model, with status 3:
 * "'tiny/model.safetensors' became shorter while it was being read". For this the first attn_open
 * sets a handler of SIGBUS, which the last attn_close resets. Faults at other addresses go to the
 * handler that was set before. A handler that is set later comes first and should call the one that
 * it replaced; a program that handles SIGBUS alone sets one that does not.
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

/* What went wrong. `status` is what attn-cli would exit with: 2 usage, 3 bad input or no memory, 4
 * unsupported. */
struct attn_error {
    int status;
    char text[ATTN_ERROR_BYTES];
};

struct attn_model;

/* Open a model directory or a bundled model by name, NULL the default one; up to 256 `threads`, 0:
 * one a processor. NULL with `error`, which may be NULL here and below. Close what was opened
 * once; closing NULL does nothing. The memory of a model is freed when its caches are closed, too,
 * and no call runs. */
struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error);
void attn_close(struct attn_model *model);

/* Tokens of a text: their ids, and the bytes [starts, ends) each one covers. */
struct attn_ids {
    uint32_t *ids; /* [count] */
    size_t *starts, *ends;
    size_t count;
};

/* Tokenize with the model's own tokenizer; no special tokens are added. 0, and `ids` to be freed;
 * or -1 with `error`. A text of NULL has no bytes. Freeing NULL, or ids that are all zeros, does
 * nothing. */
int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error);
void attn_ids_free(struct attn_ids *ids);

/* The bytes of a token, not 0-terminated, which live as long as the model; a blank before a word is
 * one of them. NULL, and a size of 0: the id is no token, or the model takes ids alone. `size` may
 * be NULL. */
const char *attn_token_text(const struct attn_model *model, uint32_t id, size_t *size);

/* What a model is made of; all 0 without one. */
struct attn_counts {
    size_t layers, encoder_layers;       /* of encoders 0: there is none */
    size_t heads, kv_heads;              /* head h looks at key/value head h / (heads / kv_heads) */
    size_t channels, hidden_channels;    /* of the stream, of the MLP */
    size_t key_channels, value_channels; /* of one head */
    size_t vocabulary;
    size_t positions; /* 0: any number of tokens */
};

struct attn_counts attn_count(const struct attn_model *model);

/* A tensor as it leaves the pass: valid until the sink returns, element (i, j, k) at
 * data[i · stride[0] + j · stride[1] + k · stride[2]]. */
struct attn_tensor {
    const char *name; /* "h.0.weights", "enc.0.weights", "logits" */
    int layer;        /* -1: of no layer */
    const float *data;
    size_t rank;
    size_t shape[ATTN_AXES_MAX];
    size_t stride[ATTN_AXES_MAX];
    const char *axes[ATTN_AXES_MAX]; /* "head", "kv_head", "query", "key", "token", "channel", "dim"
                                      * or "word" */
    const size_t *heads; /* [shape[0]] their numbers in the model; NULL: the first axis is of no
                          * heads */
};

struct attn_request {
    const char *show;   /* "weights,context" or "all": the names of attn-cli run --show; NULL:
                         * "weights" */
    const char *layers; /* "0,3-5", "-1" or "all"; NULL: all */
    const char *heads;  /* the same of heads; keys and values are those that these look at */
    int (*sink)(void *context, const struct attn_tensor *tensor); /* other than 0 ends the pass */
    void *context;                                                /* the sink's own; may be NULL */
    const struct attn_ids *source; /* of models that look at a second text; else NULL */
    const char
        *edits; /* values changed on their way, as attn-cli run --edit has them, with ; between
                        * them: "h.0.context[head=1] = 0"; numbers and files alone; NULL: none */
    const char *attention; /* another way to attend for this run, "window:4", as attn-cli run
                            * --attention has it; NULL: the model's own */
    float temperature;     /* scores are divided by it, too; 0: they are not */
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

/* A text that grows: what was read stays in a cache, and a step runs the ids that come next alone,
 * with the bits of one run of the whole: its queries are the new tokens, its keys are all. After
 * its model is closed, a cache can only be closed. Not supported, 4: models that look ahead or at a
 * second text, and texts so long that their rotations are others.
 *
 *     struct attn_cache *cache = attn_cache_open(model, &error);
 *     if (!cache || attn_step(cache, &prompt, &request, &error) ||
 *         attn_step(cache, &one_more, &request, &error)) ...
 *     attn_cache_close(cache);
 *
 * A request of a step has no source, edits, attention or temperature, and shows what the pass
 * itself has. After -1 the cache is as it was before the step. */
struct attn_cache;

struct attn_cache *attn_cache_open(struct attn_model *model, struct attn_error *error);
int attn_step(struct attn_cache *cache, const struct attn_ids *ids,
              const struct attn_request *request, struct attn_error *error);
size_t attn_cache_count(const struct attn_cache *cache); /* of tokens that were read */
void attn_cache_close(struct attn_cache *cache);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
