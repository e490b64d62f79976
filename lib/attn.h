/* attn.h: the library behind attn-cli: open a model, encode a text, run it with a sink, close.
 *
 * This is the only installed header; link with `pkg-config --libs attn`. A sink is called with each
 * requested tensor during the pass, and copies what it keeps.
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
 * refused with status 2, except attn_token_text, attn_count, attn_cache_count and closing. Several
 * threads may each use a model at once; results do not depend on the number of threads.
 *
 * Model files are mapped into memory. If a file is truncated while its model is open, calls on the
 * model fail with status 3: "'tiny/model.safetensors' became shorter while it was being read". For
 * this the first attn_open sets a SIGBUS handler until the last model and cache are closed; other
 * faults go to the previous handler. A handler that is set later must call the one it replaced.
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

/* `status` is the exit status of attn-cli: 2 usage; 3 bad input, out of memory, or ended by a sink;
 * 4 unsupported; 5 an output that cannot be written (attn_report). */
struct attn_error {
    int status;
    char text[ATTN_ERROR_BYTES];
};

struct attn_model;

/* Open a model folder, a .gguf file, or a bundled model by name (NULL: the default), with up to 256
 * threads (0: one per processor). Returns NULL with `error` on failure; `error` may be NULL in all
 * calls. Closing NULL does nothing. The memory is freed after the model's last call and cache. */
struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error);
void attn_close(struct attn_model *model);

/* Limit the memory of packed matrices to `bytes` (0: nothing is packed; default: SIZE_MAX). The
 * second call that runs texts, and every later one, packs the matrices that it uses: this saves
 * time, with the same bits. Calls with one token for each text are not counted, and a first call
 * with several texts and many tokens also packs. Packed copies take four bytes for each number (0.6
 * to 1.3 if a file is quantised), and together at most half of the memory that is free at the
 * second run. Other matrices are used as the file has them. Call it before the second run. Returns
 * 0, or -1 with `error`. */
int attn_set_packing(struct attn_model *model, size_t bytes, struct attn_error *error);

/* The ids of a text's tokens, and their bytes [starts, ends). No call reads the `starts`, `ends`
 * and `words` that it is given. */
struct attn_ids {
    uint32_t *ids; /* [count] */
    size_t *starts, *ends;
    size_t count;
    size_t *words; /* [count] index of the word of each token, as in attn-cli score --words;
                    * SIZE_MAX: a special token that was added */
    unsigned char *segments; /* [count] token types, for a pair of texts; NULL: all 0 */
    unsigned char *joins;    /* [count] 1: the token belongs to the same word or punctuation mark as
                              * the token before; read with `within_word` */
};

/* Tokenize a text of any length with the model's own tokenizer, without special tokens. Returns 0,
 * and `ids` to be freed; or -1 with `error`. A NULL text is empty. */
int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error);

/* Tokenize a text, or a pair of texts (`pair` NULL: one), with the special tokens that attn-cli
 * adds: as the tokenizer's own program does, [CLS] A [SEP] B [SEP] for BERT, and the start token
 * of a model with an encoder. Offsets of a pair count in the token's own text. Free the
 * ids with attn_ids_free. */
int attn_encode_special(struct attn_model *model, const char *text, size_t size, const char *pair,
                        size_t pair_size, struct attn_ids *ids, struct attn_error *error);

/* attn_encode_special for a source of a model with an encoder, which may have another tokenizer. */
int attn_encode_source(struct attn_model *model, const char *text, size_t size,
                       struct attn_ids *ids, struct attn_error *error);
void attn_ids_free(struct attn_ids *ids);

/* The bytes of a token, including a blank before it, not 0-terminated, valid as long as the model.
 * NULL with a size of 0 if the id is unknown or the model has no tokenizer. `size` may be NULL. */
const char *attn_token_text(const struct attn_model *model, uint32_t id, size_t *size);

/* Sizes of a model; if the encoder has other sizes than the decoder, the decoder's sizes. All are 0
 * for a NULL model. */
struct attn_counts {
    size_t layers, encoder_layers;
    size_t heads, kv_heads;              /* head h uses key/value head h / (heads / kv_heads) */
    size_t channels, hidden_channels;    /* channels of the residual stream, and of the MLP */
    size_t key_channels, value_channels; /* channels of keys and of values in one head */
    size_t vocabulary;
    size_t positions;  /* the most tokens of a text; 0: any number */
    size_t begin;      /* id of the token that begins texts, or that starts the decoder of a model
                        * with an encoder; SIZE_MAX: none */
    size_t adds_begin; /* 1: attn_encode_special begins each text with `begin` */
    size_t mask;       /* id that hides a token from a masked model; SIZE_MAX: the model is not
                        * masked */
};

struct attn_counts attn_count(const struct attn_model *model);

