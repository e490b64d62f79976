/* comparison_report.c: a comparison as tables: for people what each kind of attention costs, and
 * how far it is from dense attention, over all heads and of each head.
 *
 *     attention,layer,head,max_difference,mean_difference,kept,overlap,seconds,bytes
 *     window:8,,,0.0531,0.0045,0.9871,0.9871,1.2e-05,8448
 *     window:8,0,0,0.0123,0.0012,0.9991,0.9991,,
 */
#include <math.h>

#include "base/amount.h"
#include "base/num.h"
#include "measure/comparison.h"

/* The columns of the table of differences. */
struct lines {
    struct label *labels; /* of rows: window:8 L0H3 */
    const char **names;
    long long *layers, *heads, *bytes;
    double *max, *mean, *kept, *overlap, *seconds;
    size_t count;
};

static int allocate(struct lines *lines, size_t most, struct arena *arena, struct err *err)
{
    *lines = (struct lines){
        .labels = arena_alloc(arena, most, sizeof *lines->labels, err),
        .names = arena_alloc(arena, most, sizeof *lines->names, err),
        .layers = arena_alloc(arena, most, sizeof *lines->layers, err),
        .heads = arena_alloc(arena, most, sizeof *lines->heads, err),
        .bytes = arena_alloc(arena, most, sizeof *lines->bytes, err),
        .max = arena_alloc(arena, most, sizeof *lines->max, err),
        .mean = arena_alloc(arena, most, sizeof *lines->mean, err),
        .kept = arena_alloc(arena, most, sizeof *lines->kept, err),
        .overlap = arena_alloc(arena, most, sizeof *lines->overlap, err),
        .seconds = arena_alloc(arena, most, sizeof *lines->seconds, err),
    };
    return lines->labels && lines->names && lines->layers && lines->heads && lines->bytes &&
                   lines->max && lines->mean && lines->kept && lines->overlap && lines->seconds
               ? 0
               : -1;
}

/* One line, of one head or (`layer` is missing) of all; times are of all. */
static int add_line(struct lines *lines, const struct comparison_result *result, long long layer,
                    long long head, const struct difference *difference, struct arena *arena,
                    struct err *err)
{
    size_t i = lines->count++;
    bool all = layer == COLUMN_MISSING;
    const char *label =
        all ? result->name : arena_format(arena, err, "%s L%lldH%lld", result->name, layer, head);
    lines->labels[i] = (struct label){label, label, label};
    lines->names[i] = result->name;
    lines->layers[i] = layer;
    lines->heads[i] = head;
    lines->max[i] = difference->max;
    lines->mean[i] = difference->mean;
    lines->kept[i] = difference->kept;
    lines->overlap[i] = difference->overlap;
    lines->seconds[i] = all ? result->seconds : (double)NAN;
    lines->bytes[i] = all ? (long long)result->bytes : COLUMN_MISSING;
    return label ? 0 : -1;
}

static const char *legend(const struct comparison *comparison, struct arena *arena, struct err *err)
{
    const struct config *config = &comparison->plan->viewer->model.config;
    return arena_format(arena, err,
                        "max, mean: |difference| of the context from dense attention\n"
                        "kept: dense attention's weight on keys that still have any\n"
                        "overlap: weight that both give to a key%s%s",
                        config->kind == MODEL_TRANSFORMER
                            ? "\nOnly the decoder's heads that attend to its own text are compared."
                            : "",
                        config->n_layer > 1
                            ? "\nEvery layer attends in that way: differences go into the next."
                            : "");
}

