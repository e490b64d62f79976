#include "measure/head_scores.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "lens/prediction.h"
#include "math/portable_math.h"
#include "math/rng.h"
#include "math/rows.h"
#include "measure/question.h"
#include "model/head_name.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/tap.h"
#include "text/post_processor.h"

enum {
    OFFSET_MAX = 1 << 24,
    RANDOM_HALF = 25, /* maximum number of random tokens in a text, which then repeats them */
    REPEATS = 16,     /* number of texts of repeated tokens */
    NAMED_COUNT = 10, /* minimum number of pairs or needles for which a high score gives a head a
                       * name */
};

static const double VERDICT_LEAST = 0.5;

/* The attention of one query. */
struct attention_row {
    const float *weights; /* [keys] weights on the keys; NULL: equal weights, for the scores that
                           * roles have with uniform attention */
    size_t keys, queries;
    size_t query;           /* index of the query; at least 1, except in cross-attention */
    const uint32_t *ids;    /* [keys] token ids */
    long long bos, sep;     /* ids of the tokens that begin and end texts; -1: no such token */
    long long offset;       /* number of tokens from the query, or from a copy of the query's token,
                             * to the key to look at */
    const bool *marked;     /* [keys] true for tokens of the needle; NULL: there is no needle */
    const uint32_t *before; /* [keys] the last earlier copy of each token, from head_copies; NULL:
                             * tokens with the same id are copies */
};

/* --- measures --------------------------------------------------------------------------------- */

static double weight_on(const struct attention_row *row, size_t key)
{
    return row->weights ? (double)row->weights[key] : 1 / (double)row->keys;
}

static double first_token(const struct attention_row *row)
{
    return weight_on(row, 0);
}

/* The mean distance from the query to the keys, in tokens: Σ w · |query - key|. */
static double distance(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++) {
        size_t apart = key < row->query ? row->query - key : key - row->query;
        sum += (double)row->weights[key] * (double)apart;
    }
    return sum;
}

/* The mean squared distance from the query to the keys: Σ w · (query - key)². */
static double distance_squared(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++) {
        double apart = (double)row->query - (double)key;
        sum += (double)row->weights[key] * apart * apart;
    }
    return sum;
}

static double at_offset(const struct attention_row *row)
{
    size_t key = row->query + (size_t)row->offset; /* an index before the first key wraps around to
                                                    * a large one */
    return key >= row->keys ? (double)NAN : weight_on(row, key);
}

/* Weight on earlier copies of the query's token (offset 0), or on the tokens after these copies
 * (offset 1); NaN: there is no copy. */
static double at_copies(const struct attention_row *row)
{
    size_t offset = (size_t)row->offset;
    double sum = 0;
    bool found = false;
    for (size_t at = row->query; row->before && row->before[at] != HEAD_NO_COPY; found = true) {
        at = row->before[at];
        sum += weight_on(row, at + offset);
    }
    for (size_t key = offset; !row->before && key < row->query + offset; key++) {
        if (row->ids[key - offset] != row->ids[row->query])
            continue;
        sum += weight_on(row, key);
        found = true;
    }
    return found ? sum : (double)NAN;
}

static double sink(const struct attention_row *row)
{
    double sum = first_token(row);
    for (size_t key = 1; key < row->keys && row->bos >= 0; key++)
        if (row->ids[key] == row->bos)
            sum += (double)row->weights[key];
    return sum;
}

/* Weight on copies of the token that the tokenizer adds to the end of texts; NaN: it adds none. */
static double separator(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++)
        sum += row->ids[key] == row->sep ? weight_on(row, key) : 0;
    return row->sep < 0 ? (double)NAN : sum;
}

/* Weight on all other copies of the query's token; NaN: there are none. */
static double same_token(const struct attention_row *row)
{
    double sum = 0;
    bool found = false;
    for (size_t key = 0; key < row->keys; key++)
        if (key != row->query && row->ids[key] == row->ids[row->query]) {
            sum += (double)row->weights[key];
            found = true;
        }
    return found ? sum : (double)NAN;
}

static double entropy(const struct attention_row *row)
{
    return entropy_of_row(row->weights, row->keys);
}

/* Entropy relative to equal weights on all visible keys: the keys with a weight above 0. */
static double broad(const struct attention_row *row)
{
    size_t visible = 0;
    for (size_t key = 0; key < row->keys; key++)
        visible += row->weights[key] > 0;
    return visible > 1 ? entropy(row) / log_double((double)visible) : (double)NAN;
}

/* The largest weight on a token of the source, leaving out copies of the token that ends the
 * source. */
static double alignment(const struct attention_row *row)
{
    double most = 0;
    for (size_t key = 0; key < row->keys; key++)
        most = row->ids[key] == row->sep ? most : fmax(most, (double)row->weights[key]);
    return most;
}

/* The weight on the token of the source at the same relative position as the query. */
static double diagonal(const struct attention_row *row)
{
    size_t steps = num_max(row->queries - 1, 1);
    return weight_on(row, (2 * row->query * (row->keys - 1) + steps) / (2 * steps));
}

static double needle(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++)
        sum += row->marked[key] ? (double)row->weights[key] : 0;
    return sum;
}

