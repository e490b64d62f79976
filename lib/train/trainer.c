#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/replacement.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "format/safetensors.h"
#include "math/isa.h"
#include "math/rng.h"
#include "model/layer.h"

/* --- dataset ---------------------------------------------------------------------------------- */

static int add_line(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                    size_t size, struct err *err)
{
    struct arena arena = {0};
    struct tokens tokens = {0};
    const uint32_t start = (uint32_t)dataset->count;
    int failed = tokenizer_encode(tokenizer, &tokens, bytes, size, &arena, err);
    if (tokens.count)
        buf_bytes(&dataset->start_bytes, &start, sizeof start);
    for (size_t i = 0; i < tokens.count; i++) {
        buf_bytes(&dataset->id_bytes, &tokens.items[i].id, sizeof *dataset->ids);
        dataset->digest = rng_fold_in(dataset->digest, tokens.items[i].id);
    }
    dataset->count += tokens.count;
    dataset->start_count += tokens.count > 0;
    arena_release(&arena);
    failed = failed || buf_check(&dataset->id_bytes, err) || buf_check(&dataset->start_bytes, err);
    dataset->ids = (const void *)dataset->id_bytes.bytes;
    dataset->starts = (const void *)dataset->start_bytes.bytes;
    if (!failed && dataset->count > UINT32_MAX / 2)
        return err_set(err, "expected at most %u tokens in all", UINT32_MAX / 2);
    return err_if(failed);
}

/* Encode each line alone, with its newline. */
int dataset_add(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                size_t size, struct err *err)
{
    size_t number = 1;
    for (size_t at = 0; at < size; number++) {
        const char *newline = memchr(bytes + at, '\n', size - at);
        size_t end = newline ? (size_t)(newline - bytes) + 1 : size;
        if (add_line(dataset, tokenizer, bytes + at, end - at, err))
            return err_prefix(err, "line %zu", number);
        at = end;
    }
    return 0;
}

/* Count the pair that was just added to `pair_bytes`, and update the pointers to memory that may
 * have moved. */
static int keep_pair(struct dataset *dataset, struct err *err)
{
    dataset->pair_count++;
    dataset->ids = (const void *)dataset->id_bytes.bytes;
    dataset->pairs = (void *)dataset->pair_bytes.bytes;
    dataset->segments = (const void *)dataset->segment_bytes.bytes;
    if (dataset->count > UINT32_MAX / 2)
        return err_set(err, "expected at most %u tokens in all", UINT32_MAX / 2);
    return buf_check(&dataset->id_bytes, err) || buf_check(&dataset->pair_bytes, err);
}

int dataset_add_pair(struct dataset *dataset, const struct tokens *source,
                     const struct tokens *text, struct err *err)
{
    const struct dataset_pair pair = {(uint32_t)dataset->count, (uint32_t)source->count,
                                      (uint32_t)text->count};
    const struct tokens *const both[] = {source, text};
    if (!source->count || text->count < 2)
        return err_set(err,
                       "expected a source of one token and a text of two or more, found %zu "
                       "and %zu",
                       source->count, text->count);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->count; i++) {
            buf_bytes(&dataset->id_bytes, &both[k]->items[i].id, sizeof *dataset->ids);
            dataset->digest = rng_fold_in(dataset->digest, both[k]->items[i].id);
        }
    buf_bytes(&dataset->pair_bytes, &pair, sizeof pair);
    dataset->count += source->count + text->count;
    dataset->longest = num_max(dataset->longest, text->count - 1);
    dataset->longest_source = num_max(dataset->longest_source, source->count);
    return keep_pair(dataset, err);
}

int dataset_add_labelled(struct dataset *dataset, const uint32_t *ids,
                         const unsigned char *segments, size_t count, uint32_t target,
                         struct err *err)
{
    const struct dataset_pair pair = {(uint32_t)dataset->count, (uint32_t)count, 1};
    buf_bytes(&dataset->id_bytes, ids, count * sizeof *ids);
    buf_bytes(&dataset->id_bytes, &target, sizeof target);
    for (size_t i = 0; i <= count; i++) {
        dataset->digest = rng_fold_in(dataset->digest, i < count ? ids[i] : target);
        buf_bytes(&dataset->segment_bytes,
                  segments && i < count ? segments + i : (unsigned char[1]){0}, 1);
    }
    buf_bytes(&dataset->pair_bytes, &pair, sizeof pair);
    dataset->count += count + 1;
    dataset->longest = dataset->longest_source = num_max(dataset->longest_source, count);
    return keep_pair(dataset, err) || buf_check(&dataset->segment_bytes, err);
}

