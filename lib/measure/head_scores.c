/* head_scores.c: scores of heads, measured on texts and on random tokens. */
#include "measure/head_scores.h"

#include <math.h>
#include <string.h>

#include "math/rng.h"

enum {
    RANDOM_HALF = 25, /* tokens that come twice */
    NAMED_COUNT = 10, /* fewer pairs or needles of a file name no head */
};

static enum score_material material_of(const struct head_survey *survey,
                                       const struct score_row *row)
{
    return row->material == OF_TEXTS && !survey->on_texts ? OF_REPEATS : row->material;
}

bool head_survey_needs(const struct head_survey *survey, enum score_material material)
{
    for (size_t i = 0; i < survey->scores->count; i++)
        if (material_of(survey, survey->scores->items[i].row) == material)
            return true;
    return false;
}

int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err)
{
    const struct config *config = &survey->viewer->model.config;
    size_t heads = config->n_layer * config->n_head;
    survey->selection =
        (struct selection){.sites = site_bit(SITE_WEIGHTS), .head_count = config->n_head};
    if (config->cross)
        return err_unsupported(err, "expected a model of one text, found one that looks at a "
                                    "second text, too");
    if (!config->causal)
        return err_unsupported(err, "expected a model whose tokens look back, found one that looks "
                                    "ahead");
    for (size_t i = 0; i < survey->scores->count; i++) {
        struct score *score = &survey->scores->items[i];
        score->found = arena_alloc(arena, heads, sizeof *score->found, err);
        score->random = arena_alloc(arena, heads, sizeof *score->random, err);
        if (!score->found || !score->random)
            return -1;
    }
    return selection_layers(&survey->selection, NULL, config, arena, err);
}

/* --- passes ----------------------------------------------------------------------------------- */

/* What one pass is counted as. */
struct count {
    struct head_survey *survey;
    enum score_material material;
    bool random;
    const uint32_t *ids; /* of the text, also where random tokens take its place */
    size_t tokens;
    const bool *marked;
};

/* Add the rows of one head. Of a text with a needle only the last token counts. */
static void count_rows(struct mean *mean, const struct score *score, const struct count *count,
                       const struct tensor *weights)
{
    size_t first = count->marked ? count->tokens - 1 : 1;
    for (size_t query = first; query < count->tokens; query++) {
        const struct attention_row row = {
            .weights = weights->data + query * weights->stride[0],
            .keys = query + 1,
            .query = query,
            .ids = count->ids,
            .bos = count->survey->bos,
            .offset = score->offset,
            .marked = count->marked,
        };
        double value = score->row->measure(&row);
        if (isnan(value))
            continue;
        exact_sum_add_double(&mean->sum, value);
        mean->count++;
    }
}

static int take_weights(void *context, const struct announcement *seen, struct err *err)
{
    const struct count *count = context;
    const struct head_survey *survey = count->survey;
    size_t heads = seen->values.shape[0];
    (void)err;
    for (size_t i = 0; i < survey->scores->count; i++) {
        struct score *score = &survey->scores->items[i];
        if (material_of(survey, score->row) != count->material)
            continue;
        struct mean *means = count->random ? score->random : score->found;
        for (size_t head = 0; head < heads; head++) {
            struct tensor weights = tensor_slice(&seen->values, head);
            count_rows(&means[(size_t)seen->layer * heads + head], score, count, &weights);
        }
    }
    return 0;
}

static int run(struct count *count, const uint32_t *ids, struct err *err)
{
    struct text text = {.ids = ids, .count = count->tokens};
    struct text_list one = {.items = &text, .count = 1};
    return viewer_run(count->survey->viewer, &count->survey->selection, &one,
                      (struct tap){.sink = take_weights, .context = count}, err);
}

