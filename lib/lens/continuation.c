#include "lens/continuation.h"
#include "lens/viewer.h"

#include <string.h>

#include "base/num.h"
#include "lens/tokenized.h"
#include "model/sampler.h"

static const struct config *config_of(const struct continuation *text)
{
    return &text->viewer->model.config;
}

static bool has_source(const struct continuation *text)
{
    return config_of(text)->n_encoder_layer;
}

static int keep_logits(void *context, const struct announcement *seen, struct err *err)
{
    struct continuation *text = context;
    struct tensor last = tensor_slice(&seen->values, seen->values.shape[0] - 1);
    float *logits = arena_room(&text->step, tensor_count(&last), sizeof *logits, err);
    if (!logits)
        return -1;
    tensor_copy(logits, &last);
    text->logits = logits;
    return 0;
}

/* The tokens whose keys are in the cache, and are still what they would be in the text as it is
 * now: where that turns all of them by its length, they begin anew. */
static size_t keep_past(struct continuation *text)
{
    const struct config *c = config_of(text);
    size_t past = text->cache.count;
    if (past && (rotary_depends(&c->rotary, past, text->count) ||
                 rotary_depends(&c->rotary_local, past, text->count)))
        cache_forget(&text->cache, 0);
    return text->cache.count;
}

/* Read the tokens that no pass has seen yet, for the next choice. */
static int read_on(struct continuation *text, struct likeliest *choice, struct err *err)
{
    struct selection selection = {.sites = site_bit(SITE_LOGITS), .last_logits = true};
    size_t past = keep_past(text);
    struct text fresh = {.ids = text->ids + past,
                         .count = text->count - past,
                         .source_ids = text->source->ids,
                         .source_count = text->source->count,
                         .prompt_count = text->prompt_count,
                         .cache = &text->cache,
                         .source_cache = has_source(text) ? &text->source_cache : NULL};
    struct text_list one = {.items = &fresh, .count = 1};
    struct tap tap = {
        .sink = keep_logits, .likeliest = text->screens ? choice : NULL, .context = text};
    arena_clear(&text->step);
    text->logits = NULL;
    return viewer_run(text->viewer, &selection, &one, tap, err);
}

/* The prompt's own words; for ids, those they stand for. */
static int begin_text(struct continuation *text, const struct tokenized *prompt, struct err *err)
{
    if (prompt->text)
        buf_bytes(&text->text, prompt->text, prompt->size);
    for (size_t i = 0; i < prompt->count; i++) {
        text->ids[i] = prompt->tokens[i].id;
        text->tokens[i] = prompt->tokens[i];
        if (prompt->text)
            continue;
        text->tokens[i].start = wording_add(&text->text, text->viewer->tokenizer, text->ids[i]);
        text->tokens[i].end = text->text.size;
    }
    text->count = text->prompt_count = prompt->count;
    return buf_check(&text->text, err);
}

static int take_room(struct continuation *text, size_t prompt_count, struct err *err)
{
    size_t positions = config_of(text)->n_positions;
    text->room = prompt_count + text->generation.tokens;
    if (positions && text->room > positions)
        text->room = positions;
    text->ids = arena_alloc(&text->arena, text->room, sizeof *text->ids, err);
    text->tokens = arena_alloc(&text->arena, text->room, sizeof *text->tokens, err);
    return text->ids && text->tokens ? 0 : -1;
}

static int check_model(struct continuation *text, struct err *err)
{
    const struct model *model = &text->viewer->model;
    if (cache_init(&text->cache, &model->config, err)) {
        bool about_option = err && err->kind == ERR_USAGE;
        return about_option ? -1 : err_prefix(err, "'%s'", model->name);
    }
    if (!site_exists(&model->config, SITE_LOGITS))
        return err_unsupported(err,
                               "'%s': a model of type \"%s\" has no logits to choose a next "
                               "token by",
                               model->name, config_kind_name(&model->config));
    return 0;
}

static int read_ends(const struct continuation *text, struct err *err)
{
    struct model *model = &text->viewer->model;
    return text->generation.past_end ? 0 : config_read_ends(&model->config, &model->folder, err);
}

int continuation_open(struct continuation *text, struct viewer *viewer,
                      const struct text_pair *pair, const struct generation_config *generation,
                      struct err *err)
{
    const struct tokenized *prompt = &pair->sentence;
    *text =
        (struct continuation){.viewer = viewer, .generation = *generation, .source = &pair->source};
    if (check_model(text, err) || read_ends(text, err) ||
        batch_check_length(config_of(text), prompt->count, err) ||
        take_room(text, prompt->count, err) || begin_text(text, prompt, err) ||
        sampler_init(&text->sampler, &generation->sampling, config_of(text)->vocab_size,
                     &text->arena, err)) {
        continuation_release(text);
        return -1;
    }
    if (has_source(text))
        cache_init_source(&text->source_cache, config_of(text));
    /* is the likeliest token all that is asked of a pass, and does it pay to ask for no more? */
    size_t steps = text->room - text->prompt_count;
    bool needs_logits = generation->sampling.temperature > 0 || generation->logits;
    text->screens = !needs_logits && viewer_screens(viewer, steps);
    viewer_expect_steps(viewer, text->screens ? 0 : steps);
    return 0;
}

