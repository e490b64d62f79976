#include "bench/benchmark.h"

#include "base/clock.h"
#include "model/cache.h"

enum { DECODE_STEPS = 8 }; /* of one measurement: a step reads all weights */

int bench_subject_open(struct bench_subject *subject, const struct folder *folder, size_t threads,
                       struct err *err)
{
    *subject = (struct bench_subject){.folder = folder};
    if (machine_open(&subject->viewer.machine, threads, err) ||
        model_open_folder(&subject->viewer.model, folder, err)) {
        bench_subject_release(subject);
        return -1;
    }
    return 0;
}

void bench_subject_release(struct bench_subject *subject)
{
    viewer_release(&subject->viewer);
    arena_release(&subject->kept);
    *subject = (struct bench_subject){0};
}

/* All that stands before the first pass of a program. */
static int open_once(const struct task *task, struct bench_subject *subject, double *seconds,
                     struct err *err)
{
    struct bench_subject fresh = {0};
    struct tokenizer *tokenizer = NULL;
    char why[TOKENIZER_WHY_BYTES];
    (void)task;
    double start = clock_seconds();
    int failed =
        bench_subject_open(&fresh, subject->folder, pool_threads(subject->viewer.machine.pool),
                           err) ||
        tokenizer_open_if_known(&tokenizer, subject->folder, TOKENIZER_FOR_SENTENCES, why, err);
    *seconds = clock_seconds() - start;
    tokenizer_free(tokenizer);
    bench_subject_release(&fresh);
    return failed ? -1 : 0;
}

struct text *task_texts(const struct pass_size *size, const struct config *config,
                        struct arena *arena, struct err *err)
{
    size_t count = size->texts * size->tokens;
    struct text *texts = arena_alloc(arena, size->texts, sizeof *texts, err);
    uint32_t *ids = arena_alloc(arena, count, sizeof *ids, err);
    if (!texts || !ids)
        return NULL;
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint32_t)((i * 7919 + 13) % config->vocab_size);
    for (size_t s = 0; s < size->texts; s++) {
        texts[s] = (struct text){.ids = ids + s * size->tokens, .count = size->tokens};
        if (config->cross) {
            texts[s].source_ids = texts[s].ids;
            texts[s].source_count = size->tokens;
        }
    }
    return texts;
}

/* The whole pass but for the logits, which are wanted of one token only. */
static enum site last_site(const struct config *config)
{
    if (config->kind == MODEL_ATTENTION)
        return SITE_ATTN_OUT;
    if (config->final_norm)
        return SITE_LN_F;
    return config->norm_first ? SITE_RESID_POST : SITE_LN_2;
}

int bench_pass(struct capture *capture, struct bench_subject *subject, const struct pass_size *size,
               uint64_t sites, double *seconds, struct err *err)
{
    const struct config *config = &subject->viewer.model.config;
    struct arena *scratch = &subject->viewer.scratch;
    struct selection selection = {.sites = sites};
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = capture};
    struct text_list texts = {.count = size->texts};
    texts.items = task_texts(size, config, scratch, err);
    if (!texts.items || selection_layers(&selection, NULL, config, scratch, err) ||
        capture_init(capture, &selection, config, size->texts, &subject->kept, err))
        return -1;
    double start = clock_seconds();
    int failed = viewer_run(&subject->viewer, &selection, &texts, tap, err);
    *seconds = clock_seconds() - start;
    return failed;
}

/* Weights that are packed once stay so beside those in place. */
static int prefill(const struct task *task, struct bench_subject *subject, double *seconds,
                   struct err *err)
{
    struct capture capture;
    uint64_t sites = site_bit(last_site(&subject->viewer.model.config));
    if (task->kind == TASK_CAPTURE)
        sites |= site_bit(SITE_WEIGHTS);
    subject->viewer.model.weights.packing = task->kind != TASK_IN_PLACE;
    arena_clear(&subject->kept);
    return bench_pass(&capture, subject, &task->size, sites, seconds, err);
}

static int ignore(void *context, const struct announcement *seen, struct err *err)
{
    (void)context, (void)seen, (void)err;
    return 0;
}

/* Take a text with a cache further, up to the logits of its last token, or to the likeliest
 * next one, where that is asked for. */
static int go_on(const struct text *text, struct likeliest *likeliest,
                 struct bench_subject *subject, double *seconds, struct err *err)
{
    struct selection selection = {.sites = site_bit(SITE_LOGITS), .last_logits = true};
    struct text_list one = {.items = text, .count = 1};
    struct tap tap = {.sink = ignore, .likeliest = likeliest};
    double start = clock_seconds();
    int failed = viewer_run(&subject->viewer, &selection, &one, tap, err);
    *seconds = clock_seconds() - start;
    return failed;
}

