/* page_scores.c: head scores of a page, as `attn-cli heads` measures them on the text and on random
 * tokens that repeat. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "measure/head_scores.h"
#include "page_parts.h"

/* Weights of layers of a model whose scores take less than half a second. */
static const double QUICK_WEIGHTS = 5e6;

static bool is_quick(const struct config *config)
{
    double width = (double)config->n_embd;
    return 12 * (double)config->n_layer * width * width <= QUICK_WEIGHTS;
}

/* The scores that `heads` shows and that need no file or lexicon. */
static int choose(struct score_list *list, struct err *err)
{
    for (size_t i = 0; i < score_row_count; i++) {
        const struct score_row *row = &score_rows[i];
        if (row->usual && (row->material == OF_TEXTS || row->material == OF_REPEATS) &&
            !score_choose(list, "--scores", row->name, err))
            return -1;
    }
    return 0;
}

static int keep(struct page_scores *scores, const struct score_list *list,
                const struct head_result *result, struct arena *arena, struct err *err)
{
    const size_t heads = result->layers * result->heads;
    scores->names = arena_alloc(arena, list->count, sizeof *scores->names, err);
    scores->heads = arena_alloc(arena, heads, sizeof *scores->heads, err);
    if (!scores->names || !scores->heads)
        return -1;
    for (; scores->name_count < list->count; scores->name_count++)
        scores->names[scores->name_count] = list->items[scores->name_count].name;
    for (; scores->count < heads; scores->count++) {
        struct page_head *head = &scores->heads[scores->count];
        *head = (struct page_head){.layer = scores->count / result->heads,
                                   .head = scores->count % result->heads};
        head->values = arena_alloc(arena, list->count, sizeof *head->values, err);
        for (size_t i = 0; head->values && i < list->count; i++) {
            double value = mean_value(&result->sums.found[i * heads + scores->count]);
            char text[NUM_FLOAT_BYTES] = "";
            if (!isnan(value))
                num_float(text, (float)value);
            head->values[i] = arena_text(arena, text, strlen(text), err);
        }
        if (!head->values || (list->count && !head->values[list->count - 1]))
            return -1;
    }
    return 0;
}

static int measure(struct page_scores *scores, const struct page_source *source,
                   const struct tokenized *sentence, struct arena *arena, struct err *err)
{
    struct score_list list = {.count = 0};
    struct head_survey survey = {
        .viewer = source->viewer, .scores = &list, .bos = -1, .on_texts = true};
    struct head_sums sums;
    struct head_result result;
    const struct head_text text = {sentence->ids, sentence->count, .sums = &sums};
    return choose(&list, err) || head_survey_open(&survey, arena, err) ||
                   head_sums_init(&sums, &survey, arena, err) ||
                   head_survey_run_repeats(&survey, source->viewer, &sums, err) ||
                   head_survey_run(&survey, source->viewer, OF_TEXTS, &text, 1, err) ||
                   head_result_keep(&result, &survey, &sums, arena, err)
               ? -1
               : keep(scores, &list, &result, arena, err);
}

int page_scores_find(struct page_facts *facts, const struct page_source *source,
                     const struct tokenized *sentence, struct arena *arena, struct err *err)
{
    const char *wanted = source->options->page.scores;
    const struct config *config = &source->viewer->model.config;
    struct err none = {0};
    if (wanted && strcmp(wanted, "all") != 0 && strcmp(wanted, "none") != 0)
        return err_usage(err, "--scores: expected all or none, found '%s'", wanted);
    if (wanted ? strcmp(wanted, "none") == 0 : source->options->page.live || !is_quick(config))
        return 0;
    struct page_scores *scores = arena_alloc(arena, 1, sizeof *scores, err);
    if (!scores)
        return -1;
    if (measure(scores, source, sentence, arena, wanted ? err : &none))
        return wanted ? -1 : 0; /* a model that has no scores */
    facts->scores = scores;
    return 0;
}
