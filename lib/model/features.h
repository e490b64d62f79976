/* features.h: features are properties of a config, or of its description (layer.h), that need
 * special code. The table in features.c has a row for each feature, with the purposes for which
 * this code exists. For any other purpose a model with the feature is refused:
 *
 *     if (features_expect(TO_TRAIN, config, NULL, err)) ...
 *
 *     expected a model to train without a norm of embeddings or ALiBi, found one of type "bloom"
 * */
#pragma once

#include "base/err.h"
#include "model/layer.h"

/* The purpose for which a model is used. NO_PURPOSE supports no feature, so all features of a model
 * are listed for it. */
enum purpose {
    TO_RUN,
    FOR_GRADIENTS,
    FOR_SCORES, /* splitting attention scores into parts of the query's and the key's stream */
    TO_EXPLAIN,
    TO_ATTRIBUTE,
    TO_PATCH,
    FOR_CIRCUITS,
    FOR_WORDS, /* computing circuits of heads from the embedding to the logits */
    TO_TRAIN,
    NO_PURPOSE,
};

/* The words of all features, such as "RMS norms". */
extern const char *const feature_words[];
extern const size_t feature_count;

/* A list of features, each given by its words. */
enum { FEATURES_MAX = 128 };

struct feature_list {
    const char *words[FEATURES_MAX];
    size_t count;
};

/* Add the features that a purpose does not support to a list. features_find: features of a config
 * and all its layers; features_of_sublayer: features of one sublayer. */
void features_find(struct feature_list *list, enum purpose purpose, const struct config *config);
void features_of_sublayer(struct feature_list *list, enum purpose purpose,
                          const struct sublayer *sublayer, const struct config *config);

/* Refuse a config with features that a purpose does not support. `name`: the name of the model,
 * which begins the message, or NULL. */
int features_expect(enum purpose purpose, const struct config *config, const char *name,
                    struct err *err);
