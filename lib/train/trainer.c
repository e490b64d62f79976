#include "train/trainer.h"

#include <math.h>
#include <stddef.h>

#include "math/rng.h"

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

/* What keys are made for, beside the steps. */
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
        return err_set(err, "step %lld: a gradient is no number", step);
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
