#include "model/features.h"

/* Kinds that no feature names: those that were added to an enum without one. */
static bool config_has_other(const struct config *c)
{
    return c->kind > MODEL_DECODER || c->rotary.scaling > ROTARY_LONGROPE ||
           c->biases > (BIAS_ALL | BIAS_LOGITS) ||
           config_flags(c) > (LAYER_WINDOW | LAYER_UNROTATED | LAYER_ROTARY_LOCAL);
}

static bool sublayer_has_other(const struct sublayer *s)
{
    return s->kind > SUBLAYER_MLP || s->reads > READS_LAST_INPUT ||
           s->head.norm > HEAD_NORM_WHOLE || s->head.by > HEADS_AS_IS ||
           s->score.bias > BIAS_BUCKETS;
}

#define FIELD_VALUE(field, features) from->field,
#define ARRAY_VALUE(field, features) {0},
#define NO_FEATURE(id, condition, words)
#define FEATURE_WORDS(id, condition, words) words,
#define FEATURE_BIT(id, condition, words) (condition ? HAS(id) : 0) |

_Static_assert(FEATURE_COUNT <= 64, "a feature is a bit of 64");

static const char *const words[] = {ALL_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_WORDS)};

#pragma GCC diagnostic error "-Wmissing-field-initializers"

/* Define a function that does not compile, as its initialiser lacks a value, if the features of a
 * struct lack a field. */
#define COMPLETE(tag, FEATURES)                                                   \
    __attribute__((unused)) static void tag##_is_complete(const struct tag *from) \
    {                                                                             \
        (void)(struct tag){FEATURES(FIELD_VALUE, ARRAY_VALUE, NO_FEATURE)};       \
    }

COMPLETE(config, CONFIG_FEATURES)
COMPLETE(sublayer, SUBLAYER_FEATURES)
COMPLETE(embed_rule, EMBED_FEATURES)
COMPLETE(unembed_rule, UNEMBED_FEATURES)
COMPLETE(head_rule, HEAD_FEATURES)
COMPLETE(score_rule, SCORE_FEATURES)
COMPLETE(mlp_rule, MLP_FEATURES)

const uint64_t pass_features = HAS_OF_DECODERS | HAS(ATTENTION_ALONE) | HAS(ENCODER) |
                               HAS(VALUE_SIZE) | HAS(SINUSOIDS) | HAS(BIDIRECTIONAL) | HAS(CROSS) |
                               HAS(NO_PROJECTIONS) | HAS(NO_OUT_PROJ) | HAS(NO_SHIFT) |
                               HAS(HEAD_NORM_MEAN);

uint64_t sublayer_features(const struct sublayer *s, const struct config *c)
{
    uint64_t features = SUBLAYER_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT) 0;
    if (s->kind == SUBLAYER_MLP)
        return features | MLP_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT) 0;
    return features | HEAD_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT)
                          SCORE_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT) 0;
}

uint64_t config_features(const struct config *c)
{
    const struct stack stack = stack_read(c, PART_SENTENCE);
    const struct embed_rule *e = &stack.embed;
    const struct unembed_rule *u = &stack.unembed;
    uint64_t features = CONFIG_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT)
        EMBED_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT)
            UNEMBED_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_BIT) 0;
    for (size_t i = 0; i < config_layers(c); i++) {
        bool in_encoder = i >= c->n_layer;
        struct sublayer list[SUBLAYERS_MAX];
        size_t count = layer_read(list, c, in_encoder ? PART_SOURCE : PART_SENTENCE,
                                  in_encoder ? i - c->n_layer : i);
        for (size_t k = 0; k < count; k++)
            features |= sublayer_features(&list[k], c);
    }
    return features;
}

int features_refuse(uint64_t supported, uint64_t features, const struct config *config,
                    const char *purpose, struct err *err)
{
    uint64_t others = features & ~supported;
    if (!others)
        return 0;
    return err_unsupported(err, "expected a model %s without %s, found one of type \"%s\"", purpose,
                           words[__builtin_ctzll(others)], config_kind_name(config));
}

int features_expect(uint64_t supported, const struct config *config, const char *purpose,
                    struct err *err)
{
    return features_refuse(supported, config_features(config), config, purpose, err);
}
