#include "model/mechanism.h"

#include <math.h>

#include "model/config.h"

/* Masks, and what is seen through them. */
static int check_sight(const struct mechanism *m, const struct config *config, struct err *err)
{
    if (m->kind == ATTENTION_SPARSE && config_is_cross(config))
        return err_usage(err, "--attention: a pattern is about a text that looks at itself: "
                              "expected dense, linear or blocked:B where attention is \"cross\"");
    if (!m->renormalise)
        return 0;
    if (!config->causal)
        return err_usage(err, "--mask-method renormalise: expected a causal model: this one has "
                              "no future to mask");
    if (m->kind != ATTENTION_DENSE)
        return err_usage(err, "--mask-method renormalise: expected --attention dense beside it: "
                              "its softmax is over all keys");
    return 0;
}

/* Linear attention has no scores to scale and no softmax. */
static int check_linear(const struct mechanism *m, struct err *err)
{
    const char *option = m->scale_method != SCALE_OF_MODEL ? "scale"
                         : m->temperature > 0              ? "temperature"
                         : m->dropout > 0                  ? "dropout"
                                                           : NULL;
    if (m->kind != ATTENTION_LINEAR || !option)
        return 0;
    return err_usage(err,
                     "--%s: expected another --attention than linear beside it: that one takes q "
                     "and k unscaled, and makes no weights",
                     option);
}

int mechanism_check(const struct mechanism *mechanism, const struct config *config, struct err *err)
{
    if (mechanism->without && config->kind == MODEL_ATTENTION)
        return err_usage(err, "--without: expected a model of type \"gpt2\" or \"transformer\": "
                              "bare attention has none of these parts");
    return check_sight(mechanism, config, err) || check_linear(mechanism, err) ? -1 : 0;
}

float mechanism_scale(const struct config *config, size_t layer)
{
    const struct mechanism *m = &config->mechanism;
    float scale = config_scale(config, layer);
    if (m->scale_method == SCALE_SQRT)
        scale = 1.0f / sqrtf((float)config->d_k);
    else if (m->scale_method == SCALE_NUMBER)
        scale = m->scale;
    return m->temperature > 0 ? scale / m->temperature : scale;
}