/* 1 if the largest weight is on tokens of the needle and on no other tokens; else 0. */
static double needle_top(const struct attention_row *row)
{
    float inside = -1, outside = -1;
    for (size_t key = 0; key < row->keys; key++) {
        float *most = row->marked[key] ? &inside : &outside;
        *most = row->weights[key] > *most ? row->weights[key] : *most;
    }
    return inside > outside;
}

/* --- scores ----------------------------------------------------------------------------------- */

const struct score_row score_rows[] = {
    {"previous-token", "weight on the previous token", "previous", "prev", NULL, OF_TEXTS,
     at_offset, .usual = USUAL, .offset = -1},
    {"first-token", "weight on the first token, such as [CLS]", "first", "first", NULL, OF_TEXTS,
     first_token, .usual = USUAL},
    {"self", "weight on the token itself", "self", "self", NULL, OF_TEXTS, at_offset,
     .usual = USUAL_CAUSAL},
    {"duplicate-token", "weight on earlier copies of the token", "duplicate", "dup.", NULL,
     OF_REPEATS, at_copies, .usual = USUAL_CAUSAL},
    {"induction", "weight on the token after an earlier copy", "induction", "ind.", NULL,
     OF_REPEATS, at_copies, .usual = USUAL_CAUSAL, .offset = 1},
    {"next-token", "weight on the next token, in models that attend to it", "next", "next", NULL,
     OF_TEXTS, at_offset, .usual = USUAL_TWO_WAY, .offset = 1},
    {"separator", "weight on the token that ends texts, such as [SEP]", "separator", "sep.", NULL,
     OF_TEXTS, separator, .usual = USUAL_TWO_WAY},
    {"same-token", "weight on other copies of the token, earlier and later ones", "same", "same",
     NULL, OF_TEXTS, same_token, .usual = USUAL_TWO_WAY},
    {"broad", "entropy of the weights, as a share of that of uniform attention", "broad", "broad",
     NULL, OF_TEXTS, broad, .usual = USUAL_TWO_WAY},
    {"entropy", "entropy of the weights, in nats", "entropy", "entr.", NULL, OF_TEXTS, entropy,
     "nats", .usual = USUAL},
    {"distance", "mean distance from query to key, in tokens", "distance", "dist.", NULL, OF_TEXTS,
     distance, "tokens", .usual = USUAL},
    {"distance-variance", "variance of the distance, over all queries together", "variance", "var.",
     NULL, OF_TEXTS, distance_squared, "tokens²", .centre = distance},
    {"sink", "weight on the first token and on beginning-of-text tokens such as <s>", "sink",
     "sink", NULL, OF_TEXTS, sink},
    {"offset", "weight on the token at an offset from the query: offset:-2 is two tokens back",
     "offset", "off.", NULL, OF_TEXTS, at_offset, .takes_offset = true},
    {"copying", "fraction of words whose own logit is raised most by W_E·W_V·W_O·W_U", "copying",
     "copy", "copying", OF_WORDS},
    {"successor",
     "fraction of --pairs where the second word's logit is raised most among the words of the file",
     "successor", "succ.", "successor", OF_PAIRS},
    {"alignment", "cross-attention: largest weight on a source token, without the one that ends it",
     "alignment", "align", NULL, OF_TEXTS, alignment, .of_source = true},
    {"diagonal", "cross-attention: weight on the source token at the same relative position",
     "diagonal", "diag.", NULL, OF_TEXTS, diagonal, .of_source = true},
    {"needle", "weight from the last token to the needle", "needle", "ndl.", "retrieval",
     OF_NEEDLES, needle},
    {"needle-top", "fraction of texts where the key with the largest weight is in the needle",
     "top", "top", NULL, OF_NEEDLES, needle_top},
};
const size_t score_row_count = sizeof score_rows / sizeof *score_rows;

static const struct role roles[ROLES] = {
    {"previous-token", "previous token", "previous"},
    {"first-token", "first token", "first token"},
    {"self", "own token", "own token"},
    {"duplicate-token", "duplicate token", "duplicate"},
    {"induction", "induction", "induction"},
    {"next-token", "next token", "next"},
    {"separator", "separator", "separator"},
};
const struct roles head_roles = {0.5, 2, roles, ROLES};

static const struct score_row *score_of_role(size_t role)
{
    const struct score_row *row = score_rows;
    while (strcmp(row->name, roles[role].score) != 0)
        row++;
    return row;
}

/* Parse the argument after the colon: an offset, or `texts` or `repeats` for attention scores. */
static int parse_argument(struct score *score, const char *argument, const char *option,
                          struct err *err)
{
    const struct score_row *row = score->row;
    bool on_rows = row->material == OF_TEXTS || row->material == OF_REPEATS;
    bool on_texts = row->takes_offset || strcmp(argument, "texts") == 0;
    score->material = on_texts ? OF_TEXTS : OF_REPEATS;
    if (row->takes_offset ? num_parse_integer(argument, -OFFSET_MAX, 0, &score->offset)
                          : on_rows && (on_texts || strcmp(argument, "repeats") == 0))
        return 0;
    return err_usage(err, "%s: expected %s%s, found '%s'", option, row->name,
                     row->takes_offset ? ":N, where N is 0 or below: offset:-2"
                     : on_rows         ? ", alone or with :texts or :repeats"
                                       : "",
                     score->name);
}

