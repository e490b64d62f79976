#include "model/weights_load.h"

#include "model/family/family.h"

int weights_load(struct weights *weights, enum parameter_id id, size_t layer, const float **data,
                 struct err *err)
{
    struct parameter *parameter = parameter_at(weights, id, layer);
    const struct safetensors_entry *entry = parameter->found.entry;
    if (entry && !parameter->data)
        parameter->data = safetensors_floats(entry);
    if (entry && !parameter->data) {
        float *copy = arena_alloc(&weights->arena, entry->count, sizeof *copy, err);
        if (!copy)
            return -1;
        dtype_to_float(copy, entry->data, entry->dtype, entry->count);
        parameter->data = copy;
    }
    *data = parameter->data;
    return 0;
}

int weights_load_norm(struct weights *weights, enum parameter_id scale, size_t layer,
                      struct norm *norm, struct err *err)
{
    norm->epsilon = weights->config->epsilon;
    norm->rms = weights->config->rms;
    norm->offset = weights->config->norm_offset ? 1.0f : 0.0f;
    if (weights_load(weights, scale, layer, &norm->scale, err))
        return -1;
    return weights_load(weights, scale + 1, layer, &norm->shift, err);
}

/* Without memory for its panels a matrix is used as it is. */
static void pack(struct weights *weights, struct parameter *parameter, struct weight *weight)
{
    size_t bytes = panels_size(weight) * sizeof(float);
    if (!parameter->panels && bytes <= weights->packing_bytes) {
        float *panels = arena_room(&weights->arena, bytes, 1, NULL);
        if (panels) {
            panels_fill(panels, weight);
            weights->packing_bytes -= bytes;
        }
        parameter->panels = panels;
    }
    weight->panels = parameter->panels;
}

static int round_numbers(struct weights *weights, struct parameter *parameter, struct err *err)
{
    if (!parameter->halves)
        parameter->halves = weights_bf16_numbers(parameter->found.entry, &weights->arena, err);
    return parameter->halves ? 0 : -1;
}

/* Round a matrix to bf16, once: as one, or as `parts` of the same size that stand side by side. */
static int round_matrix(struct weights *weights, struct parameter *parameter, struct weight *weight,
                        size_t parts, struct err *err)
{
    struct weight part = {.in = weight->in, .out = weight->out / parts};
    const struct safetensors_entry *entry = parameter->found.entry;
    weight->rounded = true;
    if (!entry)
        return 0;
    if (weights->widens) {
        int failed = round_numbers(weights, parameter, err);
        weight->halves = parameter->halves;
        return failed;
    }
    if (!parameter->pairs)
        parameter->pairs = weights_bf16_matrix(entry, &part, &weights->arena, err);
    weight->pairs = parameter->pairs;
    return weight->pairs ? 0 : -1;
}

/* Rows of a tensor as pairs, or as numbers. */
static int round_rows(struct weights *weights, struct parameter *parameter, struct weight *weight,
                      const struct row_view *view, struct err *err)
{
    weight->rounded = true;
    if (weights->widens) {
        int failed = round_numbers(weights, parameter, err);
        weight->rows =
            (struct weight_rows){.data = parameter->halves, .bytes = BF16_BYTES, .view = *view};
        return failed;
    }
    if (!parameter->pairs)
        parameter->pairs =
            weights_bf16_rows(parameter->found.entry, view, weight, &weights->arena, err);
    weight->pairs = parameter->pairs;
    return weight->pairs ? 0 : -1;
}

int weights_load_rows(struct weights *weights, enum parameter_id id, size_t layer,
                      struct weight *weight, const struct row_view *view, bool packing,
                      struct err *err)
{
    struct parameter *parameter = parameter_at(weights, id, layer);
    const struct safetensors_entry *entry = parameter->found.entry;
    const float *converted = NULL;
    if (weights->precision == PRECISION_BF16)
        return round_rows(weights, parameter, weight, view, err);
    bool quantised = dtype_is_quantised(entry->dtype);
    weight->rows = (struct weight_rows){.data = entry->data,
                                        .bytes = quantised ? 0 : dtype_size_bytes(entry->dtype),
                                        .quantised = entry->dtype,
                                        .view = *view};
    bool widened = quantised || entry->dtype == DTYPE_BF16;
    if (!widened && entry->dtype != DTYPE_F32) {
        if (weights_load(weights, id, layer, &converted, err))
            return -1;
        weight->rows.data = (const char *)converted;
        weight->rows.bytes = sizeof *converted;
    }
    if (packing && (!widened || weights->packing_widened))
        pack(weights, parameter, weight);
    return 0;
}

/* The view's numbers of a bias, in place if they are float32, otherwise converted. */
static int load_bias(struct weights *weights, struct parameter *bias, const struct row_view *view,
                     struct weight *weight, struct err *err)
{
    const struct safetensors_entry *entry = bias->found.entry;
    if (entry && !bias->data && !view->stride && safetensors_floats(entry))
        bias->data = safetensors_floats(entry) + view->first;
    if (entry && !bias->data) {
        float *copy = arena_room(&weights->arena, weight->out, sizeof *copy, err);
        if (!copy)
            return -1;
        for (size_t i = 0; i < weight->out; i++) {
            const char *from = entry->data;
            from += row_view_at(view, i) * dtype_size_bytes(entry->dtype);
            dtype_to_float(&copy[i], from, entry->dtype, 1);
        }
        bias->data = copy;
    }
    weight->bias = bias->data;
    return 0;
}

int weights_load_matrix(struct weights *weights, enum parameter_id matrix, size_t layer,
                        struct weight *weight, size_t parts, struct err *err)
{
    size_t shape[2];
    const struct config *config = weights->config;
    struct parameter *parameter = parameter_at(weights, matrix, layer);
    parameter_shape(shape, matrix, config);
    weight->in = shape[0];
    weight->out = weight->stride = shape[1];
    if (config->family) {
        struct row_view view = family_view(matrix, config);
        if (load_bias(weights, parameter_at(weights, matrix + 1, layer), &view, weight, err))
            return -1;
        return weights_load_rows(weights, matrix, layer, weight, &view, weights->packing, err);
    }
    if (weights_load(weights, matrix + 1, layer, &weight->bias, err))
        return -1;
    if (weights->precision == PRECISION_BF16)
        return round_matrix(weights, parameter, weight, parts, err);
    bool widened = parameter->found.entry && parameter->found.entry->dtype == DTYPE_BF16;
    if (widened)
        weight->halves = parameter->found.entry->data;
    else if (weights_load(weights, matrix, layer, &weight->data, err))
        return -1;
    if (weights->packing && (!widened || weights->packing_widened))
        pack(weights, parameter, weight);
    return 0;
}