/* List `count` pairs from pair `first` on, sorted by the lengths of their sources. Pairs whose
 * sources have the same length keep their order. */
static void list_pairs(struct dataset *dataset, struct dataset_split *split, size_t first,
                       size_t count)
{
    for (size_t length = 1; length <= dataset->longest_source; length++)
        for (uint32_t i = (uint32_t)first; i < first + count; i++)
            if (dataset->pairs[i].source_count == length)
                buf_bytes(&dataset->start_bytes, &i, sizeof i);
    split->count = count;
}

static int finish_pairs(struct dataset *dataset, double held_out, struct err *err)
{
    const size_t all = dataset->pair_count;
    const size_t out = num_max((size_t)((double)all * held_out), 1);
    if (all < 2)
        return err_set(err, "expected at least two %s, found %zu",
                       dataset->segments ? "texts" : "pairs", all);
    if (dataset->longest > dataset->tokens)
        return err_set(err, "expected texts of at most %zu tokens (--context), found one of %zu",
                       dataset->tokens, dataset->longest);
    list_pairs(dataset, &dataset->training, 0, all - out);
    list_pairs(dataset, &dataset->held_out, all - out, out);
    const uint32_t *items = (const void *)dataset->start_bytes.bytes;
    dataset->training.items = items;
    dataset->held_out.items = items + all - out;
    return buf_check(&dataset->start_bytes, err);
}

int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err)
{
    dataset->tokens = tokens;
    if (dataset->pair_count)
        return finish_pairs(dataset, held_out, err);
    size_t usable = dataset->start_count;
    while (usable && dataset->starts[usable - 1] + tokens + 1 > dataset->count)
        usable--;
    if (usable < 2)
        return err_set(
            err,
            "expected at least two lines that begin %zu tokens before the end, found %zu "
            "tokens in %zu lines",
            tokens + 1, dataset->count, dataset->start_count);
    size_t out = num_max((size_t)((double)usable * held_out), 1);
    size_t training = usable - out;
    dataset->held_out = (struct dataset_split){dataset->starts + training, out};
    while (training > 1 &&
           dataset->starts[training - 1] + tokens + 1 > dataset->starts[usable - out])
        training--; /* keeps training texts from reaching into the held-out split; at least one line
                     * stays */
    dataset->training = (struct dataset_split){dataset->starts, training};
    return 0;
}

void dataset_release(struct dataset *dataset)
{
    buf_release(&dataset->id_bytes);
    buf_release(&dataset->start_bytes);
    buf_release(&dataset->pair_bytes);
    buf_release(&dataset->segment_bytes);
    *dataset = (struct dataset){0};
}

/* --- AdamW ------------------------------------------------------------------------------------ */

enum { UPDATE_PART = 8192 }; /* numbers that a thread updates at a time */

int adamw_alloc(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
                struct err *err)
{
    return parameters_alloc(&adamw->means, new_model, arena, err) ||
           parameters_alloc(&adamw->squares, new_model, arena, err);
}

/* Σ g² is added in LANES chains of float64. */
FOR_EACH_ISA
double adamw_norm(const struct parameters *gradients)
{
    const float *x = gradients->values;
    double lanes[LANES] = {0};
    FOR_LANES(gradients->count, lanes[lane] += (double)x[i] * (double)x[i]);
    return sqrt(sum_lanes(lanes));
}

/* The state of an AdamW step, which updates the weights tensor by tensor. */
struct update {
    const struct adamw *adamw;
    const struct parameters *gradients;
    const struct new_model_tensor *tensor;
    float factor, keep, fresh_mean, fresh_square, rate, root, epsilon;
};