const struct score *score_choose(struct score_list *list, const char *option, const char *name,
                                 struct err *err)
{
    struct score score = {.name = name};
    size_t size = strcspn(name, ":");
    size_t row = 0;
    if (names_choose_item(&row, NAMES(score_rows, score_row_count), option, name, size, err))
        return NULL;
    score.row = &score_rows[row];
    score.material = score.row->material;
    score.offset = score.row->offset;
    if ((name[size] || score.row->takes_offset) &&
        parse_argument(&score, name[size] ? name + size + 1 : "", option, err))
        return NULL;
    if (names_find(&row, NAMES(list->items, list->count), name, strlen(name)))
        return &list->items[row];
    if (list->count < SCORES_MAX) {
        list->items[list->count] = score;
        return &list->items[list->count++];
    }
    err_usage(err, "expected at most %d scores, found more", SCORES_MAX);
    return NULL;
}

static bool has_argument(const struct score *score)
{
    return strcmp(score->name, score->row->name) != 0;
}

/* --- survey ----------------------------------------------------------------------------------- */

bool head_survey_needs(const struct head_survey *survey, enum score_material material)
{
    for (size_t i = 0; i < survey->scores->count; i++)
        if (survey->measured[i].material == material)
            return true;
    return false;
}

/* Return the site that replaces the weights in layers that keep a state. */
static enum site map_of_mixers(const struct config *config)
{
    return SITE_OF(BRANCH_MIXER, mixer_of_channels(&config->mixer) ? SITE_MAP_NORM : SITE_WEIGHTS);
}

static struct head_layer heads_of(const struct config *config, size_t layer)
{
    const struct sublayer *attention = attention_of(config, BRANCH_TEXT, layer);
    if (attention || !layer_mixer(layer_of(config, BRANCH_TEXT, layer)))
        return (struct head_layer){attention ? attention->head.heads : 0, HEADS_ATTEND};
    const enum site map = map_of_mixers(config);
    return (struct head_layer){site_heads(config, map, layer),
                               site_has_heads(map) ? HEADS_MIX : HEADS_ARE_CHANNELS};
}

int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err)
{
    const struct model *model = &survey->viewer->model;
    const struct config *config = &model->config;
    const struct tokenizer *tokenizer = survey->viewer->tokenizer;
    struct text_templates special = {0};
    uint32_t bos = 0;
    bool has_bos = false, has_role = false;
    if (tokenizer && (tokenizer_find_begin(&bos, &has_bos, tokenizer, &model->folder, err) ||
                      tokenizer_special(&special, tokenizer, err)))
        return -1;
    size_t sep = text_template_before(&special.single) + 1; /* index of the special token after a
                                                             * text */
    survey->sep = sep < special.single.count ? (long long)special.single.parts[sep].id : -1;
    survey->bos = has_bos ? (long long)bos : tokenizer ? -1 : config->bos_id;

    for (size_t layer = 0; layer < config->n_layer; layer++)
        survey->across = num_max(survey->across, heads_of(config, layer).heads);
    survey->heads = config->n_layer * survey->across;
    survey->selection = (struct selection){.head_count = config->n_head};
    if (!config_keeps_state(config) || site_exists(config, SITE_WEIGHTS))
        site_set_add(&survey->selection.sites, SITE_WEIGHTS);
    if (config_keeps_state(config))
        site_set_add(&survey->selection.sites, map_of_mixers(config));
    for (size_t i = 0; i < survey->scores->count; i++) {
        const struct score *score = &survey->scores->items[i];
        if (has_encoder(config) && has_argument(score) && score->material == OF_REPEATS)
            return err_usage(err,
                             "score %s: expected a score of texts, since random tokens have no "
                             "source: leave out ':repeats'",
                             score->name);
        if (score->row->of_source && !has_encoder(config))
            return err_unsupported(err, "score %s: expected an encoder-decoder, found '%s'",
                                   score->name, model->name);
        if (score->row->of_source)
            site_set_add(&survey->selection.sites, SITE_OF(BRANCH_CROSS, SITE_WEIGHTS));
        for (size_t k = 0; k < ROLES; k++)
            has_role |= score->row == score_of_role(k);
        survey->measured[i] = *score;
        /* random tokens have no source, so an encoder-decoder is scored on texts */
        if (score->material == OF_REPEATS && config_reads_source(config))
            survey->measured[i].material = OF_TEXTS;
        if (score->material == OF_TEXTS && !config_reads_source(config) && !survey->on_texts)
            survey->measured[i].material = OF_REPEATS;
    }
    /* Roles are measured on the texts if any score is, else on repeated tokens. Without a score
     * that belongs to a role, they are not measured. */
    enum score_material of_roles = !has_role                             ? SCORE_MATERIALS
                                   : head_survey_needs(survey, OF_TEXTS) ? OF_TEXTS
                                                                         : OF_REPEATS;
    for (size_t i = 0; i < ROLES; i++)
        survey->measured[survey->scores->count + i] = (struct score){
            .row = score_of_role(i), .material = of_roles, .offset = score_of_role(i)->offset};
    if (has_encoder(config) && head_survey_needs(survey, OF_TEXTS) && !survey->on_texts)
        return err_usage(err, "--source: expected a text for the encoder-decoder '%s', found none",
                         model->name);
    return err_if((!has_encoder(config) && model_check(model, NEEDS_ONE_TEXT, err)) ||
                  selection_layers(&survey->selection, NULL, config, arena, err));
}

