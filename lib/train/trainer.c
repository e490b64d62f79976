#include "train/trainer.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"
#include "math/rng.h"

/* --- dataset ---------------------------------------------------------------------------------- */

static int add_line(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                    size_t size, struct err *err)
{
    struct arena arena = {0};
    struct tokens tokens = {0};
    int failed = tokenizer_encode(tokenizer, &tokens, bytes, size, &arena, err);
    const uint32_t start = (uint32_t)dataset->count;
    if (tokens.count)
        buf_bytes(&dataset->start_bytes, &start, sizeof start);
    for (size_t i = 0; i < tokens.count; i++) {
        buf_bytes(&dataset->id_bytes, &tokens.items[i].id, sizeof *dataset->ids);
        dataset->digest = rng_fold_in(dataset->digest, tokens.items[i].id);
    }
    arena_release(&arena);
    failed = failed || buf_check(&dataset->id_bytes, err) || buf_check(&dataset->start_bytes, err);
    dataset->ids = (void *)dataset->id_bytes.bytes;
    dataset->starts = (void *)dataset->start_bytes.bytes;
    dataset->count = dataset->id_bytes.size / sizeof *dataset->ids;
    dataset->start_count = dataset->start_bytes.size / sizeof *dataset->starts;
    if (!failed && dataset->count > UINT32_MAX / 2)
        return err_set(err, "expected at most %u tokens in all", UINT32_MAX / 2);
    return failed ? -1 : 0;
}

/* A line with its newline, as GPT-2 read its texts. */
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

int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err)
{
    size_t usable = dataset->start_count;
    while (usable && dataset->starts[usable - 1] + tokens + 1 > dataset->count)
        usable--;
    size_t out = (size_t)((double)usable * held_out);
    out = out ? out : 1;
    dataset->tokens = tokens;
    if (usable < 2)
        return err_set(
            err,
            "expected at least two lines with %zu tokens from there on, found %zu tokens "
            "in %zu lines",
            tokens + 1, dataset->count, dataset->start_count);
    size_t training = usable - out;
    dataset->held_out = (struct dataset_part){dataset->starts + training, out};
    while (training > 1 &&
           dataset->starts[training - 1] + tokens + 1 > dataset->starts[usable - out])
        training--; /* training texts end before the held-out ones begin */
    dataset->training = (struct dataset_part){dataset->starts, training};
    return 0;
}

void dataset_release(struct dataset *dataset)
{
    buf_release(&dataset->id_bytes);
    buf_release(&dataset->start_bytes);
    *dataset = (struct dataset){0};
}

void dataset_draw(const struct dataset *dataset, const struct dataset_part *starts, uint64_t key,
                  uint32_t *ids, uint32_t *targets, size_t count)
{
    size_t size = dataset->tokens * sizeof *ids;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *from = dataset->ids + starts->items[rng_below(key, i, starts->count)];
        memcpy(ids + i * dataset->tokens, from, size);
        memcpy(targets + i * dataset->tokens, from + 1, size);
    }
}

/* One text: `period` ids, again and again. */
static void drill(uint32_t *ids, uint32_t *targets, const struct drills *drills, uint64_t key)
{
    enum { SHORTEST = 4 };
    size_t longest = drills->tokens / 2;
    size_t spread = longest > SHORTEST ? longest - SHORTEST : 0;
    size_t period = longest > SHORTEST ? SHORTEST : 1;
    period += (size_t)rng_below(key, drills->tokens + 1, spread + 1);
    for (size_t i = 0; i < drills->tokens; i++) {
        ids[i] = (uint32_t)rng_below(key, i % period, drills->limit);
        targets[i] = (uint32_t)rng_below(key, (i + 1) % period, drills->limit);
    }
}

void dataset_drill(uint32_t *ids, uint32_t *targets, const struct drills *drills, uint64_t key)
{
    const uint64_t parts = 1000000;
    for (size_t i = 0; i < drills->texts; i++)
        if (rng_below(key, i, parts) < (uint64_t)(drills->share * (double)parts))
            drill(ids + i * drills->tokens, targets + i * drills->tokens, drills,
                  rng_fold_in(key, drills->texts + i));
}

/* --- AdamW ------------------------------------------------------------------------------------ */

enum { UPDATE_PART = 8192 }; /* numbers of a round */

int adamw_alloc(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
                struct err *err)
{
    return parameters_alloc(&adamw->means, new_model, arena, err) ||
           parameters_alloc(&adamw->squares, new_model, arena, err);
}