FOR_EACH_ISA
static void update_part(void *context, size_t round, size_t thread)
{
    const struct update u = *(const struct update *)context;
    size_t first = round * UPDATE_PART;
    size_t count = num_min(u.tensor->count - first, UPDATE_PART);
    float *restrict w = u.tensor->data + first;
    float *restrict m = parameter_of(&u.adamw->means, u.tensor) + first;
    float *restrict v = parameter_of(&u.adamw->squares, u.tensor) + first;
    float *restrict g = parameter_of(u.gradients, u.tensor) + first;
    (void)thread;
    for (size_t i = 0; i < count; i++) {
        float gradient = g[i] * u.factor;
        m[i] = fmaf(u.fresh_mean, gradient - m[i], m[i]);
        v[i] = fmaf(u.fresh_square, gradient * gradient - v[i], v[i]);
        w[i] = w[i] * u.keep - u.rate * m[i] / (sqrtf(v[i]) * u.root + u.epsilon);
        g[i] = 0;
    }
}

void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                double rate, float factor)
{
    const struct new_model *new_model = gradients->new_model;
    double steps = (double)++adamw->steps;
    struct update update = {
        .adamw = adamw,
        .gradients = gradients,
        .factor = factor,
        .fresh_mean = (float)(1 - adamw->beta_1),
        .fresh_square = (float)(1 - adamw->beta_2),
        .rate = (float)(rate / (1 - pow(adamw->beta_1, steps))),
        .root = (float)(1 / sqrt(1 - pow(adamw->beta_2, steps))),
        .epsilon = (float)adamw->epsilon,
    };
    for (size_t i = 0; i < new_model->count; i++) {
        size_t count = new_model->tensors[i].count;
        update.tensor = &new_model->tensors[i];
        update.keep = update.tensor->rank == 2 ? (float)(1 - rate * adamw->decay) : 1.0f;
        pool_run(
            machine->pool,
            (struct loop){(count + UPDATE_PART - 1) / UPDATE_PART, 8 * (double)count, update_part},
            &update);
    }
}

/* --- settings --------------------------------------------------------------------------------- */

#define FIELD(field) offsetof(struct trainer_settings, field)

/* The settings, in the order of training.json. */
const struct trainer_setting trainer_setting_rows[] = {
    {"seed", "seed", FIELD(seed), true, 0, 9007199254740991.0},
    {"steps", "steps", FIELD(steps), true, 1, 1e9},
    {"warmup", "warmup-steps", FIELD(warmup), true, 0, 1e9},
    {"texts", "batch-size", FIELD(texts), true, 1, 1e6},
    {"tokens", "context", FIELD(tokens), true, 1, 1e6},
    {"accumulate", "grad-accum", FIELD(accumulate), true, 1, 1e6},
    {"rate", "lr", FIELD(rate), false, 0, 1e3},
    {"decay", "weight-decay", FIELD(decay), false, 0, 1e3},
    {"clip", "grad-clip", FIELD(clip), false, 0, 1e9},
    {"dropout", "dropout", FIELD(dropout), false, 0, 0.99},
    {"drills", "drills", FIELD(drills), false, 0, 1},
    {"save_every", "save-every", FIELD(save_every), true, 0, 1e9},
};

const size_t trainer_setting_count = sizeof trainer_setting_rows / sizeof *trainer_setting_rows;

double trainer_setting_value(const struct trainer_settings *settings,
                             const struct trainer_setting *row)
{
    const void *field = (const char *)settings + row->offset;
    return row->whole ? (double)*(const long long *)field : *(const double *)field;
}

/* --- training --------------------------------------------------------------------------------- */

/* Purposes of random numbers, which depend on the seed, the purpose and an index. */
enum { KEY_TEXTS, KEY_DROPS, KEY_HELD_OUT, KEY_DRILLS, KEY_MASKS };

enum { TEST_BATCHES = 8 };

