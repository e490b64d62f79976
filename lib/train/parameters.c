#include "train/parameters.h"

struct parameters parameters_of(const struct new_model *new_model)
{
    const struct new_model_tensor *last = &new_model->tensors[new_model->count - 1];
    float *first = new_model->tensors[0].data;
    return (struct parameters){new_model, first, (size_t)(last->data - first) + last->count};
}

int parameters_take(struct parameters *parameters, const struct new_model *new_model,
                    struct arena *arena, struct err *err)
{
    *parameters = parameters_of(new_model);
    parameters->values = arena_alloc(arena, parameters->count, sizeof(float), err);
    return parameters->values ? 0 : -1;
}

float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor)
{
    return parameters->values + (tensor->data - parameters->new_model->tensors[0].data);
}

float *parameter_at(const struct parameters *parameters, enum parameter_id id, size_t layer)
{
    const struct new_model_tensor *tensor = new_model_tensor(parameters->new_model, id, layer);
    return tensor ? parameter_of(parameters, tensor) : NULL;
}

struct weight parameter_weight(const struct parameters *parameters, enum parameter_id id,
                               size_t layer)
{
    const struct new_model_tensor *tensor = new_model_tensor(parameters->new_model, id, layer);
    return (struct weight){
        .data = parameter_of(parameters, tensor),
        .bias = parameter_at(parameters, id + 1, layer),
        .in = tensor->shape[0],
        .out = tensor->shape[1],
        .stride = tensor->shape[1],
    };
}

struct norm parameter_norm(const struct parameters *parameters, enum parameter_id id, size_t layer)
{
    return (struct norm){
        .scale = parameter_at(parameters, id, layer),
        .shift = parameter_at(parameters, id + 1, layer),
        .epsilon = parameters->new_model->config.epsilon,
    };
}
