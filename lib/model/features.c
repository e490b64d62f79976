#include "model/features.h"

#include "model/layer.h"

/* Kinds that no feature names: those that were added to an enum without one. */
static bool config_has_other(const struct config *c)
{
    return c->kind > MODEL_DECODER || c->style > STYLE_TO_NORMED ||
           c->head_norm > HEAD_NORM_WHOLE || c->alibi > ALIBI_FALCON ||
           c->rotary.scaling > ROTARY_LONGROPE || c->biases > (BIAS_ALL | BIAS_LOGITS) ||
           config_flags(c) > (LAYER_WINDOW | LAYER_UNROTATED | LAYER_LOCAL_TURN);
}

#define FIELD_VALUE(field, features) c->field,
#define ARRAY_VALUE(field, features) {0},
#define NO_FEATURE(id, condition, words)
#define FEATURE_WORDS(id, condition, words) words,
#define FEATURE_BIT(id, condition, words) (condition ? HAS(id) : 0) |

_Static_assert(FEATURE_COUNT <= 64, "a feature is a bit of 64");

static const char *const words[] = {CONFIG_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_WORDS)};

#pragma GCC diagnostic error "-Wmissing-field-initializers"

uint64_t config_features(const struct config *c)
{
    /* has an initialiser too few, and does not compile, if CONFIG_FEATURES lacks a field */
    (void)(struct config){CONFIG_FEATURES(FIELD_VALUE, ARRAY_VALUE, NO_FEATURE)};
    return CONFIG_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT) 0;
}

int features_expect(uint64_t supported, const struct config *config, const char *purpose,
                    struct err *err)
{
    uint64_t others = config_features(config) & ~supported;
    if (!others)
        return 0;
    return err_unsupported(err, "expected a model %s without %s, found one of type \"%s\"", purpose,
                           words[__builtin_ctzll(others)], config_kind_name(config));
}
