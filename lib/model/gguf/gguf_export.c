/* gguf_export.c: a model as a GGUF file: what gguf_config.c and gguf_tensors.c read, the other way
 * round. The keys are read again before anything is written, and have to say the same config. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/stream.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"

struct source {
    const struct safetensors_entry *entry; /* NULL: factors of pairs */
    enum gguf_layout layout;               /* GGUF_SAME: as it lies */
    enum dtype dtype;                      /* in which it is written */
};

struct writing {
    struct gguf gguf;
    const struct model *model;
    const struct gguf_architecture *architecture;
    struct source *sources; /* [gguf.tensor_count] */
    float factors[ROTARY_PAIRS_MAX];
    struct err *err;
};

/* --- keys ------------------------------------------------------------------------------------- */

static int put_size(struct writing *writing, const char *key, size_t size)
{
    char full[GGUF_KEY_BYTES];
    return gguf_put_integer(&writing->gguf, gguf_key(full, writing->architecture, key), size,
                            writing->err);
}

static int put_real(struct writing *writing, const char *key, float number)
{
    char full[GGUF_KEY_BYTES];
    return gguf_put_float(&writing->gguf, gguf_key(full, writing->architecture, key), number,
                          writing->err);
}

static int put_row(struct writing *writing, const struct gguf_config_key *row)
{
    char key[GGUF_KEY_BYTES];
    struct gguf *gguf = &writing->gguf;
    const void *field = (const char *)&writing->model->config + row->offset;
    gguf_key(key, writing->architecture, row->theirs);
    switch (row->kind) {
    case GGUF_KEY_SIZE:
        return gguf_put_integer(gguf, key, *(const size_t *)field, writing->err);
    case GGUF_KEY_FLOAT:
        return gguf_put_float(gguf, key, *(const float *)field, writing->err);
    case GGUF_KEY_DOUBLE:
        return gguf_put_float(gguf, key, (float)*(const double *)field, writing->err);
    case GGUF_KEY_FLAG:
        break;
    }
    return gguf_put_bool(gguf, key, *(const bool *)field, writing->err);
}

/* By how much more slowly each pair turns than it would without scaling, at any length. */
static bool has_factors(const struct rotary *r)
{
    bool alike = memcmp(r->short_factors, r->long_factors, sizeof r->short_factors) == 0;
    return r->scaling == ROTARY_LLAMA3 ||
           (r->scaling == ROTARY_LONGROPE && alike && rotary_amplitude(r) == 1);
}

static int add_source(struct writing *writing, const char *name, const struct source *source,
                      size_t rank, const size_t *shape)
{
    size_t count = writing->gguf.tensor_count;
    writing->sources = arena_grow(&writing->gguf.arena, writing->sources, count,
                                  sizeof *writing->sources, writing->err);
    if (!writing->sources ||
        gguf_add_tensor(&writing->gguf, name, dtype_name(source->dtype), rank, shape, writing->err))
        return -1;
    writing->sources[count] = *source;
    return 0;
}

/* They are the first tensor, so that what reads the keys finds them where it looks. */
static int put_factors(struct writing *writing)
{
    const struct rotary *r = &writing->model->config.rotary;
    size_t pairs = r->components / 2;
    if (pairs > ROTARY_PAIRS_MAX)
        return err_unsupported(writing->err, "a GGUF file: expected at most %d pairs, found %zu",
                               ROTARY_PAIRS_MAX, pairs);
    if (r->scaling == ROTARY_LONGROPE)
        memcpy(writing->factors, r->short_factors, sizeof writing->factors);
    else
        gguf_factors(writing->factors, r);
    if (r->scaling == ROTARY_LLAMA3 && gguf_put_llama3(&writing->gguf, r, writing->err))
        return -1;
    writing->gguf.file = file_borrow((const char *)writing->factors, sizeof writing->factors);
    return add_source(writing, "rope_freqs.weight", &(struct source){.dtype = DTYPE_F32}, 1,
                      &pairs);
}

static int put_rotation(struct writing *writing)
{
    char full[GGUF_KEY_BYTES];
    const struct config *c = &writing->model->config;
    const struct rotary *r = &c->rotary;
    if (put_size(writing, "attention.key_length", c->d_k) ||
        put_size(writing, "attention.value_length", c->d_v) ||
        put_size(writing, "rope.dimension_count", r->components))
        return -1;
    if (has_factors(r))
        return put_factors(writing);
    if (r->scaling == ROTARY_PLAIN)
        return 0;
    if (r->scaling != ROTARY_LINEAR)
        return err_unsupported(writing->err, "a GGUF file: expected no rope_scaling, or one of "
                                             "type linear or llama3, found another");
    gguf_key(full, writing->architecture, "rope.scaling.type");
    if (gguf_put_text(&writing->gguf, full, "linear", writing->err))
        return -1;
    return put_real(writing, "rope.scaling.factor", (float)r->factor);
}