/* The whole text fills the cache; then its last token is taken back and run again and again. */
static int decode(const struct task *task, struct bench_subject *subject, double *seconds,
                  struct err *err)
{
    const struct config *config = &subject->viewer.model.config;
    size_t cached = task->size.cached;
    struct pass_size whole = {.texts = 1, .tokens = cached + 1};
    struct arena arena = {0};
    struct cache cache = {0};
    struct likeliest found;
    struct likeliest *likeliest = task->size.likeliest ? &found : NULL;
    double once = 0;
    double sum = 0;
    struct text *text = task_texts(&whole, config, &arena, err);
    int failed = !text || cache_init(&cache, config, err);
    subject->viewer.model.weights.packing = true;
    subject->viewer.model.weights.packing_words = !likeliest;
    if (!failed) {
        text->cache = &cache;
        failed = go_on(text, likeliest, subject, &once, err);
    }
    for (int i = 0; i < DECODE_STEPS && !failed; i++) {
        struct text last = {text->ids + cached, 1, .cache = &cache};
        cache_forget(&cache, cached);
        failed = go_on(&last, likeliest, subject, &once, err);
        sum += once;
    }
    *seconds = sum / DECODE_STEPS;
    cache_release(&cache);
    arena_release(&arena);
    return failed ? -1 : 0;
}

const struct task_row task_rows[TASK_KINDS] = {
    [TASK_OPEN] = {"open", "open model, tokenizer and threads", .run = open_once},
    [TASK_PREFILL] = {"prefill", "a text in one pass, packed weights, no logits", .by_length = true,
                      .in_bf16 = true, .run = prefill},
    [TASK_IN_PLACE] = {"in-place", "the same, with the weights as they lie in the file",
                       .by_length = true, .run = prefill},
    [TASK_CAPTURE] = {"capture", "prefill that keeps the attention of all heads", .by_length = true,
                      .run = prefill},
    [TASK_DECODE] = {"decode", "one token more with 64 in the cache, and its logits",
                     .size = {.texts = 1, .tokens = 1, .cached = 64, .logits = true},
                     .in_bf16 = true, .run = decode},
    [TASK_GREEDY] =
        {"greedy", "the same, but of the logits only the largest",
         .size = {.texts = 1, .tokens = 1, .cached = 64, .logits = true, .likeliest = true},
         .run = decode},
    [TASK_BATCH] = {"batch", "prefill of 100 texts of 12 tokens in one pass",
                    .size = {.texts = 100, .tokens = 12}, .in_bf16 = true, .run = prefill},
};

bool task_suits(enum task_kind kind, const struct config *config)
{
    bool grows = config->causal && !config->cross && config->kind != MODEL_ATTENTION;
    return !task_rows[kind].size.logits || grows;
}

int task_run(const struct task *task, struct bench_subject *subject, double *seconds,
             struct err *err)
{
    subject->viewer.model.weights.precision = task->precision;
    return task_rows[task->kind].run(task, subject, seconds, err);
}

static const size_t usual_lengths[] = {6, 64, 256, 1024};

/* The most tokens that a text of the model may have. */
static size_t context_of(const struct config *config)
{
    return config->n_positions ? config->n_positions : SIZE_MAX;
}

int bench_check_lengths(const size_t *lengths, size_t count, const struct config *config,
                        struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (lengths[i] > context_of(config))
            return err_usage(err, "--tokens: expected at most %zu (n_positions), found %zu",
                             config->n_positions, lengths[i]);
    return 0;
}

static void add(struct task_list *list, const struct task_choice *choice, int kind,
                struct pass_size size)
{
    if (!(choice->kinds >> kind & 1))
        return;
    list->items[list->count++] = (struct task){(enum task_kind)kind, size, PRECISION_FP32};
    if (choice->precision == PRECISION_BF16 && task_rows[kind].in_bf16)
        list->items[list->count++] = (struct task){(enum task_kind)kind, size, PRECISION_BF16};
}

static void add_lengths(struct task_list *list, const struct task_choice *choice)
{
    for (size_t i = 0; i < choice->length_count; i++)
        for (int kind = 0; kind < TASK_KINDS; kind++)
            if (task_rows[kind].by_length)
                add(list, choice, kind,
                    (struct pass_size){.texts = 1, .tokens = choice->lengths[i]});
}

int task_list_make(struct task_list *list, const struct task_choice *choice,
                   const struct config *config, struct arena *arena, struct err *err)
{
    struct task_choice chosen = *choice;
    size_t context = context_of(config);
    if (!choice->lengths) { /* as many of the usual ones as the model takes */
        chosen.lengths = usual_lengths;
        chosen.length_count = sizeof usual_lengths / sizeof *usual_lengths;
        while (chosen.length_count > 0 && usual_lengths[chosen.length_count - 1] > context)
            chosen.length_count--;
    }
    if (bench_check_lengths(chosen.lengths, chosen.length_count, config, err))
        return -1;
    size_t most = (chosen.length_count + 1) * TASK_KINDS * PRECISIONS;
    *list = (struct task_list){.items = arena_alloc(arena, most, sizeof *list->items, err)};
    for (int kind = 0; kind < TASK_KINDS && list->items; kind++) {
        struct pass_size size = task_rows[kind].size; /* less where the context is shorter */
        size.tokens = size.tokens < context ? size.tokens : context;
        size.cached = size.cached < context - size.tokens ? size.cached : context - size.tokens;
        if (!task_rows[kind].by_length && task_suits((enum task_kind)kind, config))
            add(list, &chosen, kind, size);
        else if (kind == TASK_PREFILL) /* the first of those that are there for each length */
            add_lengths(list, &chosen);
    }
    return list->items ? 0 : -1;
}
