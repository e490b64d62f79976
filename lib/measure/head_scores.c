#include "measure/head_scores.h"

#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "math/rng.h"

enum { RANDOM_HALF = 25, /* tokens that come twice */ OFFSET_MAX = 1 << 24 };

const struct score_row score_rows[] = {
    {"previous-token", "weight on the token before", "previous", "prev", "previous token", 0.5,
     OF_TEXTS, MEASURE_PREVIOUS_TOKEN, true},
    {"first-token", "weight on the first token", "first", "first", "first token", 0.6, OF_TEXTS,
     MEASURE_FIRST_TOKEN, true},
    {"self", "weight on the token itself", "self", "self", "itself", 0.5, OF_TEXTS, MEASURE_SELF,
     true},
    {"duplicate-token", "weight on earlier tokens that are the same", "duplicate", "dup.",
     "duplicates", 0.4, OF_REPEATS, MEASURE_DUPLICATE_TOKEN, true},
    {"induction", "weight on what followed the same token before", "induction", "ind.", "induction",
     0.4, OF_REPEATS, MEASURE_INDUCTION, true},
    {"entropy", "how evenly it looks, in nats", "entropy", "entr.", NULL, 0, OF_TEXTS,
     MEASURE_ENTROPY, true},
    {"distance", "how far it looks, in tokens", "distance", "dist.", NULL, 0, OF_TEXTS,
     MEASURE_DISTANCE, true},
    {"sink", "weight on the first token and on <s> and its like, which begin texts", "sink", "sink",
     NULL, 0, OF_TEXTS, MEASURE_SINK, false},
    {"offset", "weight on the token so many places on: offset:-2, two before", "offset", "off.",
     NULL, 0, OF_TEXTS, MEASURE_OFFSET, false},
    {"copying", "share of words whose own logit W_E·W_V·W_O·W_U raises most", "copying", "copy",
     "copying", 0.5, OF_WORDS, MEASURE_COPYING, false},
    {"successor", "the same of --pairs: the second word of each, of all in the file", "successor",
     "succ.", "successor", 0.5, OF_PAIRS, MEASURE_SUCCESSOR, false},
    {"needle", "weight of a text's last token on the needle of --needle", "needle", "ndl.",
     "retrieval", 0.5, OF_NEEDLES, MEASURE_NEEDLE, false},
    {"needle-top", "how often its top key is in the needle", "top", "top", NULL, 0, OF_NEEDLES,
     MEASURE_NEEDLE_TOP, false},
};
const size_t score_row_count = sizeof score_rows / sizeof *score_rows;

int score_choose(struct score_list *list, size_t *index, const char *option, const char *name,
                 size_t size, struct arena *arena, struct err *err)
{
    struct score score = {.name = arena_text(arena, name, size, err)};
    const char *colon = memchr(name, ':', size);
    long long offset = 0;
    size_t row = 0;
    size_t name_size = colon ? (size_t)(colon - name) : size;
    if (!score.name ||
        names_choose_item(&row, NAMES(score_rows, score_row_count), option, name, name_size, err))
        return -1;
    score.row = &score_rows[row];
    bool by_offset = score.row->measure == MEASURE_OFFSET;
    const char *argument = colon ? score.name + name_size + 1 : "";
    if (by_offset ? !num_parse_integer(argument, -OFFSET_MAX, 0, &offset) : colon != NULL)
        return err_usage(err, "%s: expected %s, found '%s'", option,
                         by_offset ? "offset:N, where N is 0 or below: offset:-2" : score.row->name,
                         score.name);
    score.found.marks.offset = score.random.marks.offset = offset;
    for (*index = 0; *index < list->count; ++*index)
        if (strcmp(list->items[*index].name, score.name) == 0)
            return 0;
    if (list->count == SCORES_MAX)
        return err_usage(err, "expected at most %d scores, found more", SCORES_MAX);
    list->items[list->count++] = score;
    return 0;
}

void score_choose_usual(struct score_list *list)
{
    for (size_t i = 0; i < score_row_count; i++)
        if (score_rows[i].usual)
            list->items[list->count++] =
                (struct score){.row = &score_rows[i], .name = score_rows[i].name};
}

/* --- what is measured ------------------------------------------------------------------------- */

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

static int open_reduction(struct reduction *reduction, const struct score *score,
                          const struct head_survey *survey, struct arena *arena, struct err *err)
{
    const struct config *config = &survey->viewer->model.config;
    struct reduction_size size = {config->n_layer, config->n_head, SIZE_MAX, SIZE_MAX, true};
    long long offset = reduction->marks.offset;
    if (reduction_init(reduction, 1u << score->row->measure, &size, arena, err))
        return -1;
    reduction->marks = (struct reduction_marks){.bos = survey->bos, .offset = offset};
    reduction->first_query = 1; /* the first one sees nothing but itself, and says nothing */
    reduction->every_head = true;
    return 0;
}

int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err)
{
    const struct config *config = &survey->viewer->model.config;
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
        if (open_reduction(&score->found, score, survey, arena, err) ||
            open_reduction(&score->random, score, survey, arena, err))
            return -1;
    }
    return selection_layers(&survey->selection, NULL, config, arena, err);
}