/* A tensor, valid until the sink or function returns. Element (i, j, k) is
 * data[i · stride[0] + j · stride[1] + k · stride[2]]. */
struct attn_tensor {
    const char *name; /* "h.0.weights", "enc.0.weights", "logits" */
    int layer;        /* index of the layer; -1: none */
    const float *data;
    size_t rank;
    size_t shape[ATTN_AXES_MAX];
    size_t stride[ATTN_AXES_MAX];
    const char *axes[ATTN_AXES_MAX]; /* "head", "kv_head", "copy", "query", "key", "token",
                                      * "channel", "expert", "dim", "key_dim" or "word" */
    const size_t *heads; /* [shape[0]] numbers of the heads or kv_heads on the first axis; NULL: no
                          * such axis, a weight of the model, or several heads given to an
                          * attn_value */
    size_t text;         /* index of the tensor's text in attn_run_all */
    size_t first[ATTN_AXES_MAX]; /* for an attn_value: the index of the first element on
                                  * each axis */
};

/* Give a weight of the model as float32 to the sink: "W_E" [word, channel], "W_pos", "W_U"
 * [channel, word], "b_U", "ln_f.w", "ln_f.b"; of a layer "h.3.W_Q" [head, channel, dim], W_K, W_V
 * (kv_head for head), W_O [head, dim, channel], W_gate, W_in [channel, dim], W_out [dim, channel],
 * b_Q, b_K, b_V, b_O, b_in, b_out, "h.3.ln_1.w" and .b, ln_2; "h.3.cross_W_Q" of cross-attention,
 * "enc.3.W_Q" of an encoder; or by TransformerLens' names, "blocks.3.attn.W_Q". They are as in the
 * files: no norm is folded into them. */
int attn_weight(struct attn_model *model, const char *name,
                int (*sink)(void *context, const struct attn_tensor *weight), void *context,
                struct attn_error *error);

/* A value that edits use by its name: an array or a function. In "h.1.resid_post + 2*mood", `mood`
 * is an array of finite numbers with the axes [channels], [tokens, channels] or [heads, tokens,
 * channels]. In "h.1.resid_post = steer", `steer` may be a function that changes `values`, the data
 * of the tensor. It is called once for each text and layer of a pass; with positions
 * ("h.1.context[head=3] = steer"), once for each range of them; for scores, masked scores, weights
 * and the like, once for each head and query, with the visible keys, from several threads at once.
 * In a step of attn_generate the tensor has only the new tokens. attn_report also calls the
 * function from other threads. */
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
    const char *layers; /* "0,3-5", "-1" or "all"; NULL: all */
    const char *heads;  /* as `layers`, for query heads; also selects the keys and values of these
                         * heads */
    int (*sink)(void *context, const struct attn_tensor *tensor); /* not 0: end the pass */
    void *context;                                                /* passed to the sink; may
                                                                   * be NULL */
    const struct attn_ids *source; /* the source of a model with cross-attention or an encoder; else
                                    * NULL */
    const char *edits;             /* as in attn-cli run --edit, separated by `;`, with numbers and
                                    * files only: "h.0.context[head=1] = 0", "v[kv_head=0] = 0",
                                    * or `values`; NULL: none */
    const char *attention; /* as in attn-cli run --attention: "window:4"; NULL: the model's */
    float temperature;     /* scores are divided by it; 0: they are not divided */
    int within_word; /* not 0: in a masked model, attn_score_all also masks the later tokens of the
                      * word of the token that it scores */
    const struct attn_value *values; /* [value_count] values that `edits` uses by their names */
    size_t value_count;
};

/* Run the model on the ids, as far as the last requested tensor. Returns 0, or -1 with `error`. A
 * NULL model, ids, request or sink is a usage error (2), so that earlier failures need no check. */
int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error);

/* Run several texts in shared passes, which takes less time and gives the same bits.
 * `request->source` has a source for each text. The sink gets the tensors of a pass in the order of
 * layers. */
int attn_run_all(struct attn_model *model, const struct attn_ids *texts, size_t count,
                 const struct attn_request *request, struct attn_error *error);

struct attn_logit {
    size_t position; /* index of the token before the token of the logit (in masked models, of that
                      * token itself) */
    uint32_t id;
    float weight;
};

/* Run a text, and give the sink the gradients of a sum of logits, each times its weight, at the
 * requested tensors, not their values, in the reverse order of the pass. "attention_gradient" is
 * weights times gradient. With "embedding", "token_rows" comes last: the gradients of the scaled
 * rows of the token table; with "source_embedding", "source_token_rows" in the same way. `value`,
 * or NULL, gets the sum. Returns 0, or -1 with `error`: unsupported (4) for models without logits,
 * and for requests with edits or an attention. */
int attn_gradient(struct attn_model *model, const struct attn_ids *ids,
                  const struct attn_request *request, const struct attn_logit *logits, size_t count,
                  double *value, struct attn_error *error);