static int put_keys(struct writing *writing)
{
    const struct config *c = &writing->model->config;
    struct gguf *gguf = &writing->gguf;
    if (gguf_put_text(gguf, "general.architecture", writing->architecture->name, writing->err))
        return -1;
    for (const struct gguf_config_key *row = writing->architecture->keys; row->theirs; row++)
        if (put_row(writing, row))
            return -1;
    if (put_size(writing, "vocab_size", c->vocab_size) ||
        (writing->architecture->rotates && put_rotation(writing)))
        return -1;
    const char *const roles[] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"};
    const long long ids[] = {c->bos_id, c->eos_id}; /* beyond: a default that was kept */
    for (size_t i = 0; i < 2; i++)
        if (ids[i] >= 0 && ids[i] < (long long)c->vocab_size &&
            gguf_put_integer(gguf, roles[i], (size_t)ids[i], writing->err))
            return -1;
    return gguf_export_tokenizer(gguf, writing->model, writing->err);
}

/* --- tensors ---------------------------------------------------------------------------------- */

static int add_tensor(struct writing *writing, const struct parameter_info *info)
{
    const char *name = NULL;
    size_t shape[2];
    const struct safetensors_entry *entry = info->entry;
    const struct gguf_tensor_name *row = gguf_rename(
        &name, info->name, false, writing->architecture, &writing->gguf.arena, writing->err);
    if (!row || entry->rank > 2)
        return err_unsupported(writing->err,
                               "a GGUF file of architecture '%s': expected no tensor '%s'",
                               writing->architecture->name, info->name);
    if (!name)
        return -1;
    if (gguf_find(&writing->gguf, name))
        return 0; /* queries, keys and values in one */
    bool anew = gguf_is_laid_out_anew(entry, row->layout, writing->architecture);
    struct source source = {entry, anew ? row->layout : GGUF_SAME, entry->dtype};
    bool is_matrix = entry->rank == 2 && strcmp(row->theirs, "position_embd") != 0;
    if (!is_matrix || entry->dtype == DTYPE_F64)
        source.dtype = DTYPE_F32;
    memcpy(shape, entry->shape, entry->rank * sizeof *shape);
    if (source.layout == GGUF_TRANSPOSED) {
        shape[0] = entry->shape[1];
        shape[1] = entry->shape[0];
    }
    return add_source(writing, name, &source, entry->rank, shape);
}

static int add_tensors(struct writing *writing)
{
    const struct weights *weights = &writing->model->weights;
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (info.entry && add_tensor(writing, &info))
            return -1;
    }
    return 0;
}

/* --- what the keys say ------------------------------------------------------------------------ */

/* All that a pass depends on. */
/* clang-format off */
#define FIELD(name) {#name, offsetof(struct config, name), sizeof(((struct config *)NULL)->name)}
static const struct {
    const char *name;
    size_t offset, size;
} fields[] = {
    FIELD(vocab_size), FIELD(n_positions), FIELD(n_embd), FIELD(n_layer), FIELD(n_head),
    FIELD(n_kv_head), FIELD(d_k), FIELD(d_v), FIELD(n_inner), FIELD(activation), FIELD(biases),
    FIELD(embedding_scale), FIELD(epsilon), FIELD(norm_first), FIELD(final_norm), FIELD(scale),
    FIELD(scale_by_layer), FIELD(tied), FIELD(position_offset), FIELD(embedding_norm), FIELD(rms),
    FIELD(norm_offset), FIELD(norm_shift), FIELD(norm_in), FIELD(norm_out), FIELD(parallel),
    FIELD(shared_norm), FIELD(residual_normed), FIELD(stream_normed), FIELD(gated),
    FIELD(head_norm), FIELD(alibi), FIELD(rotary.components), FIELD(rotary.theta),
    FIELD(rotary.scaling), FIELD(rotary.factor), FIELD(window), FIELD(score_cap), FIELD(logit_cap),
    FIELD(residual_scale), FIELD(logit_divisor), FIELD(layer_flags),
};
#undef FIELD
/* clang-format on */

static int compare_configs(const struct writing *writing, const struct config *found)
{
    struct config expected = writing->model->config;
    bool scaled = has_factors(&expected.rotary); /* said otherwise */
    expected.tied = config_ties(&expected);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        bool scaling = fields[i].offset == offsetof(struct config, rotary.scaling) ||
                       fields[i].offset == offsetof(struct config, rotary.factor);
        if (!(scaled && scaling) &&
            memcmp((const char *)&expected + fields[i].offset,
                   (const char *)found + fields[i].offset, fields[i].size) != 0)
            return err_unsupported(writing->err,
                                   "a GGUF file of architecture '%s': expected the %s that it "
                                   "means, found another in config.json",
                                   writing->architecture->name, fields[i].name);
    }
    return 0;
}

