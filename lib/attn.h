/* attn.h: the library behind attn-cli: open a model, encode a text, run it with a sink, close.
 *
 * This is the only installed header; link with `pkg-config --libs attn`. A sink is a function that
 * is called with each requested tensor during the pass. The tensor is valid only during the call.
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
 * A model runs one call at a time, including the calls of its caches and dictionaries. A second
 * call, from a sink or another thread, is refused with status 2, except attn_token_text,
 * attn_count, attn_cache_count, attn_dictionary_count and closing. Several threads may each use a
 * model of their own at once; results do not depend on the number of threads.
 *
 * Model files are mapped into memory. If a file is truncated while its model is open, calls on the
 * model fail with status 3: "'tiny/model.safetensors' became shorter while it was being read". To
 * detect this, the first attn_open sets a SIGBUS handler, which stays until the last model, cache
 * and dictionary are closed. It passes other faults to the previous handler. A SIGBUS handler that
 * the program sets later must call the handler that it replaced.
 *
 * A program that was linked with libattn.so.0.N runs with every later 0.N.M: functions keep names,
 * arguments and meaning, structs keep size and fields; 0.N.M may only add functions. The next 0.N
 * may change everything: its library and symbols have other names, so that both can be installed.
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

/* `status` is the exit status of attn-cli: 2: usage error; 3: bad input, out of memory, or the sink
 * ended the call; 4: unsupported; 5: an output cannot be written (attn_report). */
struct attn_error {
    int status;
    char text[ATTN_ERROR_BYTES];
};

struct attn_model;

/* Open a model by name with up to 256 threads (0: one per processor). As for attn-cli --model, the
 * name is a folder, a .gguf file, a bundled model (NULL: the default) or a model in the cache of
 * the Hugging Face Hub. Returns NULL with `error` on failure; `error` may be NULL in all calls.
 * Closing NULL does nothing. The memory is freed after the last call, cache and dictionary. */
struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error);
void attn_close(struct attn_model *model);

/* Limit the memory of packed matrices to `bytes` (0: pack nothing; default: SIZE_MAX). Packing
 * saves time and does not change results. The second call that runs texts packs the matrices that
 * it uses, and so does each later call. Calls with one token for each text do not count, but from
 * the third call with a single token on, quantised matrices are packed. A first call with several
 * texts and many tokens also packs. Packed copies need four bytes for each number (0.6 to 1.3 bytes
 * for quantised matrices), and together at most half of the memory that is free at the second call.
 * Other matrices are used as they are in the file. Call this function before the second call.
 * Returns 0, or -1 with `error`. */
int attn_set_packing(struct attn_model *model, size_t bytes, struct attn_error *error);

/* The ids of a text's tokens, and their bytes [starts, ends). No call reads the `starts`, `ends`
 * and `words` that it is given. */
struct attn_ids {
    uint32_t *ids; /* [count] */
    size_t *starts, *ends;
    size_t count;
    size_t *words; /* [count] the index of each token's word, as in attn-cli score --words;
                    * SIZE_MAX: the token is a special token that was added */
    unsigned char *segments; /* [count] token types, for a pair of texts; NULL: all 0 */
    unsigned char *joins;    /* [count] 1: the token belongs to the same word or punctuation mark as
                              * the token before it; used only with `within_word` */
};

/* Tokenize a text of any length with the model's own tokenizer, without special tokens. Returns 0,
 * or -1 with `error`. Free the ids with attn_ids_free. A NULL text is empty. */
int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error);

/* Tokenize a text, or a pair of texts if `pair` is not NULL. Adds the special tokens that attn-cli
 * adds: those of the model's tokenizer, such as [CLS] A [SEP] B [SEP] for BERT, or the start token
 * of a model with an encoder. In a pair, offsets are counted from the beginning of the token's own
 * text. Free the ids with attn_ids_free. */
int attn_encode_special(struct attn_model *model, const char *text, size_t size, const char *pair,
                        size_t pair_size, struct attn_ids *ids, struct attn_error *error);

/* Tokenize a source for a model with an encoder, with its special tokens. The source may have
 * another tokenizer than the text. */
int attn_encode_source(struct attn_model *model, const char *text, size_t size,
                       struct attn_ids *ids, struct attn_error *error);
void attn_ids_free(struct attn_ids *ids);

