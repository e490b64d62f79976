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
enum { ATTENTION, LAYER, HEAD, MAX, MEAN, KEPT, OVERLAP, SECONDS, BYTES, COLUMNS };

static const struct column columns[COLUMNS] = {
    [ATTENTION] = {"attention", .kind = COLUMN_TEXT, .flags = COLUMN_KEY},
    [LAYER] = {"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [HEAD] = {"head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [MAX] = {"max_difference", "max", .digits = 4},
    [MEAN] = {"mean_difference", "mean", .digits = 4},
    [KEPT] = {"kept", .digits = 4},
    [OVERLAP] = {"overlap", .flags = COLUMN_COLOURED, .digits = 4, .fraction = true},
    [SECONDS] = {"seconds", .flags = COLUMN_DATA_ONLY},
    [BYTES] = {"bytes", .kind = COLUMN_INTEGER, .flags = COLUMN_DATA_ONLY},
};

/* One line, of one head or (`layer` is missing) of all; times are of all. */
static void fill_line(struct frame *frame, size_t i, const struct comparison_result *result,
                      long long layer, long long head, const struct difference *difference)
{
    bool all = layer == COLUMN_MISSING;
    frame_texts(frame, ATTENTION)[i] = result->name;
    frame_integers(frame, LAYER)[i] = layer;
    frame_integers(frame, HEAD)[i] = head;
    frame_floats(frame, MAX)[i] = difference->max;
    frame_floats(frame, MEAN)[i] = difference->mean;
    frame_floats(frame, KEPT)[i] = difference->kept;
    frame_floats(frame, OVERLAP)[i] = difference->overlap;
    frame_floats(frame, SECONDS)[i] = all ? result->seconds : (double)NAN;
    frame_integers(frame, BYTES)[i] = all ? (long long)result->bytes : COLUMN_MISSING;
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
    size_t count = comparison->plan->way_count * (1 + heads);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    *frame =
        (struct frame){"ways", {"head", count, labels, 0}, .note = legend(comparison, arena, err)};
    if (!labels || !frame->note || frame_columns(frame, columns, COLUMNS, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct comparison_result *result = &comparison->results[i / (1 + heads)];
        size_t index = i % (1 + heads);
        const char *label = result->name;
        if (index-- == 0) {
            fill_line(frame, i, result, COLUMN_MISSING, COLUMN_MISSING, &result->all);
        } else {
            size_t layer = comparison->layers[index / comparison->head_count];
            size_t head = comparison->heads[index % comparison->head_count];
            fill_line(frame, i, result, (long long)layer, (long long)head, &result->heads[index]);
            label = arena_format(arena, err, "%s L%zuH%zu", label, layer, head);
        }
        if (!label)
            return -1;
        labels[i] = (struct label){label, label, label};
    }
    return 0;
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
    enum { WAY, TIME, TIMES, MEMORY, MEMORIES };
    const unsigned right = COLUMN_RIGHT;
    const struct column shown[] = {
        [WAY] = {"attention", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [TIME] = {"time", .kind = COLUMN_TEXT, .flags = right},
        [TIMES] = {"of dense", .kind = COLUMN_TEXT, .flags = right},
        [MEMORY] = {"memory", .kind = COLUMN_TEXT, .flags = right},
        [MEMORIES] = {"of dense", .kind = COLUMN_TEXT, .flags = right},
    };
    *frame = (struct frame){"costs", {"way", count, NULL, 0}, .flags = COLUMN_TEXT_ONLY};
    if (frame_columns(frame, shown, sizeof shown / sizeof *shown, arena, err))
        return -1;
    frame->rows.labels = frame_labels(frame, WAY);
    for (size_t i = 0; i < count; i++) {
        char time[AMOUNT_BYTES];
        char memory[NUM_SIZE_BYTES];
        const struct comparison_result *result = listed ? &comparison->results[i]
                                                 : i    ? &comparison->results[i - 1]
                                                        : dense;
        const char *const texts[] = {
            [TIME] = arena_format(arena, err, "%s", amount_seconds(time, result->seconds)),
            [TIMES] = arena_format(arena, err, "%.2f ×", result->seconds / dense->seconds),
            [MEMORY] = arena_format(arena, err, "%s", num_size(memory, result->bytes)),
            [MEMORIES] =
                arena_format(arena, err, "%.2f ×", (double)result->bytes / (double)dense->bytes),
        };
        frame_labels(frame, WAY)[i] = (struct label){result->name, result->name, result->name};
        for (size_t k = TIME; k <= MEMORIES; k++)
            if (!(frame_texts(frame, k)[i] = texts[k]))
                return -1;
    }
    return 0;
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
