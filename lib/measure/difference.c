#include "measure/comparison.h"

#include <assert.h>
#include <math.h>

static void add_contexts(struct difference_sum *sum, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        sum->max = fmax(sum->max, difference);
        sum->sum += difference;
    }
    sum->numbers += count;
}

static void add_weights(struct difference_sum *sum, const float *a, const float *b, size_t queries,
                        size_t keys)
{
    for (size_t i = 0; i < queries * keys; i++) {
        sum->kept += b[i] > 0 ? (double)a[i] : 0;
        sum->overlap += (double)fminf(a[i], b[i]);
    }
    sum->queries += queries;
}

void difference_add(struct difference_sum *sums, const struct report *a, const struct report *b)
{
    assert(a->tensor_count == b->tensor_count);
    for (size_t i = 0; i < a->tensor_count; i++) {
        const struct kept *of_a = &a->tensors[i];
        const struct kept *of_b = &b->tensors[i];
        size_t rows = of_a->shape[1];
        size_t columns = of_a->shape[2];
        assert(of_a->site == of_b->site && of_a->layer == of_b->layer);
        if (i > 0 && of_a->layer != a->tensors[i - 1].layer)
            sums += of_a->shape[0];
        for (size_t head = 0; head < of_a->shape[0]; head++) {
            const float *x = of_a->data + head * rows * columns;
            const float *y = of_b->data + head * rows * columns;
            if (of_a->site == SITE_WEIGHTS)
                add_weights(&sums[head], x, y, rows, columns);
            else
                add_contexts(&sums[head], x, y, rows * columns);
        }
    }
}

struct difference difference_of(const struct difference_sum *sums, size_t count)
{
    struct difference_sum all = {0};
    for (size_t i = 0; i < count; i++) {
        all.max = fmax(all.max, sums[i].max);
        all.sum += sums[i].sum;
        all.kept += sums[i].kept;
        all.overlap += sums[i].overlap;
        all.numbers += sums[i].numbers;
        all.queries += sums[i].queries;
    }
    return (struct difference){
        .max = all.max,
        .mean = all.sum / (double)all.numbers,
        .kept = all.kept / (double)all.queries,
        .overlap = all.overlap / (double)all.queries,
    };
}