/* The bytes of a token, including a space before the word. They are not 0-terminated, and are valid
 * as long as the model. Returns NULL and sets *size to 0 if the id is unknown or the model has no
 * tokenizer. `size` may be NULL. */
const char *attn_token_text(const struct attn_model *model, uint32_t id, size_t *size);

/* Sizes of a model. If the encoder and the decoder differ in a size, it is the decoder's. All sizes
 * are 0 if the model is NULL. */
struct attn_counts {
    size_t layers, encoder_layers;
    size_t heads, kv_heads;              /* head h uses key/value head h / (heads / kv_heads) */
    size_t channels, hidden_channels;    /* channels of the residual stream, and hidden channels of
                                          * the MLP */
    size_t key_channels, value_channels; /* channels of keys and of values in one head */
    size_t vocabulary;
    size_t positions;  /* maximum number of tokens in a text; 0: no limit */
    size_t begin;      /* id of the token that begins a text or, in a model with an encoder, the
                        * decoder's start token; SIZE_MAX: there is no such token */
    size_t adds_begin; /* 1: attn_encode_special begins each text with `begin` */
    size_t mask;       /* id of the mask token; SIZE_MAX: there is none, or the model is causal or a
                        * classifier */
};

struct attn_counts attn_count(const struct attn_model *model);

/* A tensor. It is valid until the sink or function that receives it returns. Element (i, j, k) is
 * data[i · stride[0] + j · stride[1] + k · stride[2]]. */
struct attn_tensor {
    const char *name; /* such as "h.0.weights", "enc.0.weights" or "logits" */
    int layer;        /* index of the layer; -1: the tensor belongs to no layer */
    const float *data;
    size_t rank;
    size_t shape[ATTN_AXES_MAX];
    size_t stride[ATTN_AXES_MAX];
    const char *axes[ATTN_AXES_MAX]; /* "head", "kv_head", "copy", "query", "key", "token",
                                      * "channel", "expert", "dim", "key_dim" or "word" */
    const size_t *heads; /* [shape[0]] indices of the heads, kv_heads or copies on the first axis;
                          * NULL if the tensor has no such axis, is a weight of the model, or has
                          * several heads and is passed to the function of an attn_value */
    size_t text;         /* index of the tensor's text in attn_run_all */
    size_t first[ATTN_AXES_MAX]; /* for the function of an attn_value: where the tensor begins on
                                  * each axis of the whole tensor */
};

/* Pass a weight of the model as float32 to the sink. Names: "W_E" [word, channel], "W_pos", "W_U"
 * [channel, word], "b_U", "ln_f.w", "ln_f.b"; of a layer: "h.3.W_Q" [head, channel, dim], W_K and
 * W_V (with kv_head in place of head), W_O [head, dim, channel], W_gate and W_in [channel, dim],
 * W_out [dim, channel], b_Q, b_K, b_V, b_O, b_in, b_out, "h.3.ln_1.w" and .b, ln_2; of
 * cross-attention: "h.3.cross_W_Q"; of an encoder: "enc.3.W_Q". TransformerLens' names, such as
 * "blocks.3.attn.W_Q", are accepted as well. Weights are as in the files: no norm is folded into
 * them. */
int attn_weight(struct attn_model *model, const char *name,
                int (*sink)(void *context, const struct attn_tensor *weight), void *context,
                struct attn_error *error);

/* An array or a function that edits use by its name. In "h.1.resid_post + 2*mood", `mood` is an
 * array of finite numbers with the axes [channels], [tokens, channels] or [heads, tokens,
 * channels]. In "h.1.resid_post = steer", `steer` may be a function that changes `values`, the data
 * of the tensor. By default it is called once for each text and layer of a pass; with positions
 * ("h.1.context[head=3] = steer"), once for each range of positions; for scores, masked scores,
 * weights and other maps, once for each head and query, with the visible keys, from several threads
 * at once. In a step of attn_generate the tensor has only the new tokens. attn_report also calls
 * the function from other threads. */
struct attn_value {
    const char *name;
    const float *data; /* the numbers; NULL: the value is a function */
    size_t rank;
    size_t shape[ATTN_AXES_MAX];
    void (*function)(void *context, float *values, const struct attn_tensor *tensor);
    void *context;
};

