/* page_next.c: what comes next after every token, at the end of the model and at its layers. */
#include "measure/next_tokens.h"
#include "page_parts.h"

int page_next_find(struct page_facts *facts, const struct page_source *source,
                   const struct text_pair *pair, struct arena *arena, struct err *err)
{
    struct err none = {0};
    struct logit_lens lens;
    struct lens_plan plan = {.viewer = source->viewer, .best_count = PAGE_NEXT_BEST};
    if (options_are_given(source->options, "top-k"))
        plan.best_count = (size_t)source->options->page.top_k;
    if (!plan.best_count || text_origin_check(source->viewer, &none))
        return 0; /* it is no decoder: nothing comes next */
    return next_tokens_plan(&plan, source->options->page.lens, arena, err) ||
                   lens_look(&lens, &plan, pair, arena, err) ||
                   next_tokens_of_lens(&facts->next, &lens, source->viewer, arena, err)
               ? -1
               : 0;
}
