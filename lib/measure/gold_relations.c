#include "measure/gold_relations.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "math/rng.h"

enum { NO_WORD = 0, RELATIONS_MAX = 4096, OFFSETS = 64 /* the farthest that is tried */ };

struct gold_relation {
    const char *name; /* "obj", "nsubj/head" */
    size_t pairs;
    size_t offsets[OFFSETS + 1]; /* how many have the other word so many before */
    size_t *hits, *random;       /* [L · H] */
};

/* A sentence as it is counted: words are numbered from 1. */
struct sentence {
    struct gold *gold;
    const struct conllu_sentence *words;
    struct text_pair pair;
    size_t *word_of;   /* [tokens] NO_WORD: of none */
    size_t *tokens_of; /* [words + 1] how many */
    size_t *ends;      /* [words + 1] of their bytes in the text */
    struct arc *arcs;  /* by the later word */
    size_t arc_count;
    double *given; /* [words + 1] by one word to each */
    bool random;
};

struct arc {
    size_t later, earlier, relation;
};

/* --- relations -------------------------------------------------------------------------------- */

static size_t head_count(const struct gold *gold)
{
    const struct config *c = &gold->viewer->model.config;
    return c->n_layer * c->n_head;
}

/* The place of a relation in a direction. */
static int find_relation(struct gold *gold, size_t *place, const char *relation, bool from_head,
                         struct err *err)
{
    const char *name =
        arena_format(&gold->of_sentence, err, "%s%s", relation, from_head ? "/head" : "");
    if (!name)
        return -1;
    for (*place = 0; *place < gold->count; ++*place)
        if (strcmp(gold->relations[*place].name, name) == 0)
            return 0;
    if (gold->count == RELATIONS_MAX)
        return err_set(err, "expected at most %d relations, found more", RELATIONS_MAX);
    struct gold_relation *relations =
        arena_grow(&gold->arena, gold->relations, gold->count, sizeof *relations, err);
    if (!relations)
        return -1;
    gold->relations = relations;
    struct gold_relation *fresh = &relations[gold->count];
    fresh->name = arena_text(&gold->arena, name, strlen(name), err);
    fresh->hits = arena_alloc(&gold->arena, head_count(gold), sizeof *fresh->hits, err);
    fresh->random = arena_alloc(&gold->arena, head_count(gold), sizeof *fresh->random, err);
    if (!fresh->name || !fresh->hits || !fresh->random)
        return -1;
    gold->count++;
    return 0;
}

/* --- a sentence: its text, its tokens, its arcs ----------------------------------------------- */

static int write_text(struct sentence *s, struct buf *text, struct err *err)
{
    for (size_t i = 1; i <= s->words->count; i++) {
        const struct conllu_word *word = &s->words->words[i];
        buf_bytes(text, word->form, word->size);
        s->ends[i] = text->size;
        if (word->space_after && i < s->words->count)
            buf_char(text, ' ');
    }
    return buf_check(text, err);
}

static void place_tokens(struct sentence *s)
{
    const struct tokenized *text = &s->pair.sentence;
    size_t word = 1;
    for (size_t i = 0; i < text->count; i++) {
        size_t at = text->tokens[i].start;
        while (at < text->tokens[i].end && text->text[at] == ' ')
            at++;
        if (at == text->tokens[i].end)
            continue;
        while (word < s->words->count && s->ends[word] <= at)
            word++;
        s->word_of[i] = word;
        s->tokens_of[word]++;
    }
}

static int compare_arcs(const void *a, const void *b)
{
    const struct arc *one = a;
    const struct arc *other = b;
    return one->later != other->later
               ? (one->later > other->later) - (one->later < other->later)
               : (one->earlier > other->earlier) - (one->earlier < other->earlier);
}

static int find_arcs(struct sentence *s, struct err *err)
{
    struct gold *gold = s->gold;
    for (size_t i = 1; i <= s->words->count; i++) {
        size_t head = s->words->words[i].head;
        struct arc arc = {.later = head > i ? head : i, .earlier = head > i ? i : head};
        if (!head)
            continue;
        if (!s->tokens_of[i] || !s->tokens_of[head]) {
            gold->left_out++;
            continue;
        }
        if (find_relation(gold, &arc.relation, s->words->words[i].relation, head > i, err))
            return -1;
        struct gold_relation *relation = &gold->relations[arc.relation];
        relation->pairs++;
        if (arc.later - arc.earlier <= OFFSETS)
            relation->offsets[arc.later - arc.earlier]++;
        s->arcs[s->arc_count++] = arc;
    }
    qsort(s->arcs, s->arc_count, sizeof *s->arcs, compare_arcs);
    return 0;
}