/* --- sums ------------------------------------------------------------------------------------- */

static size_t sums_size(const struct head_survey *survey)
{
    return (2 * survey->scores->count + ROLES) * survey->heads + ROLES;
}

size_t head_sums_bytes(const struct head_survey *survey)
{
    return sums_size(survey) * sizeof(struct mean);
}

int head_sums_init(struct head_sums *sums, const struct head_survey *survey, struct arena *arena,
                   struct err *err)
{
    size_t count = survey->scores->count * survey->heads;
    struct mean *all = arena_alloc(arena, sums_size(survey), sizeof *all, err);
    if (!all)
        return -1;
    struct mean *random = all + count + ROLES * survey->heads;
    *sums = (struct head_sums){all, random, all + count, random + count};
    return 0;
}

void head_sums_merge(struct head_sums *sums, const struct head_survey *survey,
                     const struct head_sums *others)
{
    for (size_t i = 0; i < sums_size(survey); i++) {
        sums->found[i].sum += others->found[i].sum;
        sums->found[i].count += others->found[i].count;
        sums->found[i].centre += others->found[i].centre;
    }
    for (size_t i = 0; i < SCORE_MATERIALS; i++)
        sums->counts[i] += others->counts[i];
}

/* --- passes ----------------------------------------------------------------------------------- */

/* Return the text of a label without the mark of its leading space. */
static const char *word_of(const struct label *label)
{
    static const char space[] = "␣";
    size_t size = sizeof space - 1;
    return strncmp(label->text, space, size) == 0 && label->text[size] ? label->text + size
                                                                       : label->text;
}

/* Order labels by word, then by position. */
static int order_labels(const void *a, const void *b)
{
    const struct label *one = *(const struct label *const *)a;
    const struct label *other = *(const struct label *const *)b;
    int order = strcmp(word_of(one), word_of(other));
    return order ? order : (one > other) - (one < other);
}

const uint32_t *head_copies(const struct tokenized *text, struct arena *arena, struct err *err)
{
    const struct label **sorted = arena_alloc(arena, text->count, sizeof *sorted, err);
    uint32_t *before = arena_alloc(arena, text->count, sizeof *before, err);
    if (!sorted || !before)
        return NULL;
    for (size_t i = 0; i < text->count; i++)
        sorted[i] = &text->labels[i];
    qsort(sorted, text->count, sizeof *sorted, order_labels);
    for (size_t i = 0; i < text->count; i++) {
        bool is_copy = i && strcmp(word_of(sorted[i - 1]), word_of(sorted[i])) == 0;
        before[sorted[i] - text->labels] =
            is_copy ? (uint32_t)(sorted[i - 1] - text->labels) : HEAD_NO_COPY;
    }
    return before;
}

/* The result of a measure for one query (NaN: no value). For a variance, `value` is the mean square
 * over the keys, and `centre` the mean; else `centre` is 0. */
struct measured {
    double value, centre;
};

/* A pass over texts that measures scores. The values of a layer are held until its rows are
 * complete, and then added in the order of texts and queries, whichever thread measured them. */
struct count {
    const struct head_survey *survey;
    enum score_material material;
    const struct head_text *texts; /* [text_count] */
    size_t text_count;
    bool random;              /* true: run random tokens in place of the texts */
    int layer;                /* layer of the held values; -1: none */
    bool of_source;           /* true if the held values are of cross-attention */
    struct measured **values; /* [text_count] the measured values of each text, [score, head,
                               * query]; the first axis has the scores, then the roles */
    float **maps; /* [text_count] for each text, the map [heads, T, T] of the layer's mixer; NULL:
                   * not allocated yet */
    bool of_mixer;
    int first_layer; /* the first layer that has heads */
    struct arena *arena;
};

/* True if the score at `index` (the scores, then the roles) is measured in this pass, on the kind
 * of attention that the held values have. */
static bool is_measured(const struct count *count, size_t index)
{
    const struct score *score = &count->survey->measured[index];
    bool is_role = index >= count->survey->scores->count;
    return score->material == count->material && score->row->of_source == count->of_source &&
           !(is_role && count->random);
}

/* Return the index of the first query to measure: 1, or 0 in cross-attention; with a needle, the
 * index of the last query. */
static size_t first_query(const struct count *count, const struct head_text *text)
{
    return text->marked ? text->text.count - 1 : !count->of_source;
}

/* Measure the score of a query; `weights` NULL: for uniform attention. */
static struct measured measure(const struct count *count, const struct head_text *text,
                               const struct score *score, size_t query, const float *weights)
{
    bool causal = config_is_causal(&count->survey->viewer->model.config);
    const struct attention_row row = {
        .weights = weights,
        .keys = count->of_source ? text->text.source_count
                : causal         ? query + 1
                                 : text->text.count,
        .queries = text->text.count,
        .query = query,
        .ids = count->of_source ? text->text.source_ids : text->text.ids,
        .bos = count->survey->bos,
        .sep = count->survey->sep,
        .offset = score->offset,
        .marked = text->marked,
        .before = score->name ? NULL : text->before,
    };
    return (struct measured){score->row->measure(&row),
                             score->row->centre ? score->row->centre(&row) : 0};
}