/* Write the natural log-probability of each id after the ids before it, NaN for the first, to
 * `logprobs`, which has room for ids->count numbers. In a masked model: of each id, given all other
 * ids, NaN for special tokens (attn_encode_special), and for all tokens of a text that has mask
 * tokens. Returns 0, or -1 with `error`: unsupported (4) for models that predict no token. */
int attn_score(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
               struct attn_error *error);

struct attn_token_score {
    float logprob, entropy; /* in nats; NaN: none */
    size_t rank;            /* rank of the token, from 1, the most likely; 0: none */
};

/* Score several texts, whose tokens follow one another in `scores`. The request may have a source
 * for each text, edits, attention, temperature and within_word; NULL: none of these. */
int attn_score_all(struct attn_model *model, const struct attn_ids *texts, size_t count,
                   const struct attn_request *request, struct attn_token_score *scores,
                   struct attn_error *error);

struct attn_generation {
    /* Gets each new token and its bytes, including a blank before it. Not 0: end the text. */
    int (*sink)(void *context, uint32_t id, const char *bytes, size_t size, float logprob);
    void *context;
    size_t tokens;      /* the most new tokens; 0: as a model with an encoder says, else 32 */
    double temperature; /* temperature of sampling; 0: always the most likely token */
    size_t top_k;       /* sample from so many of the most likely tokens; 0: all */
    double top_p;       /* sample from the most likely tokens with this total probability; 0: all */
    size_t beams;       /* beams of beam search; 1: no beam search; 0: as a model with an encoder
                         * says, else 1 */
    uint64_t seed;
    int past_end; /* not 0: continue after the model's end-of-text token */
    int logprobs; /* not 0: compute log-probabilities, else they are NaN */
};

/* Continue a text, as attn-cli generate does. Without ids the text begins with the model's
 * beginning token; with a source this gives the model's own translation. The request may have the
 * same fields as for attn_score_all. */
int attn_generate(struct attn_model *model, const struct attn_ids *ids,
                  const struct attn_request *request, const struct attn_generation *generation,
                  struct attn_error *error);

/* A cache holds the keys and values of earlier tokens, so a step runs only the new ids: its queries
 * are the new tokens, its keys are all tokens, and its numbers equal the numbers of one run of the
 * whole text, bit for bit. Only MPT, whose biases count keys from the last one, has "masked" scores
 * that differ by a constant for each query, so weights differ by rounding. After its model is
 * closed, a cache refuses steps. Unsupported (4): models that are not causal or have a source, and
 * texts so long that the rotary embedding changes.
 *
 *     struct attn_cache *cache = attn_cache_open(model, &error);
 *     if (!cache || attn_step(cache, &prompt, &request, &error) ||
 *         attn_step(cache, &one_more, &request, &error)) ...
 *     attn_cache_close(cache);
 *
 * The request of a step has no source, edits, attention or temperature, and shows no effective
 * attention. A failed step leaves the cache unchanged. */
struct attn_cache;

struct attn_cache *attn_cache_open(struct attn_model *model, struct attn_error *error);
int attn_step(struct attn_cache *cache, const struct attn_ids *ids,
              const struct attn_request *request, struct attn_error *error);
size_t attn_cache_count(const struct attn_cache *cache); /* number of tokens in the cache */
void attn_cache_close(struct attn_cache *cache);

/* A dictionary of sparse features of a model: a sparse autoencoder or transcoder, by its name as in
 * attn-cli features --sae: "demo", a folder, "saes:5", "saes,site=mlp_out". It needs its model, and
 * is closed on its own.
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
 * attn_features runs the ids and calls the sink with the active features of each token, by their
 * numbers in rising order; if the sink does not return 0, the call ends. */
struct attn_dictionary;

struct attn_feature {
    uint32_t id;
    float activation;
};

struct attn_dictionary *attn_dictionary_open(struct attn_model *model, const char *name,
                                             struct attn_error *error);
size_t attn_dictionary_count(const struct attn_dictionary *dictionary); /* number of its features */
int attn_features(struct attn_dictionary *dictionary, const struct attn_ids *ids,
                  int (*sink)(void *context, size_t token, const struct attn_feature *features,
                              size_t count),
                  void *context, struct attn_error *error);
void attn_dictionary_close(struct attn_dictionary *dictionary);

/* Run a command line of attn-cli that reads texts, such as {"lens", "Life is short",
 * "--format=csv", NULL}: lens, attribute, patch, heads, compare, steer, examples, run, score,
 * generate, explain, page or tokenize; or help. What the program would print goes to the sink,
 * once, as bytes that are not 0-terminated; --output writes a file. --edit also knows the values.
 * The command opens the model that it names; standard input is not read. A result of 1, such as
 * that of a comparison, is no error. One report at a time: others are refused with status 2. */
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
