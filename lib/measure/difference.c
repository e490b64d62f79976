#include "measure/comparison.h"

#include <assert.h>
#include <math.h>

int differences_open(struct differences *differences, size_t layers, size_t heads,
                     struct arena *arena, struct err *err)
{
    *differences = (struct differences){.layers = layers, .heads = heads};
    differences->sums = arena_alloc(arena, layers * heads, sizeof *differences->sums, err);
    return differences->sums ? 0 : -1;
}

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

void differences_add(struct differences *differences, size_t first, const struct report *a,
                     const struct report *b)
{
    size_t layer = first;
    assert(a->tensor_count == b->tensor_count);
    for (size_t i = 0; i < a->tensor_count; i++) {
        const struct kept *of_a = &a->tensors[i];
        const struct kept *of_b = &b->tensors[i];
        size_t rows = of_a->shape[1];
        size_t columns = of_a->shape[2];
        assert(of_a->site == of_b->site && of_a->layer == of_b->layer);
        layer += i > 0 && of_a->layer != a->tensors[i - 1].layer;
        assert(layer < differences->layers && of_a->shape[0] == differences->heads);
        for (size_t head = 0; head < of_a->shape[0]; head++) {
            struct difference_sum *sum = &differences->sums[layer * differences->heads + head];
            const float *x = of_a->data + head * rows * columns;
            const float *y = of_b->data + head * rows * columns;
            if (of_a->site == SITE_WEIGHTS)
                add_weights(sum, x, y, rows, columns);
            else
                add_contexts(sum, x, y, rows * columns);
        }
    }
}

struct difference difference_of(const struct difference_sum *sum)
{
    return (struct difference){
        .max = sum->max,
        .mean = sum->sum / (double)sum->numbers,
        .kept = sum->kept / (double)sum->queries,
        .overlap = sum->overlap / (double)sum->queries,
    };
}

struct difference difference_of_all(const struct differences *differences)
{
    struct difference_sum all = {0};
    for (size_t i = 0; i < differences->layers * differences->heads; i++) {
        const struct difference_sum *sum = &differences->sums[i];
        all.max = fmax(all.max, sum->max);
        all.sum += sum->sum;
        all.kept += sum->kept;
        all.overlap += sum->overlap;
        all.numbers += sum->numbers;
        all.queries += sum->queries;
    }
    return difference_of(&all);
}
