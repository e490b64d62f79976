/* class_heads.c: the known classifiers, recognised by the names of their tensors. */
#include "base/names.h"
#include "model/family/family.h"

/* clang-format off */
#define CLASSES(name) {name, {SLOT_UNEMBED}}
#define DENSE(name) {name, {SLOT_TRANSFORM}}

const struct classifier classifiers[] = {
    {NULL, {CLASSES("classification_head.out_proj"), DENSE("classification_head.dense")},
     ACTIVATION_TANH, ANSWER_OF_LAST},
    {"electra", {CLASSES("classifier.out_proj"), DENSE("classifier.dense")}, ACTIVATION_GELU,
     .sequences = " electra "},
    {"electra", {CLASSES("classifier"), DENSE("sequence_summary.summary")}},
    {NULL, {CLASSES("classifier.out_proj"), DENSE("classifier.dense")}, ACTIVATION_TANH,
     .sequences = " roberta xlm-roberta camembert mpnet esm "},
    {NULL, {CLASSES("classifier"), DENSE("pre_classifier")}, ACTIVATION_RELU,
     .sequences = " distilbert "},
    {"deberta-v2", {CLASSES("classifier"), DENSE("pooler.dense")}, .sequences = " deberta-v2 "},
    {"albert", {CLASSES("classifier"), DENSE("pooler")}, ACTIVATION_TANH, .prefixed = true,
     .sequences = " albert "},
    {NULL, {CLASSES("classifier"), DENSE("pooler.dense")}, ACTIVATION_TANH, .prefixed = true,
     .sequences = " bert "},
    {"modernbert", {CLASSES("classifier"), DENSE("head.dense")}, .normed = true,
     .sequences = " modernbert "},
    {"modernbert", {CLASSES("qa_outputs"), DENSE("head.dense")}, ACTIVATION_NONE,
     ANSWER_OF_EACH, .normed = true},
    {NULL, {CLASSES("classifier")}, .answers = ANSWER_OF_EACH},
    {NULL, {CLASSES("qa_outputs")}, .answers = ANSWER_OF_EACH},
    {NULL, {CLASSES("score")}, .answers = ANSWER_OF_LAST},
    {0},
};
/* clang-format on */

void class_head_take(struct config *config, const struct classifier *head, size_t count)
{
    config->classifier = head;
    config->end = END_CLASSES;
    config->n_class = count;
    if (head->answers && config->answers != ANSWER_OF_EACH)
        config->answers = head->answers;
    config->tied = false;
    config->logit_cap = config->logit_divisor = 0; /* only logits of tokens have a cap or a
                                                    * divisor */
    config->end_activation = head->activation ? head->activation : config->class_activation;
}

const struct classifier *classifier_of_sequences(const struct config *config)
{
    const struct classifier *head = classifiers;
    while (head->rows->name && !name_is_among(head->sequences, config->family->name))
        head++;
    if (config->kind != MODEL_ATTENTION && config->causal && !config->n_encoder_layer)
        return head - 1; /* `head` is the end of the list: before it is `score`, the classifier of
                          * decoders */
    return head->rows->name ? head : NULL;
}
