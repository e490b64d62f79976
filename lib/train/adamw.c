#include "train/trainer.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"

enum { PART = 8192 }; /* numbers of a round */

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
    size_t first = round * PART;
    struct numbers numbers = {
        .weights = job->tensor->data + first,
        .means = parameter_of(&job->adamw->means, job->tensor) + first,
        .squares = parameter_of(&job->adamw->squares, job->tensor) + first,
        .gradients = parameter_of(job->gradients, job->tensor) + first,
        .count = num_min(job->tensor->count - first, PART),
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
                     .rounds = (job.tensor->count + PART - 1) / PART,
                     .work = 8 * (double)job.tensor->count,
                     .round = update_part,
                 },
                 &job);
    }
}