int trainer_open(struct trainer *trainer, const struct trainer_settings *settings,
                 struct machine *machine, struct new_model *new_model,
                 const struct dataset *dataset, struct err *err)
{
    machine->whole_sums = true;
    *trainer = (struct trainer){.settings = *settings, .dataset = dataset};
    struct train_step_plan plan = {
        .machine = machine,
        .new_model = new_model,
        .texts = (size_t)settings->texts,
        .tokens = (size_t)settings->tokens,
        .dropout = (float)settings->dropout,
    };
    size_t count = plan.texts * plan.tokens;
    trainer->adamw =
        (struct adamw){.beta_1 = 0.9, .beta_2 = 0.99, .epsilon = 1e-8, .decay = settings->decay};
    trainer->ids = arena_alloc(&trainer->arena, count, sizeof *trainer->ids, err);
    trainer->targets = arena_alloc(&trainer->arena, count, sizeof *trainer->targets, err);
    trainer->sources = arena_alloc(&trainer->arena, plan.texts * dataset->longest_source,
                                   sizeof *trainer->sources, err);
    trainer->segments = arena_alloc(&trainer->arena, count, 1, err);
    trainer->pairs = arena_alloc(&trainer->arena, plan.texts, sizeof *trainer->pairs, err);
    if (!trainer->ids || !trainer->targets || !trainer->sources || !trainer->segments ||
        !trainer->pairs || train_step_open(&trainer->step, &plan, err) ||
        adamw_alloc(&trainer->adamw, new_model, &trainer->arena, err)) {
        trainer_release(trainer);
        return -1;
    }
    return 0;
}

void trainer_release(struct trainer *trainer)
{
    train_step_release(&trainer->step);
    arena_release(&trainer->arena);
    *trainer = (struct trainer){0};
}

/* Return the learning rate of step `step`, counted from 1: linear warm-up, then half a cosine down
 * to a tenth of the rate. */
static double rate_of(const struct trainer_settings *s, long long step)
{
    const double floor = 0.1;
    if (step <= s->warmup)
        return s->rate * (double)step / (double)s->warmup;
    double done = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return s->rate * (floor + (1 - floor) * 0.5 * (1 + cos(3.14159265358979323846 * done)));
}

static uint64_t key_of(const struct trainer *trainer, uint64_t use, uint64_t number)
{
    return rng_fold_in(rng_fold_in((uint64_t)trainer->settings.seed, use), number);
}

/* Choose a random pair, and for the other texts of a batch random pairs whose sources are as long
 * as its source; return the length of these sources. */
static size_t choose_pairs(const struct trainer *trainer, const struct dataset_pair **pairs,
                           const struct dataset_split *split, uint64_t key)
{
    const struct dataset *data = trainer->dataset;
    const size_t chosen = (size_t)rng_below(key, 0, split->count);
    const size_t sources = data->pairs[split->items[chosen]].source_count;
    size_t first = chosen, end = chosen + 1;
    while (first > 0 && data->pairs[split->items[first - 1]].source_count == sources)
        first--;
    while (end < split->count && data->pairs[split->items[end]].source_count == sources)
        end++;
    for (size_t i = 0; i < (size_t)trainer->settings.texts; i++) {
        const size_t at = i ? first + (size_t)rng_below(key, i, end - first) : chosen;
        pairs[i] = &data->pairs[split->items[at]];
    }
    return sources;
}

/* Fill a batch with the chosen pairs. Rows after the end of a text have the text's last token, and
 * no target. */
static struct train_batch draw_pairs(struct trainer *trainer, size_t sources)
{
    const struct dataset *data = trainer->dataset;
    const size_t tokens = data->tokens;
    for (size_t i = 0; i < (size_t)trainer->settings.texts; i++) {
        const struct dataset_pair *pair = trainer->pairs[i];
        const uint32_t *from = data->ids + pair->first, *text = from + sources;
        memcpy(trainer->sources + i * sources, from, sources * sizeof *from);
        for (size_t k = 0; k < tokens; k++) {
            const bool is_there = k + 1 < pair->count;
            trainer->ids[i * tokens + k] = is_there ? text[k] : text[pair->count - 1];
            trainer->targets[i * tokens + k] = is_there ? text[k + 1] : BACK_NO_TARGET;
        }
    }
    return (struct train_batch){.ids = trainer->ids,
                                .targets = trainer->targets,
                                .sources = trainer->sources,
                                .source_tokens = sources};
}

/* Fill a batch with the chosen texts, all `tokens` long. The row of a text that gives the answer
 * has the label as its target; other rows have no target. */
