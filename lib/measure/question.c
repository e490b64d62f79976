#include "measure/question.h"

#include "model/points.h"
#include "pass/sampler.h"

int model_check(const struct model *model, unsigned needs, struct err *err)
{
    const struct config *c = &model->config;
    if (needs & NEEDS_LOGITS && !site_exists(c, SITE_LOGITS))
        return err_unsupported(
            err, "'%s': expected a model with logits, found one of type \"%s\"%s", model->name,
            config_kind_name(c),
            c->end >= END_DISCRIMINATOR
                ? " without a masked-language head: use a checkpoint with one, or "
                  "'attn-cli run'"
                : "");
    if (needs & NEEDS_ONE_TEXT && config_reads_source(c))
        return err_unsupported(
            err, "'%s': expected a model of one text, found one that attends to a second text",
            model->name);
    if (needs & NEEDS_WORDS && config_classifies(c))
        return err_unsupported(err,
                               "'%s': expected a model that predicts tokens, found one of %zu "
                               "classes: 'attn-cli score --classes' prints them",
                               model->name, config_logits(c));
    if (needs & NEEDS_CAUSAL && !c->causal)
        return err_unsupported(
            err,
            "'%s': expected a causal model, or a tokenizer with a mask token, found a model that "
            "attends to later tokens: copy its tokenizer.json into its folder",
            model->name);
    return 0;
}

int logits_check(const struct viewer *viewer, unsigned needs, struct err *err)
{
    const struct edits *edits = viewer->edits;
    if (model_check(&viewer->model, NEEDS_LOGITS | needs, err))
        return -1;
    for (size_t i = 0; edits && i < edits->count; i++)
        if (edits->items[i].site == SITE_LOGITS)
            return err_usage(err, "%s: expected an edit before the logits, found 'logits'",
                             edits->items[i].words);
    return 0;
}

double question_ask(struct question *question, const float *logits, size_t count)
{
    struct likely best = {0};
    if (question->answer < 0) {
        topk(&best, 1, logits, count, 0);
        question->answer = best.id;
    }
    return (double)logits[question->answer] -
           (question->against < 0 ? 0 : (double)logits[question->against]);
}