static void measure_row(void *context, const struct attention_map_row *seen)
{
    const struct count *count = context;
    const struct head_survey *survey = count->survey;
    const struct head_text *text = &count->texts[seen->text];
    size_t heads = survey->across;
    for (size_t i = 0; i < survey->scores->count + ROLES && seen->query >= first_query(count, text);
         i++)
        if (is_measured(count, i))
            count->values[seen->text][(i * heads + seen->head) * text->text.count + seen->query] =
                measure(count, text, &survey->measured[i], seen->query, seen->values);
    if (survey->watch && count->material == OF_TEXTS && !count->random && !count->of_source)
        survey->watch(text->watched, seen);
}

static void add_value(struct mean *mean, struct measured measured)
{
    if (isnan(measured.value))
        return;
    mean->sum += measured.value;
    mean->centre += measured.centre;
    mean->count++;
}

/* Measure the maps of a mixer: use absolute values, and divide each row by its sum. */
static void measure_maps(struct count *count)
{
    const struct config *config = &count->survey->viewer->model.config;
    const size_t heads = heads_of(config, (size_t)count->layer).heads;
    for (size_t t = 0; t < count->text_count; t++) {
        const size_t tokens = count->texts[t].text.count;
        for (size_t i = 0; i < heads * tokens; i++) {
            float *row = count->maps[t] + i * tokens;
            double sum = 0;
            for (size_t key = 0; key < tokens; key++)
                sum += fabs((double)row[key]);
            for (size_t key = 0; key < tokens; key++)
                row[key] = sum > 0 ? (float)(fabs((double)row[key]) / sum) : 0;
            measure_row(count, &(struct attention_map_row){.layer = count->layer,
                                                           .text = t,
                                                           .head = i / tokens,
                                                           .query = i % tokens,
                                                           .keys = tokens,
                                                           .values = row});
        }
    }
}

static void add_values(struct count *count)
{
    const struct head_survey *survey = count->survey;
    size_t across = survey->across, scores = survey->scores->count;
    if (count->layer < 0)
        return;
    if (count->of_mixer)
        measure_maps(count);
    if (count->first_layer < 0)
        count->first_layer = count->layer;
    const size_t heads = heads_of(&survey->viewer->model.config, (size_t)count->layer).heads;
    for (size_t t = 0; t < count->text_count * (scores + ROLES); t++) {
        size_t index = t / count->text_count;
        if (!is_measured(count, index))
            continue;
        const struct head_text *text = &count->texts[t % count->text_count];
        const struct measured *values = count->values[t % count->text_count];
        size_t queries = text->text.count;
        struct mean *means =
            (count->random ? text->sums->random : text->sums->found) + index * survey->heads;
        for (size_t i = 0; i < heads; i++)
            for (size_t query = first_query(count, text); query < queries; query++)
                add_value(&means[(size_t)count->layer * across + i],
                          values[(index * across + i) * queries + query]);
        for (size_t query = first_query(count, text);
             index >= scores && count->layer == count->first_layer && query < queries; query++)
            add_value(&text->sums->uniform[index - scores],
                      measure(count, text, &survey->measured[index], query, NULL));
    }
}

static int take_rows(void *context, struct attention_map_loan *loan, struct err *err)
{
    struct count *count = context;
    bool of_source = site_branch(loan->site) == BRANCH_CROSS;
    if (count->layer != loan->layer || count->of_source != of_source)
        add_values(count);
    count->layer = loan->layer;
    count->of_source = of_source;
    count->of_mixer = site_branch(loan->site) == BRANCH_MIXER;
    if (!count->of_mixer) {
        loan->take = measure_row;
        return 0;
    }
    const size_t heads = heads_of(&count->survey->viewer->model.config, (size_t)loan->layer).heads;
    const size_t cells = loan->queries * loan->keys;
    float **map = &count->maps[loan->text];
    if (!*map && !(*map = arena_room(count->arena, heads * cells, sizeof **map, err)))
        return -1;
    for (size_t head = 0; head < heads; head++)
        loan->heads[head] = *map + head * cells;
    return 0;
}

static int run(struct count *count, struct viewer *viewer, struct arena *arena, struct err *err)
{
    const struct head_survey *survey = count->survey;
    size_t measured = (survey->scores->count + ROLES) * survey->across;
    struct text *items = arena_alloc(arena, count->text_count, sizeof *items, err);
    const struct text_list list = {items, count->text_count, count->texts->number, NULL};
    struct tap tap = {.lend = take_rows, .context = count};
    count->values = arena_alloc(arena, count->text_count, sizeof *count->values, err);
    count->maps = arena_alloc(arena, count->text_count, sizeof *count->maps, err);
    for (size_t i = 0; items && count->values && i < count->text_count; i++) {
        uint64_t number = count->texts[i].number * SCORE_MATERIALS + count->material;
        uint64_t key = rng_fold_in(~survey->seed, number);
        struct text *text = &items[i];
        *text = count->texts[i].text;
        count->values[i] = arena_room(arena, text->count, measured * sizeof(struct measured), err);
        uint32_t *ids = count->random ? arena_alloc(arena, text->count, sizeof *ids, err) : NULL;
        if (!count->values[i] || (count->random && !ids))
            return -1;
        for (size_t k = 0; ids && k < text->count; k++)
            ids[k] = (uint32_t)rng_below(key, k, viewer->model.config.vocab_size);
        text->ids = ids ? ids : text->ids;
    }
    if (!items || !count->values || !count->maps ||
        viewer_run(viewer, &survey->selection, &list, tap, err))
        return -1;
    add_values(count);
    return 0;
}

