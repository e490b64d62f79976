/* train_check.c: which models have a way back, and which texts they can be trained on. */
#include "train/train_pass.h"

int train_step_check(const struct config *c, struct err *err)
{
    const struct {
        bool has;
        const char *what;
    } pieces[] = {
        {c->norm_out, "norms of what a sublayer adds"},
        {!c->norm_first || !c->norm_in || !c->final_norm, "norms after sublayers"},
        {c->residual_normed || c->stream_normed, "norms of the stream itself"},
        {c->head_norm > HEAD_NORM_SHARED, "norms of all heads together"},
        {c->alibi, "ALiBi"},
        {c->rotary_local.components, "two kinds of rotation"},
        {c->score_cap > 0 || c->logit_cap > 0, "soft caps"},
        {c->embedding_norm, "a norm of embeddings"},
        {c->n_word, "a projection of embeddings"},
    };
    if (c->kind != MODEL_GPT2 && c->kind != MODEL_DECODER)
        return err_unsupported(err,
                               "expected a model of type \"gpt2\", \"llama\" or like it to train, "
                               "found \"%s\"",
                               config_kind_name(c));
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i].has)
            return err_unsupported(err,
                                   "expected a model to train without %s, found one of type \"%s\"",
                                   pieces[i].what, config_kind_name(c));
    return 0;
}

/* A window that is as long as the texts hides nothing. */
int train_step_check_plan(const struct train_step_plan *plan, struct err *err)
{
    const struct config *config = &plan->new_model->config;
    if (train_step_check(config, err))
        return -1;
    if (config->n_positions && plan->tokens > config->n_positions)
        return err_set(err,
                       "expected texts of at most %zu tokens, the model's positions, found %zu",
                       config->n_positions, plan->tokens);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        size_t window = config_window(config, layer);
        if (window && plan->tokens > window)
            return err_unsupported(err,
                                   "expected texts of at most %zu tokens, the window of layer "
                                   "%zu, found %zu: longer ones are not trained",
                                   window, layer, plan->tokens);
    }
    return 0;
}
