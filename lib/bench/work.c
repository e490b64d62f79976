#include "bench/benchmark.h"

#include <stdint.h>

#include "model/pattern.h"

/* The elements of all weight matrices, biases and norms aside; with an encoder, the layers of the
 * decoder have two attentions. */
static double all_weights(const struct config *c)
{
    double layers = (double)c->n_layer;
    double encoder = (double)c->n_encoder_layer;
    double channels = (double)c->n_embd;
    double matrices = c->kind == MODEL_ATTENTION ? 0 : c->gated ? 3 : 2;
    double mlp = matrices * channels * (double)c->n_inner;
    double columns = (double)(c->n_head * c->d_k + c->n_kv_head * (c->d_k + c->d_v));
    double attention = c->projections ? channels * columns : 0;
    attention += c->out_proj ? (double)(c->n_head * c->d_v) * channels : 0;
    return (c->n_encoder_layer ? 2 * layers + encoder : layers) * attention +
           (layers + encoder) * mlp;
}

/* Pairs of a query and a key that it sees, in one text. */
static double visible_pairs(const struct config *c, const struct pass_size *size)
{
    double tokens = (double)size->tokens;
    double cached = (double)size->cached;
    return c->causal ? tokens * cached + tokens * (tokens + 1) / 2 : tokens * (cached + tokens);
}

/* The same in all its layers. Only in a sentence is anything masked. */
static double all_pairs(const struct config *c, const struct pass_size *size)
{
    double layers = (double)c->n_layer;
    double whole = (double)size->tokens * (double)(size->cached + size->tokens);
    double of_source = c->n_encoder_layer ? (layers + (double)c->n_encoder_layer) * whole : 0;
    return layers * visible_pairs(c, size) + of_source;
}

struct work work_of_pass(const struct config *c, const struct pass_size *size, size_t weight_bytes,
                         enum precision precision)
{
    double layers = (double)c->n_layer;
    double texts = (double)size->texts;
    double rows = texts * (double)size->tokens;
    double weights = all_weights(c);
    double unembedding = size->logits ? (double)c->vocab_size * (double)c->n_embd : 0;
    double head_pairs = (double)c->n_head * texts * all_pairs(c, size);
    double cached =
        layers * texts * (double)size->cached * (double)(c->n_kv_head * (c->d_k + c->d_v));
    size_t bytes = precision == PRECISION_BF16 ? sizeof(uint16_t) : sizeof(float);
    size_t bytes_of_logits = size->likeliest ? sizeof(int8_t) : weight_bytes;
    return (struct work){
        .operations = 2 * rows * weights + 2 * texts * unembedding +
                      2 * head_pairs * (double)(c->d_k + c->d_v),
        .bytes = weights * (double)weight_bytes + cached * (double)bytes +
                 unembedding * (double)bytes_of_logits,
    };
}

/* Pairs that a pattern and a window, 0: none, let see each other: query by query. */
static int pattern_pairs(double *pairs, const struct config *c, size_t window, size_t tokens,
                         struct err *err)
{
    const struct pattern *pattern = &c->mechanism.pattern;
    struct arena arena = {0};
    size_t most = pattern_singles(pattern, tokens, window);
    uint32_t *singles = arena_alloc(&arena, most, sizeof *singles, err);
    size_t random = pattern->random < tokens ? pattern->random : tokens;
    uint32_t *drawn = arena_alloc(&arena, random + 1, sizeof *drawn, err);
    uint64_t *words = arena_alloc(&arena, bitset_words(tokens), sizeof *words, err);
    struct bitset set = bitset_of(words, tokens);
    bool taken = singles && drawn && words;
    *pairs = 0;
    for (size_t query = 0; taken && query < tokens; query++) {
        struct view view = {.query = query, .visible = c->causal ? query + 1 : tokens};
        struct sight sight;
        view.first = window && query >= window ? query + 1 - window : 0;
        if (pattern->random) {
            view.drawn = drawn;
            view.drawn_count = pattern_draw(pattern, &view, &set, drawn);
        }
        pattern_look(&sight, pattern, &view, singles);
        *pairs += (double)(sight.low + sight.end - sight.first + sight.single_count);
    }
    arena_release(&arena);
    return taken ? 0 : -1;
}

/* The same of a layer, on the average; all pairs, unless there is a pattern. */
static int layer_pairs(double *pairs, const struct config *c, size_t tokens, struct err *err)
{
    double windowed = 0;
    double cut = tokens > c->window ? (double)(tokens - c->window) : 0;
    double within = *pairs - cut * (cut + 1) / 2;
    bool sparse = c->mechanism.kind == ATTENTION_SPARSE;
    for (size_t layer = 0; layer < c->n_layer; layer++)
        windowed += config_window(c, layer) > 0;
    if (sparse && (pattern_pairs(pairs, c, 0, tokens, err) ||
                   (windowed > 0 && pattern_pairs(&within, c, c->window, tokens, err))))
        return -1;
    *pairs += windowed * (within - *pairs) / (double)c->n_layer;
    return 0;
}

int work_of_attention(double *products, const struct config *c, size_t tokens, struct err *err)
{
    struct pass_size size = {.texts = 1, .tokens = tokens};
    double heads = (double)(c->n_layer * c->n_head);
    double pairs = visible_pairs(c, &size);
    double of_pair = (double)(c->d_k + c->d_v);
    if (c->mechanism.kind == ATTENTION_LINEAR) {
        pairs = 2 * (double)tokens;
        of_pair = (double)(c->d_k * c->d_v);
    } else if (layer_pairs(&pairs, c, tokens, err)) {
        return -1;
    }
    *products = heads * pairs * of_pair;
    return 0;
}