int head_survey_run(const struct head_survey *survey, struct viewer *viewer,
                    enum score_material material, const struct head_text *texts, size_t count,
                    struct err *err)
{
    struct arena arena = {0};
    int failed = 0;
    for (int random = 0; random <= survey->with_baseline && !failed; random++) {
        struct count pass = {.survey = survey,
                             .material = material,
                             .texts = texts,
                             .text_count = count,
                             .random = random,
                             .layer = -1,
                             .first_layer = -1,
                             .arena = &arena};
        failed = run(&pass, viewer, &arena, err);
        arena_clear(&arena);
    }
    for (size_t i = 0; i < count && !failed; i++)
        texts[i].sums->counts[material]++;
    arena_release(&arena);
    return err_if(failed);
}

void head_survey_add_memory(struct memory *memory, const struct viewer *viewer, size_t scores,
                            const struct text_with_source *pair)
{
    const struct config *config = &viewer->model.config;
    const struct selection selection = {.sites = SITE_SET(SITE_WEIGHTS),
                                        .layers.count = config->n_layer};
    struct memory own = {0};
    viewer_add_memory(&own, viewer, &selection, pair, CAPTURE_ROWS);
    const struct mixer *mixer = &config->mixer;
    const size_t across = num_max(config->n_head, mixer->heads);
    if (mixer->d_v > 1)
        own.during += (double)mixer->heads * (double)pair->text.count * (double)pair->text.count *
                      sizeof(float);
    own.during +=
        (double)((scores + ROLES) * across) * (double)pair->text.count * sizeof(struct measured);
    memory->during = fmax(memory->during, own.during);
}

int head_survey_run_repeats(const struct head_survey *survey, struct viewer *viewer,
                            struct head_sums *sums, struct err *err)
{
    if (!head_survey_needs(survey, OF_REPEATS))
        return 0;
    uint32_t ids[REPEATS][2 * RANDOM_HALF];
    struct head_text texts[REPEATS];
    const struct config *config = &survey->viewer->model.config;
    size_t positions = config->n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    for (size_t number = 0; number < REPEATS; number++) {
        uint64_t key = rng_fold_in(survey->seed, number);
        for (size_t i = 0; i < half; i++)
            ids[number][i] = ids[number][i + half] =
                (uint32_t)rng_below(key, i, config->vocab_size);
        texts[number] = (struct head_text){{ids[number], 2 * half}, NULL, number, sums};
    }
    return edits_check_text(viewer->edits, config, 2 * half, 0, err)
               ? -1
               : head_survey_run(survey, viewer, OF_REPEATS, texts, REPEATS, err);
}

/* --- results ---------------------------------------------------------------------------------- */

/* Describe the input: "16 texts of repeated random tokens (duplicate, induction), 2 texts given
 * (the others)". */
static const char *describe_origin(const struct head_survey *survey, const struct head_sums *sums,
                                   struct arena *arena, struct err *err)
{
    static const char *const names[SCORE_MATERIALS][2] = {
        [OF_REPEATS] = {"text", " of repeated random tokens"},
        [OF_WORDS] = {"word", ""},
        [OF_PAIRS] = {"pair", " of words"},
        [OF_NEEDLES] = {"text", " with a needle"},
        [OF_TEXTS] = {"text", " given"},
    };
    struct buf text = {0};
    int last = SCORE_MATERIALS - 1;
    while (last > 0 && !sums->counts[last])
        last--;
    for (int material = 0; material <= last; material++) {
        size_t count = sums->counts[material];
        const char *joint = " (";
        if (!count)
            continue;
        const char *others = material == last && text.size ? " (the others)" : "";
        buf_format(&text, "%s%zu %s%s%s%s", text.size ? ", " : "", count, names[material][0],
                   num_plural(count), names[material][1], others);
        for (size_t i = 0; i < survey->scores->count && material < last; i++) {
            const struct score *score = &survey->measured[i];
            if ((int)score->material != material)
                continue;
            buf_format(&text, "%s%s", joint,
                       has_argument(score) ? score->name : score->row->heading);
            joint = ", ";
        }
        buf_text(&text, material < last ? ")" : "");
    }
    return buf_keep(&text, arena, err);
}

int head_result_keep(struct head_result *result, const struct head_survey *survey,
                     const struct head_sums *sums, struct arena *arena, struct err *err)
{
    const struct model *model = &survey->viewer->model;
    const size_t layers = model->config.n_layer;
    struct head_layer *of_layer = arena_alloc(arena, layers, sizeof *of_layer, err);
    if (!of_layer)
        return -1;
    *result = (struct head_result){.model = model->name,
                                   .origin = describe_origin(survey, sums, arena, err),
                                   .layers = layers,
                                   .heads = survey->across,
                                   .of_layer = of_layer,
                                   .mixes = config_keeps_state(&model->config),
                                   .sums = *sums};
    for (size_t i = 0; i < layers; i++) {
        of_layer[i] = heads_of(&model->config, i);
        result->rows += of_layer[i].heads;
    }
    return result->origin ? 0 : -1;
}