void continuation_release(struct continuation *text)
{
    if (text->cache.config)
        cache_release(&text->cache);
    if (text->source_cache.config)
        cache_release(&text->source_cache);
    buf_release(&text->text);
    arena_release(&text->arena);
    arena_release(&text->step);
    *text = (struct continuation){0};
}

static int add_token(struct continuation *text, struct err *err)
{
    struct token *token = &text->tokens[text->count];
    text->shown = text->text.size;
    text->ids[text->count] = token->id = text->chosen;
    token->start = wording_add(&text->text, text->viewer->tokenizer, text->chosen);
    token->end = text->text.size;
    text->count++;
    return buf_check(&text->text, err);
}

int continuation_next(struct continuation *text, bool *more, struct err *err)
{
    struct likeliest choice = {0};
    *more = false;
    if (text->count - text->prompt_count == text->generation.tokens)
        text->end = END_AS_ASKED;
    else if (text->count == text->room)
        text->end = END_OF_CONTEXT;
    if (text->end != GOES_ON)
        return 0;
    if (read_on(text, &choice, err))
        return -1;
    text->chosen = choice.known ? choice.id : sampler_next(&text->sampler, text->logits);
    if (!text->generation.past_end && config_ends(config_of(text), text->chosen)) {
        text->end = END_OF_TEXT;
        return 0;
    }
    *more = true;
    return add_token(text, err);
}

int continuation_report(struct continuation *text, struct report *report, struct arena *arena,
                        struct err *err)
{
    static const struct selection nothing = {0};
    const struct selection *selection = text->generation.selection;
    struct text_pair pair = {.source = *text->source, .prompt_count = text->prompt_count};
    struct look look = {
        .selection = selection ? selection : &nothing,
        .pairs = &pair,
        .count = 1,
        .reports = report,
    };
    /* the text with its tokens, as if it had been given whole */
    struct tokens tokens = {.items = text->tokens, .count = text->count};
    if (tokenized_label(&pair.sentence, &tokens, text->viewer->tokenizer, arena, err))
        return -1;
    pair.sentence.text = text->viewer->tokenizer ? text->text.bytes : NULL;
    pair.sentence.size = pair.sentence.text ? text->text.size : 0;
    return viewer_look(text->viewer, &look, arena, err);
}

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

/* --- tables ----------------------------------------------------------------------------------- */

/* The label of a token. In a long table rows share those of `known`, by their ids; else NULL. */
static int label_likely(struct label *label, struct label *known, const struct likely *likely,
                        const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    struct label *made = known ? &known[likely->id] : label;
    if (!made->text && label_of_word(made, tokenizer, likely->id, arena, err))
        return -1;
    *label = *made;
    return 0;
}