struct attn_request {
    const char *show;   /* "weights,context" or "all", as in attn-cli run --show; NULL: "weights" */
    const char *layers; /* indices such as "0,3-5", "-1" or "all"; NULL: all layers */
    const char *heads;  /* indices of query heads, written like `layers`; their keys and values are
                         * selected as well; NULL: all heads */
    int (*sink)(void *context, const struct attn_tensor *tensor); /* a result other than 0 ends the
                                                                   * pass */
    void *context;                                                /* passed to the sink; may
                                                                   * be NULL */
    const struct attn_ids *source; /* the source, for a model with cross-attention or an encoder;
                                    * NULL for other models */
    const char *edits;             /* edits as in attn-cli run --edit, separated by `;`:
                                    * "h.0.context[head=1] = 0"; their values are numbers, files or
                                    * names in `values`; NULL: no edits */
    const char *attention; /* kind of attention as in attn-cli run --attention, such as "window:4";
                            * NULL: the model's own */
    float temperature;     /* scores are divided by it; 0: scores are not divided */
    int within_word;       /* not 0: in a masked model attn_score_all masks, with each token that it
                      * scores, also the later tokens of the same word */
    const struct attn_value *values; /* [value_count] values that `edits` uses by their names */
    size_t value_count;
};

/* Run the model on the ids; the pass ends after the last requested tensor. Returns 0, or -1 with
 * `error`. A NULL model, ids, request or sink is a usage error (2), so a caller need not check the
 * results of earlier calls. */
int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error);

/* Run several texts in shared passes. This is faster than attn_run for each text, with equal
 * results. `request->source` is an array with a source for each text. The sink is called with the
 * tensors of each pass in the order of layers. */
int attn_run_all(struct attn_model *model, const struct attn_ids *texts, size_t count,
                 const struct attn_request *request, struct attn_error *error);

struct attn_logit {
    size_t position; /* index of the token whose logits are read: the token before the predicted one
                      * or, in masked models, the predicted token itself */
    uint32_t id;
    float weight;
};

/* Run a text, and pass the gradients at the requested tensors to the sink, in the reverse order of
 * the pass. They are gradients of the sum of weight · logit over `logits`. The tensors' own values
 * are not passed. "attention_gradient" is weights times gradient. With "embedding", "token_rows"
 * comes last: the gradients of the scaled rows of the token table; with "source_embedding",
 * "source_token_rows" in the same way. *value is set to the sum, unless `value` is NULL. Returns 0,
 * or -1 with `error`: unsupported (4) for models without logits or with parts that have no
 * gradients, such as mixers, for tensors without a gradient, and for requests that set edits or a
 * kind of attention. */
int attn_gradient(struct attn_model *model, const struct attn_ids *ids,
                  const struct attn_request *request, const struct attn_logit *logits, size_t count,
                  double *value, struct attn_error *error);

/* Write the natural log-probability of each id, given the ids before it, to `logprobs`
 * [ids->count]; NaN for the first id. In a masked model it is the log-probability given all other
 * ids; NaN for special tokens (attn_encode_special) and for all tokens of a text with mask tokens.
 * Returns 0, or -1 with `error`: unsupported (4) for models that predict no token. */
int attn_score(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
               struct attn_error *error);

struct attn_token_score {
    float logprob, entropy; /* in nats; NaN: the token has no such number; a mask token has only an
                             * entropy */
    size_t rank;            /* rank of the token among all tokens: 1 is the most likely; 0: the
                             * token has no score */
};

/* Score several texts. `scores` has an element for each token of all texts, one text after another.
 * The request may have a source for each text, edits, attention, temperature and within_word; NULL:
 * none of these. */
int attn_score_all(struct attn_model *model, const struct attn_ids *texts, size_t count,
                   const struct attn_request *request, struct attn_token_score *scores,
                   struct attn_error *error);

struct attn_generation {
    /* Called with each new token and its bytes, including a space before the word. A result other
     * than 0 ends the text. */
    int (*sink)(void *context, uint32_t id, const char *bytes, size_t size, float logprob);
    void *context;
    size_t tokens;      /* maximum number of new tokens; 0: the number in the config of a model with
                         * an encoder, or else 32 */
    double temperature; /* temperature of sampling; 0: always the most likely token */
    size_t top_k;       /* sample from this number of most likely tokens; 0: from all tokens */
    double top_p;       /* sample from the most likely tokens whose probabilities add up to this; 0:
                         * all tokens */
    size_t beams;       /* number of beams; 1: no beam search; 0: the number in the config of a
                         * model with an encoder, or else 1 */
    uint64_t seed;
    int past_end; /* not 0: continue after the model's end-of-text token */
    int logprobs; /* not 0: compute log-probabilities; 0: they are NaN */
};