static int check_keys(const struct writing *writing)
{
    struct buf text = {0};
    struct config found;
    int failed = gguf_write_config(&text, &writing->gguf, writing->err) ||
                 config_parse(&found, text.bytes, text.size, writing->err) ||
                 compare_configs(writing, &found);
    buf_release(&text);
    return failed ? -1 : 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The row that stands at each place. */
static size_t *order_of(const struct writing *writing, const struct source *source, size_t rows,
                        struct arena *arena)
{
    const struct config *c = &writing->model->config;
    size_t heads = source->layout == GGUF_KEYS ? c->n_kv_head : c->n_head;
    size_t *order = arena_alloc(arena, rows, sizeof *order, writing->err);
    for (size_t i = 0; order && i < rows; i++)
        order[gguf_stored_row(i, rows, source->layout, heads)] = i;
    return order;
}

static void write_row(struct stream *out, const struct source *source, const char *from,
                      size_t count, float *room)
{
    const struct safetensors_entry *entry = source->entry;
    if (source->dtype == entry->dtype && source->layout != GGUF_PLUS_ONE) {
        stream_bytes(out, from, dtype_bytes(entry->dtype, count));
        return;
    }
    dtype_to_float(room, from, entry->dtype, count);
    for (size_t i = 0; source->layout == GGUF_PLUS_ONE && i < count; i++)
        room[i] += 1.0f;
    stream_bytes(out, room, count * sizeof *room);
}

static void write_columns(struct stream *out, const struct safetensors_entry *entry, char *column)
{
    size_t bytes = dtype_size_bytes(entry->dtype);
    for (size_t i = 0; i < entry->shape[1]; i++) {
        for (size_t j = 0; j < entry->shape[0]; j++)
            memcpy(column + j * bytes,
                   (const char *)entry->data + (j * entry->shape[1] + i) * bytes, bytes);
        stream_bytes(out, column, entry->shape[0] * bytes);
    }
}

static int write_tensor(struct stream *out, const struct writing *writing, size_t index)
{
    const struct source *source = &writing->sources[index];
    const struct safetensors_entry *entry = source->entry;
    const struct gguf_tensor *tensor = &writing->gguf.tensors[index];
    struct arena arena = {0};
    size_t *order = NULL;
    if (!entry) {
        stream_bytes(out, writing->factors, tensor->count * sizeof *writing->factors);
        return 0;
    }
    bool in_heads = source->layout == GGUF_QUERIES || source->layout == GGUF_KEYS ||
                    source->layout == GGUF_THIRDS;
    size_t rows = in_heads || entry->rank == 2 ? entry->shape[0] : 1;
    size_t count = entry->count / rows;
    double *room = arena_room(&arena, num_max(count, rows), sizeof *room, writing->err);
    if (in_heads)
        order = order_of(writing, source, rows, &arena);
    int failed = !room || (in_heads && !order) ? -1 : 0;
    if (!failed && source->layout == GGUF_TRANSPOSED)
        write_columns(out, entry, (char *)room);
    for (size_t i = 0; !failed && source->layout != GGUF_TRANSPOSED && i < rows; i++) {
        size_t number = (order ? order[i] : i) * count;
        write_row(out, source, (const char *)entry->data + dtype_bytes(entry->dtype, number), count,
                  (float *)room);
    }
    arena_release(&arena);
    return failed;
}

static int write_file(struct stream *out, const struct writing *writing,
                      const struct progress_sink *progress)
{
    static const char zeros[GGUF_ALIGNMENT_MAX >> 10] = {0};
    const struct gguf *gguf = &writing->gguf;
    struct buf header = {0};
    int failed = gguf_write_header(&header, gguf, writing->err);
    stream_binary(out);
    if (!failed)
        stream_bytes(out, header.bytes, header.size);
    buf_release(&header);
    for (size_t i = 0; i < gguf->tensor_count && !failed && !out->failure; i++) {
        progress_tell(progress, i, gguf->tensor_count);
        failed = write_tensor(out, writing, i);
        stream_bytes(out, zeros, gguf_gap(gguf, gguf->tensors[i].end));
    }
    return failed;
}

int gguf_export(struct stream *out, const struct model *model, const struct progress_sink *progress,
                struct err *err)
{
    struct writing writing = {.model = model, .err = err};
    const char *type = config_kind_name(&model->config);
    int failed = gguf_architecture_of(&writing.architecture, type, err) || put_keys(&writing) ||
                 add_tensors(&writing) || check_keys(&writing) ||
                 write_file(out, &writing, progress);
    writing.gguf.file = (struct file){0}; /* the factors */
    gguf_release(&writing.gguf);
    return failed ? -1 : 0;
}