static int run_random(struct count *count, uint64_t key, struct err *err)
{
    struct arena arena = {0};
    uint32_t *ids = arena_alloc(&arena, count->tokens, sizeof *ids, err);
    size_t limit = count->survey->viewer->model.config.vocab_size;
    for (size_t i = 0; ids && i < count->tokens; i++)
        ids[i] = (uint32_t)rng_below(key, i, limit);
    count->random = true;
    int failed = !ids || run(count, ids, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* Run a text and count the attention of every head; then random tokens in its place. */
static int add(struct head_survey *survey, struct count count, struct err *err)
{
    uint64_t number = survey->counts[count.material] * SCORE_MATERIALS + count.material;
    count.survey = survey;
    if (run(&count, count.ids, err) ||
        (survey->with_baseline && run_random(&count, rng_fold_in(~survey->seed, number), err)))
        return -1;
    survey->counts[count.material]++;
    return 0;
}

int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err)
{
    uint32_t ids[2 * RANDOM_HALF];
    const struct config *config = &survey->viewer->model.config;
    size_t positions = config->n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    uint64_t key = rng_fold_in(survey->seed, number);
    for (size_t i = 0; i < half; i++)
        ids[i] = ids[i + half] = (uint32_t)rng_below(key, i, config->vocab_size);
    return add(survey, (struct count){.material = OF_REPEATS, .ids = ids, .tokens = 2 * half}, err);
}

int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err)
{
    return add(survey,
               (struct count){.material = OF_TEXTS, .ids = text->ids, .tokens = text->count}, err);
}

int head_survey_add_needle(struct head_survey *survey, const struct tokenized *text,
                           const bool *marked, struct err *err)
{
    return add(
        survey,
        (struct count){
            .material = OF_NEEDLES, .ids = text->ids, .tokens = text->count, .marked = marked},
        err);
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
static const char *describe_origin(const struct head_survey *survey, struct arena *arena,
                                   struct err *err)
{
    struct buf text = {0};
    int last = SCORE_MATERIALS - 1;
    while (last > 0 && !head_survey_needs(survey, (enum score_material)last))
        last--;
    for (int material = 0; material <= last; material++) {
        size_t count = survey->counts[material];
        const char *joint = " (";
        if (!head_survey_needs(survey, (enum score_material)material))
            continue;
        const char *others = material == last && text.size ? " (the others)" : "";
        buf_format(&text, "%s%zu %s%s%s", text.size ? ", " : "", count,
                   material_name((enum score_material)material, count),
                   material == OF_TEXTS ? " given" : "", others);
        for (size_t i = 0; i < survey->scores->count && material < last; i++) {
            const struct score_row *row = survey->scores->items[i].row;
            if ((int)material_of(survey, row) != material)
                continue;
            buf_format(&text, "%s%s", joint, row->heading);
            joint = ", ";
        }
        buf_text(&text, material < last ? ")" : "");
    }
    return buf_keep(&text, arena, err);
}

/* What the head clearly does: "previous token, induction". */
static const char *describe_head(const struct head_survey *survey, size_t head, struct arena *arena,
                                 struct err *err)
{
    const char *verdict = "";
    for (size_t i = 0; verdict && i < survey->scores->count; i++) {
        const struct score *score = &survey->scores->items[i];
        const struct score_row *row = score->row;
        bool of_file = row->material == OF_PAIRS || row->material == OF_NEEDLES;
        if (row->verdict && mean_value(&score->found[head]) >= row->from &&
            (!of_file || score->found[head].count >= NAMED_COUNT))
            verdict =
                arena_format(arena, err, "%s%s%s", verdict, *verdict ? ", " : "", row->verdict);
    }
    return verdict;
}

int head_result_keep(struct head_result *result, const struct head_survey *survey,
                     struct arena *arena, struct err *err)
{
    const struct model *model = &survey->viewer->model;
    const struct score_list *scores = survey->scores;
    size_t heads = model->config.n_layer * model->config.n_head;
    size_t ways = survey->with_baseline ? 2 : 1;
    double *values = arena_alloc(arena, scores->count * ways, heads * sizeof *values, err);
    const char **verdicts = arena_alloc(arena, heads, sizeof *verdicts, err);
    *result = (struct head_result){
        .model = model->name,
        .origin = describe_origin(survey, arena, err),
        .texts = survey->counts[OF_TEXTS],
        .layers = model->config.n_layer,
        .heads = model->config.n_head,
        .values = values,
        .verdicts = verdicts,
    };
    if (!values || !verdicts || !result->origin)
        return -1;
    for (size_t i = 0; i < heads; i++) {
        for (size_t k = 0; k < scores->count * ways; k++) {
            const struct score *score = &scores->items[k / ways];
            values[k * heads + i] = mean_value(k % ways ? &score->random[i] : &score->found[i]);
        }
        if (!(verdicts[i] = describe_head(survey, i, arena, err)))
            return -1;
    }
    return 0;
}