/* Make an empty column, named like "induction" or "induction_baseline". */
static int make_column(struct column *to, const struct score *score, bool is_baseline,
                       struct arena *arena, struct err *err)
{
    const struct score_row *row = score->row;
    bool argued = has_argument(score);
    *to = (struct column){
        .name = arena_format(arena, err, "%s%s", score->name, is_baseline ? "_baseline" : ""),
        .title = is_baseline ? "baseline"
                 : argued    ? score->name
                             : row->heading,
        .brief = is_baseline ? "base"
                 : argued    ? score->name + strlen(row->name)
                             : row->brief,
        .unit = row->unit,
        .flags = COLUMN_COLOURED | COLUMN_PLAIN,
        .digits = 3,
        .fraction = !row->unit,
    };
    return to->name ? 0 : -1;
}

/* Return the index of a head's role, or ROLES if it has none. */
static size_t role_of(const struct head_result *result, size_t head)
{
    size_t best = ROLES;
    double most = head_roles.least;
    for (size_t i = 0; i < ROLES; i++) {
        double value = mean_value(&result->sums.roles[i * result->layers * result->heads + head]);
        if (!(value >= head_roles.times * mean_value(&result->sums.uniform[i])) ||
            !(best == ROLES ? value >= most : value > most))
            continue;
        best = i;
        most = value;
    }
    return best;
}

/* Describe a head by its role, if the results have the role's score, and by the names for other
 * high scores: "induction, copying". NULL with `err`. */
static const char *describe_head(const struct head_results *results,
                                 const struct head_result *result, size_t head, struct arena *arena,
                                 struct err *err)
{
    size_t role = role_of(result, head);
    const char *verdict = "";
    for (size_t i = 0; i < results->scores->count; i++)
        if (role < ROLES && results->scores->items[i].row == score_of_role(role))
            verdict = head_roles.items[role].name;
    for (size_t i = 0; verdict && i < results->scores->count; i++) {
        const struct score_row *score = results->scores->items[i].row;
        const struct mean *found = &result->sums.found[i * result->layers * result->heads + head];
        bool of_file = score->material == OF_PAIRS || score->material == OF_NEEDLES;
        if (score->verdict && mean_value(found) >= VERDICT_LEAST &&
            (!of_file || found->count >= NAMED_COUNT))
            verdict =
                arena_format(arena, err, "%s%s%s", verdict, *verdict ? ", " : "", score->verdict);
    }
    return verdict;
}

/* --- table ------------------------------------------------------------------------------------ */

static const char *const kinds[] = {"attention", "mixer", "channels"};

static void add_heads(struct table_rows *rows, const struct column *columns,
                      const struct head_results *results, const struct head_result *result)
{
    size_t count = result->layers * result->heads;
    size_t scores = results->scores->count;
    bool mixes = false;
    for (size_t i = 0; i < results->count; i++)
        mixes |= results->items[i].mixes;
    struct label model = label_borrowed(result->model, false, rows->arena, rows->err);
    for (size_t i = 0; i < count && !rows->err->kind; i++) {
        size_t layer = i / result->heads, head = i % result->heads;
        if (head >= result->of_layer[layer].heads)
            continue;
        rows_label(rows, "", COLUMN_HIDDEN, label_of_head(layer, head, rows->arena, rows->err));
        if (results->count > 1)
            rows_label(rows, "model", COLUMN_KEY | COLUMN_LEADS, model);
        rows_integer(rows, "layer", COLUMN_KEY, (long long)layer);
        rows_integer(rows, "head", COLUMN_KEY, (long long)head);
        if (mixes)
            rows_text(rows, "kind", COLUMN_KEY, kinds[result->of_layer[layer].kind]);
        for (size_t k = 0; k < scores; k++) {
            rows_float(rows, columns[k], mean_value(&result->sums.found[k * count + i]));
            if (results->with_baseline)
                rows_float(rows, columns[scores + k],
                           mean_value(&result->sums.random[k * count + i]));
        }
        rows_text(rows, "verdict", COLUMN_TEXT_ONLY,
                  describe_head(results, result, i, rows->arena, rows->err));
        rows_title(rows, "");
        rows_next(rows);
    }
}