static struct train_batch draw_labelled(struct trainer *trainer, size_t tokens)
{
    const struct dataset *data = trainer->dataset;
    const size_t texts = (size_t)trainer->settings.texts;
    const size_t answer = trainer->step.config->answers == ANSWER_OF_LAST ? tokens - 1 : 0;
    for (size_t i = 0; i < texts * tokens; i++)
        trainer->targets[i] = BACK_NO_TARGET;
    for (size_t i = 0; i < texts; i++) {
        const uint32_t *from = data->ids + trainer->pairs[i]->first;
        memcpy(trainer->ids + i * tokens, from, tokens * sizeof *from);
        memcpy(trainer->segments + i * tokens, data->segments + trainer->pairs[i]->first, tokens);
        trainer->targets[i * tokens + answer] = from[tokens];
    }
    return (struct train_batch){.ids = trainer->ids,
                                .targets = trainer->targets,
                                .segments = trainer->segments,
                                .tokens = tokens};
}

/* Hide tokens as for BERT: 15 of 100 tokens become targets, at least one in a batch. Of the
 * targets, 80 of 100 become the mask, 10 become any token, and 10 stay. */
static void hide_tokens(struct trainer *trainer, uint64_t key)
{
    const size_t count = (size_t)trainer->settings.texts * trainer->dataset->tokens;
    const size_t limit = trainer->step.config->vocab_size;
    const size_t one = (size_t)rng_below(key, count, count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t own = rng_fold_in(key, i);
        const uint64_t fate = rng_below(own, 1, 100);
        trainer->targets[i] = BACK_NO_TARGET;
        if (i != one && rng_below(own, 0, 100) >= 15)
            continue;
        trainer->targets[i] = trainer->ids[i];
        if (fate < 80)
            trainer->ids[i] = (uint32_t)trainer->dataset->mask;
        else if (fate < 90)
            trainer->ids[i] = (uint32_t)rng_below(own, 2, limit);
    }
}

/* Fill a batch from a split. Pairs and labelled texts are chosen at random. Otherwise texts begin
 * at random lines, and the targets are the next tokens or, in a masked model, the tokens that are
 * hidden. */
static struct train_batch draw(struct trainer *trainer, const struct dataset_split *split,
                               uint64_t key)
{
    const enum train_objective objective = train_objective_of(trainer->step.config);
    size_t tokens = trainer->dataset->tokens;
    if (objective == TRAIN_PAIRS || objective == TRAIN_CLASSES) {
        const size_t length = choose_pairs(trainer, trainer->pairs, split, key);
        return (objective == TRAIN_PAIRS ? draw_pairs : draw_labelled)(trainer, length);
    }
    for (size_t i = 0; i < (size_t)trainer->settings.texts; i++) {
        const uint32_t *from =
            trainer->dataset->ids + split->items[rng_below(key, i, split->count)];
        memcpy(trainer->ids + i * tokens, from, tokens * sizeof *from);
        memcpy(trainer->targets + i * tokens, from + 1, tokens * sizeof *from);
    }
    if (objective == TRAIN_MASKED)
        hide_tokens(trainer, rng_fold_in(key, KEY_MASKS));
    return (struct train_batch){.ids = trainer->ids, .targets = trainer->targets};
}

/* Fill one text with a sequence of random ids, repeated to the end of the text. The length of the
 * sequence is random as well. */
static void repeat_ids(struct trainer *trainer, size_t text, uint64_t key)
{
    enum { SHORTEST = 4 };
    size_t tokens = trainer->dataset->tokens;
    size_t limit = trainer->step.config->vocab_size;
    size_t longest = tokens / 2;
    size_t spread = longest > SHORTEST ? longest - SHORTEST : 0;
    size_t period = longest > SHORTEST ? SHORTEST : 1;
    period += (size_t)rng_below(key, tokens + 1, spread + 1);
    for (size_t i = 0; i < tokens; i++) {
        trainer->ids[text * tokens + i] = (uint32_t)rng_below(key, i % period, limit);
        trainer->targets[text * tokens + i] = (uint32_t)rng_below(key, (i + 1) % period, limit);
    }
}

