/* head_scores.c: scores of heads, measured on texts and on random tokens. */
#include "measure/head_scores.h"

#include <math.h>

#include "math/rng.h"

enum {
    RANDOM_HALF = 25, /* tokens that come twice */
    NAMED_COUNT = 10, /* fewer pairs or needles of a file name no head */
};

static enum score_material material_of(const struct head_survey *survey, const struct score *score)
{
    return score->material == OF_TEXTS && !survey->on_texts ? OF_REPEATS : score->material;
}

bool head_survey_needs(const struct head_survey *survey, enum score_material material)
{
    for (size_t i = 0; i < survey->scores->count; i++)
        if (material_of(survey, &survey->scores->items[i]) == material)
            return true;
    return false;
}

int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err)
{
    const struct config *config = &survey->viewer->model.config;
    survey->heads = config->n_layer * config->n_head;
    survey->selection =
        (struct selection){.sites = site_bit(SITE_WEIGHTS), .head_count = config->n_head};
    if (config->cross)
        return err_unsupported(err, "expected a model of one text, found one that looks at a "
                                    "second text, too");
    if (!config->causal)
        return err_unsupported(err, "expected a model whose tokens look back, found one that looks "
                                    "ahead");
    return selection_layers(&survey->selection, NULL, config, arena, err);
}

/* --- sums ------------------------------------------------------------------------------------- */

int head_sums_init(struct head_sums *sums, const struct head_survey *survey, struct arena *arena,
                   struct err *err)
{
    size_t count = survey->scores->count * survey->heads;
    *sums = (struct head_sums){arena_alloc(arena, count, sizeof *sums->found, err),
                               arena_alloc(arena, count, sizeof *sums->random, err),
                               {0}};
    return sums->found && sums->random ? 0 : -1;
}

static void merge_means(struct mean *means, const struct mean *others, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        means[i].sum += others[i].sum;
        means[i].count += others[i].count;
    }
}

void head_sums_merge(struct head_sums *sums, const struct head_survey *survey,
                     const struct head_sums *others)
{
    size_t count = survey->scores->count * survey->heads;
    merge_means(sums->found, others->found, count);
    merge_means(sums->random, others->random, count);
    for (size_t i = 0; i < SCORE_MATERIALS; i++)
        sums->counts[i] += others->counts[i];
}

/* --- passes ----------------------------------------------------------------------------------- */

/* What one pass is counted as. */
struct count {
    const struct head_survey *survey;
    enum score_material material;
    const struct head_text *texts; /* also where random tokens are run in their place */
    bool random;
};

/* Add the rows of one head. Of a text with a needle only the last token counts. */
static void count_rows(struct mean *mean, const struct score *score, const struct count *count,
                       const struct head_text *text, const struct tensor *weights)
{
    for (size_t query = text->marked ? text->count - 1 : 1; query < text->count; query++) {
        const struct attention_row row = {
            .weights = weights->data + query * weights->stride[0],
            .keys = query + 1,
            .query = query,
            .ids = text->ids,
            .bos = count->survey->bos,
            .offset = score->offset,
            .marked = text->marked,
        };
        double value = score->row->measure(&row);
        if (isnan(value))
            continue;
        mean->sum += value;
        mean->count++;
    }
}

static int take_weights(void *context, const struct announcement *seen, struct err *err)
{
    const struct count *count = context;
    const struct head_survey *survey = count->survey;
    const struct head_text *text = &count->texts[seen->text];
    size_t heads = seen->values.shape[0];
    (void)err;
    for (size_t i = 0; i < survey->scores->count; i++) {
        const struct score *score = &survey->scores->items[i];
        struct mean *means = (count->random ? text->sums->random : text->sums->found) +
                             i * survey->heads + (size_t)seen->layer * heads;
        if (material_of(survey, score) != count->material)
            continue;
        for (size_t head = 0; head < heads; head++) {
            struct tensor weights = tensor_slice(&seen->values, head);
            count_rows(&means[head], score, count, text, &weights);
        }
    }
    return 0;
}

/* Random tokens in place of a text's; NULL with `err`. */
static const uint32_t *random_ids(const struct count *count, const struct head_text *text,
                                  struct arena *arena, struct err *err)
{
    const struct head_survey *survey = count->survey;
    uint64_t number = text->number * SCORE_MATERIALS + count->material;
    uint64_t key = rng_fold_in(~survey->seed, number);
    uint32_t *ids = arena_alloc(arena, text->count, sizeof *ids, err);
    for (size_t i = 0; ids && i < text->count; i++)
        ids[i] = (uint32_t)rng_below(key, i, survey->viewer->model.config.vocab_size);
    return ids;
}

static int run(struct count *count, struct viewer *viewer, size_t texts, struct arena *arena,
               struct err *err)
{
    struct text *items = arena_alloc(arena, texts, sizeof *items, err);
    const struct text_list list = {items, texts, count->texts->number, NULL};
    for (size_t i = 0; items && i < texts; i++) {
        const struct head_text *text = &count->texts[i];
        items[i] = (struct text){.ids = text->ids, .count = text->count};
        if (count->random && !(items[i].ids = random_ids(count, text, arena, err)))
            return -1;
    }
    return items ? viewer_run(viewer, &count->survey->selection, &list,
                              (struct tap){.sink = take_weights, .context = count}, err)
                 : -1;
}