/* Continue a text, as attn-cli generate does. If there are no ids the text begins with the model's
 * beginning token; with a source, the result is then the model's output for the source, such as a
 * translation. The request may have the same fields as for attn_score_all. */
int attn_generate(struct attn_model *model, const struct attn_ids *ids,
                  const struct attn_request *request, const struct attn_generation *generation,
                  struct attn_error *error);

/* A cache holds the keys and values of earlier tokens, so a step runs only the new ids. Its queries
 * are the new tokens, its keys are all tokens, and its results equal the results of a run of
 * the whole text, bit for bit. The only exception is MPT, whose biases count keys from the last
 * one: its "masked" scores differ by a constant for each query, and its weights by rounding. After
 * its model is closed, a cache refuses steps. Unsupported (4): models that are not causal or have a
 * source, and texts so long that the rotary embedding changes.
 *
 *     struct attn_cache *cache = attn_cache_open(model, &error);
 *     if (!cache || attn_step(cache, &prompt, &request, &error) ||
 *         attn_step(cache, &one_more, &request, &error)) ...
 *     attn_cache_close(cache);
 *
 * The request of a step may not have a source, edits, attention or temperature, and may not show
 * effective attention. A failed step leaves the cache unchanged. */
struct attn_cache;

struct attn_cache *attn_cache_open(struct attn_model *model, struct attn_error *error);
int attn_step(struct attn_cache *cache, const struct attn_ids *ids,
              const struct attn_request *request, struct attn_error *error);
size_t attn_cache_count(const struct attn_cache *cache); /* number of tokens in the cache */
void attn_cache_close(struct attn_cache *cache);

/* A dictionary of sparse features of a model: a sparse autoencoder or transcoder, named as in
 * attn-cli features --sae: "demo", a folder, "saes:5", "saes,site=mlp_out". It keeps its model in
 * memory, and must be closed separately.
 *
 *     static int print(void *context, size_t token, const struct attn_feature *f, size_t count)
 *     {
 *         for (size_t i = 0; i < count; i++)
 *             printf("token %zu: feature %u, %g\n", token, (unsigned)f[i].id, f[i].activation);
 *         return 0;
 *     }
 *
 *     struct attn_dictionary *dictionary = attn_dictionary_open(model, "demo", &error);
 *     if (!dictionary || attn_features(dictionary, &ids, print, NULL, &error)) ...
 *     attn_dictionary_close(dictionary);
 *
 * attn_features runs the ids, and calls the sink for each token with its active features, in
 * ascending order of their ids. If the sink does not return 0 the call ends. */
struct attn_dictionary;

struct attn_feature {
    uint32_t id;
    float activation;
};

struct attn_dictionary *attn_dictionary_open(struct attn_model *model, const char *name,
                                             struct attn_error *error);
size_t attn_dictionary_count(const struct attn_dictionary *dictionary); /* number of features */
int attn_features(struct attn_dictionary *dictionary, const struct attn_ids *ids,
                  int (*sink)(void *context, size_t token, const struct attn_feature *features,
                              size_t count),
                  void *context, struct attn_error *error);
void attn_dictionary_close(struct attn_dictionary *dictionary);

/* Run a command of attn-cli that reads texts, given as a NULL-terminated list of words, such as
 * {"lens", "Life is short", "--format=csv", NULL}: lens, attribute, patch, heads, compare, steer,
 * examples, features, atlas, run, score, generate, explain, page or tokenize; or help. The sink is
 * called once with what the program would print, as bytes that are not 0-terminated; with --output
 * a file or folder is written. Edits may use `values` by name. The command opens the model that it
 * names; standard input is not read. Exit status 1, such as for a comparison with differences, is
 * not an error. Only one report can run at a time: others are refused with status 2. */
int attn_report(const char *const *words, const struct attn_value *values, size_t value_count,
                int (*sink)(void *context, const char *bytes, size_t size), void *context,
                struct attn_error *error);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