/* What one pass is counted as. */
struct count {
    struct head_survey *survey;
    enum score_material material;
    bool random;
    const uint32_t *ids; /* the text's, be the tokens random or not */
    size_t tokens;
    const bool *marked;
};

static int see(void *context, const struct announcement *seen, struct err *err)
{
    const struct count *count = context;
    struct head_survey *survey = count->survey;
    for (size_t i = 0; i < survey->scores->count; i++) {
        struct score *score = &survey->scores->items[i];
        struct reduction *reduction = count->random ? &score->random : &score->found;
        if (material_of(survey, score->row) != count->material)
            continue;
        reduction->marks.keys = count->marked;
        if (count->marked)
            reduction->first_query = count->tokens - 1;
        for (size_t head = 0; head < seen->values.shape[0]; head++) {
            struct tensor weights = tensor_slice(&seen->values, head);
            if (reduction_add(reduction, (size_t)seen->layer, head, &weights, count->ids, err))
                return -1;
        }
    }
    return 0;
}

static int run(struct count *count, const uint32_t *ids, struct err *err)
{
    struct text text = {.ids = ids, .count = count->tokens};
    struct text_list one = {.items = &text, .count = 1};
    return viewer_run(count->survey->viewer, &count->survey->selection, &one,
                      (struct tap){.sink = see, .context = count}, err);
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

/* Run a text and count how every head looks at it; then random tokens in its place. */
static int add(struct head_survey *survey, struct count count, struct err *err)
{
    uint64_t number = survey->counts[count.material] * SCORE_MATERIALS + count.material;
    count.survey = survey;
    if (run(&count, count.ids, err) ||
        (survey->with_random && run_random(&count, rng_fold_in(~survey->seed, number), err)))
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

/* --- what comes of it ------------------------------------------------------------------------- */

static struct reduction_entry entry_of(const struct score *score, size_t layer, size_t head,
                                       bool random)
{
    struct reduction_entry entry = {score->row->measure, layer, head, NO_PLACE, NO_PLACE,
                                    {.count = 0}};
    entry.cell = reduction_find(random ? &score->random : &score->found, &entry);
    return entry;
}

double head_survey_score(const struct score *score, size_t layer, size_t head, bool random)
{
    struct reduction_entry entry = entry_of(score, layer, head, random);
    return reduction_value(&entry);
}

uint64_t head_survey_count(const struct score *score, size_t layer, size_t head)
{
    return entry_of(score, layer, head, false).cell.count;
}

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

static int measure_score(struct measurement *item, const struct head_survey *survey,
                         const struct score *score, bool random, struct arena *arena,
                         struct err *err)
{
    struct measured alone;
    const struct score_row *row = score->row;
    enum score_material material = material_of(survey, row);
    size_t count = survey->counts[material];
    bool of_weights = row->material == OF_WORDS || row->material == OF_PAIRS;
    if (reduction_measure(&alone, random ? &score->random : &score->found, arena, err))
        return -1;
    *item = alone.items[0];
    item->about = !random      ? row->about
                  : of_weights ? "the same, of words paired at random"
                               : "the same, where tokens are random";
    item->name = random ? arena_format(arena, err, "%s.null", score->name) : score->name;
    item->basis = arena_format(arena, err, "%s of %zu %s", of_weights ? "share" : item->basis,
                               count, material_name(material, count));
    struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
    if (!item->name || !item->basis || !sheet)
        return -1;
    *sheet = item->sheets[0];
    sheet->tensor = item->name;
    item->sheets = sheet;
    return 0;
}

int head_survey_measure(struct measured *measured, const struct head_survey *survey,
                        const struct score *only, struct arena *arena, struct err *err)
{
    struct measurement *items = arena_alloc(arena, (size_t)2 * SCORES_MAX, sizeof *items, err);
    *measured = (struct measured){
        .name = survey->viewer->model.name,
        .model = survey->viewer->model.name,
        .texts = survey->counts[OF_TEXTS],
        .items = items,
    };
    for (size_t i = 0; items && i < survey->scores->count; i++) {
        const struct score *score = &survey->scores->items[i];
        for (int random = 0; random <= survey->with_random && (!only || only == score); random++)
            if (measure_score(&items[measured->count++], survey, score, random, arena, err))
                return -1;
    }
    return items ? 0 : -1;
}

int head_survey_origin(struct buf *text, const struct head_survey *survey, struct err *err)
{
    int last = SCORE_MATERIALS;
    bool several = false;
    while (last-- > 0 && !head_survey_needs(survey, (enum score_material)last)) {
    }
    for (int material = 0; material <= last; material++) {
        size_t count = survey->counts[material];
        const char *joint = "";
        if (!head_survey_needs(survey, (enum score_material)material))
            continue;
        for (size_t i = 0; i < survey->scores->count && material < last; i++) {
            const struct score_row *row = survey->scores->items[i].row;
            if ((int)material_of(survey, row) != material)
                continue;
            buf_format(text, "%s%s", joint, row->heading);
            joint = ", ";
        }
        buf_text(text, material < last ? ": " : several ? "the others: " : "measured on ");
        buf_format(text, "%zu %s%s%s", count, material_name((enum score_material)material, count),
                   material == OF_TEXTS ? " given" : "", material < last ? "; " : "");
        several = true;
    }
    return buf_check(text, err);
}