int likely_frame(struct frame *frame, const struct likely_table *table, struct arena *arena,
                 struct err *err)
{
    enum { RANK, ID, TEXT, LOGPROB, OWN };
    static const struct column own[OWN] = {
        [RANK] = {"rank", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
        [ID] = {"id", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
        [TEXT] = {"text", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [LOGPROB] = {"logprob"}, /* in the unit of another table's column of that name */
    };
    size_t keys = table->keys;
    size_t most = table->places->rows.size * table->each;
    struct column *columns = arena_alloc(arena, keys + OWN, sizeof *columns, err);
    if (!columns)
        return -1;
    memcpy(columns, table->places->columns, keys * sizeof *columns);
    memcpy(columns + keys, own, sizeof own);
    for (size_t i = 0; i < keys; i++)
        columns[i].values = NULL;
    *frame = (struct frame){table->name, {"choice", most, NULL, 0}, .flags = COLUMN_DATA_ONLY};
    if (frame_columns(frame, columns, keys + OWN, arena, err))
        return -1;
    size_t words = 0; /* ids are below */
    for (size_t i = 0; i < most; i++)
        if (table->lists[i / table->each])
            words = num_max(words, table->lists[i / table->each][i % table->each].id + (size_t)1);
    struct label *known = NULL;
    if (most >= words && !(known = arena_alloc(arena, words, sizeof *known, err)))
        return -1;
    size_t row = 0;
    for (size_t i = 0; i < most; i++) {
        size_t place = i / table->each;
        if (!table->lists[place])
            continue;
        const struct likely *likely = &table->lists[place][i % table->each];
        if (label_likely(&frame_labels(frame, keys + TEXT)[row], known, likely, table->tokenizer,
                         arena, err))
            return -1;
        for (size_t k = 0; k < keys; k++)
            frame_integers(frame, k)[row] = column_integer(&table->places->columns[k], place);
        frame_integers(frame, keys + RANK)[row] = (long long)(i % table->each) + 1;
        frame_integers(frame, keys + ID)[row] = likely->id;
        frame_floats(frame, keys + LOGPROB)[row++] = likely->logprob;
    }
    frame->rows.labels = frame_labels(frame, keys + TEXT);
    frame->rows.size = row;
    return 0;
}

const char *likely_text(const struct likely *list, size_t count, const struct tokenizer *tokenizer,
                        struct arena *arena, struct err *err)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        struct label label;
        if (label_of_word(&label, tokenizer, list[i].id, arena, err)) {
            buf_release(&text);
            return NULL;
        }
        buf_format(&text, "%s%s %.2f", i ? "  " : "", label.text,
                   num_shown((double)list[i].logprob, 2));
    }
    return buf_keep(&text, arena, err);
}

/* Choices that were looked at have two columns more. */
enum { STEP, ID, TEXT, LOGPROB, MOST_LIKELY, STEP_COLUMNS };

static int fill_step(struct frame *steps, size_t step, uint32_t id, const struct choice *choice,
                     const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    struct label *label = &frame_labels(steps, TEXT)[step];
    frame_integers(steps, STEP)[step] = (long long)step;
    frame_integers(steps, ID)[step] = id;
    if (label_of_word(label, tokenizer, id, arena, err))
        return -1;
    if (!choice)
        return 0;
    frame_floats(steps, LOGPROB)[step] = choice->chosen.logprob;
    return (frame_texts(steps, MOST_LIKELY)[step] =
                likely_text(choice->best, choice->best_count, tokenizer, arena, err))
               ? 0
               : -1;
}

static int list_choices(struct frame *frame, const struct frame *steps,
                        const struct choice *choices, const struct tokenizer *tokenizer,
                        struct arena *arena, struct err *err)
{
    size_t count = steps->rows.size;
    const struct likely **lists = arena_alloc(arena, count, sizeof *lists, err);
    for (size_t i = 0; lists && i < count; i++)
        lists[i] = choices[i].best;
    const struct likely_table table = {"choices", steps, 1, lists, count ? choices->best_count : 0,
                                       tokenizer};
    return lists ? likely_frame(frame, &table, arena, err) : -1;
}

int continuation_tables(struct report *report, const struct continuation *text,
                        const struct choice *choices, struct arena *arena, struct err *err)
{
    static const char *const ends[] = {"", "tokens", "text", "context"}; /* by continuation_end */
    static const struct column columns[STEP_COLUMNS] = {
        [STEP] = {"step", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
        [ID] = {"id", .kind = COLUMN_INTEGER},
        [TEXT] = {"text", "token", .kind = COLUMN_LABEL, .flags = COLUMN_SHRINKS},
        [LOGPROB] = {"logprob", .unit = "nats", .digits = 4},
        [MOST_LIKELY] = {"most likely", .kind = COLUMN_TEXT,
                         .flags = COLUMN_TEXT_ONLY | COLUMN_SHRINKS},
    };
    const struct tokenizer *tokenizer = text->viewer->tokenizer;
    size_t added = text->count - text->prompt_count;
    size_t count = added + (text->end == END_OF_TEXT);
    struct frame *frames = arena_alloc(arena, 2, sizeof *frames, err);
    struct facts *facts = facts_new(arena, err);
    if (!frames || !facts)
        return -1;
    *frames = (struct frame){"tokens", {"step", count, NULL, 0}};
    if (frame_columns(frames, columns, choices ? STEP_COLUMNS : LOGPROB, arena, err))
        return -1;
    frames->rows.labels = frame_labels(frames, TEXT);
    for (size_t i = 0; i < count; i++)
        if (fill_step(frames, i, i < added ? text->ids[text->prompt_count + i] : text->chosen,
                      choices ? &choices[i] : NULL, tokenizer, arena, err))
            return -1;
    if (choices && list_choices(&frames[1], frames, choices, tokenizer, arena, err))
        return -1;
    facts_integer(facts, "prompt_tokens", (long long)text->prompt_count);
    facts_text(facts, "end_of", ends[text->end]);
    report->frames = frames;
    report->frame_count = choices ? 2 : 1;
    report->facts = &facts->frame;
    return 0;
}
