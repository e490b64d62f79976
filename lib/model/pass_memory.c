#include "model/pass.h"

#include <string.h>

#include "base/num.h"

/* A token matrix of the scratch. */
struct buffer {
    struct matrix *matrix;
    size_t rows, columns;
    size_t spare_rows;
};

static int take_matrix(struct pass *pass, const struct buffer *buffer, size_t stride)
{
    size_t padded = 0;
    size_t count = 0;
    if (!num_add(&padded, buffer->rows, buffer->spare_rows) ||
        !num_multiply(&count, padded, stride))
        return err_memory(pass->err, (size_t)-1);
    float *data = arena_room(pass->arena, count, sizeof *data, pass->err);
    if (!data)
        return -1;
    memset(data + buffer->rows * stride, 0, buffer->spare_rows * stride * sizeof *data);
    *buffer->matrix = (struct matrix){data, buffer->rows, buffer->columns, stride};
    return 0;
}

enum { BUFFERS_MAX = 12 };

/* Those of the keys. */
static size_t list_keys(struct buffer list[2], struct scratch *s, const struct config *c,
                        size_t keys)
{
    if (!c->projections)
        return 0;
    list[0] = (struct buffer){&s->k, keys, c->n_kv_head * c->d_k, 0};
    list[1] = (struct buffer){&s->v, keys, c->n_kv_head * c->d_v, SPARE_ROWS};
    return 2;
}

/* The matrices of a pass over so many rows that look at so many keys, that of the embedding first:
 * without layers it is the only one. */
static size_t list_buffers(struct buffer list[BUFFERS_MAX], struct scratch *s,
                           const struct config *c, size_t rows, size_t keys)
{
    size_t count = 0;
    size_t spare = c->projections ? 0 : SPARE_ROWS; /* else it is queries and values itself */
    list[count++] = (struct buffer){&s->x, rows, c->n_embd, spare};
    list[count++] = (struct buffer){&s->out, rows, c->d_out ? c->d_out : c->n_embd, 0};
    if (c->projections)
        list[count++] = (struct buffer){&s->q, rows, c->n_head * c->d_k, SPARE_ROWS};
    count += list_keys(list + count, s, c, keys);
    list[count++] = (struct buffer){&s->context, rows, c->n_head * c->d_v, 0};
    if (c->kind != MODEL_ATTENTION) {
        list[count++] = (struct buffer){&s->norm, rows, c->n_embd, 0};
        list[count++] = (struct buffer){&s->hidden, rows, c->n_inner, 0};
    }
    if (c->gated)
        list[count++] = (struct buffer){&s->up, rows, c->n_inner, 0};
    if (config_rotates(c))
        list[count++] = (struct buffer){&s->waves, rows, c->rotary.components, 0};
    if (c->rotary_local.components)
        list[count++] = (struct buffer){&s->local, rows, c->rotary_local.components, 0};
    if (c->kind == MODEL_GPT2)
        list[count++] = (struct buffer){&s->joined, 1, 3 * c->n_embd, 0};
    return count;
}

static size_t bytes_of(const struct buffer *list, size_t count)
{
    size_t floats = 0;
    for (size_t i = 0; i < count; i++)
        floats += (list[i].rows + list[i].spare_rows) * matrix_stride(list[i].columns);
    return floats * sizeof(float);
}

size_t pass_memory_bytes(const struct config *config, size_t tokens)
{
    struct scratch none;
    struct buffer list[BUFFERS_MAX];
    size_t count = list_buffers(list, &none, config, tokens, tokens);
    size_t bytes = bytes_of(list, count);
    if (config->n_encoder_layer) /* its own pass; and what the decoder makes of its output */
        return 2 * bytes + bytes_of(list, list_keys(list, &none, config, tokens));
    return bytes + (config->cross ? bytes_of(list, 1) : 0);
}

static int take_buffers(struct pass *pass, const struct buffer *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (take_matrix(pass, &list[i], matrix_stride(list[i].columns)))
            return -1;
    return 0;
}

int pass_memory_take(struct pass *pass, bool stream_alone)
{
    const struct batch *batch = pass->batch;
    struct buffer list[BUFFERS_MAX];
    size_t count =
        list_buffers(list, &pass->scratch, pass->config, batch->tokens, batch->key_tokens);
    return take_buffers(pass, list, stream_alone ? 1 : count);
}

int pass_memory_take_keys(struct pass *pass)
{
    struct buffer list[2];
    size_t count = list_keys(list, &pass->scratch, pass->config, pass->batch->key_tokens);
    return take_buffers(pass, list, count);
}

size_t pass_memory_logits_bytes(const struct config *config, size_t tokens)
{
    return tokens * config->vocab_size * sizeof(float);
}

int pass_memory_take_logits(struct pass *pass)
{
    const struct batch *batch = pass->batch;
    struct matrix *logits = &pass->scratch.logits;
    size_t words = pass->config->vocab_size;
    size_t tokens = pass->tap->watch->last_logits ? batch->count : batch->tokens;
    if (pass->part != PART_SENTENCE || !pass_watches(pass, SITE_LOGITS, 0))
        return 0;
    return take_matrix(pass, &(struct buffer){logits, tokens, words, 0}, words);
}