static int open_sentence(struct sentence *s, struct buf *text, struct err *err)
{
    struct arena *arena = &s->gold->of_sentence;
    size_t words = s->words->count;
    s->ends = arena_alloc(arena, words + 1, sizeof *s->ends, err);
    if (!s->ends || write_text(s, text, err))
        return -1;
    struct input input = {.text = text->bytes, .size = text->size};
    if (viewer_read(s->gold->viewer, &s->pair, &input, NULL, arena, err))
        return -1;
    s->word_of = arena_alloc(arena, s->pair.sentence.count, sizeof *s->word_of, err);
    s->tokens_of = arena_alloc(arena, words + 1, sizeof *s->tokens_of, err);
    s->given = arena_alloc(arena, words + 1, sizeof *s->given, err);
    s->arcs = arena_alloc(arena, words, sizeof *s->arcs, err);
    if (!s->word_of || !s->tokens_of || !s->given || !s->arcs)
        return -1;
    place_tokens(s);
    return find_arcs(s, err);
}

/* --- what heads find -------------------------------------------------------------------------- */

/* The word before it that a word gives most to: that of a head's weights [T, T]. */
static size_t found_by(struct sentence *s, const struct tensor *weights, size_t word)
{
    size_t best = 0;
    memset(s->given, 0, (word + 1) * sizeof *s->given);
    for (size_t query = 0; query < s->pair.sentence.count; query++) {
        const float *row = weights->data + query * weights->stride[0];
        for (size_t key = 0; key <= query && s->word_of[query] == word; key++)
            if (s->word_of[key] <= word)
                s->given[s->word_of[key]] += (double)row[key]; /* all have as many queries */
    }
    for (size_t other = 1; other < word; other++)
        if (s->tokens_of[other] && (!best || s->given[other] > s->given[best]))
            best = other;
    return best;
}

static int see(void *context, const struct announcement *seen, struct err *err)
{
    (void)err;
    struct sentence *s = context;
    size_t heads = seen->values.shape[0];
    for (size_t head = 0; head < heads; head++) {
        struct tensor weights = tensor_slice(&seen->values, head);
        size_t place = (size_t)seen->layer * heads + head;
        size_t found = 0;
        for (size_t i = 0; i < s->arc_count; i++) {
            const struct arc *arc = &s->arcs[i];
            struct gold_relation *relation = &s->gold->relations[arc->relation];
            if (i == 0 || arc->later != s->arcs[i - 1].later)
                found = found_by(s, &weights, arc->later);
            (s->random ? relation->random : relation->hits)[place] += found == arc->earlier;
        }
    }
    return 0;
}

static int run(struct sentence *s, const uint32_t *ids, struct err *err)
{
    const struct config *config = &s->gold->viewer->model.config;
    struct selection selection = {.sites = site_bit(SITE_WEIGHTS), .head_count = config->n_head};
    struct text text = {.ids = ids, .count = s->pair.sentence.count};
    struct text_list one = {.items = &text, .count = 1};
    if (selection_layers(&selection, NULL, config, &s->gold->of_sentence, err))
        return -1;
    return viewer_run(s->gold->viewer, &selection, &one, (struct tap){.sink = see, .context = s},
                      err);
}

static int run_random(struct sentence *s, struct err *err)
{
    struct gold *gold = s->gold;
    uint64_t key = rng_fold_in(~gold->seed, gold->sentences);
    size_t limit = gold->viewer->model.config.vocab_size;
    size_t count = s->pair.sentence.count;
    uint32_t *ids = arena_alloc(&gold->of_sentence, count, sizeof *ids, err);
    for (size_t i = 0; ids && i < count; i++)
        ids[i] = (uint32_t)rng_below(key, i, limit);
    s->random = true;
    return ids ? run(s, ids, err) : -1;
}

int gold_add(struct gold *gold, const struct conllu_sentence *sentence, struct err *err)
{
    const struct config *config = &gold->viewer->model.config;
    struct sentence s = {.gold = gold, .words = sentence};
    struct buf text = {0};
    if (config->cross || !config->causal)
        return err_unsupported(err, "'%s': expected a model whose tokens look back at one text",
                               gold->viewer->model.name);
    arena_clear(&gold->of_sentence);
    int failed =
        open_sentence(&s, &text, err) || run(&s, s.pair.sentence.ids, err) || run_random(&s, err);
    gold->sentences += !failed;
    buf_release(&text);
    return failed ? -1 : 0;
}

/* --- what comes of it ------------------------------------------------------------------------- */

enum column { PAIRS, LAYER, HEAD, ACCURACY, RANDOM, OFFSET, BY_OFFSET, COLUMNS };

static size_t most(const size_t *counts, size_t size)
{
    size_t best = 0;
    for (size_t i = 1; i < size; i++)
        best = counts[i] > counts[best] ? i : best;
    return best;
}