/* Σ x², in lanes of their own, in double. */
FOR_EACH_ISA
static double sum_of_squares(const float *x, size_t count)
{
    double lanes[LANES] = {0};
    double sum = 0;
    FOR_LANES(count, lanes[lane] += (double)x[i] * (double)x[i]);
    for (size_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

double adamw_norm(const struct parameters *gradients)
{
    return sqrt(sum_of_squares(gradients->values, gradients->count));
}

/* The numbers of a step that all weights share. */
struct factors {
    float gradient, keep, fresh_mean, fresh_square, rate, root, epsilon;
};

struct numbers {
    float *weights, *means, *squares, *gradients;
    size_t count;
};

FOR_EACH_ISA
static void update(const struct numbers *n, const struct factors *f)
{
    float *restrict w = n->weights;
    float *restrict m = n->means;
    float *restrict v = n->squares;
    float *restrict g = n->gradients;
    for (size_t i = 0; i < n->count; i++) {
        float gradient = g[i] * f->gradient;
        m[i] = fmaf(f->fresh_mean, gradient - m[i], m[i]);
        v[i] = fmaf(f->fresh_square, gradient * gradient - v[i], v[i]);
        w[i] = w[i] * f->keep - f->rate * m[i] / (sqrtf(v[i]) * f->root + f->epsilon);
        g[i] = 0;
    }
}

struct job {
    const struct adamw *adamw;
    const struct parameters *gradients;
    struct factors factors;
    const struct new_model_tensor *tensor;
};

static void update_part(void *context, size_t round, size_t thread)
{
    const struct job *job = context;
    size_t first = round * UPDATE_PART;
    struct numbers numbers = {
        .weights = job->tensor->data + first,
        .means = parameter_of(&job->adamw->means, job->tensor) + first,
        .squares = parameter_of(&job->adamw->squares, job->tensor) + first,
        .gradients = parameter_of(job->gradients, job->tensor) + first,
        .count = num_min(job->tensor->count - first, UPDATE_PART),
    };
    (void)thread;
    update(&numbers, &job->factors);
}

void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                const struct adamw_step *step)
{
    const struct new_model *new_model = gradients->new_model;
    double steps = (double)++adamw->steps;
    struct job job = {.adamw = adamw, .gradients = gradients};
    job.factors = (struct factors){
        .gradient = step->factor,
        .fresh_mean = (float)(1 - adamw->beta_1),
        .fresh_square = (float)(1 - adamw->beta_2),
        .rate = (float)(step->rate / (1 - pow(adamw->beta_1, steps))),
        .root = (float)(1 / sqrt(1 - pow(adamw->beta_2, steps))),
        .epsilon = (float)adamw->epsilon,
    };
    for (size_t i = 0; i < new_model->count; i++) {
        job.tensor = &new_model->tensors[i];
        job.factors.keep = job.tensor->rank == 2 ? (float)(1 - step->rate * adamw->decay) : 1.0f;
        pool_run(machine->pool,
                 (struct loop){
                     .rounds = (job.tensor->count + UPDATE_PART - 1) / UPDATE_PART,
                     .work = 8 * (double)job.tensor->count,
                     .round = update_part,
                 },
                 &job);
    }
}

/* --- settings --------------------------------------------------------------------------------- */

#define FIELD(field) offsetof(struct trainer_settings, field)

/* In the order of training.json, whose hash depends on it. */
const struct trainer_setting trainer_setting_rows[] = {
    {"seed", "seed", FIELD(seed), true, 9007199254740991.0, false},
    {"steps", "steps", FIELD(steps), true, 1e9, false},
    {"warmup", "warmup-steps", FIELD(warmup), true, 1e9, false},
    {"texts", "batch-size", FIELD(texts), true, 1e6, false},
    {"tokens", "context", FIELD(tokens), true, 1e6, false},
    {"accumulate", "grad-accum", FIELD(accumulate), true, 1e6, false},
    {"rate", "lr", FIELD(rate), false, 1e3, false},
    {"decay", "weight-decay", FIELD(decay), false, 1e3, false},
    {"clip", "grad-clip", FIELD(clip), false, 1e9, false},
    {"dropout", "dropout", FIELD(dropout), false, 0.99, false},
    {"drills", "drills", FIELD(drills), false, 1, false},
    {"beta_2", NULL, FIELD(beta_2), false, 1, false},
    {"save_every", "save-every", FIELD(save_every), true, 1e9, true},
};

const size_t trainer_setting_count = sizeof trainer_setting_rows / sizeof *trainer_setting_rows;

double trainer_setting_value(const struct trainer_settings *settings,
                             const struct trainer_setting *row)
{
    const void *field = (const char *)settings + row->offset;
    return row->whole ? (double)*(const long long *)field : *(const double *)field;
}

/* --- a training ------------------------------------------------------------------------------- */

/* Random numbers are keyed by their use and a number. */
enum { KEY_TEXTS, KEY_DROPS, KEY_HELD_OUT, KEY_DRILLS };

enum { TEST_BATCHES = 8 };

int trainer_open(struct trainer *trainer, const struct trainer_settings *settings,
                 struct machine *machine, struct new_model *new_model,
                 const struct dataset *dataset, struct err *err)
{
    machine->whole_sums = true;
    *trainer = (struct trainer){.settings = *settings, .machine = machine, .dataset = dataset};
    struct train_step_plan plan = {
        .machine = machine,
        .new_model = new_model,
        .texts = (size_t)settings->texts,
        .tokens = (size_t)settings->tokens,
        .dropout = (float)settings->dropout,
    };
    size_t count = plan.texts * plan.tokens;
    trainer->adamw = (struct adamw){
        .beta_1 = 0.9, .beta_2 = settings->beta_2, .epsilon = 1e-8, .decay = settings->decay};
    trainer->ids = arena_alloc(&trainer->arena, count, sizeof *trainer->ids, err);
    trainer->targets = arena_alloc(&trainer->arena, count, sizeof *trainer->targets, err);
    if (!trainer->ids || !trainer->targets || train_step_open(&trainer->step, &plan, err) ||
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

double trainer_rate(const struct trainer_settings *settings, long long step)
{
    const double floor = 0.1;
    if (step <= settings->warmup)
        return settings->rate * (double)step / (double)settings->warmup;
    double done = (double)(step - settings->warmup) / (double)(settings->steps - settings->warmup);
    return settings->rate * (floor + (1 - floor) * 0.5 * (1 + cos(3.14159265358979323846 * done)));
}

static uint64_t key_of(const struct trainer *trainer, uint64_t use, uint64_t number)
{
    return rng_fold_in(rng_fold_in(trainer->settings.seed, use), number);
}

static struct train_batch draw(struct trainer *trainer, const struct dataset_part *starts,
                               uint64_t key)
{
    dataset_draw(trainer->dataset, starts, key, trainer->ids, trainer->targets,
                 (size_t)trainer->settings.texts);
    return (struct train_batch){.ids = trainer->ids, .targets = trainer->targets};
}

int trainer_step(struct trainer *trainer, struct trainer_report *report, struct err *err)
{
    const struct trainer_settings *s = &trainer->settings;
    struct parameters *gradients = &trainer->step.gradients;
    long long step = (long long)trainer->adamw.steps + 1;
    const struct drills drills = {(size_t)s->texts, (size_t)s->tokens,
                                  trainer->step.config->vocab_size, s->drills};
    *report = (struct trainer_report){.rate = trainer_rate(s, step)};
    for (long long i = 0; i < s->accumulate; i++) {
        uint64_t number = (uint64_t)((step - 1) * s->accumulate + i);
        double loss = 0;
        struct train_batch batch =
            draw(trainer, &trainer->dataset->training, key_of(trainer, KEY_TEXTS, number));
        dataset_drill(trainer->ids, trainer->targets, &drills, key_of(trainer, KEY_DRILLS, number));
        batch.key = key_of(trainer, KEY_DROPS, number);
        batch.share = 1.0f / (float)s->accumulate;
        if (train_step_run(&trainer->step, &batch, &loss, err))
            return err_prefix(err, "step %lld", step);
        report->loss += loss / (double)s->accumulate;
    }
    double norm = adamw_norm(gradients);
    report->gradient_norm = norm;
    if (!isfinite(norm))
        return err_set(err, "step %lld: a gradient is not finite", step);
    float factor = s->clip > 0 && norm > s->clip ? (float)(s->clip / (norm + 1e-6)) : 1.0f;
    adamw_step(&trainer->adamw, trainer->machine, gradients,
               &(struct adamw_step){report->rate, factor});
    return 0;
}

int trainer_evaluate(struct trainer *trainer, double *loss, struct err *err)
{
    *loss = 0;
    for (uint64_t i = 0; i < TEST_BATCHES; i++) {
        double one = 0;
        struct train_batch batch =
            draw(trainer, &trainer->dataset->held_out, key_of(trainer, KEY_HELD_OUT, i));
        if (train_step_evaluate(&trainer->step, &batch, &one, err))
            return err_prefix(err, "what is held out");
        *loss += one / TEST_BATCHES;
    }
    return 0;
}