int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err)
{
    const uint64_t parts = 1000000;
    const struct trainer_settings *s = &trainer->settings;
    size_t texts = (size_t)s->texts;
    long long step = (long long)trainer->adamw.steps + 1;
    *report = (struct trainer_report){.rate = rate_of(s, step)};
    for (long long i = 0; i < s->accumulate; i++) {
        uint64_t number = (uint64_t)((step - 1) * s->accumulate + i);
        double loss = 0;
        struct train_batch batch =
            draw(trainer, &trainer->dataset->training, key_of(trainer, KEY_TEXTS, number));
        uint64_t drills = key_of(trainer, KEY_DRILLS, number);
        for (size_t k = 0; k < texts; k++) /* a share of the texts is replaced by repeated random
                                            * ids */
            if (rng_below(drills, k, parts) < (uint64_t)(s->drills * (double)parts))
                repeat_ids(trainer, k, rng_fold_in(drills, texts + k));
        batch.key = key_of(trainer, KEY_DROPS, number);
        batch.share = 1.0f / (float)s->accumulate;
        if (train_step_run(&trainer->step, &batch, &loss, err))
            return err_prefix(err, "step %lld", step);
        report->loss += loss / (double)s->accumulate;
    }
    double norm = adamw_norm(&trainer->step.gradients);
    report->gradient_norm = norm;
    if (!isfinite(norm))
        return err_set(err, "step %lld: a gradient is not finite", step);
    float factor = s->clip > 0 && norm > s->clip ? (float)(s->clip / (norm + 1e-6)) : 1.0f;
    adamw_step(&trainer->adamw, trainer->step.plan.machine, &trainer->step.gradients, report->rate,
               factor);
    return 0;
}

int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err)
{
    *loss = 0;
    for (uint64_t i = 0; i < TEST_BATCHES; i++) {
        double one = 0;
        struct train_batch batch =
            draw(trainer, &trainer->dataset->held_out, key_of(trainer, KEY_HELD_OUT, i));
        if (train_step_run(&trainer->step, &batch, &one, err))
            return err_prefix(err, "held-out texts");
        *loss += one / TEST_BATCHES;
    }
    return 0;
}

/* --- checkpoint ------------------------------------------------------------------------------- */

static const char settings_file[] = "training.json";
static const char optimizer_file[] = "training.safetensors";
static const char log_file[] = "log.csv";
static const char weights_file[] = "model.safetensors";

enum { SAVED_FILES = NEW_MODEL_FILES_MAX + 3, NUMBER_BYTES = 32 };

static void hash(char digits[SHA256_DIGITS + 1], const char *bytes, size_t size)
{
    struct sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, bytes, size);
    sha256_end(&sha, digits);
}

/* Write training.json: the step, the digest of the dataset, the settings, and the hashes of the
 * files in `others`. */
static void describe(struct buf *out, const struct trainer *trainer, const struct folder *others)
{
    struct json_writer json = {.buf = out};
    char digits[SHA256_DIGITS + 1];
    char number[NUMBER_BYTES];
    json_put_open(&json, NULL, '{');
    json_put_integer(&json, "\n  step", (long long)trainer->adamw.steps);
    snprintf(number, sizeof number, "%016" PRIx64, trainer->dataset->digest);
    json_put_text(&json, "\n  data", number);
    for (size_t i = 0; i < trainer_setting_count; i++) {
        const struct trainer_setting *row = &trainer_setting_rows[i];
        snprintf(number, sizeof number, row->whole ? "%.0f" : "%.17g",
                 trainer_setting_value(&trainer->settings, row));
        json_put_gap(&json, "\n  ");
        json_put_raw(&json, row->name, number);
    }
    json_put_open(&json, "\n  files", '{');
    for (size_t i = 0; i < others->file_count; i++) {
        const struct folder_file *file = &others->files[i];
        hash(digits, file->bytes, file->size);
        json_put_gap(&json, "\n    ");
        json_put_text(&json, file->name, digits);
    }
    buf_text(out, "\n  }\n}\n");
}

static int read_settings(struct train_checkpoint *state, const struct json *root, struct err *err)
{
    const char *digest = "";
    if (json_integer(root, "step", 0, 1000000000, &state->step, err) ||
        json_text(root, "data", &digest, err))
        return -1;
    if (sscanf(digest, "%" SCNx64, &state->digest) != 1)
        return err_set(err, "field 'data': expected a digest, found \"%s\"", digest);
    for (size_t i = 0; i < trainer_setting_count; i++) {
        const struct trainer_setting *row = &trainer_setting_rows[i];
        long long least = (long long)row->min, most = (long long)row->max;
        void *field = (char *)&state->settings + row->offset;
        if (!json_member(root, row->name))
            return err_set(err, "field '%s': expected a number, found nothing", row->name);
        if (row->whole ? json_integer(root, row->name, least, most, field, err)
                       : json_double(root, row->name, row->min, row->max, field, err))
            return -1;
    }
    if (state->step > state->settings.steps)
        return err_set(err, "field 'step': expected at most %lld, the value of 'steps', found %lld",
                       state->settings.steps, state->step);
    return 0;
}