/* By how many pairs they have, then by name. */
static int compare_relations(const void *a, const void *b)
{
    const struct gold_relation *one = a;
    const struct gold_relation *other = b;
    if (one->pairs != other->pairs)
        return one->pairs < other->pairs ? 1 : -1;
    return strcmp(one->name, other->name);
}

static struct label label_of(const char *text)
{
    return (struct label){text, text, text};
}

static void fill_row(const struct gold *gold, const struct gold_relation *relation, float *row,
                     float *accuracies)
{
    size_t heads = gold->viewer->model.config.n_head;
    size_t best = most(relation->hits, head_count(gold));
    size_t offset = most(relation->offsets, OFFSETS + 1);
    float pairs = (float)relation->pairs;
    for (size_t i = 0; i < head_count(gold); i++)
        accuracies[i] = (float)relation->hits[i] / pairs;
    row[PAIRS] = pairs;
    row[LAYER] = (float)(best / heads);
    row[HEAD] = (float)(best % heads);
    row[ACCURACY] = accuracies[best];
    row[RANDOM] = (float)relation->random[best] / pairs;
    row[OFFSET] = -(float)offset;
    row[BY_OFFSET] = (float)relation->offsets[offset] / pairs;
}

static int fill(struct sheet *sheets, const struct gold *gold, struct arena *arena, struct err *err)
{
    struct gold_relation *sorted = arena_alloc(arena, gold->count, sizeof *sorted, err);
    struct label *names = arena_alloc(arena, gold->count, sizeof *names, err);
    float *rows = arena_alloc(arena, gold->count * COLUMNS, sizeof *rows, err);
    float *accuracies = arena_alloc(arena, gold->count * head_count(gold), sizeof *rows, err);
    const char **texts = arena_alloc(arena, gold->count * COLUMNS, sizeof *texts, err);
    if (!sorted || !names || !rows || !accuracies || !texts)
        return -1;
    memcpy(sorted, gold->relations, gold->count * sizeof *sorted);
    qsort(sorted, gold->count, sizeof *sorted, compare_relations);
    for (size_t i = 0; i < gold->count; i++) {
        const char *name = arena_text(arena, sorted[i].name, strlen(sorted[i].name), err);
        fill_row(gold, &sorted[i], rows + i * COLUMNS, accuracies + i * head_count(gold));
        if (!name)
            return -1;
        names[i] = label_of(name);
        for (size_t k = 0; k < COLUMNS; k++) {
            bool whole = k != ACCURACY && k != RANDOM && k != BY_OFFSET;
            size_t cell = i * COLUMNS + k;
            texts[cell] = arena_format(arena, err, whole ? "%.0f" : "%.4f",
                                       num_shown((double)rows[cell], whole ? 0 : 4));
            if (!texts[cell])
                return -1;
        }
    }
    sheets[0].rows = sheets[1].rows = (struct axis){"relation", gold->count, names, 0};
    sheets[0].values = rows;
    sheets[0].texts = texts;
    sheets[1].values = accuracies;
    return 0;
}

int gold_report(struct report *report, const struct gold *gold, struct arena *arena,
                struct err *err)
{
    static const char *const columns[COLUMNS] = {
        [PAIRS] = "pairs", [LAYER] = "layer",   [HEAD] = "head",         [ACCURACY] = "accuracy",
        [RANDOM] = "null", [OFFSET] = "offset", [BY_OFFSET] = "baseline"};
    size_t heads = gold->viewer->model.config.n_head;
    struct sheet *sheets = arena_alloc(arena, 2, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, 2, sizeof *kept, err);
    struct label *labels = arena_alloc(arena, COLUMNS + head_count(gold), sizeof *labels, err);
    if (!sheets || !kept || !labels)
        return -1;
    for (size_t i = 0; i < COLUMNS; i++)
        labels[i] = label_of(columns[i]);
    for (size_t i = 0; i < head_count(gold); i++)
        if (label_of_head(&labels[COLUMNS + i], i / heads, i % heads, arena, err))
            return -1;
    sheets[0] = (struct sheet){.tensor = "relations", .layer = -1, .head = -1};
    sheets[1] = (struct sheet){.tensor = "accuracy", .layer = -1, .head = -1};
    sheets[0].columns = (struct axis){"best", COLUMNS, labels, 0};
    sheets[1].columns = (struct axis){"head", head_count(gold), labels + COLUMNS, 0};
    if (fill(sheets, gold, arena, err))
        return -1;
    kept[0] = kept_made(&sheets[0]);
    kept[1] = kept_made(&sheets[1]);
    *report = (struct report){
        .model = gold->viewer->model.name, .tensors = kept, .tensor_count = 2, .has_encoder = true};
    return 0;
}

void gold_release(struct gold *gold)
{
    arena_release(&gold->arena);
    arena_release(&gold->of_sentence);
}
