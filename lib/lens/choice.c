#include "lens/choice.h"

#include "model/sampler.h"

void choice_make(struct choice *choice, const float *logits, size_t count, uint32_t chosen)
{
    uint32_t best[CHOICE_BEST];
    double total = logsumexp(logits, count);
    *choice = (struct choice){
        .chosen = {chosen, (float)((double)logits[chosen] - total)},
        .best_count = count < CHOICE_BEST ? count : CHOICE_BEST,
    };
    topk(best, choice->best_count, logits, count);
    for (size_t i = 0; i < choice->best_count; i++)
        choice->best[i] = (struct likely){best[i], (float)((double)logits[best[i]] - total)};
}