/* --- the set of files ------------------------------------------------------------------------- */

/* Check that all files with a hash are from the same step. (They are renamed one after the other,
 * which a crash may interrupt.) */
static int check_files(const struct json *root, const struct folder *folder, struct err *err)
{
    const struct json *files = json_member(root, "files");
    if (!files || !json_is_object(files) || !json_member(files, weights_file))
        return err_set(err, "'%s/%s': field 'files': expected the hash of '%s', found none",
                       folder->path, settings_file, weights_file);
    for (const struct json *member = json_first(files); member; member = json_next(member)) {
        struct file file = {0};
        char digits[SHA256_DIGITS + 1];
        const char *name = json_key(member);
        const char *expected = "";
        if (!*name || strchr(name, '/') || !json_get_text(member, &expected))
            return err_set(err, "'%s/%s': field 'files': expected names of files with their hashes",
                           folder->path, settings_file);
        if (folder_open(&file, folder, name, err))
            return -1;
        hash(digits, file.bytes, file.size);
        file_release(&file);
        if (strcmp(digits, expected) != 0)
            return err_set(err,
                           "'%s/%s': expected SHA-256 %.12s… as in %s, found %.12s…: saving was "
                           "interrupted, or the file was changed; a step-… folder can be resumed "
                           "instead",
                           folder->path, name, expected, settings_file, digits);
    }
    return 0;
}