static int add_table(struct table *table, const struct head_results *results, struct arena *arena,
                     struct err *err)
{
    size_t scores = results->scores->count;
    struct table_rows rows = {.arena = arena, .err = err};
    struct column *columns = arena_alloc(arena, 2 * scores, sizeof *columns, err);
    for (size_t k = 0; k < 2 * scores; k++)
        if (!columns ||
            make_column(&columns[k], &results->scores->items[k % scores], k >= scores, arena, err))
            return -1;
    for (size_t m = 0; m < results->count; m++)
        rows.most += results->items[m].rows;
    for (size_t m = 0; m < results->count; m++)
        add_heads(&rows, columns, results, &results->items[m]);
    return rows_finish(table, &rows, "heads", "head");
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool origins_differ(const struct head_results *results)
{
    bool differ = false;
    for (size_t m = 1; m < results->count; m++)
        differ |= strcmp(results->items[m].origin, results->items->origin) != 0;
    return differ;
}

static int begin_report(struct report *report, const struct head_results *results,
                        struct arena *arena, struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    const struct head_result *first = results->items;
    size_t heads = first->layers * first->heads;
    struct buf names = {0};
    for (size_t m = 0; m < results->count; m++)
        buf_format(&names, "%s%s", m ? ", " : "", results->items[m].model);
    const char *model = buf_keep(&names, arena, err);
    if (!facts || !model)
        return -1;
    if (!origins_differ(results))
        facts_text(facts, "measured_on", first->origin);
    if (results->items->sums.counts[OF_TEXTS])
        facts_integer(facts, "texts", (long long)results->items->sums.counts[OF_TEXTS]);
    for (size_t i = 0; results->count == 1 && i < results->scores->count; i++) {
        const char *name = arena_format(arena, err, "%s_count", results->scores->items[i].name);
        if (!name)
            return -1;
        facts_integer(facts, name, (long long)first->sums.found[i * heads].count);
    }
    *report = (struct report){.model = model, .facts = &facts->table, .has_encoder = true};
    return 0;
}

/* Suggest the command that explains the strongest induction head; "" if there is none. NULL with
 * `err`. */
static const char *suggest_why(const struct head_results *results, struct arena *arena,
                               struct err *err)
{
    const struct head_result *result = results->items;
    const size_t heads = result->layers * result->heads;
    size_t best = heads;
    double most = VERDICT_LEAST;
    for (size_t i = 0; i < results->scores->count; i++)
        for (size_t head = 0; head < heads; head++) {
            double value = mean_value(&result->sums.found[i * heads + head]);
            if (strcmp(results->scores->items[i].name, "induction") != 0 || !(value >= most))
                continue;
            most = value;
            best = head;
        }
    char name[HEAD_NAME_BYTES];
    head_name(name, best / result->heads, best % result->heads);
    return best == heads ? ""
                         : arena_format(arena, err,
                                        ". Why %s attends there: attn-cli attribute TEXT "
                                        "--head %s --key KEY",
                                        name, name);
}

/* A note on how layers that keep a state are scored, or "" if there are no such layers. */
static const char *note_of_mixers(const struct head_results *results)
{
    bool heads = false, channels = false;
    for (size_t m = 0; m < results->count; m++)
        for (size_t i = 0; i < results->items[m].layers; i++) {
            heads |= results->items[m].of_layer[i].kind == HEADS_MIX;
            channels |= results->items[m].of_layer[i].kind == HEADS_ARE_CHANNELS;
        }
    return heads && channels ? ". mixer and channels: a layer that keeps a state, scored by "
                               "|mix_map|, or by mix_map_norm of all channels as one, divided by "
                               "the sum of its row"
           : heads    ? ". mixer: a layer that keeps a state, scored by |mix_map| divided by "
                        "the sum of its row"
           : channels ? ". channels: a layer that keeps a state, all its channels as one, "
                        "scored by mix_map_norm divided by the sum of its row"
                      : "";
}

struct table *head_table_report(struct report *report, const struct head_results *results,
                                struct arena *arena, struct err *err)
{
    struct table *tables = arena_alloc(arena, 2, sizeof *tables, err);
    struct table_rows models = {.most = results->count, .arena = arena, .err = err};
    if (!tables || begin_report(report, results, arena, err) ||
        add_table(&tables[0], results, arena, err))
        return NULL;
    for (size_t m = 0; m < results->count; m++, rows_next(&models)) {
        const struct head_result *result = &results->items[m];
        rows_label(&models, "model", COLUMN_KEY, label_borrowed(result->model, false, arena, err));
        rows_text(&models, "weights_sha256", COLUMN_DATA_ONLY, result->hash);
        rows_text(&models, "measured_on", 0, result->origin);
    }
    if (rows_finish(&tables[1], &models, "models", "model"))
        return NULL;
    report->tables = tables;
    report->table_count = results->count > 1 ? 2 : 1;
    if (origins_differ(results))
        return tables;
    tables[1].flags = COLUMN_DATA_ONLY;
    const char *next = results->count == 1 ? suggest_why(results, arena, err) : "";
    if (next)
        tables->note = arena_format(arena, err, "measured on %s%s%s", results->items->origin, next,
                                    note_of_mixers(results));
    return tables->note ? tables : NULL;
}

int head_grid_report(struct report *report, const struct head_results *results,
                     const struct score *only, struct arena *arena, struct err *err)
{
    const struct head_result *result = results->items;
    size_t heads = result->layers * result->heads;
    struct array array = {.layer = -1};
    struct table table;
    if (begin_report(report, results, arena, err) || add_table(&table, results, arena, err) ||
        axis_of_numbers(&array.rows, "layer", NULL, result->layers, arena, err) ||
        axis_of_numbers(&array.columns, "head", NULL, result->heads, arena, err))
        return -1;
    for (size_t k = 0; k < table.count; k++) {
        const struct column *column = &table.columns[k];
        if (!column_is_result(column))
            continue;
        float *values = arena_alloc(arena, heads, sizeof *values, err);
        for (size_t i = 0, row = 0; values && i < heads; i++)
            values[i] = i % result->heads < result->of_layer[i / result->heads].heads
                            ? (float)column_float(column, row++)
                            : NAN;
        array.name = column->name;
        array.data = values;
        array.display.fraction = column->fraction;
        if (!values || report_add_array(report, &array, arena, err))
            return -1;
    }
    report->about = arena_format(arena, err, "%s%smeasured on %s%s", only ? only->row->about : "",
                                 only ? " · " : "", result->origin, note_of_mixers(results));
    return report->about ? 0 : -1;
}