static int add_differences(struct frame *frame, const struct comparison *comparison,
                           struct arena *arena, struct err *err)
{
    size_t heads = comparison->layer_count * comparison->head_count;
    size_t ways = comparison->plan->way_count;
    struct lines lines;
    if (allocate(&lines, ways * (1 + heads), arena, err))
        return -1;
    for (size_t way = 0; way < ways; way++) {
        const struct comparison_result *result = &comparison->results[way];
        if (add_line(&lines, result, COLUMN_MISSING, COLUMN_MISSING, &result->all, arena, err))
            return -1;
        for (size_t i = 0; i < heads; i++) {
            long long layer = (long long)comparison->layers[i / comparison->head_count];
            long long head = (long long)comparison->heads[i % comparison->head_count];
            if (add_line(&lines, result, layer, head, &result->heads[i], arena, err))
                return -1;
        }
    }
    const struct column columns[] = {
        {.name = "attention", .kind = COLUMN_TEXT, .flags = COLUMN_KEY, .values = lines.names},
        {.name = "layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.layers},
        {.name = "head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.heads},
        {.name = "max_difference", .title = "max", .digits = 4, .values = lines.max},
        {.name = "mean_difference", .title = "mean", .digits = 4, .values = lines.mean},
        {.name = "kept", .digits = 4, .values = lines.kept},
        {.name = "overlap",
         .flags = COLUMN_COLOURED,
         .digits = 4,
         .fraction = true,
         .values = lines.overlap},
        {.name = "seconds", .flags = COLUMN_DATA_ONLY, .values = lines.seconds},
        {.name = "bytes", .kind = COLUMN_INTEGER, .flags = COLUMN_DATA_ONLY, .values = lines.bytes},
    };
    *frame = (struct frame){
        "ways", {"head", lines.count, lines.labels, 0}, .note = legend(comparison, arena, err)};
    return frame->note ? frame_columns(frame, columns, sizeof columns / sizeof *columns, arena, err)
                       : -1;
}

/* Dense attention first, unless it is one of the ways. */
static int add_costs(struct frame *frame, const struct comparison *comparison, struct arena *arena,
                     struct err *err)
{
    const struct comparison_result *dense = &comparison->dense;
    size_t ways = comparison->plan->way_count;
    bool listed = false;
    for (size_t way = 0; way < ways; way++)
        listed |= comparison->results[way].way.kind == ATTENTION_DENSE && !comparison->plan->edits;
    size_t count = ways + !listed;
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    const char **texts[4];
    for (size_t i = 0; i < 4; i++)
        if (!(texts[i] = arena_alloc(arena, count, sizeof **texts, err)))
            return -1;
    for (size_t i = 0; labels && i < count; i++) {
        char time[AMOUNT_BYTES];
        char memory[NUM_SIZE_BYTES];
        const struct comparison_result *result = listed ? &comparison->results[i]
                                                 : i    ? &comparison->results[i - 1]
                                                        : dense;
        labels[i] = (struct label){result->name, result->name, result->name};
        texts[0][i] = arena_format(arena, err, "%s", amount_seconds(time, result->seconds));
        texts[1][i] = arena_format(arena, err, "%.2f ×", result->seconds / dense->seconds);
        texts[2][i] = arena_format(arena, err, "%s", num_size(memory, result->bytes));
        texts[3][i] =
            arena_format(arena, err, "%.2f ×", (double)result->bytes / (double)dense->bytes);
        if (!texts[0][i] || !texts[1][i] || !texts[2][i] || !texts[3][i])
            return -1;
    }
    const struct column columns[] = {
        {.name = "attention", .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = labels},
        {.name = "time", .kind = COLUMN_TEXT, .flags = COLUMN_RIGHT, .values = texts[0]},
        {.name = "of dense", .kind = COLUMN_TEXT, .flags = COLUMN_RIGHT, .values = texts[1]},
        {.name = "memory", .kind = COLUMN_TEXT, .flags = COLUMN_RIGHT, .values = texts[2]},
        {.name = "of dense", .kind = COLUMN_TEXT, .flags = COLUMN_RIGHT, .values = texts[3]},
    };
    *frame = (struct frame){"costs", {"way", count, labels, 0}, .flags = COLUMN_TEXT_ONLY};
    return labels ? frame_columns(frame, columns, sizeof columns / sizeof *columns, arena, err)
                  : -1;
}

static const struct frame *make_facts(const struct comparison *comparison, struct arena *arena,
                                      struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    if (!facts)
        return NULL;
    facts_integer(facts, "texts", (long long)comparison->plan->pair_count);
    facts_integer(facts, "longest", (long long)comparison->longest);
    facts_integer(facts, "threads", (long long)comparison->threads);
    facts_integer(facts, "rounds", (long long)comparison->plan->rounds);
    facts_float(facts, "dense_seconds", comparison->dense.seconds);
    facts_integer(facts, "dense_bytes", (long long)comparison->dense.bytes);
    return &facts->frame;
}

static const char *describe(const struct comparison *comparison, struct arena *arena,
                            struct err *err)
{
    const struct comparison_plan *plan = comparison->plan;
    const struct config *config = &plan->viewer->model.config;
    const char *texts = plan->pair_count > 1
                            ? arena_format(arena, err, "%zu texts of up to ", plan->pair_count)
                            : "";
    if (!texts)
        return NULL;
    return arena_format(
        arena, err,
        "%s%zu token%s · %zu layer%s, %zu head%s · %zu thread%s · medians of %zu round%s", texts,
        comparison->longest, num_plural(comparison->longest), config->n_layer,
        num_plural(config->n_layer), config->n_head, num_plural(config->n_head),
        comparison->threads, num_plural(comparison->threads), plan->rounds,
        num_plural(plan->rounds));
}

int comparison_report(struct report *report, const struct comparison *comparison,
                      struct arena *arena, struct err *err)
{
    const struct comparison_plan *plan = comparison->plan;
    struct frame *frames = arena_alloc(arena, 2, sizeof *frames, err);
    if (!frames || add_costs(&frames[0], comparison, arena, err) ||
        add_differences(&frames[1], comparison, arena, err))
        return -1;
    *report = (struct report){
        .model = plan->viewer->model.name,
        .frames = frames,
        .frame_count = 2,
        .facts = make_facts(comparison, arena, err),
        .about = describe(comparison, arena, err),
        .has_encoder = true, /* the source is not what the numbers are about */
    };
    if (plan->pair_count == 1)
        report->sentence = plan->pairs[0].sentence;
    return report->facts && report->about ? 0 : -1;
}