int head_survey_run(const struct head_survey *survey, struct viewer *viewer,
                    enum score_material material, const struct head_text *texts, size_t count,
                    struct err *err)
{
    struct arena arena = {0};
    struct count found = {survey, material, texts, false};
    struct count random = {survey, material, texts, true};
    int failed = run(&found, viewer, count, &arena, err) ||
                 (survey->with_baseline && run(&random, viewer, count, &arena, err));
    for (size_t i = 0; i < count && !failed; i++)
        texts[i].sums->counts[material]++;
    arena_release(&arena);
    return failed ? -1 : 0;
}

int head_survey_run_repeats(const struct head_survey *survey, struct viewer *viewer,
                            struct head_sums *sums, struct err *err)
{
    uint32_t ids[HEAD_SURVEY_REPEATS][2 * RANDOM_HALF];
    struct head_text texts[HEAD_SURVEY_REPEATS];
    const struct config *config = &survey->viewer->model.config;
    size_t positions = config->n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    for (size_t number = 0; number < HEAD_SURVEY_REPEATS; number++) {
        uint64_t key = rng_fold_in(survey->seed, number);
        for (size_t i = 0; i < half; i++)
            ids[number][i] = ids[number][i + half] =
                (uint32_t)rng_below(key, i, config->vocab_size);
        texts[number] = (struct head_text){ids[number], 2 * half, NULL, number, sums};
    }
    return edits_check_text(viewer->edits, config, 2 * half, 0, err)
               ? -1
               : head_survey_run(survey, viewer, OF_REPEATS, texts, HEAD_SURVEY_REPEATS, err);
}

/* --- results ---------------------------------------------------------------------------------- */

static const char *material_name(enum score_material material, size_t count)
{
    static const char *const names[SCORE_MATERIALS][2] = {
        [OF_REPEATS] = {"text of repeated random tokens", "texts of repeated random tokens"},
        [OF_WORDS] = {"word", "words"},
        [OF_PAIRS] = {"pair of words", "pairs of words"},
        [OF_NEEDLES] = {"text with a needle", "texts with a needle"},
        [OF_TEXTS] = {"text", "texts"},
    };
    return names[material][count != 1];
}

/* "16 texts of repeated random tokens (duplicate, induction), 2 texts given (the others)" */
static const char *describe_origin(const struct head_survey *survey, const struct head_sums *sums,
                                   struct arena *arena, struct err *err)
{
    struct buf text = {0};
    int last = SCORE_MATERIALS - 1;
    while (last > 0 && !head_survey_needs(survey, (enum score_material)last))
        last--;
    for (int material = 0; material <= last; material++) {
        size_t count = sums->counts[material];
        const char *joint = " (";
        if (!head_survey_needs(survey, (enum score_material)material))
            continue;
        const char *others = material == last && text.size ? " (the others)" : "";
        buf_format(&text, "%s%zu %s%s%s", text.size ? ", " : "", count,
                   material_name((enum score_material)material, count),
                   material == OF_TEXTS ? " given" : "", others);
        for (size_t i = 0; i < survey->scores->count && material < last; i++) {
            const struct score *score = &survey->scores->items[i];
            if ((int)material_of(survey, score) != material)
                continue;
            buf_format(&text, "%s%s", joint,
                       score_has_argument(score) ? score->name : score->row->heading);
            joint = ", ";
        }
        buf_text(&text, material < last ? ")" : "");
    }
    return buf_keep(&text, arena, err);
}

/* What the head clearly does: "previous token, induction". */
static const char *describe_head(const struct head_survey *survey, const struct head_sums *sums,
                                 size_t head, struct arena *arena, struct err *err)
{
    const char *verdict = "";
    for (size_t i = 0; verdict && i < survey->scores->count; i++) {
        const struct score_row *row = survey->scores->items[i].row;
        const struct mean *found = &sums->found[i * survey->heads + head];
        bool of_file = row->material == OF_PAIRS || row->material == OF_NEEDLES;
        if (row->verdict && mean_value(found) >= row->from &&
            (!of_file || found->count >= NAMED_COUNT))
            verdict =
                arena_format(arena, err, "%s%s%s", verdict, *verdict ? ", " : "", row->verdict);
    }
    return verdict;
}

int head_result_keep(struct head_result *result, const struct head_survey *survey,
                     const struct head_sums *sums, struct arena *arena, struct err *err)
{
    const struct model *model = &survey->viewer->model;
    size_t heads = survey->heads;
    size_t ways = survey->with_baseline ? 2 : 1;
    size_t columns = survey->scores->count * ways;
    double *values = arena_alloc(arena, columns, heads * sizeof *values, err);
    uint64_t *counts = arena_alloc(arena, survey->scores->count, sizeof *counts, err);
    const char **verdicts = arena_alloc(arena, heads, sizeof *verdicts, err);
    *result = (struct head_result){
        .model = model->name,
        .origin = describe_origin(survey, sums, arena, err),
        .texts = sums->counts[OF_TEXTS],
        .layers = model->config.n_layer,
        .heads = model->config.n_head,
        .values = values,
        .counts = counts,
        .verdicts = verdicts,
    };
    if (!values || !counts || !verdicts || !result->origin)
        return -1;
    for (size_t i = 0; i < survey->scores->count; i++)
        counts[i] = sums->found[i * heads].count; /* the same for all heads */
    for (size_t k = 0; k < columns; k++)
        for (size_t i = 0; i < heads; i++)
            values[k * heads + i] =
                mean_value((k % ways ? sums->random : sums->found) + k / ways * heads + i);
    for (size_t i = 0; i < heads; i++)
        if (!(verdicts[i] = describe_head(survey, sums, i, arena, err)))
            return -1;
    return 0;
}
