#include "path_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pass/cache.h"
#include "pass/forward.h"
#include "model/layer.h"
#include "model/model.h"
#include "pass/tap.h"
#include "path_text.h"

enum {
    THREADS = 2,
    PIECE = 5,
    BATCH_ROWS = 600, /* more than one block of a product, and enough for two threads */
};

/* Values of LIBXSMM_TARGET. NULL: unset, the processor decides. "snb": C kernels without fused
 * multiply-add. */
static const char *const targets[] = {NULL, "cpx", "hsw", "snb", "generic"};

enum { TARGETS = sizeof targets / sizeof *targets };

/* Orders of the sums in products; the bits of results depend on them. bf16 has one order for each
 * way to multiply pairs. */
enum order { ORDER_FP32, ORDER_BF16, ORDERS = ORDER_BF16 + PAIR_WAYS };

/* Storages of weights. */
static const struct storage {
    const char *name;
    bool packed;
    enum order order;
    const struct tolerance *tolerance;
} storages[] = {
    {"in place", false, ORDER_FP32, &tolerance_fp32},
    {"packed", true, ORDER_FP32, &tolerance_fp32},
    {"bf16", false, ORDER_BF16, &tolerance_bf16},
};

/* A golden model, its sentence and a long text. */
struct text_with_source {
    const struct golden *golden;
    struct model model;
    struct path_text sentence, context;
};

struct path {
    struct machine *machine;
    const struct storage *storage;
    const struct way *way;
};

/* --- ways through a text ---------------------------------------------------------------------- */

