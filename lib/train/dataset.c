#include "train/trainer.h"

#include <string.h>

#include "math/rng.h"

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
        training--; /* what is trained on ends before what is held out */
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
