#include "train/course.h"

#include <math.h>

#include "math/rng.h"

/* What keys are made for, beside the steps. */
enum { KEY_TEXTS, KEY_DROPS, KEY_HELD_OUT, KEY_DRILLS };

enum { TEST_BATCHES = 8 };

int course_open(struct course *course, const struct course_settings *settings,
                struct machine *machine, struct new_model *new_model,
                const struct texts_of_training *texts, struct err *err)
{
    *course = (struct course){.settings = *settings, .machine = machine, .texts = texts};
    struct study_plan plan = {
        .machine = machine,
        .new_model = new_model,
        .texts = (size_t)settings->texts,
        .tokens = (size_t)settings->tokens,
        .dropout = (float)settings->dropout,
    };
    size_t count = plan.texts * plan.tokens;
    course->adamw = (struct adamw){
        .beta_1 = 0.9, .beta_2 = settings->beta_2, .epsilon = 1e-8, .decay = settings->decay};
    course->ids = arena_alloc(&course->arena, count, sizeof *course->ids, err);
    course->targets = arena_alloc(&course->arena, count, sizeof *course->targets, err);
    if (!course->ids || !course->targets || study_open(&course->study, &plan, err) ||
        adamw_take(&course->adamw, new_model, &course->arena, err)) {
        course_release(course);
        return -1;
    }
    return 0;
}

void course_release(struct course *course)
{
    study_release(&course->study);
    arena_release(&course->arena);
    *course = (struct course){0};
}

double course_rate(const struct course_settings *settings, long long step)
{
    const double floor = 0.1;
    if (step <= settings->warmup)
        return settings->rate * (double)step / (double)settings->warmup;
    double done = (double)(step - settings->warmup) / (double)(settings->steps - settings->warmup);
    return settings->rate * (floor + (1 - floor) * 0.5 * (1 + cos(3.14159265358979323846 * done)));
}

static uint64_t key_of(const struct course *course, uint64_t use, uint64_t number)
{
    return rng_fold_in(rng_fold_in(course->settings.seed, use), number);
}

static struct batch_of_texts draw(struct course *course, const struct text_starts *starts,
                                  uint64_t key)
{
    texts_draw(course->texts, starts, key, course->ids, course->targets,
               (size_t)course->settings.texts);
    return (struct batch_of_texts){.ids = course->ids, .targets = course->targets};
}

int course_step(struct course *course, struct course_report *report, struct err *err)
{
    const struct course_settings *s = &course->settings;
    struct parameters *gradients = &course->study.gradients;
    long long step = (long long)course->adamw.steps + 1;
    const struct drills drills = {(size_t)s->texts, (size_t)s->tokens,
                                  course->study.config->vocab_size, s->drills};
    *report = (struct course_report){.rate = course_rate(s, step)};
    for (long long i = 0; i < s->accumulate; i++) {
        uint64_t number = (uint64_t)((step - 1) * s->accumulate + i);
        double loss = 0;
        struct batch_of_texts batch =
            draw(course, &course->texts->learnt, key_of(course, KEY_TEXTS, number));
        texts_drill(course->ids, course->targets, &drills, key_of(course, KEY_DRILLS, number));
        batch.key = key_of(course, KEY_DROPS, number);
        batch.share = 1.0f / (float)s->accumulate;
        if (study_learn(&course->study, &batch, &loss, err))
            return err_prefix(err, "step %lld", step);
        report->loss += loss / (double)s->accumulate;
    }
    double norm = adamw_norm(gradients);
    report->gradient_norm = norm;
    if (!isfinite(norm))
        return err_set(err, "step %lld: a gradient is no number", step);
    float factor = s->clip > 0 && norm > s->clip ? (float)(s->clip / (norm + 1e-6)) : 1.0f;
    adamw_step(&course->adamw, course->machine, gradients,
               &(struct adamw_step){report->rate, factor});
    return 0;
}

int course_test(struct course *course, double *loss, struct err *err)
{
    *loss = 0;
    for (uint64_t i = 0; i < TEST_BATCHES; i++) {
        double one = 0;
        struct batch_of_texts batch =
            draw(course, &course->texts->held_out, key_of(course, KEY_HELD_OUT, i));
        if (study_test(&course->study, &batch, &one, err))
            return err_prefix(err, "what is held out");
        *loss += one / TEST_BATCHES;
    }
    return 0;
}