/* One pass over the run's sequences. */
static int pass(const struct path *path, struct text_with_source *pair, struct path_run *run,
                size_t count, struct err *err)
{
    struct arena arena = {0};
    struct batch batch;
    struct tap tap = {.watch = &run->text->watch, .sink = path_sink, .context = run};
    struct run forward_run = {path->machine, &pair->model.config, &pair->model.weights, &batch,
                              .edits = NULL};
    int failed = batch_init(&batch, &pair->model.config, run->sequences, count, &arena, err) ||
                 forward(&forward_run, &tap, &arena, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int go_whole(const struct path *path, struct text_with_source *pair, struct path_run *run,
                    struct err *err)
{
    run->sequences = &run->text->sequence;
    return pass(path, pair, run, 1, err);
}

static int grow(const struct path *path, struct text_with_source *pair, struct path_run *run,
                size_t piece, struct err *err)
{
    const struct text *whole = &run->text->sequence;
    const struct config *config = &pair->model.config;
    struct cache cache;
    struct cache of_source = {0};
    int failed = cache_init(&cache, config, err);
    if (has_encoder(config))
        cache_init_source(&of_source, config);
    while (!failed && cache.count < whole->count) {
        size_t rest = whole->count - cache.count;
        struct text next = *whole;
        next.ids += cache.count;
        next.count = rest < piece ? rest : piece;
        next.cache = &cache;
        next.source_cache = has_encoder(config) ? &of_source : NULL;
        run->past = cache.count;
        run->sequences = &next;
        failed = pass(path, pair, run, 1, err);
    }
    cache_release(&of_source);
    cache_release(&cache);
    return failed ? -1 : 0;
}

static int go_by_token(const struct path *path, struct text_with_source *pair, struct path_run *run,
                       struct err *err)
{
    return grow(path, pair, run, 1, err);
}

static int go_in_pieces(const struct path *path, struct text_with_source *pair,
                        struct path_run *run, struct err *err)
{
    return grow(path, pair, run, PIECE, err);
}

/* Do the rotary frequencies depend on the length of the text? */
static bool rotates_by_length(const struct config *config)
{
    enum rotary_scaling scaling = config->rotary.scaling;
    return config_rotates(config) && (scaling == ROTARY_DYNAMIC || scaling == ROTARY_LONGROPE);
}

/* A batch of many copies of the text and, if tokens do not depend on later ones, of prefixes of it
 * between the copies. */
static int go_in_batch(const struct path *path, struct text_with_source *pair, struct path_run *run,
                       struct err *err)
{
    struct text whole = run->text->sequence;
    size_t count = 0;
    struct text *sequences = heap_alloc(2 * BATCH_ROWS, sizeof *sequences, err);
    if (!sequences)
        return -1;
    run->texts = 0;
    for (size_t rows = 0; rows < BATCH_ROWS; rows += whole.count, run->texts++) {
        sequences[count++] = whole;
        if (pair->model.config.causal && !rotates_by_length(&pair->model.config)) {
            sequences[count] = whole;
            sequences[count++].count = 1 + run->texts % (whole.count - 1);
        }
    }
    run->sequences = sequences;
    int failed = pass(path, pair, run, count, err);
    heap_free(sequences);
    return failed;
}

static const struct way {
    const char *name;
    int (*go)(const struct path *path, struct text_with_source *pair, struct path_run *run,
              struct err *err);
    bool cached;
    bool far; /* also with the long text */
} ways[] = {
    {"whole", go_whole, false, true},
    {"token by token", go_by_token, true, true},
    {"in pieces", go_in_pieces, true, true},
    {"in a batch", go_in_batch, false, false},
};

/* --- paths ------------------------------------------------------------------------------------ */

static bool can_be_cached(const struct config *config)
{
    return config->causal && !config_is_cross(config) && !rotates_by_length(config);
}

static int check_text(const struct path *path, struct text_with_source *pair,
                      struct path_text *text, double *worst, struct err *err)
{
    struct path_run run = {.text = text, .texts = 1, .tolerance = path->storage->tolerance};
    int failed = path->way->go(path, pair, &run, err);
    failed |= path_run_finish(&run, err); /* always: it resets the counters */
    *worst = run.worst > *worst ? run.worst : *worst;
    return failed;
}

/* Check the texts of a model on one path. */
static int check_subject(const struct path *path, struct text_with_source *pair, double *worst,
                         struct err *err)
{
    pair->model.weights.packing = path->storage->packed;
    pair->model.weights.packing_words = path->storage->packed;
    bool fp32 = path->storage->order == ORDER_FP32;
    pair->model.weights.precision = fp32 ? PRECISION_FP32 : PRECISION_BF16;
    int failed = check_text(path, pair, &pair->sentence, worst, err) ||
                 (path->way->far && check_text(path, pair, &pair->context, worst, err));
    return failed ? err_prefix(err, "%s", pair->golden->folder) : 0;
}

static void check_path(struct tally *tally, const struct path *path, struct text_with_source *pairs,
                       size_t count)
{
    static struct err err;
    char name[80];
    double worst = 0;
    size_t tensors = 0;
    size_t threads = pool_threads(path->machine->pool);
    for (size_t i = 0; i < count && err.kind == ERR_NONE; i++) {
        if (path->way->cached && !can_be_cached(&pairs[i].model.config))
            continue;
        if (check_subject(path, &pairs[i], &worst, &err) == 0)
            tensors += pairs[i].golden->tensor_count;
    }
    snprintf(name, sizeof name, "%-6s  %zu %s  %-8s  %-14s", kernels_target(path->machine->kernels),
             threads, threads == 1 ? "thread " : "threads", path->storage->name, path->way->name);
    if (err.kind == ERR_NONE)
        printf("%s  %3zu tensors, largest error %.1e, same bits\n", name, tensors, worst);
    tally_judge(tally, "path", name, &err);
}

static void check_machine(struct tally *tally, struct machine *machine, enum order order,
                          struct text_with_source *pairs, size_t count)
{
    for (size_t i = 0; i < sizeof storages / sizeof *storages; i++)
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
            if ((storages[i].order == ORDER_FP32) == (order == ORDER_FP32))
                check_path(tally, &(struct path){machine, &storages[i], &ways[way]}, pairs, count);
}

static int open_subject(struct text_with_source *pair, const struct golden *golden, struct err *err)
{
    *pair = (struct text_with_source){.golden = golden};
    const struct config *config = &pair->model.config;
    return model_open(&pair->model, golden->model, err) ||
                   path_text_open(&pair->sentence, config, golden, err) ||
                   path_text_open_long(&pair->context, config, golden, err)
               ? -1
               : 0;
}

static void release_subject(struct text_with_source *pair)
{
    path_text_release(&pair->sentence);
    path_text_release(&pair->context);
    model_release(&pair->model);
}

/* Whether a target has the kernels that the processor has without one; kernels in C differ. */
static bool is_repeated(struct kernels *kernels, size_t target)
{
    static const char *best;
    static enum pair_way best_way;
    const char *name = kernels_target(kernels);
    enum pair_way way = kernels_pair_way(kernels);
    if (target > 0)
        return strcmp(name, best) == 0 && way == best_way && strcmp(name, "c") != 0;
    best = name;
    best_way = way;
    return false;
}

/* `fits`: whether this target sums products in that order. */
static int open_machine(struct machine *machine, const char *target, enum order order,
                        size_t threads, bool *fits, struct err *err)
{
    if ((target ? setenv("LIBXSMM_TARGET", target, 1) : unsetenv("LIBXSMM_TARGET")) ||
        machine_open(machine, threads, err))
        return -1;
    kernels_write_all(machine->kernels);
    *fits = order == ORDER_FP32 || kernels_pair_way(machine->kernels) == order - ORDER_BF16;
    return 0;
}

/* Check all paths of an order: the others must give the bits of the first. */
static void check_order(struct tally *tally, enum order order, const struct golden *goldens,
                        size_t count)
{
    static struct err err;
    struct text_with_source *pairs = heap_alloc(count, sizeof *pairs, &err);
    for (size_t i = 0; i < count && err.kind == ERR_NONE; i++)
        open_subject(&pairs[i], &goldens[i], &err);
    for (size_t i = 0; i < TARGETS; i++)
        for (size_t threads = 1; threads <= THREADS && err.kind == ERR_NONE; threads++) {
            struct machine machine;
            bool fits = false;
            if (open_machine(&machine, targets[i], order, threads, &fits, &err))
                break;
            if (fits && !is_repeated(machine.kernels, i))
                check_machine(tally, &machine, order, pairs, count);
            machine_release(&machine);
        }
    if (err.kind != ERR_NONE)
        tally_judge(tally, "path", "all", &err);
    for (size_t i = 0; pairs && i < count; i++)
        release_subject(&pairs[i]);
    heap_free(pairs);
}

void path_check(struct tally *tally, const struct golden *goldens, size_t count)
{
    for (int order = 0; order < ORDERS; order++)
        check_order(tally, (enum order)order, goldens, count);
}