int train_checkpoint_open(struct train_checkpoint *state, const struct folder *folder,
                          struct err *err)
{
    struct file file = {0};
    struct json *root = NULL;
    *state = (struct train_checkpoint){0};
    if (!folder_has(folder, settings_file))
        return err_set(err,
                       "'%s': expected a saved training, found no %s: if saving was interrupted, "
                       "resume the folder of a step, '%s/step-…'",
                       folder->path, settings_file, folder->path);
    if (folder_open(&file, folder, settings_file, err))
        return -1;
    int failed = json_parse(&root, file.bytes, file.size, err) || read_settings(state, root, err);
    if (failed)
        err_prefix(err, "'%s/%s'", folder->path, settings_file);
    failed = failed || check_files(root, folder, err);
    json_free(root);
    file_release(&file);
    return err_if(failed);
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* The names of the tensors in training.safetensors. Each tensor has a value for each weight, in the
 * order of the model's tensors. */
static const char *const states[] = {"mean", "square"};
enum { STATES = sizeof states / sizeof *states };

static int write_optimizer(struct buf *bytes, const struct trainer *trainer, struct err *err)
{
    const struct parameters *sets[STATES] = {&trainer->adamw.means, &trainer->adamw.squares};
    struct safetensors_tensor tensors[STATES];
    for (size_t i = 0; i < STATES; i++)
        tensors[i] =
            (struct safetensors_tensor){.name = states[i], .rank = 1, .shape = &sets[i]->count};
    if (safetensors_header(bytes, tensors, STATES, NULL, 0, err))
        return -1;
    for (size_t i = 0; i < STATES; i++)
        buf_bytes(bytes, sets[i]->values, sets[i]->count * sizeof(float));
    return buf_check(bytes, err);
}

static int read_optimizer(struct trainer *trainer, const struct folder *folder, struct err *err)
{
    const struct parameters *sets[STATES] = {&trainer->adamw.means, &trainer->adamw.squares};
    struct safetensors tensors = {0};
    int failed = safetensors_open(&tensors, folder, optimizer_file, err);
    for (size_t i = 0; i < STATES && !failed; i++) {
        const struct safetensors_entry *entry = safetensors_find(&tensors, states[i]);
        if (!entry || entry->dtype != DTYPE_F32 || entry->count != sets[i]->count)
            failed = err_set(err, "'%s/%s': tensor '%s': expected %zu float32 numbers, found %s",
                             folder->path, optimizer_file, states[i], sets[i]->count,
                             entry ? "others" : "nothing");
        else
            memcpy(sets[i]->values, entry->data, entry->count * sizeof(float));
        for (size_t k = 0; !failed && k < sets[i]->count; k++)
            if (!isfinite(sets[i]->values[k]) || (i && sets[i]->values[k] < 0))
                failed =
                    err_set(err, "'%s/%s': tensor '%s': expected finite numbers%s, found %g at %zu",
                            folder->path, optimizer_file, states[i], i ? " of at least 0" : "",
                            (double)sets[i]->values[k], k);
    }
    safetensors_release(&tensors);
    return failed;
}

/* training.json is renamed last. If saving is interrupted before that, the hashes in the old
 * training.json do not match the files. */
int train_checkpoint_write(const struct trainer *trainer, const struct new_model *new_model,
                           const struct buf *log, const struct target_folder *target,
                           struct err *err)
{
    struct folder_file files[SAVED_FILES];
    struct folder folder = {target->path, files, 0};
    struct buf json = {0};
    struct buf optimizer = {0};
    int failed = buf_check(log, err) || write_optimizer(&optimizer, trainer, err);
    if (!failed) {
        files[folder.file_count++] =
            (struct folder_file){optimizer_file, optimizer.bytes, optimizer.size};
        for (size_t i = 0; i < new_model->folder.file_count; i++)
            files[folder.file_count++] = new_model->folder.files[i];
        describe(&json, trainer, &folder); /* does not hash the log, whose times differ in every
                                            * run */
        files[folder.file_count++] = (struct folder_file){log_file, log->bytes, log->size};
        files[folder.file_count++] = (struct folder_file){settings_file, json.bytes, json.size};
        failed = buf_check(&json, err) || folder_save(&folder, target, NULL, err);
    }
    buf_release(&json);
    buf_release(&optimizer);
    return err_if(failed);
}

/* Read weights of any type that dtype_is_weight accepts, from any number of files. If the model is
 * a classifier and the files have no classifier, its head keeps its initial numbers, except that
 * the dense layer of a BERT head becomes the pooler of the files. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err)
{
    const size_t classes = new_model->config.n_class;
    struct config own = {0};
    struct config *config = classes ? &own : &new_model->config;
    struct weights weights = {0};
    int failed =
        (classes && config_open(&own, folder, err)) || weights_open(&weights, config, folder, err);
    if (!failed && config_classifies(config) &&
        (config->n_class != classes || config->answers == ANSWER_OF_EACH))
        failed = err_unsupported(err,
                                 "'%s': expected a head of classes of texts "
                                 "(…ForSequenceClassification), found another head",
                                 folder->path);
    for (size_t i = 0; i < new_model->count && !failed; i++) {
        const struct new_model_tensor *to = &new_model->tensors[i];
        struct slot slot = to->slot;
        const bool is_new = classes && !config_classifies(config) && slot.layer < 0 &&
                            slot.id >= SLOT_TRANSFORM && slot.id <= SLOT_UNEMBED_BIAS;
        if (is_new && slot.id <= SLOT_TRANSFORM_BIAS && config->end == END_POOLED)
            slot.id += SLOT_POOLER - SLOT_TRANSFORM;
        const struct parameter_info info = weights_parameter_of(&weights, slot);
        /* whether the tensor with this slot in the files belongs to a head that predicts words */
        const bool has_other = is_new && slot.id >= SLOT_TRANSFORM;
        if (info.entry && !has_other)
            dtype_to_float(to->data, info.entry->data, info.entry->dtype, to->count);
        else if (!is_new && slot.id != SLOT_UNEMBED_BIAS) /* files may lack this bias: it stays 0 */
            failed = err_set(err, "'%s': expected tensor '%s' in its files, found none",
                             folder->path, to->name);
    }
    weights_release(&weights);
    if (classes)
        config_release(&own);
    return err_if(failed);
}

int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err)
{
    struct file file = {0};
    size_t size = 0; /* bytes of the log's header and of its lines up to this step */
    if (trainer->dataset->digest != state->digest)
        return err_set(err, "--data: expected the texts that '%s' was trained on, found others",
                       folder->path);
    if (read_optimizer(trainer, folder, err) || folder_open(&file, folder, log_file, err))
        return -1;
    for (long long lines = 0; size < file.size && lines <= state->step; size++)
        lines += file.bytes[size] == '\n';
    buf_bytes(log, file.bytes, size);
    trainer->adamw.steps = (uint64_t)state->step;
    file_release(&file);
    return buf_check(log, err);
}
